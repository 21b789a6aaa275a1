// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The kernels for limbs in words of either width. Internal to the ring layer.
#pragma once

#include "ringforge/kernels.hpp"
#include "ringforge/kernels32.hpp"

namespace ringforge {

template <class Word>
inline const auto& limb_kernels() {
  if constexpr (sizeof(Word) == 4)
    return kernels::active32();
  else
    return kernels::active();
}

}  // namespace ringforge
