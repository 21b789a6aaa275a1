// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Context and plaintexts as factors.
#include <cmath>
#include <string>

#include "plain.hpp"
#include "ringforge/bgv/bgv.hpp"
#include "ringforge/error.hpp"

namespace ringforge::bgv {
namespace {

rlwe::GadgetPtr gadget_of(const Parameters& params) {
  const auto& spec = params.spec();
  return std::make_shared<const rlwe::Gadget>(Basis(params.ring(), spec.q), Basis(params.ring(), spec.p),
                                              rlwe::GadgetSpec{spec.limbs_per_digit, 0});
}

}  // namespace

Context::Context(const Parameters& params, unsigned security)
    : rules_(params, security),
      gadget_(gadget_of(params)),
      tensor_(params.ring()),
      spectrum_(std::make_shared<const Spectrum>(params.m())) {}

Basis Context::basis(std::size_t limbs) const {
  (void)params().log_q(limbs);
  return gadget_->q().prefix(limbs);
}

u64 Context::frobenius_element(i64 k) const noexcept {
  const u64 two = k < 0 ? ring().inverse(2) : 2;
  return ring().power(two, k < 0 ? u64{0} - static_cast<u64>(k) : static_cast<u64>(k));
}

void Context::check(const Multiplier& m) const {
  gadget_->check_level(m.poly.basis(), "the multiplier", "make it with this context");
  if (m.special.limbs() > 0 && !(m.special.basis() == gadget_->p()))
    throw MismatchError("the multiplier was made for other special primes: make it with this context");
}

void Context::check(const Ciphertext& c) const { c.check(*gadget_); }

Multiplier Context::multiplier(std::span<const std::uint8_t> bits, std::optional<std::size_t> limbs, bool special,
                               unsigned threads) const {
  const Basis q = basis(limbs.value_or(params().max_limbs()));
  const SmallPoly powers = signed_bits(bits, params().degree());
  Multiplier m;
  // Doubles err by far less than 2^-30 of the value.
  m.log_peak = std::max(0.0, largest_value(*spectrum_, powers) + 0x1p-30);
  const SmallPoly poly = in_tensor_basis(tensor_, powers);
  m.poly = poly.lift(q, threads);
  if (special) m.special = poly.lift(gadget_->p(), threads);
  return m;
}

}  // namespace ringforge::bgv
