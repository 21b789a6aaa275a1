// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "sets.hpp"
#include "spectral_impl.hpp"

namespace ringforge::kernels {
namespace {

struct One {
  static constexpr std::size_t kLanes = 1;
  static constexpr bool kEight = false;
  typedef double D __attribute__((vector_size(8)));
  static D fma(D a, D b, D c) { return a * b + c; }
  static D fnma(D a, D b, D c) { return c - a * b; }
};

}  // namespace

const SpectralKernels& ref_spectral() noexcept {
  static constexpr SpectralKernels table{"ref", Spectral<One>::prepare, Spectral<One>::product};
  return table;
}

}  // namespace ringforge::kernels
