// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Plans of C = A B for encrypted A (m x l) and B (l x n), each one CKKS ciphertext: linear transforms of both operands,
// then a sum of products of shifted ciphertexts. The method is Ringforge's own, as the Python package describes it
// (docs/matmul-algorithms.md), with one base for each operand; the plan of least counted work is taken.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ringforge/circuits/cost.hpp"
#include "ringforge/circuits/pair_sum.hpp"
#include "ringforge/linear/diagonals.hpp"

namespace ringforge::circuits {

struct MatrixShape {
  std::size_t m = 0, l = 0, n = 0;
};

/// What becomes of an operand: transforms, each one level lower, then copies to empty slots.
struct MatrixOperand {
  struct Transform {
    linear::Diagonals map;
    std::vector<std::uint32_t> babies;  ///< of each diagonal, for schedule `bsgs`
  };
  std::vector<Transform> transforms;  ///< one or two
  std::vector<i64> copies;            ///< for each step in turn, x += x rotated left by it
};

/// A plan for inputs of one level. Operands are column-major without gaps: A[i, j] in slot i + m j, B[i, j] in slot
/// i + l j. C[i, j] is in slot i + stride * j; other slots hold copies of the result, or zero.
struct MatrixPlan {
  MatrixShape shape;
  std::size_t slots = 0, stride = 0;
  std::size_t level = 0;  ///< of the inputs
  MatrixOperand left, right;
  PairSumPlan products;
  std::string label;  ///< names the variant as the Python package does

  Work work;                          ///< exact counts of a run, both operands' transforms included
  double weight = 0;                  ///< of the counts: what was minimised
  std::size_t rotation_keys = 0;      ///< how many, conjugation included
  std::size_t key_storage = 0;        ///< bytes of all keys
  std::size_t plaintext_storage = 0;  ///< bytes of encoded diagonals and masks
  std::size_t working = 0;            ///< bytes of ciphertexts and temporaries, at most (an estimate)
  bool masked = false;                ///< products happen one level below the transformed operands

  /// Levels above the transformed operands, and from inputs to result.
  std::size_t transforms() const noexcept { return std::max(left.transforms.size(), right.transforms.size()); }
  std::size_t depth() const noexcept { return transforms() + (masked ? 1 : 0) + 1; }
};

/// The plan of least work.
/// @param level of the inputs; by default each plan's are as low as they can be
/// @throws ShapeError for an empty side, or when A, B or C has more entries than there are slots; LevelError when no
///         plan is that shallow, naming what is needed; ParameterError for parameters without special primes.
MatrixPlan plan_matrix_product(const ckks::Context& context, const MatrixShape& shape,
                               std::optional<std::size_t> level = {});

}  // namespace ringforge::circuits
