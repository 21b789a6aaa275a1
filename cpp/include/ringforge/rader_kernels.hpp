// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The kernel contract of the tensor ring of index 65537: cyclic convolution of one long dimension with a fixed array.
// Implemented by the same kernel sets as kernels.hpp, which agree bit for bit.
//
// Words stand in rows of eight: entry u of n is word 8*(u mod n/8) + u/(n/8). A shift of the dimension thus takes rows
// to rows. The transform takes three levels within a row; from there on, the eight lanes are transforms of length n/8
// of their own, side by side. The last level of the lanes, the product with the array's transform and the last level
// back are one: with w the twiddle factor and k, l the array's entries, words x, y become (k + l)x + w(k - l)y and
// (k - l)/w x + (k + l)y.
#pragma once

#include <cstddef>

#include "ringforge/kernels.hpp"

namespace ringforge::kernels {

/// Constants of one ring and prime. A constant c is given by its quotient floor(c * 2^b / q), b = 52 for q < 2^50 and
/// 64 for others, from which c is floor(quotient * q / 2^b) + 1. For c = 0 the quotient is 2^b - 1, which gives q.
struct RaderTable {
  std::size_t n = 0;  ///< words, a power of two from 4096 on
  Modulus mod;
  Factor lane[4], inverse_lane[4];  ///< of the levels within a row: entry i of block i of every level, and its inverse
  /// Twiddle factors of the lanes: word 8*h + j is that of lane j at node h of the tree, in which the halves of node h
  /// are 2h and 2h + 1 and node 1 is the lane. Quotients of n/16 rows, row 0 unused; constants of the first n/128.
  const u64 *forward_quotient = nullptr, *inverse_quotient = nullptr;
  const u64 *forward_twiddle = nullptr, *inverse_twiddle = nullptr;
  /// Quotients for the fixed array, and for the one that undoes it: with 1/n in k and l, three rows for each two of
  /// words: k + l, w(k - l), (k - l)/w.
  const u64 *array = nullptr, *inverse_array = nullptr;
};

/// src in [0, 4q); dst in [0, q), may be src.
struct RaderKernels {
  const char* name;
  /// dst = src convolved with the fixed array, or with the one that undoes it.
  void (*convolve)(u64* dst, const u64* src, const RaderTable& t, bool undo) noexcept;
  /// The first of these, of the centred lift of residues modulo another prime p: src in [0, p).
  void (*convolve_lift)(u64* dst, const u64* src, u64 p, const RaderTable& t) noexcept;
};

/// All levels of the transform but the last, on canonical words in place: what tables are made with.
void rader_transform(u64* x, const RaderTable& t) noexcept;

/// The kernels of the set in use (`active()`), or of a set by name (nullptr as `find`).
const RaderKernels& rader_active();
const RaderKernels* rader_find(const char* name) noexcept;

}  // namespace ringforge::kernels
