// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Polynomials of small integers: secrets, what is shared by both sides.
#pragma once

#include "ringforge/ltv/ltv.hpp"
#include "signed_bits.hpp"

namespace ringforge::ltv {

/// p += small, modulo every prime.
void add_small(Coefficients& p, const SmallPoly& small);

/// f of a level.
SmallPoly secret(const SecretKey& key, std::size_t level);

/// a b, reduced.
inline Coefficients product(const Poly<Eval, u32>& a, const Poly<Eval, u32>& b, unsigned threads) {
  Poly<Eval, u32> r(a.basis());
  mul(r, a, b);
  return to_coeff(r, threads);
}

}  // namespace ringforge::ltv
