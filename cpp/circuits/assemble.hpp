// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Polynomials from residues that another machine computed.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "ringforge/error.hpp"
#include "ringforge/ring.hpp"
#include "ringforge/rlwe/ciphertext.hpp"

namespace ringforge::circuits {

/// One part of a result: its limbs, in the order of the primes.
using PartLimbs = std::vector<std::span<const u64>>;

/// A polynomial over a basis. @throws ShapeError for another number of limbs or words, ValueError for words that are no
/// residues.
inline Poly<Eval> assembled(const Basis& basis, const PartLimbs& limbs) {
  if (limbs.size() != basis.size())
    throw ShapeError("a result has " + std::to_string(limbs.size()) + " limbs instead of " +
                     std::to_string(basis.size()));
  const std::size_t n = basis.ring().transform_length();
  Poly<Eval> poly(basis);
  for (std::size_t l = 0; l < limbs.size(); ++l) {
    if (limbs[l].size() != n)
      throw ShapeError("a limb of a result has " + std::to_string(limbs[l].size()) + " words instead of " +
                       std::to_string(n));
    if (std::any_of(limbs[l].begin(), limbs[l].end(), [&](u64 x) { return x >= basis[l].value(); }))
      throw ValueError("limb " + std::to_string(l) + " of a result has words that are no residues of its prime");
    std::copy(limbs[l].begin(), limbs[l].end(), poly.limb(l));
  }
  return poly;
}

/// A ciphertext of two parts. @throws as `assembled`.
inline rlwe::Ciphertext assembled_pair(const Basis& basis, std::span<const PartLimbs, 2> parts, u64 key_id) {
  rlwe::Ciphertext r;
  r.key_id = key_id;
  for (const auto& limbs : parts) r.parts.push_back(assembled(basis, limbs));
  return r;
}

}  // namespace ringforge::circuits
