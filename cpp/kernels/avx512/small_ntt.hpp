// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Lazy transforms of small rings on 52-bit multiply-add: words of at most 32 or 64 bits in memory, eight 64-bit lanes
// in registers, and no correction anywhere between the first level and the last.
//
// A product y*w is Shoup's, in [0, 2q) for y < 2^52 (see ntt52.cpp). A forward level takes [0, R) to [0, R + 2q), so
// words stay below 26q from an input in [0, 2q): q < 2^47. An inverse level doubles the range: q < 2^40.
// Only the low 52 bits of a word count. What is above them is never read: the multiply-add ignores it.
//
// Larger q take the same passes with another arithmetic: Checked and Lazy64 forward, Signed54 (small_signed.hpp) both
// ways. One that settles (kSettles) brings all words back to a small range at the places marked here.
//
// The last 6 levels (blocks of 64) are one pass, the last 3 of them inside registers; 2 to 4 levels more are one pass
// each over a buffer that stays in the first-level cache. Vectors are written out, not looped over (see NOTES.md).
#pragma once

#include "internal.hpp"
#include "ringforge/small_kernels.hpp"

namespace ringforge::kernels::avx512 {
namespace {

constexpr unsigned kSmallTail = 6;
constexpr size_t kSmallMax = 4096;

/// Constants of one direction.
struct Lazy {
  static constexpr bool kSettles = false;
  const u64 *tw, *ts;
  V q, q2, neg_q, two, one_s;
  RF_MEMBER explicit Lazy(const NttTable& t) : Lazy(t, t.w, t.w52) {}
  RF_MEMBER Lazy(const NttTable& t, const u64* w, const u64* s) : Lazy(t.mod.q, w, s) {}
  RF_MEMBER Lazy(u64 modulus, const u64* w, const u64* s)
      : tw(w),
        ts(s),
        q(set1(modulus)),
        q2(set1(2 * modulus)),
        neg_q(set1((u64{1} << 52) - modulus)),
        two(set1(2)),
        one_s(set1((u64{1} << 52) / modulus)) {}

  struct Tw {
    V w, s;
  };
  RF_MEMBER Tw tw1(size_t i) const { return {set1(tw[i]), set1(ts[i])}; }
  RF_MEMBER Tw tw2(size_t i) const { return {pair(tw + i), pair(ts + i)}; }
  RF_MEMBER Tw tw4(size_t i) const { return {quad(tw + i), quad(ts + i)}; }
  RF_MEMBER Tw tw8(size_t i) const { return {load(tw + i), load(ts + i)}; }
  static RF_MEMBER V pair(const u64* p) {
    return _mm512_broadcast_i64x2(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static RF_MEMBER V quad(const u64* p) {
    return _mm512_broadcast_i64x4(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }

  /// acc + y*w, the product in [0, 2q).
  RF_MEMBER V mul_add(V acc, V y, const Tw& t) const { return lo52(lo52(acc, y, t.w), hi52(zero(), y, t.s), neg_q); }
  RF_MEMBER V mul(V y, const Tw& t) const { return mul_add(zero(), y, t); }
  /// (x, y) -> (x + w*y, x - w*y + 2q).
  RF_MEMBER void fwd(V& x, V& y, const Tw& t) const {
    const V twice = lo52(q2, x, two);
    x = mul_add(x, y, t);
    y = vsub(twice, x);
  }
  static RF_MEMBER Tw factor(const Factor& f) { return {set1(f.w), set1(f.w52)}; }
  static RF_MEMBER V difference(V x, V y, V above) { return vsub(vadd(x, above), y); }
  /// (x, y) -> (x + y, (x - y)*w), y <= above.
  RF_MEMBER void inv(V& x, V& y, const Tw& t, V above) const {
    const V d = difference(x, y, above);
    x = vadd(x, y);
    y = mul(d, t);
  }
  /// To [0, 2q).
  RF_MEMBER V reduce(V x) const { return lo52(x, hi52(zero(), x, one_s), neg_q); }
};

/// Forward levels for q < 2^50: x to [0, 2q) before each, words below 4q. Two multiply-adds for it, where mask,
/// difference and minimum are three operations.
struct Checked : Lazy {
  using Lazy::Lazy;
  RF_MEMBER void fwd(V& x, V& y, const Tw& t) const {
    x = reduce(x);
    Lazy::fwd(x, y, t);
  }
};

/// Forward levels for q < 2^58 on whole words: a product is in [0, 4q) (see ntt64.cpp), 12 levels from [0, 2q) end
/// below 50q < 2^64.
struct Lazy64 {
  static constexpr bool kSettles = false;
  const u64 *tw, *ts;
  V q, q2, q4, one_s, one_sh;
  RF_MEMBER explicit Lazy64(const NttTable& t)
      : tw(t.w),
        ts(t.w64),
        q(set1(t.mod.q)),
        q2(set1(2 * t.mod.q)),
        q4(set1(4 * t.mod.q)),
        one_s(set1(t.mod.ratio_hi)),
        one_sh(set1(t.mod.ratio_hi >> 32)) {}
  struct Tw {
    V w, s, sh;
  };
  static RF_MEMBER Tw make(V w, V s) { return {w, s, shr<32>(s)}; }
  RF_MEMBER Tw tw1(size_t i) const { return make(set1(tw[i]), set1(ts[i])); }
  RF_MEMBER Tw tw2(size_t i) const { return make(Lazy::pair(tw + i), Lazy::pair(ts + i)); }
  RF_MEMBER Tw tw4(size_t i) const { return make(Lazy::quad(tw + i), Lazy::quad(ts + i)); }
  RF_MEMBER Tw tw8(size_t i) const { return make(load(tw + i), load(ts + i)); }
  RF_MEMBER void fwd(V& x, V& y, const Tw& t) const {
    const V v = vsub(mullo(y, t.w), mullo(mulhi_below(y, t.s, t.sh), q));
    y = vsub(vadd(x, q4), v);
    x = vadd(x, v);
  }
  /// Canonical: the quotient is at most 3 too low.
  RF_MEMBER V canonical(V x) const { return csub(csub(vsub(x, mullo(mulhi_below(x, one_s, one_sh), q)), q2), q); }
};

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
RF_INLINE V words8(const u64* p) { return load(p); }
RF_INLINE V words8(const u32* p) {
  return _mm512_cvtepu32_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
template <class W>
RF_INLINE void words8(V x[8], const W* p, size_t stride) {
  x[0] = words8(p);
  x[1] = words8(p + stride);
  x[2] = words8(p + 2 * stride);
  x[3] = words8(p + 3 * stride);
  x[4] = words8(p + 4 * stride);
  x[5] = words8(p + 5 * stride);
  x[6] = words8(p + 6 * stride);
  x[7] = words8(p + 7 * stride);
}

/// What a settling arithmetic does to eight words, and to all.
template <class A>
RF_INLINE void settle8(const A& a, V x[8]) {
  x[0] = a.settle(x[0]);
  x[1] = a.settle(x[1]);
  x[2] = a.settle(x[2]);
  x[3] = a.settle(x[3]);
  x[4] = a.settle(x[4]);
  x[5] = a.settle(x[5]);
  x[6] = a.settle(x[6]);
  x[7] = a.settle(x[7]);
}
template <class A>
__attribute__((noinline)) void settle_all(const A& shared, u64* x, size_t n) {
  const A a = shared;
  for (size_t i = 0; i < n; i += 8) store(x + i, a.settle(load(x + i)));
}

// ---- forward --------------------------------------------------------------------------------------

template <class A>
RF_INLINE void lazy_fwd4(const A& a, V& x0, V& x1, V& x2, V& x3, size_t h) {
  const auto w1 = a.tw1(h);
  a.fwd(x0, x2, w1);
  a.fwd(x1, x3, w1);
  a.fwd(x0, x1, a.tw1(2 * h));
  a.fwd(x2, x3, a.tw1(2 * h + 1));
}
template <class A>
RF_INLINE void lazy_fwd8(const A& a, V x[8], size_t h) {
  const auto w1 = a.tw1(h);
  a.fwd(x[0], x[4], w1);
  a.fwd(x[1], x[5], w1);
  a.fwd(x[2], x[6], w1);
  a.fwd(x[3], x[7], w1);
  lazy_fwd4(a, x[0], x[1], x[2], x[3], 2 * h);
  lazy_fwd4(a, x[4], x[5], x[6], x[7], 2 * h + 1);
}

template <class A, class W>
__attribute__((noinline)) void lazy_fwd_pass4(const A& shared, u64* dst, const W* src, size_t len, size_t h) {
  const A a = shared;
  for (size_t j = 0; j < len; j += 8) {
    V x0 = words8(src + j), x1 = words8(src + j + len), x2 = words8(src + j + 2 * len), x3 = words8(src + j + 3 * len);
    lazy_fwd4(a, x0, x1, x2, x3, h);
    store(dst + j, x0);
    store(dst + j + len, x1);
    store(dst + j + 2 * len, x2);
    store(dst + j + 3 * len, x3);
  }
}
template <class A, class W>
__attribute__((noinline)) void lazy_fwd_pass8(const A& shared, u64* dst, const W* src, size_t len, size_t h) {
  const A a = shared;
  for (size_t j = 0; j < len; j += 8) {
    V x[8];
    words8(x, src + j, len);
    lazy_fwd8(a, x, h);
    store8(dst + j, len, x);
  }
}
template <class A, class W>
__attribute__((noinline)) void lazy_fwd_pass16(const A& shared, u64* dst, const W* src, size_t len, size_t h) {
  const A a = shared;
  for (size_t j = 0; j < len; j += 8) {
    V x[8], y[8];
    words8(x, src + j, len);
    words8(y, src + j + 8 * len, len);
    const auto w1 = a.tw1(h);
    a.fwd(x[0], y[0], w1);
    a.fwd(x[1], y[1], w1);
    a.fwd(x[2], y[2], w1);
    a.fwd(x[3], y[3], w1);
    a.fwd(x[4], y[4], w1);
    a.fwd(x[5], y[5], w1);
    a.fwd(x[6], y[6], w1);
    a.fwd(x[7], y[7], w1);
    lazy_fwd8(a, x, 2 * h);
    store8(dst + j, len, x);
    lazy_fwd8(a, y, 2 * h + 1);
    store8(dst + j + 8 * len, len, y);
  }
}

/// The last 3 levels of 4 + 4 pairs of blocks of 8, g and gy the heap indices of the first ones' parents; of each pair
/// the even words to the first vector, the odd ones to the second. Level by level: the scheduler then sees eight
/// independent chains.
template <class A>
RF_INLINE void lazy_fwd_pairs(const A& a, V x[8], V y[8], const Zip& zip, size_t g, size_t gy) {
  permute_pair(x[0], x[1], zip);
  permute_pair(x[2], x[3], zip);
  permute_pair(x[4], x[5], zip);
  permute_pair(x[6], x[7], zip);
  permute_pair(y[0], y[1], zip);
  permute_pair(y[2], y[3], zip);
  permute_pair(y[4], y[5], zip);
  permute_pair(y[6], y[7], zip);
  a.fwd(x[0], x[1], a.tw2(2 * g + 0));
  a.fwd(x[2], x[3], a.tw2(2 * g + 2));
  a.fwd(x[4], x[5], a.tw2(2 * g + 4));
  a.fwd(x[6], x[7], a.tw2(2 * g + 6));
  a.fwd(y[0], y[1], a.tw2(2 * gy));
  a.fwd(y[2], y[3], a.tw2(2 * gy + 2));
  a.fwd(y[4], y[5], a.tw2(2 * gy + 4));
  a.fwd(y[6], y[7], a.tw2(2 * gy + 6));
  permute_pair(x[0], x[1], zip);
  permute_pair(x[2], x[3], zip);
  permute_pair(x[4], x[5], zip);
  permute_pair(x[6], x[7], zip);
  permute_pair(y[0], y[1], zip);
  permute_pair(y[2], y[3], zip);
  permute_pair(y[4], y[5], zip);
  permute_pair(y[6], y[7], zip);
  a.fwd(x[0], x[1], a.tw4(4 * g + 0));
  a.fwd(x[2], x[3], a.tw4(4 * g + 4));
  a.fwd(x[4], x[5], a.tw4(4 * g + 8));
  a.fwd(x[6], x[7], a.tw4(4 * g + 12));
  a.fwd(y[0], y[1], a.tw4(4 * gy));
  a.fwd(y[2], y[3], a.tw4(4 * gy + 4));
  a.fwd(y[4], y[5], a.tw4(4 * gy + 8));
  a.fwd(y[6], y[7], a.tw4(4 * gy + 12));
  permute_pair(x[0], x[1], zip);
  permute_pair(x[2], x[3], zip);
  permute_pair(x[4], x[5], zip);
  permute_pair(x[6], x[7], zip);
  permute_pair(y[0], y[1], zip);
  permute_pair(y[2], y[3], zip);
  permute_pair(y[4], y[5], zip);
  permute_pair(y[6], y[7], zip);
  a.fwd(x[0], x[1], a.tw8(8 * g + 0));
  a.fwd(x[2], x[3], a.tw8(8 * g + 8));
  a.fwd(x[4], x[5], a.tw8(8 * g + 16));
  a.fwd(x[6], x[7], a.tw8(8 * g + 24));
  a.fwd(y[0], y[1], a.tw8(8 * gy));
  a.fwd(y[2], y[3], a.tw8(8 * gy + 8));
  a.fwd(y[4], y[5], a.tw8(8 * gy + 16));
  a.fwd(y[6], y[7], a.tw8(8 * gy + 24));
}

/// Three levels of two blocks, interleaved for the same reason.
template <class A>
RF_INLINE void lazy_fwd8x2(const A& a, V x[8], V y[8], size_t h, size_t hy) {
  a.fwd(x[0], x[4], a.tw1(h));
  a.fwd(x[1], x[5], a.tw1(h));
  a.fwd(x[2], x[6], a.tw1(h));
  a.fwd(x[3], x[7], a.tw1(h));
  a.fwd(y[0], y[4], a.tw1(hy));
  a.fwd(y[1], y[5], a.tw1(hy));
  a.fwd(y[2], y[6], a.tw1(hy));
  a.fwd(y[3], y[7], a.tw1(hy));
  a.fwd(x[0], x[2], a.tw1(2 * h));
  a.fwd(x[1], x[3], a.tw1(2 * h));
  a.fwd(x[4], x[6], a.tw1(2 * h + 1));
  a.fwd(x[5], x[7], a.tw1(2 * h + 1));
  a.fwd(y[0], y[2], a.tw1(2 * hy));
  a.fwd(y[1], y[3], a.tw1(2 * hy));
  a.fwd(y[4], y[6], a.tw1(2 * hy + 1));
  a.fwd(y[5], y[7], a.tw1(2 * hy + 1));
  a.fwd(x[0], x[1], a.tw1(4 * h));
  a.fwd(x[2], x[3], a.tw1(4 * h + 1));
  a.fwd(x[4], x[5], a.tw1(4 * h + 2));
  a.fwd(x[6], x[7], a.tw1(4 * h + 3));
  a.fwd(y[0], y[1], a.tw1(4 * hy));
  a.fwd(y[2], y[3], a.tw1(4 * hy + 1));
  a.fwd(y[4], y[5], a.tw1(4 * hy + 2));
  a.fwd(y[6], y[7], a.tw1(4 * hy + 3));
}

/// The levels above the tail of a block of 2^log_n words, the node `root` of the butterfly tree; the result is in
/// `work`.
template <class A, class W>
RF_INLINE void lazy_fwd_head(const A& a, u64* work, const W* src, unsigned log_n, size_t root = 1) {
  const size_t n = size_t{1} << log_n;
  switch (log_n - kSmallTail) {
    case 2:
      lazy_fwd_pass4(a, work, src, n / 4, root);
      break;
    case 3:
      lazy_fwd_pass8(a, work, src, n / 8, root);
      break;
    case 4:
      lazy_fwd_pass16(a, work, src, n / 16, root);
      break;
    case 5:
      lazy_fwd_pass4(a, work, src, n / 4, root);
      for (size_t i = 0; i < 4; ++i) lazy_fwd_pass8(a, work + i * (n / 4), work + i * (n / 4), n / 32, 4 * root + i);
      break;
    default:
      lazy_fwd_pass8(a, work, src, n / 8, root);
      if constexpr (A::kSettles) settle_all(a, work, n);
      for (size_t i = 0; i < 8; ++i) lazy_fwd_pass8(a, work + i * (n / 8), work + i * (n / 8), n / 64, 8 * root + i);
  }
}

/// The last 6 levels. Out takes two vectors, the even and the odd words of 16, and a pointer that runs along.
template <class A, class Out, class W>
__attribute__((noinline)) void lazy_fwd_tails(const A& shared, const Out& output, W* dst, const u64* work, size_t n,
                                              size_t root = 1) {
  const A a = shared;
  const Out out = output;
  const Zip zip = zip_index();
  for (size_t count = n >> kSmallTail, h = root * count, end = h + count; h < end; h += 2, work += 128, dst += 128) {
    V x[8], y[8];
    load8(x, work, 8);
    load8(y, work + 64, 8);
    if constexpr (A::kSettles) {
      settle8(a, x);
      settle8(a, y);
    }
    lazy_fwd8x2(a, x, y, h, h + 1);
    lazy_fwd_pairs(a, x, y, zip, 4 * h, 4 * h + 4);
    out(a, dst, x[0], x[1]);
    out(a, dst + 16, x[2], x[3]);
    out(a, dst + 32, x[4], x[5]);
    out(a, dst + 48, x[6], x[7]);
    out(a, dst + 64, y[0], y[1]);
    out(a, dst + 80, y[2], y[3]);
    out(a, dst + 96, y[4], y[5]);
    out(a, dst + 112, y[6], y[7]);
  }
}

/// The last 6 levels of two transforms at once. Out takes a pair of vectors of each.
template <class A, class Out, class W>
__attribute__((noinline)) void lazy_fwd_tails_of_two(const A& shared, const Out& output, W* dst, const u64* work_x,
                                                     const u64* work_y, size_t n, size_t root = 1) {
  const A a = shared;
  const Out out = output;
  const Zip zip = zip_index();
  for (size_t count = n >> kSmallTail, h = root * count, end = h + count; h < end;
       ++h, work_x += 64, work_y += 64, dst += 64) {
    V x[8], y[8];
    load8(x, work_x, 8);
    load8(y, work_y, 8);
    lazy_fwd8x2(a, x, y, h, h);
    lazy_fwd_pairs(a, x, y, zip, 4 * h, 4 * h);
    out(a, dst, x[0], x[1], y[0], y[1]);
    out(a, dst + 16, x[2], x[3], y[2], y[3]);
    out(a, dst + 32, x[4], x[5], y[4], y[5]);
    out(a, dst + 48, x[6], x[7], y[6], y[7]);
  }
}

template <class A, class Out, class W>
RF_INLINE void lazy_forward(W* dst, const W* src, const A& a, unsigned log_n, const Out& out) {
  alignas(64) u64 work[kSmallMax];
  lazy_fwd_head(a, work, src, log_n);
  lazy_fwd_tails(a, out, dst, work, size_t{1} << log_n);
}
template <class A, class Out, class W>
RF_INLINE void lazy_forward(W* dst, const W* src, const NttTable& t, const Out& out) {
  lazy_forward(dst, src, A(t), t.log_n, out);
}

// ---- inverse --------------------------------------------------------------------------------------

/// Levels of the whole transform from `level` on (0 is the first, of stride 1); words are below q << level.
template <class A>
RF_INLINE void lazy_inv4(const A& a, V& x0, V& x1, V& x2, V& x3, size_t h, V above) {
  const auto w1 = a.tw1(h);
  const V twice = vadd(above, above);
  a.inv(x0, x1, a.tw1(2 * h), above);
  a.inv(x2, x3, a.tw1(2 * h + 1), above);
  a.inv(x0, x2, w1, twice);
  a.inv(x1, x3, w1, twice);
}
/// With Settle, the words settle before the last level.
template <bool Settle, class A>
RF_INLINE void lazy_inv8(const A& a, V x[8], size_t h, V above) {
  lazy_inv4(a, x[0], x[1], x[2], x[3], 2 * h, above);
  lazy_inv4(a, x[4], x[5], x[6], x[7], 2 * h + 1, above);
  if constexpr (Settle) settle8(a, x);
  const auto w1 = a.tw1(h);
  const V four = _mm512_slli_epi64(above, 2);
  a.inv(x[0], x[4], w1, four);
  a.inv(x[1], x[5], w1, four);
  a.inv(x[2], x[6], w1, four);
  a.inv(x[3], x[7], w1, four);
}

/// The first 3 levels of 4 pairs of blocks of 8 as `split` makes them, g the heap index of the first's parent.
template <class A>
RF_INLINE void lazy_inv_pairs(const A& a, V x[8], const Zip& unzip, size_t g) {
  const V twice = vadd(a.q, a.q), four = vadd(twice, twice);
  a.inv(x[0], x[1], a.tw8(8 * g + 0), a.q);
  a.inv(x[2], x[3], a.tw8(8 * g + 8), a.q);
  a.inv(x[4], x[5], a.tw8(8 * g + 16), a.q);
  a.inv(x[6], x[7], a.tw8(8 * g + 24), a.q);
  permute_pair(x[0], x[1], unzip);
  permute_pair(x[2], x[3], unzip);
  permute_pair(x[4], x[5], unzip);
  permute_pair(x[6], x[7], unzip);
  a.inv(x[0], x[1], a.tw4(4 * g + 0), twice);
  a.inv(x[2], x[3], a.tw4(4 * g + 4), twice);
  a.inv(x[4], x[5], a.tw4(4 * g + 8), twice);
  a.inv(x[6], x[7], a.tw4(4 * g + 12), twice);
  permute_pair(x[0], x[1], unzip);
  permute_pair(x[2], x[3], unzip);
  permute_pair(x[4], x[5], unzip);
  permute_pair(x[6], x[7], unzip);
  a.inv(x[0], x[1], a.tw2(2 * g + 0), four);
  a.inv(x[2], x[3], a.tw2(2 * g + 2), four);
  a.inv(x[4], x[5], a.tw2(2 * g + 4), four);
  a.inv(x[6], x[7], a.tw2(2 * g + 6), four);
  permute_pair(x[0], x[1], unzip);
  permute_pair(x[2], x[3], unzip);
  permute_pair(x[4], x[5], unzip);
  permute_pair(x[6], x[7], unzip);
}

/// The even and the odd of 16 words.
RF_INLINE void split(V& even, V& odd, const u32* p, const Zip&) {
  const V x = load(p);
  even = vand(x, set1(0xffffffff));
  odd = shr<32>(x);
}
RF_INLINE void split(V& even, V& odd, const u64* p, const Zip& unzip) {
  even = load(p);
  odd = load(p + 8);
  permute_pair(even, odd, unzip);
}

/// The first 6 levels.
template <class A, class W>
__attribute__((noinline)) void lazy_inv_tails(const A& shared, u64* work, const W* src, size_t n, size_t root = 1) {
  const A a = shared;
  const Zip unzip = unzip_index();
  const V above = _mm512_slli_epi64(a.q, 3);
  for (size_t count = n >> kSmallTail, h = root * count, end = h + count; h < end; ++h, work += 64, src += 64) {
    V x[8];
    split(x[0], x[1], src, unzip);
    split(x[2], x[3], src + 16, unzip);
    split(x[4], x[5], src + 32, unzip);
    split(x[6], x[7], src + 48, unzip);
    lazy_inv_pairs(a, x, unzip, 4 * h);
    lazy_inv8<A::kSettles>(a, x, h, above);
    store8(work, 8, x);
  }
}

template <class A>
__attribute__((noinline)) void lazy_inv_pass2(const A& shared, u64* x, size_t len, size_t h, unsigned level) {
  const A a = shared;
  const V above = _mm512_sll_epi64(a.q, _mm_cvtsi32_si128(static_cast<int>(level)));
  const auto w1 = a.tw1(h);
  for (size_t j = 0; j < len; j += 8) {
    V x0 = load(x + j), x1 = load(x + j + len);
    a.inv(x0, x1, w1, above);
    store(x + j, x0);
    store(x + j + len, x1);
  }
}
template <class A>
__attribute__((noinline)) void lazy_inv_pass4(const A& shared, u64* x, size_t len, size_t h, unsigned level) {
  const A a = shared;
  const V above = _mm512_sll_epi64(a.q, _mm_cvtsi32_si128(static_cast<int>(level)));
  for (size_t j = 0; j < len; j += 8) {
    V x0 = load(x + j), x1 = load(x + j + len), x2 = load(x + j + 2 * len), x3 = load(x + j + 3 * len);
    lazy_inv4(a, x0, x1, x2, x3, h, above);
    store(x + j, x0);
    store(x + j + len, x1);
    store(x + j + 2 * len, x2);
    store(x + j + 3 * len, x3);
  }
}
template <class A>
__attribute__((noinline)) void lazy_inv_pass8(const A& shared, u64* x, size_t len, size_t h, unsigned level) {
  const A a = shared;
  const V above = _mm512_sll_epi64(a.q, _mm_cvtsi32_si128(static_cast<int>(level)));
  for (size_t j = 0; j < len; j += 8) {
    V v[8];
    load8(v, x + j, len);
    lazy_inv8<false>(a, v, h, above);
    if constexpr (A::kSettles) {  // the results of two or three products
      v[3] = a.settle(v[3]);
      v[5] = a.settle(v[5]);
      v[6] = a.settle(v[6]);
      v[7] = a.settle(v[7]);
    }
    store8(x + j, len, v);
  }
}

/// 16 words from [0, 2q) to canonical.
RF_INLINE void put_words16(u64* p, V x, V y, const Lazy& a) {
  store(p, csub(vand(x, set1(kMask52)), a.q));
  store(p + 8, csub(vand(y, set1(kMask52)), a.q));
}
RF_INLINE void put_words16(u32* p, V even, V odd, const Lazy& a) {
  const V low = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
  const V x = _mm512_permutex2var_epi32(even, low, odd),
          q32 = _mm512_shuffle_epi32(a.q, static_cast<_MM_PERM_ENUM>(0xa0));
  store(p, _mm512_min_epu32(x, _mm512_sub_epi32(x, q32)));
}

/// The last level, results in [0, 2q).
template <class A>
struct LastInv {
  typename A::Tw n_inv, n_inv_w;
  template <class Table>
  RF_MEMBER LastInv(const A& a, const Table& t) : n_inv(a.factor(t.n_inv)), n_inv_w(a.factor(t.n_inv_w)) {}
  RF_MEMBER void inv(const A& a, V& x, V& y, V above) const {
    const V d = a.difference(x, y, above);
    x = a.mul(vadd(x, y), n_inv);
    y = a.mul(d, n_inv_w);
  }
};

/// The last 2 levels.
template <class A, class W>
__attribute__((noinline)) void lazy_inv_last4(const A& shared, const LastInv<A>& l, W* dst, const u64* x, size_t len,
                                              unsigned level) {
  const A a = shared;
  const LastInv<A> last = l;
  const V above = _mm512_sll_epi64(a.q, _mm_cvtsi32_si128(static_cast<int>(level))), twice = vadd(above, above);
  const auto w2 = a.tw1(2), w3 = a.tw1(3);
  for (size_t j = 0; j < len; j += 16) {
    V x0 = load(x + j), x1 = load(x + j + len), x2 = load(x + j + 2 * len), x3 = load(x + j + 3 * len);
    V y0 = load(x + j + 8), y1 = load(x + j + 8 + len), y2 = load(x + j + 8 + 2 * len), y3 = load(x + j + 8 + 3 * len);
    a.inv(x0, x1, w2, above);
    a.inv(x2, x3, w3, above);
    a.inv(y0, y1, w2, above);
    a.inv(y2, y3, w3, above);
    last.inv(a, x0, x2, twice);
    last.inv(a, x1, x3, twice);
    last.inv(a, y0, y2, twice);
    last.inv(a, y1, y3, twice);
    put_words16(dst + j, x0, y0, a);
    put_words16(dst + j + len, x1, y1, a);
    put_words16(dst + j + 2 * len, x2, y2, a);
    put_words16(dst + j + 3 * len, x3, y3, a);
  }
}

template <class A, class W, class Table>
RF_INLINE void lazy_inverse(W* dst, const W* src, const A& a, const Table& t) {
  alignas(64) u64 work[kSmallMax];
  const LastInv<A> last(a, t);
  const size_t n = t.n;
  lazy_inv_tails(a, work, src, n);
  switch (t.log_n - kSmallTail) {
    case 2:
      break;
    case 3:
      for (size_t i = 0; i < 4; ++i) lazy_inv_pass2(a, work + i * (n / 4), n / 8, 4 + i, 6);
      break;
    case 4:
      for (size_t i = 0; i < 4; ++i) lazy_inv_pass4(a, work + i * (n / 4), n / 16, 4 + i, 6);
      break;
    case 5:
      for (size_t i = 0; i < 4; ++i) lazy_inv_pass8(a, work + i * (n / 4), n / 32, 4 + i, 6);
      break;
    default:
      for (size_t i = 0; i < 16; ++i) lazy_inv_pass4(a, work + i * (n / 16), n / 64, 16 + i, 6);
      if constexpr (A::kSettles) settle_all(a, work, n);
      for (size_t i = 0; i < 4; ++i) lazy_inv_pass4(a, work + i * (n / 4), n / 16, 4 + i, 8);
  }
  lazy_inv_last4(a, last, dst, work, n / 4, t.log_n - 2);
}
template <class W>
RF_INLINE void lazy_inverse(W* dst, const W* src, const NttTable& t) {
  lazy_inverse(dst, src, Lazy(t, t.iw, t.iw52), t);
}

}  // namespace
}  // namespace ringforge::kernels::avx512
