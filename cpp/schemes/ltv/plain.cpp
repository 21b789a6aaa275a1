// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "plain.hpp"

#include <algorithm>

#include "ringforge/constant_time.hpp"
#include "ringforge/error.hpp"

namespace ringforge::ltv {

SmallPoly signed_bits(std::span<const std::uint8_t> bits, const Context& context) {
  const std::size_t n = context.params().degree();
  if (bits.size() > n)
    throw ValueError(std::to_string(bits.size()) + " bits, a message has at most " + std::to_string(n) +
                     ": use several ciphertexts");
  SecretArray<u32> own(n);
  own.zero();
  if (const auto bad = beyond_bits(bits))
    throw ValueError("a message has bits, and entry " + std::to_string(*bad) + " is neither 0 nor 1");
  for (std::size_t k = 0; k < bits.size(); ++k) own.data()[k] = bits[k];
  if (context.tensor() != nullptr) context.tensor()->from_power_basis(own.data(), own.data(), u32{2});
  SmallPoly p(n);
  Stream signs({}, StreamObject::message_sign);
  u64 word = 0;
  for (std::size_t k = 0; k < n; ++k) {
    if (k % 64 == 0) word = signs.next();
    const i64 sign = 1 - 2 * static_cast<i64>(word >> (k % 64) & 1);
    p.coeffs()[k] = sign * own.data()[k];
  }
  return p;
}

void add_small(Coefficients& p, const SmallPoly& small) {
  const auto& kernels = kernels::active32();
  const std::size_t n = p.degree();
  std::vector<i64> padded;
  const i64* from = small.coeffs().data();
  if (p.stride() != n) {
    padded.assign(p.stride(), 0);
    std::copy_n(from, n, padded.begin());
    from = padded.data();
  }
  SecretArray<u32> residues(p.stride());
  for (std::size_t i = 0; i < p.limbs(); ++i) {
    kernels.reduce_signed(residues.data(), from, p.stride(), p.basis()[i].mod());
    kernels.add(p.limb(i), p.limb(i), residues.data(), p.stride(), p.basis()[i].mod());
  }
  wipe(padded.data(), padded.size() * sizeof(i64));
}

SmallPoly affine(const SmallPoly& u, i64 factor, i64 constant, const Context& context) {
  SmallPoly r(u.coeffs().size());
  for (std::size_t k = 0; k < r.coeffs().size(); ++k)
    r.coeffs()[k] = factor * u.coeffs()[k] + constant * context.one()[k];
  return r;
}

}  // namespace ringforge::ltv
