// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Polynomials of small integers: bits with signs, secrets, what is shared by both sides.
#pragma once

#include "ringforge/ltv/ltv.hpp"

namespace ringforge::ltv {

/// Bits as a polynomial of 0, 1 and -1, the signs from a fixed stream: they make no difference modulo 2, and without
/// them a message like 1 + X + X^2 + ... would have values as large as N.
/// @throws ValueError for more than N bits, or values that are no bits.
SmallPoly signed_bits(std::span<const std::uint8_t> bits, std::size_t n);

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
