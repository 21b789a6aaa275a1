// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The integers behind residues modulo primes below 2^31: their parity, their size, their windows of bits.
#pragma once

#include <span>
#include <vector>

#include "ringforge/ltv/params.hpp"
#include "ringforge/ring.hpp"

namespace ringforge::ltv {

/// Digits of a polynomial: N coefficients each, below 2^31 in size.
class Digits {
 public:
  /// Room for `count` digits of n coefficients; what there was is used again if it is enough.
  void fit(std::size_t count, std::size_t n) {
    if (words_.size() < count * n) words_ = WordArray<std::int32_t>(count * n);
    count_ = count;
    n_ = n;
  }
  std::size_t size() const noexcept { return count_; }
  std::span<std::int32_t> operator[](std::size_t d) noexcept { return {words_.data() + d * n_, n_}; }
  std::span<const std::int32_t> operator[](std::size_t d) const noexcept { return {words_.data() + d * n_, n_}; }

 private:
  WordArray<std::int32_t> words_;
  std::size_t count_ = 0, n_ = 0;
};

/// Puts coefficients over one basis together. Immutable; any threads may share one.
class Crt {
 public:
  explicit Crt(const BasisOf<u32>& basis);
  /// Words of an integer: room for q/2 and a sign.
  std::size_t words() const noexcept { return words_; }
  /// The centred integer of coefficient `index`, in two's complement, the lowest word first.
  void centred(const Poly<Coeff, u32>& p, std::size_t index, u64* out) const noexcept;
  /// The same as a double times 2^-log2_scale: `scale` is what `scale(log2_scale)` gives for that integer.
  double scaled(const u64* value, std::span<const double> scale) const noexcept;
  std::vector<double> scale(double log2_scale) const;
  /// About q/2: no integer is too large for a double then.
  double log2_scale() const noexcept { return log2_scale_; }

  /// Windows of r bits, lowest first; `count` windows hold q. Balanced, the last takes what is left; windows of one bit
  /// are those of the size, with its sign. Window d of coefficient k, plus `offset`, goes to dst[d * N + k].
  template <class Word>
  void windows(Word* dst, const Poly<Coeff, u32>& p, unsigned r, std::size_t count, i64 offset, unsigned threads) const;

 private:
  void combine(const u32* y, double quotient, u64* out) const noexcept;

  BasisOf<u32> basis_;
  std::size_t words_;
  double log2_scale_;
  std::vector<u64> product_, hat_;        // q; word w of q/p_i: [w * size + i]
  std::vector<kernels::Factor> inverse_;  // 1/(q/p_i) modulo p_i
  std::vector<double> reciprocal_;        // 1/p_i
};

/// Digits as the parameters cut them for relinearisation; `count` are those of the evaluation key.
void cut(Digits& digits, const Poly<Coeff, u32>& p, const Parameters& params, std::size_t count, unsigned threads);
/// The same, each plus `offset`, as count * N words of 16 bits, in which they fit.
void cut(std::span<std::uint16_t> dst, const Poly<Coeff, u32>& p, const Parameters& params, std::size_t count,
         i64 offset, unsigned threads);

}  // namespace ringforge::ltv
