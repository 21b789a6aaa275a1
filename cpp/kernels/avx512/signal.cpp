// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "internal.hpp"
#include "sets.hpp"

namespace ringforge::kernels {
namespace {

using avx512::V;

u32 at_most(const std::uint16_t* columns, const std::uint16_t* start, const std::uint16_t* places, std::size_t added,
            std::size_t count, std::uint16_t limit) noexcept {
  static_assert(kSignalLanes == 32);
  const V* x = reinterpret_cast<const V*>(columns);
  V sum = *reinterpret_cast<const V*>(start);
  for (std::size_t k = 0; k < added; ++k) sum = _mm512_add_epi16(sum, x[places[k]]);
  for (std::size_t k = added; k < count; ++k) sum = _mm512_sub_epi16(sum, x[places[k]]);
  return _mm512_cmple_epu16_mask(sum, _mm512_set1_epi16(static_cast<short>(limit)));
}

}  // namespace

const SignalKernels& avx512_signal() noexcept {
  static constexpr SignalKernels table{"avx512", at_most};
  return table;
}

}  // namespace ringforge::kernels
