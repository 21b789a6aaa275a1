// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ref/fibre.hpp"

#include "internal.hpp"

namespace ringforge::kernels::avx512 {
namespace {

struct Lanes8 {
  using V = __m512i;
  static constexpr std::size_t kLanes = 8;
  RF_FIBRE V load(const u32* p) {
    return _mm512_cvtepu32_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  RF_FIBRE void store(u32* p, V v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi64_epi32(v)); }
  RF_FIBRE V set(u64 x) { return set1(x); }
  RF_FIBRE V add(V a, V b) { return _mm512_add_epi64(a, b); }
  RF_FIBRE V sub(V a, V b) { return _mm512_sub_epi64(a, b); }
  RF_FIBRE V mul32(V a, V b) { return _mm512_mul_epu32(a, b); }
  RF_FIBRE V shift(V a, unsigned by) { return _mm512_srli_epi64(a, by); }
  RF_FIBRE V min32(V a, V b) { return _mm512_min_epu32(a, b); }
};

}  // namespace

void fibre4(u32* const* dst, const u32* const* a, const u32* const* b, const u32* const* z, u32 root, std::size_t n,
            const Modulus& m) noexcept {
  fibre4_columns<Lanes8>(dst, a, b, z, root, n, m);
}

}  // namespace ringforge::kernels::avx512
