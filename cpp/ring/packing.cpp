// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/packing.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "ringforge/error.hpp"

namespace ringforge {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

static_assert(std::endian::native == std::endian::little, "bits are packed by copying little-endian words");

u64 load(const std::uint8_t* p) noexcept {
  u64 word;
  std::memcpy(&word, p, sizeof(word));
  return word;
}

/// The residue at bit `at`; reads 8 bytes, or 9 where it may not fit into them.
template <bool kWide>
u64 residue(const std::uint8_t* src, std::size_t at, u64 mask) noexcept {
  const std::uint8_t* p = src + (at >> 3);
  const unsigned shift = at & 7;
  if constexpr (!kWide) return (load(p) >> shift) & mask;
  // The ninth byte's bits land above those of the word; a shift by 64 - 0 is done in two steps.
  return ((load(p) >> shift) | ((u64{p[8]} << 1) << (63 - shift))) & mask;
}

}  // namespace

template <class W>
void pack_bits(std::uint8_t* dst, const W* src, std::size_t count, unsigned bits) noexcept {
  u64 word = 0;
  unsigned fill = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const u64 x = src[k];
    word |= x << fill;
    fill += bits;
    if (fill >= 64) {
      std::memcpy(dst, &word, 8);
      dst += 8;
      fill -= 64;
      word = fill == 0 ? 0 : x >> (bits - fill);
    }
  }
  std::memcpy(dst, &word, (fill + 7) / 8);
}

template <class W>
bool unpack_bits(W* dst, const std::uint8_t* src, std::size_t count, unsigned bits) noexcept {
  const u64 mask = ~u64{0} >> (64 - bits);
  const std::size_t bytes = packed_bytes(count, bits);
  const bool wide = bits > 57;  // with up to 7 bits of offset, one word holds 57
  // Residues that can be read without going beyond the last byte; the few others from a copy with room behind it.
  const std::size_t read = wide ? 9 : 8;
  const std::size_t direct = bytes < read ? 0 : std::min(count, (bytes - read) * 8 / bits + 1);
  std::size_t k = 0, at = 0;
  if (wide)
    for (; k < direct; ++k, at += bits) dst[k] = static_cast<W>(residue<true>(src, at, mask));
  else
    for (; k < direct; ++k, at += bits) dst[k] = static_cast<W>(residue<false>(src, at, mask));
  std::uint8_t tail[32] = {};
  const std::size_t first = at >> 3;
  std::memcpy(tail, src + first, bytes - first);
  for (; k < count; ++k, at += bits) dst[k] = static_cast<W>(residue<true>(tail, at - 8 * first, mask));
  const std::size_t left = 8 * bytes - at;
  return left == 0 || src[bytes - 1] >> (8 - left) == 0;
}

template <class W>
bool all_below(const W* values, std::size_t count, u64 q) noexcept {
  u64 borrow = 0;  // the top bit of q - 1 - x is set exactly when x >= q, both being at most 2^63
  for (std::size_t k = 0; k < count; ++k) borrow |= (q - 1 - values[k]) | values[k];
  return borrow >> 63 == 0;
}

template <class W>
void unpack_residues(W* dst, const std::uint8_t* src, std::size_t count, unsigned bits, u64 q) {
  const bool whole = unpack_bits(dst, src, count, bits);
  if (!all_below(dst, count, q)) {
    const W* x = std::find_if(dst, dst + count, [q](W v) { return v >= q; });
    throw FormatError("a packed residue is " + std::to_string(*x) + ", the modulus " + std::to_string(q));
  }
  if (!whole) throw FormatError("padding after packed residues is not zero");
}

#define RINGFORGE_INSTANTIATE(W)                                                      \
  template void pack_bits(std::uint8_t*, const W*, std::size_t, unsigned) noexcept;   \
  template bool unpack_bits(W*, const std::uint8_t*, std::size_t, unsigned) noexcept; \
  template bool all_below(const W*, std::size_t, u64) noexcept;                       \
  template void unpack_residues(W*, const std::uint8_t*, std::size_t, unsigned, u64)
RINGFORGE_INSTANTIATE(u32);
RINGFORGE_INSTANTIATE(u64);
#undef RINGFORGE_INSTANTIATE

}  // namespace ringforge
