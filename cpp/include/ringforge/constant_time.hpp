// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Selecting without branching, and saying what need not be secret any more.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ringforge {

/// All ones when the lowest bit is 1, otherwise 0.
constexpr std::uint64_t mask_of_bit(std::uint64_t bit) noexcept { return 0 - (bit & 1); }
/// All ones when a = b, otherwise 0.
constexpr std::uint64_t mask_of_equal(std::uint64_t a, std::uint64_t b) noexcept {
  const std::uint64_t d = a ^ b;
  return ((d | (0 - d)) >> 63) - 1;
}

/// States that these bytes are public from here on, though made from secrets. Does nothing, except in builds for the
/// test of cpp/tests/constant_time: there valgrind takes secrets for undefined memory and reports every branch and
/// every address that depends on them; these bytes count as defined again.
void declassify(const void* data, std::size_t bytes) noexcept;

}  // namespace ringforge
