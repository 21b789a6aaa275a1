// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/spectral_tables.hpp"

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <complex>
#include <numbers>
#include <string>

#include "pi.hpp"
#include "ringforge/error.hpp"

namespace ringforge {
namespace {

constexpr unsigned kMinLog = 8, kMaxLog = 12;
constexpr double kUnit = 0x1p-53;
/// Distance of a twiddle factor from the root it stands for, in units of 2^-53: sqrt(2)/2 when both parts are the
/// nearest doubles.
constexpr double kTwiddle = 1;

/// The default floating-point environment while it lives: tables serve the whole process, whatever the thread that
/// makes them has set.
class DefaultEnvironment {
 public:
  DefaultEnvironment() noexcept {
    std::fegetenv(&was_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultEnvironment() { std::fesetenv(&was_); }
  DefaultEnvironment(const DefaultEnvironment&) = delete;
  DefaultEnvironment& operator=(const DefaultEnvironment&) = delete;

 private:
  std::fenv_t was_;
};

/// e^(2 pi i k/n), k < n/2: sines and cosines of at most an eighth of a turn.
std::complex<double> root(u64 k, u64 n) {
  if (4 * k >= n) {
    const auto w = root(k - n / 4, n);
    return {-w.imag(), w.real()};
  }
  const bool late = 8 * k > n;
  const u64 near = late ? n / 4 - k : k;
  const long double angle = 2 * kPi * static_cast<long double>(near) / static_cast<long double>(n);
  const auto cosine = static_cast<double>(std::cos(angle)), sine = static_cast<double>(std::sin(angle));
  return late ? std::complex(sine, cosine) : std::complex(cosine, sine);
}

}  // namespace

SpectralTables::SpectralTables(unsigned log_n) {
  if (log_n < kMinLog || log_n > kMaxLog)
    throw ParameterError("log2 of the ring degree is " + std::to_string(log_n) + "; spectral products have " +
                         std::to_string(kMinLog) + " to " + std::to_string(kMaxLog));
  const std::size_t points = std::size_t{1} << (log_n - 1);
  const DefaultEnvironment environment;
  words_ = WordArray<double>(8 * points);
  words_.zero();
  double* at = words_.data();
  // Node 2h + b has half the angle of node h, and b quarters of a turn: with the l bits of h below its first one in
  // reverse as a number r, (4r + 1)/2^l eighths of a turn.
  const auto twiddle = [](u64 h) {
    unsigned level = 0;
    while (h >> (level + 1) != 0) ++level;
    u64 reversed = 0;
    for (unsigned b = 0; b < level; ++b) reversed |= (h >> b & 1) << (level - 1 - b);
    return root(4 * reversed + 1, u64{8} << level);
  };
  const double* arrays[8];
  for (std::size_t i = 0; i < 4; ++i) {
    constexpr u64 kFactor[4] = {1, 2, 4, 4}, kShift[4] = {0, 0, 0, 2};
    double *re = at + 2 * i * points, *im = re + points;
    for (u64 h = 1; h < points; ++h) {
      const auto w = twiddle(kFactor[i] * h + kShift[i]);
      re[h] = w.real();
      im[h] = w.imag();
    }
    arrays[2 * i] = re;
    arrays[2 * i + 1] = im;
  }
  table_ = {2 * points, log_n, arrays[0], arrays[1], arrays[2], arrays[3], arrays[4], arrays[5], arrays[6], arrays[7]};
}

double largest_digit(const kernels::Cut& cut, u64 q) noexcept {
  const double base = std::ldexp(1.0, static_cast<int>(cut.log_base));
  if (!cut.balanced) return std::min(base, static_cast<double>(q)) - 1;
  // What is left for the last digit: halves are rounded up at each step.
  double rest = std::ldexp(static_cast<double>(q / 2), -static_cast<int>(cut.drop)) + (cut.drop > 0 ? 0.5 : 0);
  for (unsigned j = 0; j + 1 < cut.count; ++j) rest = rest / base + 0.5;
  return std::max(cut.count > 1 ? base / 2 : 0, std::floor(rest));
}

double spectral_error(std::span<const kernels::Cut> cuts, u64 q, unsigned log_n) noexcept {
  double digits = 0, rows = 0;
  for (const auto& cut : cuts) {
    digits += cut.count * largest_digit(cut, q);
    rows += cut.count;
  }
  // |d|*|k| summed over the rows, in the Euclidean norm of n coefficients.
  const double norms = std::ldexp(digits, static_cast<int>(log_n)) * static_cast<double>(q / 2);
  const double product = kTwiddle + 2 * std::numbers::sqrt2 * (1 + 8 * kUnit), level = (product + 1) * (1 + 8 * kUnit);
  const double growth = 3 * (log_n - 1) * std::log1p(level * kUnit) +
                        std::log1p(2 * std::numbers::sqrt2 * rows * kUnit * (1 + 2 * rows * kUnit));
  return norms * std::expm1(growth) * (1 + 64 * kUnit);
}

}  // namespace ringforge
