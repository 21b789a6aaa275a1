// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ref/fibre.hpp"

#include "internal.hpp"

namespace ringforge::kernels::avx2 {
namespace {

struct Lanes4 {
  using V = __m256i;
  static constexpr std::size_t kLanes = 4;
  RF_FIBRE V load(const u32* p) {
    return _mm256_cvtepu32_epi64(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  RF_FIBRE void store(u32* p, V v) {
    const V low = _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_castsi256_si128(low));
  }
  RF_FIBRE V set(u64 x) { return _mm256_set1_epi64x(static_cast<long long>(x)); }
  RF_FIBRE V add(V a, V b) { return _mm256_add_epi64(a, b); }
  RF_FIBRE V sub(V a, V b) { return _mm256_sub_epi64(a, b); }
  RF_FIBRE V mul32(V a, V b) { return _mm256_mul_epu32(a, b); }
  RF_FIBRE V shift(V a, unsigned by) { return _mm256_srli_epi64(a, static_cast<int>(by)); }
  RF_FIBRE V min32(V a, V b) { return _mm256_min_epu32(a, b); }
};

}  // namespace

void fibre4(u32* const* dst, const u32* const* a, const u32* const* b, const u32* const* z, u32 root, std::size_t n,
            const Modulus& m) noexcept {
  fibre4_columns<Lanes4>(dst, a, b, z, root, n, m);
}

}  // namespace ringforge::kernels::avx2
