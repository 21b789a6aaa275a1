// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Exact sampling of the discrete Gaussian, the noise that hides a secret-dependent error in a shared result.
//
// The distribution over the integers is P(x) = exp(-x^2 / (2 sigma^2)) / sum of the same over all integers, for an
// integer sigma. Every decision is made by comparing uniform integers, so that no rounding of any kind enters: samples
// of every size have all their low bits. (A floating-point sampler fails here. A double has 53 bits, so that noise of
// 2^57 is a multiple of 16, and whoever sees the sum reads the error in the low four bits.)
//
// Algorithm: C. Karney, "Sampling exactly from the normal distribution", ACM Transactions on Mathematical Software 42
// (2016), algorithm D, for centre 0 and an integer sigma; its Bernoulli trials of probability exp(-p) as in C. Canonne,
// G. Kamath and T. Steinke, "The discrete Gaussian for differential privacy" (2020), algorithm 1.
#pragma once

#include "ringforge/random.hpp"

namespace ringforge {

/// The discrete Gaussian of centre 0 over the integers. Immutable; any threads may share one.
class DiscreteGaussian {
 public:
  /// Largest standard deviation. Samples stay below 16 deviations (more has a probability below 2^-180), so that their
  /// sizes fit 124 bits.
  static constexpr double kLargest = 0x1p120;

  /// `deviation` is rounded up to an integer.
  /// @throws ParameterError unless it is from 1 to `kLargest`.
  explicit DiscreteGaussian(double deviation);

  struct Sample {
    unsigned __int128 size;
    bool negative;
  };
  /// The next sample. Its running time depends on the sample.
  Sample next(Stream& stream) const noexcept;

  /// Independent samples as the coefficients of a polynomial over a basis, in Eval form, from the stream (seed, flood).
  /// The basis need not be larger than the samples: they are reduced.
  Poly<Eval> polynomial(const Basis& basis, const Seed& seed, unsigned threads = 1) const;

 private:
  unsigned __int128 uniform(Stream& stream) const noexcept;

  unsigned __int128 sigma_ = 0;
  unsigned bits_ = 0;
};

}  // namespace ringforge
