// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The negacyclic transforms, written once over an arithmetic policy A (64-bit words in ntt.cpp, double precision in
// ntt_double.cpp).
//
// The transform is walked depth first: a node of the butterfly tree is a block of the array with a heap
// index h, whose twiddle is table entry h and whose halves are the nodes 2h and 2h+1. A pass does 1 or 2
// levels; blocks of 2^kLeafLog elements stay in the first-level cache; the last 4 levels (blocks of 16) are
// one pass, the last 2 of them inside registers. The first pass reads `src`, the others work on `dst`.
// Where several vectors are live they are written out, not looped over: gcc 12 may rewrite an address of
// such a loop in terms of a local array's and then take stores for dead.
//
// A provides
//   Vec, load, store: four words as they lie in `dst` between passes; Tw: their twiddles;
//   first, first_inverse: the same four from words of the caller, for the first pass;
//   tw1/tw2/tw4(i): 1, 2 or 4 entries from i, repeated to fill a vector;
//   fwd<S>: (x, y) -> (x + w*y, x - w*y), S: the second level of a pass;
//   inv<S>: (x, y) -> (x + y, (x - y)*w), S: 0 or 1 for the first level of a pass or the second, 2 for that
//           level's operands that are products of the first;
//   last_fwd, last_inv<S>: the same with canonical words as results, ready to be stored.
#pragma once

#include "internal.hpp"

namespace ringforge::kernels::avx2 {
namespace {

constexpr unsigned kTailLog = 4;
constexpr unsigned kLeafLog = 11;

constexpr unsigned levels(unsigned lg) { return lg == kTailLog + 1 ? 1 : 2; }

RF_INLINE void swap_halves(V& a, V& b) {  // (a0 a1 b0 b1), (a2 a3 b2 b3)
  const V c = _mm256_permute2x128_si256(a, b, 0x20);
  b = _mm256_permute2x128_si256(a, b, 0x31);
  a = c;
}
RF_INLINE void swap_halves(D& a, D& b) {
  const D c = _mm256_permute2f128_pd(a, b, 0x20);
  b = _mm256_permute2f128_pd(a, b, 0x31);
  a = c;
}
RF_INLINE void swap_odd(V& a, V& b) {  // (a0 b0 a2 b2), (a1 b1 a3 b3)
  const V c = _mm256_unpacklo_epi64(a, b);
  b = _mm256_unpackhi_epi64(a, b);
  a = c;
}
RF_INLINE void swap_odd(D& a, D& b) {
  const D c = _mm256_unpacklo_pd(a, b);
  b = _mm256_unpackhi_pd(a, b);
  a = c;
}

// ---- forward --------------------------------------------------------------------------------------

/// How a pass takes its words: the first one the caller's, the others what the pass before left.
template <class A, bool First>
RF_INLINE typename A::Vec take(const A& a, const u64* p) {
  if constexpr (First)
    return a.first(p);
  else
    return A::load(p);
}

template <class A, bool First>
__attribute__((noinline)) void fwd_pass4(const A& shared, u64* dst, const u64* src, size_t len, size_t h) {
  using Vec = typename A::Vec;
  const A a = shared;
  const typename A::Tw w1 = a.tw1(h), w2 = a.tw1(2 * h), w3 = a.tw1(2 * h + 1);
  for (size_t j = 0; j < len; j += 4) {
    Vec x0 = take<A, First>(a, src + j), x1 = take<A, First>(a, src + j + len);
    Vec x2 = take<A, First>(a, src + j + 2 * len), x3 = take<A, First>(a, src + j + 3 * len);
    a.template fwd<false>(x0, x2, w1);
    a.template fwd<false>(x1, x3, w1);
    a.template fwd<true>(x0, x1, w2);
    a.template fwd<true>(x2, x3, w3);
    A::store(dst + j, x0);
    A::store(dst + j + len, x1);
    A::store(dst + j + 2 * len, x2);
    A::store(dst + j + 3 * len, x3);
  }
}

template <class A, bool First>
__attribute__((noinline)) void fwd_pass2(const A& shared, u64* dst, const u64* src, size_t len, size_t h) {
  using Vec = typename A::Vec;
  const A a = shared;
  const typename A::Tw w1 = a.tw1(h);
  for (size_t j = 0; j < len; j += 4) {
    Vec x = take<A, First>(a, src + j), y = take<A, First>(a, src + j + len);
    a.template fwd<false>(x, y, w1);
    A::store(dst + j, x);
    A::store(dst + j + len, y);
  }
}

/// The last 2 levels of two blocks of 4 in x and of two in y, g and k the heap indices of their parents.
template <class A>
RF_INLINE void fwd_pairs(const A& a, typename A::Vec& x0, typename A::Vec& x1, size_t g, typename A::Vec& y0,
                         typename A::Vec& y1, size_t k) {
  swap_halves(x0, x1);
  swap_halves(y0, y1);
  a.template fwd<false>(x0, x1, a.tw2(2 * g));
  a.template fwd<false>(y0, y1, a.tw2(2 * k));
  swap_odd(x0, x1);
  swap_odd(y0, y1);
  a.last_fwd(x0, x1, a.tw4(4 * g));
  a.last_fwd(y0, y1, a.tw4(4 * k));
  swap_odd(x0, x1);
  swap_odd(y0, y1);
  swap_halves(x0, x1);
  swap_halves(y0, y1);
}

/// The last 4 levels of a block of 16.
template <class A, bool First>
RF_INLINE void fwd_tail(const A& a, u64* dst, const u64* src, size_t h) {
  using Vec = typename A::Vec;
  Vec x0 = take<A, First>(a, src), x1 = take<A, First>(a, src + 4);
  Vec x2 = take<A, First>(a, src + 8), x3 = take<A, First>(a, src + 12);
  const typename A::Tw w1 = a.tw1(h);
  a.template fwd<false>(x0, x2, w1);
  a.template fwd<false>(x1, x3, w1);
  a.template fwd<true>(x0, x1, a.tw1(2 * h));
  a.template fwd<true>(x2, x3, a.tw1(2 * h + 1));
  fwd_pairs(a, x0, x1, 2 * h, x2, x3, 2 * h + 1);
  A::store(dst, x0);
  A::store(dst + 4, x1);
  A::store(dst + 8, x2);
  A::store(dst + 12, x3);
}

/// The last 4 levels of `count` blocks of 16, count even. Two blocks go side by side: a butterfly waits for the one
/// before it.
template <class A>
__attribute__((noinline)) void fwd_tails(const A& shared, u64* x, size_t count, size_t h) {
  using Vec = typename A::Vec;
  const A a = shared;
  for (; count != 0; count -= 2, h += 2, x += 32) {
    Vec x0 = A::load(x), x1 = A::load(x + 4), x2 = A::load(x + 8), x3 = A::load(x + 12);
    Vec y0 = A::load(x + 16), y1 = A::load(x + 20), y2 = A::load(x + 24), y3 = A::load(x + 28);
    const typename A::Tw w1 = a.tw1(h), v1 = a.tw1(h + 1);
    a.template fwd<false>(x0, x2, w1);
    a.template fwd<false>(y0, y2, v1);
    a.template fwd<false>(x1, x3, w1);
    a.template fwd<false>(y1, y3, v1);
    a.template fwd<true>(x0, x1, a.tw1(2 * h));
    a.template fwd<true>(y0, y1, a.tw1(2 * h + 2));
    a.template fwd<true>(x2, x3, a.tw1(2 * h + 1));
    a.template fwd<true>(y2, y3, a.tw1(2 * h + 3));
    fwd_pairs(a, x0, x1, 2 * h, y0, y1, 2 * h + 2);
    fwd_pairs(a, x2, x3, 2 * h + 1, y2, y3, 2 * h + 3);
    A::store(x, x0);
    A::store(x + 4, x1);
    A::store(x + 8, x2);
    A::store(x + 12, x3);
    A::store(x + 16, y0);
    A::store(x + 20, y1);
    A::store(x + 24, y2);
    A::store(x + 28, y3);
  }
}

template <class A>
void fwd_split(const A& a, u64* dst, const u64* src, unsigned lg, size_t h) {
  if (lg == kTailLog) return;
  const unsigned s = levels(lg);
  const size_t len = size_t{1} << (lg - s);
  if (h == 1)
    s == 2 ? fwd_pass4<A, true>(a, dst, src, len, h) : fwd_pass2<A, true>(a, dst, src, len, h);
  else
    s == 2 ? fwd_pass4<A, false>(a, dst, src, len, h) : fwd_pass2<A, false>(a, dst, src, len, h);
  for (size_t i = 0; i < size_t{1} << s; ++i) {
    u64* part = dst + i * len;
    fwd_split(a, part, part, lg - s, (h << s) + i);
    // Blocks become resident one after the other: finish each before the next is touched.
    if (lg > kLeafLog && lg - s <= kLeafLog) fwd_tails(a, part, len >> kTailLog, ((h << s) + i) << (lg - s - kTailLog));
  }
}

template <class A>
void forward(u64* dst, const u64* src, const NttTable& t) {
  const A a(t, false);
  if (t.log_n == kTailLog) return fwd_tail<A, true>(a, dst, src, 1);
  fwd_split(a, dst, src, t.log_n, 1);
  if (t.log_n <= kLeafLog) fwd_tails(a, dst, t.n >> kTailLog, t.n >> kTailLog);
}

// ---- inverse --------------------------------------------------------------------------------------

template <class A, bool Last>
RF_INLINE void inv4(const A& a, typename A::Vec& x0, typename A::Vec& x1, typename A::Vec& x2, typename A::Vec& x3,
                    const typename A::Tw& w1, const typename A::Tw& w2, const typename A::Tw& w3) {
  a.template inv<0>(x0, x1, w2);
  a.template inv<0>(x2, x3, w3);
  if constexpr (Last) {
    a.template last_inv<1>(x0, x2);
    a.template last_inv<2>(x1, x3);
  } else {
    a.template inv<1>(x0, x2, w1);
    a.template inv<2>(x1, x3, w1);
  }
}

template <class A, bool Last>
__attribute__((noinline)) void inv_pass4(const A& shared, u64* x, size_t len, size_t h) {
  using Vec = typename A::Vec;
  const A a = shared;
  const typename A::Tw w1 = a.tw1(h), w2 = a.tw1(2 * h), w3 = a.tw1(2 * h + 1);
  for (size_t j = 0; j < len; j += 4) {
    Vec x0 = A::load(x + j), x1 = A::load(x + j + len), x2 = A::load(x + j + 2 * len), x3 = A::load(x + j + 3 * len);
    inv4<A, Last>(a, x0, x1, x2, x3, w1, w2, w3);
    A::store(x + j, x0);
    A::store(x + j + len, x1);
    A::store(x + j + 2 * len, x2);
    A::store(x + j + 3 * len, x3);
  }
}

template <class A, bool Last>
__attribute__((noinline)) void inv_pass2(const A& shared, u64* x, size_t len, size_t h) {
  using Vec = typename A::Vec;
  const A a = shared;
  const typename A::Tw w1 = a.tw1(h);
  for (size_t j = 0; j < len; j += 4) {
    Vec u = A::load(x + j), v = A::load(x + j + len);
    if constexpr (Last)
      a.template last_inv<0>(u, v);
    else
      a.template inv<0>(u, v, w1);
    A::store(x + j, u);
    A::store(x + j + len, v);
  }
}

/// The first 2 levels of two blocks of 4 in x and of two in y, g and k the heap indices of their parents.
template <class A>
RF_INLINE void inv_pairs(const A& a, typename A::Vec& x0, typename A::Vec& x1, size_t g, typename A::Vec& y0,
                         typename A::Vec& y1, size_t k) {
  swap_halves(x0, x1);
  swap_halves(y0, y1);
  swap_odd(x0, x1);
  swap_odd(y0, y1);
  a.template inv<0>(x0, x1, a.tw4(4 * g));
  a.template inv<0>(y0, y1, a.tw4(4 * k));
  swap_odd(x0, x1);
  swap_odd(y0, y1);
  a.template inv<0>(x0, x1, a.tw2(2 * g));
  a.template inv<0>(y0, y1, a.tw2(2 * k));
  swap_halves(x0, x1);
  swap_halves(y0, y1);
}

/// The 4 levels of a transform of 16.
template <class A>
RF_INLINE void inv_tail(const A& a, u64* dst, const u64* src) {
  using Vec = typename A::Vec;
  Vec x0 = a.first_inverse(src), x1 = a.first_inverse(src + 4);
  Vec x2 = a.first_inverse(src + 8), x3 = a.first_inverse(src + 12);
  inv_pairs(a, x0, x1, 2, x2, x3, 3);
  inv4<A, true>(a, x0, x1, x2, x3, a.tw1(1), a.tw1(2), a.tw1(3));
  A::store(dst, x0);
  A::store(dst + 4, x1);
  A::store(dst + 8, x2);
  A::store(dst + 12, x3);
}

/// The first 4 levels of `count` blocks of 16, count even, two side by side.
template <class A>
__attribute__((noinline)) void inv_tails(const A& shared, u64* dst, const u64* src, size_t count, size_t h) {
  using Vec = typename A::Vec;
  const A a = shared;
  for (; count != 0; count -= 2, h += 2, src += 32, dst += 32) {
    Vec x0 = a.first_inverse(src), x1 = a.first_inverse(src + 4);
    Vec x2 = a.first_inverse(src + 8), x3 = a.first_inverse(src + 12);
    Vec y0 = a.first_inverse(src + 16), y1 = a.first_inverse(src + 20);
    Vec y2 = a.first_inverse(src + 24), y3 = a.first_inverse(src + 28);
    inv_pairs(a, x0, x1, 2 * h, y0, y1, 2 * h + 2);
    inv_pairs(a, x2, x3, 2 * h + 1, y2, y3, 2 * h + 3);
    a.template inv<0>(x0, x1, a.tw1(2 * h));
    a.template inv<0>(y0, y1, a.tw1(2 * h + 2));
    a.template inv<0>(x2, x3, a.tw1(2 * h + 1));
    a.template inv<0>(y2, y3, a.tw1(2 * h + 3));
    const typename A::Tw w1 = a.tw1(h), v1 = a.tw1(h + 1);
    a.template inv<1>(x0, x2, w1);
    a.template inv<1>(y0, y2, v1);
    a.template inv<2>(x1, x3, w1);
    a.template inv<2>(y1, y3, v1);
    A::store(dst, x0);
    A::store(dst + 4, x1);
    A::store(dst + 8, x2);
    A::store(dst + 12, x3);
    A::store(dst + 16, y0);
    A::store(dst + 20, y1);
    A::store(dst + 24, y2);
    A::store(dst + 28, y3);
  }
}

template <class A>
void inv_merge(const A& a, u64* dst, const u64* src, unsigned lg, size_t h) {
  if (lg == kTailLog) return;
  const unsigned s = levels(lg);
  const size_t len = size_t{1} << (lg - s);
  for (size_t i = 0; i < size_t{1} << s; ++i) {
    const size_t child = (h << s) + i;
    if (lg > kLeafLog && lg - s <= kLeafLog)
      inv_tails(a, dst + i * len, src + i * len, len >> kTailLog, child << (lg - s - kTailLog));
    inv_merge(a, dst + i * len, src + i * len, lg - s, child);
  }
  if (s == 2)
    h == 1 ? inv_pass4<A, true>(a, dst, len, h) : inv_pass4<A, false>(a, dst, len, h);
  else
    h == 1 ? inv_pass2<A, true>(a, dst, len, h) : inv_pass2<A, false>(a, dst, len, h);
}

template <class A>
void inverse(u64* dst, const u64* src, const NttTable& t) {
  const A a(t, true);
  if (t.log_n == kTailLog) return inv_tail(a, dst, src);
  if (t.log_n <= kLeafLog) inv_tails(a, dst, src, t.n >> kTailLog, t.n >> kTailLog);
  inv_merge(a, dst, src, t.log_n, 1);
}

}  // namespace
}  // namespace ringforge::kernels::avx2
