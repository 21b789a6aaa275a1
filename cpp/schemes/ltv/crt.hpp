// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The integers behind residues modulo primes below 2^31: their parity, their size, their windows of bits.
#pragma once

#include <vector>

#include "ringforge/ring.hpp"

namespace ringforge::ltv {

/// Digits of a polynomial: N coefficients each, below 2^31 in size, filled with zeros to whole blocks of 16.
using Digits = std::vector<std::vector<i64>>;

/// Puts coefficients over one basis together. Immutable; any threads may share one.
class Crt {
 public:
  explicit Crt(const BasisOf<u32>& basis);
  /// Words of an integer: room for q/2 and a sign.
  std::size_t words() const noexcept { return words_; }
  /// The centred integer of coefficient `index`, in two's complement, the lowest word first.
  void centred(const Poly<Coeff, u32>& p, std::size_t index, u64* out) const noexcept;
  /// The same as a double times 2^-log2_scale, an integer.
  double scaled(const u64* value, double log2_scale) const noexcept;
  /// About q/2: no integer is too large for a double then.
  double log2_scale() const noexcept { return log2_scale_; }

  /// Windows of r bits, lowest first; `count` windows hold q. Balanced, the last takes what is left; windows of one bit
  /// are those of the size, with its sign.
  Digits windows(const Poly<Coeff, u32>& p, unsigned r, std::size_t count, unsigned threads) const;

 private:
  BasisOf<u32> basis_;
  std::size_t words_;
  double log2_scale_;
  std::vector<u64> product_, hat_;        // q, and q/p_i for each prime
  std::vector<kernels::Factor> inverse_;  // 1/(q/p_i) modulo p_i
  std::vector<double> reciprocal_;        // 1/p_i
};

/// Windows of r bits of each centred residue, ceil(31/r) for each prime.
Digits residue_windows(const Poly<Coeff, u32>& p, unsigned r, unsigned threads);

}  // namespace ringforge::ltv
