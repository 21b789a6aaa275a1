// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The modular matrix product. The unreduced sums of a tile of the result stay in registers while all terms
// pass by: 4 x 16 residues for q < 2^50 (16 sums; 16 multiply-adds for 6 loads, so the multipliers are the
// limit), 4 x 8 for larger moduli.
#include "sums.hpp"

namespace ringforge::kernels::avx512 {
namespace {

struct Operands {
  const u64* a;
  const u64* b;
  size_t stride, rows, cols;
};

/// Four rows of one vector each. Written out, not an array: see the note on gcc in ntt_impl.hpp.
template <class S>
struct Column {
  S r0{}, r1{}, r2{}, r3{};
  RF_MEMBER void start(const u64* out, size_t stride) {
    r0.lo = load(out);
    r1.lo = load(out + stride);
    r2.lo = load(out + 2 * stride);
    r3.lo = load(out + 3 * stride);
  }
  RF_MEMBER void add(V x0, V x1, V x2, V x3, V y) {
    r0.add(x0, y);
    r1.add(x1, y);
    r2.add(x2, y);
    r3.add(x3, y);
  }
  template <class K>
  RF_MEMBER void finish(u64* out, size_t stride, const K& k) const {
    store(out, r0.template reduce<true>(k));
    store(out + stride, r1.template reduce<true>(k));
    store(out + 2 * stride, r2.template reduce<true>(k));
    store(out + 3 * stride, r3.template reduce<true>(k));
  }
};

/// Terms [first, last) of a tile of 4 x 16.
template <class S, class K>
RF_INLINE void tile16(u64* out, const Operands& o, size_t row, size_t col, size_t first, size_t last, const K& k) {
  Column<S> left, right;
  if (first != 0) {
    left.start(out, o.stride);
    right.start(out + 8, o.stride);
  }
  const u64 *a = o.a + first * o.rows + row, *b = o.b + first * o.cols + col;
  for (size_t t = first; t < last; ++t, a += o.rows, b += o.cols) {
    const V x0 = set1(a[0]), x1 = set1(a[1]), x2 = set1(a[2]), x3 = set1(a[3]);
    left.add(x0, x1, x2, x3, load(b));
    right.add(x0, x1, x2, x3, load(b + 8));
  }
  left.finish(out, o.stride, k);
  right.finish(out + 8, o.stride, k);
}

/// Terms [first, last) of a tile of 4 x 8.
template <class S, class K>
RF_INLINE void tile8(u64* out, const Operands& o, size_t row, size_t col, size_t first, size_t last, const K& k) {
  Column<S> sums;
  if (first != 0) sums.start(out, o.stride);
  const u64 *a = o.a + first * o.rows + row, *b = o.b + first * o.cols + col;
  for (size_t t = first; t < last; ++t, a += o.rows, b += o.cols)
    sums.add(set1(a[0]), set1(a[1]), set1(a[2]), set1(a[3]), load(b));
  sums.finish(out, o.stride, k);
}

}  // namespace

void matmul(u64* out, size_t stride, const u64* a, const u64* b, size_t rows, size_t cols, size_t count,
            const Modulus& m) noexcept {
  const Operands o{a, b, stride, rows, cols};
  const bool narrow = fast(m);
  const size_t most = narrow ? Narrow::kMaxTerms : Wide::kMaxTerms;
  const Sum52 k52(m);
  const Sum64 k64(m);
  size_t first = 0;
  do {
    const size_t last = count - first < most ? count : first + most;
    for (size_t col = 0; col < cols; col += 16) {
      for (size_t row = 0; row < rows; row += 4) {
        u64* at = out + row * stride + col;
        if (narrow) {
          tile16<Narrow>(at, o, row, col, first, last, k52);
        } else {
          tile8<Wide>(at, o, row, col, first, last, k64);
          tile8<Wide>(at + 8, o, row, col + 8, first, last, k64);
        }
      }
    }
    first = last;
  } while (first != count);
}

}  // namespace ringforge::kernels::avx512
