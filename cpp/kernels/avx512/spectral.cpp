// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "internal.hpp"
#include "sets.hpp"
#include "spectral_impl.hpp"

namespace ringforge::kernels {
namespace {

struct Eight {
  static constexpr std::size_t kLanes = 8;
  static constexpr bool kEight = true;
  using D = avx512::D;
  static RF_MEMBER D fma(D a, D b, D c) { return _mm512_fmadd_pd(a, b, c); }
  static RF_MEMBER D fnma(D a, D b, D c) { return _mm512_fnmadd_pd(a, b, c); }
};

}  // namespace

const SpectralKernels& avx512_spectral() noexcept {
  static constexpr SpectralKernels table{"avx512", Spectral<Eight>::prepare, Spectral<Eight>::product};
  return table;
}

}  // namespace ringforge::kernels
