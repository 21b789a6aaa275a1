// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Which messages of a public board are mine? Senders mark messages with signals that nobody can tell from random words.
// A detector takes the receiver's key under encryption and computes on every message alike; the receiver decrypts and
// sees which signals are its own. (The Python package goes on under encryption: it compares, and packs the messages
// that are the receiver's into one short digest.)
#include "ringforge/circuits/omr_signal.hpp"

#include <cstdio>
#include <cstdlib>
#include <set>

#include "ringforge/circuits/omr_affine.hpp"

int main() {
  using namespace ringforge;
  // Signals of the ring of degree 2^10 modulo t, two clues each; t is also BFV's plaintext modulus, with a slot for
  // each of the board's 8,192 messages.
  constexpr u64 t = 786433;
  constexpr std::size_t messages = 8192;
  const auto signals = omr::SignalParameters::make(10, t, 2, 128, 0.5, true);
  bfv::ParametersSpec spec;
  spec.name = "board";
  spec.log_n = 13;
  spec.t = t;
  const auto primes = primes_below(50, 4, u64{1} << 18);
  spec.p = {primes[0]};
  spec.q = {primes[1], primes[2], primes[3]};
  const auto context = std::make_shared<const bfv::Context>(bfv::Parameters(spec));

  // Receivers: ours, and another. Senders take the public key of whom they write to.
  Randomness rng;
  const auto mine = omr::SignalSecret::make(signals, rng), other = omr::SignalSecret::make(signals, rng);
  const std::set<std::size_t> for_me{3, 77, 4096, 8191};
  std::vector<u32> a(messages * signals.n()), b(messages * signals.clues);
  other.key().signals(a.data(), b.data(), messages, rng);
  for (const std::size_t m : for_me) mine.key().signals(&a[m * signals.n()], &b[m * signals.clues], 1, rng);

  // Receiver, once: its signal key under BFV, and keys for two rotations.
  bfv::Client client(context);
  const auto secret = client.secret_key();
  const circuits::OmrLayout layout(context->ring(), t, signals.n(), signals.clues, 46, circuits::OmrMethod::ringforge);
  const circuits::OmrAffine affine(context, layout, context->params().max_limbs());
  std::vector<u32> key(signals.n());
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<u32>((mine.coefficients()[i] + i64{t}) % i64{t});
  const auto encrypted = client.encrypt(context->encode(layout.key_slots(key)), secret);
  rlwe::GaloisKeys keys;
  for (const u64 element : {affine.baby_element(), affine.giant_element()})
    keys.insert(client.galois_key(secret, element));

  // Detector: the board as diagonals, which serves every receiver; then a_m * s for all messages m at once.
  std::vector<std::vector<std::uint8_t>> diagonals(layout.giants());
  std::vector<std::span<const std::uint8_t>> views;
  for (std::size_t g = 0; g < layout.giants(); ++g) {
    diagonals[g].resize(layout.bytes(g));
    layout.encode(diagonals[g].data(), a, g);
    views.emplace_back(diagonals[g]);
  }
  const auto results = affine.run(affine.babies(encrypted, keys), {0, layout.giants()}, views, keys);

  // Receiver: a signal is its own when a_m * s - b_m is small in all clues.
  std::set<std::size_t> found;
  std::vector<std::vector<u64>> products;
  for (const auto& c : results) products.push_back(context->decode(client.decrypt(c, secret)));
  for (std::size_t m = 0; m < messages; ++m) {
    bool small = true;
    for (std::size_t l = 0; l < signals.clues; ++l) {
      const i64 error = (static_cast<i64>(products[l][m]) - i64{b[m * signals.clues + l]} + i64{t}) % i64{t};
      small = small && std::min(error, i64{t} - error) < 256;
    }
    if (small) found.insert(m);
  }
  for (const std::size_t m : found) std::printf("message %zu is for me\n", m);
  std::printf("%zu of %zu messages; noise budget left %.0f bits\n", found.size(), messages,
              client.noise_budget(results[0], secret));
  return found == for_me ? 0 : 1;
}
