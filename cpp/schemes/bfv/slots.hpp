// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Slots of plaintexts: the transform modulo t, and which of its values is which slot.
#pragma once

#include <memory>
#include <vector>

#include "ringforge/ring.hpp"

namespace ringforge::bfv {

/// For a prime t = 1 mod 2N. Immutable; any threads may share one.
class Slots {
 public:
  Slots(const Ring& ring, u64 t);
  /// N coefficients in [0, t), in place, to the values at the roots in Eval order, and back.
  void to_values(u64* words) const noexcept;
  void to_coefficients(u64* words) const noexcept;
  /// Where the value of slot j (row 0, then row 1) is in Eval order.
  const std::vector<u32>& index() const noexcept { return index_; }

 private:
  std::shared_ptr<const Prime> prime_;  // null for t below 2^16, which the kernels do not take
  kernels::Modulus small_;
  std::vector<u64> roots_, inverses_;  // as kernels::NttTable::w and iw
  std::vector<u32> index_;
};

}  // namespace ringforge::bfv
