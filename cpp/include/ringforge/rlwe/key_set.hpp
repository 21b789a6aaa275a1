// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Evaluation keys: of relinearisation, of automorphisms, and all that a computation needs in one set.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "ringforge/rlwe/keys.hpp"

namespace ringforge::rlwe {

/// Relinearisation key: from s^2 to s. The polynomials are immutable and shared: copies are cheap.
class RelinKey {
 public:
  explicit RelinKey(SwitchingKey key) : key_(std::make_shared<const SwitchingKey>(std::move(key))) {}
  /// For polynomials of up to `limbs` limbs.
  /// @throws MismatchError for a secret key of other parameters, LevelError unless Q has `limbs` limbs.
  static RelinKey make(const SecretKey& sk, const Gadget& gadget, std::size_t limbs, Randomness& rng,
                       unsigned threads = 1);
  const SwitchingKey& key() const noexcept { return *key_; }

 private:
  std::shared_ptr<const SwitchingKey> key_;
};

/// What elements of automorphisms other than 1 must be, for a message: "odd, above 1 and below 32".
std::string galois_elements(const Ring& ring);

/// One Galois key. An automorphism X -> X^g first switches c1 from s to sigma_g^-1(s), then applies sigma_g
/// to the result: digits then never need permuting, so they can be shared by many automorphisms.
/// The polynomials are immutable and shared: copies of a key are cheap.
struct GaloisKey {
  u64 element = 0;
  std::shared_ptr<const SwitchingKey> key;

  /// For polynomials of up to `limbs` limbs.
  /// @throws ParameterError when the element is no Galois element or is 1; as RelinKey::make.
  static GaloisKey make(const SecretKey& sk, u64 element, const Gadget& gadget, std::size_t limbs, Randomness& rng,
                        unsigned threads = 1);
};

/// Galois keys by element. Keys may be added and dropped one by one, from several threads at once, while others
/// evaluate: an evaluation holds the keys it began with. A copy shares the keys and has a list of its own.
class GaloisKeys {
 public:
  GaloisKeys() = default;
  GaloisKeys(const GaloisKeys& o) : keys_(o.held()) {}
  GaloisKeys& operator=(const GaloisKeys& o);

  /// Shares the key; one of the same element is replaced. @throws ParameterError for a GaloisKey without a key.
  void insert(GaloisKey key);
  void erase(u64 element);
  bool contains(u64 element) const;
  /// The key of an element, for as long as the caller keeps it.
  /// @throws MissingKeyError naming the element and those present.
  std::shared_ptr<const SwitchingKey> at(u64 element) const;
  std::vector<u64> elements() const;
  std::size_t size() const;
  std::size_t bytes() const;

 private:
  using Keys = std::map<u64, std::shared_ptr<const SwitchingKey>>;
  Keys held() const;
  mutable std::mutex mutex_;
  Keys keys_;
};

/// Element of the automorphism that rotates rows of N/2 slots by `step`, in the order that CKKS and BFV have: 5^step.
u64 rotation_element(const Ring& ring, i64 step) noexcept;
/// The key of a rotation other than by 0. @throws MissingKeyError naming the step and those that there are keys for.
std::shared_ptr<const SwitchingKey> rotation_key(const GaloisKeys& keys, const Ring& ring, i64 step);

/// The evaluation keys of a computation: Galois keys, and a relinearisation key where products need one. A copy shares
/// the keys and has a list of its own; the Galois keys may change as those of GaloisKeys, the other key does not.
class KeySet {
 public:
  KeySet() = default;
  KeySet(const GaloisKeys& galois, std::optional<RelinKey> relin) : galois_(galois), relin_(std::move(relin)) {}

  GaloisKeys& galois() noexcept { return galois_; }
  const GaloisKeys& galois() const noexcept { return galois_; }
  bool has_relin() const noexcept { return relin_.has_value(); }
  /// @throws MissingKeyError when there is none.
  const RelinKey& relin() const;
  /// Of all keys, expanded.
  std::size_t bytes() const;

 private:
  GaloisKeys galois_;
  std::optional<RelinKey> relin_;
};

}  // namespace ringforge::rlwe
