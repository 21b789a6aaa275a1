// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#pragma once

#include "internal.hpp"

namespace ringforge::kernels::avx512 {
namespace {

/// Rows and columns of eight vectors exchanged.
RF_INLINE void transpose8(V x[8]) {
  V a[8], b[8];
  for (int i = 0; i < 8; i += 2) {
    a[i] = _mm512_unpacklo_epi64(x[i], x[i + 1]);
    a[i + 1] = _mm512_unpackhi_epi64(x[i], x[i + 1]);
  }
  // a[i + s] holds columns s, s + 2, s + 4, s + 6 of rows i and i + 1, in quarters of a vector.
  for (int i = 0; i < 8; i += 4)
    for (int s = 0; s < 2; ++s) {
      b[i + s] = _mm512_shuffle_i64x2(a[i + s], a[i + s + 2], 0x88);
      b[i + s + 2] = _mm512_shuffle_i64x2(a[i + s], a[i + s + 2], 0xdd);
    }
  // b[i + s]: columns s and s + 4 of rows i to i + 3, b[i + s + 2]: columns s + 2 and s + 6.
  for (int s = 0; s < 4; ++s) {
    x[s] = _mm512_shuffle_i64x2(b[s], b[s + 4], 0x88);
    x[s + 4] = _mm512_shuffle_i64x2(b[s], b[s + 4], 0xdd);
  }
}

}  // namespace
}  // namespace ringforge::kernels::avx512
