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
#include "ringforge/memory.hpp"

namespace ringforge::ltv {
namespace {

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

/// Whatever is fresh or was switched counts as a product of two, of new randomness and of a secret.
constexpr u32 kFactors = 2, kMaxFactors = 64;

Noise noise(double variance, u32 factors = kFactors) { return {0.5 * std::log2(variance), factors}; }
double variance_of(const Noise& a) { return std::exp2(2 * a.log_deviation); }

}  // namespace

double reduction_moment(u64 m, PolyBasis basis) { return moments(m, basis).most; }

// Rows are below the root of their sums of squares, 2^31; differences on the way wrap.
double reduction_moment(u64 m, std::span<const i64> a) {
  const std::size_t n = a.size();
  const std::vector<std::int32_t> phi = cyclotomic(m, n);
  SecretArray<u32> row(n), next(n);
  SecretArray<double> sums(n);
  for (std::size_t i = 0; i < n; ++i) {
    row.data()[i] = static_cast<u32>(a[i]);
    sums.data()[i] = 0;
  }
  u32 *from = row.data(), *to = next.data();
  double* sum = sums.data();
  const std::int32_t* by = phi.data();
  for (u64 j = 0; j < m; ++j) {
    const u32 top = from[n - 1];
    to[0] = -top * static_cast<u32>(by[0]);
    for (std::size_t i = 1; i < n; ++i) to[i] = from[i - 1] - top * static_cast<u32>(by[i]);
    for (std::size_t i = 0; i < n; ++i) {
      const auto x = static_cast<double>(static_cast<std::int32_t>(to[i]));
      sum[i] += x * x;
    }
    std::swap(from, to);
  }
  return *std::max_element(sum, sum + n);
}

double ternary_product_deviation(u64 m, PolyBasis basis) { return kTernary * std::sqrt(moments(m, basis).product); }

// A coefficient sees a weighted mean of |f(z)|^2 over roots, where key generation bounds what the coefficient with the
// largest moment may see. Weights there are as uneven at Phi_65535 as equal ones on 170 pairs of roots; an n/128th is
// taken for that number, and five or six deviations allowed, so that few secrets are drawn again. The largest of the
// values at n/2 pairs, about ln(n/2) times the mean, bounds all means, and is less in small rings.
NoiseRules::NoiseRules(const Parameters& params) : params_(params), n_(static_cast<double>(params.degree())) {
  largest_ = std::log(n_ / 2) + 2;
  const double mean = std::min(1 + 6 / std::sqrt(n_ / 128), largest_);
  f_ = n_ * kSecret * mean;
  g_ = n_ * kTernary * mean;
  // Independent terms of a coefficient have at most reduction_moment/n times the variance of values.
  moment_ = reduction_moment(params.spec().m,
                             params.ring().kind() == RingKind::tensor ? PolyBasis::tensor : PolyBasis::power);
  coefficient_ = std::log2(kDeviations * std::sqrt(moment_ / n_));
}

// w = 2 g s + (2 e + b) f, b with random signs.
Noise NoiseRules::encrypted() const { return noise(n_ * (4 * kTernary * g_ + (4 * kTernary + 1) * f_)); }

// Cauchy and Schwarz: whatever the operands have in common.
Noise NoiseRules::sum(const Noise& a, const Noise& b) const {
  const double deviation = std::exp2(a.log_deviation) + std::exp2(b.log_deviation);
  return noise(deviation * deviation, std::max(a.factors, b.factors));
}

Noise NoiseRules::independent_sum(const Noise& a, const Noise& b) const {
  return noise(variance_of(a) + variance_of(b), std::max(a.factors, b.factors));
}

// b f^degree, which may be in the operand already.
Noise NoiseRules::plain_sum(const Noise& a, unsigned degree) const {
  return sum(a, noise(n_ * std::pow(f_, degree), 1));
}

Noise NoiseRules::plain_product(const Noise& a) const { return product(a, noise(n_, 1)); }

// Values are nearly normal: the square of a product of k of them has the mean k! times that of independent ones where
// all are the same, and by Cauchy and Schwarz not more otherwise.
Noise NoiseRules::product(const Noise& a, const Noise& b) const {
  const double k = a.factors, l = b.factors;
  const double moments = std::lgamma(k + l + 1) - std::lgamma(k + 1) - std::lgamma(l + 1);
  return {a.log_deviation + b.log_deviation + 0.5 * moments / std::numbers::ln2,
          std::min(a.factors + b.factors, kMaxFactors)};
}

Noise NoiseRules::lifted(const Noise& a) const { return noise(variance_of(a) * f_, a.factors); }

// w f' (w f f' of a ciphertext under f), and the sum over digits d of d (2 g s + 2 e f').
Noise NoiseRules::relinearized(const Noise& a, std::size_t level, unsigned degree) const {
  const auto& spec = params_.spec();
  const double digit = spec.window == 1 ? 0.5 : std::exp2(2.0 * spec.window) / 12;
  const double key = 4 * kTernary * n_ * (f_ + g_);
  return noise(variance_of(a) * std::pow(f_, degree == 2 ? 1 : 2) +
                   static_cast<double>(params_.digits(level)) * n_ * digit * key,
               a.factors);
}

// (w - delta f)/p, where delta/p is uniform in (-1, 1).
Noise NoiseRules::switched(const Noise& a, std::size_t limbs, std::size_t drop) const {
  double variance = variance_of(a);
  for (std::size_t i = 1; i <= drop; ++i) {
    const auto p = static_cast<double>(params_.spec().q.at(limbs - i));
    variance = variance / (p * p) + kWhole * n_ * f_;
  }
  return noise(variance);
}

// A product counts 4!/(2! 2!) for moments, 2 of it for randomness: 3 are left for the secret's.
NoiseRules::SecretBounds NoiseRules::bounds(double variance, double mean) const noexcept {
  return {n_ * variance * largest_, moment_ * mean, moment_ * 3 * mean * mean};
}

double NoiseRules::coefficient_bits(const Noise& a) const { return a.log_deviation + coefficient_; }

double NoiseRules::budget(const Noise& a, std::size_t limbs) const {
  return params_.log_q(limbs) - 1 - coefficient_bits(a);
}

}  // namespace ringforge::ltv
