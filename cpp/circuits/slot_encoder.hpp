// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// CKKS's way from slots to coefficients for a MaskStore.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "ringforge/ckks/ckks.hpp"
#include "ringforge/error.hpp"

namespace ringforge::circuits {

/// Working memory of one thread.
class SlotEncoder {
 public:
  explicit SlotEncoder(const ckks::Context& context)
      : ctx_(context),
        slots_(context.params().slots()),
        re_(slots_),
        im_(slots_),
        rounded_(context.params().degree()) {}

  /// The N coefficients of the vector with these slots, valid until the next call; `imaginary` may be null.
  /// @throws ScaleError when one reaches 2^62.
  const i64* encode(const double* real, const double* imaginary, double scale) {
    ctx_.scatter(real, slots_, 1, re_.data());
    if (imaginary != nullptr)
      ctx_.scatter(imaginary, slots_, 1, im_.data());
    else
      std::fill(im_.begin(), im_.end(), 0.0);
    if (!ctx_.encode_coefficients(re_.data(), im_.data(), scale, rounded_.data()))
      throw ScaleError("a multiplier does not fit 62 bits at scale 2^" + std::to_string(std::log2(scale)));
    return rounded_.data();
  }

 private:
  const ckks::Context& ctx_;
  std::size_t slots_;
  std::vector<double> re_, im_;
  std::vector<i64> rounded_;
};

}  // namespace ringforge::circuits
