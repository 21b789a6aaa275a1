// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Reduction modulo any cyclotomic polynomial by two products, for comparison: padded rings reduce by additions.
#pragma once

#include "ringforge/ring.hpp"

namespace ringforge {

/// Barrett reduction of polynomials modulo Phi_m and one prime (Doroz, Ozturk, Savas, Sunar: Accelerating LTV based
/// homomorphic encryption in reconfigurable hardware, section on polynomial reduction): with N = phi(m) and
/// mu = floor(X^2N / Phi_m) made before, the quotient of a is floor(floor(a / X^N) * mu / X^N). Two products by
/// transforms, those of mu and Phi_m made before.
class BarrettReduction {
 public:
  /// @throws ParameterError when the ring is no padded one.
  BarrettReduction(const Ring& ring, std::shared_ptr<const PrimeOf<u32>> prime);

  /// dst = a modulo Phi_m: `degree` words from 2*degree - 1 words. dst is a or apart from it; `room` has
  /// ring.transform_length() words.
  void reduce(u32* dst, const u32* a, u32* room) const noexcept;

 private:
  std::size_t degree_;
  std::shared_ptr<const PrimeOf<u32>> prime_;
  WordArray<u32> mu_, phi_;  // Eval form
};

}  // namespace ringforge
