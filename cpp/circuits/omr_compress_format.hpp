// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Bodies of the records of compression: lengths that writers, readers and plans share. Internal.
#pragma once

#include "ringforge/circuits/omr_compress.hpp"

namespace ringforge::circuits {

/// Bulletin, key id, k and words, as 64-bit numbers.
inline constexpr std::size_t kDigestHead = 32;
/// Key ids of both secrets, number of limbs.
inline constexpr std::size_t kKeysHead = 24;
/// Key id and bits of a coefficient.
inline constexpr std::size_t kSecretHead = 16;
/// Key id, first unit, units.
inline constexpr std::size_t kPartHead = 24;

/// The e >= 1 with root^e = value; both generate the same group.
u64 compression_exponent(u64 root, u64 value, const kernels::Modulus& m);

}  // namespace ringforge::circuits
