// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "internal.hpp"
#include "sets.hpp"

namespace ringforge::kernels {
namespace {

using avx2::V;

u32 at_most(const std::uint16_t* columns, const std::uint16_t* start, const std::uint16_t* places, std::size_t added,
            std::size_t count, std::uint16_t limit) noexcept {
  static_assert(kSignalLanes == 32);
  const V* x = reinterpret_cast<const V*>(columns);
  V low = reinterpret_cast<const V*>(start)[0], high = reinterpret_cast<const V*>(start)[1];
  for (std::size_t k = 0; k < added; ++k) {
    low = _mm256_add_epi16(low, x[2 * places[k]]);
    high = _mm256_add_epi16(high, x[2 * places[k] + 1]);
  }
  for (std::size_t k = added; k < count; ++k) {
    low = _mm256_sub_epi16(low, x[2 * places[k]]);
    high = _mm256_sub_epi16(high, x[2 * places[k] + 1]);
  }
  // x <= limit where x - limit, held at 0, is 0. Packing works on halves of 128 bits.
  const V most = _mm256_set1_epi16(static_cast<short>(limit)), zero = _mm256_setzero_si256();
  const V in = _mm256_packs_epi16(_mm256_cmpeq_epi16(_mm256_subs_epu16(low, most), zero),
                                  _mm256_cmpeq_epi16(_mm256_subs_epu16(high, most), zero));
  return static_cast<u32>(_mm256_movemask_epi8(_mm256_permute4x64_epi64(in, 0xd8)));
}

}  // namespace

const SignalKernels& avx2_signal() noexcept {
  static constexpr SignalKernels table{"avx2", at_most};
  return table;
}

}  // namespace ringforge::kernels
