// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/ltv/noise.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <numbers>

#include "fork.hpp"
#include "ringforge/error.hpp"

namespace ringforge::ltv {
namespace {

/// What a step may exceed its bound with: 2^-30.
constexpr double kTail = 30 * std::numbers::ln2;
constexpr double kTernary = 2.0 / 3, kSecret = 4 * kTernary, kWhole = 1.0 / 3;

std::vector<u64> primes_of(u64 m) {
  std::vector<u64> out;
  for (u64 p = 3; m > 1; p += 2)
    for (; m % p == 0; m /= p) out.push_back(p);
  return out;
}

/// Phi_m, lowest coefficient first, as a product of binomials 1 - X^(m/d).
std::vector<std::int32_t> cyclotomic(u64 m, std::size_t degree) {
  std::vector<u64> primes = primes_of(m);
  primes.erase(std::unique(primes.begin(), primes.end()), primes.end());
  std::vector<std::int32_t> a(degree + 1, 0);
  a[0] = 1;
  for (unsigned set = 0; set < 1U << primes.size(); ++set) {
    u64 e = m;
    bool above = true;
    for (std::size_t i = 0; i < primes.size(); ++i)
      if (set >> i & 1) e /= primes[i], above = !above;
    if (above) {
      for (std::size_t i = a.size(); i-- > e;) a[i] -= a[i - e];
    } else {
      for (std::size_t i = e; i < a.size(); ++i) a[i] += a[i - e];
    }
  }
  return a;
}

struct Moments {
  double most = 0;     // of a coefficient, all powers alike
  double product = 0;  // of a product of two, mean over coefficients, of factors with variance 1
};

Moments power_moments(u64 m) {
  const std::size_t n = Ring::cyclotomic(m).degree();
  const std::vector<std::int32_t> phi = cyclotomic(m, n);
  std::vector<std::int32_t> row(n, 0), next(n);
  std::vector<i64> sums(n, 1);  // the powers below X^n
  // Coefficients of an unreduced product: at X^j, min(j, 2n - 2 - j) + 1 terms.
  double product = 0.5 * static_cast<double>(n) * static_cast<double>(n + 1);
  row[n - 1] = 1;
  for (std::size_t j = n; j < m; ++j) {
    const std::int32_t top = row[n - 1];
    next[0] = -top * phi[0];
    for (std::size_t i = 1; i < n; ++i) next[i] = row[i - 1] - top * phi[i];
    i64 norm = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const i64 square = i64{next[i]} * next[i];
      sums[i] += square;
      norm += square;
    }
    row.swap(next);
    if (j <= 2 * n - 2) product += static_cast<double>(2 * n - 1 - j) * static_cast<double>(norm);
  }
  // Powers from X^m on are those from 1 on.
  for (std::size_t j = m; j <= 2 * n - 2; ++j) product += static_cast<double>(2 * n - 1 - j);
  return {static_cast<double>(*std::max_element(sums.begin(), sums.end())), product / static_cast<double>(n)};
}

// Both are products over the primes: modulo Phi_p, X^(p-1) is -1 - X - ... - X^(p-2).
Moments tensor_moments(u64 m) {
  Moments r{1, 1};
  const std::vector<u64> primes = primes_of(m);
  if (std::adjacent_find(primes.begin(), primes.end()) != primes.end())
    throw ParameterError("the index " + std::to_string(m) + " has a square: its ring has no tensor basis here");
  for (const u64 p : primes) {
    const auto n = static_cast<double>(p - 1);
    // Modulo X^p - 1 every power but X^(p-2) has n - 1 terms, that one n; X^(p-1) goes to all coefficients.
    r.most *= 2;
    r.product *= (n * (n - 1) + 1) / n + (n - 1);
  }
  return r;
}

ForkMutex moments_mutex(ForkMutex::Rank::tables);

Moments moments(u64 m, PolyBasis basis) {
  if (basis == PolyBasis::tensor) return tensor_moments(m);
  static std::map<u64, Moments> known;
  {
    const std::lock_guard lock(moments_mutex);
    if (const auto at = known.find(m); at != known.end()) return at->second;
  }
  const Moments found = power_moments(m);
  const std::lock_guard lock(moments_mutex);
  known.emplace(m, found);
  return found;
}

Noise noise(double bound, double variance) { return {std::log2(bound), 0.5 * std::log2(variance)}; }
double bound_of(const Noise& a) { return std::exp2(a.log_bound); }
double variance_of(const Noise& a) { return std::exp2(2 * a.log_deviation); }

}  // namespace

double reduction_moment(u64 m, PolyBasis basis) { return moments(m, basis).most; }

double ternary_product_deviation(u64 m, PolyBasis basis) {
  return kTernary * std::sqrt(moments(m, basis).product);
}

// Of the values at the n/2 pairs of roots, the largest square is about ln(n/2) times the mean. A bound below that makes
// one f in some fifteen fit, and takes from what f is multiplied into all later noise.
NoiseRules::NoiseRules(const Parameters& params) : params_(params), n_(static_cast<double>(params.degree())) {
  const double pairs = std::log(n_ / 2);
  tail_ = pairs + kTail;
  f_max_ = n_ * kSecret * std::max(pairs - 1, 2.0);
  g_max_ = n_ * kTernary * (pairs + 1);
  // A coefficient is a sum of independent terms whose variance is at most reduction_moment/n times that of values.
  const double deviations = std::sqrt(2 * (std::log(2 * n_) + kTail));
  coefficient_ = std::log2(deviations * std::sqrt(reduction_moment(params.spec().m, PolyBasis::power) / n_ / tail_));
}

/// A bound on values of a polynomial with independent coefficients of mean zero.
double NoiseRules::spread(double variance) const noexcept { return std::sqrt(variance * n_ * tail_); }

// w = 2 g s + (2 e + b) f, b with random signs.
Noise NoiseRules::encrypted() const {
  const double f = std::sqrt(f_max_), g = std::sqrt(g_max_);
  return noise(2 * g * spread(kTernary) + (2 * spread(kTernary) + spread(1)) * f,
               n_ * n_ * (4 * kTernary * kTernary + (4 * kTernary + 1) * kSecret));
}

Noise NoiseRules::sum(const Noise& a, const Noise& b) const {
  return noise(bound_of(a) + bound_of(b), variance_of(a) + variance_of(b));
}

Noise NoiseRules::plain_sum(const Noise& a, unsigned degree) const {
  return noise(bound_of(a) + spread(1) * std::pow(f_max_, 0.5 * degree),
               variance_of(a) + n_ * std::pow(n_ * kSecret, degree));
}

Noise NoiseRules::plain_product(const Noise& a) const { return {a.log_bound + std::log2(spread(1)), a.log_deviation + 0.5 * std::log2(n_)}; }

Noise NoiseRules::product(const Noise& a, const Noise& b) const {
  return {a.log_bound + b.log_bound, a.log_deviation + b.log_deviation};
}

// w f' (w f f' of a ciphertext under f), and the sum over digits d of d (2 g s + 2 e f').
Noise NoiseRules::relinearized(const Noise& a, std::size_t level, unsigned degree) const {
  const auto& spec = params_.spec();
  const auto digits = static_cast<double>(params_.digits(level));
  const double factors = degree == 2 ? 1 : 2;
  const double digit = spec.window == 1 ? 0.5 : std::exp2(2.0 * spec.window) / 12;
  // A sum of so many squares of values, each with a mean of 1, is below that: Laurent and Massart (2000), lemma 1.
  const double squares = digits + std::sqrt(2 * digits * tail_) + tail_;
  const double key = 4 * n_ * kTernary;
  return noise(bound_of(a) * std::pow(f_max_, 0.5 * factors) + spread(digit) * std::sqrt(key * (f_max_ + g_max_) * squares),
               variance_of(a) * std::pow(n_ * kSecret, factors) +
                   n_ * digit * key * n_ * (kSecret + kTernary) * digits);
}

// (w - delta f)/p, where delta/p is uniform in (-1, 1).
Noise NoiseRules::switched(const Noise& a, std::size_t limbs, std::size_t drop) const {
  double bound = bound_of(a), variance = variance_of(a);
  for (std::size_t i = 1; i <= drop; ++i) {
    const auto p = static_cast<double>(params_.spec().q.at(limbs - i));
    bound = bound / p + spread(kWhole) * std::sqrt(f_max_);
    variance = variance / (p * p) + kWhole * n_ * n_ * kSecret;
  }
  return noise(bound, variance);
}

double NoiseRules::coefficient_bits(const Noise& a) const { return a.log_bound + coefficient_; }

double NoiseRules::budget(const Noise& a, std::size_t limbs) const {
  return params_.log_q(limbs) - 1 - coefficient_bits(a);
}

}  // namespace ringforge::ltv
