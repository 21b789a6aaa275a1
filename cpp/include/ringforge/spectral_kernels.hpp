// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The kernel contract of exact gadget products by complex transforms in double precision: words of 32 bits,
// q < 2^31, n <= 4096. Implemented by the same kernel sets as kernels.hpp, whose results agree bit for bit.
//
// A real polynomial of degree below n modulo X^n + 1 is z_j = x_j + i*x_{j+n/2}, n/2 complex numbers modulo
// X^{n/2} - i, whose transform takes log2(n/2) levels. Sums of products of small digits with rows of a key come out
// with an error below 1/2 where `spectral_error` (spectral_tables.hpp) says so, and are then rounded to what they are:
// the words are those of a number-theoretic transform. Rules as in small_kernels.hpp.
#pragma once

#include "ringforge/small_kernels.hpp"

namespace ringforge::kernels {

/// Twiddle factors of transforms of n/2 points. Node 1 is X^{n/2} - i; node h is X^{2l} - c with c = w_h^2, its
/// children 2h and 2h + 1 are X^l - w_h and X^l + w_h, so that w_{2h+1} = i*w_{2h}. Arrays have n/2 entries, index 0
/// unused, of which a transform reads those of the nodes it has.
struct SpectralTable {
  std::size_t n = 0;
  unsigned log_n = 0;
  const double *re1 = nullptr, *im1 = nullptr;  ///< w_h
  const double *re2 = nullptr, *im2 = nullptr;  ///< w_2h
  const double *re4 = nullptr, *im4 = nullptr;  ///< w_4h
  const double *re6 = nullptr, *im6 = nullptr;  ///< w_{4h+2}
};

/// Doubles of `scratch` that a product takes.
constexpr std::size_t spectral_scratch(std::size_t n, std::size_t rows) noexcept { return n * (rows + rows / 2 + 4); }

/// Every pointer is set.
struct SpectralKernels {
  const char* name;

  /// The spectra of a gadget ciphertext, `rows` rows of 2n words (a, then b) in coefficient form: 2n*rows doubles to
  /// `dst`, in an order of the set's own. `scratch` as for a product.
  void (*prepare)(double* dst, const u32* key, std::size_t rows, double* scratch, const SmallNtt<u32>& t,
                  const SpectralTable& s) noexcept;

  /// out_a = [out_a +] sum_r digit_r * key[r].a, out_b likewise, in coefficient form. Rows as in
  /// SmallKernels::gadget_product, `key` from `prepare` of the same set; the terms in brackets are present when
  /// `accumulate`. `spectral_error` of the cuts must be below 1/2. Polynomials may be out_a, out_b.
  void (*product)(u32* out_a, u32* out_b, const CutPoly<u32>* polys, std::size_t count, const double* key,
                  bool accumulate, double* scratch, const SmallNtt<u32>& t, const SpectralTable& s) noexcept;
};

/// That of the set in use, as `active`.
const SpectralKernels& spectral_active();
/// That of a set by name, or nullptr when it does not exist or this CPU cannot run it.
const SpectralKernels* spectral_find(const char* name) noexcept;

}  // namespace ringforge::kernels
