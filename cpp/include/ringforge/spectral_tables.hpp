// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The twiddle factors behind spectral_kernels.hpp, and how far its products may be off before they are rounded.
#pragma once

#include <span>

#include "ringforge/memory.hpp"
#include "ringforge/ring.hpp"
#include "ringforge/spectral_kernels.hpp"

namespace ringforge {

/// Holds the arrays of a kernels::SpectralTable. Immutable.
class SpectralTables {
 public:
  /// @throws ParameterError when log_n is outside [8, 12].
  explicit SpectralTables(unsigned log_n);
  SpectralTables(const SpectralTables&) = delete;
  SpectralTables& operator=(const SpectralTables&) = delete;

  const kernels::SpectralTable& table() const noexcept { return table_; }

 private:
  WordArray<double> words_;
  kernels::SpectralTable table_;
};

/// The largest absolute value of a digit of `cut`, over all residues modulo q.
double largest_digit(const kernels::Cut& cut, u64 q) noexcept;

/// An upper bound, over all polynomials and all keys modulo q, on how far a coefficient of a spectral product is from
/// the integer it stands for: one cut for each polynomial, ring degree 2^log_n. Products are exact where this is
/// below 1/2 (derived in cpp/kernels/NOTES.md, "Exact products in double precision").
double spectral_error(std::span<const kernels::Cut> cuts, u64 q, unsigned log_n) noexcept;

}  // namespace ringforge
