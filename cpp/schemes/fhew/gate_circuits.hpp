// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// What each gate adds up and which half circle means one. Internal.
#pragma once

#include <array>

#include "ringforge/fhew/gates.hpp"

namespace ringforge::fhew {

/// The sum (sum_i weight_i*c_i + constant*q/4) and the half circle [start*q/8, start*q/8 + q/2) whose phases give 1.
struct Decision {
  std::array<int, 3> weight;
  int constant;
  unsigned start;
};

/// The decision of a gate with one blind rotation. Sums of bits k*q/4 are q/8 away from both ends of the half circle,
/// doubled ones q/4. @throws nothing; kinds with 0 or 2 rotations have no decision.
constexpr Decision decision(GateKind kind) noexcept {
  switch (kind) {
    case GateKind::and_:
    case GateKind::sum2:  // of the carry
      return {{1, 1, 0}, 0, 3};
    case GateKind::nand_:
      return {{1, 1, 0}, 0, 7};
    case GateKind::or_:
      return {{1, 1, 0}, 0, 1};
    case GateKind::nor_:
      return {{1, 1, 0}, 0, 5};
    case GateKind::xor_:
      return {{2, -2, 0}, 0, 2};
    case GateKind::xnor_:
      return {{2, -2, 0}, 0, 6};
    case GateKind::maj3:
    case GateKind::sum3:  // of the carry
      return {{1, 1, 1}, 0, 3};
    case GateKind::refresh:
      return {{2, 0, 0}, 0, 2};
    case GateKind::xor3:
      return {{2, 2, 2}, 0, 2};
    default:
      return {{0, 0, 0}, 0, 0};
  }
}

}  // namespace ringforge::fhew
