// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Signals against the schoolbook: keys, signals and their errors; samplers by exact tails and moments; packing;
// degenerate signals by direct search; threads do not change bits.
#include "ringforge/circuits/omr_signal.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>

#include "ringforge/error.hpp"
#include "ringforge/signal_kernels.hpp"

namespace ringforge::omr {
namespace {

constexpr u64 kQ = 786433;

TestRandomness fixed(std::uint8_t tag) {
  Seed s;
  s.fill(tag);
  return TestRandomness(s);
}

SignalParameters small(unsigned weight = 7, bool discrete = true) {
  return SignalParameters::make(5, kQ, 2, weight, 0.5, discrete);
}

struct Made {
  std::vector<u32> a, b;
};

Made make(const SignalKey& key, std::size_t count, std::uint8_t tag, unsigned threads = 1) {
  const auto& p = key.parameters();
  Made m{std::vector<u32>(count * p.n()), std::vector<u32>(count * p.clues)};
  key.signals(m.a.data(), m.b.data(), count, fixed(tag), threads);
  return m;
}

i64 centred(i64 x) {
  x = (x % static_cast<i64>(kQ) + static_cast<i64>(kQ)) % static_cast<i64>(kQ);
  return x > static_cast<i64>(kQ) / 2 ? x - static_cast<i64>(kQ) : x;
}

/// Coefficient l of x y modulo X^n + 1.
template <class X, class Y>
i64 product(const X* x, const Y* y, std::size_t n, std::size_t l) {
  i64 sum = 0;
  for (std::size_t c = 0; c < n; ++c) {
    const i64 term = static_cast<i64>(x[c]) * static_cast<i64>(y[(l + n - c) % n]);
    sum = (sum + (c <= l ? term : -term)) % static_cast<i64>(kQ);
  }
  return sum;
}

TEST(OmrSignal, KeysAreEncryptionsOfZero) {
  const auto p = small();
  const auto secret = SignalSecret::make(p, fixed(1));
  const auto key = secret.key();
  Poly<Eval, u32> uniform = sample_uniform(p.basis, key.seed(), StreamObject::signal_key);
  const auto a = to_coeff(uniform);
  i64 largest = 0;
  for (std::size_t l = 0; l < p.n(); ++l) {
    const i64 e = centred(key.b()[l] - product(a.limb(0), secret.coefficients().data(), p.n(), l));
    largest = std::max(largest, std::abs(e));
  }
  EXPECT_GE(largest, 1);
  EXPECT_LE(largest, static_cast<i64>(p.tails.size()));
  EXPECT_NE(Seed(key.seed()), Seed(secret.seed())) << "the secret would be published";
}

TEST(OmrSignal, ErrorsAreThoseOfTheSchoolbook) {
  for (const unsigned weight : {1u, 7u, 32u}) {
    const auto p = small(weight);
    const auto secret = SignalSecret::make(p, fixed(2)), other = SignalSecret::make(p, fixed(3));
    const auto m = make(secret.key(), 200, 4);
    for (const auto* who : {&secret, &other}) {
      std::vector<std::int32_t> errors(m.b.size());
      who->errors(errors.data(), m.a.data(), m.b.data(), 200);
      for (std::size_t i = 0; i < 200; ++i)
        for (std::size_t l = 0; l < 2; ++l)
          ASSERT_EQ(errors[2 * i + l],
                    centred(product(&m.a[i * p.n()], who->coefficients().data(), p.n(), l) - m.b[2 * i + l]));
      const auto size = [](std::int32_t x) { return std::abs(x); };
      const auto largest =
          std::abs(*std::max_element(errors.begin(), errors.end(), [&](auto x, auto y) { return size(x) < size(y); }));
      if (who == &secret)
        EXPECT_LE(largest, static_cast<std::int32_t>((2 * weight + 1) * p.tails.size()));
      else
        EXPECT_GT(largest, 100000);
    }
  }
}

TEST(OmrSignal, ErrorsAtTheEndsOfTheirRange) {
  const auto p = small(32);
  const auto secret = SignalSecret::make(p, fixed(5));
  for (const u32 word :
       {u32{0}, u32{1}, static_cast<u32>(kQ / 2), static_cast<u32>(kQ / 2 + 1), static_cast<u32>(kQ - 1)})
    for (const u32 clue : {u32{0}, static_cast<u32>(kQ / 2), static_cast<u32>(kQ - 1)}) {
      const std::vector<u32> a(p.n(), word), b(2, clue);
      std::int32_t errors[2];
      secret.errors(errors, a.data(), b.data(), 1);
      for (std::size_t l = 0; l < 2; ++l)
        EXPECT_EQ(errors[l], centred(product(a.data(), secret.coefficients().data(), p.n(), l) - clue));
    }
}

TEST(OmrSignal, SecretsAreUniformOfTheirWeight) {
  // 4 of 16 coefficients: each is not 0 with 1/4, each pair with 1/20; signs are even. 20,000 secrets: bounds are five
  // standard deviations.
  const auto p = SignalParameters::make(4, kQ, 1, 4, 0.5, true);
  constexpr int kCount = 20000;
  std::vector<int> taken(16), plus(16);
  int pairs = 0;
  const auto rng = fixed(6);
  for (int i = 0; i < kCount; ++i) {
    const auto secret = SignalSecret::make(p, rng);
    const auto s = secret.coefficients();
    int weight = 0;
    for (std::size_t k = 0; k < 16; ++k) {
      ASSERT_LE(std::abs(s[k]), 1);
      weight += s[k] != 0;
      taken[k] += s[k] != 0;
      plus[k] += s[k] == 1;
    }
    ASSERT_EQ(weight, 4);
    pairs += s[3] != 0 && s[11] != 0;
  }
  for (std::size_t k = 0; k < 16; ++k) {
    EXPECT_NEAR(taken[k], kCount / 4, 5 * std::sqrt(kCount * 3 / 16.0));
    EXPECT_NEAR(plus[k], kCount / 8, 5 * std::sqrt(kCount * 7 / 64.0));
  }
  EXPECT_NEAR(pairs, kCount / 20, 5 * std::sqrt(kCount * 19 / 400.0));
}

TEST(OmrSignal, TailsAreThoseOfTheGaussians) {
  // P(|x| >= 1) of the discrete Gaussian of deviation 1/2: 2 (e^-2 + e^-8 + ...) / (1 + 2 (e^-2 + e^-8 + ...)).
  const double sum = 2 * (std::exp(-2.0) + std::exp(-8.0) + std::exp(-18.0) + std::exp(-32.0));
  const auto discrete = small(7, true).tails, rounded = small(7, false).tails;
  EXPECT_NEAR(static_cast<double>(discrete[0]) * 0x1p-63, sum / (1 + sum), 1e-15);
  EXPECT_NEAR(static_cast<double>(rounded[0]) * 0x1p-63, std::erfc(1 / std::sqrt(2.0)), 1e-15);
  EXPECT_NEAR(static_cast<double>(rounded[3]) * 0x1p-63 / std::erfc(7 / std::sqrt(2.0)), 1, 1e-6);
  EXPECT_EQ(discrete.size(), 4u) << "2 e^-50 is below 2^-63";
  EXPECT_EQ(rounded.size(), 5u);
}

TEST(OmrSignal, PackedSignalsComeBackAndForeignOnesAreRefused) {
  const auto p = small();
  const auto m = make(SignalSecret::make(p, fixed(7)).key(), 70, 8);
  EXPECT_EQ(p.packed(), (34 * 20 + 7) / 8);
  std::vector<std::uint8_t> bytes(70 * p.packed());
  pack_signals(bytes.data(), p, m.a.data(), m.b.data(), 70, 2);
  Made back{std::vector<u32>(m.a.size()), std::vector<u32>(m.b.size())};
  unpack_signals(back.a.data(), back.b.data(), p, bytes.data(), 70, 2);
  EXPECT_EQ(back.a, m.a);
  EXPECT_EQ(back.b, m.b);
  // Word 33 of signal 66, its second clue, becomes q.
  std::uint8_t* word = &bytes[66 * p.packed()] + 33 * 20 / 8;
  word[0] = static_cast<std::uint8_t>((word[0] & 0x0f) | (kQ & 0xf) << 4);
  word[1] = static_cast<std::uint8_t>(kQ >> 4);
  word[2] = static_cast<std::uint8_t>(kQ >> 12);
  try {
    unpack_signals(back.a.data(), back.b.data(), p, bytes.data(), 70);
    FAIL() << "q is no residue";
  } catch (const FormatError& e) {
    EXPECT_NE(std::string(e.what()).find("signal 66 of 70"), std::string::npos) << e.what();
  }
}

TEST(OmrSignal, HitsAreCounted) {
  // With range q / 8, a quarter of all secrets take a signal's coefficient: 1/16 both of them.
  const auto p = small();
  const auto m = make(SignalSecret::make(p, fixed(9)).key(), 40, 10);
  std::vector<u32> hits(40), again(40);
  constexpr u32 kTrials = 20000;
  count_hits(hits.data(), p, m.a.data(), m.b.data(), 40, kQ / 8, kTrials, fixed(11));
  for (const u32 h : hits) EXPECT_NEAR(h, kTrials / 16.0, 0.25 * kTrials / 16);
  count_hits(again.data(), p, m.a.data(), m.b.data(), 40, kQ / 8, kTrials, fixed(11), 3);
  EXPECT_EQ(hits, again);
  count_hits(again.data(), p, m.a.data(), m.b.data(), 40, kQ / 8, kTrials, fixed(12));
  EXPECT_NE(hits, again);

  // a = 1, at the places where it gives s[0] and s[1] alone: exact shares. Weight 7 of 32: each is 0 with 25/32.
  std::vector<u32> a(p.n()), b(2);
  a[0] = kQ / 4;
  count_hits(hits.data(), p, a.data(), b.data(), 1, kQ / 8, kTrials, fixed(13));
  EXPECT_NEAR(hits[0], kTrials * (25.0 / 32) * (24.0 / 31), 5 * std::sqrt(kTrials * 0.25));
  b = {kQ / 4, static_cast<u32>(kQ - kQ / 4)};  // +1 and -1
  count_hits(hits.data(), p, a.data(), b.data(), 1, 0, kTrials, fixed(14));
  EXPECT_NEAR(hits[0], kTrials * (7.0 / 32) * (6.0 / 31) / 4, 5 * std::sqrt(kTrials * 0.011));
  const std::vector<u32> zero(p.n());
  const std::vector<u32> none(2);
  count_hits(hits.data(), p, zero.data(), none.data(), 1, 0, kTrials, fixed(15));
  EXPECT_EQ(hits[0], kTrials);
}

TEST(OmrSignal, HitsAtTheEndsOfTheRange) {
  // a = 0: the value is -b. In range for b from -range to range, and not one further.
  const auto p = small();
  const std::vector<u32> a(p.n());
  for (const i64 b : {0, 49, 50, -49, -50}) {
    const std::vector<u32> clues(2, static_cast<u32>((b + static_cast<i64>(kQ)) % static_cast<i64>(kQ)));
    u32 hits = 0;
    count_hits(&hits, p, a.data(), clues.data(), 1, 49, 3, fixed(16));
    EXPECT_EQ(hits, std::abs(b) <= 49 ? 3u : 0u) << b;
  }
}

TEST(OmrSignal, HitsAreThoseOfAllSecretsOfWeightOne) {
  // 64 secrets, 1 or -1 times a power of x, each as likely: the share that hits is counted.
  const auto p = small(1);
  std::mt19937_64 rng(21);
  constexpr std::size_t kSignals = 40;
  constexpr u32 kTrials = 20000;
  std::vector<u32> a(kSignals * p.n()), b(kSignals * 2), hits(kSignals);
  constexpr i64 kValues[] = {49, -49, 0, 50, -50};
  const auto residue = [](i64 x) { return static_cast<u32>((x + static_cast<i64>(kQ)) % static_cast<i64>(kQ)); };
  // Most are just in range, some just out of it.
  for (std::size_t i = 0; i < kSignals; ++i)
    for (std::size_t m = 0; m < p.n(); ++m) a[i * p.n() + m] = residue(kValues[std::min<u64>(rng() % 8, 4)]);
  count_hits(hits.data(), p, a.data(), b.data(), kSignals, 49, kTrials, fixed(21));
  for (std::size_t i = 0; i < kSignals; ++i) {
    double share = 0;
    for (std::size_t c = 0; c < p.n(); ++c) {
      bool in = true;
      for (std::size_t l = 0; l < 2; ++l) {
        const u32 x = a[i * p.n() + ((l - c) & (p.n() - 1))];  // 1 and -1 are in range together
        in = in && std::min<u64>(x, kQ - x) <= 49;
      }
      share += in ? 1.0 / static_cast<double>(p.n()) : 0;
    }
    EXPECT_NEAR(hits[i], kTrials * share, 6 * std::sqrt(kTrials * 0.25)) << i;
    u32 alone = 0;  // by eight lanes, with the same secrets
    count_hits(&alone, p, &a[i * p.n()], &b[i * 2], 1, 49, kTrials, fixed(21));
    EXPECT_EQ(alone, hits[i]);
    count_hits(&alone, p, &a[i * p.n()], &b[i * 2], 1, 49, kTrials, fixed(21), 1, 4);
    EXPECT_EQ(alone, std::min(hits[i], u32{4}));
  }
  EXPECT_THROW(count_hits(hits.data(), p, a.data(), b.data(), 1, 49, 1, fixed(21), 1, 0), ParameterError);
}

TEST(OmrSignal, WordsThatAreAllRoundedTheSameWay) {
  // 6 is half of a step of q / 2^16. All 32 coefficients count: sums are 6 (32 - 2 k) with k signs -, in range 49 for
  // k = 12 ... 20, which a binomial of 32 is with 0.8898. The other clue's sum differs by two signs at most: both are
  // in range at least as often as k = 13 ... 19 is, 0.7852.
  const auto p = small(32);
  constexpr u32 kTrials = 65536;
  for (const std::size_t count : {std::size_t{1}, std::size_t{9}}) {
    const std::vector<u32> a(count * p.n(), 6), b(count * 2);
    std::vector<u32> hits(count);
    count_hits(hits.data(), p, a.data(), b.data(), count, 49, kTrials, fixed(22));
    for (const u32 h : hits) {
      EXPECT_GT(h, kTrials * 0.775);
      EXPECT_LT(h, kTrials * 0.900);
    }
  }
}

TEST(OmrSignal, KernelsAgree) {
  std::mt19937_64 rng(24);
  constexpr std::size_t kRows = 100, kLanes = kernels::kSignalLanes;
  alignas(64) std::array<std::uint16_t, kRows * kLanes> columns;
  alignas(64) std::array<std::uint16_t, kLanes> start;
  for (auto& x : columns) x = static_cast<std::uint16_t>(rng());
  for (const std::size_t count : {0, 1, 7, 134})
    for (const u32 limit : {0u, 142u, 0x7fffu, 0x8000u, 0xfffeu, 0xffffu}) {
      std::vector<std::uint16_t> places(count);
      for (auto& x : places) x = static_cast<std::uint16_t>(rng() % kRows);
      const std::size_t added = count / 3;
      u32 expected = 0;
      for (std::size_t j = 0; j < kLanes; ++j) {
        i64 sum = 0;
        for (std::size_t k = 0; k < count; ++k)
          sum += (k < added ? 1 : -1) * static_cast<i64>(columns[places[k] * kLanes + j]);
        // A third just in, a third just out, the others anywhere.
        const i64 wanted = j % 3 == 0 ? limit : j % 3 == 1 ? i64{limit} + 1 : static_cast<i64>(rng());
        start[j] = static_cast<std::uint16_t>(wanted - sum);
        expected |= u32{static_cast<std::uint16_t>(start[j] + sum) <= limit} << j;
      }
      for (const auto* set : kernels::available())
        EXPECT_EQ(kernels::signal_find(set->name)->at_most(columns.data(), start.data(), places.data(), added, count,
                                                           static_cast<std::uint16_t>(limit)),
                  expected)
            << set->name << " " << count << " " << limit;
    }
  EXPECT_EQ(kernels::signal_find("none"), nullptr);
}

TEST(OmrSignal, ThreadsDoNotChangeBitsAndSignalsDiffer) {
  const auto key = SignalSecret::make(small(), fixed(17)).key();
  const auto one = make(key, 300, 18), many = make(key, 300, 18, 5), other = make(key, 300, 19);
  EXPECT_EQ(one.a, many.a);
  EXPECT_EQ(one.b, many.b);
  EXPECT_NE(one.a, other.a);
  std::map<std::vector<u32>, int> seen;
  for (std::size_t i = 0; i < 300; ++i)
    ++seen[std::vector<u32>(one.a.begin() + static_cast<std::ptrdiff_t>(32 * i),
                            one.a.begin() + static_cast<std::ptrdiff_t>(32 * (i + 1)))];
  EXPECT_EQ(seen.size(), 300u);
}

TEST(OmrSignal, ParametersAreChecked) {
  const auto bad = [](unsigned log_n, u64 q, unsigned clues, unsigned weight, double deviation) {
    EXPECT_THROW(SignalParameters::make(log_n, q, clues, weight, deviation, true), ParameterError);
  };
  bad(3, kQ, 2, 4, 0.5);
  bad(13, kQ, 2, 4, 0.5);
  bad(5, kQ + 2, 2, 4, 0.5);
  bad(5, (1 << 20) + 7, 2, 4, 0.5);
  bad(5, kQ, 0, 4, 0.5);
  bad(5, kQ, 9, 4, 0.5);
  bad(5, kQ, 2, 0, 0.5);
  bad(5, kQ, 2, 33, 0.5);
  bad(12, kQ, 2, 2048, 0.5);
  bad(5, kQ, 2, 4, 0.05);
  bad(5, kQ, 2, 4, std::nan(""));
  const auto p = small();
  EXPECT_THROW(SignalKey(p, Seed{}, std::vector<u32>(31)), ShapeError);
  EXPECT_THROW(SignalKey(p, Seed{}, std::vector<u32>(32, kQ)), FormatError);
  u32 hits = 0;
  const std::vector<u32> a(p.n()), b(2);
  EXPECT_THROW(count_hits(&hits, p, a.data(), b.data(), 1, 49, 0, fixed(20)), ParameterError);
  EXPECT_THROW(count_hits(&hits, p, a.data(), b.data(), 1, kQ / 2, 1, fixed(20)), ParameterError);
}

/// The tables are made in double precision and hold 63-bit words. Against long double: each probability is off by at
/// most 2^-47 of itself and 2^-63, and the relative entropy of one error to the exact distribution is below 2^-62, so
/// that 2^40 errors are as secure as exact ones up to a factor of 1 + 2^-22 in the probability of finding a key.
TEST(OmrSignal, TablesAreNearTheExactDistribution) {
  for (const double deviation : {0.1, 0.5, 1.0, 3.2, 8.0})
    for (const bool discrete : {false, true}) {
      const auto tails = SignalParameters::make(5, kQ, 2, 7, deviation, discrete).tails;
      const auto weight = [&](long double x) { return std::exp(-x * x / (2.0L * deviation * deviation)); };
      long double sum = 1;
      for (int x = 200; x >= 1; --x) sum += 2 * weight(x);
      const auto exact = [&](std::size_t k) -> long double {  // P(|error| >= k)
        if (k == 0) return 1;
        if (!discrete) return std::erfc((static_cast<long double>(k) - 0.5L) / (deviation * std::sqrt(2.0L)));
        long double tail = 0;
        for (int x = 200; x >= static_cast<int>(k); --x) tail += 2 * weight(x);
        return tail / sum;
      };
      const auto table = [&](std::size_t k) -> long double {
        return k == 0 ? 1 : k > tails.size() ? 0 : static_cast<long double>(tails[k - 1]) * 0x1p-63L;
      };
      long double entropy = 0, distance = 0;
      for (std::size_t k = 0; k <= tails.size(); ++k) {
        EXPECT_LE(std::fabs(table(k) - exact(k)), exact(k) * 0x1p-47L + 0x1p-63L) << deviation << ' ' << k;
        const long double p = table(k) - table(k + 1), q = exact(k) - exact(k + 1);
        // p log(p / q) - p + q, which is about (p - q)^2 / 2q and has no cancelling terms.
        entropy += p == 0 ? q : p * std::log1p((p - q) / q) - (p - q);
        distance += std::fabs(p - q) / 2;
      }
      entropy += exact(tails.size() + 1);
      EXPECT_LT(entropy, 0x1p-62L) << deviation << ' ' << discrete;
      EXPECT_LT(distance, 0x1p-50L) << deviation << ' ' << discrete;
    }
}

}  // namespace
}  // namespace ringforge::omr
