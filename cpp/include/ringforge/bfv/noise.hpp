// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// What is known of a BFV ciphertext's noise without the key, and what operations make of it. These are the only rules:
// operations on ciphertexts take them from here, and so do planners, which have no ciphertexts.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "ringforge/bfv/params.hpp"

namespace ringforge::bfv {

class Moments;

/// The error e of a ciphertext of phase (Q/t)*m + e over Q = its limbs.
struct Noise {
  /// log2 of what the root mean square of e's coefficients is at most, with the confidence of the rules that say so. A
  /// logarithm, because it reaches 2^1000.
  double log_deviation = -1.7924812503605781;  // of a rounding
  /// Highest power of the secret s that e holds.
  unsigned degree = 0;
  /// How often at most one ciphertext or plaintext can have been a factor of e: see NoiseRules::product.
  unsigned reuse = 0;
};

/// What operations do to noise. It needs parameters only, and is cheap to make. `limbs` are those of the operands.
///
/// Predictions are bounds: over keys, errors and roundings, a source of noise exceeds what is counted for it with a
/// probability of 2^-security at most. Deviations of operands add, since they may depend on each other (c + c, c * c);
/// noise that an operation adds is fresh, and its variance adds. noise.cpp derives every rule.
/// Plaintexts may be anybody's choice who knows no secret. Secret keys are made by Client::secret_key, which bounds
/// their spectrum.
///
/// There is one notion of noise, at two confidences: contexts, ciphertexts and planners bound it at kSecurity;
/// NoiseRules(params, kTypical) predicts what half of all keys are below, which after many products is far less.
/// @throws LevelError for limbs that Q does not have.
class NoiseRules {
 public:
  static constexpr unsigned kSecurity = 40, kTypical = 1, kMostSecurity = 512;

  /// @throws ParameterError unless 1 <= security <= kMostSecurity.
  explicit NoiseRules(const Parameters& params, unsigned security = kSecurity);
  const Parameters& params() const noexcept { return params_; }
  unsigned security() const noexcept { return security_; }

  // ---- what a prediction says ----
  /// In a sum of many terms, one of the N coefficients exceeds so many deviations with 2^-security at most: 9 at 2^-40.
  double deviations() const noexcept;
  /// log2 of a size that no coefficient of e exceeds.
  double bound_bits(const Noise& a) const noexcept;
  /// Bits left before decryption fails: log2(Q / 2t) - bound_bits. Negative: not to be decrypted.
  double budget(const Noise& a, std::size_t limbs) const;

  // ---- operations ----
  Noise encrypted(bool public_key) const noexcept;
  Noise sum(const Noise& a, const Noise& b) const;
  /// For errors that have nothing to do with each other: variances add.
  Noise independent_sum(const Noise& a, const Noise& b) const;
  /// The plaintext's rounding is the same each time, and whoever chooses the plaintext chooses it: its deviation adds.
  Noise plain_sum(const Noise& a) const;
  Noise constant_sum(const Noise& a) const;
  /// log2 of the plaintext's Euclidean norm, coefficients centred, and of its largest value at a 2N-th root of unity,
  /// as Multiplier has them.
  Noise plain_product(const Noise& a, double log_norm, double log_peak) const noexcept;
  /// Those of a plaintext of uniformly random slots, and the largest of any plaintext.
  double random_norm() const noexcept;
  double random_peak() const noexcept;
  double largest_norm() const noexcept;
  double largest_peak() const noexcept;
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

  /// log2 of the deviation that rounding a ciphertext of two or three parts adds.
  double rounding(std::size_t parts = 2) const noexcept;

 private:
  struct Term {
    double log_variance;
    unsigned degree;
  };
  Term join(Term a, Term b, bool dependent, std::size_t limbs) const;
  double log_kappa() const noexcept;
  double growth(unsigned degree, unsigned reuse, unsigned reuse_after) const noexcept;
  void check(std::size_t limbs) const;

  Parameters params_;
  unsigned security_;
  double log_n_ = 0, log_t_ = 0;
  std::shared_ptr<const Moments> moments_;
};

/// Largest |s(zeta)|^2 over the 2N-th roots of unity that a secret key may have, in units of its mean 2N/3:
/// ln(N/2) + 2. One key in 7.9 is above and drawn again, which costs 0.2 bits of security.
double largest_spectrum(std::size_t degree) noexcept;
/// That of a ternary polynomial, in the same units. It is as secret as the key.
double spectrum(std::span<const i64> coefficients);
/// Largest |p(zeta)|^2 of a polynomial over the 2N-th roots of unity; N a power of two.
double largest_square(std::span<const double> coefficients);

}  // namespace ringforge::bfv
