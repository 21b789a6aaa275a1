// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Products of encrypted matrices: where everything lies, and the shifts of the second step.
//
// The slots are r blocks of T = slots / r. Cell (i, j, u), i < m, j < n, u < r, is slot i + M j + T u; M >= m is the
// distance of columns. With P = r h, step k < h multiplies in cell (i, j, u) what belongs to index
//     p = i + j + u h + k  mod P,
// so that over all k and u each cell of the result meets each p once. Index p stands for the inner index p, or, packed,
// for p and p + P: A[i, p] + i A[i, p + P] meets B[p, j] - i B[p + P, j], and the real part of the product is the sum
// of both products. Inner indices of l or more contribute zero.
//
// Contents say what a slot of a base holds: line * P + p, the line being the row i of A or the column j of B, or -1 for
// nothing. A shift is found by comparing contents with what is needed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ringforge/circuits/matrix_plan.hpp"

namespace ringforge::circuits::matrix {

using Slots = std::vector<std::uint32_t>;
using Contents = std::vector<std::int64_t>;

/// Shape, and r (`blocks`), h (`steps`), M (`stride`) of the description above.
struct Geometry {
  std::size_t m, l, n, slots, blocks, steps, stride;
  bool packed;

  std::size_t span() const { return slots / blocks; }
  std::size_t period() const { return blocks * steps; }
  /// Columns of m slots that fit into a block.
  std::size_t columns() const { return (span() - m) / stride + 1; }
  /// Content of cell (i, j, u) before any shift, for line i or j.
  std::int64_t content(std::size_t line, std::size_t i, std::size_t j, std::size_t u) const {
    return static_cast<std::int64_t>(line * period() + (i + j + u * steps) % period());
  }
  std::size_t slot(std::size_t i, std::size_t j, std::size_t u) const { return i + stride * j + span() * u; }
};

/// A rotation of the base that brings some needed contents in place: so many lines and blocks on.
struct Move {
  std::int64_t lines;
  std::size_t blocks;
  std::uint32_t step;
};

/// The base of one operand, with `extent` columns (left) or rows (right) filled, and the moves of each step.
class Side {
 public:
  Side(const Geometry& geometry, std::size_t extent, bool left);

  /// Every step has moves that bring all it needs.
  bool complete() const { return complete_; }
  bool bare(std::size_t k) const { return moves_[k].size() == 1; }
  bool all_bare() const;
  const std::vector<Move>& moves(std::size_t k) const { return moves_[k]; }
  std::size_t extent() const { return extent_; }
  bool left() const { return left_; }
  /// For each move of step k the cells that it serves, ascending.
  std::vector<Slots> supports(std::size_t k) const;
  /// Contents after a move.
  std::int64_t rotated(const Move& move, std::size_t slot) const {
    return content_[(slot + move.step) & (g_.slots - 1)];
  }

 private:
  std::vector<Move> cover(std::size_t k) const;

  Geometry g_;
  std::size_t extent_;
  bool left_, complete_ = true;
  Contents content_;
  std::vector<std::vector<Move>> moves_;
};

/// Both sides' shifts. A side has masks on all its shifts or on none. Two masks of a shift are complements of each
/// other over all slots, the row or column of a slot deciding, wherever the other side is zero outside of the cells:
/// then one of the two need not be stored.
class Steps {
 public:
  Steps(const Geometry& geometry, const Side& left, const Side& right);

  const Geometry& geometry() const { return g_; }
  bool left_masked() const { return left_masked_; }
  bool right_masked() const { return right_masked_; }
  /// All left shifts are bare moves by columns of the same block, by up to `widest` of them.
  bool groupable() const { return groupable_; }
  std::size_t widest() const { return widest_; }
  /// The second step, with left rotations of each group below `size` columns; 0: one group.
  PairSumPlan plan(std::size_t size) const;
  /// Left rotations other than 0 for groups of `size`, and distinct rotations that second terms lack to first ones.
  std::size_t left_rotations(std::size_t size) const { return size ? size : g_.steps; }
  std::size_t lacking() const { return lacking_; }
  /// Groups for a size, and how many of them are rotated.
  std::pair<std::size_t, std::size_t> groups(std::size_t size) const;

 private:
  struct Shift {
    std::vector<std::uint32_t> steps;
    std::vector<Slots> supports;  // one for each step where the side has masks
  };
  bool outside(std::size_t slot) const { return slot % g_.span() % g_.stride >= g_.m || column_of(slot) >= g_.n; }
  std::size_t column_of(std::size_t slot) const { return slot % g_.span() / g_.stride; }
  std::size_t outer(std::size_t k, std::size_t size) const;
  std::pair<Shift, Shift> shifts(std::size_t k) const;
  Contents held(const Side& side, std::size_t k, const std::vector<Slots>& supports) const;
  bool spills(const Contents& left, const Contents& right) const;
  std::optional<std::vector<Slots>> complements(const std::vector<Slots>& supports, bool left) const;
  Slots cells() const;

  Geometry g_;
  const Side& left_;
  const Side& right_;
  Slots every_;
  std::vector<bool> guarded_;  // steps whose left shift is masked because nothing else zeroes the other slots
  bool left_masked_ = false, right_masked_ = false, groupable_ = false;
  std::size_t widest_ = 0, lacking_ = 0;
};

}  // namespace ringforge::circuits::matrix
