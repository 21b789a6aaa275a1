// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/fhew/gates.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
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
    case GateKind::sum2:
      return a != b;
    case GateKind::sum3:
      return (a + b + c) % 2 == 1;
    case GateKind::refresh:
      return a;
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
  const std::size_t gates = kGateKinds * 8, words = p.n + 1, first = 12;
  std::vector<u32> wires((first + 2 * gates) * words);
  // 0 and 1 for each input, then the same refreshed: inputs of a gate are different ciphertexts.
  const std::uint8_t bits[6] = {0, 1, 0, 1, 0, 1};
  secret.encrypt(wires.data(), bits, 6, rng);
  for (int round = 0; round < 2; ++round) {
    std::vector<std::uint8_t> kinds;
    std::vector<std::int32_t> in, out;
    const std::int32_t base = round == 0 ? 0 : 6;
    for (unsigned k = 0; k < kGateKinds; ++k)
      for (unsigned v = 0; v < 8; ++v) {
        kinds.push_back(static_cast<std::uint8_t>(k));
        for (unsigned i = 0; i < 3; ++i) in.push_back(base + static_cast<std::int32_t>(2 * i + (v >> i & 1)));
        out.push_back(static_cast<std::int32_t>(first + static_cast<std::size_t>(round) * gates + kinds.size() - 1));
      }
    // Sums share the rotations of the ANDs and majorities of the same inputs; pairs of inputs come twice here, and the
    // second sum of a pair has a rotation of its own.
    std::size_t rotations = 8 * (9 + 2 * 5) + (method == Method::automorphism ? 16 : 4);
    if (round == 0) {
      for (std::int32_t i = 0; i < 6; ++i) {
        kinds.push_back(static_cast<std::uint8_t>(i % 2 == 0 ? GateKind::and_ : GateKind::or_));
        in.insert(in.end(), {i, (i + 3) % 6, -1});
        out.push_back(6 + i);
      }
      rotations += 6;
    }
    EXPECT_EQ(
        evaluate(key, {kinds.data(), in.data(), out.data(), kinds.size()}, wires.data(), wires.size() / words, threads),
        rotations);
    for (std::size_t g = 0; g < gates; ++g) {
      if (published && arity(static_cast<GateKind>(kinds[g])) == 3 && bootstraps(static_cast<GateKind>(kinds[g])) == 1)
        continue;
      std::uint8_t got = 2;
      secret.decrypt(&got, wires.data() + (first + static_cast<std::size_t>(round) * gates + g) * words, 1);
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

// Every kind on every choice of inputs among x, NOT x, y, NOT y, copies of x and y, and the constants: the right bit,
// by no more rotations than a function of x and y takes, and never the sum of dependent ciphertexts.
TEST(Gates, DependentInputsAreReplaced) {
  const GateParameters p = small_set();
  TestRandomness rng(seed(5));
  const GateSecretKey secret(p, rng);
  const GateEvaluationKey key = GateEvaluationKey::make(secret, Method::ginx, rng, 2);
  const std::size_t words = p.n + 1;
  // Wires: x, y, NOT x, NOT y, copies of x and y with bits above q in their words, 0, 1, then the outputs.
  constexpr std::size_t kWires = 8;
  for (unsigned values = 0; values < 4; ++values) {
    const bool x = values & 1, y = values >> 1;
    const std::array<bool, kWires> bit{x, y, !x, !y, x, y, false, true};
    std::vector<u32> wires(kWires * words);
    const std::uint8_t clear[2] = {x, y};
    secret.encrypt(wires.data(), clear, 2, rng);
    const std::uint8_t free_kinds[6] = {
        static_cast<std::uint8_t>(GateKind::not_), static_cast<std::uint8_t>(GateKind::not_),
        static_cast<std::uint8_t>(GateKind::copy), static_cast<std::uint8_t>(GateKind::copy),
        static_cast<std::uint8_t>(GateKind::zero), static_cast<std::uint8_t>(GateKind::one)};
    const std::int32_t from[18] = {0, -1, -1, 1, -1, -1, 0, -1, -1, 1, -1, -1, -1, -1, -1, -1, -1, -1};
    const std::int32_t to[6] = {2, 3, 4, 5, 6, 7};
    EXPECT_EQ(evaluate(key, {free_kinds, from, to, 6}, wires.data(), kWires, 1), 0U);
    for (std::size_t i = 4 * words; i < 6 * words; ++i) wires[i] += 1u << p.log_q;
    std::vector<std::uint8_t> kinds;
    std::vector<std::int32_t> in, out;
    for (unsigned k = 0; k < kGateKinds; ++k) {
      if (bootstraps(static_cast<GateKind>(k)) == 0) continue;
      const unsigned inputs = arity(static_cast<GateKind>(k));
      for (std::int32_t a = 0; a < 8; ++a)
        for (std::int32_t b = 0; b < 8; ++b)
          for (std::int32_t c = 0; c < (inputs == 3 ? 8 : 1); ++c) {
            kinds.push_back(static_cast<std::uint8_t>(k));
            in.insert(in.end(), {a, b, inputs == 3 ? c : -1});
            out.push_back(static_cast<std::int32_t>(kWires + kinds.size() - 1));
          }
    }
    wires.resize((kWires + kinds.size()) * words);
    for (std::size_t g = 0; g < kinds.size(); ++g) {
      const auto kind = static_cast<GateKind>(kinds[g]);
      const std::int32_t* i = &in[3 * g];
      const auto at = [&](int k) { return i[k] < 0 ? 0 : static_cast<std::size_t>(i[k]); };
      const std::size_t took = evaluate(key, {&kinds[g], i, &out[g], 1}, wires.data(), wires.size() / words, 1);
      std::uint8_t got = 2;
      secret.decrypt(&got, wires.data() + static_cast<std::size_t>(out[g]) * words, 1);
      const bool want = expected(kind, bit[at(0)], bit[at(1)], bit[at(2)]);
      const std::string what = std::string(name(kind)) + " of wires " + std::to_string(i[0]) + ", " +
                               std::to_string(i[1]) + ", " + std::to_string(i[2]);
      EXPECT_EQ(got, want) << what;
      // Whether x and y are both needed, by the function itself.
      const auto with = [&](bool u, bool v) {
        const std::array<bool, kWires> w{u, v, !u, !v, u, v, false, true};
        return expected(kind, w[at(0)], w[at(1)], w[at(2)]);
      };
      bool needs_x = false, needs_y = false;
      for (const bool other : {false, true}) {
        needs_x |= with(false, other) != with(true, other);
        needs_y |= with(other, false) != with(other, true);
      }
      // A refresh is asked for; only of a known bit there is nothing to do.
      const bool rotates = kind == GateKind::refresh ? i[0] < 6 : needs_x && needs_y;
      EXPECT_EQ(took, rotates ? 1U : 0U) << what;
    }
  }
}

// Gates of one kind on the same inputs give the same words, in any order of the inputs: AND3(x, y, AND(y, x)) meets its
// own first half again.
TEST(Gates, ReconvergingGatesAreFound) {
  const GateParameters p = small_set();
  TestRandomness rng(seed(6));
  const GateSecretKey secret(p, rng);
  const std::size_t words = p.n + 1;
  for (const Method m : {Method::ginx, Method::ap, Method::automorphism}) {
    const GateEvaluationKey key = GateEvaluationKey::make(secret, m, rng, 2);
    std::vector<u32> wires(6 * words);
    const std::uint8_t bits[2] = {1, 1};
    secret.encrypt(wires.data(), bits, 2, rng);
    const auto run = [&](GateKind kind, std::array<std::int32_t, 3> in, std::int32_t out) {
      const auto k = static_cast<std::uint8_t>(kind);
      return evaluate(key, {&k, in.data(), &out, 1}, wires.data(), 6, 2);
    };
    EXPECT_EQ(run(GateKind::and_, {0, 1, -1}, 2), 1U);
    EXPECT_EQ(run(GateKind::and_, {1, 0, -1}, 3), 1U);
    EXPECT_TRUE(std::equal(wires.begin() + static_cast<std::ptrdiff_t>(2 * words),
                           wires.begin() + static_cast<std::ptrdiff_t>(3 * words),
                           wires.begin() + static_cast<std::ptrdiff_t>(3 * words)));
    EXPECT_EQ(run(GateKind::xor_, {2, 3, -1}, 4), 0U);
    EXPECT_EQ(run(GateKind::nand3, {0, 1, 3}, 4), 1U);  // the second half is NOT of the first
    std::uint8_t got = 2;
    secret.decrypt(&got, wires.data() + 4 * words, 1);
    EXPECT_EQ(got, 0);
    run(GateKind::not_, {2, -1, -1}, 5);
    EXPECT_EQ(run(GateKind::and3, {0, 1, 5}, 4), 1U);  // AND of a bit and its complement
    secret.decrypt(&got, wires.data() + 4 * words, 1);
    EXPECT_EQ(got, 0);
  }
}

// What a key's ciphertexts have in common is small beside what each has of its own: their noise is independent. (Plain
// digits have a mean; substitutions that nothing rotates apart would add it up.)
TEST(Gates, NoiseHasNoCommonPart) {
  constexpr int kSamples = 48;
  for (const auto& p : {small_set(), small_paper_set()})
    for (const Method m : {Method::ginx, Method::ap, Method::automorphism})
      for (std::uint8_t s = 1; s <= 3; ++s) {
        TestRandomness rng(seed(s));
        const GateSecretKey secret(p, rng);
        const GateEvaluationKey key = GateEvaluationKey::make(secret, m, rng, 2);
        std::vector<u32> wires(2 * kSamples * (p.n + 1));
        std::vector<std::uint8_t> bits(2 * kSamples);
        for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = i % 3 == 0;
        secret.encrypt(wires.data(), bits.data(), bits.size(), rng);
        double sum = 0, squares = 0;
        for (std::size_t i = 0; i < kSamples; ++i) {
          const u32* in = wires.data() + 2 * i * (p.n + 1);
          const StageErrors e = trace(key, secret, GateKind::nand_, in, in + p.n + 1);
          sum += e.rotated;
          squares += e.rotated * e.rotated;
        }
        const double mean = sum / kSamples, deviation = std::sqrt(squares / kSamples - mean * mean);
        // 5 standard deviations of the mean of independent samples; and 0.2 of one sample's for what there may be.
        EXPECT_LT(std::abs(mean), deviation * (5 / std::sqrt(kSamples) + 0.2))
            << p.modulus << " by " << name(m) << ", seed " << int{s} << ": mean " << mean << " of " << deviation;
      }
}

TEST(Gates, KeysHaveIds) {
  const GateParameters p = small_set();
  TestRandomness rng(seed(7));
  const GateSecretKey one(p, rng), other(p, rng);
  EXPECT_NE(one.id(), 0U);
  EXPECT_NE(one.id(), other.id());
  const GateEvaluationKey key = GateEvaluationKey::make(one, Method::ginx, rng, 2);
  EXPECT_EQ(key.id(), one.id());
  std::vector<u32> wires(2 * (p.n + 1));
  const std::uint8_t bits[2] = {0, 1};
  one.encrypt(wires.data(), bits, 2, rng);
  EXPECT_NO_THROW(trace(key, one, GateKind::nand_, wires.data(), wires.data() + p.n + 1));
  EXPECT_THROW(trace(key, other, GateKind::nand_, wires.data(), wires.data() + p.n + 1), MismatchError);
  const GateSecretKey ternary(small_set(LweSecret::ternary), rng);
  EXPECT_THROW(trace(key, ternary, GateKind::nand_, wires.data(), wires.data() + p.n + 1), MismatchError);
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

// Rows for those who run the chain elsewhere: products with them are the chain's, word for word.
template <class W>
void exported_rows(const GateParameters& p) {
  TestRandomness rng(seed(6));
  const GateSecretKey secret(p, rng);
  const GateEvaluationKey key = GateEvaluationKey::make(secret, Method::ap, rng, 2);
  const auto ring = SmallRing<W>::get(p.modulus, p.log_n);
  const std::size_t n = ring->n(), words = p.rows() * 2 * n;
  // The first key, the last one, one in between, and RGSW(1).
  const u32 last = static_cast<u32>(p.n) * p.ap_digits() * p.ap_base - 1;
  const u32 indices[] = {1, last, 5 * p.ap_base + 3, 7 * p.ap_base};
  WordArray<W> rows(4 * words), chain(2 * n), want(2 * n);
  export_rgsw(key, rows.data(), indices, 4);
  for (std::size_t i = 0; i < 2 * n; ++i) chain.data()[i] = want.data()[i] = static_cast<W>(i * 40503 * i % p.modulus);
  const WordArray<W> before = chain;
  Workspace<W> space(n, p.rows());
  for (std::size_t i = 0; i < 3; ++i)
    external_product(chain.data(), chain.data(), rows.data() + i * words, p.a, p.b, *ring, space);
  accumulate(key, want.data(), 1, indices, 3);
  EXPECT_TRUE(std::equal(chain.data(), chain.data() + 2 * n, want.data()));
  EXPECT_FALSE(std::equal(chain.data(), chain.data() + 2 * n, before.data()));
  if (p.a.drop == 0 && p.b.drop == 0) {
    // Digits that hold all of a residue: the gadget itself changes nothing.
    external_product(chain.data(), chain.data(), rows.data() + 3 * words, p.a, p.b, *ring, space);
    EXPECT_TRUE(std::equal(chain.data(), chain.data() + 2 * n, want.data()));
  }
  const u32 beyond = last + 1;
  EXPECT_THROW(export_rgsw(key, rows.data(), &beyond, 1), ShapeError);
}

TEST(Gates, ExportedRowsMakeTheChain) {
  exported_rows<u32>(small_set());
  exported_rows<u32>(small_paper_set());
  exported_rows<u64>(small_wide_set());
}

TEST(Gates, OtherMethodsExportTheirKeysInOrder) {
  for (const auto& [p, count] : {std::pair{small_set(), 64u}, std::pair{small_paper_set(), 128u}}) {
    TestRandomness rng(seed(7));
    const GateSecretKey secret(p, rng);
    const GateEvaluationKey key = GateEvaluationKey::make(secret, Method::ginx, rng, 2);
    const std::size_t words = p.rows() * 2 * p.degree();
    std::vector<u32> all(count * words), one(words), indices(count);
    for (u32 i = 0; i < count; ++i) indices[i] = i;
    export_rgsw(key, all.data(), indices.data(), count);
    export_rgsw(key, one.data(), &indices[count - 1], 1);
    EXPECT_TRUE(std::equal(one.begin(), one.end(), all.end() - static_cast<std::ptrdiff_t>(words)));
    EXPECT_FALSE(std::equal(one.begin(), one.end(), all.begin()));
    EXPECT_LT(*std::max_element(all.begin(), all.end()), p.modulus);
    EXPECT_THROW(export_rgsw(key, one.data(), &count, 1), ShapeError);
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
  EXPECT_THROW(run(kGateKinds, 0, 1, 2), ParameterError);
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
