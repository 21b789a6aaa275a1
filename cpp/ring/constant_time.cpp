// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/constant_time.hpp"

#ifdef RINGFORGE_MEMCHECK
#include <valgrind/memcheck.h>
#endif

namespace ringforge {

#ifdef RINGFORGE_MEMCHECK

namespace {
std::size_t public_bytes = 0;
}

// For the test program, which says of each operation how much it made public.
std::size_t declassified_bytes() noexcept { return __atomic_load_n(&public_bytes, __ATOMIC_RELAXED); }

void declassify(const void* data, std::size_t bytes) noexcept {
  if (RUNNING_ON_VALGRIND == 0) return;
  for (std::size_t i = 0; i < bytes; ++i) {
    unsigned char bits = 0;
    if (VALGRIND_GET_VBITS(static_cast<const char*>(data) + i, &bits, 1) == 1 && bits != 0)
      __atomic_fetch_add(&public_bytes, 1, __ATOMIC_RELAXED);
  }
  VALGRIND_MAKE_MEM_DEFINED(data, bytes);
}

#else

void declassify(const void*, std::size_t) noexcept {}

#endif

}  // namespace ringforge
