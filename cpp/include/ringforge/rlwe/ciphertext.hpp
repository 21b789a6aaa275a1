// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// RLWE ciphertexts, encryption of zero, decryption to the phase: what schemes add their messages to and take them from.
#pragma once

#include <optional>
#include <vector>

#include "ringforge/random.hpp"
#include "ringforge/rlwe/key_set.hpp"

namespace ringforge::rlwe {

/// What ciphertexts of every scheme are made of. A scheme's own type derives from it and from what the scheme knows of
/// a ciphertext: scale, plaintext modulus, noise. All polynomials are over the same first primes of Q.
struct Ciphertext {
  /// The phase is sum_i parts[i] * s^i: two parts, or three between a multiplication and its relinearisation.
  std::vector<Poly<Eval>> parts;
  u64 key_id = 0;  ///< of s
  /// Set while parts[1] is the expansion of a seed: the file then stores the seed.
  std::optional<Seed> seed;

  std::size_t limbs() const { return parts.at(0).limbs(); }
  std::size_t level() const { return limbs() - 1; }
  /// @throws ShapeError unless there are `least` to `most` parts, MismatchError for another gadget's primes, or parts
  ///         over different ones.
  void check(const Gadget& gadget, std::size_t least = 2, std::size_t most = 3) const;
};

/// Makes encryptions of zero; a scheme adds its scaled message to parts[0]. Any threads may share one.
///
/// The phase is an error of variance kErrorVariance a coefficient under a secret key, and
/// kErrorVariance * (4N/3 + 1) under a public one. A scheme whose messages sit in the low bits, modulo t, does not need
/// errors that are multiples of t: it multiplies its messages by 1/t modulo Q instead (docs/adr/0023-rlwe-layer.md).
class Encryptor {
 public:
  explicit Encryptor(GadgetPtr gadget, Randomness rng = {}) : gadget_(std::move(gadget)), rng_(std::move(rng)) {}
  const Gadget& gadget() const noexcept { return *gadget_; }
  /// What seeds are drawn from, for a scheme's own noise.
  Randomness& randomness() noexcept { return rng_; }

  // Keys, for polynomials of up to `limbs` limbs. @throws as their `make`.
  SecretKey secret_key() { return {gadget_->all(), rng_}; }
  PublicKey public_key(const SecretKey& sk) { return PublicKey::make(sk, *gadget_, rng_); }
  RelinKey relin_key(const SecretKey& sk, std::size_t limbs, unsigned threads = 1) {
    return RelinKey::make(sk, *gadget_, limbs, rng_, threads);
  }
  GaloisKey galois_key(const SecretKey& sk, u64 element, std::size_t limbs, unsigned threads = 1) {
    return GaloisKey::make(sk, element, *gadget_, limbs, rng_, threads);
  }

  /// With the secret key: half of the result is a seed, so files are half the size.
  /// @throws MismatchError for a key of other parameters, LevelError unless Q has `limbs` limbs.
  Ciphertext zero(const SecretKey& sk, std::size_t limbs);
  Ciphertext zero(const PublicKey& pk, std::size_t limbs);

 private:
  GadgetPtr gadget_;
  Randomness rng_;
};

/// Takes ciphertexts back to their phases: message and noise, as the scheme put them.
class Decryptor {
 public:
  explicit Decryptor(GadgetPtr gadget) : gadget_(std::move(gadget)) {}
  /// @throws MismatchError for a ciphertext under another key, or for arguments of other parameters; ShapeError unless
  ///         it has one to three parts.
  Poly<Eval> phase(const Ciphertext& c, const SecretKey& sk) const;

 private:
  GadgetPtr gadget_;
};

/// Standard deviation of the noise that hides an error of the given variance to `bits` bits over
/// `queries` decryptions: sqrt(12 * queries * N * variance) * 2^(bits/2). The relative entropy between
/// shared results with and without the error is then at most queries*|e|^2/(2*sigma^2) <= 2^-bits/24. The
/// variance is taken as at least that of one rounding, (1 + 2N/3)/12, whatever a ciphertext says of itself.
double flood_deviation(double variance, std::size_t degree, double bits, u64 queries) noexcept;

/// Refuses a decryption that predicted noise may have made wrong. An exact scheme's wrong results are equations of the
/// key for whoever sees that they are wrong (IND-CPA-D), and circuits can be chosen for them.
/// @throws LevelError unless a predicted budget is left.
void check_budget(double bits);

}  // namespace ringforge::rlwe
