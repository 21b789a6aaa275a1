// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "sets.hpp"

namespace ringforge::kernels {
namespace {

u32 at_most(const std::uint16_t* columns, const std::uint16_t* start, const std::uint16_t* places, std::size_t added,
            std::size_t count, std::uint16_t limit) noexcept {
  std::uint16_t sum[kSignalLanes];
  for (std::size_t j = 0; j < kSignalLanes; ++j) sum[j] = start[j];
  for (std::size_t k = 0; k < count; ++k) {
    const std::uint16_t* x = columns + places[k] * kSignalLanes;
    if (k < added)
      for (std::size_t j = 0; j < kSignalLanes; ++j) sum[j] = static_cast<std::uint16_t>(sum[j] + x[j]);
    else
      for (std::size_t j = 0; j < kSignalLanes; ++j) sum[j] = static_cast<std::uint16_t>(sum[j] - x[j]);
  }
  u32 bits = 0;
  for (std::size_t j = 0; j < kSignalLanes; ++j) bits |= u32{sum[j] <= limit} << j;
  return bits;
}

}  // namespace

const SignalKernels& ref_signal() noexcept {
  static constexpr SignalKernels table{"ref", at_most};
  return table;
}

}  // namespace ringforge::kernels
