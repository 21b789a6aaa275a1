// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// What is known of a BFV ciphertext's noise without the key, and what operations make of it. These are the only rules:
// operations on ciphertexts take them from here, and so do planners, which have no ciphertexts.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "ringforge/bfv/params.hpp"

namespace ringforge::bfv {

/// The error e of a ciphertext of phase (Q/t)*m + e over Q = its limbs.
struct Noise {
  /// log2 of the standard deviation of a coefficient of e. A logarithm, because variances reach 2^2000.
  double log_deviation = -1.7924812503605781;  // of a rounding
  /// Highest power of the secret s that e holds.
  unsigned degree = 0;
  /// How often at most one ciphertext or plaintext can have been a factor of e: see NoiseRules::product.
  unsigned reuse = 0;
};

/// What operations do to noise. It needs parameters only, and is cheap to make. `limbs` are those of the operands.
///
/// Standard deviations of operands add, since they may depend on each other (c + c, c * c); noise that an operation
/// adds is fresh, and its variance adds. Products know the degree in s: noise.cpp derives every rule.
/// Predictions hold for secret keys made by Client::secret_key, whose spectrum is bounded.
/// @throws LevelError for limbs that Q does not have.
class NoiseRules {
 public:
  explicit NoiseRules(const Parameters& params);
  const Parameters& params() const noexcept { return params_; }

  // ---- what a prediction says ----
  /// log2 of a size that no coefficient of e exceeds: nine standard deviations.
  double bound_bits(const Noise& a) const noexcept;
  /// Bits left before decryption fails: log2(Q / 2t) - bound_bits. Negative: not to be decrypted.
  double budget(const Noise& a, std::size_t limbs) const;
  /// Bits to take off a budget for a failure probability of 2^-security instead of the usual confidence: products of
  /// many factors have heavy tails.
  double tail_bits(const Noise& a, double security) const noexcept;

  // ---- operations ----
  Noise encrypted(bool public_key) const noexcept;
  Noise sum(const Noise& a, const Noise& b) const noexcept;
  /// For errors that have nothing to do with each other: variances add.
  Noise independent_sum(const Noise& a, const Noise& b) const noexcept;
  Noise plain_sum(const Noise& a) const noexcept;
  /// log_norm: log2 of the plaintext's Euclidean norm, coefficients centred (Multiplier::log_norm).
  Noise plain_product(const Noise& a, double log_norm) const noexcept;
  /// log_norm of a plaintext of uniformly random slots, and the largest of any plaintext.
  double random_norm() const noexcept;
  double largest_norm() const noexcept;
  /// Times an integer; only its centred residue modulo t counts.
  Noise constant_product(const Noise& a, i64 value) const noexcept;
  /// sum of values[i] * terms[i].
  Noise combination(std::span<const Noise> terms, std::span<const i64> values) const;
  /// Three parts.
  Noise product(const Noise& a, const Noise& b, std::size_t limbs) const;
  Noise square(const Noise& a, std::size_t limbs) const { return product(a, a, limbs); }
  /// After a relinearisation, rotation or row swap.
  Noise switched(const Noise& a, std::size_t limbs) const;
  /// Product and relinearisation.
  Noise multiplied(const Noise& a, const Noise& b, std::size_t limbs) const {
    return switched(product(a, b, limbs), limbs);
  }
  /// @param parts of the ciphertext, 2 or 3
  Noise mod_switched(const Noise& a, std::size_t from, std::size_t to, std::size_t parts = 2) const;
  /// The fewest limbs at which switching there costs at most `loss` bits of budget (and a budget is left).
  std::size_t fewest_limbs(const Noise& a, std::size_t limbs, double loss = 0.5) const;

  /// log2 of the standard deviation that rounding a ciphertext of two or three parts adds.
  double rounding(std::size_t parts = 2) const noexcept;

 private:
  struct Term {
    double log_variance;
    unsigned degree;
  };
  double log_moment(unsigned degree) const noexcept;
  Term join(Term a, Term b, bool dependent) const noexcept;
  double growth(unsigned degree) const noexcept;
  double repeated(unsigned times) const noexcept;
  void check(std::size_t limbs) const;

  Parameters params_;
  double log_n_ = 0, log_t_ = 0;
  std::vector<double> moments_;  // log2 of the moments of |s|^2 in slots, by degree
};

/// Largest |s(zeta)|^2 over the 2N-th roots of unity that a secret key may have, in units of its mean 2N/3:
/// ln(N/2) + 2. One key in 7.9 is above and drawn again, which costs 0.2 bits of security.
double largest_spectrum(std::size_t degree) noexcept;
/// That of a ternary polynomial, in the same units. It is as secret as the key.
double spectrum(std::span<const i64> coefficients);

}  // namespace ringforge::bfv
