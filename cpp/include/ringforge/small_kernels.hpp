// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The kernel contract of small rings: one prime, N <= 4096, words of 32 bits (q < 2^31) or 64 bits
// (q < 2^61), for third-generation schemes. Implemented by the same kernel sets as kernels.hpp, which agree
// bit for bit.
//
// Common rules, unless an operation says otherwise:
//   * a polynomial is n words, n = 2^log_n, 256 <= n <= 4096, base address aligned to 64 bytes;
//   * inputs and outputs are canonical, in [0, q); Eval order as in kernels.hpp;
//   * `dst` may be the same array as any input; partial overlap is not allowed;
//   * nothing allocates, throws, or depends on the values in its running time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "ringforge/kernels.hpp"

namespace ringforge::kernels {

/// How a residue x modulo q is cut into `count` digits of base B = 2^log_base: sum_j d_j * B^j * 2^drop is x
/// modulo q up to rounding.
///   balanced: x is centred first; digits are in [-B/2, B/2], rounded to nearest when drop > 0, so the rest is
///             at most 2^(drop-1). With c = centred x + 2^(drop-1) [if drop > 0] + sum_j (B/2) B^j 2^drop:
///             d_j = (floor(c / (2^drop B^j)) mod B) - B/2, and for the last digit without the mod.
///             Needs B^count * 2^drop >= q.
///   else:     drop = 0, d_j = floor(x / B^j) mod B in [0, B): the plain digits of published hardware.
///             Needs B^count >= q.
struct Cut {
  unsigned log_base = 1;
  unsigned count = 1;
  unsigned drop = 0;
  bool balanced = true;
  friend bool operator==(const Cut&, const Cut&) = default;
};

/// Transform tables of one (q, n) for words W. Arrays have n entries; entry m+i of `w` is psi^brv(m+i) (brv on
/// log2(n) bits), of `iw` its inverse, index 0 unused; `ws`, `iws` are the companions a kernel multiplies with:
/// floor(w * 2^bits(W) / q). `table` holds the same numbers in 64-bit words, as kernels.hpp takes them: transforms by
/// 52-bit multiply-add read it, for 32-bit words too.
template <class W>
struct SmallNtt {
  std::size_t n = 0;
  unsigned log_n = 0;
  W q = 0;
  Modulus mod;
  const W* w = nullptr;
  const W* ws = nullptr;
  const W* iw = nullptr;
  const W* iws = nullptr;
  W n_inv = 0, n_inv_s = 0;     ///< 1/n and its companion
  W n_inv_w = 0, n_inv_ws = 0;  ///< iw[1]/n and its companion
  NttTable table;               ///< the same tables as kernels.hpp takes them
  /// Of q between 2^50 and 2^54 in 64-bit words, else null: `w` and `iw` centred, in (-q/2, q/2), as two's complement,
  /// and their quotients by q.
  const W *cw = nullptr, *icw = nullptr;
  const double *cf = nullptr, *icf = nullptr;
};

/// One polynomial in coefficient form and its cut.
template <class W>
struct CutPoly {
  const W* poly = nullptr;
  Cut cut;
};

/// Operations on words W. Every pointer is set.
template <class W>
struct SmallKernels {
  const char* name;

  /// Negacyclic transforms, natural order to Eval order and back (1/n included).
  void (*forward)(W* dst, const W* src, const SmallNtt<W>& t) noexcept;
  void (*inverse)(W* dst, const W* src, const SmallNtt<W>& t) noexcept;

  /// The digits of one polynomial as residues: dst[j*n ...] = d_j mod q, coefficient form. dst must not alias src.
  void (*cut)(W* dst, const W* src, const Cut& cut, const SmallNtt<W>& t) noexcept;

  /// The fused product of third-generation schemes: every polynomial is cut, each digit transformed, multiplied
  /// with its row of the key and summed:
  ///   out_a = sum_r digit_r * key[r].a, out_b = sum_r digit_r * key[r].b, in Eval form.
  /// Rows r run over the polynomials in order, and within one over its digits, lowest first; row r is the 2n words
  /// key + 2n*r: a, then b, in Eval form. `scratch`: n words for each row. At most 64 rows; polynomials may be
  /// out_a, out_b; nothing else may overlap.
  void (*gadget_product)(W* out_a, W* out_b, const CutPoly<W>* polys, std::size_t count, const W* key, W* scratch,
                         const SmallNtt<W>& t) noexcept;

  /// out_a = [out_a +] sum_r x[r] * y[r].a, out_b likewise; x: count polynomials of n words, y: count rows of 2n words
  /// (a, then b), all in Eval form, consecutive. The terms in brackets are present when `accumulate`. Any count >= 0.
  void (*dot)(W* out_a, W* out_b, const W* x, const W* y, std::size_t count, bool accumulate,
              const SmallNtt<W>& t) noexcept;

  /// dst = (X^r - 1) * src in coefficient form, r in [0, 2n). dst must not alias src.
  void (*rotate_sub)(W* dst, const W* src, std::size_t r, const SmallNtt<W>& t) noexcept;
  /// dst = X^r * src in coefficient form, r in [0, 2n). dst must not alias src.
  void (*rotate)(W* dst, const W* src, std::size_t r, const SmallNtt<W>& t) noexcept;
  /// Coefficient form: dst(X) = src(X^g), g odd in [1, 2n). dst must not alias src.
  void (*automorphism)(W* dst, const W* src, std::size_t g, const SmallNtt<W>& t) noexcept;

  void (*add)(W* dst, const W* a, const W* b, const SmallNtt<W>& t) noexcept;
  void (*sub)(W* dst, const W* a, const W* b, const SmallNtt<W>& t) noexcept;
  /// dst = a * b, Eval form.
  void (*mul)(W* dst, const W* a, const W* b, const SmallNtt<W>& t) noexcept;
  /// dst = a * c for a constant c in [0, q).
  void (*mul_scalar)(W* dst, const W* a, W c, const SmallNtt<W>& t) noexcept;
};

/// The small kernels of the set in use (`active()`), or of a set by name (nullptr as `find`).
template <class W>
const SmallKernels<W>& small_active();
template <class W>
const SmallKernels<W>* small_find(const char* name) noexcept;

}  // namespace ringforge::kernels
