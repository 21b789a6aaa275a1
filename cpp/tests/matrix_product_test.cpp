// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Products of two encrypted matrices: against plain products within the predicted error, counts, levels, refusals; and
// baby and giant steps.
#include "ringforge/circuits/matrix_product.hpp"

#include <cmath>
#include <set>

#include "ringforge/counters.hpp"
#include "ringforge/linear/baby_steps.hpp"
#include "ringforge/sha256.hpp"
#include "support.hpp"

namespace ringforge::circuits {
namespace {

using namespace ringforge::ckks;
using namespace ringforge::test;

std::vector<double> random_matrix(std::size_t count, double bound, unsigned seed) {
  std::mt19937_64 rng(seed);
  std::uniform_real_distribution<double> u(-bound, bound);
  std::vector<double> out(count);
  for (auto& x : out) x = u(rng);
  return out;
}

std::vector<double> multiply(const MatrixShape& s, const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> c(s.m * s.n);
  for (std::size_t i = 0; i < s.m; ++i)
    for (std::size_t k = 0; k < s.l; ++k)
      for (std::size_t j = 0; j < s.n; ++j) c[i * s.n + j] += a[i * s.l + k] * b[k * s.n + j];
  return c;
}

class MatrixProducts : public testing::Test {
 protected:
  MatrixProducts()
      : ctx(std::make_shared<const Context>(small_params(10, 6, 50, 1))),
        client(ctx, fixed_randomness()),
        sk(client.secret_key()) {}

  ContextPtr ctx;
  Client client;
  SecretKey sk;
};

/// Shapes that need each kind of plan: bare and masked shifts of both sides, one and many blocks, packed or not,
/// vectors, full slots.
const MatrixShape kShapes[] = {{16, 16, 16}, {22, 22, 22}, {1, 1, 1},   {5, 3, 7},    {20, 12, 25}, {3, 50, 4},
                               {50, 3, 10},  {1, 512, 1},  {512, 1, 1}, {1, 16, 32},  {32, 16, 1},  {16, 1, 16},
                               {8, 32, 16},  {2, 200, 2},  {4, 4, 128}, {13, 17, 11}, {32, 16, 16}, {7, 64, 8}};

TEST_F(MatrixProducts, EqualPlainProductsWithinTheBoundAndTheCounts) {
  std::set<std::string> kinds;
  for (const auto& shape : kShapes) {
    const std::string what = std::to_string(shape.m) + " " + std::to_string(shape.l) + " " + std::to_string(shape.n);
    // Sums of hundreds of terms need a modulus above the least.
    const auto level = shape.l > 256 ? std::optional<std::size_t>(4) : std::nullopt;
    MatrixProduct product(ctx, shape, {.level = level, .left_bound = 2, .right_bound = 0.5});
    const auto a = random_matrix(shape.m * shape.l, 2, 1), b = random_matrix(shape.l * shape.n, 0.5, 2);
    const KeySet keys = product.make_keys(client, sk);
    EXPECT_EQ(keys.galois().size(), product.plan().rotation_keys) << what;
    EXPECT_EQ(keys.bytes(), product.plan().key_storage) << what;
    product.prepare();
    EXPECT_EQ(product.storage(), product.plan().plaintext_storage) << what;
    const auto x = product.encrypt_left(client, sk, a), y = product.encrypt_right(client, sk, b);
    CountScope count;
    const auto c = product.multiply(x, y, keys);
    EXPECT_EQ(count.operations(), static_cast<const OpCounts&>(product.plan().work)) << what;
    EXPECT_EQ(c.level(), product.result_level());
    EXPECT_EQ(c.scale, std::exp2(40));
    EXPECT_EQ(c.bound, static_cast<double>(shape.l));
    // Predicted before anything was encrypted.
    const Metadata known = product.describe();
    EXPECT_EQ(known.variance, c.variance) << what;
    EXPECT_EQ(known.float_error, c.float_error) << what;
    const auto want = multiply(shape, a, b), got = product.decrypt(client, sk, c);
    double worst = 0;
    for (std::size_t i = 0; i < want.size(); ++i) worst = std::max(worst, std::fabs(got[i] - want[i]));
    EXPECT_LE(worst, error_bound(c)) << what << " " << product.plan().label;
    EXPECT_GE(worst, error_bound(c) / 65536) << what << " " << product.plan().label;
    // Nothing but the result, its copies, and zeros: whoever decrypts learns no more.
    const auto slots = ctx->decode(client.decrypt(c, sk));
    std::vector<double> sorted = want;
    sorted.push_back(0);
    std::sort(sorted.begin(), sorted.end());
    double stray = 0;
    for (const auto& s : slots) {
      const auto it = std::lower_bound(sorted.begin(), sorted.end(), s.real());
      double nearest = it == sorted.end() ? HUGE_VAL : std::fabs(*it - s.real());
      if (it != sorted.begin()) nearest = std::min(nearest, std::fabs(*std::prev(it) - s.real()));
      stray = std::max({stray, nearest, std::fabs(s.imag())});
    }
    EXPECT_LE(stray, error_bound(c)) << what;
    const auto& plan = product.plan();
    kinds.insert(plan.products.real_part ? "packed" : "plain");
    kinds.insert(plan.masked ? "masked" : "bare");
    kinds.insert(plan.products.folds.empty() ? "one block" : "blocks");
    kinds.insert(plan.products.groups.size() > 1 ? "groups" : "one group");
    kinds.insert(plan.left.transforms.size() > 1 || plan.right.transforms.size() > 1 ? "two" : "one");
    kinds.insert(plan.left.copies.empty() && plan.right.copies.empty() ? "no copies" : "copies");
  }
  EXPECT_EQ(kinds.size(), 12u) << "a kind of plan is not covered any more";
}

TEST_F(MatrixProducts, FactorsThreadsCompactVectorsAndHigherLevelsGiveTheSame) {
  const MatrixShape shape{13, 17, 11};
  MatrixProduct product(ctx, shape);
  const auto a = random_matrix(13 * 17, 1, 3), b = random_matrix(17 * 11, 1, 4);
  const auto x = product.encrypt_left(client, sk, a), y = product.encrypt_right(client, sk, b);
  const KeySet keys = product.make_keys(client, sk, 2);
  product.prepare(2);
  const auto c = product.multiply(x, y, keys);
  const auto left = product.left(x, keys, 2), right = product.right(y, keys);
  double last = 0;
  const auto d = product.multiply(left, right, keys, 3, [&](double done) { last = done; });
  EXPECT_EQ(last, 1.0);
  MatrixProduct compact(ctx, shape, {.compact = true});
  compact.prepare();
  EXPECT_LT(compact.storage(), product.storage());
  const auto e = compact.multiply(x, y, keys);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(equal(c.parts[i], d.parts[i]));
    EXPECT_TRUE(equal(c.parts[i], e.parts[i]));
  }
  // Public-key encryption, and operands that come at a higher level than the plan needs.
  const auto pk = client.public_key(sk);
  MatrixProduct high(ctx, shape, {.level = 5});
  EXPECT_EQ(high.result_level(), 5 - high.plan().depth());
  const auto p = high.encrypt_left(client, pk, a), q = high.encrypt_right(client, pk, b);
  const auto f = product.multiply(p, q, keys);
  EXPECT_LE(f.variance, product.describe(true).variance);
  const auto want = multiply(shape, a, b), got = product.decrypt(client, sk, f);
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], error_bound(f));
}

// The same keys, operands and result as in python/tests/matmul/test_native_plans.py, where Python multiplies.
TEST(MatrixProductWords, AreThoseOfPython) {
  const MatrixShape shape{13, 17, 11};
  const auto ctx = std::make_shared<const Context>(Parameters::named("fame-small", "tests"));
  MatrixProduct product(ctx, shape);
  Client client(ctx, fixed_randomness());
  const auto sk = client.secret_key();
  const KeySet keys = product.make_keys(client, sk);
  const auto entries = [](std::size_t count) {
    std::vector<double> out(count);
    for (std::size_t i = 0; i < count; ++i) out[i] = (static_cast<double>(i * 37 % 101) - 50) / 64;
    return out;
  };
  const auto a = product.encrypt_left(client, sk, entries(13 * 17));
  const auto b = product.encrypt_right(client, sk, entries(17 * 11));
  product.prepare();
  const auto c = product.multiply(a, b, keys);
  std::string hex;
  Sha256 hash;
  for (const auto& part : c.parts) hash.update(part.words().data(), part.words().size() * sizeof(u64));
  for (const auto byte : hash.finish()) {
    constexpr char digits[] = "0123456789abcdef";
    hex += digits[byte >> 4];
    hex += digits[byte & 15];
  }
  EXPECT_EQ(hex, "884959628d535b4146a92827cbde9ae520315bef56cf8803a772b0306aea286e");
}

TEST_F(MatrixProducts, WhatCannotBeIsRefused) {
  EXPECT_THROW(MatrixProduct(ctx, {0, 4, 4}), ShapeError);
  EXPECT_THROW(MatrixProduct(ctx, {32, 17, 2}), ShapeError);
  EXPECT_THROW(MatrixProduct(ctx, {std::size_t{1} << 63, 2, std::size_t{1} << 63}), ShapeError);
  EXPECT_THROW(MatrixProduct(ctx, {4, 4, 4}, {.level = 1}), LevelError);
  EXPECT_THROW(MatrixProduct(ctx, {4, 4, 4}, {.level = 6}), LevelError);
  EXPECT_THROW(MatrixProduct(ctx, {4, 4, 4}, {.left_bound = 0}), ValueError);
  EXPECT_THROW(MatrixProduct(ctx, {4, 4, 4}, {.right_bound = NAN}), ValueError);
  EXPECT_THROW(MatrixProduct(ctx, {4, 4, 4}, {.result_bound = -1.0}), ValueError);
  MatrixProduct large(ctx, {1, 512, 1});
  EXPECT_THROW(large.prepare(), ValueError);
  EXPECT_FALSE(large.prepared());
  MatrixProduct product(ctx, {4, 6, 3});
  const auto a = random_matrix(24, 1, 5), b = random_matrix(18, 1, 6);
  EXPECT_THROW(product.encrypt_left(client, sk, b), ShapeError);
  EXPECT_THROW(product.encrypt_right(client, sk, random_matrix(18, 1.5, 7)), ValueError);
  const auto x = product.encrypt_left(client, sk, a), y = product.encrypt_right(client, sk, b);
  KeySet keys = product.make_keys(client, sk);
  EXPECT_THROW(product.multiply(x, y, keys), ParameterError);
  product.prepare();
  const auto left = product.left(x, keys), right = product.right(y, keys);
  EXPECT_THROW(product.multiply(right, left, keys), ShapeError);
  EXPECT_THROW(product.multiply(left, left, keys), ShapeError);
  EXPECT_THROW(product.multiply(x, y, KeySet{}), MissingKeyError);
  EXPECT_THROW(product.multiply(left, right, KeySet(keys.galois(), {})), MissingKeyError);
  const Evaluator evaluator(ctx);
  EXPECT_THROW(product.left(evaluator.drop_to_level(x, x.level() - 1), keys), LevelError);
  const auto other = client.secret_key();
  EXPECT_THROW(product.multiply(product.encrypt_left(client, other, a), y, keys), MismatchError);
  const auto foreign = std::make_shared<const Context>(small_params(10, 6, 45, 1));
  Client stranger(foreign, fixed_randomness());
  EXPECT_THROW(
      product.multiply(product.encrypt_left(client, sk, a),
                       MatrixProduct(foreign, {4, 6, 3}).encrypt_right(stranger, stranger.secret_key(), b), keys),
      MismatchError);
  EXPECT_THROW(product.decrypt(client, other, product.multiply(x, y, keys)), MismatchError);
}

TEST(BabySteps, WriteEveryDiagonalAndCostLittle) {
  std::mt19937_64 rng(1);
  constexpr std::size_t kSlots = 1024;
  for (const std::size_t count : {1u, 2u, 7u, 40u, 255u}) {
    std::set<std::uint32_t> random, even;
    while (random.size() < count) random.insert(static_cast<std::uint32_t>(rng() % kSlots));
    for (std::size_t i = 0; i < count; ++i) even.insert(static_cast<std::uint32_t>((i * 4 + 1000) % kSlots));
    for (const auto* steps : {&random, &even}) {
      const std::vector<std::uint32_t> z(steps->begin(), steps->end());
      const auto babies = linear::baby_steps(z, kSlots, {}, 2);
      ASSERT_EQ(babies.size(), z.size());
      std::set<std::uint32_t> small, large;
      for (std::size_t i = 0; i < z.size(); ++i) {
        small.insert(babies[i]);
        large.insert((z[i] - babies[i]) % kSlots);
      }
      small.erase(0);
      large.erase(0);
      // Never worse than each diagonal by itself; for a progression about twice the root of twice its length.
      EXPECT_LE(small.size() + 2 * large.size(), count);
      if (steps == &even) {
        EXPECT_LE(static_cast<double>(small.size() + 2 * large.size()),
                  2 * std::sqrt(2.0 * static_cast<double>(count)) + 1);
      }
    }
  }
  // 16 x 16 sums of two progressions are found by their generators only.
  std::vector<std::uint32_t> grid;
  const linear::Progression generators[] = {{37, 16}, {-1, 16}};
  for (std::uint32_t i = 0; i < 16; ++i)
    for (std::uint32_t j = 0; j < 16; ++j) grid.push_back((37 * i - j) % kSlots);
  std::sort(grid.begin(), grid.end());
  const auto babies = linear::baby_steps(grid, kSlots, generators, 1);
  std::set<std::uint32_t> all(babies.begin(), babies.end());
  for (std::size_t i = 0; i < grid.size(); ++i) all.insert(kSlots + (grid[i] - babies[i]) % kSlots);
  EXPECT_EQ(all.size(), 32u);
  EXPECT_TRUE(linear::baby_steps({}, 8, {}, 1).empty());
  const std::uint32_t beyond[] = {8};
  EXPECT_THROW(linear::baby_steps(beyond, 8, {}, 1), ShapeError);
  EXPECT_THROW(linear::baby_steps({}, 12, {}, 1), ShapeError);
}

}  // namespace
}  // namespace ringforge::circuits
