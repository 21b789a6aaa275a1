// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Convolutions of tensor rings for q < 2^50 whose rows are whole vectors (15 divides the index). Other rings and primes
// take `ref`.
//
// The outer dimensions are transforms with vectors along the rows: no lane is permuted. Dimension 256 is two passes of
// sixteen rows each, dimension 16 one. After the first pass over the whole array, blocks of a sixteenth stay in the
// first-level cache until the last. In their midst, eight rows are transposed for the inner dimensions: eight places as
// eight vectors, whose lanes belong to different rows. The last level of dimension 16 there, the factors of the fixed
// array and the first level back are one product of two rows with constants, two sums of two products.
#include "sets.hpp"
#include "transpose.hpp"
#include "word52.hpp"

namespace ringforge::kernels {
namespace avx512 {
namespace {

constexpr size_t kRow = 8;

// ---- dimension 16, and 256 in two steps -------------------------------------------------------------
// The factors at the root are 1 where the heap index is a power of two.

/// (x, y) to (x + y, x - y): words below R*q to words below after_sum<A>(R)*q.
template <class A, unsigned R>
RF_INLINE void sum_of(const A& a, V& x, V& y) {
  constexpr bool reduce = 2 * R > A::kLimit;
  if constexpr (reduce) x = csub(x, a.half()), y = csub(y, a.half());
  const V d = a.template difference<reduce ? A::kLimit / 2 : R>(x, y);
  x = vadd(x, y);
  y = d;
}
template <class A>
constexpr unsigned after_sum(unsigned r) {
  return 2 * r > A::kLimit ? A::kLimit : 2 * r;
}
/// The same with both words below after_inv<A>(R)*q.
template <class A, unsigned R>
RF_INLINE void inv_sum_of(const A& a, V& x, V& y) {
  const V d = a.template difference<R>(x, y), s = vadd(x, y);
  x = 2 * R > A::kLimit / 2 ? csub(s, a.half()) : s;
  y = 2 * R > A::kLimit / 2 ? csub(d, a.half()) : d;
}

/// The first three levels at the root. Words below R*q to words below K*q.
template <class A, unsigned R>
RF_INLINE void fwd_root(const A& a, V x[8], V y[8]) {
  constexpr unsigned r1 = after_sum<A>(R), r2 = after_sum<A>(r1), m2 = after_fwd<A>(r1);
  constexpr bool c1 = must_reduce<A>(r1), c2 = must_reduce<A>(r2), d2 = must_reduce<A>(m2);
  sum_of<A, R>(a, x[0], y[0]);
  sum_of<A, R>(a, x[1], y[1]);
  sum_of<A, R>(a, x[2], y[2]);
  sum_of<A, R>(a, x[3], y[3]);
  sum_of<A, R>(a, x[4], y[4]);
  sum_of<A, R>(a, x[5], y[5]);
  sum_of<A, R>(a, x[6], y[6]);
  sum_of<A, R>(a, x[7], y[7]);
  sum_of<A, r1>(a, x[0], x[4]);
  sum_of<A, r1>(a, x[1], x[5]);
  sum_of<A, r1>(a, x[2], x[6]);
  sum_of<A, r1>(a, x[3], x[7]);
  a.template fwd<c1>(y[0], y[4], a.tw1(3));
  a.template fwd<c1>(y[1], y[5], a.tw1(3));
  a.template fwd<c1>(y[2], y[6], a.tw1(3));
  a.template fwd<c1>(y[3], y[7], a.tw1(3));
  sum_of<A, r2>(a, x[0], x[2]);
  sum_of<A, r2>(a, x[1], x[3]);
  a.template fwd<c2>(x[4], x[6], a.tw1(5));
  a.template fwd<c2>(x[5], x[7], a.tw1(5));
  a.template fwd<d2>(y[0], y[2], a.tw1(6));
  a.template fwd<d2>(y[1], y[3], a.tw1(6));
  a.template fwd<d2>(y[4], y[6], a.tw1(7));
  a.template fwd<d2>(y[5], y[7], a.tw1(7));
}

/// The last three levels at the root. Words below K/2*q, all.
template <class A>
RF_INLINE void inv_root(const A& a, V x[8], V y[8]) {
  constexpr unsigned r = A::kLimit / 2, g = A::kGrow;
  inv_sum_of<A, r>(a, x[0], x[2]);
  inv_sum_of<A, r>(a, x[1], x[3]);
  a.template inv<r>(x[4], x[6], a.tw1(5));
  a.template inv<r>(x[5], x[7], a.tw1(5));
  a.template inv<r>(y[0], y[2], a.tw1(6));
  a.template inv<r>(y[1], y[3], a.tw1(6));
  a.template inv<r>(y[4], y[6], a.tw1(7));
  a.template inv<r>(y[5], y[7], a.tw1(7));
  inv_sum_of<A, r>(a, x[0], x[4]);
  inv_sum_of<A, r>(a, x[1], x[5]);
  inv_sum_of<A, r>(a, x[2], x[6]);
  inv_sum_of<A, r>(a, x[3], x[7]);
  a.template inv<r>(y[0], y[4], a.tw1(3));
  a.template inv<r>(y[1], y[5], a.tw1(3));
  a.template inv<g>(y[2], y[6], a.tw1(3));
  a.template inv<g>(y[3], y[7], a.tw1(3));
  inv_sum_of<A, r>(a, x[0], y[0]);
  inv_sum_of<A, r>(a, x[1], y[1]);
  inv_sum_of<A, r>(a, x[2], y[2]);
  inv_sum_of<A, r>(a, x[3], y[3]);
  inv_sum_of<A, r>(a, x[4], y[4]);
  inv_sum_of<A, r>(a, x[5], y[5]);
  inv_sum_of<A, r>(a, x[6], y[6]);
  inv_sum_of<A, r>(a, x[7], y[7]);
}

/// fwd_pass16 at the root.
template <class A, class In>
__attribute__((noinline)) void first_pass16(const A& shared, const In& input, u64* dst, const u64* src, size_t len) {
  const A a = shared;
  const In in = input;
  constexpr bool c = must_reduce<A>(A::kLimit);
  for (size_t j = 0; j < len; j += 8) {
    V x[8], y[8];
    load8(x, src + j, len, in);
    load8(y, src + j + 8 * len, len, in);
    // All rows fall into one set of the first-level cache, of twelve lines: half of those to come are called for.
    for (size_t i = 0; i < 8; ++i) _mm_prefetch(reinterpret_cast<const char*>(src + j + 16 + i * len), _MM_HINT_T0);
    fwd_root<A, 4>(a, x, y);
    sum_of<A, A::kLimit>(a, x[0], x[1]);
    a.template fwd<c>(x[2], x[3], a.tw1(9));
    a.template fwd<c>(x[4], x[5], a.tw1(10));
    a.template fwd<c>(x[6], x[7], a.tw1(11));
    a.template fwd<c>(y[0], y[1], a.tw1(12));
    a.template fwd<c>(y[2], y[3], a.tw1(13));
    a.template fwd<c>(y[4], y[5], a.tw1(14));
    a.template fwd<c>(y[6], y[7], a.tw1(15));
    store8(dst + j, len, x);
    store8(dst + j + 8 * len, len, y);
  }
}

template <class A>
RF_INLINE V canonical(const A& a, V x) {
  if constexpr (A::kLimit > 4) x = csub(x, a.q2);
  return csub(x, a.q);
}

/// inv_pass16 at the root, with canonical results.
template <class A>
__attribute__((noinline)) void last_pass16(const A& shared, u64* p, size_t len) {
  const A a = shared;
  constexpr unsigned r = A::kLimit / 2;
  for (size_t j = 0; j < len; j += 8) {
    V x[8], y[8];
    load8(x, p + j, len);
    load8(y, p + j + 8 * len, len);
    inv_sum_of<A, r>(a, x[0], x[1]);
    a.template inv<r>(x[2], x[3], a.tw1(9));
    a.template inv<r>(x[4], x[5], a.tw1(10));
    a.template inv<r>(x[6], x[7], a.tw1(11));
    a.template inv<r>(y[0], y[1], a.tw1(12));
    a.template inv<r>(y[2], y[3], a.tw1(13));
    a.template inv<r>(y[4], y[5], a.tw1(14));
    a.template inv<r>(y[6], y[7], a.tw1(15));
    inv_root(a, x, y);
    for (V& v : x) v = canonical(a, v);
    for (V& v : y) v = canonical(a, v);
    store8(p + j, len, x);
    store8(p + j + 8 * len, len, y);
  }
}

// ---- the midst ------------------------------------------------------------------------------------

/// The inner dimensions, 4 and 2, and the product with the fixed array.
template <class A>
struct Middle {
  using Tw = typename A::Tw;
  Tw two[2], four[2], re, im, minus_im;
  const u64 *row52, *pairs52;

  explicit RF_MEMBER Middle(const TensorFactors& f)
      : two{constant(f.two[0]), constant(f.two[1])},
        four{constant(f.four[0]), constant(f.four[1])},
        re(constant(f.re)),
        im(constant(f.im)),
        minus_im(constant(f.minus_im)),
        row52(f.row52),
        pairs52(f.pairs52) {}
  static RF_MEMBER Tw constant(const Factor& f) { return {set1(f.w), set1(f.w52)}; }

  /// x*s + y*t modulo 2^52, in [0, 4q) (4q < 2^52).
  static RF_MEMBER V open_dot(const A& a, V x, const Tw& s, V y, const Tw& t) {
    const V quot = hi52(hi52(zero(), x, s.s), y, t.s);
    return lo52(lo52(lo52(zero(), x, s.w), y, t.w), quot, a.neg_q);
  }
  static RF_MEMBER V dot(const A& a, V x, const Tw& s, V y, const Tw& t) {
    return vand(open_dot(a, x, s, y, t), a.mask);
  }
  static RF_MEMBER V difference(const A& a, V x, V y) { return vsub(vadd(x, a.q2), y); }
  /// x*s + y*t and x*t + y*s, in [0, 4q).
  static RF_MEMBER void swap_dot(const A& a, V& x, V& y, const Tw& s, const Tw& t) {
    const V r = dot(a, x, s, y, t);
    y = dot(a, x, t, y, s);
    x = r;
  }

  /// Rows 2r and 2r + 1, words below 2^52 to words modulo 2^52.
  RF_MEMBER void pair(const A& a, V& x, V& y, size_t r) const {
    const u64* k = pairs52 + 6 * r;
    const Tw sum{set1(k[0]), set1(k[1])}, over{set1(k[2]), set1(k[3])}, back{set1(k[4]), set1(k[5])};
    const V z = open_dot(a, x, sum, y, over);
    y = open_dot(a, x, back, y, sum);
    x = z;
  }
  /// Convolution of length 4, up to a factor: words below 4q to words below 2q.
  RF_MEMBER void four_of(const A& a, V& x0, V& x1, V& x2, V& x3) const {
    x0 = csub(x0, a.q2), x1 = csub(x1, a.q2), x2 = csub(x2, a.q2), x3 = csub(x3, a.q2);
    const V even = vadd(x0, x2), odd = vadd(x1, x3), e = difference(a, x0, x2), o = difference(a, x1, x3);
    const V s = csub(dot(a, even, four[0], odd, four[1]), a.q2), d = csub(dot(a, even, four[1], odd, four[0]), a.q2);
    const V u = csub(dot(a, e, re, o, minus_im), a.q2), v = csub(dot(a, e, im, o, re), a.q2);
    x0 = csub(vadd(s, u), a.q2);
    x2 = csub(difference(a, s, u), a.q2);
    x1 = csub(vadd(d, v), a.q2);
    x3 = csub(difference(a, d, v), a.q2);
  }
  /// Eight rows, words below 2^52 to words below 2q.
  RF_MEMBER void inner(const A& a, V x[8]) const {
    swap_dot(a, x[0], x[1], two[0], two[1]);
    swap_dot(a, x[2], x[3], two[0], two[1]);
    swap_dot(a, x[4], x[5], two[0], two[1]);
    swap_dot(a, x[6], x[7], two[0], two[1]);
    four_of(a, x[0], x[2], x[4], x[6]);
    four_of(a, x[1], x[3], x[5], x[7]);
  }
  /// The same with the factors of the rows from `row`.
  RF_MEMBER void eight(const A& a, V x[8], size_t row) const {
    const Tw k = a.from_quotient(load(row52 + row));
    transpose8(x);
    x[0] = a.mul_add(zero(), x[0], k);
    x[1] = a.mul_add(zero(), x[1], k);
    x[2] = a.mul_add(zero(), x[2], k);
    x[3] = a.mul_add(zero(), x[3], k);
    x[4] = a.mul_add(zero(), x[4], k);
    x[5] = a.mul_add(zero(), x[5], k);
    x[6] = a.mul_add(zero(), x[6], k);
    x[7] = a.mul_add(zero(), x[7], k);
    inner(a, x);
    transpose8(x);
  }
};

/// Dimension 16 and the inner ones, of `rows` rows from number `row`; those of a ring without dimension 16 are eight or
/// more.
template <class A, bool Lines>
__attribute__((noinline)) void middle(const A& forward, const A& back, const TensorFactors& f, u64* p, size_t row,
                                      size_t rows) {
  const A a = forward;
  A b = a;
  b.tw = back.tw, b.tw_s = back.tw_s;
  const Middle<A> m(f);
  for (const size_t end = row + rows; row < end; row += 16, p += 16 * kRow) {
    V x[8], y[8];
    load8(x, p, kRow);
    load8(y, p + 8 * kRow, kRow);
    if constexpr (Lines) {
      fwd_root<A, A::kLimit>(a, x, y);
      m.pair(a, x[0], x[1], row / 2);
      m.pair(a, x[2], x[3], row / 2 + 1);
      m.pair(a, x[4], x[5], row / 2 + 2);
      m.pair(a, x[6], x[7], row / 2 + 3);
      m.pair(a, y[0], y[1], row / 2 + 4);
      m.pair(a, y[2], y[3], row / 2 + 5);
      m.pair(a, y[4], y[5], row / 2 + 6);
      m.pair(a, y[6], y[7], row / 2 + 7);
      transpose8(x);
      m.inner(a, x);
      transpose8(x);
      transpose8(y);
      m.inner(a, y);
      transpose8(y);
      inv_root(b, x, y);
    } else {
      m.eight(a, x, row);
      m.eight(a, y, row + 8);
    }
    store8(p, kRow, x);
    store8(p + 8 * kRow, kRow, y);
  }
}

template <class A, class In>
void convolve_lines(u64* dst, const u64* src, const In& in, const TensorTable& t, const TensorFactors& f) {
  const A a(t.line, t.line.w, t.line.w52), b(t.line, t.line.iw, t.line.iw52);
  const size_t rows = t.n / kRow / 16;  // of one part of sixteen
  first_pass16(a, in, dst, src, t.n / 16);
  for (size_t part = 0; part < 16; ++part) {
    u64* p = dst + part * rows * kRow;
    fwd_pass16(a, Plain{}, p, p, rows * kRow / 16, 16 + part);
    if (rows == 16)
      middle<A, false>(a, b, f, p, part * rows, rows);
    else
      middle<A, true>(a, b, f, p, part * rows, rows);
    inv_pass16<A, false>(b, p, rows * kRow / 16, 16 + part);
  }
  last_pass16(b, dst, t.n / 16);
}

/// Whether the vectors above take the ring; they have dimension 256 and rows of eight words.
bool takes(const TensorTable& t) { return t.line.w52 != nullptr && t.inner == kRow && t.length[0] == 256; }

void convolve(u64* dst, const u64* src, const TensorTable& t, const TensorFactors& f) noexcept {
  if (!takes(t)) return ref_tensor<u64>().convolve(dst, src, t, f);
  t.line.mod.bits < kFastBits ? convolve_lines<Word52<8>>(dst, src, Plain{}, t, f)
                              : convolve_lines<Word52<4>>(dst, src, Plain{}, t, f);
}

void convolve_lift(u64* dst, const u64* src, u64 p, const TensorTable& t, const TensorFactors& f) noexcept {
  // p may be so large that a centred residue exceeds q.
  if (!takes(t) || p / 2 >= t.line.mod.q) return ref_tensor<u64>().convolve_lift(dst, src, p, t, f);
  const Lift in(p, t.line.mod.q);
  t.line.mod.bits < kFastBits ? convolve_lines<Word52<8>>(dst, src, in, t, f)
                              : convolve_lines<Word52<4>>(dst, src, in, t, f);
}

}  // namespace
}  // namespace avx512

const TensorKernels<u64>& avx512_tensor() noexcept {
  static constexpr TensorKernels<u64> table{"avx512", avx512::convolve, avx512::convolve_lift};
  return table;
}

}  // namespace ringforge::kernels
