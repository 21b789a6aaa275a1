// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The scheme: every operation decrypts to the right values, within the predicted bound and not far below it.
#include <algorithm>
#include <array>
#include <cmath>

#include "ringforge/circuits/matvec.hpp"
#include "support.hpp"

namespace ringforge::ckks {
namespace {

using namespace ringforge::circuits;
using namespace ringforge::test;
using C = std::complex<double>;

struct Case {
  const char* name;
  unsigned log_n;
  std::size_t limbs;
  unsigned bits;
  std::size_t special;
  unsigned alpha;
  double log_scale;
};

class Scheme : public testing::TestWithParam<Case> {
 protected:
  Scheme()
      : params(small_params(GetParam().log_n, GetParam().limbs, GetParam().bits, GetParam().special, GetParam().alpha,
                            GetParam().log_scale)),
        ctx(std::make_shared<const Context>(params)),
        client(ctx, fixed_randomness()),
        sk(client.secret_key()),
        ev(ctx, 2),
        scale(std::exp2(params.spec().log_scale)),
        v(random_slots(params.slots(), 1)),
        w(random_slots(params.slots(), 2)) {}

  Ciphertext encrypt(const std::vector<C>& x) {
    auto p = ctx->encode(std::span<const C>(x), scale, params.max_level());
    return client.encrypt(p, sk);
  }
  /// Decrypts, compares, and holds the error against its bound: below it, and within 2^8.
  template <class F>
  void expect(const Ciphertext& c, F exact, const char* what) {
    const auto got = ctx->decode(client.decrypt(c, sk));
    double worst = 0;
    for (std::size_t i = 0; i < got.size(); ++i) worst = std::max(worst, std::abs(got[i] - exact(i)));
    EXPECT_LE(worst, error_bound(c)) << what;
    EXPECT_GE(worst, error_bound(c) / 256) << what;
  }

  Parameters params;
  ContextPtr ctx;
  Client client;
  SecretKey sk;
  Evaluator ev;
  double scale;
  std::vector<C> v, w;
};

TEST_P(Scheme, EncodingRoundTrips) {
  for (const double size : {1.0, 1000.0, 1e-6}) {
    auto x = v;
    for (auto& z : x) z *= size;
    for (std::size_t level = 0; level <= params.max_level(); ++level) {
      const auto back = ctx->decode(ctx->encode(std::span<const C>(x), scale / 4, level));
      double worst = 0, largest = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        worst = std::max(worst, std::abs(back[i] - x[i]));
        largest = std::max(largest, std::abs(x[i]));
      }
      EXPECT_LE(worst, std::exp2(params.spec().log_n / 2.0 + 1) / (scale / 4) + std::exp2(-46) * largest);
    }
  }
}

TEST_P(Scheme, OperationsStayWithinTheirBounds) {
  const std::size_t slots = params.slots();
  const auto a = encrypt(v),
             b = client.encrypt(ctx->encode(std::span<const C>(w), scale, params.max_level()), client.public_key(sk));
  expect(a, [&](auto i) { return v[i]; }, "secret-key encryption");
  expect(b, [&](auto i) { return w[i]; }, "public-key encryption");
  expect(ev.add(a, b), [&](auto i) { return v[i] + w[i]; }, "add");
  expect(ev.sub(a, b), [&](auto i) { return v[i] - w[i]; }, "sub");
  expect(ev.negate(a), [&](auto i) { return -v[i]; }, "negate");
  auto added = a, subtracted = a;
  ev.add_in_place(added, b);
  ev.sub_in_place(subtracted, b);
  for (const auto& [in_place, made] : {std::pair(&added, ev.add(a, b)), std::pair(&subtracted, ev.sub(a, b))}) {
    EXPECT_TRUE(equal(in_place->parts[0], made.parts[0]) && equal(in_place->parts[1], made.parts[1]));
    EXPECT_EQ(in_place->variance, made.variance);
    EXPECT_EQ(in_place->bound, made.bound);
    EXPECT_FALSE(in_place->seed);
  }
  const auto pw = ctx->encode(std::span<const C>(w), scale, params.max_level());
  expect(ev.add_plain(a, pw), [&](auto i) { return v[i] + w[i]; }, "add_plain");
  expect(ev.sub_plain(a, pw), [&](auto i) { return v[i] - w[i]; }, "sub_plain");
  expect(ev.add_scalar(a, -0.25), [&](auto i) { return v[i] - 0.25; }, "add_scalar");
  const auto mp = ev.mul_plain(a, pw);
  expect(mp, [&](auto i) { return v[i] * w[i]; }, "mul_plain");
  expect(ev.rescale(mp), [&](auto i) { return v[i] * w[i]; }, "rescale");
  expect(ev.rescale(ev.mul_scalar(a, 0.75)), [&](auto i) { return v[i] * 0.75; }, "mul_scalar");
  const auto three = ev.mul(a, b);
  expect(three, [&](auto i) { return v[i] * w[i]; }, "three parts");
  const auto rk = client.relin_key(sk);
  const auto two = ev.relinearize(three, rk);
  expect(two, [&](auto i) { return v[i] * w[i]; }, "relinearised");
  const auto low = ev.rescale(two);
  EXPECT_EQ(low.level() + 1, params.max_level());
  expect(low, [&](auto i) { return v[i] * w[i]; }, "product");

  GaloisKeys keys;
  const std::vector<i64> steps{0, 1, 5, -3, static_cast<i64>(slots / 2)};
  for (const i64 s : steps)
    if (s != 0) keys.insert(client.galois_key(sk, ctx->rotation_element(s)));
  keys.insert(client.galois_key(sk, ctx->conjugation_element()));
  const auto hoisted = ev.rotate_hoisted(a, steps, keys);
  for (std::size_t k = 0; k < steps.size(); ++k) {
    const auto from = [&](std::size_t i) {
      return v[static_cast<std::size_t>((static_cast<i64>(i) + steps[k] + static_cast<i64>(slots)) %
                                        static_cast<i64>(slots))];
    };
    const auto single = ev.rotate(a, steps[k], keys);
    expect(single, from, "rotation");
    EXPECT_TRUE(equal(single.parts[0], hoisted[k].parts[0]));
    EXPECT_TRUE(equal(single.parts[1], hoisted[k].parts[1]));
  }
  expect(ev.conjugate(a, keys), [&](auto i) { return std::conj(v[i]); }, "conjugation");
  const auto dropped = ev.drop_to_level(a, params.max_level() - 1);
  expect(ev.rotate(dropped, 5, keys), [&](auto i) { return v[(i + 5) % slots]; }, "rotation one level lower");
}

INSTANTIATE_TEST_SUITE_P(Sets, Scheme,
                         testing::Values(Case{"per-limb", 11, 3, 50, 1, 1, 40}, Case{"hybrid", 11, 5, 45, 2, 2, 36},
                                         Case{"wide primes", 10, 3, 58, 1, 1, 48},
                                         Case{"61 bits", 10, 2, 61, 1, 1, 50}),
                         [](const auto& info) { return "Set" + std::to_string(info.index); });

class Errors : public testing::Test {
 protected:
  Parameters params = small_params(10, 2);
  ContextPtr ctx = std::make_shared<const Context>(params);
  Client client{ctx, fixed_randomness()};
  SecretKey sk = client.secret_key();
  Evaluator ev{ctx};
  Ciphertext encrypt(double scale = 0x1p40, std::size_t level = 1) {
    const auto v = random_slots(ctx->params().slots(), 1);
    return client.encrypt(ctx->encode(std::span<const C>(v), scale, level), sk);
  }
};

TEST_F(Errors, AreTypedAndNameTheRemedy) {
  const std::vector<double> nan{std::nan("")}, huge{1e30}, many(513, 0.5);
  EXPECT_THROW(ctx->encode(std::span<const double>(nan), 0x1p40, 1), ValueError);
  EXPECT_THROW(ctx->encode(std::span<const double>(huge), 0x1p40, 1), ValueError);
  EXPECT_THROW(ctx->encode(std::span<const double>(many), 0x1p40, 1), ValueError);
  EXPECT_THROW(ctx->encode(std::span<const double>(many).first(1), 0.5, 1), ScaleError);
  EXPECT_THROW(ctx->encode(std::span<const double>(many).first(1), 0x1p40, 2), LevelError);
  const auto a = encrypt();
  EXPECT_THROW(ev.add(a, encrypt(0x1p39)), ScaleError);
  EXPECT_THROW(ev.add(a, encrypt(0x1p40, 0)), LevelError);
  EXPECT_THROW(ev.rescale(encrypt(0x1p40, 0)), LevelError);
  EXPECT_THROW(ev.drop_to_level(encrypt(0x1p40, 0), 1), LevelError);
  EXPECT_THROW(ev.mul(ev.mul(a, a), a), ShapeError);
  GaloisKeys keys;
  for (const i64 s : {1, 2, 4}) keys.insert(client.galois_key(sk, ctx->rotation_element(s)));
  try {
    (void)ev.rotate(a, 3, keys);
    FAIL();
  } catch (const MissingKeyError& e) {
    EXPECT_STREQ(e.what(), "rotation by 3 needs a Galois key; this key set has those for 1, 2, 4");
  }
  EXPECT_THROW(ev.conjugate(a, keys), MissingKeyError);
  EXPECT_THROW(client.galois_key(sk, 4), ParameterError);
  EXPECT_THROW(client.galois_key(sk, 1), ParameterError);
  EXPECT_THROW(client.relin_key(sk, 2), LevelError);

  Client other(ctx, TestRandomness(fixed_seed(9)));
  const auto foreign = other.secret_key();
  EXPECT_THROW(client.decrypt(a, foreign), MismatchError);
  EXPECT_THROW(ev.relinearize(ev.mul(a, a), other.relin_key(foreign)), MismatchError);
  GaloisKeys wrong;
  wrong.insert(other.galois_key(foreign, ctx->rotation_element(1)));
  EXPECT_THROW(ev.rotate(a, 1, wrong), MismatchError);
  GaloisKeys low;
  low.insert(client.galois_key(sk, ctx->rotation_element(1), 0));
  EXPECT_THROW(ev.rotate(a, 1, low), LevelError);
  const auto elsewhere = std::make_shared<const Context>(small_params(10, 2, 45));
  EXPECT_THROW(Evaluator(elsewhere).negate(a), MismatchError);
}

// Operands may share their errors: doubling adds up the same error, squaring too.
TEST_F(Errors, DependentOperandsStayWithinTheirBounds) {
  auto sum = encrypt();
  const auto exact = random_slots(params.slots(), 1);
  for (int i = 1; i <= 6; ++i) {
    sum = ev.add(sum, sum);
    const auto got = ctx->decode(client.decrypt(sum, sk));
    double worst = 0;
    for (std::size_t k = 0; k < got.size(); ++k) worst = std::max(worst, std::abs(got[k] - exact[k] * std::exp2(i)));
    EXPECT_LE(worst, error_bound(sum));
    EXPECT_GE(worst, error_bound(sum) / 256);
  }
  EXPECT_THROW(client.encrypt(ctx->encode(std::span<const C>(exact), 0x1p40, 1), sk, 0.5), ValueError);
  EXPECT_THROW(client.encrypt(ctx->encode(std::span<const C>(exact), 0x1p40, 1), sk, -1), ValueError);
}

// The rule of check_rescaled, from both sides: what is refused has no right bit left, what passes has one at least.
TEST_F(Errors, RescalingBelowTheNoiseIsRefused) {
  const auto at = [&](double scale) {
    return client.encrypt(ctx->encode(std::span<const C>(random_slots(params.slots(), 1)), scale, 1), sk);
  };
  const double prime = static_cast<double>(ctx->basis(1)[1].value());
  const double noise = slot_error_bound(MetadataRules(ctx).rounding(), params.degree());
  // The result's scale just above and just below its noise.
  EXPECT_NO_THROW((void)ev.rescale(at(prime * noise * 1.1)));
  EXPECT_THROW((void)ev.rescale(at(prime * noise / 1.1)), ScaleError);
  const auto kept = ev.rescale(at(prime * noise * 1.1));
  EXPECT_LT(error_bound(kept), kept.bound);
  // A square at the default scale keeps little; the next one would keep nothing.
  const auto square = [&](const Ciphertext& c) { return ev.rescale(ev.mul(c, c)); };
  EXPECT_THROW((void)square(at(0x1p20)), ScaleError);
  EXPECT_NO_THROW((void)square(at(0x1p40)));
  // Small values at the usual scale keep the usual error, zero as well.
  EXPECT_NO_THROW((void)ev.rescale(ev.mul_scalar(at(0x1p40), 1e-12)));
  EXPECT_NO_THROW((void)ev.rescale(ev.mul_scalar(at(0x1p40), 0)));
  // The remedy: a scale near the prime.
  EXPECT_NO_THROW((void)square(at(prime / 8)));
  EXPECT_THROW((void)ev.rescale(encrypt(0x1p40, 0)), LevelError);
  EXPECT_THROW((void)ev.add_scalar(at(0x1p40), NAN), ValueError);
}

TEST_F(Errors, SharingAddsTheStatedNoise) {
  const auto a = encrypt();
  const auto exact = ctx->decode(client.decrypt(a, sk)), shared = ctx->decode(client.decrypt_to_share(a, sk, 20));
  double sum = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) sum += std::norm(exact[i] - shared[i]);
  const double n = static_cast<double>(params.degree());
  ASSERT_LT(a.variance, MetadataRules(ctx).rounding());  // which is then the floor
  const double expected = n * std::pow(rlwe::flood_deviation(a.variance, params.degree(), 20, 1) / a.scale, 2);
  EXPECT_NEAR(sum / (n / 2) / expected, 1, 0.3);
  EXPECT_THROW(client.decrypt_to_share(encrypt(0x1p40, 0), sk, 100), LevelError);
  EXPECT_THROW(client.decrypt_to_share(a, sk, -1), ParameterError);
}

TEST(Sharing, NoiseThatCannotBeSampledIsRefused) {
  const auto wide = small_params(10, 4);
  const auto context = std::make_shared<const Context>(wide);
  Client holder(context, fixed_randomness());
  const auto key = holder.secret_key();
  const auto x = random_slots(wide.slots(), 1);
  const auto c = holder.encrypt(context->encode(std::span<const C>(x), 0x1p40, 3), key);
  EXPECT_NO_THROW((void)holder.decrypt_to_share(c, key, 100, 1, 0x1p120));
  // The modulus of 200 bits has room for this noise, the sampler does not reach it.
  EXPECT_THROW((void)holder.decrypt_to_share(c, key, 100, 1, 0x1p134), LevelError);
}

TEST(ParameterSets, AreCheckedAndPinned) {
  const auto b = Parameters::named("set-b");
  EXPECT_TRUE(b.secure());
  EXPECT_NEAR(b.log_qp(), 400, 0.1);
  EXPECT_EQ(b.max_level(), 6U);
  for (const u64 q : b.spec().q) EXPECT_EQ(q % (u64{1} << 18), 1U);
  EXPECT_EQ(Parameters::named("set-a").max_level(), 2U);
  EXPECT_EQ(Parameters::named("set-c").max_level(), 13U);
  EXPECT_THROW(Parameters::named("set-b-54"), ParameterError);
  EXPECT_FALSE(Parameters::named("set-b-54", "width test").secure());
  EXPECT_THROW(Parameters::named("set-x"), ParameterError);
  auto spec = b.spec();
  spec.log_n = 13;
  EXPECT_THROW(Parameters{spec}, ParameterError);
  spec.insecure = "smaller ring, for a test";
  EXPECT_FALSE(Parameters{spec}.secure());
  auto broken = b.spec();
  broken.q[1] = broken.q[0];
  EXPECT_THROW(Parameters{broken}, ParameterError);
  broken = b.spec();
  broken.q[1] += 2;
  EXPECT_THROW(Parameters{broken}, ParameterError);
  broken = b.spec();
  broken.limbs_per_digit = 2;
  EXPECT_THROW(Parameters{broken}, ParameterError);
  broken = b.spec();
  broken.log_scale = 49;
  EXPECT_THROW(Parameters{broken}, ParameterError);
}

TEST(ParameterSets, SuggestionsAreSecureAndMinimal) {
  std::string why;
  for (const unsigned depth : {0U, 1U, 3U, 8U, 20U}) {
    const auto p = suggest(depth, 20, 1000, &why);
    EXPECT_TRUE(p.secure());
    EXPECT_EQ(p.max_level(), depth);
    EXPECT_GE(p.slots(), 1000U);
    EXPECT_FALSE(why.empty());
    if (p.slots() / 2 >= 1000) {
      EXPECT_GT(p.log_qp(), rlwe::max_log_qp(p.spec().log_n - 1) - 12);
    }
  }
  EXPECT_THROW(suggest(60, 36, 16), ParameterError);
  EXPECT_THROW(suggest(1, 20, 1 << 20), ParameterError);
}

// Primes beyond the fast size, and little headroom: whatever the limits allow is found, and an error names the limit.
TEST(ParameterSets, SuggestionsReachAsFarAsPrimesDo) {
  const auto bits = [](const std::vector<u64>& primes) {
    std::vector<int> out;
    for (const u64 q : primes) out.push_back(64 - __builtin_clzll(q));
    return out;
  };
  const auto wide = suggest(1, 38, 4096, nullptr, 7);
  EXPECT_EQ(wide.spec().log_n, 13U);
  EXPECT_EQ(bits(wide.spec().q), (std::vector<int>{60, 52}));
  EXPECT_EQ(bits(wide.spec().p), (std::vector<int>{60}));
  EXPECT_TRUE(wide.secure());
  EXPECT_EQ(suggest(1, 30, 4096).spec().log_n, 13U);
  for (const unsigned headroom : {0U, 1U}) EXPECT_TRUE(suggest(2, 20, 512, nullptr, headroom).secure());
  // Sets of fast primes are what they were.
  EXPECT_EQ(bits(suggest(3, 20, 4096).spec().q), (std::vector<int>{45, 35, 35, 35}));
  for (const unsigned headroom : {40U, 1U << 31, ~0U}) try {
      (void)suggest(1, 30, 16, nullptr, headroom);
      FAIL() << headroom;
    } catch (const ParameterError& e) {
      EXPECT_NE(std::string(e.what()).find("the first prime must hold"), std::string::npos) << e.what();
    }
}

TEST(Matvec, CountsEqualThePlannersAndErrorsAreBounded) {
  const auto params = small_params(11, 3);
  const auto ctx = std::make_shared<const Context>(params);
  Client client(ctx, fixed_randomness());
  const auto sk = client.secret_key();
  std::mt19937_64 rng(3);
  std::uniform_real_distribution<double> u(-1, 1);
  struct Shape {
    std::size_t rows, cols, batch;
  };
  for (const auto& s : {Shape{5, 3, 1}, {16, 64, 4}, {70, 33, 1}, {1, 1, 1}, {3, 1500, 1}, {1100, 20, 1}}) {
    std::vector<double> m(s.rows * s.cols), bias(s.rows), x(s.cols * s.batch);
    for (auto* v : {&m, &bias, &x})
      for (auto& e : *v) e = u(rng);
    for (const auto algorithm : {linear::Algorithm::bsgs, linear::Algorithm::diagonal, linear::Algorithm::horner}) {
      for (const auto span : {linear::Span::spread, linear::Span::compact}) {
        const linear::Packing packing(s.rows, s.cols, params.slots() / s.batch, span);
        const linear::Plan plan(packing, algorithm, std::min<std::size_t>(4, packing.diagonals()));
        Matvec mv(ctx, plan, 2, s.batch);
        mv.encode(m, bias, {0x1p36, 0x1p38, 1.0, true}, 2);
        GaloisKeys keys;
        for (const auto& [element, level] : mv.required_keys()) keys.insert(client.galois_key(sk, element, level));
        std::vector<Ciphertext> in;
        for (std::size_t c = 0; c < packing.blocks().size(); ++c) {
          std::vector<C> slots(params.slots());
          for (std::size_t i = 0; i < slots.size(); ++i) {
            const std::size_t col = packing.column(c, i / s.batch);
            if (col < s.cols) slots[i] = x[col * s.batch + i % s.batch];
          }
          in.push_back(client.encrypt(ctx->encode(std::span<const C>(slots), 0x1p36, 2), sk));
        }
        const CountScope did;
        const auto out = mv.run(in, keys, 2);
        EXPECT_EQ(did.operations(), Matvec::cost(*ctx, plan, 2).ops);
        ASSERT_EQ(out.size(), packing.row_blocks());
        double worst = 0;
        for (std::size_t r = 0; r < s.rows; ++r) {
          const auto got = ctx->decode(client.decrypt(out[r / packing.row_period()], sk));
          for (std::size_t b = 0; b < s.batch; ++b) {
            double y = bias[r];
            for (std::size_t c = 0; c < s.cols; ++c) y += m[r * s.cols + c] * x[c * s.batch + b];
            worst = std::max(worst, std::abs(got[(r % packing.row_period()) * s.batch + b] - y));
          }
        }
        EXPECT_LE(worst, error_bound(out[0])) << s.rows << " x " << s.cols << " " << linear::name(algorithm);
        EXPECT_GE(worst, error_bound(out[0]) / 256) << s.rows << " x " << s.cols << " " << linear::name(algorithm);
        EXPECT_EQ(out[0].level(), 1U);
        // Results computed elsewhere get the same metadata; sizes and residues are checked.
        std::vector<std::array<std::vector<std::span<const u64>>, 2>> parts(out.size());
        for (std::size_t r = 0; r < out.size(); ++r)
          for (std::size_t part = 0; part < 2; ++part)
            for (std::size_t l = 0; l < 2; ++l)
              parts[r][part].emplace_back(out[r].parts[part].limb(l), params.degree());
        const auto same = mv.assemble(in, parts);
        for (std::size_t r = 0; r < out.size(); ++r) {
          EXPECT_EQ(same[r].variance, out[r].variance);
          EXPECT_EQ(same[r].spread, out[r].spread);
          EXPECT_EQ(same[r].bound, out[r].bound);
          EXPECT_EQ(same[r].scale, out[r].scale);
          EXPECT_EQ(same[r].key_id, out[r].key_id);
          EXPECT_TRUE(std::ranges::equal(same[r].parts[1].words(), out[r].parts[1].words()));
        }
        const std::vector<u64> large(params.degree(), params.spec().q[0]);
        parts[0][1][0] = large;
        EXPECT_THROW((void)mv.assemble(in, parts), ValueError);
        parts[0][1].pop_back();
        EXPECT_THROW((void)mv.assemble(in, parts), ShapeError);
        std::vector<u64> term(params.degree());
        mv.copy_term(0, 2, term);
        EXPECT_LT(*std::ranges::max_element(term), params.spec().q[2]);
        EXPECT_THROW(mv.copy_term(plan.terms().size(), 0, term), ShapeError);
        if (!mv.required_keys().empty()) {
          GaloisKeys none;
          EXPECT_THROW(mv.run(in, none), MissingKeyError);
        }
        in[0].scale *= 2;
        EXPECT_THROW(mv.run(in, keys), ScaleError);
        in.pop_back();
        EXPECT_THROW(mv.run(in, keys), ShapeError);
      }
    }
  }
}

}  // namespace
}  // namespace ringforge::ckks
