// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// LTV on many ciphertexts: relinearisation by a prepared key is that of one ciphertext, bit for bit; sums of products,
// carried ciphertexts, products over levels, against polynomials over GF(2).
#include "ringforge/ltv/batch.hpp"

#include <gtest/gtest.h>

#include <random>

#include "gf2.hpp"
#include "ringforge/error.hpp"
#include "ringforge/ltv/parts.hpp"

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

struct World {
  ContextPtr ctx;
  Client client;
  std::pair<SecretKey, PublicKey> keys;
  BatchEvaluator ev;
  std::mt19937_64 rng{5};
  explicit World(const std::string& name, unsigned threads = 2)
      : ctx(context(name)), client(ctx, TestRandomness(seed_of(3))), keys(client.keys(threads)), ev(ctx, threads) {}
  EvalKey key(std::size_t level, std::size_t lag = 0) const {
    return client.eval_key(keys.first, keys.second, level, 2, lag);
  }
  Bits message() {
    Bits b(ctx->params().degree());
    for (auto& x : b) x = static_cast<std::uint8_t>(rng() & 1);
    return b;
  }
  Bits decrypt(const Ciphertext& c) const {
    EXPECT_LE(client.measure(c, keys.first).largest, ctx->rules().coefficient_bits(c.noise));
    return client.decrypt(c, keys.first);
  }
};

std::vector<const Ciphertext*> pointers(const std::vector<Ciphertext>& v) {
  std::vector<const Ciphertext*> p;
  for (const Ciphertext& c : v) p.push_back(&c);
  return p;
}

Bits exclusive_or(Bits a, const Bits& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] ^= b[i];
  return a;
}

/// What a machine with transforms of its own gives: products of words in Eval form, brought back without a reduction
/// modulo Phi. One polynomial a prime.
std::vector<u32> unreduced(const Poly<Eval, u32>& p) {
  std::vector<u32> words(p.limbs() * p.length());
  for (std::size_t i = 0; i < p.limbs(); ++i)
    kernels::active32().ntt_inverse(words.data() + i * p.length(), p.limb(i), p.basis()[i].table());
  return words;
}

TEST(LtvBatch, PartsOfAMachineMakeTheSameCiphertexts) {
  for (const char* name : {"ltv-test", "ltv-test-bits"}) {
    World w(name);
    const Parameters& params = w.ctx->params();
    const EvalKey key = w.key(1);
    const KeyParts parts(w.ctx, key, 2);
    const std::size_t n = params.degree();
    const Evaluator one(w.ctx, 1);
    std::vector<Ciphertext> inputs;
    for (int k = 0; k < 3; ++k) inputs.push_back(w.client.encrypt(w.message(), w.keys.second));
    const ProductSums plan{{{0}, {1, 2}, {0, 1}}, {{{0, 1}, {2, 2}}, {{1, 1}}}, {{0, 2}, {}}};
    const auto products = w.ev.products(pointers(inputs), plan);

    const BasisOf<u32>& basis = inputs[0].poly.basis();
    std::vector<u32> words(plan.sums.size() * basis.size() * n);
    w.ev.operands(words, pointers(inputs), plan);
    std::vector<Poly<Eval, u32>> sums;
    for (std::size_t s = 0; s < plan.sums.size(); ++s) {
      Coefficients p(basis);
      for (std::size_t i = 0; i < basis.size(); ++i)
        std::copy_n(words.data() + (s * basis.size() + i) * n, n, p.limb(i));
      sums.push_back(to_eval(p));
    }
    std::vector<u32> made;
    for (const auto& terms : plan.outputs) {
      Poly<Eval, u32> total(basis);
      total.zero();
      for (const auto& [a, b] : terms) mul_add(total, sums[a], sums[b]);
      const auto whole = unreduced(total);
      made.insert(made.end(), whole.begin(), whole.end());
    }
    const auto assembled = w.ev.assemble(pointers(inputs), plan, made);
    ASSERT_EQ(assembled.size(), products.size());
    for (std::size_t o = 0; o < products.size(); ++o) {
      EXPECT_TRUE(std::ranges::equal(assembled[o].poly.words(), products[o].poly.words())) << name << " " << o;
      EXPECT_EQ(assembled[o].noise, products[o].noise);
    }

    std::vector<std::uint16_t> digits(parts.digits() * n);
    parts.digits(digits, products[0], 2);
    Poly<Eval, u32> total(basis);
    total.zero();
    for (std::size_t d = 0; d < parts.digits(); ++d) {
      Coefficients p(basis);
      for (std::size_t i = 0; i < basis.size(); ++i) std::copy_n(digits.data() + d * n, n, p.limb(i));
      mul_add(total, to_eval(p), key.digits[d]);
    }
    const Ciphertext got = parts.assemble(products[0], unreduced(total), 2), want = one.relinearize(products[0], key);
    EXPECT_TRUE(std::ranges::equal(got.poly.words(), want.poly.words())) << name;
    EXPECT_EQ(got.noise, want.noise);
    EXPECT_EQ(got.level, want.level);

    made.back() = static_cast<u32>(basis[basis.size() - 1].value());
    EXPECT_THROW((void)w.ev.assemble(pointers(inputs), plan, made), ValueError);
    EXPECT_THROW((void)w.ev.assemble(pointers(inputs), plan, std::span(made).subspan(1)), ShapeError);
    EXPECT_THROW(w.ev.operands(std::span(words).subspan(1), pointers(inputs), plan), ShapeError);
    EXPECT_THROW(parts.digits(std::span(digits).subspan(1), products[0]), ShapeError);
    EXPECT_THROW(parts.digits(digits, got), LevelError);
    EXPECT_THROW((void)parts.assemble(products[0], made), ShapeError);
  }
}

TEST(LtvBatch, PartsAreOfPaddedRingsAndDigitsOf16Bits) {
  for (const char* name : {"ltv-test-digit", "ltv-test-tensor"}) {
    const World w(name);
    EXPECT_THROW(KeyParts(w.ctx, w.key(1)), ParameterError) << name;
  }
}

TEST(LtvBatch, RelinearisationIsThatOfOneCiphertext) {
  for (const char* name : {"ltv-test", "ltv-test-digit", "ltv-test-bits", "ltv-test-tensor"}) {
    const auto names = Parameters::names();
    if (std::find(names.begin(), names.end(), name) == names.end()) continue;
    World w(name);
    const Evaluator one(w.ctx, 1);
    Relinearizer relinearizer(w.ctx, 2);
    for (std::size_t level = 0; level < w.ctx->params().levels(); ++level) {
      std::vector<Ciphertext> products;
      for (int k = 0; k < 11; ++k) {
        const Ciphertext a = w.client.encrypt(w.message(), w.keys.second, level);
        products.push_back(one.mul(a, w.client.encrypt(w.message(), w.keys.second, level)));
      }
      const EvalKey key = w.key(level + 1);
      relinearizer.load(key);
      const auto got = relinearizer.relinearize(pointers(products));
      ASSERT_EQ(got.size(), products.size());
      for (std::size_t k = 0; k < got.size(); ++k) {
        const Ciphertext expected = one.relinearize(products[k], key);
        EXPECT_TRUE(std::ranges::equal(got[k].poly.words(), expected.poly.words())) << name << " " << level << " " << k;
        EXPECT_EQ(got[k].noise, expected.noise);
        EXPECT_EQ(got[k].level, expected.level);
      }
    }
  }
}

TEST(LtvBatch, SumsOfProductsOfSums) {
  World w("ltv-test");
  const Gf2 ring(w.ctx->params().spec().m);
  std::vector<Bits> m;
  std::vector<Ciphertext> c;
  for (int k = 0; k < 4; ++k) m.push_back(w.message()), c.push_back(w.client.encrypt(m.back(), w.keys.second));
  const ProductSums plan{{{0}, {1, 2}, {3}, {0, 1, 3}}, {{{0, 1}, {2, 3}}, {{1, 1}}}, {{2}, {}}};
  const auto out = w.ev.products(pointers(c), plan);
  const Bits s1 = exclusive_or(m[1], m[2]), s3 = exclusive_or(exclusive_or(m[0], m[1]), m[3]);
  EXPECT_EQ(w.decrypt(out[0]), exclusive_or(exclusive_or(ring.mul(m[0], s1), ring.mul(m[3], s3)), m[3]));
  EXPECT_EQ(w.decrypt(out[1]), ring.mul(s1, s1));
  const auto sums = w.ev.sums(pointers(c), {{0, 2, 3}, {1}}, std::vector<std::uint8_t>{1, 0});
  Bits expected = exclusive_or(exclusive_or(m[0], m[2]), m[3]);
  expected[0] ^= 1;
  EXPECT_EQ(w.decrypt(sums[0]), expected);
  EXPECT_EQ(w.decrypt(sums[1]), m[1]);
}

TEST(LtvBatch, ProductsOverLevels) {
  World w("ltv-test");
  const Gf2 ring(w.ctx->params().spec().m);
  const Bits old = w.message(), a = w.message(), b = w.message();
  std::vector<Ciphertext> top;
  for (const Bits& m : {old, a, b}) top.push_back(w.client.encrypt(m, w.keys.second));
  Relinearizer r(w.ctx, 2);
  const auto both_top = w.ev.products(pointers(top), {{{1}, {2}}, {{{0, 1}}}, {}});
  EXPECT_THROW(r.relinearize(pointers(both_top)), LevelError);
  r.load(w.key(1));
  const auto down = w.ev.mod_switch(pointers(r.relinearize(pointers(both_top))));
  r.load(w.key(2, 1));
  const auto carried = w.ev.carry(std::vector<const Ciphertext*>{&top[0]}, 1);
  EXPECT_EQ(w.decrypt(carried[0]), old);
  const std::vector<const Ciphertext*> both{&down[0], &carried[0]};
  const auto product = w.ev.products(both, {{{0}, {1}}, {{{0, 1}}}, {{1}}});
  const Bits expected = exclusive_or(ring.mul(ring.mul(a, b), old), old);
  EXPECT_EQ(product[0].lag, 1U);
  EXPECT_EQ(w.decrypt(product[0]), expected);
  const auto relinearized = r.relinearize(pointers(product));
  EXPECT_EQ(w.decrypt(w.ev.mod_switch(pointers(relinearized))[0]), expected);
  const Evaluator one(w.ctx, 1);
  EXPECT_EQ(w.decrypt(one.relinearize(product[0], w.key(2, 1))), expected);
  // Refused: a key of another lag, sums over different levels, a carried ciphertext where one of its level is due.
  r.load(w.key(2));
  EXPECT_THROW(r.relinearize(pointers(product)), LevelError);
  EXPECT_THROW(r.relinearize(pointers(top)), LevelError);
  EXPECT_THROW(r.load(World("ltv-test-bits").key(1)), MismatchError);
  EXPECT_THROW(one.relinearize(product[0], w.key(2)), MismatchError);
  EXPECT_THROW(w.ev.sums(both, {{0, 1}}), LevelError);
  EXPECT_THROW(w.ev.products(both, {{{0, 1}}, {{{0, 0}}}, {}}), LevelError);
  EXPECT_THROW(one.mul(carried[0], carried[0]), LevelError);
  EXPECT_THROW(w.ev.carry(std::vector<const Ciphertext*>{&top[0]}, 0), LevelError);
  EXPECT_THROW(w.key(1, 1), LevelError);
  EXPECT_THROW(w.ev.products(pointers(top), {{{0}, {5}}, {{{0, 1}}}, {}}), ShapeError);
  EXPECT_THROW(w.ev.products(pointers(top), {{{0}}, {{{0, 1}}}, {}}), ShapeError);
}

TEST(LtvBatch, SameBitsForAllThreads) {
  World w("ltv-test", 1);
  std::vector<Ciphertext> c;
  for (int k = 0; k < 3; ++k) c.push_back(w.client.encrypt(w.message(), w.keys.second));
  const ProductSums plan{{{0}, {1, 2}}, {{{0, 1}}, {{1, 1}}}, {}};
  const auto run = [&](unsigned threads) {
    const BatchEvaluator ev(w.ctx, threads);
    Relinearizer r(w.ctx, threads);
    r.load(World("ltv-test").key(1));
    return ev.mod_switch(pointers(r.relinearize(pointers(ev.products(pointers(c), plan)))));
  };
  const auto a = run(1), b = run(3);
  for (std::size_t k = 0; k < a.size(); ++k) EXPECT_TRUE(std::ranges::equal(a[k].poly.words(), b[k].poly.words()));
}

}  // namespace
}  // namespace ringforge::ltv
