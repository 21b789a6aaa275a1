// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "spectrum.hpp"

#include <algorithm>
#include <bit>
#include <numbers>
#include <numeric>

#include "ringforge/memory.hpp"

namespace ringforge {
namespace {

using Complex = std::complex<double>;

Complex unit(u64 k, u64 n) {
  return std::polar(1.0, 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n));
}
// Without the library's care for infinities, which costs a call.
Complex times(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

}  // namespace

// j k = (j^2 + k^2 - (j - k)^2)/2, and 1/2 is (m + 1)/2 modulo m.
Spectrum::Spectrum(u64 m) : roots_(std::bit_ceil(2 * m - 1) / 2), chirp_(m) {
  for (u64 j = 1; j < m; ++j)
    if (std::gcd(j, m) == 1) units_.push_back(static_cast<u32>(j));
  const std::size_t n = 2 * roots_.size();
  for (std::size_t k = 0; k < roots_.size(); ++k) roots_[k] = unit(k, n);
  kernel_.assign(n, 0);
  for (u64 k = 0; k < m; ++k) {
    chirp_[k] = unit(k * k % m * ((m + 1) / 2) % m, m);
    kernel_[k] = std::conj(chirp_[k]);
    if (k > 0) kernel_[n - k] = kernel_[k];
  }
  fft(kernel_, false);
  for (Complex& x : kernel_) x /= static_cast<double>(n);
}

void Spectrum::fft(std::vector<Complex>& x, bool inverse) const {
  const std::size_t n = x.size();
  for (std::size_t i = 1, j = 0; i < n; ++i) {
    std::size_t bit = n / 2;
    for (; (j & bit) != 0; bit /= 2) j ^= bit;
    j |= bit;
    if (i < j) std::swap(x[i], x[j]);
  }
  for (std::size_t half = 1; half < n; half *= 2)
    for (std::size_t start = 0; start < n; start += 2 * half)
      for (std::size_t k = 0; k < half; ++k) {
        const Complex root = roots_[k * (n / (2 * half))];
        const Complex v = times(x[start + k + half], inverse ? std::conj(root) : root);
        x[start + k + half] = x[start + k] - v;
        x[start + k] += v;
      }
}

double Spectrum::largest(std::span<const double> a) const {
  std::vector<Complex> x(kernel_.size());
  for (std::size_t k = 0; k < a.size(); ++k) x[k] = a[k] * chirp_[k];
  fft(x, false);
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = times(x[k], kernel_[k]);
  fft(x, true);
  double most = 0;
  for (const u32 j : units_) most = std::max(most, std::norm(x[j]));
  wipe(x.data(), x.size() * sizeof(Complex));
  return most;
}

}  // namespace ringforge
