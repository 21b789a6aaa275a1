// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Polynomials of small integers.
#pragma once

#include <cmath>

#include "ref/arith.hpp"
#include "ringforge/bgv/bgv.hpp"
#include "ringforge/memory.hpp"
#include "spectrum.hpp"

namespace ringforge::bgv {

/// The seed of the signs that everybody knows.
inline constexpr Seed kPublicSigns{};

/// Bits as a polynomial of 0, 1 and -1, the signs from a stream: they make no difference modulo 2, and without them a
/// message like 1 + X + X^2 + ... would have values as large as N.
/// @throws ValueError for more than n bits, or values that are no bits.
SmallPoly signed_bits(std::span<const std::uint8_t> bits, std::size_t n, const Seed& signs = kPublicSigns);

/// From powers of X to the ring's coefficients.
inline SmallPoly in_tensor_basis(const TensorBasis& basis, const SmallPoly& powers) {
  SmallPoly r(0);
  r.coeffs() = basis.from_power_basis(powers.coeffs());
  return r;
}

/// The square of the largest value at a primitive root of unity; of coefficients of powers of X, up to the index of
/// them.
inline double largest_square(const Spectrum& spectrum, const SmallPoly& powers) {
  std::vector<double> x(powers.coeffs().begin(), powers.coeffs().end());
  const double most = spectrum.largest(x);
  wipe(x.data(), x.size() * sizeof(double));
  return most;
}
/// log2 of that value: of public polynomials.
inline double largest_value(const Spectrum& spectrum, const SmallPoly& powers) {
  return std::log2(largest_square(spectrum, powers)) / 2;
}

/// p/2 modulo every prime, in place.
inline void halve(Poly<Eval>& p) {
  for (std::size_t i = 0; i < p.limbs(); ++i) {
    const auto& m = p.basis()[i].mod();
    kernels::active().mul_scalar(p.limb(i), p.limb(i), kernels::make_factor((m.q + 1) / 2, m), p.length(), m);
  }
}

}  // namespace ringforge::bgv
