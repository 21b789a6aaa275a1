// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The kernel contract of tensor rings: cyclic convolutions in several dimensions with a fixed array, by transforms of
// each dimension. Implemented by the same kernel sets as kernels.hpp, which agree bit for bit; words of 32 bits by
// `ref` only.
//
// An array has up to four dimensions, lengths powers of two, the last one contiguous. Outer dimensions are of length
// 256 and 16, inner ones 4 and 2, in this order, each once or not at all.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ringforge/kernels.hpp"

namespace ringforge::kernels {

/// The transform of a fixed array, in the scrambled order of the forward transforms (bit-reversed in each dimension):
/// the product of a factor for each row (word / inner) and one for each place in a row (word % inner).
struct TensorFactors {
  const u64* row = nullptr;  ///< n / inner; 1/n is in these
  const u64* row64 = nullptr;
  const u64* row52 = nullptr;  ///< null when q >= 2^50
  Factor place[8];             ///< `inner` entries, the first is 1
  /// Constants that take the place of the inner dimensions' transforms when inner = 8, place[k] as above: two[0] and
  /// two[1] are 1 + place[1] and 1 - place[1], four[] the same of place[2]; with i the fourth root of unity, re =
  /// place[4] + place[6], im = -i (place[4] - place[6]), minus_im = -im.
  Factor two[2], four[2], re, im, minus_im;
  /// Constants that take the place of the last level of dimension 16 and of the factors of rows 2r and 2r + 1, k and l,
  /// six words for each r: k + l, w (k - l), (k - l) / w, each with its w52; w is the twiddle factor of that level.
  /// Null without dimension 16, without inner = 8, and when q >= 2^50.
  const u64* pairs52 = nullptr;
};

/// The lines of one ring and prime.
struct TensorTable {
  std::size_t n = 0;      ///< words, the product of the lengths
  std::size_t inner = 1;  ///< words of a row, the product of the lengths 4 and 2 where they are: 1, 2, 4 or 8
  unsigned dims = 0;
  std::size_t length[4] = {};      ///< of each dimension, the outermost first
  NttTable line;                   ///< twiddle factors of a cyclic transform as long as the longest dimension
  TensorFactors forward, inverse;  ///< of the array to convolve with, and of the one that undoes it
};

/// Operations on words W. Every pointer is set. src in [0, q), in 64-bit words [0, 4q); dst in [0, q), may be src.
template <class W>
struct TensorKernels {
  const char* name;
  /// dst = src convolved with the array of f.
  void (*convolve)(W* dst, const W* src, const TensorTable& t, const TensorFactors& f) noexcept;
  /// The same of the centred lift of residues modulo another prime p: src in [0, p).
  void (*convolve_lift)(W* dst, const W* src, W p, const TensorTable& t, const TensorFactors& f) noexcept;
};

/// The kernels of tensor rings of the set in use (`active()`), or of a set by name (nullptr as `find`).
template <class W>
const TensorKernels<W>& tensor_active();
template <class W>
const TensorKernels<W>* tensor_find(const char* name) noexcept;

}  // namespace ringforge::kernels
