// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The noise of shared decryptions: its distribution at every size, and the attack that reads the error where the noise
// lacks low bits.
#include "ringforge/discrete_gaussian.hpp"

#include <array>
#include <cmath>
#include <numeric>

#include "ring/reconstructor.hpp"
#include "support.hpp"

namespace ringforge {
namespace {

using test::fixed_seed;
using u128 = unsigned __int128;

/// Largest accepted value of a chi-square statistic with k degrees of freedom: 6 deviations of the normal approximation
/// of Wilson and Hilferty, exceeded with probability 1e-9.
double chi_square_limit(double k) { return k * std::pow(1 - 2 / (9 * k) + 6 * std::sqrt(2 / (9 * k)), 3); }

double chi_square(std::span<const std::size_t> counts, std::span<const double> expected) {
  double sum = 0;
  for (std::size_t i = 0; i < counts.size(); ++i)
    sum += std::pow(static_cast<double>(counts[i]) - expected[i], 2) / expected[i];
  return sum;
}

/// Statistics of samples x of a discrete Gaussian: each is compared with its expectation at 6 standard errors.
class Statistics {
 public:
  explicit Statistics(double sigma) : sigma_(sigma) {}

  void add(u128 size, bool negative) {
    const double x =
        (negative ? -1 : 1) *
        (static_cast<double>(static_cast<u64>(size >> 64)) * 0x1p64 + static_cast<double>(static_cast<u64>(size))) /
        sigma_;
    const auto low = static_cast<u64>(negative ? -size : size);
    ++low_[low & 255];
    ++high_[std::min<std::size_t>(255, static_cast<std::size_t>(128 * std::erfc(-x / std::sqrt(2.0))))];
    for (std::size_t i = 0; i < 4; ++i) power_[i] += std::pow(x, static_cast<double>(i + 1));
    ++count_;
  }

  /// The continuous Gaussian's moments and cells, which differ from the discrete one's by less than exp(-2 pi^2
  /// sigma^2) in the first and by 1 / sigma in the second: nothing from deviations of 2^20 on.
  void check() const {
    const double n = static_cast<double>(count_);
    // Variances of x, x^2, x^3, x^4 of the standard normal distribution: 1, 2, 15, 96.
    EXPECT_NEAR(power_[0] / n, 0, 6 * std::sqrt(1 / n));
    EXPECT_NEAR(power_[1] / n, 1, 6 * std::sqrt(2 / n));
    EXPECT_NEAR(power_[2] / n, 0, 6 * std::sqrt(15 / n));
    EXPECT_NEAR(power_[3] / n, 3, 6 * std::sqrt(96 / n));
    const std::vector<double> uniform(256, n / 256);
    EXPECT_LT(chi_square(low_, uniform), chi_square_limit(255));
    EXPECT_LT(chi_square(high_, uniform), chi_square_limit(255));
  }

  std::size_t count() const { return count_; }

 private:
  double sigma_;
  std::size_t count_ = 0;
  std::array<std::size_t, 256> low_{}, high_{};
  std::array<double, 4> power_{};
};

TEST(DiscreteGaussian, SmallOnesHaveTheirProbabilities) {
  for (const unsigned sigma : {1, 2, 3, 5, 11}) {
    const std::size_t n = 400'000;
    const int most = static_cast<int>(4 * sigma);
    Stream stream(fixed_seed(static_cast<std::uint8_t>(sigma)), StreamObject::flood);
    const DiscreteGaussian d(sigma);
    std::vector<std::size_t> counts(static_cast<std::size_t>(2 * most + 2));  // the last: all beyond
    for (std::size_t i = 0; i < n; ++i) {
      const auto s = d.next(stream);
      const int x = static_cast<int>(s.size) * (s.negative ? -1 : 1);
      ++counts[std::abs(x) <= most ? static_cast<std::size_t>(x + most) : counts.size() - 1];
    }
    const auto weight = [&](int x) { return std::exp(-0.5 * x * x / (sigma * sigma)); };
    double sum = 0;
    for (int x = -40 * static_cast<int>(sigma); x <= 40 * static_cast<int>(sigma); ++x) sum += weight(x);
    std::vector<double> expected;
    for (int x = -most; x <= most; ++x) expected.push_back(static_cast<double>(n) * weight(x) / sum);
    expected.push_back(static_cast<double>(n) - std::accumulate(expected.begin(), expected.end(), 0.0));
    EXPECT_LT(chi_square(counts, expected), chi_square_limit(static_cast<double>(counts.size()) - 1)) << sigma;
  }
}

TEST(DiscreteGaussian, LargeOnesHaveAllTheirBits) {
  for (const double log_sigma : {20.0, 31.9, 45.0, 53.0, 56.3, 57.0, 58.0, 60.0, 63.7, 64.0, 64.1, 90.0, 120.0}) {
    const double sigma = std::ceil(std::exp2(log_sigma));
    Stream stream(fixed_seed(static_cast<std::uint8_t>(log_sigma)), StreamObject::flood);
    const DiscreteGaussian d(sigma);
    Statistics statistics(sigma);
    const std::size_t n = log_sigma == 120 || log_sigma == 60 ? 400'000 : 100'000;
    for (std::size_t i = 0; i < n; ++i) {
      const auto s = d.next(stream);
      statistics.add(s.size, s.negative);
    }
    SCOPED_TRACE(log_sigma);
    statistics.check();
  }
}

TEST(DiscreteGaussian, OnlyDeviationsThatItReachesAreTaken) {
  for (const double bad : {0.0, 0.99, -1.0, 0x1.001p120, HUGE_VAL, std::nan("")})
    EXPECT_THROW(DiscreteGaussian{bad}, ParameterError) << bad;
  EXPECT_NO_THROW(DiscreteGaussian{1});
  EXPECT_NO_THROW(DiscreteGaussian{0x1p120});
}

/// Polynomials are the samples of the stream (seed, flood) in their order, on every ring and at every width.
TEST(DiscreteGaussian, PolynomialsHoldTheSamples) {
  for (const Ring& ring : {Ring::negacyclic(6), Ring::cyclotomic(45), Ring::cyclotomic(255)})
    for (const double sigma : {3.0, 0x1p57, 0x1p59, 0x1p64 + 0x1p20, 0x1p120}) {
      const Basis basis(ring, primes_below(50, 3, 2 * 45 * 255 * (u64{1} << 18)));
      const auto p = to_coeff(DiscreteGaussian(sigma).polynomial(basis, fixed_seed(), 2));
      Stream stream(fixed_seed(), StreamObject::flood);
      for (std::size_t i = 0; i < ring.degree(); ++i) {
        const auto s = DiscreteGaussian(sigma).next(stream);
        for (std::size_t k = 0; k < basis.size(); ++k) {
          const u64 q = basis[k].value(), r = static_cast<u64>(s.size % q);
          ASSERT_EQ(p.limb(k)[i], s.negative && r != 0 ? q - r : r) << ring.name() << ' ' << sigma << ' ' << i;
        }
      }
    }
}

/// A shared decryption less the exact one is the noise.
TEST(DiscreteGaussian, SharedDecryptionsHaveItsNoise) {
  const auto params = test::small_params(12, 3);
  const auto ctx = std::make_shared<const ckks::Context>(params);
  ckks::Client client(ctx, test::fixed_randomness());
  const auto sk = client.secret_key();
  const auto x = test::random_slots(params.slots(), 1);
  const auto c = client.encrypt(ctx->encode(std::span<const std::complex<double>>(x), 0x1p40, 2), sk);
  const auto exact = client.decrypt(c, sk);
  for (const double log_sigma : {20, 45, 53, 57, 60}) {
    const double bits = 2 * (log_sigma - std::log2(rlwe::flood_deviation(c.variance, params.degree(), 0, 64)));
    const double sigma = rlwe::flood_deviation(c.variance, params.degree(), bits, 64);
    ASSERT_NEAR(std::log2(sigma), log_sigma, 1e-9);
    Statistics statistics(sigma);
    while (statistics.count() < 1'000'000) {
      auto shared = client.decrypt_to_share(c, sk, bits, 64);
      sub(shared.poly, shared.poly, exact.poly);
      const auto noise = to_coeff(shared.poly);
      const Reconstructor crt(noise.basis());
      std::vector<u64> words(crt.words());
      for (std::size_t i = 0; i < noise.degree(); ++i) {
        const bool negative = crt.centred(noise, i, words.data());
        statistics.add(static_cast<u128>(words[1]) << 64 | words[0], negative);
      }
    }
    SCOPED_TRACE(log_sigma);
    statistics.check();
  }
}

/// Who sees shared decryptions of one known ciphertext reads its error wherever the noise lacks low bits: noise that is
/// a multiple of 2^k, as doubles above 2^53 are, leaves the error modulo 2^k, and the error gives the key,
/// s = (m + e - c0) / c1. Ten times the declared decryptions must tell no more of the error than a guess does.
TEST(DiscreteGaussian, SharedDecryptionsDoNotGiveTheKey) {
  const u64 declared = 64;
  const auto params = test::small_params(10, 3);
  const auto ctx = std::make_shared<const ckks::Context>(params);
  ckks::Client client(ctx, test::fixed_randomness());
  const auto sk = client.secret_key();
  const std::size_t n = params.degree();
  const auto known =
      ctx->encode(std::span<const std::complex<double>>(test::random_slots(params.slots(), 1)), 0x1p40, 2);
  const auto c = client.encrypt(known, sk);
  auto difference = client.decrypt(c, sk).poly;
  sub(difference, difference, known.poly);
  const auto error = to_coeff(difference);
  const double bits = 2 * (56.9 - std::log2(rlwe::flood_deviation(c.variance, n, 0, declared)));

  // For each coefficient, how often each residue modulo 64 of the shared value less the message was seen among values
  // from 2^58 on, where doubles are multiples of 64 (one in 31); and the sum, for an average.
  std::vector<std::array<unsigned, 64>> votes(n);
  std::vector<double> sums(n);
  for (u64 i = 0; i < 10 * declared; ++i) {
    auto shared = client.decrypt_to_share(c, sk, bits, declared).poly;
    sub(shared, shared, known.poly);
    const auto seen = to_coeff(shared);
    const Reconstructor crt(seen.basis());
    std::vector<u64> words(crt.words());
    for (std::size_t k = 0; k < n; ++k) {
      const bool negative = crt.centred(seen, k, words.data());
      sums[k] += (negative ? -1 : 1) * static_cast<double>(words[0]);
      if (words[0] >= u64{1} << 58) ++votes[k][(negative ? 0 - words[0] : words[0]) & 63];
    }
  }
  std::size_t by_votes = 0, by_average = 0;
  SmallPoly guess(n);
  for (std::size_t k = 0; k < n; ++k) {
    const u64 q = error.basis()[0].value(), word = error.limb(0)[k];
    const i64 e = word > q / 2 ? static_cast<i64>(word) - static_cast<i64>(q) : static_cast<i64>(word);
    i64& vote = guess.coeffs()[k];
    vote = std::max_element(votes[k].begin(), votes[k].end()) - votes[k].begin();
    if (vote >= 32) vote -= 64;
    by_votes += vote == e;
    by_average += std::llround(sums[k] / static_cast<double>(10 * declared)) == e;
  }
  // A vote of uniform residues is right with 1/64: 16 of 1024 expected, and 48 or more with probability below 1e-10.
  EXPECT_LT(by_votes, 48U);
  EXPECT_LT(by_average, 48U);

  // The last step of the attack: a key from the guessed error.
  const Basis one = error.basis().prefix(1);
  const auto& m = one[0].mod();
  auto key = guess.lift(one);
  add(key, key, known.poly.prefix(1));
  sub(key, key, c.parts[0].prefix(1));
  for (std::size_t k = 0; k < n; ++k)
    key.limb(0)[k] = arith::mul(key.limb(0)[k], arith::inverse(c.parts[1].limb(0)[k], m), m);
  const auto coefficients = to_coeff(key);
  std::size_t right = 0;
  for (std::size_t k = 0; k < n; ++k) {
    const i64 s = sk.coeffs().coeffs()[k];
    right += coefficients.limb(0)[k] == (s < 0 ? m.q - 1 : static_cast<u64>(s));
  }
  EXPECT_LT(right, 8U) << "of " << n << " coefficients of the secret key";
}

}  // namespace
}  // namespace ringforge
