// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The kernel contract of signals that are tried with many secrets (circuits/omr_signal.hpp). Implemented by the same
// kernel sets as kernels.hpp, which agree bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ringforge/kernels.hpp"

namespace ringforge::kernels {

/// Signals that are tried together.
inline constexpr std::size_t kSignalLanes = 32;

/// Operations on 16-bit words of `kSignalLanes` signals beside each other. Every pointer is set.
struct SignalKernels {
  const char* name;

  /// Bit j is set where start[j] + sum_{k < added} columns[places[k] * kSignalLanes + j] - sum_{added <= k < count} of
  /// the same is at most `limit`, modulo 2^16. columns and start are aligned to 64 bytes. Nothing is allocated or
  /// thrown.
  u32 (*at_most)(const std::uint16_t* columns, const std::uint16_t* start, const std::uint16_t* places,
                 std::size_t added, std::size_t count, std::uint16_t limit) noexcept;
};

/// That of the set in use, as `active`.
const SignalKernels& signal_active();
/// That of a set by name, or nullptr when it does not exist or this CPU cannot run it.
const SignalKernels* signal_find(const char* name) noexcept;

}  // namespace ringforge::kernels
