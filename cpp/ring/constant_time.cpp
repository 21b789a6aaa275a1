// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/constant_time.hpp"

#ifdef RINGFORGE_MEMCHECK
#include <valgrind/memcheck.h>
#endif

namespace ringforge {

void declassify([[maybe_unused]] const void* data, [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef RINGFORGE_MEMCHECK
  VALGRIND_MAKE_MEM_DEFINED(data, bytes);
#endif
}

}  // namespace ringforge
