// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Arithmetic and transforms on residues in words of 32 or 64 bits, every value canonical. Internal.
#pragma once

#include <algorithm>

#include "ref/arith.hpp"

namespace ringforge::arith {

using u32 = std::uint32_t;
using i64 = std::int64_t;

/// (-q, q) to [0, q) without a branch, which the compiler makes of a comparison here.
template <class W>
W wrapped(i64 x, const Modulus& m) {
  return static_cast<W>(x + (static_cast<i64>(m.q) & (x >> 63)));
}
template <class W>
W sum(W a, W b, const Modulus& m) {
  return wrapped<W>(static_cast<i64>(a) + static_cast<i64>(b) - static_cast<i64>(m.q), m);
}
template <class W>
W difference(W a, W b, const Modulus& m) {
  return wrapped<W>(static_cast<i64>(a) - static_cast<i64>(b), m);
}
template <class W>
W negative(W a, const Modulus& m) {
  return wrapped<W>(-static_cast<i64>(a), m);
}
template <class W>
W product(W a, W b, const Modulus& m) {
  if constexpr (sizeof(W) == 4)
    return static_cast<W>(reduce64(u64{a} * b, m));
  else
    return mul(a, b, m);
}

/// Cooley-Tukey, natural order to Eval order. `Table` has n, mod and twiddles w as NttTable has.
template <class W, class Table>
void transform_forward(W* dst, const W* src, const Table& t) {
  if (dst != src) std::copy_n(src, t.n, dst);
  for (std::size_t m = 1, len = t.n / 2; m < t.n; m *= 2, len /= 2) {
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 2 * i * len; j < (2 * i + 1) * len; ++j) {
        const W u = dst[j], v = product(dst[j + len], t.w[m + i], t.mod);
        dst[j] = sum(u, v, t.mod);
        dst[j + len] = difference(u, v, t.mod);
      }
    }
  }
}

/// Gentleman-Sande, the way back, 1/n included. `Table` has iw and n_inv besides.
template <class W, class Table>
void transform_inverse(W* dst, const W* src, const Table& t) {
  if (dst != src) std::copy_n(src, t.n, dst);
  for (std::size_t m = t.n / 2, len = 1; m >= 1; m /= 2, len *= 2) {
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 2 * i * len; j < (2 * i + 1) * len; ++j) {
        const W u = dst[j], v = dst[j + len];
        dst[j] = sum(u, v, t.mod);
        dst[j + len] = product(difference(u, v, t.mod), t.iw[m + i], t.mod);
      }
    }
  }
  for (std::size_t i = 0; i < t.n; ++i) dst[i] = product(dst[i], t.n_inv, t.mod);
}

/// X -> X^g modulo X^n + 1, n a power of two.
template <class W>
void automorphism(W* dst, const W* src, u64 g, std::size_t n, const Modulus& m) {
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t e = (i * g) & (2 * n - 1);
    dst[e & (n - 1)] = e < n ? src[i] : negative(src[i], m);
  }
}

}  // namespace ringforge::arith
