// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// How the diagonals of a map are written as sums of baby and giant steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace ringforge::linear {

/// An arithmetic progression 0, stride, ..., stride * (count - 1); the stride may be negative.
struct Progression {
  std::int64_t stride = 0;
  std::size_t count = 0;
};

/// The baby step of each diagonal, in the order of `steps`; its giant step is the rest, modulo the slots. Baby and
/// giant steps other than 0 cost least among the splits that are tried: z = giant + baby with babies below a bound, in
/// units of the steps' common divisor, counted from behind the widest gap; and, where each diagonal is the sum of one
/// element of each generator, babies from the low parts and giants from the high parts of every coordinate.
/// @param steps the diagonals, distinct, below `slots`
/// @param slots a power of two
/// @param giant_cost of a giant step, in baby steps
/// @throws ShapeError for slots that are no power of two, or steps beyond them.
std::vector<std::uint32_t> baby_steps(std::span<const std::uint32_t> steps, std::size_t slots,
                                      std::span<const Progression> generators, double giant_cost);

}  // namespace ringforge::linear
