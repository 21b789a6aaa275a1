// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Arithmetic modulo t, which may be smaller than kernels take, or even.
#pragma once

#include "ref/arith.hpp"

namespace ringforge::bfv {

/// What arith::reduce64 uses of a modulus, and nothing else. t >= 2.
inline kernels::Modulus modulo(kernels::u64 t) {
  kernels::Modulus m;
  m.q = t;
  m.ratio_hi = static_cast<kernels::u64>((static_cast<unsigned __int128>(1) << 64) / t);
  return m;
}

}  // namespace ringforge::bfv
