// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// CKKS plaintexts, ciphertexts and keys. All polynomials are in Eval form over a prefix of Q.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "ringforge/ckks/metadata.hpp"
#include "ringforge/ckks/params.hpp"
#include "ringforge/rlwe/keys.hpp"

namespace ringforge::ckks {

using rlwe::SecretKey;

/// An encoded vector. Its level is limbs - 1.
struct Plaintext {
  Poly<Eval> poly;
  double scale = 1;
  /// Largest |slot| of the encoded values: of a matrix it bounds noise growth, of secret data it is secret.
  double bound = 1;
  std::size_t level() const noexcept { return poly.limbs() - 1; }
};

/// An encrypted vector: two parts, or three between a multiplication and its relinearisation.
struct Ciphertext : Metadata {
  Ciphertext() = default;
  /// No polynomials yet.
  explicit Ciphertext(const Metadata& known) : Metadata(known) {}

  std::vector<Poly<Eval>> parts;
  u64 key_id = 0;
  /// Set while parts[1] is the expansion of a seed: the file then stores the seed.
  std::optional<Seed> seed;
  std::size_t level() const noexcept { return parts.at(0).limbs() - 1; }
};

struct PublicKey {
  u64 key_id = 0;
  Seed seed{};
  Poly<Eval> b, a;  ///< over Q and P's primes joined, b = -a*s + e
};

/// Relinearisation key: from s^2 to s.
struct RelinKey {
  rlwe::SwitchingKey key;
};

/// One Galois key. A rotation by X -> X^g first switches c1 from s to sigma_g^-1(s), then applies sigma_g
/// to the result: digits then never need permuting, so they can be shared by many rotations.
/// The polynomials are immutable and shared: copies of a key are cheap.
struct GaloisKey {
  u64 element = 0;
  std::shared_ptr<const rlwe::SwitchingKey> key;
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
  std::shared_ptr<const rlwe::SwitchingKey> at(u64 element) const;
  std::vector<u64> elements() const;
  std::size_t size() const;
  std::size_t bytes() const;

 private:
  using Keys = std::map<u64, std::shared_ptr<const rlwe::SwitchingKey>>;
  Keys held() const;
  mutable std::mutex mutex_;
  Keys keys_;
};

}  // namespace ringforge::ckks
