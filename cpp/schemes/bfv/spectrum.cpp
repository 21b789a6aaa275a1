// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Values of polynomials at the 2N-th roots of unity: of secret keys, whose largest is bounded, and of plaintexts.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <mutex>
#include <numbers>

#include "ringforge/bfv/noise.hpp"
#include "ringforge/memory.hpp"

namespace ringforge::bfv {
namespace {

using C = std::complex<double>;

// Without the library's care for infinities, which branches on the values.
C times(C a, C b) { return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()}; }

C root(std::size_t k, std::size_t n) {  // exp(i*pi*k/n)
  return std::polar(1.0, std::numbers::pi * static_cast<double>(k) / static_cast<double>(n));
}

/// exp(i*pi*k/n) for k < n; made once for each n.
const std::vector<C>& roots(std::size_t n) {
  static std::array<std::vector<C>, 64> tables;
  static std::array<std::once_flag, 64> once;
  const auto log_n = static_cast<std::size_t>(std::countr_zero(n));
  std::call_once(once[log_n], [&] {
    for (std::size_t k = 0; k < n; ++k) tables[log_n].push_back(root(k, n));
  });
  return tables[log_n];
}

}  // namespace

double largest_spectrum(std::size_t degree) noexcept { return std::log(static_cast<double>(degree) / 2) + 2; }

// Values at exp(i*pi*(4k + 1)/N), one of each conjugate pair: X^(N/2) is i there, which leaves a cyclic transform of
// length N/2 of (x_k + i*x_(k + N/2)) * exp(i*pi*k/N).
double largest_square(std::span<const double> coefficients) {
  const std::size_t n = coefficients.size(), half = n / 2;
  if (n < 2) return n == 0 ? 0 : coefficients[0] * coefficients[0];
  const std::vector<C>& w = roots(n);
  std::vector<C> x(half);
  for (std::size_t k = 0; k < half; ++k) x[k] = times(C(coefficients[k], coefficients[k + half]), w[k]);
  // Decimation in frequency; the order of the values does not matter.
  for (std::size_t len = half / 2, step = 4; len >= 1; len /= 2, step *= 2)
    for (std::size_t first = 0; first < half; first += 2 * len)
      for (std::size_t k = 0; k < len; ++k) {
        const C u = x[first + k], v = x[first + k + len], r = w[k * step];
        x[first + k] = u + v;
        x[first + k + len] = times(u - v, r);
      }
  double most = 0;
  for (const C& v : x) most = std::max(most, std::norm(v));
  wipe(x.data(), half * sizeof(C));
  return most;
}

double spectrum(std::span<const i64> coefficients) {
  std::vector<double> x(coefficients.begin(), coefficients.end());
  const double most = largest_square(x);
  wipe(x.data(), x.size() * sizeof(double));
  return most / (2.0 * static_cast<double>(x.size()) / 3);
}

}  // namespace ringforge::bfv
