// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Polynomials of small integers: bits with signs, secrets, what is shared by both sides.
#pragma once

#include "ringforge/ltv/ltv.hpp"

namespace ringforge::ltv {

/// Bits, coefficients of powers of X, as a polynomial with coefficients 0, 1 and -1 in the ring's basis, the signs from
/// a fixed stream: they make no difference modulo 2, and without them a message like 1 + X + X^2 + ... would have
/// values as large as N.
/// @throws ValueError for more than N bits, or values that are no bits.
SmallPoly signed_bits(std::span<const std::uint8_t> bits, const Context& context);

/// p += small, modulo every prime.
void add_small(Coefficients& p, const SmallPoly& small);

/// factor u + constant.
SmallPoly affine(const SmallPoly& u, i64 factor, i64 constant, const Context& context);
/// f of a level.
inline SmallPoly secret(const SecretKey& key, std::size_t level, const Context& context) {
  return affine(key.u.at(level), 2, 1, context);
}

/// a b, reduced.
inline Coefficients product(const Poly<Eval, u32>& a, const Poly<Eval, u32>& b, unsigned threads) {
  Poly<Eval, u32> r(a.basis());
  mul(r, a, b);
  return to_coeff(r, threads);
}

}  // namespace ringforge::ltv
