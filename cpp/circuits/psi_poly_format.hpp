// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// What both sides of the polynomial protocol know of messages. Internal.
//
//   keys      key id, seed of the uniform halves; for each digit the other half over the key's limbs, then P
//   request   key id; for each column and source: seed of parts[1], parts[0] over Q
//   reply     key id; for each column, bundle and polynomial: parts[0] without its low bits, parts[1]
//
// Residues are packed at the bits of their prime, in Eval form; replies in coefficients.
#pragma once

#include <bit>
#include <cstring>
#include <span>
#include <vector>

#include "ringforge/circuits/psi_poly.hpp"
#include "ringforge/packing.hpp"

namespace ringforge::circuits {

inline constexpr std::size_t kPsiPolyMessageHead = sizeof(u64), kPsiPolyKeysHead = sizeof(u64) + sizeof(Seed);

inline unsigned psi_poly_bits(u64 modulus) noexcept { return static_cast<unsigned>(std::bit_width(modulus - 1)); }

/// Which powers are factors of others, by power: those are relinearised at all limbs, other products at plain_limbs.
inline std::vector<bool> psi_poly_factors(const PsiPolyPlan& plan, const std::vector<PsiPolyPlan::Step>& steps) {
  std::vector<bool> out(std::size_t{plan.degree} + 1);
  for (const auto& s : steps)
    if (s.depth > 0) out[s.left] = out[s.right] = true;
  return out;
}

/// The body of a message of this plan, after its key id. @throws FormatError, MismatchError.
inline const std::uint8_t* open_poly_message(std::span<const std::uint8_t> bytes, std::size_t expected,
                                             io::TypeCode type, const PsiPolyContext& context, u64* key_id) {
  const auto body = io::open_record(bytes, type, context.hash(), expected - io::record_bytes(0));
  std::memcpy(key_id, body.data(), sizeof(*key_id));
  return body.data() + sizeof(*key_id);
}

}  // namespace ringforge::circuits
