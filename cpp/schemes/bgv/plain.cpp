// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "plain.hpp"

#include <string>

#include "ringforge/constant_time.hpp"
#include "ringforge/error.hpp"

namespace ringforge::bgv {

SmallPoly signed_bits(std::span<const std::uint8_t> bits, std::size_t n, const Seed& signs) {
  if (bits.size() > n)
    throw ValueError(std::to_string(bits.size()) + " bits, a message has at most " + std::to_string(n) +
                     ": use several ciphertexts");
  SmallPoly p(n);
  Stream stream(signs, StreamObject::message_sign);
  u64 word = 0;
  if (const auto bad = beyond_bits(bits))
    throw ValueError("a message has bits, and entry " + std::to_string(*bad) + " is neither 0 nor 1");
  for (std::size_t k = 0; k < bits.size(); ++k) {
    if (k % 64 == 0) word = stream.next();
    const i64 sign = 1 - 2 * static_cast<i64>(word >> (k % 64) & 1);
    p.coeffs()[k] = sign * bits[k];
  }
  return p;
}

}  // namespace ringforge::bgv
