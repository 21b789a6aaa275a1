// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "internal.hpp"
#include "sets.hpp"
#include "spectral_impl.hpp"

namespace ringforge::kernels {
namespace {

struct Four {
  static constexpr std::size_t kLanes = 4;
  static constexpr bool kEight = false;
  using D = avx2::D;
  static RF_MEMBER D fma(D a, D b, D c) { return _mm256_fmadd_pd(a, b, c); }
  static RF_MEMBER D fnma(D a, D b, D c) { return _mm256_fnmadd_pd(a, b, c); }
};

}  // namespace

const SpectralKernels& avx2_spectral() noexcept {
  static constexpr SpectralKernels table{"avx2", Spectral<Four>::prepare, Spectral<Four>::product};
  return table;
}

}  // namespace ringforge::kernels
