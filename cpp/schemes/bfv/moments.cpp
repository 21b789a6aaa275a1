// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// A bound on the mean of n independent V that one mean in 2^security exceeds. V has a heavy tail: its mean over one key
// is mostly far below its expectation, and the largest term decides.
//
//     Pr(mean > M) <= n Pr(V > c) + Pr(sum of the V <= c exceeds n M),
//
// each half of 2^-security. Everything comes from Lambda(theta) = ln E V^theta: with Gamma(1 + theta) for an
// exponential variable to the theta and an incomplete Gamma function for X, which is bounded,
//     Pr(V > c)       <= exp(Lambda(theta)) c^-theta, sharpened by 1/(theta sqrt(2 pi Lambda''(theta))) as Bahadur and
//     Rao
//                        have it ("On deviations of the sample mean", 1960), half of which is left as a margin,
//     E(V; V <= c)    <= exp(Lambda(theta)) c^(1 - theta) for theta <= 1,
//     E(V^2; V <= c)  <= exp(Lambda(theta)) c^(2 - theta) for theta <= 2,
// for every theta; the last two go into Bennett's inequality. Weights w of mean 1 up to W instead of equal ones are at
// worst W over n/W terms.
#include "moments.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <mutex>
#include <numbers>

#include "ringforge/bfv/noise.hpp"

namespace ringforge::bfv {
namespace {

constexpr std::size_t kThetas = 344;

double theta(std::size_t i) { return 0.02 * std::pow(1.03, static_cast<double>(i)); }

double log_add(double a, double b) { return std::max(a, b) + std::log1p(std::exp(-std::fabs(a - b))); }

/// ln of the integral of x^d * exp(-x) over [0, m]: the d-th moment of an exponential variable up to m.
double log_incomplete_gamma(double d, double m) {
  const double a = d + 1;
  double sum = 0, term = 1 / a;
  for (int k = 1; term > sum * 0x1p-50; ++k) {
    sum += term;
    term *= m / (a + k);
  }
  return a * std::log(m) - m + std::log(sum);
}

/// ln of the u that sums of terms up to c, whose variances add up to v, are above their mean with exp(-l) at most:
/// Bennett, v/c^2 * h(c*u/v) = l for h(x) = (1 + x) ln(1 + x) - x. Logarithms of c and v.
double bennett(double log_c, double log_v, double l) {
  const double wanted = std::log(l) - (log_v - 2 * log_c);
  double low = -60, high = 1500;  // of ln x
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2, x = std::exp(std::min(middle, 600.0));
    const double log_h = middle > 30    ? middle + std::log(middle - 1)
                         : middle < -10 ? 2 * middle - std::numbers::ln2
                                        : std::log((1 + x) * std::log1p(x) - x);
    (log_h < wanted ? low : high) = middle;
  }
  return log_v - log_c + high;
}

using Lambda = std::array<double, kThetas>;

/// ln of the bound; `expectation` is ln E V.
double log_mean_bound(const Lambda& lambda, double expectation, double log_n, double security) {
  static const Lambda thetas = [] {
    Lambda t;
    for (std::size_t i = 0; i < kThetas; ++i) t[i] = theta(i);
    return t;
  }();
  const double l = (security + 1) * std::numbers::ln2;
  double c = INFINITY;
  for (std::size_t i = 1; i + 1 < kThetas; ++i) {
    const double t = thetas[i], below = t - thetas[i - 1], above = thetas[i + 1] - t;
    const double curvature = 2 * (lambda[i - 1] * above - lambda[i] * (below + above) + lambda[i + 1] * below) /
                             (below * above * (below + above));
    const double sharper = curvature > 0 ? std::log(t * std::sqrt(std::numbers::pi * curvature / 2)) : 0;
    c = std::min(c, (lambda[i] + log_n + l - std::max(sharper, 0.0)) / t);
  }
  double mean = expectation, square = INFINITY;
  for (std::size_t i = 0; i < kThetas && thetas[i] <= 2; ++i) {
    if (thetas[i] <= 1) mean = std::min(mean, lambda[i] + (1 - thetas[i]) * c);
    square = std::min(square, lambda[i] + (2 - thetas[i]) * c);
  }
  // No mean is above the largest term either.
  return std::min(c, log_add(mean, bennett(c, log_n + square, l) - log_n));
}

}  // namespace

std::shared_ptr<const Moments> Moments::of(unsigned log_n, unsigned security) {
  static std::mutex mutex;
  static std::map<std::pair<unsigned, unsigned>, std::shared_ptr<const Moments>> made;
  const std::scoped_lock lock(mutex);
  auto& m = made[{log_n, security}];
  if (m == nullptr) m = std::make_shared<const Moments>(log_n, security);
  return m;
}

Moments::Moments(unsigned log_n, unsigned security) {
  const double log_pairs = (log_n - 1) * std::numbers::ln2, most = largest_spectrum(std::size_t{1} << log_n);
  const double bits = security;
  concentrated_.resize(log_n);
  std::vector<Lambda> gamma(kDegrees + 1);  // ln Gamma(1 + r*theta)
  for (unsigned r = 0; r <= kDegrees; ++r)
    for (std::size_t i = 0; i < kThetas; ++i) gamma[r][i] = std::lgamma(1 + r * theta(i));
  for (unsigned d = 0; d <= kDegrees; ++d) {
    Lambda key, lambda;
    for (std::size_t i = 0; i < kThetas; ++i) key[i] = d == 0 ? 0 : log_incomplete_gamma(d * theta(i), most);
    const double expectation = d == 0 ? 0 : log_incomplete_gamma(d, most);
    auto& row = moments_.emplace_back();
    for (unsigned r = 1; r <= std::max(d, 1U); ++r) {
      for (std::size_t i = 0; i < kThetas; ++i) lambda[i] = key[i] + gamma[r][i] + (d + 1 - r) * gamma[1][i];
      row.push_back(std::max(log_mean_bound(lambda, expectation + std::lgamma(1.0 + r), log_pairs, bits), 0.0) /
                    std::numbers::ln2);
      if (r > 1) continue;
      for (unsigned w = 0; w < log_n; ++w)
        concentrated_[w].push_back(
            log_mean_bound(lambda, expectation, log_pairs - w * std::numbers::ln2, bits) / std::numbers::ln2 - row[0]);
    }
  }
  for (auto& more : concentrated_) {
    double most_of_higher = 0;
    for (unsigned d = kDegrees + 1; d-- > 0;) more[d] = most_of_higher = std::max(most_of_higher, more[d]);
  }
}

double Moments::at(unsigned degree, unsigned reuse) const noexcept {
  const auto known = [&](unsigned d) {
    const auto& row = moments_[d];
    return row[std::clamp<std::size_t>(reuse, 1, row.size()) - 1];
  };
  if (degree <= kDegrees) return known(degree);
  return known(kDegrees) + (degree - kDegrees) * (known(kDegrees) - known(kDegrees - 1));
}

double Moments::concentrated(unsigned degree, unsigned log_weight) const noexcept {
  return concentrated_[std::min<std::size_t>(log_weight, concentrated_.size() - 1)][std::min(degree, kDegrees)];
}

double Moments::faster(unsigned from, unsigned to, unsigned products) const noexcept {
  double most = 0;
  for (unsigned k = 1; k <= products; ++k) most = std::max(most, at(from + k) - at(from) - (at(to + k) - at(to)));
  return most;
}

}  // namespace ringforge::bfv
