// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The transform tables of small rings.
#pragma once

#include <memory>

#include "ringforge/memory.hpp"
#include "ringforge/ring.hpp"
#include "ringforge/small_kernels.hpp"

namespace ringforge {

/// Holds the tables behind a kernels::SmallNtt: those of PrimeOf<W>, and what its kernels read besides. Immutable; W is
/// u32 or u64.
template <class W>
class SmallTables {
 public:
  /// @throws ParameterError when log_n is outside [8, 12], q is not a prime that is 1 mod 2^(log_n+1), or q is
  ///         outside (2^16, 2^31) for 32-bit words, (2^16, 2^61) for 64-bit words.
  SmallTables(W q, unsigned log_n);
  SmallTables(const SmallTables&) = delete;
  SmallTables& operator=(const SmallTables&) = delete;

  const kernels::SmallNtt<W>& ntt() const noexcept { return ntt_; }
  /// The smallest primitive 2n-th root of unity.
  W psi() const noexcept { return static_cast<W>(prime_->psi()); }

 private:
  std::shared_ptr<const PrimeOf<W>> prime_;
  std::shared_ptr<const Prime> wide_;  // the same numbers in 64-bit words
  WordBuffer centred_;
  kernels::SmallNtt<W> ntt_;
};

}  // namespace ringforge
