// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// What operations of LTV do to noise, for everybody: no key, no ciphertext. docs/ltv.md derives the rules.
//
// A ciphertext c under f^d has the phase w = c f^d, a polynomial of small integers; noise is w, message included. What
// is told of it is the size of its values w(z) at the primitive m-th roots of unity, where products are products of
// values. Sums and products are bounded for dependent operands (c + c, c*c) as for others, with the same secrets in all
// of them.
#pragma once

#include <span>

#include "ringforge/ltv/params.hpp"

namespace ringforge::ltv {

/// What is known of a phase.
struct Noise {
  double log_deviation = 0;  ///< log2 of the root mean square of |w(z)|
  u32 factors = 2;           ///< of how many random polynomials w is a product at most: for its moments
  friend bool operator==(const Noise&, const Noise&) = default;
};
/// Standard deviations that no coefficient exceeds; docs/ltv.md says how sure that is.
inline constexpr double kDeviations = 9;

/// Bases in which polynomials have coefficients.
enum class PolyBasis {
  power,   ///< 1, X, X^2, ...
  tensor,  ///< products of powers of X^(m/p), below p - 1 for each prime p of a squarefree m
};

/// The largest sum over j < m of the squares of a coefficient of X^j modulo Phi_m: by at most so much a sum over all
/// powers with independent coefficients grows in variance when it is reduced. Exact; kept for the process.
/// @throws ParameterError for the tensor basis where m has a square.
double reduction_moment(u64 m, PolyBasis basis);
/// The same of the multiples of a polynomial in the power basis: the largest sum over j < m of the squares of a
/// coefficient of X^j a modulo Phi_m. With independent coefficients of variance v, a coefficient of a product with `a`
/// has at most v times this. The sums of a^2 must be below 2^62; running time does not depend on values, which may be
/// secret.
double reduction_moment(u64 m, std::span<const i64> a);
/// The standard deviation of a coefficient, root mean square over coefficients, of a product modulo Phi_m of two
/// polynomials with independent coefficients of variance 2/3 (ternary) in the basis. Exact second moments.
double ternary_product_deviation(u64 m, PolyBasis basis);

class NoiseRules {
 public:
  explicit NoiseRules(const Parameters& params);
  const Parameters& params() const noexcept { return params_; }

  Noise encrypted() const;
  Noise sum(const Noise& a, const Noise& b) const;
  /// For planners who know that the operands share no history.
  Noise independent_sum(const Noise& a, const Noise& b) const;
  /// A polynomial of bits, lifted with public signs, is added under f^degree, or a factor.
  Noise plain_sum(const Noise& a, unsigned degree) const;
  Noise plain_product(const Noise& a) const;
  Noise product(const Noise& a, const Noise& b) const;
  /// Of a ciphertext under f, seen as one under two secrets: times another f.
  Noise lifted(const Noise& a) const;
  /// Under f^degree of level - 1 to under f of `level`; modulo the primes of level - 1.
  Noise relinearized(const Noise& a, std::size_t level, unsigned degree) const;
  /// The last `drop` of `limbs` primes are dropped.
  Noise switched(const Noise& a, std::size_t limbs, std::size_t drop) const;

  /// log2 of a size that no coefficient of the phase exceeds: kDeviations.
  double coefficient_bits(const Noise& a) const;
  /// Bits left before decryption fails: log2(q/2) less that.
  double budget(const Noise& a, std::size_t limbs) const;

  /// What key generation takes: others are drawn again.
  struct SecretBounds {
    double value;   ///< the largest |f(z)|^2
    double moment;  ///< the largest reduction_moment of f: what every rule takes
    double square;  ///< and of f^2, for products
  };
  SecretBounds secret_bounds() const noexcept { return bounds(4 * 2.0 / 3, f_); }
  SecretBounds multiplier_bounds() const noexcept { return bounds(2.0 / 3, g_); }

 private:
  SecretBounds bounds(double variance, double mean) const noexcept;
  Parameters params_;
  double n_, largest_, f_, g_, moment_, coefficient_;
};

}  // namespace ringforge::ltv
