// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Values of polynomials at the primitive m-th roots of unity, as sizes.
#pragma once

#include <complex>
#include <span>
#include <vector>

#include "ringforge/ring.hpp"

namespace ringforge {

/// The transform of length m, odd, by Bluestein: one of 2^k >= 2m - 1. Its operations do not depend on values.
/// Immutable.
class Spectrum {
 public:
  explicit Spectrum(u64 m);
  /// The largest |a(z)|^2 over primitive m-th roots z of unity; a has at most m coefficients.
  double largest(std::span<const double> a) const;

 private:
  void fft(std::vector<std::complex<double>>& x, bool inverse) const;
  std::vector<u32> units_;
  std::vector<std::complex<double>> roots_, chirp_, kernel_;
};

}  // namespace ringforge
