// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The tables that kernels of the tensor ring of index 65537 take.
#pragma once

#include "ringforge/memory.hpp"
#include "ringforge/rader_kernels.hpp"
#include "ringforge/ring.hpp"

namespace ringforge {

/// Tables of that ring and one prime. Immutable.
class RaderTables {
 public:
  /// The modulus is a prime that is 1 modulo 65537 * 65536.
  explicit RaderTables(const kernels::Modulus& mod);
  RaderTables(const RaderTables&) = delete;
  RaderTables& operator=(const RaderTables&) = delete;

  const kernels::RaderTable& table() const noexcept { return table_; }

 private:
  kernels::RaderTable table_;
  WordBuffer storage_;
};

}  // namespace ringforge
