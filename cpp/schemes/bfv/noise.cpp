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
// is c1*s/Q, and s is in every factor. An error of degree d has been multiplied by s(zeta) d times, and by the c1(zeta)
// of d ciphertexts. Their squared absolute values, in units of their means, are exponentially distributed over the N/2
// pairs of zeta (for s: Biasioli, Marcolla, Murru, Urani, "A central limit approach for Ring-LWE-based homomorphic
// encryption", 2023), and so is that of the first error itself: the mean square of e is the naive product times a mean
// of products of 2d + 1 exponential variables. Moments::at(d) bounds it, with the stated confidence; from one degree to
// the next an error grows by the quotient of two bounds.
//
// The same factor used r times, as in ((x*c)*c)*c, brings its c1 to the r-th power. No operand is inside another of the
// same degree, since a product has a higher degree than its operands; so only factors of lower degree can come again.
// Noise::reuse counts these.
//
// A coefficient is a sum of N/2 terms of random phases, whose absolute values are those of e(zeta): however these are
// distributed, it exceeds x of the resulting deviations with 2*exp(-x^2/2) at most (Hoeffding).
#include "ringforge/bfv/noise.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "moments.hpp"
#include "ringforge/error.hpp"
#include "ringforge/random.hpp"

namespace ringforge::bfv {
namespace {

double log_add(double a, double b) { return std::max(a, b) + std::log2(1 + std::exp2(-std::fabs(a - b))); }

}  // namespace

NoiseRules::NoiseRules(const Parameters& params, unsigned security)
    : params_(params),
      security_(security),
      log_n_(params.spec().log_n),
      log_t_(std::log2(static_cast<double>(params.t()))) {
  if (security < 1 || security > kMostSecurity)
    throw ParameterError("noise cannot be bounded with a confidence of " + std::to_string(security) +
                         " bits: take 1 to " + std::to_string(kMostSecurity));
  moments_ = Moments::of(params.spec().log_n, security);
}

double NoiseRules::growth(unsigned degree, unsigned reuse, unsigned reuse_after) const noexcept {
  return moments_->at(degree + 1, reuse_after) - moments_->at(degree, reuse);
}

double NoiseRules::log_kappa() const noexcept { return std::log2((1 + 2 * std::exp2(log_n_) / 3) / 12); }

// Terms of one degree may grow faster than those of another. The sum has the degree of one term, the other is counted
// with all that its further growth can be more, in as many products as the limbs have bits for.
NoiseRules::Term NoiseRules::join(Term a, Term b, bool dependent, std::size_t limbs) const {
  if (a.degree > b.degree) std::swap(a, b);
  unsigned degree = b.degree;
  if (a.degree != b.degree) {
    // The higher degree, as reuse is told by it, unless there is very little of it.
    const double each = log_t_ + (log_n_ + log_kappa()) / 2;
    const auto products = static_cast<unsigned>(std::ceil(params_.log_q(limbs) / each));
    const double more = moments_->faster(b.degree, a.degree, products);
    if (b.log_variance + more < a.log_variance - 10) {
      degree = a.degree;
      b.log_variance += more;
    } else {
      a.log_variance += moments_->faster(a.degree, b.degree, products);
    }
  }
  return {dependent ? 2 * log_add(a.log_variance / 2, b.log_variance / 2) : log_add(a.log_variance, b.log_variance),
          degree};
}

void NoiseRules::check(std::size_t limbs) const { (void)params_.log_q(limbs); }

double NoiseRules::deviations() const noexcept { return std::sqrt(2 * std::numbers::ln2 * (log_n_ + 1 + security_)); }

double NoiseRules::bound_bits(const Noise& a) const noexcept { return a.log_deviation + std::log2(deviations()); }

double NoiseRules::budget(const Noise& a, std::size_t limbs) const {
  return params_.log_q(limbs) - 1 - log_t_ - bound_bits(a);
}

double NoiseRules::rounding(std::size_t parts) const noexcept {
  // Roundings r0 + r1*s + r2*s^2 of variance 1/12.
  const double s2 = log_n_ + std::log2(2.0 / 3);
  double sum = log_add(0, s2 + moments_->at(1));
  if (parts > 2) sum = log_add(sum, 2 * s2 + moments_->at(2));
  return (sum - std::log2(12.0)) / 2;
}

Noise NoiseRules::encrypted(bool public_key) const noexcept {
  // Secret: e and the rounding of (Q/t)*m. Public: v*e + e0 + e1*s, v ternary.
  const double n = std::exp2(log_n_);
  const unsigned degree = public_key ? 1 : 0;
  return {(std::log2(kErrorVariance * (public_key ? 4 * n / 3 + 1 : 1) + 1.0 / 12) + moments_->at(degree)) / 2, degree,
          0};
}

Noise NoiseRules::sum(const Noise& a, const Noise& b) const {
  const Term r = join({2 * a.log_deviation, a.degree}, {2 * b.log_deviation, b.degree}, true, params_.max_limbs());
  return {r.log_variance / 2, r.degree, std::max(a.reuse, b.reuse)};
}

Noise NoiseRules::independent_sum(const Noise& a, const Noise& b) const {
  const Term r = join({2 * a.log_deviation, a.degree}, {2 * b.log_deviation, b.degree}, false, params_.max_limbs());
  return {r.log_variance / 2, r.degree, std::max(a.reuse, b.reuse)};
}

// Rounding (Q/t)*p is no fresh noise: the same p leaves the same r each time, and p may be chosen so that r is 1/2
// throughout, or stands at one pair of roots. |r_k| <= 1/2 and |r(zeta)| <= N/2 hold for every p, so that a deviation
// of sqrt(N)/2, which adds, covers r and whatever it is multiplied by: |(r*p')_k| <= sqrt(N)/2 * |p'|, two norms.
Noise NoiseRules::plain_sum(const Noise& a) const { return sum(a, {log_n_ / 2 - 1, 0, 0}); }

// Here r is a constant of 1/2 at most, everywhere: as a coefficient, in as many deviations as bound_bits takes.
Noise NoiseRules::constant_sum(const Noise& a) const {
  return sum(a, {-1 - std::min(std::log2(deviations()), log_n_ / 2), 0, 0});
}

// The values of an error that nobody knows are multiplied by those of a plaintext, squares of mean norm^2 and at most
// peak^2: at worst by peak^2 at norm^2/peak^2 of the roots. After the first plaintext the error may be large where the
// second is.
Noise NoiseRules::plain_product(const Noise& a, double log_norm, double log_peak) const noexcept {
  const double log_weight = std::max(0.0, std::ceil(2 * (log_peak - log_norm)));
  const double more = moments_->concentrated(a.degree, static_cast<unsigned>(std::min(log_weight, log_n_))) / 2;
  const double grown = a.reuse == 0 ? std::min(log_norm + more, log_peak) : log_peak;
  return {a.log_deviation + grown, a.degree, a.reuse + 1};
}

double NoiseRules::random_norm() const noexcept { return (log_n_ + 2 * log_t_ - std::log2(12.0)) / 2; }

double NoiseRules::random_peak() const noexcept {
  // Squares are exponentially distributed over N/2 pairs of roots.
  return random_norm() + std::log2(std::numbers::ln2 * (log_n_ - 1 + security_)) / 2;
}

double NoiseRules::largest_norm() const noexcept { return log_n_ / 2 + log_t_ - 1; }

double NoiseRules::largest_peak() const noexcept { return log_n_ + log_t_ - 1; }

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
  const auto times_kappa = [&](const Noise& e, const Noise& other) {
    const bool again = e.degree > other.degree;
    const unsigned reuse = again ? e.reuse + 1 : std::max(e.reuse, 1U);
    const double grown = 2 * log_t_ + log_n_ + log_kappa() + growth(e.degree, e.reuse, reuse);
    return Noise{e.log_deviation + grown / 2, e.degree + 1, reuse};
  };
  Noise r = sum(times_kappa(a, b), times_kappa(b, a));
  // (t/Q)*e*e'. All of e' may stand at one pair of roots: |e'|^2 <= N^2/2 of its variance. While a budget is left it is
  // far below the others.
  const double both = a.log_deviation + b.log_deviation + log_t_ - params_.log_q(limbs) + log_n_ - 0.5;
  r.log_deviation = log_add(r.log_deviation, both);
  const Term all = join({2 * r.log_deviation, r.degree}, {2 * rounding(3), 2}, false, limbs);
  return {all.log_variance / 2, all.degree, r.reuse};
}

Noise NoiseRules::switched(const Noise& a, std::size_t limbs) const {
  check(limbs);
  // Gadget::switch_variance, in logarithms: sum over digits of N * D^2/12 * Var(error) / P^2; a product of two.
  const auto& spec = params_.spec();
  double log_p = 0;
  for (const u64 p : spec.p) log_p += std::log2(static_cast<double>(p));
  double added = 2 * rounding();
  for (std::size_t first = 0; first < limbs; first += spec.limbs_per_digit) {
    double digit = 0;
    for (std::size_t i = first; i < std::min<std::size_t>(first + spec.limbs_per_digit, limbs); ++i)
      digit += std::log2(static_cast<double>(spec.q[i]));
    added = log_add(added, 2 * (digit - log_p) + std::log2(kErrorVariance / 12) + log_n_ + moments_->at(1));
  }
  const Term r = join({2 * a.log_deviation, a.degree}, {added, 1}, false, limbs);
  return {r.log_variance / 2, r.degree, a.reuse};
}

Noise NoiseRules::mod_switched(const Noise& a, std::size_t from, std::size_t to, std::size_t parts) const {
  check(from);
  if (to < 1 || to > from)
    throw LevelError("a ciphertext of " + std::to_string(from) + " limbs cannot be brought to " + std::to_string(to));
  if (to == from) return a;
  const double divided = a.log_deviation - (params_.log_q(from) - params_.log_q(to));
  const Term r = join({2 * divided, a.degree}, {2 * rounding(parts), static_cast<unsigned>(parts) - 1}, false, to);
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
