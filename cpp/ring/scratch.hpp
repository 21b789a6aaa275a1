// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Reusable working memory, one block per thread, for code inside hot loops. Not for secrets.
#pragma once

#include "ringforge/memory.hpp"

namespace ringforge {

/// At least `words` words, valid until this thread's next call. Contents undefined.
inline std::uint64_t* scratch(std::size_t words) {
  thread_local WordBuffer buffer;
  if (buffer.size() < words) buffer = WordBuffer(words);
  return buffer.data();
}

}  // namespace ringforge
