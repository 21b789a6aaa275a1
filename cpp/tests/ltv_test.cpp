// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// LTV against exact polynomials over GF(2), its noise against measurement, and its refusals.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "../schemes/ltv/crt.hpp"
#include "gf2.hpp"
#include "ringforge/error.hpp"
#include "ringforge/ltv/ltv.hpp"

namespace ringforge::ltv {
namespace {

ContextPtr context(const std::string& name) {
  return std::make_shared<Context>(Parameters::named(name, "tests of LTV"));
}

Seed seed_of(std::uint8_t x) {
  Seed s{};
  s[0] = x;
  return s;
}

Bits random_bits(std::size_t n, std::mt19937_64& rng) {
  Bits b(n);
  for (auto& x : b) x = static_cast<std::uint8_t>(rng() & 1);
  return b;
}

Bits exclusive_or(Bits a, const Bits& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] ^= b[i];
  return a;
}

struct World {
  ContextPtr ctx;
  Client client;
  std::pair<SecretKey, PublicKey> keys;
  Evaluator ev;
  explicit World(const std::string& name, std::uint8_t seed = 1, unsigned threads = 2)
      : ctx(context(name)), client(ctx, TestRandomness(seed_of(seed))), keys(client.keys(threads)), ev(ctx, threads) {}
  const SecretKey& sk() const { return keys.first; }
  const PublicKey& pk() const { return keys.second; }
  EvalKey eval_key(std::size_t level) const { return client.eval_key(sk(), pk(), level, 2); }
  /// Predictions hold, and are not far above what is measured.
  void expect_noise(const Ciphertext& c, double slack = 14) const {
    const auto m = client.measure(c, sk());
    const double predicted = ctx->rules().coefficient_bits(c.noise);
    EXPECT_LE(m.largest, predicted) << "level " << c.level << " degree " << c.degree << " limbs " << c.limbs();
    EXPECT_GE(m.largest, predicted - slack) << "level " << c.level << " degree " << c.degree;
    EXPECT_LE(ev.budget(c), client.noise_budget(c, sk()));
  }
};

/// All levels: a product of two, of one by itself, sums, and a fresh operand at every level.
void run_chain(const World& w) {
  const std::size_t n = w.ctx->params().degree();
  const Gf2 ring(w.ctx->params().spec().m);
  std::mt19937_64 rng(7);
  Bits ma = random_bits(n, rng);
  Ciphertext a = w.client.encrypt(ma, w.pk());
  w.expect_noise(a);
  EXPECT_EQ(w.client.decrypt(a, w.sk()), ma);
  for (std::size_t level = 0; level < w.ctx->params().levels(); ++level) {
    const Bits mb = random_bits(n, rng);
    const Ciphertext b = w.client.encrypt(mb, w.pk(), level);
    const Ciphertext sum = w.ev.add(a, b);
    w.expect_noise(sum);
    EXPECT_EQ(w.client.decrypt(sum, w.sk()), exclusive_or(ma, mb));
    // a*a + a*b
    const Ciphertext square = w.ev.mul(a, a), both = w.ev.add(square, w.ev.mul(a, b));
    w.expect_noise(square, 20);
    const Bits expected = exclusive_or(ring.mul(ma, ma), ring.mul(ma, mb));
    EXPECT_EQ(w.client.decrypt(both, w.sk()), expected) << level;  // under f^2
    const EvalKey key = w.eval_key(level + 1);
    EXPECT_EQ(key.bytes(), w.ctx->params().key_bytes(level + 1));
    const Ciphertext relinearized = w.ev.relinearize(both, key);
    w.expect_noise(relinearized, 24);
    EXPECT_EQ(w.client.decrypt(relinearized, w.sk()), expected) << level;
    const Ciphertext next = w.ev.mod_switch(relinearized);
    w.expect_noise(next);
    EXPECT_EQ(w.client.decrypt(next, w.sk()), expected) << level;
    // Down a level without a product.
    const Ciphertext down = w.ev.mod_switch(w.ev.relinearize(b, key));
    w.expect_noise(down);
    EXPECT_EQ(w.client.decrypt(down, w.sk()), mb);
    a = next;
    ma = expected;
  }
  EXPECT_GE(w.ev.budget(a), 10);
}

TEST(Ltv, AllLevelsByWindows) { run_chain(World("ltv-test")); }
TEST(Ltv, AllLevelsByDigits) { run_chain(World("ltv-test-digit")); }
TEST(Ltv, AllLevelsByBits) { run_chain(World("ltv-test-bits")); }

TEST(Ltv, AllLevelsInATensorRing) { run_chain(World("ltv-test-tensor")); }

class LtvPlain : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(, LtvPlain, testing::Values("ltv-test", "ltv-test-tensor"));

TEST_P(LtvPlain, Operands) {
  const World w(GetParam());
  const std::size_t n = w.ctx->params().degree();
  const Gf2 ring(255);
  std::mt19937_64 rng(9);
  const Bits a = random_bits(n, rng), ones(n, 1);
  const Ciphertext c = w.client.encrypt(a, w.pk());
  for (const Bits& m : {random_bits(n, rng), ones}) {
    const Ciphertext sum = w.ev.add_plain(c, m), product = w.ev.mul_plain(c, m);
    w.expect_noise(sum);
    w.expect_noise(product);
    EXPECT_EQ(w.client.decrypt(sum, w.sk()), exclusive_or(a, m));
    EXPECT_EQ(w.client.decrypt(product, w.sk()), ring.mul(a, m));
    const Ciphertext squares = w.ev.add_plain(w.ev.mul(c, c), m);  // under f^2
    w.expect_noise(squares, 20);
    EXPECT_EQ(w.client.decrypt(squares, w.sk()), exclusive_or(ring.mul(a, a), m));
  }
  const Ciphertext structured = w.client.encrypt(ones, w.pk());
  w.expect_noise(structured);
  EXPECT_EQ(w.client.decrypt(structured, w.sk()), ones);
}

// Windows put together are the centred integer, residue by residue.
TEST(Ltv, DigitsMakeTheCiphertext) {
  for (const char* name : {"ltv-test", "ltv-test-bits", "ltv-test-digit"}) {
    const auto ctx = context(name);
    const auto& spec = ctx->params().spec();
    const BasisOf<u32> basis = ctx->basis(ctx->params().limbs(0));
    const auto p = to_coeff(sample_uniform(basis, seed_of(3), StreamObject::ciphertext));
    const std::size_t count = ctx->params().digits(1), each = (31 + spec.window - 1) / spec.window;
    const bool rns = spec.gadget == Gadget::rns;
    Digits digits, others;
    cut(digits, p, ctx->params(), count, 1);
    cut(others, p, ctx->params(), count, 2);
    ASSERT_EQ(digits.size(), count);
    for (std::size_t d = 0; d < count; ++d) ASSERT_TRUE(std::ranges::equal(digits[d], others[d]));
    for (std::size_t k = 0; k < p.degree(); ++k)
      for (std::size_t i = 0; i < basis.size(); ++i) {
        const auto q = static_cast<__int128>(basis[i].value());
        __int128 sum = 0;
        for (std::size_t d = count; d-- > 0;) {
          if (rns && d / each != i) continue;
          ASSERT_LE(std::abs(i64{digits[d][k]}), i64{1} << (spec.window == 1 ? 0 : spec.window - 1));
          sum = ((sum << spec.window) + digits[d][k]) % q;
        }
        ASSERT_EQ(static_cast<u64>((sum + q) % q), p.limb(i)[k]) << name << " " << k << " " << i;
      }
  }
}

TEST(Ltv, ThreadsDoNotChangeBits) {
  const auto run = [](unsigned threads) {
    const World w("ltv-test", 5, threads);
    const EvalKey key = w.client.eval_key(w.sk(), w.pk(), 1, threads);
    const Ciphertext c = w.client.encrypt(Bits{1, 0, 1}, w.pk(), 0, threads);
    const auto r = w.ev.mod_switch(w.ev.relinearize(w.ev.mul(c, c), key)).poly;
    return std::vector<u32>(r.words().begin(), r.words().end());
  };
  EXPECT_EQ(run(1), run(3));
}

// By hand for Phi_3; one prime has the same basis twice, by two ways of computing.
TEST(Ltv, MomentsOfReduction) {
  EXPECT_NEAR(ternary_product_deviation(65535, PolyBasis::tensor), 326.3, 0.1);
  EXPECT_EQ(reduction_moment(65535, PolyBasis::tensor), 16);
  // Modulo Phi_3, (a + bX)(c + dX) = (ac - bd) + (ad + bc - bd) X: 2 and 3 terms.
  EXPECT_DOUBLE_EQ(ternary_product_deviation(3, PolyBasis::power), 2.0 / 3 * std::sqrt(2.5));
  EXPECT_DOUBLE_EQ(ternary_product_deviation(3, PolyBasis::tensor), 2.0 / 3 * std::sqrt(2.5));
  EXPECT_DOUBLE_EQ(ternary_product_deviation(257, PolyBasis::power), ternary_product_deviation(257, PolyBasis::tensor));
  EXPECT_EQ(reduction_moment(257, PolyBasis::power), 2);
  EXPECT_THROW((void)reduction_moment(9, PolyBasis::tensor), ParameterError);
}

// Row by row with exact integers: 2 + 3X modulo Phi_5 (1 + X + X^2 + X^3 + X^4).
TEST(Ltv, MomentsOfMultiples) {
  const std::vector<i64> one{1, 0, 0, 0}, a{2, 3, 0, 0};
  EXPECT_EQ(reduction_moment(5, one), reduction_moment(5, PolyBasis::power));
  // X^j a for j = 0 ... 4: (2,3,0,0), (0,2,3,0), (0,0,2,3), (-3,-3,-3,-1), (1,-2,-2,-2).
  EXPECT_EQ(reduction_moment(5, a), 4 + 0 + 9 + 9 + 4);
  for (const u64 m : {u64{255}, u64{1285}}) {
    std::vector<i64> x(Ring::cyclotomic(m).degree(), 0);
    x[0] = 1;
    EXPECT_EQ(reduction_moment(m, x), reduction_moment(m, PolyBasis::power));
    std::rotate(x.begin(), x.end() - 1, x.end());  // X times as much is the same rows in turn
    EXPECT_EQ(reduction_moment(m, x), reduction_moment(m, PolyBasis::power));
  }
}

// Integers of several words, of both signs, by powers of two.
TEST(Ltv, SizesOfIntegers) {
  const auto ctx = context("ltv-test-digit");
  const BasisOf<u32> basis = ctx->basis(7);
  const Crt crt(basis);
  Coefficients p(basis);
  p.zero();
  for (std::size_t k = 0; k < p.degree(); ++k)
    for (std::size_t i = 0; i < p.limbs(); ++i) {
      const u64 q = basis[i].value();
      u64 v = 1;
      for (std::size_t bit = 0; bit < k; ++bit) v = 2 * v % q;
      p.limb(i)[k] = static_cast<u32>(k % 2 == 0 ? v : q - v);
    }
  std::vector<u64> value(crt.words());
  for (std::size_t k = 0; k < p.degree(); ++k) {
    crt.centred(p, k, value.data());
    EXPECT_EQ(crt.scaled(value.data(), crt.scale(100)), std::ldexp(k % 2 == 0 ? 1 : -1, static_cast<int>(k) - 100))
        << k;
  }
}

TEST(Ltv, Refusals) {
  const World w("ltv-test"), other("ltv-test", 2), digit("ltv-test-digit");
  const Ciphertext c = w.client.encrypt(Bits{1}, w.pk()), low = w.client.encrypt(Bits{1}, w.pk(), 1);
  const Ciphertext square = w.ev.mul(c, c);
  EXPECT_THROW((void)w.ev.add(c, low), LevelError);
  EXPECT_THROW((void)w.ev.add(c, square), LevelError);
  EXPECT_THROW((void)w.ev.mul(square, c), LevelError);
  EXPECT_THROW((void)w.ev.mod_switch(c), LevelError);
  EXPECT_THROW((void)w.client.encrypt(Bits{1}, w.pk(), 4), LevelError);
  EXPECT_THROW((void)w.client.encrypt(Bits{2}, w.pk()), ValueError);
  EXPECT_THROW((void)w.client.encrypt(Bits(129, 0), w.pk()), ValueError);
  EXPECT_THROW((void)w.client.encrypt(Bits{1}, digit.pk()), MismatchError);
  const EvalKey key = w.eval_key(1), second = w.eval_key(2);
  EXPECT_THROW((void)w.ev.relinearize(square, second), LevelError);
  EXPECT_THROW((void)w.ev.relinearize(square, other.eval_key(1)), MismatchError);
  EXPECT_THROW((void)w.ev.relinearize(square, digit.eval_key(1)), MismatchError);
  EXPECT_THROW((void)w.eval_key(0), LevelError);
  EXPECT_THROW((void)w.eval_key(4), LevelError);
  EXPECT_THROW((void)w.client.eval_key(w.sk(), other.pk(), 1), MismatchError);
  const Ciphertext between = w.ev.relinearize(square, key);
  EXPECT_THROW((void)w.ev.mul(between, between), LevelError);
  EXPECT_THROW((void)w.ev.relinearize(between, second), LevelError);
  EXPECT_THROW((void)w.client.decrypt(other.client.encrypt(Bits{1}, other.pk()), w.sk()), MismatchError);
  EXPECT_THROW((void)w.ev.add(c, other.client.encrypt(Bits{1}, other.pk())), MismatchError);
  EXPECT_THROW((void)digit.ev.budget(c), LevelError);  // of the same primes, but other levels
  // Another f: what comes out is uniform, and seen as such.
  Ciphertext wrong = low;
  wrong.poly = other.client.encrypt(Bits{1}, other.pk(), 1).poly;
  EXPECT_THROW((void)w.client.decrypt(wrong, w.sk()), LevelError);
  // The same numbers, for other primes.
  const World tensor("ltv-test-tensor");
  EXPECT_THROW((void)w.client.decrypt(c, tensor.sk()), MismatchError);
  EXPECT_THROW((void)ring_named("negacyclic"), ParameterError);
  EXPECT_THROW((void)Parameters::named("ltv-paper", ""), ParameterError);
  EXPECT_THROW((void)Parameters::named("ltv", "why not"), ParameterError);
}

}  // namespace
}  // namespace ringforge::ltv
