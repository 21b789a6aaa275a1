// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Unreduced sums of products in words of 52 bits: what inner products and matrix products gather before their
// one reduction.
#pragma once

#include "internal.hpp"

namespace ringforge::kernels::avx512 {
namespace {

/// q < 2^50: sums of low and high words, below 2^52 and 2^48 a term.
struct Narrow {
  static constexpr size_t kMaxTerms = 2048;
  V lo, hi;
  RF_MEMBER void add(V x, V y) {
    lo = lo52(lo, x, y);
    hi = hi52(hi, x, y);
  }
  template <bool Top>
  RF_MEMBER V reduce(const Sum52& k) const {
    return k.template reduce<Top>(lo, hi, zero());
  }
};

/// q < 2^61: x = x0 + x1*2^52, y alike, x1, y1 < 2^9. The middle sum takes less than 3*2^52 a term.
struct Wide {
  static constexpr size_t kMaxTerms = 1024;
  V lo, mid, hi;
  RF_MEMBER void add(V x, V y) {
    const V xh = shr<52>(x), yh = shr<52>(y);
    lo = lo52(lo, x, y);
    mid = hi52(lo52(lo52(mid, x, yh), xh, y), x, y);
    hi = hi52(hi52(lo52(hi, xh, yh), x, yh), xh, y);
  }
  template <bool>
  RF_MEMBER V reduce(const Sum64& k) const {
    return k.reduce(lo, mid, hi);
  }
};

/// 2^50 < q < 2^54, signed words of at most q in size: the sum modulo 2^64 and, rounded, in double precision.
/// In units of 2^54, 15 terms below 2^108 in size add 1 + 2 + 2*4 + 4*8 + 7*16 = 155 in roundings of the sum and 2 each
/// from factors rounded to 53 bits: 185. The quotient is below 15*2^54 in size; its factor's rounding adds 30 and its
/// own 16. So the rest is below 232q < 2^62 in size, plus what `lo` began with.
struct Rounded {
  static constexpr size_t kMaxTerms = 15;
  V lo;
  D sum;
  RF_MEMBER void add(V x, V y) {
    lo = vadd(lo, mullo(x, y));
    sum = _mm512_fmadd_pd(_mm512_cvtepi64_pd(x), _mm512_cvtepi64_pd(y), sum);
  }
  template <bool>
  RF_MEMBER V reduce(const SumFloat& k) const {
    return k.reduce_rounded(lo, sum);
  }
};

}  // namespace
}  // namespace ringforge::kernels::avx512
