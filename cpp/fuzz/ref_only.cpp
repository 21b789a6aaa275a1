// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Stands in for the SIMD kernel sets: the readers are fuzzed over the reference kernels alone.
#include "sets.hpp"

namespace ringforge::kernels {

#if defined(__x86_64__)
const Kernels& avx2_kernels() noexcept { return ref_kernels(); }
const Kernels& avx512_kernels() noexcept { return ref_kernels(); }
#endif

}  // namespace ringforge::kernels
