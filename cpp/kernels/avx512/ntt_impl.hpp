// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The negacyclic transforms, written once over an arithmetic policy A (52-bit words in ntt52.cpp, 64-bit
// words in ntt64.cpp).
//
// The transform is walked depth first: a node of the butterfly tree is a block of the array with a heap
// index h, whose twiddle is table entry h and whose halves are the nodes 2h and 2h+1. A pass does 1 to 4
// levels of a block in registers; blocks of at most 2^kLeafLog elements stay in the first-level cache; the
// last 6 levels (blocks of 64) are one pass, its last 3 levels inside registers. The first pass reads
// `src`, all later ones work in place on `dst`.
//
// Sixteen vectors are in registers at once, and go level by level: a butterfly waits for the one before it,
// and eight chains side by side keep the multipliers busy where four would fill the reorder window waiting.
// Twiddles are therefore read where they are used.
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
constexpr unsigned kTileLog = 10;  // blocks that fwd_head leaves
static_assert(size_t{1} << kTileLog == kNttTile);

/// Levels done by the first pass over a block of 2^lg elements above the tail. Four only just above it: sixteen
/// rows further apart would fall into one set of the first-level cache.
RF_INLINE unsigned levels(unsigned lg) {
  const unsigned rest = lg - kTailLog;
  return rest <= 2 || rest == 4 ? rest : 3;
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

/// How the first pass takes the eight words at p: as they are, or centred modulo p and brought to [0, q], from words or
/// from packed ones.
struct Plain {
  RF_MEMBER V operator()(const u64* p) const { return load(p); }
};
struct Lift {
  V half, shift;
  RF_MEMBER Lift(u64 p, u64 q) : half(set1(p / 2)), shift(set1(q - p)) {}
  RF_MEMBER V centred(V x) const { return _mm512_mask_add_epi64(x, _mm512_cmpgt_epu64_mask(x, half), x, shift); }
  RF_MEMBER V operator()(const u64* p) const { return centred(load(p)); }
};
struct LiftPacked {
  Lift lift;
  Unpack words;
  const std::uint8_t* bytes;
  const u64* first;  // stands for the word that `bytes` begin with; not read
  RF_MEMBER V operator()(const u64* p) const {
    return lift.centred(words.eight(bytes + static_cast<size_t>(p - first) / 8 * words.bits));
  }
};

// Eight vectors, `stride` words apart. Written out, here and below, rather than looped over: gcc 12 may
// rewrite an address of such a loop in terms of the local array's and then take stores for dead.
template <class In = Plain>
RF_INLINE void load8(V x[8], const u64* p, size_t stride, const In& in = {}) {
  x[0] = in(p);
  x[1] = in(p + stride);
  x[2] = in(p + 2 * stride);
  x[3] = in(p + 3 * stride);
  x[4] = in(p + 4 * stride);
  x[5] = in(p + 5 * stride);
  x[6] = in(p + 6 * stride);
  x[7] = in(p + 7 * stride);
}
/// Past the caches: what is written is not read soon.
RF_INLINE void stream8(u64* p, size_t stride, const V x[8]) {
  stream(p, x[0]);
  stream(p + stride, x[1]);
  stream(p + 2 * stride, x[2]);
  stream(p + 3 * stride, x[3]);
  stream(p + 4 * stride, x[4]);
  stream(p + 5 * stride, x[5]);
  stream(p + 6 * stride, x[6]);
  stream(p + 7 * stride, x[7]);
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
template <class In = Plain>
RF_INLINE void load4(V x[4], const u64* p, size_t stride, const In& in = {}) {
  x[0] = in(p);
  x[1] = in(p + stride);
  x[2] = in(p + 2 * stride);
  x[3] = in(p + 3 * stride);
}
RF_INLINE void store4(u64* p, size_t stride, const V x[4]) {
  store(p, x[0]);
  store(p + stride, x[1]);
  store(p + 2 * stride, x[2]);
  store(p + 3 * stride, x[3]);
}

// ---- forward --------------------------------------------------------------------------------------

/// Three levels of two sets of eight vectors, nodes h and k: two blocks, or with h = k two columns of one. Words
/// below R*q.
template <class A, unsigned R>
RF_INLINE void fwd8x2(const A& a, V x[8], V y[8], size_t h, size_t k) {
  constexpr unsigned r1 = after_fwd<A>(R), r2 = after_fwd<A>(r1);
  constexpr bool c0 = must_reduce<A>(R), c1 = must_reduce<A>(r1), c2 = must_reduce<A>(r2);
  a.template fwd<c0>(x[0], x[4], a.tw1(h));
  a.template fwd<c0>(x[1], x[5], a.tw1(h));
  a.template fwd<c0>(x[2], x[6], a.tw1(h));
  a.template fwd<c0>(x[3], x[7], a.tw1(h));
  a.template fwd<c0>(y[0], y[4], a.tw1(k));
  a.template fwd<c0>(y[1], y[5], a.tw1(k));
  a.template fwd<c0>(y[2], y[6], a.tw1(k));
  a.template fwd<c0>(y[3], y[7], a.tw1(k));
  a.template fwd<c1>(x[0], x[2], a.tw1(2 * h));
  a.template fwd<c1>(x[1], x[3], a.tw1(2 * h));
  a.template fwd<c1>(y[0], y[2], a.tw1(2 * k));
  a.template fwd<c1>(y[1], y[3], a.tw1(2 * k));
  a.template fwd<c1>(x[4], x[6], a.tw1(2 * h + 1));
  a.template fwd<c1>(x[5], x[7], a.tw1(2 * h + 1));
  a.template fwd<c1>(y[4], y[6], a.tw1(2 * k + 1));
  a.template fwd<c1>(y[5], y[7], a.tw1(2 * k + 1));
  a.template fwd<c2>(x[0], x[1], a.tw1(4 * h));
  a.template fwd<c2>(y[0], y[1], a.tw1(4 * k));
  a.template fwd<c2>(x[2], x[3], a.tw1(4 * h + 1));
  a.template fwd<c2>(y[2], y[3], a.tw1(4 * k + 1));
  a.template fwd<c2>(x[4], x[5], a.tw1(4 * h + 2));
  a.template fwd<c2>(y[4], y[5], a.tw1(4 * k + 2));
  a.template fwd<c2>(x[6], x[7], a.tw1(4 * h + 3));
  a.template fwd<c2>(y[6], y[7], a.tw1(4 * k + 3));
}

template <class A, class In>
__attribute__((noinline)) void fwd_pass16(const A& shared, const In& input, u64* dst, const u64* src, size_t len,
                                          size_t h) {
  const A a = shared;
  const In in = input;
  constexpr unsigned r0 = A::kLimit;
  constexpr bool c0 = must_reduce<A>(r0);
  for (size_t j = 0; j < len; j += 8) {
    V x[8], y[8];
    load8(x, src + j, len, in);
    load8(y, src + j + 8 * len, len, in);
    a.template fwd<c0>(x[0], y[0], a.tw1(h));
    a.template fwd<c0>(x[1], y[1], a.tw1(h));
    a.template fwd<c0>(x[2], y[2], a.tw1(h));
    a.template fwd<c0>(x[3], y[3], a.tw1(h));
    a.template fwd<c0>(x[4], y[4], a.tw1(h));
    a.template fwd<c0>(x[5], y[5], a.tw1(h));
    a.template fwd<c0>(x[6], y[6], a.tw1(h));
    a.template fwd<c0>(x[7], y[7], a.tw1(h));
    fwd8x2<A, after_fwd<A>(r0)>(a, x, y, 2 * h, 2 * h + 1);
    store8(dst + j, len, x);
    store8(dst + j + 8 * len, len, y);
  }
}

template <class A, class In, bool Stream = false>
__attribute__((noinline)) void fwd_pass8(const A& shared, const In& input, u64* dst, const u64* src, size_t len,
                                         size_t h) {
  const A a = shared;
  const In in = input;
  for (size_t j = 0; j < len; j += 16) {
    V x[8], y[8];
    load8(x, src + j, len, in);
    load8(y, src + j + 8, len, in);
    fwd8x2<A, A::kLimit>(a, x, y, h, h);
    if constexpr (Stream) {
      stream8(dst + j, len, x);
      stream8(dst + j + 8, len, y);
    } else {
      store8(dst + j, len, x);
      store8(dst + j + 8, len, y);
    }
  }
}

template <class A, class In>
__attribute__((noinline)) void fwd_pass4(const A& shared, const In& input, u64* dst, const u64* src, size_t len,
                                         size_t h) {
  const A a = shared;
  const In in = input;
  constexpr unsigned r0 = A::kLimit, r1 = after_fwd<A>(r0);
  const auto w1 = a.tw1(h), w2 = a.tw1(2 * h), w3 = a.tw1(2 * h + 1);
  for (size_t j = 0; j < len; j += 16) {
    V x[4], y[4];
    load4(x, src + j, len, in);
    load4(y, src + j + 8, len, in);
    a.template fwd<must_reduce<A>(r0)>(x[0], x[2], w1);
    a.template fwd<must_reduce<A>(r0)>(x[1], x[3], w1);
    a.template fwd<must_reduce<A>(r0)>(y[0], y[2], w1);
    a.template fwd<must_reduce<A>(r0)>(y[1], y[3], w1);
    a.template fwd<must_reduce<A>(r1)>(x[0], x[1], w2);
    a.template fwd<must_reduce<A>(r1)>(y[0], y[1], w2);
    a.template fwd<must_reduce<A>(r1)>(x[2], x[3], w3);
    a.template fwd<must_reduce<A>(r1)>(y[2], y[3], w3);
    store4(dst + j, len, x);
    store4(dst + j + 8, len, y);
  }
}

template <class A, class In>
__attribute__((noinline)) void fwd_pass2(const A& shared, const In& input, u64* dst, const u64* src, size_t len,
                                         size_t h) {
  const A a = shared;
  const In in = input;
  const auto w1 = a.tw1(h);
  for (size_t j = 0; j < len; j += 8) {
    V x = in(src + j), y = in(src + j + len);
    a.template fwd<must_reduce<A>(A::kLimit)>(x, y, w1);
    store(dst + j, x);
    store(dst + j + len, y);
  }
}

/// Brings partners half as far apart into the same lanes of four pairs of vectors.
RF_INLINE void permute8(V x[8], const Zip& zip) {
  permute_pair(x[0], x[1], zip);
  permute_pair(x[2], x[3], zip);
  permute_pair(x[4], x[5], zip);
  permute_pair(x[6], x[7], zip);
}

/// The last 3 levels of four pairs of blocks of 8, one level each; g is the heap index of the first pair's parent.
template <class A>
RF_INLINE void fwd_distance4(const A& a, V x[8], size_t g) {
  constexpr unsigned r = after_fwd<A>(after_fwd<A>(after_fwd<A>(A::kLimit)));
  a.template fwd<must_reduce<A>(r)>(x[0], x[1], a.tw2(2 * g));
  a.template fwd<must_reduce<A>(r)>(x[2], x[3], a.tw2(2 * g + 2));
  a.template fwd<must_reduce<A>(r)>(x[4], x[5], a.tw2(2 * g + 4));
  a.template fwd<must_reduce<A>(r)>(x[6], x[7], a.tw2(2 * g + 6));
}
template <class A>
RF_INLINE void fwd_distance2(const A& a, V x[8], size_t g) {
  constexpr unsigned r = after_fwd<A>(after_fwd<A>(after_fwd<A>(after_fwd<A>(A::kLimit))));
  a.template fwd<must_reduce<A>(r)>(x[0], x[1], a.tw4(4 * g));
  a.template fwd<must_reduce<A>(r)>(x[2], x[3], a.tw4(4 * g + 4));
  a.template fwd<must_reduce<A>(r)>(x[4], x[5], a.tw4(4 * g + 8));
  a.template fwd<must_reduce<A>(r)>(x[6], x[7], a.tw4(4 * g + 12));
}
template <class A>
RF_INLINE void fwd_distance1(const A& a, V x[8], size_t g) {
  constexpr unsigned r = after_fwd<A>(after_fwd<A>(after_fwd<A>(after_fwd<A>(after_fwd<A>(A::kLimit)))));
  a.template last_fwd<r>(x[0], x[1], a.tw8(8 * g));
  a.template last_fwd<r>(x[2], x[3], a.tw8(8 * g + 8));
  a.template last_fwd<r>(x[4], x[5], a.tw8(8 * g + 16));
  a.template last_fwd<r>(x[6], x[7], a.tw8(8 * g + 24));
}

/// The last 6 levels of `count` blocks of 64, two side by side. With next = 0 there is one, its own neighbour. The same
/// words of `soon` are fetched into the cache, if Fetch.
template <class A, size_t next = 1, bool Fetch = false>
__attribute__((noinline)) void fwd_tails(const A& shared, u64* dst, const u64* src, size_t count, size_t h,
                                         const u64* soon = nullptr) {
  const A a = shared;
  const Zip zip = zip_index();
  const auto fetch = [&soon](size_t first) {
    if constexpr (Fetch)
      for (size_t i = first; i < first + 32; i += 8) prefetch(soon + i);
  };
  for (const size_t end = h + count; h < end; h += 2, src += 128, dst += 128) {
    V x[8], y[8];
    load8(x, src, 8);
    load8(y, src + 64 * next, 8);
    fetch(0);
    fwd8x2<A, A::kLimit>(a, x, y, h, h + next);
    fetch(32);
    const size_t g = 4 * h, k = 4 * (h + next);
    permute8(x, zip);
    permute8(y, zip);
    fwd_distance4(a, x, g);
    fwd_distance4(a, y, k);
    fetch(64);
    permute8(x, zip);
    permute8(y, zip);
    fwd_distance2(a, x, g);
    fwd_distance2(a, y, k);
    fetch(96);
    permute8(x, zip);
    permute8(y, zip);
    fwd_distance1(a, x, g);
    fwd_distance1(a, y, k);
    permute8(x, zip);
    permute8(y, zip);
    store8(dst, 8, x);
    store8(dst + 64 * next, 8, y);
    if constexpr (Fetch) soon += 128;
  }
}

template <class A, class In>
void fwd_split(const A& a, const In& in, u64* dst, const u64* src, unsigned lg, size_t h) {
  if (lg == kTailLog) return;
  const unsigned s = levels(lg);
  const size_t len = size_t{1} << (lg - s);
  if (s == 4)
    fwd_pass16(a, in, dst, src, len, h);
  else if (s == 3)
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
  if (t.log_n == kTailLog) return fwd_tails<A, 0>(a, dst, src, 1, 1);
  fwd_split(a, in, dst, src, t.log_n, 1);
  if (t.log_n <= kLeafLog) fwd_tails(a, dst, dst, t.n >> kTailLog, t.n >> kTailLog);
}

/// The levels above blocks of at most 2^kTileLog elements: all passes but the last in `work`, the last to dst, past the
/// caches. Every pass has three levels (levels()), one pass at least.
template <class A, class In>
void fwd_head(const A& a, const In& in, u64* dst, u64* work, const u64* src, unsigned lg, size_t h) {
  const size_t len = size_t{1} << (lg - 3);
  if (lg - 3 <= kTileLog) return fwd_pass8<A, In, true>(a, in, dst, src, len, h);
  fwd_pass8(a, in, work, src, len, h);
  for (size_t i = 0; i < 8; ++i) fwd_head(a, Plain{}, dst + i * len, work + i * len, work + i * len, lg - 3, 8 * h + i);
}

/// The levels that fwd_head left, of the `count` elements from `first`.
template <class A>
void fwd_finish(u64* x, size_t first, size_t count, const u64* soon, const NttTable& t) {
  const A a(t, t.w, A::quotients(t));
  unsigned lg = t.log_n;
  while (lg > kTileLog) lg -= 3;
  const size_t len = size_t{1} << lg;
  for (size_t at = first; at < first + count; at += len) {
    const size_t h = (t.n + at) >> lg, tails = len >> kTailLog;
    fwd_split(a, Plain{}, x + at, x + at, lg, h);
    if (soon != nullptr)
      fwd_tails<A, 1, true>(a, x + at, x + at, tails, h * tails, soon + at);
    else
      fwd_tails(a, x + at, x + at, tails, h * tails);
  }
}

// ---- inverse --------------------------------------------------------------------------------------

/// The last level of a node of sixteen vectors or two of eight; ranges as the three levels of inv8x2 leave them.
template <class A, bool Last>
RF_INLINE void inv_top(const A& a, V x[8], V y[8], size_t h) {
  constexpr unsigned r = A::kLimit / 2, g = A::kGrow, g2 = after_inv<A>(g), g4 = after_inv<A>(g2);
  if constexpr (Last) {
    a.template last_inv<r>(x[0], y[0]);
    a.template last_inv<g4>(x[1], y[1]);
    a.template last_inv<g2>(x[2], y[2]);
    a.template last_inv<g2>(x[3], y[3]);
    a.template last_inv<g>(x[4], y[4]);
    a.template last_inv<g>(x[5], y[5]);
    a.template last_inv<g>(x[6], y[6]);
    a.template last_inv<g>(x[7], y[7]);
  } else {
    a.template inv<r>(x[0], y[0], a.tw1(h));
    a.template inv<g4>(x[1], y[1], a.tw1(h));
    a.template inv<g2>(x[2], y[2], a.tw1(h));
    a.template inv<g2>(x[3], y[3], a.tw1(h));
    a.template inv<g>(x[4], y[4], a.tw1(h));
    a.template inv<g>(x[5], y[5], a.tw1(h));
    a.template inv<g>(x[6], y[6], a.tw1(h));
    a.template inv<g>(x[7], y[7], a.tw1(h));
  }
}

/// Three levels of two sets of eight vectors, as in fwd8x2; words below K/2*q.
template <class A, bool Last>
RF_INLINE void inv8x2(const A& a, V x[8], V y[8], size_t h, size_t k) {
  constexpr unsigned r = A::kLimit / 2, g = A::kGrow, g2 = after_inv<A>(g);
  a.template inv<r>(x[0], x[1], a.tw1(4 * h));
  a.template inv<r>(y[0], y[1], a.tw1(4 * k));
  a.template inv<r>(x[2], x[3], a.tw1(4 * h + 1));
  a.template inv<r>(y[2], y[3], a.tw1(4 * k + 1));
  a.template inv<r>(x[4], x[5], a.tw1(4 * h + 2));
  a.template inv<r>(y[4], y[5], a.tw1(4 * k + 2));
  a.template inv<r>(x[6], x[7], a.tw1(4 * h + 3));
  a.template inv<r>(y[6], y[7], a.tw1(4 * k + 3));
  a.template inv<r>(x[0], x[2], a.tw1(2 * h));
  a.template inv<g>(x[1], x[3], a.tw1(2 * h));
  a.template inv<r>(y[0], y[2], a.tw1(2 * k));
  a.template inv<g>(y[1], y[3], a.tw1(2 * k));
  a.template inv<r>(x[4], x[6], a.tw1(2 * h + 1));
  a.template inv<g>(x[5], x[7], a.tw1(2 * h + 1));
  a.template inv<r>(y[4], y[6], a.tw1(2 * k + 1));
  a.template inv<g>(y[5], y[7], a.tw1(2 * k + 1));
  if constexpr (Last) {
    a.template last_inv<r>(x[0], x[4]);
    a.template last_inv<g2>(x[1], x[5]);
    a.template last_inv<g>(x[2], x[6]);
    a.template last_inv<g>(x[3], x[7]);
    a.template last_inv<r>(y[0], y[4]);
    a.template last_inv<g2>(y[1], y[5]);
    a.template last_inv<g>(y[2], y[6]);
    a.template last_inv<g>(y[3], y[7]);
  } else {
    a.template inv<r>(x[0], x[4], a.tw1(h));
    a.template inv<g2>(x[1], x[5], a.tw1(h));
    a.template inv<g>(x[2], x[6], a.tw1(h));
    a.template inv<g>(x[3], x[7], a.tw1(h));
    a.template inv<r>(y[0], y[4], a.tw1(k));
    a.template inv<g2>(y[1], y[5], a.tw1(k));
    a.template inv<g>(y[2], y[6], a.tw1(k));
    a.template inv<g>(y[3], y[7], a.tw1(k));
  }
}

template <class A, bool Last>
__attribute__((noinline)) void inv_pass16(const A& shared, u64* p, size_t len, size_t h) {
  const A a = shared;
  for (size_t j = 0; j < len; j += 8) {
    V x[8], y[8];
    load8(x, p + j, len);
    load8(y, p + j + 8 * len, len);
    inv8x2<A, false>(a, x, y, 2 * h, 2 * h + 1);
    inv_top<A, Last>(a, x, y, h);
    store8(p + j, len, x);
    store8(p + j + 8 * len, len, y);
  }
}

template <class A, bool Last>
__attribute__((noinline)) void inv_pass8(const A& shared, u64* p, size_t len, size_t h) {
  const A a = shared;
  for (size_t j = 0; j < len; j += 16) {
    V x[8], y[8];
    load8(x, p + j, len);
    load8(y, p + j + 8, len);
    inv8x2<A, Last>(a, x, y, h, h);
    store8(p + j, len, x);
    store8(p + j + 8, len, y);
  }
}

template <class A, bool Last>
__attribute__((noinline)) void inv_pass4(const A& shared, u64* p, size_t len, size_t h) {
  const A a = shared;
  constexpr unsigned r = A::kLimit / 2, g = A::kGrow;
  const auto w1 = a.tw1(h), w2 = a.tw1(2 * h), w3 = a.tw1(2 * h + 1);
  for (size_t j = 0; j < len; j += 16) {
    V x[4], y[4];
    load4(x, p + j, len);
    load4(y, p + j + 8, len);
    a.template inv<r>(x[0], x[1], w2);
    a.template inv<r>(y[0], y[1], w2);
    a.template inv<r>(x[2], x[3], w3);
    a.template inv<r>(y[2], y[3], w3);
    if constexpr (Last) {
      a.template last_inv<r>(x[0], x[2]);
      a.template last_inv<g>(x[1], x[3]);
      a.template last_inv<r>(y[0], y[2]);
      a.template last_inv<g>(y[1], y[3]);
    } else {
      a.template inv<r>(x[0], x[2], w1);
      a.template inv<g>(x[1], x[3], w1);
      a.template inv<r>(y[0], y[2], w1);
      a.template inv<g>(y[1], y[3], w1);
    }
    store4(p + j, len, x);
    store4(p + j + 8, len, y);
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

/// The first 3 levels of four pairs of blocks of 8, one level each; g is the heap index of the first pair's parent.
template <class A>
RF_INLINE void inv_distance1(const A& a, V x[8], size_t g) {
  constexpr unsigned r = A::kLimit / 2;
  a.template inv<r>(x[0], x[1], a.tw8(8 * g));
  a.template inv<r>(x[2], x[3], a.tw8(8 * g + 8));
  a.template inv<r>(x[4], x[5], a.tw8(8 * g + 16));
  a.template inv<r>(x[6], x[7], a.tw8(8 * g + 24));
}
template <class A>
RF_INLINE void inv_distance2(const A& a, V x[8], size_t g) {
  constexpr unsigned r = A::kLimit / 2;
  a.template inv<r>(x[0], x[1], a.tw4(4 * g));
  a.template inv<r>(x[2], x[3], a.tw4(4 * g + 4));
  a.template inv<r>(x[4], x[5], a.tw4(4 * g + 8));
  a.template inv<r>(x[6], x[7], a.tw4(4 * g + 12));
}
template <class A>
RF_INLINE void inv_distance4(const A& a, V x[8], size_t g) {
  constexpr unsigned r = A::kLimit / 2;
  a.template inv<r>(x[0], x[1], a.tw2(2 * g));
  a.template inv<r>(x[2], x[3], a.tw2(2 * g + 2));
  a.template inv<r>(x[4], x[5], a.tw2(2 * g + 4));
  a.template inv<r>(x[6], x[7], a.tw2(2 * g + 6));
}

/// The first 6 levels of `count` blocks of 64, two side by side. With next = 0 there is one, its own neighbour, and
/// these levels are all.
template <class A, size_t next = 1>
__attribute__((noinline)) void inv_tails(const A& shared, u64* dst, const u64* src, size_t count, size_t h) {
  const A a = shared;
  const Zip unzip = unzip_index();
  for (const size_t end = h + count; h < end; h += 2, src += 128, dst += 128) {
    V x[8], y[8];
    load8(x, src, 8);
    load8(y, src + 64 * next, 8);
    const size_t g = 4 * h, k = 4 * (h + next);
    permute8(x, unzip);
    permute8(y, unzip);
    inv_distance1(a, x, g);
    inv_distance1(a, y, k);
    permute8(x, unzip);
    permute8(y, unzip);
    inv_distance2(a, x, g);
    inv_distance2(a, y, k);
    permute8(x, unzip);
    permute8(y, unzip);
    inv_distance4(a, x, g);
    inv_distance4(a, y, k);
    permute8(x, unzip);
    permute8(y, unzip);
    inv8x2<A, next == 0>(a, x, y, h, h + next);
    store8(dst, 8, x);
    store8(dst + 64 * next, 8, y);
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
      inv_tails(a, dst + i * len, src + i * len, len >> kTailLog, child << (lg - s - kTailLog));
    inv_merge(a, dst + i * len, src + i * len, lg - s, child);
  }
  if (s == 4)
    h == 1 ? inv_pass16<A, true>(a, dst, len, h) : inv_pass16<A, false>(a, dst, len, h);
  else if (s == 3)
    h == 1 ? inv_pass8<A, true>(a, dst, len, h) : inv_pass8<A, false>(a, dst, len, h);
  else if (s == 2)
    h == 1 ? inv_pass4<A, true>(a, dst, len, h) : inv_pass4<A, false>(a, dst, len, h);
  else
    inv_pass2(a, dst, len);
}

template <class A>
void inverse(u64* dst, const u64* src, const NttTable& t) {
  const A a(t, t.iw, A::inverse_quotients(t));
  if (t.log_n == kTailLog) return inv_tails<A, 0>(a, dst, src, 1, 1);
  if (t.log_n <= kLeafLog) inv_tails(a, dst, src, t.n >> kTailLog, t.n >> kTailLog);
  inv_merge(a, dst, src, t.log_n, 1);
}

}  // namespace
}  // namespace ringforge::kernels::avx512
