// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The negacyclic transforms, written once over an arithmetic policy A (52-bit words in ntt52.cpp, 64-bit
// words in ntt64.cpp).
//
// The transform is walked depth first: a node of the butterfly tree is a block of the array with a heap
// index h, whose twiddle is table entry h and whose halves are the nodes 2h and 2h+1. A pass does 1, 2 or 3
// levels of a block in registers; blocks of at most 2^kLeafLog elements stay in the first-level cache; the
// last 6 levels (blocks of 64) are one pass, its last 3 levels inside registers. The first pass reads
// `src`, all later ones work in place on `dst`.
//
// Ranges are multiples of q known at compile time. A provides
//   kLimit (K): every word stays below K*q;   kGrow (G): a lazy product is below G*q;
//   Tw: the twiddles of one vector;  tw1/tw2/tw4/tw8(i): 1, 2, 4 or 8 entries from i, repeated to fill it;
//   fwd<R>: (x, y) -> (x + w*y, x - w*y), with x first brought below K/2 if R; adds G to the range of x;
//   inv<R>: (x, y) -> (x + y, (x - y)*w), both below R*q; the sum is brought below K/2 if it exceeds it;
//   last_fwd, last_inv: the same with canonical results.
#pragma once

#include "internal.hpp"

namespace ringforge::kernels::avx512 {
namespace {

constexpr unsigned kTailLog = 6;
constexpr unsigned kLeafLog = 11;

/// Levels done by the first pass over a block of 2^lg elements above the tail.
RF_INLINE unsigned levels(unsigned lg) {
  const unsigned rest = lg - kTailLog;
  return rest == 1 ? 1 : (rest == 2 || rest == 4) ? 2 : 3;
}

// Range bookkeeping, in multiples of q.
template <class A>
constexpr bool must_reduce(unsigned r) {
  return r + A::kGrow > A::kLimit;
}
template <class A>
constexpr unsigned after_fwd(unsigned r) {
  return (must_reduce<A>(r) ? A::kLimit / 2 : r) + A::kGrow;
}
template <class A>
constexpr unsigned after_inv(unsigned r) {
  return 2 * r > A::kLimit / 2 ? A::kLimit / 2 : 2 * r;
}

// Eight vectors, `stride` words apart. Written out, here and below, rather than looped over: gcc 12 may
// rewrite an address of such a loop in terms of the local array's and then take stores for dead.
RF_INLINE void load8(V x[8], const u64* p, size_t stride) {
  x[0] = load(p);
  x[1] = load(p + stride);
  x[2] = load(p + 2 * stride);
  x[3] = load(p + 3 * stride);
  x[4] = load(p + 4 * stride);
  x[5] = load(p + 5 * stride);
  x[6] = load(p + 6 * stride);
  x[7] = load(p + 7 * stride);
}
RF_INLINE void store8(u64* p, size_t stride, const V x[8]) {
  store(p, x[0]);
  store(p + stride, x[1]);
  store(p + 2 * stride, x[2]);
  store(p + 3 * stride, x[3]);
  store(p + 4 * stride, x[4]);
  store(p + 5 * stride, x[5]);
  store(p + 6 * stride, x[6]);
  store(p + 7 * stride, x[7]);
}
RF_INLINE void load4(V x[4], const u64* p, size_t stride) {
  x[0] = load(p);
  x[1] = load(p + stride);
  x[2] = load(p + 2 * stride);
  x[3] = load(p + 3 * stride);
}
RF_INLINE void store4(u64* p, size_t stride, const V x[4]) {
  store(p, x[0]);
  store(p + stride, x[1]);
  store(p + 2 * stride, x[2]);
  store(p + 3 * stride, x[3]);
}

/// How the first pass takes its input: as it is, or centred modulo p and brought to [0, q].
struct Plain {
  RF_MEMBER V operator()(V x) const { return x; }
};
struct Lift {
  V half, shift;
  RF_MEMBER Lift(u64 p, u64 q) : half(set1(p / 2)), shift(set1(q - p)) {}
  RF_MEMBER V operator()(V x) const { return _mm512_mask_add_epi64(x, _mm512_cmpgt_epu64_mask(x, half), x, shift); }
};

// ---- forward --------------------------------------------------------------------------------------

/// The twiddles of 3 levels: of node h, its children, its grandchildren.
template <class A>
struct Tw7 {
  typename A::Tw w1, w2, w3, w4, w5, w6, w7;
  RF_MEMBER Tw7(const A& a, size_t h)
      : w1(a.tw1(h)),
        w2(a.tw1(2 * h)),
        w3(a.tw1(2 * h + 1)),
        w4(a.tw1(4 * h)),
        w5(a.tw1(4 * h + 1)),
        w6(a.tw1(4 * h + 2)),
        w7(a.tw1(4 * h + 3)) {}
};

template <class A>
RF_INLINE void fwd8(const A& a, V x[8], const Tw7<A>& t) {
  constexpr unsigned r0 = A::kLimit, r1 = after_fwd<A>(r0), r2 = after_fwd<A>(r1);
  constexpr bool c0 = must_reduce<A>(r0), c1 = must_reduce<A>(r1), c2 = must_reduce<A>(r2);
  a.template fwd<c0>(x[0], x[4], t.w1);
  a.template fwd<c0>(x[1], x[5], t.w1);
  a.template fwd<c0>(x[2], x[6], t.w1);
  a.template fwd<c0>(x[3], x[7], t.w1);
  a.template fwd<c1>(x[0], x[2], t.w2);
  a.template fwd<c1>(x[1], x[3], t.w2);
  a.template fwd<c1>(x[4], x[6], t.w3);
  a.template fwd<c1>(x[5], x[7], t.w3);
  a.template fwd<c2>(x[0], x[1], t.w4);
  a.template fwd<c2>(x[2], x[3], t.w5);
  a.template fwd<c2>(x[4], x[5], t.w6);
  a.template fwd<c2>(x[6], x[7], t.w7);
}

template <class A, class In>
__attribute__((noinline)) void fwd_pass8(const A& shared, const In& input, u64* dst, const u64* src, size_t len,
                                         size_t h) {
  const A a = shared;
  const In in = input;
  const Tw7<A> t(a, h);
  for (size_t j = 0; j < len; j += 8) {
    V x[8];
    x[0] = in(load(src + j));
    x[1] = in(load(src + j + len));
    x[2] = in(load(src + j + 2 * len));
    x[3] = in(load(src + j + 3 * len));
    x[4] = in(load(src + j + 4 * len));
    x[5] = in(load(src + j + 5 * len));
    x[6] = in(load(src + j + 6 * len));
    x[7] = in(load(src + j + 7 * len));
    fwd8(a, x, t);
    store8(dst + j, len, x);
  }
}

template <class A, class In>
__attribute__((noinline)) void fwd_pass4(const A& shared, const In& input, u64* dst, const u64* src, size_t len,
                                         size_t h) {
  const A a = shared;
  const In in = input;
  constexpr unsigned r0 = A::kLimit, r1 = after_fwd<A>(r0);
  const auto w1 = a.tw1(h), w2 = a.tw1(2 * h), w3 = a.tw1(2 * h + 1);
  for (size_t j = 0; j < len; j += 8) {
    V x[4];
    x[0] = in(load(src + j));
    x[1] = in(load(src + j + len));
    x[2] = in(load(src + j + 2 * len));
    x[3] = in(load(src + j + 3 * len));
    a.template fwd<must_reduce<A>(r0)>(x[0], x[2], w1);
    a.template fwd<must_reduce<A>(r0)>(x[1], x[3], w1);
    a.template fwd<must_reduce<A>(r1)>(x[0], x[1], w2);
    a.template fwd<must_reduce<A>(r1)>(x[2], x[3], w3);
    store4(dst + j, len, x);
  }
}

template <class A, class In>
__attribute__((noinline)) void fwd_pass2(const A& shared, const In& input, u64* dst, const u64* src, size_t len,
                                         size_t h) {
  const A a = shared;
  const In in = input;
  const auto w1 = a.tw1(h);
  for (size_t j = 0; j < len; j += 8) {
    V x = in(load(src + j)), y = in(load(src + j + len));
    a.template fwd<must_reduce<A>(A::kLimit)>(x, y, w1);
    store(dst + j, x);
    store(dst + j + len, y);
  }
}

/// The last 3 levels of two blocks of 8, g the heap index of their parent.
template <class A>
RF_INLINE void fwd_pair(const A& a, V& u, V& v, const Zip& zip, size_t g) {
  constexpr unsigned r3 = after_fwd<A>(after_fwd<A>(after_fwd<A>(A::kLimit))), r4 = after_fwd<A>(r3),
                     r5 = after_fwd<A>(r4);
  permute_pair(u, v, zip);
  a.template fwd<must_reduce<A>(r3)>(u, v, a.tw2(2 * g));
  permute_pair(u, v, zip);
  a.template fwd<must_reduce<A>(r4)>(u, v, a.tw4(4 * g));
  permute_pair(u, v, zip);
  a.template last_fwd<r5>(u, v, a.tw8(8 * g));
  permute_pair(u, v, zip);
}

/// The last 6 levels of `count` blocks of 64.
template <class A>
__attribute__((noinline)) void fwd_tails(const A& shared, u64* dst, const u64* src, size_t count, size_t h) {
  const A a = shared;
  const Zip zip = zip_index();
  for (; count != 0; --count, ++h, src += 64, dst += 64) {
    V x[8];
    load8(x, src, 8);
    fwd8(a, x, Tw7<A>(a, h));
    fwd_pair(a, x[0], x[1], zip, 4 * h);
    fwd_pair(a, x[2], x[3], zip, 4 * h + 1);
    fwd_pair(a, x[4], x[5], zip, 4 * h + 2);
    fwd_pair(a, x[6], x[7], zip, 4 * h + 3);
    store8(dst, 8, x);
  }
}

template <class A, class In>
void fwd_split(const A& a, const In& in, u64* dst, const u64* src, unsigned lg, size_t h) {
  if (lg == kTailLog) return;
  const unsigned s = levels(lg);
  const size_t len = size_t{1} << (lg - s);
  if (s == 3)
    fwd_pass8(a, in, dst, src, len, h);
  else if (s == 2)
    fwd_pass4(a, in, dst, src, len, h);
  else
    fwd_pass2(a, in, dst, src, len, h);
  for (size_t i = 0; i < size_t{1} << s; ++i) {
    u64* part = dst + i * len;
    fwd_split(a, Plain{}, part, part, lg - s, (h << s) + i);
    // Blocks become resident one after the other: finish each before the next is touched.
    if (lg > kLeafLog && lg - s <= kLeafLog)
      fwd_tails(a, part, part, len >> kTailLog, ((h << s) + i) << (lg - s - kTailLog));
  }
}

/// A lifted input needs at least one pass above the tail.
template <class A, class In = Plain>
void forward(u64* dst, const u64* src, const NttTable& t, const In& in = {}) {
  const A a(t, t.w, A::quotients(t));
  fwd_split(a, in, dst, src, t.log_n, 1);
  if (t.log_n <= kLeafLog) fwd_tails(a, dst, t.log_n == kTailLog ? src : dst, t.n >> kTailLog, t.n >> kTailLog);
}

// ---- inverse --------------------------------------------------------------------------------------

template <class A, bool Last>
RF_INLINE void inv8(const A& a, V x[8], const Tw7<A>& t) {
  constexpr unsigned r = A::kLimit / 2, g = A::kGrow, g2 = after_inv<A>(g);
  a.template inv<r>(x[0], x[1], t.w4);
  a.template inv<r>(x[2], x[3], t.w5);
  a.template inv<r>(x[4], x[5], t.w6);
  a.template inv<r>(x[6], x[7], t.w7);
  a.template inv<r>(x[0], x[2], t.w2);
  a.template inv<g>(x[1], x[3], t.w2);
  a.template inv<r>(x[4], x[6], t.w3);
  a.template inv<g>(x[5], x[7], t.w3);
  if constexpr (Last) {
    a.template last_inv<r>(x[0], x[4]);
    a.template last_inv<g2>(x[1], x[5]);
    a.template last_inv<g>(x[2], x[6]);
    a.template last_inv<g>(x[3], x[7]);
  } else {
    a.template inv<r>(x[0], x[4], t.w1);
    a.template inv<g2>(x[1], x[5], t.w1);
    a.template inv<g>(x[2], x[6], t.w1);
    a.template inv<g>(x[3], x[7], t.w1);
  }
}

template <class A, bool Last>
__attribute__((noinline)) void inv_pass8(const A& shared, u64* x, size_t len, size_t h) {
  const A a = shared;
  const Tw7<A> t(a, h);
  for (size_t j = 0; j < len; j += 8) {
    V v[8];
    load8(v, x + j, len);
    inv8<A, Last>(a, v, t);
    store8(x + j, len, v);
  }
}

template <class A, bool Last>
__attribute__((noinline)) void inv_pass4(const A& shared, u64* x, size_t len, size_t h) {
  const A a = shared;
  constexpr unsigned r = A::kLimit / 2, g = A::kGrow;
  const auto w1 = a.tw1(h), w2 = a.tw1(2 * h), w3 = a.tw1(2 * h + 1);
  for (size_t j = 0; j < len; j += 8) {
    V v[4];
    load4(v, x + j, len);
    a.template inv<r>(v[0], v[1], w2);
    a.template inv<r>(v[2], v[3], w3);
    if constexpr (Last) {
      a.template last_inv<r>(v[0], v[2]);
      a.template last_inv<g>(v[1], v[3]);
    } else {
      a.template inv<r>(v[0], v[2], w1);
      a.template inv<g>(v[1], v[3], w1);
    }
    store4(x + j, len, v);
  }
}

/// One level; `levels` uses it only for n = 128, where it is the last.
template <class A>
__attribute__((noinline)) void inv_pass2(const A& shared, u64* x, size_t len) {
  const A a = shared;
  for (size_t j = 0; j < len; j += 8) {
    V u = load(x + j), v = load(x + j + len);
    a.template last_inv<A::kLimit / 2>(u, v);
    store(x + j, u);
    store(x + j + len, v);
  }
}

/// The first 3 levels of two blocks of 8, g the heap index of their parent.
template <class A>
RF_INLINE void inv_pair(const A& a, V& u, V& v, const Zip& unzip, size_t g) {
  constexpr unsigned r = A::kLimit / 2;
  permute_pair(u, v, unzip);
  a.template inv<r>(u, v, a.tw8(8 * g));
  permute_pair(u, v, unzip);
  a.template inv<r>(u, v, a.tw4(4 * g));
  permute_pair(u, v, unzip);
  a.template inv<r>(u, v, a.tw2(2 * g));
  permute_pair(u, v, unzip);
}

/// The first 6 levels of `count` blocks of 64.
template <class A, bool Last>
__attribute__((noinline)) void inv_tails(const A& shared, u64* dst, const u64* src, size_t count, size_t h) {
  const A a = shared;
  const Zip unzip = unzip_index();
  for (; count != 0; --count, ++h, src += 64, dst += 64) {
    V x[8];
    load8(x, src, 8);
    inv_pair(a, x[0], x[1], unzip, 4 * h);
    inv_pair(a, x[2], x[3], unzip, 4 * h + 1);
    inv_pair(a, x[4], x[5], unzip, 4 * h + 2);
    inv_pair(a, x[6], x[7], unzip, 4 * h + 3);
    inv8<A, Last>(a, x, Tw7<A>(a, h));
    store8(dst, 8, x);
  }
}

/// The levels above the tail of a block.
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
  if (s == 3)
    h == 1 ? inv_pass8<A, true>(a, dst, len, h) : inv_pass8<A, false>(a, dst, len, h);
  else if (s == 2)
    h == 1 ? inv_pass4<A, true>(a, dst, len, h) : inv_pass4<A, false>(a, dst, len, h);
  else
    inv_pass2(a, dst, len);
}

template <class A>
void inverse(u64* dst, const u64* src, const NttTable& t) {
  const A a(t, t.iw, A::inverse_quotients(t));
  if (t.log_n == kTailLog)
    inv_tails<A, true>(a, dst, src, 1, 1);
  else if (t.log_n <= kLeafLog)
    inv_tails<A, false>(a, dst, src, t.n >> kTailLog, t.n >> kTailLog);
  inv_merge(a, dst, src, t.log_n, 1);
}

}  // namespace
}  // namespace ringforge::kernels::avx512
