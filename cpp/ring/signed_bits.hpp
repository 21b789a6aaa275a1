// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Messages of bits as polynomials of small integers.
#pragma once

#include <cstdint>
#include <span>

#include "ringforge/random.hpp"

namespace ringforge {

/// The seed of the signs that everybody knows.
inline constexpr Seed kPublicSigns{};

/// Bits as a polynomial of 0, 1 and -1, the signs from a stream: they make no difference modulo 2, and without them a
/// message like 1 + X + X^2 + ... would have values as large as N.
/// @throws ValueError for more than n bits, or values that are no bits.
SmallPoly signed_bits(std::span<const std::uint8_t> bits, std::size_t n, const Seed& signs = kPublicSigns);

}  // namespace ringforge
