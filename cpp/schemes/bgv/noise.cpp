// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Rules of noise.
//
// Let f = sum_a f_a*X^a over the units a modulo m, the coefficients independent, of mean 0 and variance w, and
// subgaussian with that variance, as rounding errors, ternary and centred binomial ones are. In a direction, the real
// part of f(zeta) is subgaussian with the variance w*sum cos^2 = w*(N + Re u*mu(m))/2, |u| = 1, since the squares of
// the primitive roots sum to mu(m) or its like: at most w*(N + 1)/2. If |f(zeta)| >= r, its part in one of 32 equally
// spaced directions is r*cos(pi/32) at least. So for one of the N/2 pairs of roots |f(zeta)|^2 exceeds
//
//     T*w*N,   T = (1 + 1/N) * ln(32 * N/2 * 2^security) / cos^2(pi/32),
//
// with the probability 2^-security at most. Polynomials that were drawn before, such as the secret, an error of a key,
// factor or ciphertext, are constants in this, whatever they are; values of what depends on each other add and
// multiply.
//
//   fresh       v = m + 2e or m + 2(u*e_pk + e0 + e1*s); the signs of m are drawn with it, and in powers of X a
//   direction
//               has N*w at most instead of half of it
//   rounding    (v - 2d)/D with d = d0 + d1*s [+ d2*s^2], d_i uniform in (-D/2, D/2)
//   key switch  v + 2*E/P, E = sum over digits d of D_d*e_d: the digits of c1 are uniform, so that the values of E have
//               the variance N/12 * sum |D_d|^2 |e_d(zeta)|^2 (|D_d| the product of a digit's primes); and by the bound
//               of Hsu, Kakade and Zhang for quadratic forms ("A tail inequality for quadratic forms of subgaussian
//               random vectors", 2012) sum w_d*|e_d(zeta)|^2 is at most
//               10.5*N*(sum w_d + sqrt(2*T*sum w_d^2) + T*max w_d)
//
// A coefficient is (1/p) * sum over zeta of (zeta^-a - 1)*v(zeta), as (zeta^-a - 1)/p is the dual basis of the zeta^a,
// 0 < a < p, and products of these in tensor rings; (1/p) * sum |zeta^-a - 1| = (2/p)*cot(pi/2p).
#include "ringforge/bgv/noise.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "ringforge/error.hpp"
#include "ringforge/random.hpp"

namespace ringforge::bgv {
namespace {

double log_add(double a, double b) { return std::max(a, b) + std::log2(1 + std::exp2(-std::fabs(a - b))); }

}  // namespace

double largest_spectrum(std::size_t degree) noexcept { return std::log(static_cast<double>(degree) / 2) + 2; }

NoiseRules::NoiseRules(const Parameters& params, unsigned security)
    : params_(params), security_(security), n_(static_cast<double>(params.degree())) {
  if (security < 1 || security > kMostSecurity)
    throw ParameterError("noise cannot be bounded with a confidence of " + std::to_string(security) +
                         " bits: take 1 to " + std::to_string(kMostSecurity));
  constexpr double kDirections = 32;
  const double cosine = std::cos(std::numbers::pi / kDirections);
  tail_ = (1 + 1 / n_) * (std::log(kDirections * n_ / 2) + security * std::numbers::ln2) / (cosine * cosine);
  secret_ = largest_spectrum(params.degree()) * 2 * n_ / 3;
  u64 rest = params.m();
  for (u64 p = 3; rest > 1; p += 2)
    if (rest % p == 0) {
      rest /= p;
      const double d = static_cast<double>(p);
      coefficient_ *= 2 / (d * std::tan(std::numbers::pi / (2 * d)));
    }
}

double NoiseRules::from_variance(double variance) const noexcept { return std::log2(tail_ * n_ * variance) / 2; }

double NoiseRules::bound_bits(const Noise& a) const noexcept { return a.log_bound + std::log2(coefficient_); }

double NoiseRules::budget(const Noise& a, std::size_t limbs) const { return params_.log_q(limbs) - 1 - bound_bits(a); }

double NoiseRules::rounding(std::size_t parts) const noexcept {
  return 1 + from_variance((1 + secret_ + (parts > 2 ? secret_ * secret_ : 0)) / 12);
}

double NoiseRules::key_switch(std::size_t limbs) const {
  (void)params_.log_q(limbs);
  const auto& spec = params_.spec();
  double log_p = 0, sum = 0, squares = 0, most = 0;
  for (const u64 p : spec.p) log_p += std::log2(static_cast<double>(p));
  for (std::size_t first = 0; first < limbs; first += spec.limbs_per_digit) {
    double digit = -log_p;
    for (std::size_t i = first; i < std::min<std::size_t>(first + spec.limbs_per_digit, limbs); ++i)
      digit += std::log2(static_cast<double>(spec.q[i]));
    const double weight = std::exp2(2 * digit);
    sum += weight;
    squares += weight * weight;
    most = std::max(most, weight);
  }
  return 1 + from_variance(kErrorVariance * n_ * (sum + std::sqrt(2 * tail_ * squares) + tail_ * most) / 12);
}

Noise NoiseRules::encrypted(bool public_key) const noexcept {
  const double error = tail_ * n_ * kErrorVariance;
  const double variance =
      public_key ? kErrorVariance * (1 + secret_) + 2.0 / 3 * error : static_cast<double>(kErrorVariance);
  return {log_add(1 + from_variance(variance), from_variance(2))};
}

Noise NoiseRules::sum(const Noise& a, const Noise& b) const noexcept { return {log_add(a.log_bound, b.log_bound)}; }

Noise NoiseRules::plain_sum(const Noise& a, double log_peak) const noexcept { return {log_add(a.log_bound, log_peak)}; }

Noise NoiseRules::plain_product(const Noise& a, double log_peak) const noexcept { return {a.log_bound + log_peak}; }

double NoiseRules::random_peak() const noexcept { return from_variance(1); }

double NoiseRules::largest_peak() const noexcept { return std::log2(n_); }

Noise NoiseRules::product(const Noise& a, const Noise& b) const noexcept { return {a.log_bound + b.log_bound}; }

Noise NoiseRules::switched(const Noise& a, std::size_t limbs) const {
  return {log_add(a.log_bound, log_add(key_switch(limbs), rounding()))};
}

Noise NoiseRules::multiplied(const Noise& a, const Noise& b, std::size_t limbs, std::size_t drop) const {
  return mod_switched(switched(product(a, b), limbs), limbs, limbs - std::min(limbs, drop));
}

Noise NoiseRules::hoisted_sum(const Noise& a, std::span<const double> log_peaks, std::size_t limbs,
                              std::size_t drop) const {
  if (log_peaks.empty()) throw ShapeError("a sum of maps has one term at least");
  const double each = log_add(a.log_bound, key_switch(limbs));
  double all = rounding();
  for (const double peak : log_peaks) all = log_add(all, each + peak);
  return mod_switched({all}, limbs, limbs - std::min(limbs, drop));
}

Noise NoiseRules::mod_switched(const Noise& a, std::size_t from, std::size_t to, std::size_t parts) const {
  const double log_from = params_.log_q(from);
  if (to < 1 || to > from)
    throw LevelError("a ciphertext of " + std::to_string(from) + " limbs cannot be brought to " + std::to_string(to));
  if (to == from) return a;
  return {log_add(a.log_bound - (log_from - params_.log_q(to)), rounding(parts))};
}

std::size_t NoiseRules::fewest_limbs(const Noise& a, std::size_t limbs, double loss) const {
  const double before = budget(a, limbs);
  std::size_t best = limbs;
  for (std::size_t to = limbs; to-- > 1;) {
    const double after = budget(mod_switched(a, limbs, to), to);
    if (before - after > loss || after <= 0) break;
    best = to;
  }
  return best;
}

}  // namespace ringforge::bgv
