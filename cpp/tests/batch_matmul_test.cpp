// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Batches of encrypted matrix products: the products are right in every form, errors are as predicted, so are
// counts, and what cannot work is refused.
#include "ringforge/circuits/batch_matmul.hpp"

#include <array>
#include <cmath>

#include "ringforge/memory.hpp"
#include "support.hpp"

namespace ringforge::circuits {
namespace {

using namespace ringforge::ckks;
using namespace ringforge::test;
using C = std::complex<double>;
using Numbers = std::vector<C>;

Numbers random_matrices(std::size_t count, std::size_t d, unsigned seed) { return random_slots(count * d * d, seed); }

Numbers products(const Numbers& a, const Numbers& b, std::size_t d) {
  Numbers c(a.size());
  for (std::size_t m = 0; m < a.size(); m += d * d)
    for (std::size_t i = 0; i < d; ++i)
      for (std::size_t k = 0; k < d; ++k)
        for (std::size_t j = 0; j < d; ++j) c[m + i * d + j] += a[m + i * d + k] * b[m + k * d + j];
  return c;
}

double largest_difference(const Numbers& a, const Numbers& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
  return worst;
}

struct Case {
  const char* name;
  unsigned log_n;
  std::size_t dim, limbs;
  unsigned bits;
  std::size_t special;
  unsigned alpha;
  double log_scale;
};

/// Everything for one parameter set and dimension.
struct Setting {
  explicit Setting(const Case& c)
      : params(small_params(c.log_n, c.limbs, c.bits, c.special, c.alpha, c.log_scale)),
        ctx(std::make_shared<const Context>(params)),
        client(ctx, fixed_randomness()),
        sk(client.secret_key()),
        matmul(ctx, c.dim),
        relin(client.relin_key(sk)),
        scale(std::exp2(c.log_scale)) {
    for (const u64 g : matmul.required_keys()) galois.insert(client.galois_key(sk, g));
  }
  MatrixBatch encrypt(const Numbers& m, Lines by, std::size_t level) {
    return matmul.encrypt(client, sk, m, by, scale, level, 1.0, 2);
  }
  Parameters params;
  ContextPtr ctx;
  Client client;
  SecretKey sk;
  BatchMatmul matmul;
  RelinKey relin;
  GaloisKeys galois;
  double scale;
};

class Batches : public testing::TestWithParam<Case> {
 protected:
  Setting s{GetParam()};
  /// Decrypts, compares, and holds the error against its bound: below it, and within 2^8.
  void expect(const MatrixBatch& batch, const Numbers& exact, const char* what) {
    const double worst = largest_difference(s.matmul.decrypt(s.client, s.sk, batch, 2), exact);
    EXPECT_LE(worst, s.matmul.error_bound(batch)) << what;
    EXPECT_GE(worst, s.matmul.error_bound(batch) / 256) << what;
  }
};

TEST_P(Batches, EncodingRoundTrips) {
  const std::size_t d = s.matmul.dim();
  auto m = random_matrices(s.matmul.capacity(), d, 1);
  for (const auto by : {Lines::columns, Lines::rows}) {
    const auto back = s.matmul.decode(s.matmul.encode(m, by, s.scale, 1, 2), by);
    EXPECT_LE(largest_difference(back, m), std::exp2(s.params.spec().log_n / 2.0 + 2) / s.scale);
  }
  // Columns of matrices are rows of the transposed ones; missing matrices are zero.
  m.resize(d * d);
  const auto back = s.matmul.decode(s.matmul.encode(m, Lines::columns, s.scale, 0), Lines::rows);
  for (std::size_t i = 0; i < d; ++i)
    for (std::size_t j = 0; j < d; ++j) EXPECT_NEAR(std::abs(back[i * d + j] - m[j * d + i]), 0, 1e-6);
  for (std::size_t i = d * d; i < back.size(); ++i) EXPECT_NEAR(std::abs(back[i]), 0, 1e-6);
}

TEST_P(Batches, ProductsAreRightWithinTheirBoundsAndCounts) {
  const std::size_t d = s.matmul.dim(), top = s.params.max_level();
  const auto a = random_matrices(s.matmul.capacity(), d, 1), b = random_matrices(s.matmul.capacity(), d, 2);
  const auto exact = products(a, b, d);
  const auto test = [&](std::size_t level, Lines left, Lines right, Lines by) {
    const auto x = s.encrypt(a, left, level), y = s.encrypt(b, right, level);
    BatchMatmulReport report;
    const CountScope did;
    const std::size_t held = word_memory().now;
    reset_word_memory();
    const auto z = s.matmul.multiply(x, y, {s.galois, s.relin}, by, 2, &report);
    const auto cost = s.matmul.cost(level, (left == Lines::rows) + (right == Lines::columns), 2);
    EXPECT_LE(word_memory().most - held, cost.working);
    EXPECT_EQ(did.operations(), cost.ops);
    EXPECT_EQ(report.multiply_adds, cost.multiply_adds);
    EXPECT_EQ(report.butterflies, cost.butterflies);
    EXPECT_EQ(z.level(), level - 1);
    EXPECT_EQ(z.by, by);
    expect(z, exact, "product");
  };
  for (const auto left : {Lines::columns, Lines::rows})
    for (const auto right : {Lines::columns, Lines::rows})
      for (const auto by : {Lines::columns, Lines::rows}) test(1, left, right, by);
  for (std::size_t level = 2; level <= top; ++level) test(level, Lines::columns, Lines::rows, Lines::columns);
}

TEST_P(Batches, ConversionsKeepTheMatrices) {
  const auto a = random_matrices(s.matmul.capacity(), s.matmul.dim(), 1);
  for (const auto by : {Lines::columns, Lines::rows}) {
    const auto other = by == Lines::columns ? Lines::rows : Lines::columns;
    const auto x = s.encrypt(a, by, 1);
    const auto y = s.matmul.convert(x, other, s.galois, 2);
    EXPECT_EQ(y.by, other);
    EXPECT_EQ(y.level(), 1U);
    expect(y, a, "converted");
    expect(s.matmul.convert(y, by, s.galois), a, "converted twice");
    EXPECT_TRUE(equal(s.matmul.convert(x, by, s.galois).lines[0].parts[0], x.lines[0].parts[0]));
  }
}

TEST_P(Batches, ThreadsDoNotChangeBits) {
  const auto a = random_matrices(s.matmul.capacity(), s.matmul.dim(), 1);
  const auto x = s.encrypt(a, Lines::columns, 1);
  const auto one = s.matmul.multiply(x, x, {s.galois, s.relin}),
             two = s.matmul.multiply(x, x, {s.galois, s.relin}, Lines::columns, 4);
  for (std::size_t j = 0; j < one.lines.size(); ++j)
    for (int part = 0; part < 2; ++part) ASSERT_TRUE(equal(one.lines[j].parts[part], two.lines[j].parts[part]));
}

// d = 16 at N = 2^11, and both ends: d = 2, and d = N/2 where 2N is no multiple of d^2 and the automorphisms' exponents
// depend on the position as well as on the class.
INSTANTIATE_TEST_SUITE_P(Sets, Batches,
                         testing::Values(Case{"per-limb", 11, 16, 3, 50, 1, 1, 40},
                                         Case{"smallest", 10, 2, 2, 50, 1, 1, 40},
                                         Case{"padded", 10, 8, 2, 50, 1, 1, 40},
                                         Case{"more dimensions than matrices", 10, 128, 2, 50, 1, 1, 40},
                                         Case{"hybrid", 11, 32, 4, 45, 2, 2, 36},
                                         Case{"wide primes", 10, 16, 2, 58, 1, 1, 46}),
                         [](const auto& info) { return "Set" + std::to_string(info.index); });

TEST(BatchMatmul, OneMatrixPerCiphertextOfHalfTheRing) {
  Setting s({"", 10, 512, 2, 50, 1, 1, 36});
  ASSERT_EQ(s.matmul.capacity(), 1U);
  // Two sparse matrices, so that the exact product is quick.
  const std::size_t d = 512;
  Numbers a(d * d), b(d * d), exact(d * d);
  for (std::size_t i = 0; i < d; ++i) {
    a[i * d + (3 * i + 1) % d] = C(0.5, -0.25);
    b[i * d + (5 * i + 7) % d] = C(-0.125, 0.9 - 1.0 / static_cast<double>(i + 2));
  }
  for (std::size_t i = 0; i < d; ++i) {
    const std::size_t k = (3 * i + 1) % d, j = (5 * k + 7) % d;
    exact[i * d + j] = a[i * d + k] * b[k * d + j];
  }
  const auto z = s.matmul.multiply(s.encrypt(a, Lines::columns, 1), s.encrypt(b, Lines::rows, 1), {s.galois, s.relin},
                                   Lines::columns, 2);
  const double worst = largest_difference(s.matmul.decrypt(s.client, s.sk, z), exact);
  EXPECT_LE(worst, s.matmul.error_bound(z));
  EXPECT_LE(worst, 0x1p-12);
}

// A*B*C*D with results used as operands of either side: their entries share errors, which the next product may add up.
TEST(BatchMatmul, ChainsStayWithinTheirBounds) {
  Setting s({"", 11, 16, 4, 50, 1, 1, 40});
  const std::size_t d = 16, count = s.matmul.capacity();
  // All entries 1/d: operators of norm 1, the worst case of shared errors.
  const Numbers mean(count * d * d, 1.0 / static_cast<double>(d));
  for (const bool worst_case : {false, true}) {
    Numbers exact = worst_case ? mean : random_matrices(count, d, 1);
    auto left = s.encrypt(exact, Lines::columns, 3);
    for (std::size_t level = 3; level >= 1; --level) {
      const auto next = worst_case ? mean : random_matrices(count, d, 10 + static_cast<unsigned>(level));
      left.bound = 1;
      auto right = s.encrypt(next, Lines::rows, level);
      for (auto& c : right.lines) c.scale = s.scale;
      left = s.matmul.multiply(left, right, {s.galois, s.relin});
      exact = products(exact, next, d);
      for (auto& x : exact) x /= worst_case ? 1 : static_cast<double>(d);
      // Public division by d keeps entries below 1: the scale grows instead.
      if (!worst_case)
        for (auto& c : left.lines) c.scale *= static_cast<double>(d);
      const double error = largest_difference(s.matmul.decrypt(s.client, s.sk, left), exact);
      EXPECT_LE(error, s.matmul.error_bound(left)) << level;
    }
  }
}

TEST(BatchMatmul, ErrorsAreTypedAndNameTheRemedy) {
  Setting s({"", 10, 16, 2, 50, 1, 1, 40});
  EXPECT_THROW(BatchMatmul(s.ctx, 0), ShapeError);
  EXPECT_THROW(BatchMatmul(s.ctx, 1), ShapeError);
  EXPECT_THROW(BatchMatmul(s.ctx, 24), ShapeError);
  EXPECT_THROW(BatchMatmul(s.ctx, 1024), ShapeError);
  EXPECT_THROW(BatchMatmul(std::make_shared<const Context>(small_params(13, 1)), 2048), ShapeError);
  EXPECT_EQ(s.matmul.required_keys().size(), 15U);
  EXPECT_EQ(s.matmul.capacity(), 32U);
  const auto a = random_matrices(1, 16, 1);
  EXPECT_THROW((void)s.matmul.encode(random_matrices(33, 16, 1), Lines::rows, s.scale, 1), ShapeError);
  EXPECT_THROW((void)s.matmul.encode(Numbers(255), Lines::rows, s.scale, 1), ShapeError);
  EXPECT_THROW((void)s.matmul.decode(std::vector<Plaintext>(3), Lines::rows), ShapeError);
  EXPECT_THROW((void)s.matmul.encrypt(s.client, s.sk, a, Lines::rows, s.scale, 1, 0.1), ValueError);
  EXPECT_THROW((void)s.matmul.encrypt(s.client, s.sk, a, Lines::rows, s.scale, 1, -1), ValueError);
  const auto x = s.encrypt(a, Lines::columns, 1), y = s.encrypt(a, Lines::rows, 1), low = s.encrypt(a, Lines::rows, 0);
  const auto product = [&](const MatrixBatch& p, const MatrixBatch& q) {
    return s.matmul.multiply(p, q, {s.galois, s.relin});
  };
  EXPECT_THROW((void)product(x, low), LevelError);
  EXPECT_THROW((void)product(low, low), LevelError);
  EXPECT_THROW((void)s.matmul.cost(0), LevelError);
  EXPECT_THROW((void)s.matmul.cost(2), LevelError);
  auto few = y;
  few.lines.pop_back();
  EXPECT_THROW((void)product(x, few), ShapeError);
  auto uneven = y;
  uneven.lines[3].scale *= 2;
  EXPECT_THROW((void)product(x, uneven), ScaleError);
  uneven = y;
  uneven.lines[3] = low.lines[3];
  EXPECT_THROW((void)product(x, uneven), LevelError);
  auto large = x;
  large.bound = 1e6;
  EXPECT_THROW((void)product(large, y), ValueError);

  // Scales whose product falls below the noise.
  const auto faint = s.matmul.encrypt(s.client, s.sk, a, Lines::columns, 0x1p25, 1);
  EXPECT_THROW((void)product(faint, faint), ScaleError);

  Client other(s.ctx, TestRandomness(fixed_seed(9)));
  const auto foreign = other.secret_key();
  const auto theirs = s.matmul.encrypt(other, foreign, a, Lines::rows, s.scale, 1);
  EXPECT_THROW((void)product(x, theirs), MismatchError);
  uneven.lines[3] = theirs.lines[3];
  EXPECT_THROW((void)product(x, uneven), MismatchError);
  EXPECT_THROW((void)s.matmul.multiply(x, y, {s.galois, other.relin_key(foreign)}), MismatchError);
  EXPECT_THROW((void)s.matmul.multiply(x, y, {s.galois, s.client.relin_key(s.sk, 0)}), LevelError);
  GaloisKeys keys;
  EXPECT_THROW((void)s.matmul.multiply(x, y, {keys, s.relin}), MissingKeyError);
  for (const u64 g : s.matmul.required_keys()) keys.insert(other.galois_key(foreign, g));
  EXPECT_THROW((void)s.matmul.multiply(x, y, {keys, s.relin}), MismatchError);
  for (const u64 g : s.matmul.required_keys()) keys.insert(s.client.galois_key(s.sk, g, 0));
  EXPECT_THROW((void)s.matmul.convert(x, Lines::rows, keys), LevelError);
  const auto elsewhere = std::make_shared<const Context>(small_params(10, 2, 45));
  EXPECT_THROW((void)BatchMatmul(elsewhere, 16).error_bound(x), MismatchError);
}

TEST(BatchMatmul, AcceptsPublicKeyEncryption) {
  Setting s({"", 10, 16, 2, 50, 1, 1, 40});
  const auto a = random_matrices(s.matmul.capacity(), 16, 1), b = random_matrices(s.matmul.capacity(), 16, 2);
  const auto pk = s.client.public_key(s.sk);
  const auto x = s.matmul.encrypt(s.client, pk, a, Lines::columns, s.scale, 1);
  const auto y = s.matmul.encrypt(s.client, pk, b, Lines::rows, s.scale, 1);
  const auto z = s.matmul.multiply(x, y, {s.galois, s.relin});
  const double worst = largest_difference(s.matmul.decrypt(s.client, s.sk, z), products(a, b, 16));
  EXPECT_LE(worst, s.matmul.error_bound(z));
  EXPECT_GE(worst, s.matmul.error_bound(z) / 256);
}

}  // namespace
}  // namespace ringforge::circuits
