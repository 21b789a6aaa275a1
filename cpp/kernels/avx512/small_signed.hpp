// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The arithmetic of small rings for 2^50 < q < 2^54: signed 64-bit words, centred twiddles, quotients in double
// precision (passes: small_ntt.hpp).
//
// A product is y*w - h*q modulo 2^64 with h = round(y * (w/q)), |w| < q/2. Let y be at most A*q in size. Off the true
// quotient, in units of one, are: y, rounded to a double, times 1/2 or less; w/q, rounded (2^-55; building it in two
// roundings adds a thousandth), times y; the rounding of the product. So the remainder is at most (1/2 + E(A))*q with
//   E(A) = u(A*q)/2 + A*q*2^-55 + u(A*q/2), u(x) half a unit in the last place of x: 2^(k-54) for 2^(k-1) <= x < 2^k.
// A larger q makes this larger; with q = 2^54, 2E is about 4A to 6A, E = 1.25 just above A = 1/2, and words stay in
// their 64 bits up to A = 512. Settled words, x - round(x/q)*q, are at most q/2 (and less than 2^-40 of it more).
//
// Forward, a level takes A to A + 1/2 + E(A). From A = 1: 3, 9, 30, 78, 245. Settled: 2.3, 7.9, 21, 63, 159, 495.
// So the last 6 levels begin with settling; up to 5 come before them, and of 6 (n = 4096) the last 3 settle too.
// Inverse, a level takes A to the larger of 2A and 1/2 + E(2A). From A = 1: 2, 6.5, 23, 88, 344. Words settle after
// 5 levels; then 2, 6.5, 23 and, at the end, 88 and 344. For n = 2048 one more level lies between: it leaves 88 where
// all of the three levels of its pass were products, 46 where two were, 26 elsewhere. With the former two settled, the
// last two levels make 91 and 348. For n = 4096 all settle in between.
#pragma once

#include "small_ntt.hpp"

namespace ringforge::kernels::avx512 {
namespace {

struct Signed54 {
  static constexpr bool kSettles = true;
  struct Tw {
    V w;
    D f;
  };

  const u64* tw;
  const double* tf;
  u64 prime;
  V q;
  D inverse;

  RF_MEMBER Signed54(const SmallNtt<u64>& t, const u64* w, const double* f)
      : tw(w), tf(f), prime(t.q), q(set1(t.q)), inverse(_mm512_set1_pd(1.0 / static_cast<double>(t.q))) {}
  static RF_MEMBER Signed54 forward(const SmallNtt<u64>& t) { return {t, t.cw, t.cf}; }
  static RF_MEMBER Signed54 backward(const SmallNtt<u64>& t) { return {t, t.icw, t.icf}; }

  RF_MEMBER Tw tw1(size_t i) const { return {set1(tw[i]), _mm512_set1_pd(tf[i])}; }
  RF_MEMBER Tw tw2(size_t i) const { return {Lazy::pair(tw + i), _mm512_broadcast_f64x2(_mm_loadu_pd(tf + i))}; }
  RF_MEMBER Tw tw4(size_t i) const { return {Lazy::quad(tw + i), _mm512_broadcast_f64x4(_mm256_loadu_pd(tf + i))}; }
  RF_MEMBER Tw tw8(size_t i) const { return {load(tw + i), _mm512_loadu_pd(tf + i)}; }
  RF_MEMBER Tw factor(const Factor& f) const {
    const u64 c = f.w > prime / 2 ? f.w - prime : f.w;
    const long double quotient = static_cast<long double>(static_cast<i64>(c)) / static_cast<long double>(prime);
    return {set1(c), _mm512_set1_pd(static_cast<double>(quotient))};
  }

  static RF_MEMBER V scaled(V y, D f) { return _mm512_cvtpd_epi64(_mm512_mul_pd(_mm512_cvtepi64_pd(y), f)); }
  RF_MEMBER V mul(V y, const Tw& t) const { return vsub(mullo(y, t.w), mullo(scaled(y, t.f), q)); }
  RF_MEMBER V settle(V x) const { return vsub(x, mullo(scaled(x, inverse), q)); }
  /// A settled word to [0, q): a negative one is the larger.
  RF_MEMBER V positive(V x) const { return vmin(x, vadd(x, q)); }

  RF_MEMBER void fwd(V& x, V& y, const Tw& t) const {
    const V v = mul(y, t);
    y = vsub(x, v);
    x = vadd(x, v);
  }
  static RF_MEMBER V difference(V x, V y, V) { return vsub(x, y); }
  RF_MEMBER void inv(V& x, V& y, const Tw& t, V) const {
    const V d = vsub(x, y);
    x = vadd(x, y);
    y = mul(d, t);
  }
};

RF_INLINE void put_words16(u64* p, V x, V y, const Signed54& a) {
  store(p, a.positive(a.settle(x)));
  store(p + 8, a.positive(a.settle(y)));
}

}  // namespace
}  // namespace ringforge::kernels::avx512
