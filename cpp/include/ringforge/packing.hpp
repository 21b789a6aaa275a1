// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Residues in files and messages: without gaps, at the bits of their modulus.
//
// Residue k takes bits [k*bits, (k+1)*bits) of a string of bits; bit j of the string is bit j mod 8 of byte j/8. Bits
// that are left over in the last byte are 0. Words W are u32 or u64.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ringforge {

/// Bytes of `count` packed residues.
constexpr std::size_t packed_bytes(std::size_t count, unsigned bits) noexcept { return (count * bits + 7) / 8; }

/// Writes packed_bytes(count, bits) bytes. Every value is below 2^bits; 1 <= bits <= 64 and at most the bits of W.
template <class W>
void pack_bits(std::uint8_t* dst, const W* src, std::size_t count, unsigned bits) noexcept;

/// The inverse; reads packed_bytes(count, bits) bytes. Values are below 2^bits.
/// @returns whether the bits that are left over are 0.
template <class W>
bool unpack_bits(W* dst, const std::uint8_t* src, std::size_t count, unsigned bits) noexcept;

/// Whether all values are below q <= 2^63; values are below 2^63.
template <class W>
bool all_below(const W* values, std::size_t count, std::uint64_t q) noexcept;

/// Unpacks residues that strangers have packed.
/// @throws FormatError when one is not below `q` <= 2^bits, or bits that are left over are set.
template <class W>
void unpack_residues(W* dst, const std::uint8_t* src, std::size_t count, unsigned bits, std::uint64_t q);

}  // namespace ringforge
