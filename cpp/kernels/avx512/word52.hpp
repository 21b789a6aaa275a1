// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// 52-bit multiply-add as the arithmetic of transforms, q < 2^50 (the policy A of ntt_impl.hpp).
//
// Shoup's product: with s = floor(w*2^52/q) and y < 2^52, y*w - floor(y*s/2^52)*q lies in [0, 2q). It is
// taken modulo 2^52 by adding the low words of y*w and of the quotient times 2^52 - q. The first addend
// of a butterfly rides along in the accumulator, since x + w*y < 2^52 as well.
#pragma once

#include "ntt_impl.hpp"

namespace ringforge::kernels::avx512 {
namespace {

/// K = 4 for q < 2^50, K = 8 for q < 2^49 (K*q <= 2^52 in both).
template <unsigned K>
struct Word52 {
  static constexpr unsigned kLimit = K, kGrow = 2;
  struct Tw {
    V w, s;
  };

  const u64 *tw, *tw_s;
  V q, q2, q4, neg_q, mask, one, two;
  V n_w, n_s, nw_w, nw_s;

  static const u64* quotients(const NttTable& t) { return t.w52; }
  static const u64* inverse_quotients(const NttTable& t) { return t.iw52; }

  RF_MEMBER Word52(const NttTable& t, const u64* w, const u64* s)
      : tw(w),
        tw_s(s),
        q(set1(t.mod.q)),
        q2(set1(2 * t.mod.q)),
        q4(set1(4 * t.mod.q)),
        neg_q(set1((u64{1} << 52) - t.mod.q)),
        mask(set1(kMask52)),
        one(set1(1)),
        two(set1(2)),
        n_w(set1(t.n_inv.w)),
        n_s(set1(t.n_inv.w52)),
        nw_w(set1(t.n_inv_w.w)),
        nw_s(set1(t.n_inv_w.w52)) {}

  RF_MEMBER Tw tw1(size_t i) const { return {set1(tw[i]), set1(tw_s[i])}; }
  // w = floor(s*q/2^52) + 1, because w*2^52 = s*q + r with 0 < r < q: cheaper than reading a second
  // table, most of which belongs to the last three levels.
  RF_MEMBER Tw from_quotient(V s) const { return {hi52(one, s, q), s}; }
  RF_MEMBER Tw tw2(size_t i) const {
    return from_quotient(_mm512_broadcast_i64x2(_mm_loadu_si128(reinterpret_cast<const __m128i*>(tw_s + i))));
  }
  RF_MEMBER Tw tw4(size_t i) const {
    return from_quotient(_mm512_broadcast_i64x4(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(tw_s + i))));
  }
  RF_MEMBER Tw tw8(size_t i) const { return from_quotient(load(tw_s + i)); }

  RF_MEMBER V half() const { return K == 4 ? q2 : q4; }

  /// acc + y*w modulo 2^52, the product taken in [0, 2q).
  RF_MEMBER V mul_add(V acc, V y, const Tw& t) const {
    const V quot = hi52(zero(), y, t.s);
    return vand(lo52(lo52(acc, y, t.w), quot, neg_q), mask);
  }

  template <bool Reduce>
  RF_MEMBER void fwd(V& x, V& y, const Tw& t) const {
    if constexpr (Reduce) {
      const V u = csub(x, half());  // 2u <= K*q <= 2^52
      x = mul_add(u, y, t);
      y = vsub(lo52(q2, u, two), x);
    } else {
      const V v = mul_add(zero(), y, t);
      y = vsub(vadd(x, q2), v);
      x = vadd(x, v);
    }
  }
  template <unsigned R>
  RF_MEMBER void last_fwd(V& x, V& y, const Tw& t) const {
    if constexpr (R > 4) x = csub(x, q4);
    const V u = csub(x, q2), v = mul_add(u, y, t);
    y = csub(csub(vsub(lo52(q2, u, two), v), q2), q);
    x = csub(csub(v, q2), q);
  }

  template <unsigned R>
  RF_MEMBER V difference(V x, V y) const {
    static_assert(R == 2 || R == 4);
    return vsub(vadd(x, R == 2 ? q2 : q4), y);
  }
  template <unsigned R>
  RF_MEMBER void inv(V& x, V& y, const Tw& t) const {
    const V d = difference<R>(x, y);
    x = vadd(x, y);
    if constexpr (2 * R > K / 2) x = csub(x, half());
    y = mul_add(zero(), d, t);
  }
  template <unsigned R>
  RF_MEMBER void last_inv(V& x, V& y) const {
    const V d = difference<R>(x, y);
    x = csub(mul_add(zero(), vadd(x, y), {n_w, n_s}), q);
    y = csub(mul_add(zero(), d, {nw_w, nw_s}), q);
  }
};

}  // namespace
}  // namespace ringforge::kernels::avx512
