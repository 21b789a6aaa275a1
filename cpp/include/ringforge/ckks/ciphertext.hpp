// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// CKKS plaintexts, ciphertexts and keys. All polynomials are in Eval form over a prefix of Q.
#pragma once

#include <map>
#include <optional>

#include "ringforge/ckks/metadata.hpp"
#include "ringforge/ckks/params.hpp"

namespace ringforge::ckks {

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
  SwitchingKey key;
};

/// One Galois key. A rotation by X -> X^g first switches c1 from s to sigma_g^-1(s), then applies sigma_g
/// to the result: digits then never need permuting, so they can be shared by many rotations.
struct GaloisKey {
  u64 element = 0;
  SwitchingKey key;
};

/// Galois keys by element. Keys may be added and dropped one by one.
class GaloisKeys {
 public:
  void insert(GaloisKey&& key) { keys_.insert_or_assign(key.element, std::move(key)); }
  void erase(u64 element) { keys_.erase(element); }
  bool contains(u64 element) const { return keys_.contains(element); }
  /// @throws MissingKeyError naming the element and those present.
  const SwitchingKey& at(u64 element) const;
  std::vector<u64> elements() const;
  std::size_t size() const noexcept { return keys_.size(); }
  std::size_t bytes() const noexcept;

 private:
  std::map<u64, GaloisKey> keys_;
};

}  // namespace ringforge::ckks
