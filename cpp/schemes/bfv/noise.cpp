// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Rules of noise.
//
// A polynomial whose coefficients have variance v takes values of mean square N*v at the 2N-th roots of unity zeta;
// what happens to the mean square over them happens to v. With kappa = (c0 + c1*s - e)/Q, over the rationals, the phase
// of a ciphertext is Q*kappa + e, where t*kappa is the message plus a multiple of t. The product of two, times t/Q, is
//
//     (Q/t)*m*m' + t*(kappa*e' + kappa'*e) + (t/Q)*e*e'   modulo Q,
//
// so each error is multiplied by t*kappa of the other operand. c0 and c1 are uniform modulo Q: kappa has variance
// (1 + 2N/3)/12 =: K, and t^2*N*K would be the growth were the factors independent. They are not: nearly all of kappa
// is c1*s/Q, and s is in every factor. An error of degree d has been multiplied by s(zeta) d times; |s(zeta)|^2, in
// units of its mean 2N/3, is exponentially distributed over the N/2 pairs of zeta, and E|s|^(2d) is d! times
// (E|s|^2)^d (Biasioli, Marcolla, Murru, Urani, "A central limit approach for Ring-LWE-based homomorphic encryption",
// 2023). For d beyond ln(N/2) this grows without need: one key has N/2 values, none above largest_spectrum, and a mean
// of d-th powers over few values is mostly far below its expectation. The same holds of the products of the c1 of d
// ciphertexts. log_moment takes both into account.
//
// The same factor used r times, as in ((x*c)*c)*c, brings its c1 to the r-th power, and r! on top. No operand is inside
// another of the same degree, since a product has a higher degree than its operands; so only factors of lower degree
// can come again. Noise::reuse counts these, and a product with one multiplies by reuse + 1. A repeated plaintext
// factor is the same case.
#include "ringforge/bfv/noise.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <string>

#include "ringforge/error.hpp"
#include "ringforge/memory.hpp"
#include "ringforge/random.hpp"

namespace ringforge::bfv {
namespace {

constexpr unsigned kDegrees = 72;  // beyond it, moments grow as between the last two

/// Nine standard deviations are exceeded by one of 2^17 normal values with a probability below 2^-43.
constexpr double kDeviations = 9;

double log_add(double a, double b) { return std::max(a, b) + std::log2(1 + std::exp2(-std::fabs(a - b))); }

/// ln of the integral of x^d * exp(-x) over [0, m]: the d-th moment of an exponential variable up to m.
double log_incomplete_gamma(double d, double m) {
  const double a = d + 1;
  double sum = 0, term = 1 / a;
  for (int k = 1; term > sum * 0x1p-60; ++k) {
    sum += term;
    term *= m / (a + k);
  }
  return a * std::log(m) - m + std::log(sum);
}

/// ln of what the mean over n values of X^d * A_1 ... A_d, X and all A exponential, X at most m, exceeds with
/// probability `chance` at most, as far as Markov's inequality for its power theta says so: for theta <= 1 the power of
/// a sum is at most the sum of powers, for theta > 1 the largest term decides. theta = 1 gives the expectation, which
/// is the smallest of all for small d: its own relative deviation is small then, so `chance` is left out.
double log_mean_bound(unsigned d, double n, double m, double log_chance) {
  const auto at = [&](double theta) {
    return ((1 - theta) * std::log(n) + log_incomplete_gamma(d * theta, m) + d * std::lgamma(1 + theta) - log_chance) /
           theta;
  };
  double best = log_incomplete_gamma(d, m);
  if (log_chance == 0) {
    for (double theta = 0.05; theta < 1; theta += 0.01) best = std::min(best, at(theta));
    return best;
  }
  double tail = at(1);
  for (double theta = 0.05; theta < 16; theta += 0.05) tail = std::min(tail, at(theta));
  return std::max(best, tail);
}

}  // namespace

double largest_spectrum(std::size_t degree) noexcept { return std::log(static_cast<double>(degree) / 2) + 2; }

double spectrum(std::span<const i64> coefficients) {
  // Values at the odd powers of exp(i*pi/N): a cyclic transform of x_k * exp(i*pi*k/N).
  using C = std::complex<double>;
  const std::size_t n = coefficients.size();
  std::vector<C> x(n), roots(n / 2);
  for (std::size_t k = 0; k < n / 2; ++k)
    roots[k] = std::polar(1.0, 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n));
  for (std::size_t k = 0; k < n; ++k)
    x[k] = static_cast<double>(coefficients[k]) *
           std::polar(1.0, std::numbers::pi * static_cast<double>(k) / static_cast<double>(n));
  // Decimation in frequency; the order of the values does not matter.
  for (std::size_t len = n / 2, step = 1; len >= 1; len /= 2, step *= 2)
    for (std::size_t first = 0; first < n; first += 2 * len)
      for (std::size_t k = 0; k < len; ++k) {
        const C u = x[first + k], v = x[first + k + len];
        x[first + k] = u + v;
        x[first + k + len] = (u - v) * roots[k * step];
      }
  double most = 0;
  for (const C& v : x) most = std::max(most, std::norm(v));
  wipe(x.data(), n * sizeof(C));
  return most / (2.0 * static_cast<double>(n) / 3);
}

NoiseRules::NoiseRules(const Parameters& params)
    : params_(params), log_n_(params.spec().log_n), log_t_(std::log2(static_cast<double>(params.t()))) {
  const double pairs = static_cast<double>(params.degree()) / 2, most = largest_spectrum(params.degree());
  for (unsigned d = 0; d <= kDegrees; ++d)
    moments_.push_back(d == 0 ? 0 : std::max(log_mean_bound(d, pairs, most, 0), 0.0) / std::numbers::ln2);
}

double NoiseRules::log_moment(unsigned degree) const noexcept {
  if (degree <= kDegrees) return moments_[degree];
  return moments_[kDegrees] + (degree - kDegrees) * (moments_[kDegrees] - moments_[kDegrees - 1]);
}

double NoiseRules::growth(unsigned degree) const noexcept { return log_moment(degree + 1) - log_moment(degree); }

double NoiseRules::repeated(unsigned times) const noexcept {
  return std::log2(std::min(times + 1.0, largest_spectrum(params_.degree())));
}

// A term of lower degree grows no faster than one of higher degree: together they have the higher one. Where it
// exceeds the other by far, it keeps its degree instead, and the other is counted with all that its further growth can
// be more.
NoiseRules::Term NoiseRules::join(Term a, Term b, bool dependent) const noexcept {
  if (a.degree > b.degree) std::swap(a, b);
  const double fastest = moments_[kDegrees] - moments_[kDegrees - 1];
  const double more = (b.degree - a.degree) * fastest - (log_moment(b.degree) - log_moment(a.degree));
  Term out = b;
  if (b.log_variance + more < a.log_variance - 10) {
    out.degree = a.degree;
    b.log_variance += more;
  }
  out.log_variance =
      dependent ? 2 * log_add(a.log_variance / 2, b.log_variance / 2) : log_add(a.log_variance, b.log_variance);
  return out;
}

void NoiseRules::check(std::size_t limbs) const { (void)params_.log_q(limbs); }

double NoiseRules::bound_bits(const Noise& a) const noexcept { return a.log_deviation + std::log2(kDeviations); }

double NoiseRules::budget(const Noise& a, std::size_t limbs) const {
  return params_.log_q(limbs) - 1 - log_t_ - bound_bits(a);
}

double NoiseRules::tail_bits(const Noise& a, double security) const noexcept {
  const double pairs = static_cast<double>(params_.degree()) / 2, most = largest_spectrum(params_.degree());
  const double tail = a.degree == 0 ? 0 : log_mean_bound(a.degree, pairs, most, -security * std::numbers::ln2);
  // Normal tails beyond nine deviations: sqrt(2 ln(2N * 2^security)).
  const double deviations = std::sqrt(2 * std::numbers::ln2 * (log_n_ + 1 + security));
  return std::max(0.0, (tail / std::numbers::ln2 - log_moment(a.degree)) / 2) +
         std::max(0.0, std::log2(deviations / kDeviations));
}

double NoiseRules::rounding(std::size_t parts) const noexcept {
  // Roundings r0 + r1*s + r2*s^2 of variance 1/12; |s|^4 has the mean 2*(2N/3)^2.
  const double s2 = 2 * std::exp2(log_n_) / 3;
  return std::log2((1 + s2 + (parts > 2 ? 2 * s2 * s2 : 0)) / 12) / 2;
}

Noise NoiseRules::encrypted(bool public_key) const noexcept {
  // Secret: e and the rounding of (Q/t)*m. Public: v*e + e0 + e1*s, v ternary.
  const double n = std::exp2(log_n_);
  return {std::log2(kErrorVariance * (public_key ? 4 * n / 3 + 1 : 1) + 1.0 / 12) / 2, public_key ? 1U : 0U, 0};
}

Noise NoiseRules::sum(const Noise& a, const Noise& b) const noexcept {
  const Term r = join({2 * a.log_deviation, a.degree}, {2 * b.log_deviation, b.degree}, true);
  return {r.log_variance / 2, r.degree, std::max(a.reuse, b.reuse)};
}

Noise NoiseRules::independent_sum(const Noise& a, const Noise& b) const noexcept {
  const Term r = join({2 * a.log_deviation, a.degree}, {2 * b.log_deviation, b.degree}, false);
  return {r.log_variance / 2, r.degree, std::max(a.reuse, b.reuse)};
}

Noise NoiseRules::plain_sum(const Noise& a) const noexcept {
  return {log_add(2 * a.log_deviation, -std::log2(12.0)) / 2, a.degree, a.reuse};
}

Noise NoiseRules::plain_product(const Noise& a, double log_norm) const noexcept {
  return {a.log_deviation + log_norm + repeated(a.reuse) / 2, a.degree, a.reuse + 1};
}

double NoiseRules::random_norm() const noexcept { return (log_n_ + 2 * log_t_ - std::log2(12.0)) / 2; }

double NoiseRules::largest_norm() const noexcept { return log_n_ / 2 + log_t_ - 1; }

Noise NoiseRules::constant_product(const Noise& a, i64 value) const noexcept {
  const auto t = static_cast<i64>(params_.t());
  i64 centred = value % t;
  if (2 * centred > t) centred -= t;
  if (2 * centred < -t) centred += t;
  if (centred == 0) return {};
  return {a.log_deviation + std::log2(std::fabs(static_cast<double>(centred))), a.degree, a.reuse};
}

Noise NoiseRules::combination(std::span<const Noise> terms, std::span<const i64> values) const {
  if (terms.empty() || terms.size() != values.size())
    throw ShapeError("a combination of " + std::to_string(terms.size()) + " terms has " +
                     std::to_string(values.size()) + " factors: give one for each term");
  Noise r = constant_product(terms[0], values[0]);
  for (std::size_t i = 1; i < terms.size(); ++i) r = sum(r, constant_product(terms[i], values[i]));
  return r;
}

Noise NoiseRules::product(const Noise& a, const Noise& b, std::size_t limbs) const {
  const double grown = 2 * log_t_ + log_n_ + 2 * rounding();  // K is the variance of a rounding
  const auto times_kappa = [&](const Noise& e, const Noise& other) {
    const bool again = e.degree > other.degree;
    return Noise{e.log_deviation + (grown + growth(e.degree) + (again ? repeated(e.reuse) : 0)) / 2, e.degree + 1,
                 again ? e.reuse + 1 : std::max(e.reuse, 1U)};
  };
  Noise r = sum(times_kappa(a, b), times_kappa(b, a));
  // (t/Q)*e*e'. While a budget is left it is far below the others, and so is what its higher degree makes of it.
  const double both = 2 * (a.log_deviation + b.log_deviation + log_t_ - params_.log_q(limbs)) + log_n_ + 1 +
                      log_moment(a.degree + b.degree) - log_moment(a.degree) - log_moment(b.degree);
  r.log_deviation = log_add(2 * r.log_deviation, both) / 2;
  const Term all = join({2 * r.log_deviation, r.degree}, {2 * rounding(3), 2}, false);
  return {all.log_variance / 2, all.degree, r.reuse};
}

Noise NoiseRules::switched(const Noise& a, std::size_t limbs) const {
  check(limbs);
  // Gadget::switch_variance, in logarithms: sum over digits of N * D^2/12 * Var(error) / P^2.
  const auto& spec = params_.spec();
  double log_p = 0;
  for (const u64 p : spec.p) log_p += std::log2(static_cast<double>(p));
  double added = 2 * rounding();
  for (std::size_t first = 0; first < limbs; first += spec.limbs_per_digit) {
    double digit = 0;
    for (std::size_t i = first; i < std::min<std::size_t>(first + spec.limbs_per_digit, limbs); ++i)
      digit += std::log2(static_cast<double>(spec.q[i]));
    added = log_add(added, 2 * (digit - log_p) + std::log2(kErrorVariance / 12) + log_n_);
  }
  const Term r = join({2 * a.log_deviation, a.degree}, {added, 1}, false);
  return {r.log_variance / 2, r.degree, a.reuse};
}

Noise NoiseRules::mod_switched(const Noise& a, std::size_t from, std::size_t to, std::size_t parts) const {
  check(from);
  if (to < 1 || to > from)
    throw LevelError("a ciphertext of " + std::to_string(from) + " limbs cannot be brought to " + std::to_string(to));
  if (to == from) return a;
  const double divided = a.log_deviation - (params_.log_q(from) - params_.log_q(to));
  const Term r = join({2 * divided, a.degree}, {2 * rounding(parts), static_cast<unsigned>(parts) - 1}, false);
  return {r.log_variance / 2, r.degree, a.reuse};
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

}  // namespace ringforge::bfv
