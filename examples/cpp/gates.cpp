// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// An adder on encrypted bits: two bytes, bit by bit, each gate followed by a bootstrap, so that any circuit can follow.
#include <array>
#include <cstdio>

#include "ringforge/fhew/gates.hpp"

int main() {
  using namespace ringforge;
  using fhew::GateKind;
  constexpr std::size_t bits = 8;
  constexpr unsigned a = 173, b = 90;

  // Client: the secret key, and the key with which a server can compute but not decrypt.
  const auto params = fhew::GateParameters::named("gates-128");
  Randomness rng;
  const fhew::GateSecretKey secret(params, rng);
  const auto key = fhew::GateEvaluationKey::make(secret, fhew::Method::ginx, rng);

  // A wire is a row of n + 1 words: first a's bits, then b's, then carries, then sums.
  const std::size_t width = params.n + 1, first_b = bits, carry = 2 * bits, sum = carry + bits + 1;
  constexpr std::size_t count = 4 * bits + 1;
  std::vector<u32> wires(count * width);
  std::array<std::uint8_t, 2 * bits + 1> inputs{};  // the first carry, 0, too
  for (std::size_t i = 0; i < bits; ++i) {
    inputs[i] = (a >> i) & 1;
    inputs[first_b + i] = (b >> i) & 1;
  }
  secret.encrypt(wires.data(), inputs.data(), inputs.size(), rng);

  // Server: a level has gates that do not wait for each other.
  std::size_t bootstraps = 0;
  for (std::size_t i = 0; i < bits; ++i) {
    const auto wire = [](std::size_t x) { return static_cast<std::int32_t>(x); };
    const std::array kinds{static_cast<std::uint8_t>(GateKind::xor3), static_cast<std::uint8_t>(GateKind::maj3)};
    const std::array in{wire(i), wire(first_b + i), wire(carry + i), wire(i), wire(first_b + i), wire(carry + i)};
    const std::array out{wire(sum + i), wire(carry + i + 1)};
    bootstraps += fhew::evaluate(key, {kinds.data(), in.data(), out.data(), kinds.size()}, wires.data(), count);
  }

  // Client: the sums, and the last carry.
  std::array<std::uint8_t, bits> low{};
  std::uint8_t high = 0;
  secret.decrypt(low.data(), &wires[sum * width], bits);
  secret.decrypt(&high, &wires[(carry + bits) * width], 1);
  unsigned result = static_cast<unsigned>(high) << bits;
  for (std::size_t i = 0; i < bits; ++i) result |= static_cast<unsigned>(low[i]) << i;
  std::printf("%u + %u = %u after %zu bootstraps; key of %.1f MiB\n", a, b, result, bootstraps,
              static_cast<double>(key.bootstrap_bytes() + key.switch_bytes()) / (1 << 20));
  return result == a + b ? 0 : 1;
}
