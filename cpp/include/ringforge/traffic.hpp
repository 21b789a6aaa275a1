// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// What an algorithm moves and holds, counted where it happens. Each operation on whole polynomials says which
// limbs it reads from and writes to memory; a fused schedule says so only for limbs that cross its boundary, and
// registers the buffers it keeps. The counts are those of an accelerator or cache that holds exactly the
// registered working set.
#pragma once

#include <cstdint>

namespace ringforge {

class CountScope;

/// Bytes moved and held in a scope (counters.hpp).
struct Traffic {
  std::uint64_t read = 0;      ///< ciphertext limbs read by operations
  std::uint64_t written = 0;   ///< ciphertext limbs written by operations
  std::uint64_t spilled = 0;   ///< of both: limbs a fused schedule puts away and fetches again
  std::uint64_t working = 0;   ///< most bytes registered as working set at once
  std::uint64_t held_out = 0;  ///< most bytes registered as spilled buffers and outputs at once
};

/// Counts limbs of n words that an operation reads and writes.
void move_limbs(std::uint64_t read, std::uint64_t written, std::uint64_t n) noexcept;
/// Counts limbs that are written now and read again later, each once.
void spill_limbs(std::uint64_t limbs, std::uint64_t n) noexcept;

/// Registers limbs of n words as held while it lives, within the scope in which it was made.
class Held {
 public:
  enum class As { working, out };
  Held(As as, std::uint64_t limbs, std::uint64_t n) noexcept;
  ~Held();
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  CountScope* scope_;
  As as_;
  std::uint64_t bytes_;
};

}  // namespace ringforge
