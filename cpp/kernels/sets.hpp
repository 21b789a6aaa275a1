// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The kernel sets and whether this CPU runs them. Internal: users call kernels::active().
#pragma once

#include "ringforge/kernels.hpp"
#include "ringforge/kernels32.hpp"
#include "ringforge/rader_kernels.hpp"
#include "ringforge/signal_kernels.hpp"
#include "ringforge/small_kernels.hpp"
#include "ringforge/spectral_kernels.hpp"
#include "ringforge/tensor_kernels.hpp"

namespace ringforge::kernels {

const Kernels& ref_kernels() noexcept;
const Kernels32& ref_kernels32() noexcept;
const SignalKernels& ref_signal() noexcept;
template <class W>
const SmallKernels<W>& ref_small() noexcept;
template <class W>
const TensorKernels<W>& ref_tensor() noexcept;
const RaderKernels& ref_rader() noexcept;
const SpectralKernels& ref_spectral() noexcept;
#if defined(__x86_64__)
const Kernels& avx2_kernels() noexcept;
const Kernels& avx512_kernels() noexcept;
const Kernels32& avx2_kernels32() noexcept;
const Kernels32& avx512_kernels32() noexcept;
const SignalKernels& avx2_signal() noexcept;
const SignalKernels& avx512_signal() noexcept;
template <class W>
const SmallKernels<W>& avx2_small() noexcept;
template <class W>
const SmallKernels<W>& avx512_small() noexcept;
const TensorKernels<u64>& avx512_tensor() noexcept;
const RaderKernels& avx512_rader() noexcept;
const SpectralKernels& avx2_spectral() noexcept;
const SpectralKernels& avx512_spectral() noexcept;
bool cpu_has_avx2() noexcept;    ///< AVX2
bool cpu_has_avx512() noexcept;  ///< AVX-512 F, DQ, VL, BW and IFMA
#endif

}  // namespace ringforge::kernels
