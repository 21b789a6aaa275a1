// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#pragma once

#include <cstddef>

#include "ringforge/memory.hpp"

namespace ringforge {

/// Working memory of one thread: an own block, as callers of transforms may hold `scratch`. Wiped after use, or by
/// `forget`.
template <class Word>
class Room {
 public:
  explicit Room(std::size_t words, bool keep = false) : words_(keep ? 0 : words) {
    if (block().size() >= words) return;
    block().wipe();
    block() = WordArray<Word>(words);
  }
  ~Room() { wipe(data(), words_ * sizeof(Word)); }
  static void forget() noexcept { block().wipe(); }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;
  Word* data() noexcept { return block().data(); }

 private:
  static WordArray<Word>& block() {
    thread_local WordArray<Word> b;
    return b;
  }
  std::size_t words_;
};

}  // namespace ringforge
