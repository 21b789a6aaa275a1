// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The tables that kernels of tensor rings take.
#pragma once

#include "ringforge/memory.hpp"
#include "ringforge/ring.hpp"
#include "ringforge/tensor_kernels.hpp"

namespace ringforge {

/// Tables of one tensor ring and prime. Immutable.
class TensorTables {
 public:
  /// The ring is a tensor ring, the modulus a prime that is 1 mod ring.prime_step().
  TensorTables(const Ring& ring, const kernels::Modulus& mod);
  TensorTables(const TensorTables&) = delete;
  TensorTables& operator=(const TensorTables&) = delete;

  const kernels::TensorTable& table() const noexcept { return table_; }

 private:
  kernels::TensorTable table_;
  WordBuffer line_, forward_, inverse_;
};

}  // namespace ringforge
