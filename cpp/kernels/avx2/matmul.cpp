// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The modular matrix product. The unreduced sums of a tile of the result stay in registers while all terms
// pass by: 4 x 4 residues for q < 2^50, 1 x 4 for larger moduli.
#include "sums.hpp"

namespace ringforge::kernels::avx2 {
namespace {

struct Operands {
  const u64* a;
  const u64* b;
  size_t stride, rows, cols;
};

/// Terms [first, last) of a tile of 4 x 4, q < 2^50.
RF_INLINE void tile(u64* out, const Operands& o, size_t row, size_t col, size_t first, size_t last, const Sum& k) {
  Narrow s0{}, s1{}, s2{}, s3{};
  const size_t n = o.stride;
  if (first != 0) {
    s0.s0 = load(out);
    s1.s0 = load(out + n);
    s2.s0 = load(out + 2 * n);
    s3.s0 = load(out + 3 * n);
  }
  const u64 *a = o.a + first * o.rows + row, *b = o.b + first * o.cols + col;
  for (size_t t = first; t < last; ++t, a += o.rows, b += o.cols) {
    const V y = load(b), x0 = set1(a[0]), x1 = set1(a[1]), x2 = set1(a[2]), x3 = set1(a[3]);
    s0.add(Narrow::low(x0), Narrow::top(x0), y);
    s1.add(Narrow::low(x1), Narrow::top(x1), y);
    s2.add(Narrow::low(x2), Narrow::top(x2), y);
    s3.add(Narrow::low(x3), Narrow::top(x3), y);
  }
  store(out, k.reduce(s0.s0, s0.s1, s0.s2));
  store(out + n, k.reduce(s1.s0, s1.s1, s1.s2));
  store(out + 2 * n, k.reduce(s2.s0, s2.s1, s2.s2));
  store(out + 3 * n, k.reduce(s3.s0, s3.s1, s3.s2));
}

/// Terms [first, last) of a tile of 1 x 4, q < 2^61.
RF_INLINE void tile_wide(u64* out, const Operands& o, size_t row, size_t col, size_t first, size_t last, const Sum& k) {
  Digits sum{};
  if (first != 0) sum.d0 = load(out);
  const u64 *a = o.a + first * o.rows + row, *b = o.b + first * o.cols + col;
  for (size_t t = first; t < last;) {
    const size_t end = last - t < 4 ? last : t + 4;
    Wide s{};
    for (; t < end; ++t, a += o.rows, b += o.cols) {
      const V x = set1(a[0]);
      s.add(Wide::low(x), Wide::top(x), load(b));
    }
    sum.add(s);
  }
  store(out, k.reduce(sum.d0, sum.d1, sum.d2, sum.d3));
}

}  // namespace

void matmul(u64* out, size_t stride, const u64* a, const u64* b, size_t rows, size_t cols, size_t count,
            const Modulus& m) noexcept {
  const Operands o{a, b, stride, rows, cols};
  const bool narrow = m.bits <= kFastBits;
  const Sum k(m, narrow ? arith::reduce64(u64{1} << 26, m) : u64{1} << 31);
  size_t first = 0;
  do {
    const size_t last = count - first < Narrow::kMaxTerms ? count : first + Narrow::kMaxTerms;
    for (size_t col = 0; col < cols; col += 4) {
      for (size_t row = 0; row < rows; row += 4) {
        u64* at = out + row * stride + col;
        if (narrow)
          tile(at, o, row, col, first, last, k);
        else
          for (size_t r = 0; r < 4; ++r) tile_wide(at + r * stride, o, row + r, col, first, last, k);
      }
    }
    first = last;
  } while (first != count);
}

}  // namespace ringforge::kernels::avx2
