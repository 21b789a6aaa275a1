// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The kernel sets and whether this CPU runs them. Internal: users call kernels::active().
#pragma once

#include "ringforge/kernels.hpp"

namespace ringforge::kernels {

const Kernels& ref_kernels() noexcept;
#if defined(__x86_64__)
const Kernels& avx2_kernels() noexcept;
const Kernels& avx512_kernels() noexcept;
bool cpu_has_avx2() noexcept;    ///< AVX2
bool cpu_has_avx512() noexcept;  ///< AVX-512 F, DQ, VL, BW and IFMA
#endif

}  // namespace ringforge::kernels
