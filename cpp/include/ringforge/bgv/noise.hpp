// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// What is known of a BGV ciphertext's noise without the key, and what operations make of it. These are the only rules:
// operations on ciphertexts take them from here, and so do planners, which have no ciphertexts.
#pragma once

#include <cstddef>
#include <span>

#include "ringforge/bgv/params.hpp"

namespace ringforge::bgv {

/// The noise of a ciphertext of phase phi is v = 2*phi modulo Q, centred: the message is v modulo 2.
struct Noise {
  /// log2 of what |v(zeta)| is at most at every primitive m-th root of unity zeta. Values multiply as polynomials do,
  /// so this holds for products whatever their factors have in common.
  double log_bound = 0;
  friend bool operator==(const Noise&, const Noise&) = default;
};

/// What operations do to noise. It needs parameters only, and is cheap to make. `limbs` are those of the operands.
///
/// Predictions are bounds: over keys, errors, roundings and the signs of an encryption, what is fresh in an operation
/// exceeds what is counted for it with a probability of 2^-security at most. Operands may depend on each other and on
/// the key in any way. noise.cpp derives every rule.
/// Secret keys are made by Client::secret_key, which bounds their spectrum.
/// @throws LevelError for limbs that Q does not have.
class NoiseRules {
 public:
  static constexpr unsigned kSecurity = 40, kMostSecurity = 512;

  /// @throws ParameterError unless 1 <= security <= kMostSecurity.
  explicit NoiseRules(const Parameters& params, unsigned security = kSecurity);
  const Parameters& params() const noexcept { return params_; }
  unsigned security() const noexcept { return security_; }

  // ---- what a prediction says ----
  /// No coefficient of v is larger than this times the largest |v(zeta)|; exact. Coefficients are those of the tensor
  /// basis. (2/p) * cot(pi/2p) for each prime p of m, below 4/pi each.
  double coefficient_factor() const noexcept { return coefficient_; }
  /// log2 of a size that no coefficient of v exceeds.
  double bound_bits(const Noise& a) const noexcept;
  /// Bits left before decryption fails: log2(Q/2) - bound_bits. Negative: not to be decrypted.
  double budget(const Noise& a, std::size_t limbs) const;

  // ---- operations ----
  Noise encrypted(bool public_key) const noexcept;
  Noise sum(const Noise& a, const Noise& b) const noexcept;
  /// log2 of the plaintext's largest value at a root of unity, as Multiplier has it.
  Noise plain_sum(const Noise& a, double log_peak) const noexcept;
  Noise plain_product(const Noise& a, double log_peak) const noexcept;
  /// What a plaintext of random bits is below, and any plaintext of N bits.
  double random_peak() const noexcept;
  double largest_peak() const noexcept;
  /// Three parts.
  Noise product(const Noise& a, const Noise& b) const noexcept;
  /// After a relinearisation or an automorphism.
  Noise switched(const Noise& a, std::size_t limbs) const;
  /// Product, relinearisation, and the last `drop` primes dropped.
  Noise multiplied(const Noise& a, const Noise& b, std::size_t limbs, std::size_t drop = 0) const;
  /// One sum of Evaluator::frobenius_sums: of plaintexts with these peaks, times maps of the operand; the last `drop`
  /// primes dropped.
  Noise hoisted_sum(const Noise& a, std::span<const double> log_peaks, std::size_t limbs, std::size_t drop = 0) const;
  /// @param parts of the ciphertext, 2 or 3
  Noise mod_switched(const Noise& a, std::size_t from, std::size_t to, std::size_t parts = 2) const;
  /// The fewest limbs at which switching there costs at most `loss` bits of budget (and a budget is left).
  std::size_t fewest_limbs(const Noise& a, std::size_t limbs, double loss = 0.5) const;

  /// log2 of what rounding a ciphertext of two or three parts adds: no modulus switch leaves less.
  double rounding(std::size_t parts = 2) const noexcept;
  /// log2 of what one key switch adds, without the rounding of its division by P.
  double key_switch(std::size_t limbs) const;

 private:
  double from_variance(double variance) const noexcept;

  Parameters params_;
  unsigned security_;
  double n_ = 0, tail_ = 0, secret_ = 0, coefficient_ = 1;
};

/// Largest |s(zeta)|^2 over the primitive m-th roots of unity that a secret key may have, in units of its mean 2N/3:
/// ln(N/2) + 2. One key in 7.9 is above and drawn again, which costs 0.2 bits of security.
double largest_spectrum(std::size_t degree) noexcept;

}  // namespace ringforge::bgv
