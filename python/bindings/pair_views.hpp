// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Ciphertexts that another machine computed, as Python gives them.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "bindings.hpp"

namespace bindings {

/// Views of ciphertexts' limbs: [ciphertext][part][limb].
using PairViews = std::vector<std::array<std::vector<std::span<const ringforge::u64>>, 2>>;

/// @throws ShapeError unless each has two parts.
inline PairViews pair_views(const std::vector<std::vector<std::vector<Words>>>& parts) {
  PairViews views;
  for (const auto& pair : parts) {
    if (pair.size() != 2) throw ringforge::ShapeError("a result has two parts, not " + std::to_string(pair.size()));
    auto& view = views.emplace_back();
    for (std::size_t i = 0; i < 2; ++i)
      for (const auto& limb : pair[i]) view[i].emplace_back(limb.data(), limb.size());
  }
  return views;
}

}  // namespace bindings
