// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// How large products of random polynomials become: the tails behind the rules of noise.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace ringforge::bfv {

/// Bounds on means of V = A_0 * X^d * A_1 ... A_d over the N/2 pairs of conjugate roots zeta: X = |s(zeta)|^2 and the
/// A = |c1(zeta)|^2 in units of their means, nearly exponential variables, X at most largest_spectrum. One mean in
/// 2^security exceeds its bound, at most. moments.cpp derives them.
class Moments {
 public:
  /// Beyond it bounds grow as between the last two.
  static constexpr unsigned kDegrees = 72;

  /// Made once for each ring and security.
  static std::shared_ptr<const Moments> of(unsigned log_n, unsigned security);
  Moments(unsigned log_n, unsigned security);

  /// log2 of the bound where one of the factors A comes `reuse` times, as A^reuse.
  double at(unsigned degree, unsigned reuse = 0) const noexcept;
  /// log2 of how much more the mean can be over 2^-log_weight of the pairs, for this degree or any higher one.
  double concentrated(unsigned degree, unsigned log_weight) const noexcept;
  /// log2 of how much more terms of degree `from` can grow in so many products than terms of degree `to`.
  double faster(unsigned from, unsigned to, unsigned products) const noexcept;

 private:
  std::vector<std::vector<double>> moments_;       // by degree and reuse
  std::vector<std::vector<double>> concentrated_;  // by log_weight and degree
};

}  // namespace ringforge::bfv
