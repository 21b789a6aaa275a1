// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Products of encrypted matrices: the first transforms, from a matrix as it is encrypted to the base of
// matrix_cells.hpp.
//
// A base is made by one transform, or by two with far fewer diagonals each (one more level). The first of two works on
// the matrix's own places: for B, column j is rotated by j mod b; for A, row i by i mod b. The second does the rest.
// Pairs p, p + P of packed contents are made in either of the two, their factors are entries of the diagonals. Contents
// repeat with period P. Where whole periods are filled, c 2^t of them with odd c, only c are made, and then doubled by
// t rotations, which take no level.
#pragma once

#include <complex>
#include <string>
#include <vector>

#include "matrix_cells.hpp"
#include "ringforge/linear/baby_steps.hpp"

namespace ringforge::circuits::matrix {

/// Rough costs of a key switch, a product with an encoded vector, a ModDown of one polynomial, a ModUp with its key
/// switch; in transforms of one limb. Only for choosing what is worth a closer look.
inline constexpr double kSwitch = 37, kProduct = 5.5, kDown = 6, kFull = 70;

/// A transform: what each slot gets of which slot.
struct Entries {
  struct Entry {
    std::uint32_t step, target;
    std::complex<double> value;
  };
  std::size_t slots;
  std::vector<Entry> entries;  ///< sorted by step and target in what Pipeline::build gives
  std::vector<linear::Progression> generators;

  linear::Diagonals map() const;
  /// Of each diagonal the least power of two after which its slots repeat.
  std::vector<std::size_t> periods() const;
};

/// The stages of one operand: how they are made, and a rough cost to compare pipelines of the same number of levels by.
struct Pipeline {
  Geometry geometry;
  std::size_t extent;  ///< columns or rows that the last transform fills
  bool left;
  std::size_t modulus = 1;     ///< b of the first of two transforms; 1: one transform
  bool paired = false;         ///< the first one makes the pairs
  std::vector<i64> doublings;  ///< rotations that repeat the period, in order
  double estimate = 0;

  std::size_t transforms() const { return modulus == 1 ? 1 : 2; }
  std::string label() const;
  std::vector<Entries> build() const;
};

/// The best way to make a base with one transform, and with two if that is better by its diagonals.
std::vector<Pipeline> pipelines(const Geometry& geometry, std::size_t extent, bool left);

}  // namespace ringforge::circuits::matrix
