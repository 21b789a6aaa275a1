// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The kernels of small rings in plain scalar code: the oracle of the vector sets.
#include "ref/words.hpp"
#include "sets.hpp"

namespace ringforge::kernels {
namespace {

using arith::difference;
using arith::product;
using arith::sum;

template <class W>
void add(W* dst, const W* a, const W* b, const SmallNtt<W>& t) noexcept {
  for (std::size_t i = 0; i < t.n; ++i) dst[i] = sum(a[i], b[i], t.mod);
}
template <class W>
void sub(W* dst, const W* a, const W* b, const SmallNtt<W>& t) noexcept {
  for (std::size_t i = 0; i < t.n; ++i) dst[i] = difference(a[i], b[i], t.mod);
}
template <class W>
void mul(W* dst, const W* a, const W* b, const SmallNtt<W>& t) noexcept {
  for (std::size_t i = 0; i < t.n; ++i) dst[i] = product(a[i], b[i], t.mod);
}
template <class W>
void mul_scalar(W* dst, const W* a, W c, const SmallNtt<W>& t) noexcept {
  for (std::size_t i = 0; i < t.n; ++i) dst[i] = product(a[i], c, t.mod);
}

template <class W>
void forward(W* dst, const W* src, const SmallNtt<W>& t) noexcept {
  arith::transform_forward(dst, src, t);
}
template <class W>
void inverse(W* dst, const W* src, const SmallNtt<W>& t) noexcept {
  arith::transform_inverse(dst, src, t);
}

// Balanced digits one after the other: with v = sum_k d_k B^k over the digits from j on, d_j is v modulo B in
// [-B/2, B/2), and (v - d_j) / B = floor((v + B/2) / B) is what the next digits make up; the last takes all.
template <class W>
void cut(W* dst, const W* src, const Cut& c, const SmallNtt<W>& t) noexcept {
  const i64 q = static_cast<i64>(t.q), mask = (i64{1} << c.log_base) - 1, half = c.balanced ? (mask + 1) / 2 : 0;
  for (std::size_t i = 0; i < t.n; ++i) {
    i64 v = static_cast<i64>(src[i]);
    if (c.balanced) {
      v -= q & -static_cast<i64>(v > q / 2);
      if (c.drop > 0) v = (v + (i64{1} << (c.drop - 1))) >> c.drop;
    }
    for (unsigned j = 0; j < c.count; ++j) {
      const bool last = c.balanced && j + 1 == c.count;
      const i64 d = last ? v : ((v + half) & mask) - half;
      v = (v + half) >> c.log_base;
      dst[j * t.n + i] = static_cast<W>(d + (q & (d >> 63)));
    }
  }
}

template <class W>
void dot(W* out_a, W* out_b, const W* x, const W* y, std::size_t count, bool accumulate,
         const SmallNtt<W>& t) noexcept {
  for (std::size_t i = 0; i < t.n; ++i) {
    W a = accumulate ? out_a[i] : 0, b = accumulate ? out_b[i] : 0;
    for (std::size_t r = 0; r < count; ++r) {
      a = sum(a, product(x[r * t.n + i], y[2 * r * t.n + i], t.mod), t.mod);
      b = sum(b, product(x[r * t.n + i], y[(2 * r + 1) * t.n + i], t.mod), t.mod);
    }
    out_a[i] = a;
    out_b[i] = b;
  }
}

template <class W>
void gadget_product(W* out_a, W* out_b, const CutPoly<W>* polys, std::size_t count, const W* key, W* scratch,
                    const SmallNtt<W>& t) noexcept {
  std::size_t rows = 0;
  for (std::size_t p = 0; p < count; ++p) {
    cut(scratch + rows * t.n, polys[p].poly, polys[p].cut, t);
    rows += polys[p].cut.count;
  }
  for (std::size_t r = 0; r < rows; ++r) forward(scratch + r * t.n, scratch + r * t.n, t);
  dot(out_a, out_b, scratch, key, rows, false, t);
}

template <class W>
void rotate(W* dst, const W* src, std::size_t r, const SmallNtt<W>& t) noexcept {
  for (std::size_t i = 0; i < t.n; ++i) {
    const std::size_t e = (i + r) & (2 * t.n - 1);
    dst[e & (t.n - 1)] = e < t.n ? src[i] : arith::negative(src[i], t.mod);
  }
}
template <class W>
void rotate_sub(W* dst, const W* src, std::size_t r, const SmallNtt<W>& t) noexcept {
  rotate(dst, src, r, t);
  sub(dst, dst, src, t);
}
template <class W>
void automorphism(W* dst, const W* src, std::size_t g, const SmallNtt<W>& t) noexcept {
  arith::automorphism(dst, src, g, t.n, t.mod);
}

template <class W>
constexpr SmallKernels<W> kTable{"ref",  forward<W>,    inverse<W>,   cut<W>,          gadget_product<W>,
                                 dot<W>, rotate_sub<W>, rotate<W>,    automorphism<W>, add<W>,
                                 sub<W>, mul<W>,        mul_scalar<W>};

}  // namespace

template <class W>
const SmallKernels<W>& ref_small() noexcept {
  return kTable<W>;
}
template const SmallKernels<u32>& ref_small<u32>() noexcept;
template const SmallKernels<u64>& ref_small<u64>() noexcept;

}  // namespace ringforge::kernels
