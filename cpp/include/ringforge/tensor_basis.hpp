// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Between the tensor basis of a ring and the powers of X below its degree. Both maps are linear over the integers and
// take additions only.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "ringforge/ring.hpp"

namespace ringforge {

class CyclotomicReduction;

/// Conversions of one tensor ring (`Ring::tensor`). Immutable; any threads may share it. All polynomials are
/// `degree()` words; dst may be src. Running time does not depend on values.
class TensorBasis {
 public:
  /// @throws ParameterError when the ring is no tensor ring.
  explicit TensorBasis(const Ring& ring);

  /// Word i of Coeff form is the coefficient of X^exponents()[i]: all units modulo the index, each once.
  std::span<const u32> exponents() const noexcept { return exponents_; }

  /// Residues in [0, q).
  template <class Word>
  void to_power_basis(Word* dst, const Word* src, Word q) const;
  template <class Word>
  void from_power_basis(Word* dst, const Word* src, Word q) const;
  /// Integers whose images are below 2^63 in size.
  /// @throws MismatchError when there are not `degree()` of them.
  std::vector<i64> to_power_basis(std::span<const i64> a) const;
  std::vector<i64> from_power_basis(std::span<const i64> a) const;

 private:
  void require_degree(std::size_t have) const;

  u64 index_;
  std::vector<u64> primes_;
  std::vector<u32> exponents_;
  std::shared_ptr<const CyclotomicReduction> reduction_;
};

}  // namespace ringforge
