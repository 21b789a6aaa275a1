// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// BFV against integers modulo t.
#include <cmath>
#include <thread>

#include "bfv_support.hpp"
#include "ringforge/counters.hpp"
#include "ringforge/rlwe/params.hpp"

namespace ringforge::test {
namespace {

using namespace bfv_world;
using bfv::ParametersSpec;
using rlwe::ParameterFailure;

TEST(BfvParameters, NamedSetsAreWhatTheySay) {
  for (const auto& name : bfv::Parameters::names()) {
    const auto p = bfv::Parameters::named(name, "test");
    EXPECT_TRUE(p.batching()) << name;
    EXPECT_EQ(p.secure(), name != "omr-test") << name;
  }
  const auto omr = bfv::Parameters::named("omr");
  EXPECT_EQ(omr.degree(), 65536u);
  EXPECT_EQ(omr.t(), 786433u);
  EXPECT_EQ(omr.max_limbs(), 23u);
  EXPECT_EQ(std::ceil(omr.log_q()), 1140);
  EXPECT_LE(omr.log_qp(), 1747);
  for (const u64 q : omr.spec().q) {
    EXPECT_LT(std::log2(static_cast<double>(q)), 49.6);
    EXPECT_EQ(q % (u64{1} << 18), 1u);
  }
  EXPECT_THROW((void)bfv::Parameters::named("omr-test"), ParameterError);
  EXPECT_THROW((void)bfv::Parameters::named("no-such"), ParameterError);
}

TEST(BfvParameters, RefusalsNameTheFailure) {
  const auto good = parameters(10, 65537, 3, 2, 2).spec();
  const auto failure = [&](const std::function<void(ParametersSpec&)>& change) -> std::string {
    ParametersSpec spec = good;
    change(spec);
    try {
      (void)bfv::Parameters(spec);
    } catch (const ParameterError& e) {
      return std::string(e.what()).substr(0, std::string(e.what()).find(':'));
    }
    return "none";
  };
  using F = ParameterFailure;
  EXPECT_EQ(failure([](auto&) {}), "none");
  EXPECT_EQ(failure([](auto& s) { s.log_n = 9; }), explain(F::degree));
  EXPECT_EQ(failure([](auto& s) { s.t = 1; }), explain(F::plaintext_modulus));
  EXPECT_EQ(failure([](auto& s) { s.t = u64{1} << 32; }), explain(F::plaintext_modulus));
  EXPECT_EQ(failure([](auto& s) { s.q[0] = primes_below(25, 1, 2048)[0], s.t = s.q[0] / 3; }),
            explain(F::plaintext_modulus));
  EXPECT_EQ(failure([](auto& s) { s.q[2] = 786433, s.t = 786433; }), explain(F::plaintext_modulus));
  EXPECT_EQ(failure([](auto& s) { s.q.clear(); }), explain(F::limb_count));
  EXPECT_EQ(failure([](auto& s) { s.p.clear(); }), explain(F::limb_count));
  EXPECT_EQ(failure([](auto& s) { s.q[1] += 2; }), explain(F::modulus));
  EXPECT_EQ(failure([](auto& s) { s.q[1] = s.q[0]; }), explain(F::modulus));
  EXPECT_EQ(failure([](auto& s) { s.limbs_per_digit = 4; }), explain(F::digit));
  EXPECT_EQ(failure([](auto& s) { s.p.resize(1); }), explain(F::digit));
  EXPECT_EQ(failure([](auto& s) { s.insecure.clear(); }), explain(F::not_secure));
  EXPECT_EQ(failure([](auto& s) { s.name.assign(65, 'x'); }), explain(F::text));
}

TEST(BfvParameters, HashesFollowWhatCounts) {
  const auto base = parameters(10, 65537, 3);
  auto spec = base.spec();
  spec.name = "other";
  spec.insecure = "another reason";
  EXPECT_EQ(bfv::Parameters(spec), base);
  spec.t = 12289;
  EXPECT_FALSE(bfv::Parameters(spec) == base);
}

/// Slots against the definition: values of the polynomial at powers of zeta. For every kind of t: below and above what
/// kernels take.
TEST(BfvEncoding, SlotsAreValuesAtRoots) {
  for (const u64 t : {12289ULL, 40961ULL, 65537ULL, 786433ULL, 4294957057ULL}) {
    SCOPED_TRACE(t);
    const bfv::Context ctx(parameters(10, t, 2));
    const std::size_t n = 1024;
    const Values v = random_values(n, t, 3);
    const auto p = ctx.encode(v);
    EXPECT_EQ(ctx.decode(p), v);
    const auto power = [&](u64 x, u64 e) {
      u64 r = 1;
      for (; e != 0; e >>= 1, x = static_cast<u64>(static_cast<unsigned __int128>(x) * x % t))
        if (e & 1) r = static_cast<u64>(static_cast<unsigned __int128>(r) * x % t);
      return r;
    };
    u64 zeta = 2;
    while (power(zeta, n) != t - 1) ++zeta;
    const auto value = [&](u64 exponent) {
      const u64 x = power(zeta, exponent);
      u64 r = 0;
      for (std::size_t k = n; k-- > 0;)
        r = static_cast<u64>((static_cast<unsigned __int128>(r) * x + p.coefficients.data()[k]) % t);
      return r;
    };
    u64 g = 1;
    for (std::size_t i = 0; i < 20; ++i, g = g * 5 % (2 * n)) {
      EXPECT_EQ(value(g), v[i]);
      EXPECT_EQ(value(2 * n - g), v[i + n / 2]);
    }
  }
}

TEST(BfvEncoding, RangesAndSigns) {
  const bfv::Context ctx(parameters(10, 65537, 2));
  const std::vector<i64> signed_values{-1, 5, -65536, 65536, 0};
  const auto decoded = ctx.decode(ctx.encode(signed_values));
  EXPECT_EQ(decoded[0], 65536u);
  EXPECT_EQ(decoded[2], 1u);
  EXPECT_EQ(decoded[7], 0u);
  EXPECT_EQ(ctx.centred(decoded)[0], -1);
  EXPECT_EQ(ctx.centred(decoded)[3], -1);
  EXPECT_EQ(ctx.decode(ctx.constant(-3)), Values(1024, 65534));
  EXPECT_THROW((void)ctx.encode(std::vector<i64>{65537}), ValueError);
  EXPECT_THROW((void)ctx.encode(std::vector<i64>{-65537}), ValueError);
  EXPECT_THROW((void)ctx.encode(Values{65537}), ValueError);
  EXPECT_THROW((void)ctx.encode(Values(1025)), ValueError);
  EXPECT_THROW((void)ctx.encode_coefficients(Values(1025)), ValueError);
  const bfv::Context without(parameters(10, 1000, 2));
  EXPECT_THROW((void)without.encode(Values{1}), ParameterError);
  EXPECT_THROW((void)without.decode(without.constant(1)), ParameterError);
}

/// Every t, batching or not, even or odd, a power of two, decrypts, adds and multiplies.
TEST(Bfv, AnyPlaintextModulus) {
  for (const u64 t : {2ULL, 3ULL, 256ULL, 257ULL, 1000ULL, 12289ULL, 65536ULL, 65537ULL, 786433ULL, 4294967295ULL}) {
    SCOPED_TRACE(t);
    World w(parameters(10, t, 4));
    const Values x = random_values(w.n, t, 1), y = random_values(w.n, t, 2);
    const auto a = w.client.encrypt(w.ctx->encode_coefficients(x), w.sk);
    const auto b = w.client.encrypt(w.ctx->encode_coefficients(y), w.pk);
    const auto get = [&](const bfv::Ciphertext& c) {
      const auto p = w.client.decrypt(c, w.sk);
      return Values(p.words().begin(), p.words().end());
    };
    EXPECT_EQ(get(a), x);
    EXPECT_EQ(get(b), y);
    EXPECT_EQ(get(w.ev.add(a, b)), sum(x, y, t));
    if (t < (u64{1} << 31)) {
      EXPECT_EQ(get(w.multiply(a, b)), polynomial_product(x, y, t));
    }
    EXPECT_EQ(get(w.ev.mul_constant(a, -3)), map2(x, x, t, [t](u64 v, u64) { return (t - v) % t * 3; }));
    w.expect_covered(a, "secret");
    w.expect_covered(b, "public");
  }
}

class BfvOperations : public testing::Test {
 protected:
  BfvOperations()
      : w(parameters(11, 65537, 5, 2, 2)),
        x(random_values(w.n, w.t, 1)),
        y(random_values(w.n, w.t, 2)),
        a(w.encrypt(x)),
        b(w.client.encrypt(w.ctx->encode(y), w.pk)) {}
  World w;
  Values x, y;
  bfv::Ciphertext a, b;
};

TEST_F(BfvOperations, Sums) {
  const u64 t = w.t;
  const auto p = w.ctx->encode(y);
  EXPECT_EQ(w.decrypt(w.ev.add(a, b)), sum(x, y, t));
  EXPECT_EQ(w.decrypt(w.ev.sub(a, b)), difference(x, y, t));
  EXPECT_EQ(w.decrypt(w.ev.negate(a)), difference(Values(w.n), x, t));
  EXPECT_EQ(w.decrypt(w.ev.add_plain(a, p)), sum(x, y, t));
  EXPECT_EQ(w.decrypt(w.ev.sub_plain(a, p)), difference(x, y, t));
  EXPECT_EQ(w.decrypt(w.ev.add_constant(a, 41)), sum(x, Values(w.n, 41), t));
  EXPECT_EQ(w.decrypt(w.ev.add_constant(a, -65538)), sum(x, Values(w.n, t - 1), t));
  auto c = a;
  w.ev.add_in_place(c, b);
  w.ev.sub_plain_in_place(c, p);
  EXPECT_EQ(w.decrypt(c), x);
  w.ev.add_plain_in_place(c, p);
  w.ev.sub_in_place(c, b);
  w.ev.negate_in_place(c);
  EXPECT_EQ(w.decrypt(c), difference(Values(w.n), x, t));
  w.ev.sub_in_place(c, c);
  EXPECT_EQ(w.decrypt(c), Values(w.n));
}

TEST_F(BfvOperations, PlainProducts) {
  const auto p = w.ctx->encode(y);
  EXPECT_EQ(w.decrypt(w.ev.mul_plain(a, p)), product(x, y, w.t));
  const auto m = w.ctx->multiplier(p);
  EXPECT_EQ(w.decrypt(w.ev.mul_plain(a, m)), product(x, y, w.t));
  EXPECT_EQ(w.decrypt(w.ev.mul_plain(w.ev.mod_switch_to(a, 3), m)), product(x, y, w.t));
  EXPECT_THROW((void)w.ev.mul_plain(a, w.ctx->multiplier(p, 3)), LevelError);
  EXPECT_EQ(w.decrypt(w.ev.mul_constant(a, 65536)), difference(Values(w.n), x, w.t));
  const auto three = w.ev.mul(a, b);
  const std::array<const bfv::Ciphertext*, 3> terms{&a, &three, &b};
  const std::array<i64, 3> factors{7, -2, 65530};
  const auto c = w.ev.combine(terms, factors);
  EXPECT_EQ(c.parts.size(), 3u);
  Values expected(w.n);
  for (std::size_t i = 0; i < w.n; ++i) expected[i] = (7 * x[i] + 65535 * (x[i] * y[i] % w.t) + 65530 * y[i]) % w.t;
  EXPECT_EQ(w.decrypt(w.ev.relinearize(c, w.relin)), expected);
  EXPECT_EQ(w.decrypt(c), expected);
  EXPECT_THROW((void)w.ev.combine(terms, std::array<i64, 2>{1, 2}), ShapeError);
}

TEST_F(BfvOperations, ProductsAtEveryNumberOfLimbs) {
  for (std::size_t limbs = 5; limbs >= 2; --limbs) {
    SCOPED_TRACE(limbs);
    const auto c = w.ev.mod_switch_to(a, limbs), d = w.ev.mod_switch_to(b, limbs);
    const auto three = w.ev.mul(c, d);
    EXPECT_EQ(three.parts.size(), 3u);
    EXPECT_EQ(w.decrypt(three), product(x, y, w.t));
    EXPECT_EQ(w.decrypt(w.ev.relinearize(three, w.relin)), product(x, y, w.t));
    EXPECT_EQ(w.decrypt(w.ev.square(c)), product(x, x, w.t));
    // The same object twice, and a copy: bits of the square and of the general product.
    const auto copy = c;
    const auto s = w.ev.square(c), g = w.ev.mul(c, copy);
    for (int i = 0; i < 3; ++i)
      EXPECT_TRUE(equal(s.parts[static_cast<std::size_t>(i)], g.parts[static_cast<std::size_t>(i)]));
  }
}

TEST_F(BfvOperations, LazyRelinearisation) {
  auto sum_of_three = w.ev.mul(a, b);
  w.ev.add_in_place(sum_of_three, w.ev.square(a));
  w.ev.add_in_place(sum_of_three, b);
  const Values expected = sum(sum(product(x, y, w.t), product(x, x, w.t), w.t), y, w.t);
  EXPECT_EQ(w.decrypt(w.ev.relinearize(sum_of_three, w.relin)), expected);
  EXPECT_EQ(w.decrypt(w.ev.mod_switch_to(sum_of_three, 3)), expected);
  EXPECT_THROW((void)w.ev.mul(sum_of_three, a), ShapeError);
  EXPECT_THROW((void)w.ev.rotate_rows(sum_of_three, 1, w.keys), ShapeError);
}

TEST_F(BfvOperations, Rotations) {
  w.add_keys({1, -2, 7}, true);
  EXPECT_EQ(w.decrypt(w.ev.rotate_rows(a, 1, w.keys)), rotated(x, 1));
  EXPECT_EQ(w.decrypt(w.ev.rotate_rows(a, -2, w.keys)), rotated(x, -2));
  EXPECT_EQ(w.decrypt(w.ev.rotate_rows(a, static_cast<i64>(w.n / 2), w.keys)), x);
  Values swapped(x.begin() + static_cast<std::ptrdiff_t>(w.n / 2), x.end());
  swapped.insert(swapped.end(), x.begin(), x.begin() + static_cast<std::ptrdiff_t>(w.n / 2));
  EXPECT_EQ(w.decrypt(w.ev.swap_rows(a, w.keys)), swapped);
  const std::array<i64, 3> steps{1, 0, 7};
  const auto many = w.ev.rotate_hoisted(a, steps, w.keys);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(w.decrypt(many[i]), rotated(x, steps[i]));
  try {
    (void)w.ev.rotate_rows(a, 3, w.keys);
    FAIL();
  } catch (const MissingKeyError& e) {
    EXPECT_NE(std::string(e.what()).find("this key set has those for 1, 7"), std::string::npos) << e.what();
  }
  EXPECT_THROW((void)w.ev.swap_rows(a, GaloisKeys()), MissingKeyError);
}

TEST_F(BfvOperations, ThreadsAndKernelsDoNotChangeBits) {
  const auto run = [&](unsigned threads) {
    const bfv::Evaluator ev(w.ctx, threads);
    auto c = ev.relinearize(ev.mul(a, b), w.relin);
    c = ev.mod_switch_to(ev.square(ev.mul_plain(c, w.ctx->encode(y))), 2);
    return c;
  };
  const auto one = run(1), many = run(3);
  for (std::size_t i = 0; i < one.parts.size(); ++i) EXPECT_TRUE(equal(one.parts[i], many.parts[i]));
}

TEST(Bfv, TablesOfProductsAreMadeOnceByWhoeverComes) {
  World w(parameters(10, 65537, 4));
  const Values x = random_values(w.n, w.t, 1);
  const auto a = w.encrypt(x);
  std::vector<std::thread> threads;
  std::vector<Values> results(4);
  for (auto& r : results) threads.emplace_back([&] { r = w.decrypt(w.ev.square(a)); });
  for (auto& t : threads) t.join();
  for (const auto& r : results) EXPECT_EQ(r, product(x, x, w.t));
}

TEST(Bfv, CountsOfAProduct) {
  World w(parameters(10, 65537, 4));
  const auto a = w.encrypt(random_values(w.n, w.t, 1)), b = w.encrypt(random_values(w.n, w.t, 2));
  (void)w.ev.square(a);  // the tables
  const CountScope scope;
  (void)w.ev.mul(a, b);
  const auto product = scope.operations();
  (void)w.ev.square(a);
  const auto square = scope.operations() - product;
  const std::uint64_t l = 4, k = 5;  // 196 bits of Q, 16 of t, 10 of N: five auxiliary primes
  EXPECT_EQ(product.intt, 4 * l + 3 * (l + k));
  EXPECT_EQ(product.ntt, 4 * k + 3 * l);
  EXPECT_EQ(square.intt, 2 * l + 3 * (l + k));
  EXPECT_EQ(square.ntt, 2 * k + 3 * l);
}

TEST(Bfv, SpectrumOfSecretsIsBounded) {
  std::vector<i64> one(1024), ones(1024, 1);
  one[5] = 1;
  EXPECT_NEAR(bfv::spectrum(one), 1.0 / (2.0 * 1024 / 3), 1e-9);
  // The sum of X^k is 2/(1 - zeta) at a root: largest where the root is next to 1.
  const double expected = std::norm(2.0 / (1.0 - std::polar(1.0, std::acos(-1.0) / 1024)));
  EXPECT_NEAR(bfv::spectrum(ones), expected / (2.0 * 1024 / 3), 1e-6 * expected);
  World w(parameters(10, 65537, 2));
  for (int i = 0; i < 10; ++i) {
    EXPECT_LE(bfv::spectrum(w.client.secret_key().coeffs().coeffs()), bfv::largest_spectrum(1024));
  }
}

TEST(Bfv, DecryptionSaysWhenNothingIsLeft) {
  World w(parameters(10, 65537, 2));
  auto c = w.encrypt(random_values(w.n, w.t, 1));
  for (int i = 0; i < 4; ++i) c = w.multiply(c, c);
  EXPECT_LT(w.ev.budget(c), 0);
  EXPECT_LT(w.client.noise_budget(c, w.sk), 0.1);
  EXPECT_THROW((void)w.client.decrypt(c, w.sk), LevelError);
}

TEST(Bfv, SharedDecryptions) {
  World w(parameters(11, 65537, 5));
  const Values x = random_values(w.n, w.t, 1);
  const auto c = w.multiply(w.encrypt(x), w.encrypt(x));
  EXPECT_EQ(w.ctx->decode(w.client.decrypt_to_share(c, w.sk, 40, 1000)), product(x, x, w.t));
  EXPECT_EQ(w.ctx->decode(w.client.decrypt_to_share(w.ev.mod_switch_to(c, 3), w.sk, 40)), product(x, x, w.t));
  // Noise of more than 64 bits, which leaves the message as it is.
  EXPECT_EQ(w.ctx->decode(w.client.decrypt_to_share(c, w.sk, 128, u64{1} << 40)), product(x, x, w.t));
  EXPECT_THROW((void)w.client.decrypt_to_share(w.ev.mod_switch_to(c, 2), w.sk, 128, u64{1} << 40), LevelError);
  EXPECT_THROW((void)w.client.decrypt_to_share(w.ev.mod_switch_to(c, 1), w.sk, 40), LevelError);
  EXPECT_THROW((void)w.client.decrypt_to_share(c, w.sk, 129), ParameterError);
  EXPECT_THROW((void)w.client.decrypt_to_share(c, w.sk, 10, 0), ParameterError);
  // Who predicts much noise floods with much, or is told that there is no room.
  EXPECT_THROW((void)w.client.decrypt_to_share(c, w.sk, 40, 1, bfv::Noise{400, 3, 1}), LevelError);
}

TEST(Bfv, SuggestedSetsReachTheirDepth) {
  for (const auto& [depth, t, batching] :
       {std::tuple{1U, u64{65537}, true}, {3U, u64{65537}, true}, {6U, u64{65537}, true}, {2U, u64{1000}, false}}) {
    SCOPED_TRACE(depth);
    std::string why;
    const auto p = bfv::suggest(depth, t, batching, &why);
    EXPECT_TRUE(p.secure());
    EXPECT_EQ(p.t(), t);
    EXPECT_NE(why.find("log2(QP)"), std::string::npos);
    if (p.degree() > 16384) continue;
    World w(p);
    if (batching) {
      w.add_keys({1});
      Values x = random_values(w.n, t, 1);
      auto c = w.client.encrypt(w.ctx->encode(x), w.pk);
      for (unsigned i = 0; i < depth; ++i) {
        const auto r = w.ev.rotate_rows(w.multiply(c, c), 1, w.keys);
        c = w.ev.add(r, r);
        x = rotated(product(x, x, t), 1);
        x = sum(x, x, t);
      }
      EXPECT_EQ(w.decrypt(c), x);
      EXPECT_GT(w.client.noise_budget(c, w.sk), 1);
    }
  }
  EXPECT_THROW((void)bfv::suggest(60, 4294957057ULL), ParameterError);
  EXPECT_THROW((void)bfv::suggest(2, 1000), ParameterError);
  EXPECT_THROW((void)bfv::suggest(61, 65537), ParameterError);
}

}  // namespace
}  // namespace ringforge::test
