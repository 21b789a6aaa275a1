// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Stands in for the SIMD kernel sets: the readers are fuzzed over the reference kernels alone.
// The lanes of the OPRF are those of plain integers, so that its batches are fuzzed against libsodium.
#include "../oprf/lanes.hpp"
#include "sets.hpp"

namespace ringforge::kernels {

#if defined(__x86_64__)
const Kernels& avx2_kernels() noexcept { return ref_kernels(); }
const Kernels& avx512_kernels() noexcept { return ref_kernels(); }
const Kernels32& avx2_kernels32() noexcept { return ref_kernels32(); }
const Kernels32& avx512_kernels32() noexcept { return ref_kernels32(); }
const SignalKernels& avx2_signal() noexcept { return ref_signal(); }
const SignalKernels& avx512_signal() noexcept { return ref_signal(); }
const TensorKernels<u64>& avx512_tensor() noexcept { return ref_tensor<u64>(); }
const RaderKernels& avx512_rader() noexcept { return ref_rader(); }
template <class W>
const SmallKernels<W>& avx2_small() noexcept {
  return ref_small<W>();
}
template <class W>
const SmallKernels<W>& avx512_small() noexcept {
  return ref_small<W>();
}
template const SmallKernels<u32>& avx2_small<u32>() noexcept;
template const SmallKernels<u64>& avx2_small<u64>() noexcept;
template const SmallKernels<u32>& avx512_small<u32>() noexcept;
template const SmallKernels<u64>& avx512_small<u64>() noexcept;
#endif

}  // namespace ringforge::kernels

#if defined(__x86_64__)
namespace ringforge::oprf {
const Lanes& avx512_lanes() noexcept { return portable_lanes(); }
}  // namespace ringforge::oprf
#endif
