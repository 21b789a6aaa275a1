// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Number-theoretic transforms on 64-bit words, for all q < 2^61.
//
// The transform is walked depth first: a node of the butterfly tree is a block of the array with a heap
// index h, whose twiddle is table entry h and whose halves are the nodes 2h and 2h+1. A pass does 1 or 2
// levels; blocks of 2^kLeafLog elements stay in the first-level cache; the last 4 levels (blocks of 16) are
// one pass, the last 2 of them inside registers. The first pass reads `src`, the others work on `dst`.
// Where several vectors are live they are written out, not looped over: gcc 12 may rewrite an address of
// such a loop in terms of a local array's and then take stores for dead.
//
// Ranges: every word is below K*q, K*q <= 2^64, a product below 4q.
#include "internal.hpp"

namespace ringforge::kernels::avx2 {
namespace {

constexpr unsigned kTailLog = 4;
constexpr unsigned kLeafLog = 11;

constexpr unsigned levels(unsigned lg) { return lg == kTailLog + 1 ? 1 : 2; }

/// K = 8 for q < 2^61, K = 16 for q < 2^60.
template <unsigned K>
struct Ring {
  static constexpr unsigned kLimit = K;
  const u64 *tw, *tw_s;
  Moduli m;
  V half;
  Shoup n_inv, n_inv_w;

  RF_MEMBER Ring(const NttTable& t, const u64* w, const u64* s)
      : tw(w),
        tw_s(s),
        m(t.mod),
        half(set1(K / 2 * t.mod.q)),
        n_inv(t.n_inv.w, t.n_inv.w64),
        n_inv_w(t.n_inv_w.w, t.n_inv_w.w64) {}

  RF_MEMBER Shoup tw1(size_t i) const { return {tw[i], tw_s[i]}; }
  RF_MEMBER Shoup tw2(size_t i) const { return {twice(tw + i), twice(tw_s + i)}; }
  RF_MEMBER Shoup tw4(size_t i) const { return {load(tw + i), load(tw_s + i)}; }
  static RF_MEMBER V twice(const u64* p) {  // (p0 p0 p1 p1)
    return _mm256_permute4x64_epi64(_mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))), 0x50);
  }

  /// (x, y) -> (x + w*y, x - w*y); x first brought below K/2 if Reduce; adds 4 to the range of x.
  template <bool Reduce>
  RF_MEMBER void fwd(V& x, V& y, const Shoup& t) const {
    if constexpr (Reduce) x = csub(x, half);
    const V v = t.mul(y, m.q);
    y = vsub(vadd(x, m.q4), v);
    x = vadd(x, v);
  }
  /// The same with canonical results, x below K.
  RF_MEMBER void last_fwd(V& x, V& y, const Shoup& t) const {
    if constexpr (K == 16) x = csub(x, half);
    const V u = csub(x, m.q4), v = t.mul(y, m.q);
    x = m.canonical8(vadd(u, v));
    y = m.canonical8(vsub(vadd(u, m.q4), v));
  }
  /// (x, y) -> (x + y, (x - y)*w), both below R; a sum of more than K/2 is brought below K/2.
  template <unsigned R>
  RF_MEMBER V difference(V x, V y) const {
    static_assert(R == 4 || R == 8);
    return vsub(vadd(x, R == 4 ? m.q4 : half), y);
  }
  template <unsigned R>
  RF_MEMBER void inv(V& x, V& y, const Shoup& t) const {
    const V d = difference<R>(x, y);
    x = vadd(x, y);
    if constexpr (2 * R > K / 2) x = csub(x, half);
    y = t.mul(d, m.q);
  }
  template <unsigned R>
  RF_MEMBER void last_inv(V& x, V& y) const {
    const V d = difference<R>(x, y);
    x = m.canonical4(n_inv.mul(vadd(x, y), m.q));
    y = m.canonical4(n_inv_w.mul(d, m.q));
  }
};

// With every pass entered at K: the first level reduces (to K/2, then + 4), the second if K = 8.
template <class A>
constexpr bool kSecond = A::kLimit / 2 + 8 > A::kLimit;

RF_INLINE void swap_halves(V& a, V& b) {  // (a0 a1 b0 b1), (a2 a3 b2 b3)
  const V c = _mm256_permute2x128_si256(a, b, 0x20);
  b = _mm256_permute2x128_si256(a, b, 0x31);
  a = c;
}
RF_INLINE void swap_odd(V& a, V& b) {  // (a0 b0 a2 b2), (a1 b1 a3 b3)
  const V c = _mm256_unpacklo_epi64(a, b);
  b = _mm256_unpackhi_epi64(a, b);
  a = c;
}

// ---- forward --------------------------------------------------------------------------------------

template <class A>
__attribute__((noinline)) void fwd_pass4(const A& shared, u64* dst, const u64* src, size_t len, size_t h) {
  const A a = shared;
  const Shoup w1 = a.tw1(h), w2 = a.tw1(2 * h), w3 = a.tw1(2 * h + 1);
  for (size_t j = 0; j < len; j += 4) {
    V x0 = load(src + j), x1 = load(src + j + len), x2 = load(src + j + 2 * len), x3 = load(src + j + 3 * len);
    a.template fwd<true>(x0, x2, w1);
    a.template fwd<true>(x1, x3, w1);
    a.template fwd<kSecond<A>>(x0, x1, w2);
    a.template fwd<kSecond<A>>(x2, x3, w3);
    store(dst + j, x0);
    store(dst + j + len, x1);
    store(dst + j + 2 * len, x2);
    store(dst + j + 3 * len, x3);
  }
}

template <class A>
__attribute__((noinline)) void fwd_pass2(const A& shared, u64* dst, const u64* src, size_t len, size_t h) {
  const A a = shared;
  const Shoup w1 = a.tw1(h);
  for (size_t j = 0; j < len; j += 4) {
    V x = load(src + j), y = load(src + j + len);
    a.template fwd<true>(x, y, w1);
    store(dst + j, x);
    store(dst + j + len, y);
  }
}

/// The last 2 levels of two blocks of 4, g the heap index of their parent.
template <class A>
RF_INLINE void fwd_pair(const A& a, V& u, V& v, size_t g) {
  swap_halves(u, v);
  a.template fwd<true>(u, v, a.tw2(2 * g));
  swap_odd(u, v);
  a.last_fwd(u, v, a.tw4(4 * g));
  swap_odd(u, v);
  swap_halves(u, v);
}

/// The last 4 levels of `count` blocks of 16.
template <class A>
__attribute__((noinline)) void fwd_tails(const A& shared, u64* dst, const u64* src, size_t count, size_t h) {
  const A a = shared;
  for (; count != 0; --count, ++h, src += 16, dst += 16) {
    V x0 = load(src), x1 = load(src + 4), x2 = load(src + 8), x3 = load(src + 12);
    const Shoup w1 = a.tw1(h);
    a.template fwd<true>(x0, x2, w1);
    a.template fwd<true>(x1, x3, w1);
    a.template fwd<kSecond<A>>(x0, x1, a.tw1(2 * h));
    a.template fwd<kSecond<A>>(x2, x3, a.tw1(2 * h + 1));
    fwd_pair(a, x0, x1, 2 * h);
    fwd_pair(a, x2, x3, 2 * h + 1);
    store(dst, x0);
    store(dst + 4, x1);
    store(dst + 8, x2);
    store(dst + 12, x3);
  }
}

template <class A>
void fwd_split(const A& a, u64* dst, const u64* src, unsigned lg, size_t h) {
  if (lg == kTailLog) return;
  const unsigned s = levels(lg);
  const size_t len = size_t{1} << (lg - s);
  s == 2 ? fwd_pass4(a, dst, src, len, h) : fwd_pass2(a, dst, src, len, h);
  for (size_t i = 0; i < size_t{1} << s; ++i) {
    u64* part = dst + i * len;
    fwd_split(a, part, part, lg - s, (h << s) + i);
    // Blocks become resident one after the other: finish each before the next is touched.
    if (lg > kLeafLog && lg - s <= kLeafLog)
      fwd_tails(a, part, part, len >> kTailLog, ((h << s) + i) << (lg - s - kTailLog));
  }
}

template <class A>
void forward(u64* dst, const u64* src, const NttTable& t) {
  const A a(t, t.w, t.w64);
  fwd_split(a, dst, src, t.log_n, 1);
  if (t.log_n <= kLeafLog) fwd_tails(a, dst, t.log_n == kTailLog ? src : dst, t.n >> kTailLog, t.n >> kTailLog);
}

// ---- inverse --------------------------------------------------------------------------------------

template <class A, bool Last>
RF_INLINE void inv4(const A& a, V& x0, V& x1, V& x2, V& x3, const Shoup& w1, const Shoup& w2, const Shoup& w3) {
  constexpr unsigned r = A::kLimit / 2;
  a.template inv<r>(x0, x1, w2);
  a.template inv<r>(x2, x3, w3);
  if constexpr (Last) {
    a.template last_inv<r>(x0, x2);
    a.template last_inv<4>(x1, x3);
  } else {
    a.template inv<r>(x0, x2, w1);
    a.template inv<4>(x1, x3, w1);
  }
}

template <class A, bool Last>
__attribute__((noinline)) void inv_pass4(const A& shared, u64* x, size_t len, size_t h) {
  const A a = shared;
  const Shoup w1 = a.tw1(h), w2 = a.tw1(2 * h), w3 = a.tw1(2 * h + 1);
  for (size_t j = 0; j < len; j += 4) {
    V x0 = load(x + j), x1 = load(x + j + len), x2 = load(x + j + 2 * len), x3 = load(x + j + 3 * len);
    inv4<A, Last>(a, x0, x1, x2, x3, w1, w2, w3);
    store(x + j, x0);
    store(x + j + len, x1);
    store(x + j + 2 * len, x2);
    store(x + j + 3 * len, x3);
  }
}

template <class A, bool Last>
__attribute__((noinline)) void inv_pass2(const A& shared, u64* x, size_t len, size_t h) {
  constexpr unsigned r = A::kLimit / 2;
  const A a = shared;
  const Shoup w1 = a.tw1(h);
  for (size_t j = 0; j < len; j += 4) {
    V u = load(x + j), v = load(x + j + len);
    if constexpr (Last)
      a.template last_inv<r>(u, v);
    else
      a.template inv<r>(u, v, w1);
    store(x + j, u);
    store(x + j + len, v);
  }
}

/// The first 2 levels of two blocks of 4, g the heap index of their parent.
template <class A>
RF_INLINE void inv_pair(const A& a, V& u, V& v, size_t g) {
  constexpr unsigned r = A::kLimit / 2;
  swap_halves(u, v);
  swap_odd(u, v);
  a.template inv<r>(u, v, a.tw4(4 * g));
  swap_odd(u, v);
  a.template inv<r>(u, v, a.tw2(2 * g));
  swap_halves(u, v);
}

/// The first 4 levels of `count` blocks of 16.
template <class A, bool Last>
__attribute__((noinline)) void inv_tails(const A& shared, u64* dst, const u64* src, size_t count, size_t h) {
  const A a = shared;
  for (; count != 0; --count, ++h, src += 16, dst += 16) {
    V x0 = load(src), x1 = load(src + 4), x2 = load(src + 8), x3 = load(src + 12);
    inv_pair(a, x0, x1, 2 * h);
    inv_pair(a, x2, x3, 2 * h + 1);
    inv4<A, Last>(a, x0, x1, x2, x3, a.tw1(h), a.tw1(2 * h), a.tw1(2 * h + 1));
    store(dst, x0);
    store(dst + 4, x1);
    store(dst + 8, x2);
    store(dst + 12, x3);
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
      inv_tails<A, false>(a, dst + i * len, src + i * len, len >> kTailLog, child << (lg - s - kTailLog));
    inv_merge(a, dst + i * len, src + i * len, lg - s, child);
  }
  if (s == 2)
    h == 1 ? inv_pass4<A, true>(a, dst, len, h) : inv_pass4<A, false>(a, dst, len, h);
  else
    h == 1 ? inv_pass2<A, true>(a, dst, len, h) : inv_pass2<A, false>(a, dst, len, h);
}

template <class A>
void inverse(u64* dst, const u64* src, const NttTable& t) {
  const A a(t, t.iw, t.iw64);
  if (t.log_n == kTailLog)
    inv_tails<A, true>(a, dst, src, 1, 1);
  else if (t.log_n <= kLeafLog)
    inv_tails<A, false>(a, dst, src, t.n >> kTailLog, t.n >> kTailLog);
  inv_merge(a, dst, src, t.log_n, 1);
}

}  // namespace

void ntt_forward(u64* dst, const u64* src, const NttTable& t) noexcept {
  t.mod.bits < kMaxBits ? forward<Ring<16>>(dst, src, t) : forward<Ring<8>>(dst, src, t);
}
void ntt_inverse(u64* dst, const u64* src, const NttTable& t) noexcept {
  t.mod.bits < kMaxBits ? inverse<Ring<16>>(dst, src, t) : inverse<Ring<8>>(dst, src, t);
}

}  // namespace ringforge::kernels::avx2
