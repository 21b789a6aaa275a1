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
template <class Word>
class BarrettReductionOf {
 public:
  /// @throws ParameterError when the ring is no padded one, or of a degree that 16 does not divide and words of 64
  /// bits.
  BarrettReductionOf(const Ring& ring, std::shared_ptr<const PrimeOf<Word>> prime);

  /// dst = a modulo Phi_m: `degree` words from 2*degree - 1 words. dst is a or apart from it; `room` has
  /// ring.transform_length() words.
  void reduce(Word* dst, const Word* a, Word* room) const noexcept;

 private:
  std::size_t degree_;
  /// To Eval form from the first degree - 1 words, zeros behind them.
  void transform(Word* dst, const Word* src) const noexcept;

  std::shared_ptr<const PrimeOf<Word>> prime_;
  WordArray<Word> mu_, phi_;  // Eval form
};
using BarrettReduction = BarrettReductionOf<u32>;

}  // namespace ringforge
