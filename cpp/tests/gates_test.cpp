// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/fhew/gates.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "ringforge/error.hpp"

namespace ringforge::fhew {
namespace {

Seed seed(std::uint8_t x) {
  Seed s{};
  s[0] = x;
  return s;
}

// Small and insecure: everything that a full set has, in little time.
GateParameters small_set(LweSecret secret = LweSecret::binary, u64 modulus = 67104769) {
  GateParameters p;
  p.name = "small";
  p.insecure = "tests";
  p.n = 64;
  p.log_q = 16;
  p.lwe_secret = secret;
  p.log_n = 10;
  p.modulus = modulus;
  p.a = {6, 3, 8, true};
  p.b = {6, 2, 14, true};
  p.automorphism = {6, 3, 8, true};
  p.window = 5;
  p.ap_base = 4;
  p.key_switch = {true, 91, 2, 3, true};
  return p;
}
GateParameters small_paper_set() {
  GateParameters p = small_set(LweSecret::ternary, 134215681);
  p.log_q = 9;
  p.a = p.b = p.automorphism = {9, 3, 0, false};
  p.ap_base = 4;
  p.key_switch = {false, 25, 6, 0, false};
  return p;
}
GateParameters small_wide_set() {
  GateParameters p = small_paper_set();
  p.modulus = 34359709697;  // 35 bits, 64-bit words
  p.a = p.b = p.automorphism = {12, 3, 0, false};
  p.key_switch = {false, 25, 8, 0, false};
  return p;
}

bool expected(GateKind kind, bool a, bool b, bool c) {
  switch (kind) {
    case GateKind::and_:
      return a && b;
    case GateKind::or_:
      return a || b;
    case GateKind::nand_:
      return !(a && b);
    case GateKind::nor_:
      return !(a || b);
    case GateKind::xor_:
      return a != b;
    case GateKind::xnor_:
      return a == b;
    case GateKind::not_:
      return !a;
    case GateKind::mux:
      return a ? b : c;
    case GateKind::maj3:
      return a + b + c >= 2;
    case GateKind::xor3:
      return (a + b + c) % 2 == 1;
    case GateKind::and3:
      return a && b && c;
    case GateKind::or3:
      return a || b || c;
    case GateKind::nand3:
      return !(a && b && c);
    case GateKind::nor3:
      return !(a || b || c);
    case GateKind::copy:
      return a;
    case GateKind::zero:
      return false;
    case GateKind::one:
      return true;
  }
  return false;
}

// Every kind on every input, then the same once more on the results, so that gates meet refreshed inputs.
// The published sets are for gates of two inputs: their noise leaves no room for a third.
void truth_tables(const GateParameters& p, Method method, unsigned threads) {
  const bool published = !p.key_switch.at_q;
  TestRandomness rng(seed(1));
  const GateSecretKey secret(p, rng);
  const GateEvaluationKey key = GateEvaluationKey::make(secret, method, rng, threads);
  const std::size_t gates = kGateKinds * 8, words = p.n + 1;
  std::vector<u32> wires((6 + 2 * gates) * words);
  const std::uint8_t bits[2] = {0, 1};
  secret.encrypt(wires.data(), bits, 2, rng);
  for (int round = 0; round < 2; ++round) {
    std::vector<std::uint8_t> kinds;
    std::vector<std::int32_t> in, out;
    const std::int32_t base = round == 0 ? 0 : 2;  // wires 2, 3: refreshed 0 and 1
    for (unsigned k = 0; k < kGateKinds; ++k)
      for (unsigned v = 0; v < 8; ++v) {
        kinds.push_back(static_cast<std::uint8_t>(k));
        for (unsigned i = 0; i < 3; ++i) in.push_back(base + static_cast<std::int32_t>(v >> i & 1));
        out.push_back(static_cast<std::int32_t>(6 + round * gates + kinds.size() - 1));
      }
    if (round == 0) {
      kinds.insert(kinds.end(), {static_cast<std::uint8_t>(GateKind::and_), static_cast<std::uint8_t>(GateKind::or_)});
      in.insert(in.end(), {0, 1, -1, 0, 1, -1});
      out.insert(out.end(), {2, 3});
    }
    evaluate(key, {kinds.data(), in.data(), out.data(), kinds.size()}, wires.data(), wires.size() / words, threads);
    for (std::size_t g = 0; g < gates; ++g) {
      if (published && arity(static_cast<GateKind>(kinds[g])) == 3 && bootstraps(static_cast<GateKind>(kinds[g])) == 1)
        continue;
      std::uint8_t got = 2;
      secret.decrypt(&got, wires.data() + (6 + static_cast<std::size_t>(round) * gates + g) * words, 1);
      const unsigned v = g % 8;
      EXPECT_EQ(got, expected(static_cast<GateKind>(kinds[g]), v & 1, v >> 1 & 1, v >> 2 & 1))
          << name(static_cast<GateKind>(kinds[g])) << " of " << v << " by " << name(method) << ", round " << round;
    }
  }
}

TEST(Gates, TruthTablesBinarySecret) {
  for (const Method m : {Method::ginx, Method::ap, Method::automorphism}) truth_tables(small_set(), m, 1);
}
TEST(Gates, TruthTablesTernarySecret) {
  for (const Method m : {Method::ginx, Method::ap, Method::automorphism})
    truth_tables(small_set(LweSecret::ternary), m, 2);
}
TEST(Gates, TruthTablesPlainDigits) {
  for (const Method m : {Method::ginx, Method::ap, Method::automorphism}) truth_tables(small_paper_set(), m, 2);
}
TEST(Gates, TruthTablesWideWords) {
  for (const Method m : {Method::ginx, Method::ap, Method::automorphism}) truth_tables(small_wide_set(), m, 2);
}

TEST(Gates, NoiseOfNamedSets) {
  for (const char* set : {"gates-128", "gates-128-f128"}) {
    const GateParameters p = GateParameters::named(set);
    TestRandomness rng(seed(2));
    const GateSecretKey secret(p, rng);
    const GateEvaluationKey key = GateEvaluationKey::make(secret, Method::ginx, rng, 2);
    std::vector<u32> wires(2 * (p.n + 1));
    const std::uint8_t bits[2] = {1, 1};
    secret.encrypt(wires.data(), bits, 2, rng);
    double rotated = 0, switched = 0;
    for (int i = 0; i < 20; ++i) {
      const StageErrors e = trace(key, secret, GateKind::nand_, wires.data(), wires.data() + p.n + 1);
      rotated += e.rotated * e.rotated / 20;
      switched += e.switched * e.switched / 20;
      EXPECT_LT(std::abs(e.rounded), 128);
    }
    std::printf("%s: std at R: rotated %.2f switched %.2f\n", set, std::sqrt(rotated) * 2048 / p.modulus,
                std::sqrt(switched) * 2048 / 65536);
  }
}

TEST(Gates, KeysRoundTripAndGiveTheSameBits) {
  for (const auto& p : {small_set(), small_paper_set(), small_wide_set()}) {
    TestRandomness rng(seed(3));
    const GateSecretKey secret(p, rng);
    for (const Method m : {Method::ginx, Method::ap, Method::automorphism}) {
      const GateEvaluationKey key = GateEvaluationKey::make(secret, m, rng, 2);
      std::stringstream file;
      key.save(file);
      const GateEvaluationKey loaded = GateEvaluationKey::load(file, p, 2);
      std::vector<u32> x(4 * (p.n + 1)), y;
      const std::uint8_t bits[2] = {0, 1};
      secret.encrypt(x.data(), bits, 2, rng);
      y = x;
      const std::uint8_t kinds[2] = {2, 4};
      const std::int32_t in[6] = {0, 1, -1, 1, 0, -1}, out[2] = {2, 3};
      evaluate(key, {kinds, in, out, 2}, x.data(), 4, 1);
      evaluate(loaded, {kinds, in, out, 2}, y.data(), 4, 2);
      EXPECT_EQ(x, y);
      std::string bytes = file.str();
      for (const std::size_t cut :
           {std::size_t{0}, std::size_t{7}, std::size_t{30}, bytes.size() / 2, bytes.size() - 1}) {
        std::stringstream part(bytes.substr(0, cut));
        EXPECT_THROW(GateEvaluationKey::load(part, p), FormatError);
      }
      std::string flipped = bytes;
      flipped[bytes.size() / 3] ^= 1;  // most flips leave a residue in range: the checksum finds them
      std::stringstream damaged(flipped);
      EXPECT_THROW(GateEvaluationKey::load(damaged, p), FormatError);
      std::stringstream more(bytes + "x");
      EXPECT_THROW(GateEvaluationKey::load(more, p), FormatError);
      GateParameters other = p;
      other.ap_base += 1;
      std::stringstream again(bytes);
      EXPECT_THROW(GateEvaluationKey::load(again, other), MismatchError);
    }
  }
}

TEST(Gates, LevelsAreChecked) {
  const GateParameters p = small_set();
  TestRandomness rng(seed(4));
  const GateSecretKey secret(p, rng);
  const GateEvaluationKey key = GateEvaluationKey::make(secret, Method::ginx, rng, 1);
  std::vector<u32> wires(3 * (p.n + 1));
  const auto run = [&](std::uint8_t kind, std::int32_t a, std::int32_t b, std::int32_t out) {
    const std::int32_t in[3] = {a, b, -1};
    evaluate(key, {&kind, in, &out, 1}, wires.data(), 3, 1);
  };
  EXPECT_THROW(run(17, 0, 1, 2), ParameterError);
  EXPECT_THROW(run(0, 0, 3, 2), ShapeError);
  EXPECT_THROW(run(0, -1, 1, 2), ShapeError);
  EXPECT_THROW(run(0, 0, 1, 3), ShapeError);
  EXPECT_THROW(run(0, 0, 1, 1), ShapeError);  // reads what it writes
  EXPECT_THROW(GateParameters::named("paper-medium"), ParameterError);
  EXPECT_NO_THROW(GateParameters::named("paper-medium", "paper"));
  EXPECT_THROW(GateParameters::named("nothing"), ParameterError);
}

}  // namespace
}  // namespace ringforge::fhew
