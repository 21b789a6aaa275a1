// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Selecting without branching, and saying what need not be secret any more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace ringforge {

/// All ones when the lowest bit is 1, otherwise 0.
constexpr std::uint64_t mask_of_bit(std::uint64_t bit) noexcept { return 0 - (bit & 1); }
/// All ones when a = b, otherwise 0.
constexpr std::uint64_t mask_of_equal(std::uint64_t a, std::uint64_t b) noexcept {
  const std::uint64_t d = a ^ b;
  return ((d | (0 - d)) >> 63) - 1;
}

/// Whether all numbers are in low ... high, which are small: without a branch on any.
constexpr bool within(std::span<const std::int64_t> numbers, std::int64_t low, std::int64_t high) noexcept {
  std::uint64_t beyond = 0;
  for (const std::int64_t x : numbers) {
    const auto bits = static_cast<std::uint64_t>(x);
    beyond |= (bits - static_cast<std::uint64_t>(low)) | (static_cast<std::uint64_t>(high) - bits);
  }
  return beyond >> 63 == 0;
}

/// The number of ones among the 64 bits, by sums of ever wider fields. std::popcount is a call of a routine of libgcc
/// where processors need not have the instruction: it is slower, and some versions of it read a table.
constexpr unsigned ones_of(std::uint64_t x) noexcept {
  x -= (x >> 1) & 0x5555555555555555;
  x = (x & 0x3333333333333333) + ((x >> 2) & 0x3333333333333333);
  x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0f;
  return static_cast<unsigned>((x * 0x0101010101010101) >> 56);
}

/// The nearest double of a word. The conversion of unsigned numbers branches on the highest bit.
constexpr double double_of(std::uint64_t x) noexcept {
  return static_cast<double>(static_cast<std::int64_t>(x >> 32)) * 0x1p32 +
         static_cast<double>(static_cast<std::int64_t>(x & 0xffffffff));
}

/// States that these bytes are public from here on, though made from secrets. Does nothing, except in builds for the
/// test of cpp/tests/constant_time: there valgrind takes secrets for undefined memory and reports every branch and
/// every address that depends on them; these bytes count as defined again.
void declassify(const void* data, std::size_t bytes) noexcept;
/// A bit that is public although secrets decide it: why, says who asks.
inline bool declassified(bool bit) noexcept {
  declassify(&bit, sizeof(bit));
  return bit;
}

/// The first of secret bits that is neither 0 nor 1, whose place a refusal tells; nothing is told where all are bits.
inline std::optional<std::size_t> beyond_bits(std::span<const std::uint8_t> bits) noexcept {
  unsigned beyond = 0;
  for (const std::uint8_t x : bits) beyond |= x >> 1;
  if (!declassified(beyond != 0)) return {};
  std::size_t first = 0;
  while (bits[first] <= 1) ++first;
  return first;
}

}  // namespace ringforge
