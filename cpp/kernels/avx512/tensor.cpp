// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Convolutions of tensor rings for q < 2^50 whose rows are whole vectors (15 divides the index). Other rings and primes
// take `ref`.
//
// The outer dimensions are transforms with vectors along the rows: no lane is permuted. Dimension 256 is two passes of
// sixteen rows each, dimension 16 one. After the first pass over the whole array, blocks of a sixteenth stay in the
// first-level cache until the last. In their midst, eight rows are transposed: eight places as eight vectors, whose
// lanes belong to different rows. There the fixed array is multiplied in.
#include "sets.hpp"
#include "transpose.hpp"
#include "word52.hpp"

namespace ringforge::kernels {
namespace avx512 {
namespace {

constexpr size_t kRow = 8;

/// The inner dimensions, 4 and 2, and the product with the fixed array.
template <class A>
struct Middle {
  using Tw = typename A::Tw;
  Tw two, four, re, im, minus_im;
  const u64* row52;

  explicit RF_MEMBER Middle(const TensorFactors& f)
      : two(constant(f.two)),
        four(constant(f.four)),
        re(constant(f.re)),
        im(constant(f.im)),
        minus_im(constant(f.minus_im)),
        row52(f.row52) {}
  static RF_MEMBER Tw constant(const Factor& f) { return {set1(f.w), set1(f.w52)}; }

  /// x*s + y*t, in [0, 4q) (4q < 2^52).
  static RF_MEMBER V dot(const A& a, V x, const Tw& s, V y, const Tw& t) {
    const V quot = hi52(hi52(zero(), x, s.s), y, t.s);
    return vand(lo52(lo52(lo52(zero(), x, s.w), y, t.w), quot, a.neg_q), a.mask);
  }
  static RF_MEMBER V difference(const A& a, V x, V y) { return vsub(vadd(x, a.q2), y); }
  /// x + y*t and x - y*t, words below 4q whatever A allows.
  static RF_MEMBER void butterfly(const A& a, V& x, V& y, const Tw& t) {
    const V u = csub(x, a.q2);
    x = a.mul_add(u, y, t);
    y = vsub(lo52(a.q2, u, a.two), x);
  }

  /// Convolution of length 4, up to a factor: words below 4q to words below 2q.
  RF_MEMBER void four_of(const A& a, V& x0, V& x1, V& x2, V& x3) const {
    x0 = csub(x0, a.q2), x1 = csub(x1, a.q2), x2 = csub(x2, a.q2), x3 = csub(x3, a.q2);
    V even = vadd(x0, x2), odd = vadd(x1, x3);
    const V e = difference(a, x0, x2), o = difference(a, x1, x3);
    const V u = dot(a, e, re, o, minus_im), v = dot(a, e, im, o, re);
    even = csub(even, a.q2), odd = csub(odd, a.q2);
    V sum = vadd(even, odd), diff = difference(a, even, odd);
    butterfly(a, sum, diff, four);
    sum = csub(sum, a.q2), diff = csub(diff, a.q2);
    const V r = csub(u, a.q2), s = csub(v, a.q2);
    x0 = csub(vadd(sum, r), a.q2);
    x2 = csub(difference(a, sum, r), a.q2);
    x1 = csub(vadd(diff, s), a.q2);
    x3 = csub(difference(a, diff, s), a.q2);
  }
  /// Convolution of length 2, up to a factor: words below 2q to words below 4q.
  RF_MEMBER void two_of(const A& a, V& x0, V& x1) const {
    const V sum = vadd(x0, x1);
    x1 = difference(a, x0, x1);
    x0 = sum;
    butterfly(a, x0, x1, two);
  }
  /// Eight rows from `row`: words below 2^52 to words below 2q.
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
    two_of(a, x[0], x[1]);
    two_of(a, x[2], x[3]);
    two_of(a, x[4], x[5]);
    two_of(a, x[6], x[7]);
    four_of(a, x[0], x[2], x[4], x[6]);
    four_of(a, x[1], x[3], x[5], x[7]);
    transpose8(x);
  }
};

template <class A>
RF_INLINE V canonical(const A& a, V x) {
  if constexpr (A::kLimit > 4) x = csub(x, a.q2);
  return csub(x, a.q);
}

/// inv_pass16 at the root, with canonical results.
template <class A>
__attribute__((noinline)) void last_pass16(const A& shared, u64* p, size_t len) {
  const A a = shared;
  for (size_t j = 0; j < len; j += 8) {
    V x[8], y[8];
    load8(x, p + j, len);
    load8(y, p + j + 8 * len, len);
    inv8x2<A, false>(a, x, y, 2, 3);
    inv_top<A, false>(a, x, y, 1);
    for (V& v : x) v = canonical(a, v);
    for (V& v : y) v = canonical(a, v);
    store8(p + j, len, x);
    store8(p + j + 8 * len, len, y);
  }
}

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
      constexpr bool c = must_reduce<A>(A::kLimit);
      for (int i = 0; i < 8; ++i) a.template fwd<c>(x[i], y[i], a.tw1(1));
      fwd8x2<A, after_fwd<A>(A::kLimit)>(a, x, y, 2, 3);
    }
    m.eight(a, x, row);
    m.eight(a, y, row + 8);
    if constexpr (Lines) {
      inv8x2<A, false>(b, x, y, 2, 3);
      inv_top<A, false>(b, x, y, 1);
    }
    store8(p, kRow, x);
    store8(p + 8 * kRow, kRow, y);
  }
}

template <class A, class In>
void convolve_lines(u64* dst, const u64* src, const In& in, const TensorTable& t, const TensorFactors& f) {
  const A a(t.line, t.line.w, t.line.w52), b(t.line, t.line.iw, t.line.iw52);
  const size_t rows = t.n / kRow / 16;  // of one part of sixteen
  fwd_pass16(a, in, dst, src, t.n / 16, 1);
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
