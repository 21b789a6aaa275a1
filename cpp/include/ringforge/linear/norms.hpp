// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// How a plan multiplies errors: norms of its matrix, for predictions of noise.
#pragma once

#include <span>

#include "ringforge/linear/plan.hpp"

namespace ringforge::linear {

/// Squares of operator norms.
struct Norms {
  /// Of the matrix: errors that stay with a column, such as those of the encrypted input.
  double matrix = 0;
  /// Of the matrix with each column split by the baby step and slot that meets it: errors that differ from
  /// rotation to rotation, such as those of hoisted rotations.
  double rotated = 0;
};

/// Norms of a rows x cols matrix under a plan: by power iteration on A^T A (20 rounds, which approach the norm
/// from below; a factor 1.25 covers the rest), but never above the sum of squares or the largest row sum times
/// the largest column sum. Plans of more than 2^18 products per round get those bounds alone.
Norms norms(const Plan& plan, std::span<const double> matrix);

}  // namespace ringforge::linear
