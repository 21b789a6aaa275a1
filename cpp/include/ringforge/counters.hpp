// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Counts of what the library really did: transforms, key switches, bytes streamed. The planner predicts
// the same numbers, and tests hold the two equal. Counts belong to a scope, and a scope to the thread that opened it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "ringforge/traffic.hpp"

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

/// Counts what the calling thread does while it lives, and what pool workers do for that thread: nothing of other
/// threads. Scopes of one thread nest; the counts of an inner one are added to the outer one when it ends. Without a
/// scope nothing is counted.
class CountScope {
 public:
  CountScope() noexcept;
  ~CountScope();
  CountScope(const CountScope&) = delete;
  CountScope& operator=(const CountScope&) = delete;

  /// Operations so far. Exact between parallel loops of this thread.
  OpCounts operations() const noexcept;
  /// Bytes moved and held so far.
  Traffic traffic() const noexcept;

  /// The calling thread's innermost scope, or null.
  static CountScope* current() noexcept;

  /// The calling thread counts for `scope` (null: for none) while this lives: for threads that work for another.
  class Lent {
   public:
    explicit Lent(CountScope* scope) noexcept;
    ~Lent();
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;

   private:
    CountScope* before_;
  };

 private:
  friend void count(const OpCounts& delta) noexcept;
  friend void move_limbs(std::uint64_t read, std::uint64_t written, std::uint64_t n) noexcept;
  friend void spill_limbs(std::uint64_t limbs, std::uint64_t n) noexcept;
  friend class Held;
  using Count = std::atomic<std::uint64_t>;
  struct Level {
    Count now{}, most{};
    void raise(std::uint64_t to) noexcept;
  };

  CountScope* const outer_;
  std::array<Count, 9> operations_{};
  Count read_{}, written_{}, spilled_{};
  std::array<Level, 2> levels_{};  // by Held::As
};

/// Adds to the counts of the calling thread's scope.
void count(const OpCounts& delta) noexcept;

}  // namespace ringforge
