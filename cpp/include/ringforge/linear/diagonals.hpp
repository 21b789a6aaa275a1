// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// A sparse linear map of slots by its non-zero diagonals: out = sum_z u_z * Rot_z(in), slot by slot, where
// Rot_z is the left rotation by z and u_z[s] = U[s, s + z] (indices modulo the number of slots).
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ringforge::linear {

/// Immutable once made. Knows no scheme.
class Diagonals {
 public:
  Diagonals() = default;
  /// @param slots a power of two
  /// @param steps the diagonals z, ascending, below `slots`
  /// @param offsets entries of diagonal i are [offsets[i], offsets[i + 1])
  /// @param targets slot s of each entry, ascending within a diagonal
  /// @param values U[s, s + z] of each entry; empty: all ones
  /// @throws ShapeError when the arrays do not fit together, ValueError for values that are not finite.
  Diagonals(std::size_t slots, std::vector<std::uint32_t> steps, std::vector<std::size_t> offsets,
            std::vector<std::uint32_t> targets, std::vector<std::complex<double>> values);

  std::size_t slots() const noexcept { return slots_; }
  std::size_t size() const noexcept { return steps_.size(); }
  const std::vector<std::uint32_t>& steps() const noexcept { return steps_; }
  /// Diagonal i, rotated right by `shift`: slot s gets u_z[s - shift]. Writes all slots of re and im.
  void fill(std::size_t i, std::size_t shift, double* re, double* im) const;

  /// Largest sum over a row of |entry| and of |entry|^2, and largest sum of |entry| over a column.
  double row_sum() const noexcept { return row_sum_; }
  double row_square() const noexcept { return row_square_; }
  double column_sum() const noexcept { return column_sum_; }
  /// Sum over the diagonals of the largest |entry| of each.
  double peak_sum() const noexcept { return peak_sum_; }
  /// Most entries in a row.
  std::size_t row_entries() const noexcept { return row_entries_; }

 private:
  std::size_t slots_ = 0;
  std::vector<std::uint32_t> steps_;
  std::vector<std::size_t> offsets_;
  std::vector<std::uint32_t> targets_;
  std::vector<std::complex<double>> values_;
  double row_sum_ = 0, row_square_ = 0, column_sum_ = 0, peak_sum_ = 0;
  std::size_t row_entries_ = 0;
};

}  // namespace ringforge::linear
