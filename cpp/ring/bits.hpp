// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#pragma once

#include <cstddef>

namespace ringforge {

/// The lowest `bits` bits of x in reverse order.
inline std::size_t reverse_bits(std::size_t x, unsigned bits) {
  std::size_t r = 0;
  for (unsigned i = 0; i < bits; ++i, x >>= 1) r = (r << 1) | (x & 1);
  return r;
}

}  // namespace ringforge
