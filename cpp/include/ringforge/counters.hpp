// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Counts of what the library really did: transforms, key switches, bytes streamed. The planner predicts
// the same numbers, and tests hold the two equal.
#pragma once

#include <atomic>
#include <cstdint>

namespace ringforge {

/// Counts of operations. One limb each for transforms; bytes are 8 per residue streamed.
struct OpCounts {
  std::uint64_t ntt = 0;              ///< forward transforms of one limb
  std::uint64_t intt = 0;             ///< inverse transforms of one limb
  std::uint64_t mod_up = 0;           ///< decompositions of a polynomial into key-switching digits
  std::uint64_t mod_down = 0;         ///< divisions of one polynomial by P, by a prime, or by both
  std::uint64_t key_switch = 0;       ///< inner products of digits with a key
  std::uint64_t rotation = 0;         ///< automorphisms of a ciphertext
  std::uint64_t plain_mul = 0;        ///< plaintext x ciphertext products
  std::uint64_t key_bytes = 0;        ///< evaluation-key bytes read
  std::uint64_t plaintext_bytes = 0;  ///< encoded plaintext bytes read

  friend bool operator==(const OpCounts&, const OpCounts&) = default;
  OpCounts& operator+=(const OpCounts& o) noexcept;
  friend OpCounts operator-(const OpCounts& a, const OpCounts& b) noexcept;
};

/// Adds to the process-wide counts; safe from any thread.
void count(const OpCounts& delta) noexcept;
/// The process-wide counts since start.
OpCounts counted() noexcept;

}  // namespace ringforge
