// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "gate_inputs.hpp"

#include <bit>

namespace ringforge::fhew {
namespace {

// Bit m of a table is the value where input i is bit i of m.
constexpr unsigned kA = 0xaa, kB = 0xcc, kC = 0xf0;

constexpr unsigned truth(GateKind kind) noexcept {
  switch (kind) {
    case GateKind::and_:
      return kA & kB;
    case GateKind::or_:
      return kA | kB;
    case GateKind::nand_:
      return 0xff ^ (kA & kB);
    case GateKind::nor_:
      return 0xff ^ (kA | kB);
    case GateKind::xor_:
    case GateKind::sum2:
      return kA ^ kB;
    case GateKind::xnor_:
      return 0xff ^ kA ^ kB;
    case GateKind::not_:
      return 0xff ^ kA;
    case GateKind::mux:
      return (kA & kB) | (~kA & kC);
    case GateKind::maj3:
      return (kA & kB) | (kA & kC) | (kB & kC);
    case GateKind::xor3:
    case GateKind::sum3:
      return kA ^ kB ^ kC;
    case GateKind::and3:
      return kA & kB & kC;
    case GateKind::or3:
      return kA | kB | kC;
    case GateKind::nand3:
      return 0xff ^ (kA & kB & kC);
    case GateKind::nor3:
      return 0xff ^ (kA | kB | kC);
    case GateKind::copy:
    case GateKind::refresh:
      return kA;
    case GateKind::zero:
      return 0;
    case GateKind::one:
      return 0xff;
  }
  return 0;
}

// Differences show in the first word or two of a mask, so that these cost nothing beside a rotation.
bool equal(const u32* x, const u32* y, unsigned n, u32 mask) noexcept {
  if (x == y) return true;
  for (unsigned i = 0; i <= n; ++i)
    if (((x[i] ^ y[i]) & mask) != 0) return false;
  return true;
}

bool complementary(const u32* x, const u32* y, unsigned n, u32 mask, u32 quarter) noexcept {
  for (unsigned i = 0; i < n; ++i)
    if (((x[i] + y[i]) & mask) != 0) return false;
  return ((x[n] + y[n]) & mask) == quarter;
}

bool known(const u32* x, unsigned n, u32 mask, u32 quarter) noexcept {
  for (unsigned i = 0; i < n; ++i)
    if ((x[i] & mask) != 0) return false;
  const u32 body = x[n] & mask;
  return body == 0 || body == quarter;
}

// The rotation for a function of two ciphertexts that needs both; bit m of the table as above.
ReducedGate of_two(unsigned table, const u32* x, const u32* y) noexcept {
  ReducedGate r;
  r.form = ReducedGate::Form::rotation;
  r.in = {x, y, nullptr};
  if (table == 0b0110 || table == 0b1001) {
    r.decision = decision(table == 0b0110 ? GateKind::xor_ : GateKind::xnor_);
    return r;
  }
  // One of the four products x y, ~x y, x ~y, ~x ~y, or its complement: NOT c is q/4 - c.
  const bool product = std::popcount(table) == 1;
  const auto m = static_cast<unsigned>(std::countr_zero(product ? table : 15 ^ table));
  const bool not_x = (m & 1) == 0, not_y = (m & 2) == 0;
  r.decision = decision(product ? GateKind::and_ : GateKind::nand_);
  r.decision.weight = {not_x ? -1 : 1, not_y ? -1 : 1, 0};
  r.decision.constant = int{not_x} + int{not_y};
  return r;
}

}  // namespace

ReducedGate reduce(const GateParameters& params, GateKind kind, const std::array<const u32*, 3>& in) noexcept {
  const unsigned n = params.n, inputs = arity(kind);
  const u32 mask = (1u << params.log_q) - 1, quarter = 1u << (params.log_q - 2);
  // Input k is the ciphertext `of[k]` of the different ones, inverted or not; or it is known.
  constexpr unsigned kKnown = 3;
  std::array<const u32*, 3> different{};
  std::array<unsigned, 3> of{};
  std::array<bool, 3> inverted{};
  unsigned count = 0;
  for (unsigned k = 0; k < inputs; ++k) {
    of[k] = count;
    if (known(in[k], n, mask, quarter)) {
      of[k] = kKnown;
      inverted[k] = (in[k][n] & mask) == quarter;
      continue;
    }
    for (unsigned d = 0; d < count && of[k] == count; ++d) {
      inverted[k] = complementary(in[k], different[d], n, mask, quarter);
      if (inverted[k] || equal(in[k], different[d], n, mask)) of[k] = d;
    }
    if (of[k] == count) different[count++] = in[k];
  }
  if (count == inputs) return {};

  // At most two are different: the function of them, and whether it needs them.
  const auto value = [&](unsigned m) {
    unsigned bits = 0;
    for (unsigned k = 0; k < inputs; ++k) {
      const unsigned bit = (of[k] == kKnown ? 0 : m >> of[k] & 1) ^ unsigned { inverted[k] };
      bits |= bit << k;
    }
    return truth(kind) >> bits & 1;
  };
  unsigned table = 0;
  for (unsigned m = 0; m < 4; ++m) table |= value(m) << m;
  const bool needs_x = ((table ^ table >> 1) & 0b0101) != 0, needs_y = ((table ^ table >> 2) & 0b0011) != 0;
  if (needs_x && needs_y) return of_two(table, different[0], different[1]);
  ReducedGate r;
  if (!needs_x && !needs_y) {
    r.form = ReducedGate::Form::constant;
    r.value = (table & 1) != 0;
  } else {
    r.form = (table & 1) != 0 ? ReducedGate::Form::inverse : ReducedGate::Form::wire;
    r.in[0] = different[needs_x ? 0 : 1];
  }
  return r;
}

}  // namespace ringforge::fhew
