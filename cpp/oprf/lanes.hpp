// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The OPRF for up to 64 elements at once, eight side by side in the lanes of vectors. Internal: oprf.cpp calls it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ringforge::oprf {

/// Elements of one call.
inline constexpr std::size_t kLanesChunk = 64;

/// A byte string, of at most 65535 bytes.
struct Text {
  const std::uint8_t* data;
  std::size_t size;
};

/// What the eight lanes compute, for 1 <= count <= kLanesChunk elements. Scalars are of 32 bytes, little-endian, below
/// the group's order: one for each element, or with `scalar_step` 0 one for all. Elements are encodings of 32 bytes
/// (RFC 9496). Running time and addresses depend on `count` and the texts' sizes alone. No aliasing of inputs and
/// outputs; everything that was secret on the stack is wiped.
struct Lanes {
  const char* name;
  /// uniform[64 i ..] = expand_message_xmd(texts[i], "HashToGroup-...", 64), RFC 9497, section 4.1.
  void (*expand)(std::uint8_t* uniform, const Text* texts, std::size_t count) noexcept;
  /// scalar * (element of the 64 uniform bytes), the identity (32 zeros) included.
  void (*hash_multiply)(std::uint8_t* elements, const std::uint8_t* uniform, const std::uint8_t* scalars,
                        std::size_t scalar_step, std::size_t count) noexcept;
  /// scalar * element. Bit i of the result: element i is no canonical encoding, or the identity; elements[32 i ..] is
  /// then of no use.
  std::uint64_t (*decode_multiply)(std::uint8_t* elements, const std::uint8_t* encoded, const std::uint8_t* scalars,
                                   std::size_t scalar_step, std::size_t count) noexcept;
  /// outputs[64 i ..] = SHA-512 of the framed text and element, RFC 9497, section 3.3.1.
  void (*finish)(std::uint8_t* outputs, const Text* texts, const std::uint8_t* elements, std::size_t count) noexcept;
  /// For tests: one operation of the field on eight lanes, limb k of lane j at [8 k + j]; see `FieldProbe`.
  void (*probe)(unsigned operation, std::uint64_t* out, const std::uint64_t* a, const std::uint64_t* b) noexcept;
};

enum FieldProbe : unsigned {
  kProbeMultiply,
  kProbeSquare,
  kProbeCarry,
  kProbeFreeze,
  kProbeInvert,
  kProbePower /* of b */
};

/// The same operations by plain integers: the lanes' oracle, and what valgrind can watch.
const Lanes& portable_lanes() noexcept;
#if defined(__x86_64__)
const Lanes& avx512_lanes() noexcept;
#endif

/// The lanes of the active kernel set (RINGFORGE_KERNELS, else what the processor has); null: libsodium is as good.
const Lanes* active_lanes();

}  // namespace ringforge::oprf
