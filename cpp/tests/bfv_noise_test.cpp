// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Products against exact integers, and predicted noise against the measured.
#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "../schemes/bfv/moments.hpp"
#include "bfv_support.hpp"

namespace ringforge::test {
namespace {

using namespace bfv_world;
using i128 = __int128;

/// Centred integers behind residues: for Q below 2^62.
std::vector<i64> centred_integers(const Poly<Eval>& p) {
  const auto c = to_coeff(p);
  i128 product = 1;
  for (const u64 q : p.basis().values()) product *= static_cast<i128>(q);
  std::vector<i64> out(c.degree());
  for (std::size_t k = 0; k < out.size(); ++k) {
    i128 x = 0;  // Garner: digits in mixed radix
    i128 radix = 1;
    for (std::size_t i = 0; i < c.limbs(); ++i) {
      const auto q = static_cast<i128>(p.basis()[i].value());
      i128 digit = (static_cast<i128>(c.limb(i)[k]) - x % q + q) % q;
      i128 inverse = 1;
      for (i128 e = q - 2, base = radix % q; e != 0; e >>= 1, base = base * base % q)
        if (e & 1) inverse = inverse * base % q;
      digit = digit * inverse % q;
      x += digit * radix;
      radix *= q;
    }
    out[k] = static_cast<i64>(x > product / 2 ? x - product : x);
  }
  return out;
}

std::vector<i128> wide_product(const std::vector<i64>& x, const std::vector<i64>& y) {
  const std::size_t n = x.size();
  std::vector<i128> out(n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      const i128 p = static_cast<i128>(x[i]) * y[j];
      out[(i + j) % n] += i + j < n ? p : -p;
    }
  return out;
}

/// round(t*x/Q) modulo Q, centred, of the tensor product over the integers: every residue of every part.
TEST(BfvProduct, IsTheRoundedTensorProductExactly) {
  struct Case {
    u64 t;
    unsigned bits;
    std::size_t limbs;
  };
  for (const Case& c : {Case{65537, 47, 1}, Case{257, 24, 2}, Case{3, 18, 3}}) {
    SCOPED_TRACE(c.limbs);
    bfv::ParametersSpec spec;
    spec.log_n = 10;
    spec.t = c.t;
    spec.q = primes_below(c.bits, c.limbs, 2048);
    spec.p = primes_below(c.bits + 1, 1, 2048);
    spec.insecure = "test";
    const World w((bfv::Parameters(spec)));
    bfv::Ciphertext a(c.t, bfv::Noise{}, rlwe::Ciphertext{}), b = a;
    a.key_id = b.key_id = w.sk.id();
    // Operands need not be encryptions for this: any polynomials do.
    for (unsigned i = 0; i < 2; ++i) {
      a.parts.push_back(random_poly<Eval>(w.ctx->basis(c.limbs), 10 + i));
      b.parts.push_back(random_poly<Eval>(w.ctx->basis(c.limbs), 20 + i));
    }
    const auto a0 = centred_integers(a.parts[0]), a1 = centred_integers(a.parts[1]);
    const auto check = [&](const bfv::Ciphertext& right) {
      const auto b0 = centred_integers(right.parts[0]), b1 = centred_integers(right.parts[1]);
      std::array<std::vector<i128>, 3> x{wide_product(a0, b0), wide_product(a0, b1), wide_product(a1, b1)};
      const auto cross = wide_product(a1, b0);
      for (std::size_t k = 0; k < w.n; ++k) x[1][k] += cross[k];
      i128 q = 1;
      for (const u64 p : spec.q) q *= static_cast<i128>(p);
      const auto product = w.ev.mul(a, right);
      for (std::size_t part = 0; part < 3; ++part) {
        const auto have = centred_integers(product.parts[part]);
        std::size_t wrong = 0;
        for (std::size_t k = 0; k < w.n; ++k) {
          const i128 tx = x[part][k] * static_cast<i128>(c.t);
          i128 r = tx % q;  // to the nearest: Q is odd
          if (2 * r > q) r -= q;
          if (2 * r < -q) r += q;
          i128 y = (tx - r) / q % q;
          if (2 * y > q) y -= q;
          if (2 * y < -q) y += q;
          wrong += y != have[k];
        }
        EXPECT_EQ(wrong, 0u) << "part " << part;
      }
    };
    check(b);
    check(a);
  }
}

class BfvNoise : public testing::Test {
 protected:
  static World& world() {
    static World w(bfv::Parameters::named("omr-test", "test"));
    return w;
  }
  World& w = world();
  Values x = random_values(w.n, w.t, 1), y = random_values(w.n, w.t, 2);
  bfv::Ciphertext a = w.encrypt(x), b = w.client.encrypt(w.ctx->encode(y), w.pk);
};

TEST_F(BfvNoise, EveryOperation) {
  w.expect_covered(a, "secret key");
  w.expect_covered(b, "public key");
  w.expect_covered(w.ev.add(a, b), "a + b");
  w.expect_covered(w.ev.add(a, a), "a + a");
  w.expect_covered(w.ev.sub(b, a), "b - a");
  w.expect_covered(w.ev.add_plain(a, w.ctx->encode(y)), "a + y");
  w.expect_covered(w.ev.add_constant(a, 5), "a + 5");
  w.expect_covered(w.ev.mul_plain(a, w.ctx->encode(y)), "a * y");
  w.expect_covered(w.ev.mul_plain(w.ev.mul_plain(b, w.ctx->encode(y)), w.ctx->encode(y)), "b * y * y");
  w.expect_covered(w.ev.mul_constant(a, 300000), "a * 300000");
  w.expect_covered(w.ev.mul(a, b), "a * b");
  w.expect_covered(w.ev.mul(b, b), "b * b");
  w.expect_covered(w.ev.mul(b, w.ev.add(b, b)), "b * (b + b)");
  w.expect_covered(w.multiply(a, b), "a * b, relinearised");
  w.expect_covered(w.ev.mod_switch_to(b, 20), "b at 20 limbs");
  w.expect_covered(w.ev.mod_switch_to(b, 1), "b at 1 limb");
  w.expect_covered(w.ev.mod_switch_to(w.ev.mul(a, b), 3), "three parts at 3 limbs");
  const std::array<const bfv::Ciphertext*, 3> terms{&a, &b, &a};
  w.expect_covered(w.ev.combine(terms, std::array<i64, 3>{70000, -5, 786000}), "combination");
}

/// Rotations one after another, as babies of a linear transform.
TEST_F(BfvNoise, ChainsOfRotations) {
  w.add_keys({1});
  auto c = w.ev.mod_switch_to(b, 4);
  for (int i = 1; i <= 46; ++i) {
    c = w.ev.rotate_rows(c, 1, w.keys);
    if (i % 15 == 1) w.expect_covered(c, "rotated");
  }
  EXPECT_EQ(w.decrypt(c), rotated(y, 46));
}

/// The same operand again and again: its noise and its own parts come to high powers.
TEST_F(BfvNoise, RepeatedFactors) {
  auto c = b;
  Values expected = y;
  for (int i = 0; i < 8; ++i) {
    c = w.multiply(c, b);
    expected = product(expected, y, w.t);
    // One factor again and again has the heaviest tails.
    w.expect_covered(c, "power of b", i < 2 ? 8 : 24);
  }
  EXPECT_EQ(w.decrypt(c), expected);
}

/// As many squarings as the modulus has room for, limbs dropped as soon as the prediction allows: what a long circuit
/// does. Every key of 32 is covered. After many products the noise itself differs by ten bits from key to key, and what
/// one key in 2^40 has is far above them all; what is typical is within 2^3 of the noisiest.
TEST(BfvNoiseOfKeys, TwentyEightSquarings) {
  constexpr std::size_t kSquarings = 28, kShallow = 3;
  constexpr int kKeys = 32;
  const bfv::Parameters params = parameters(10, 65537, 17);
  const bfv::NoiseRules typical(params, bfv::NoiseRules::kTypical);
  std::array<double, kSquarings> noisiest, bound, middle;
  std::array<int, kSquarings> below{};
  noisiest.fill(-INFINITY);
  for (int key = 1; key <= kKeys; ++key) {
    const World w(params, static_cast<std::uint8_t>(key));
    Values expected = random_values(w.n, w.t, 2);
    bfv::Client sender(w.ctx, TestRandomness(fixed_seed(static_cast<std::uint8_t>(key + 100))));
    auto c = sender.encrypt(w.ctx->encode(expected), w.pk);
    const bfv::NoiseRules& rules = w.ev.rules();
    bfv::Noise planned = rules.encrypted(true), half = typical.encrypted(true);
    std::size_t limbs = w.ctx->params().max_limbs();
    for (std::size_t i = 0; i < kSquarings; ++i) {
      c = w.multiply(c, c);
      c = w.ev.mod_switch_to(c, rules.fewest_limbs(c, c.limbs()));
      // A planner without ciphertexts comes to the same.
      planned = rules.multiplied(planned, planned, limbs);
      const std::size_t fewer = rules.fewest_limbs(planned, limbs);
      planned = rules.mod_switched(planned, limbs, fewer);
      half = typical.mod_switched(typical.multiplied(half, half, limbs), limbs, fewer);
      limbs = fewer;
      ASSERT_EQ(c.limbs(), limbs);
      ASSERT_EQ(c.log_deviation, planned.log_deviation);
      expected = product(expected, expected, w.t);
      const double largest = w.client.measure(c, w.sk).largest;
      bound[i] = rules.bound_bits(c);
      middle[i] = typical.bound_bits(half);
      ASSERT_GE(bound[i], largest) << "key " << key << " after squaring " << i + 1;
      noisiest[i] = std::max(noisiest[i], largest);
      below[i] += largest <= middle[i];
    }
    EXPECT_EQ(w.decrypt(c), expected);
    EXPECT_GE(c.limbs(), 2u);
  }
  for (std::size_t i = 0; i < kSquarings; ++i) {
    SCOPED_TRACE(i + 1);
    if (std::getenv("SHOW"))
      printf("%zu bound %.1f typical %.1f of %d; noisiest %.1f\n", i + 1, bound[i], middle[i], below[i], noisiest[i]);
    EXPECT_LE(bound[i], noisiest[i] + (i < kShallow ? 8 : 18));
    EXPECT_LE(middle[i], noisiest[i] + 3);
    EXPECT_GE(below[i], kKeys / 2);
  }
}

/// Operands that depend on each other in every way, over many keys.
TEST(BfvNoiseOfKeys, DependentOperands) {
  const bfv::Parameters params = parameters(10, 65537, 8);
  for (std::uint8_t key = 1; key <= 32; ++key) {
    World w(params, key);
    SCOPED_TRACE(int{key});
    w.add_keys({1});
    const auto covered = [&](const bfv::Ciphertext& c) {
      EXPECT_GE(w.ev.rules().bound_bits(c), w.client.measure(c, w.sk).largest);
      return c;
    };
    const auto x = w.client.encrypt(w.ctx->encode(random_values(w.n, w.t, key)), w.pk);
    const auto twice = covered(w.ev.add(x, x));
    const auto square = covered(w.multiply(x, x));
    auto y = covered(w.multiply(x, twice));           // x*(x + x)
    y = covered(w.multiply(y, twice));                // the same factor again
    y = covered(w.multiply(w.ev.add(y, square), y));  // a sum of unlike powers
    y = covered(w.multiply(y, w.ev.rotate_rows(y, 1, w.keys)));
    y = covered(w.multiply(y, x));
    (void)covered(w.ev.sub(y, w.ev.add(y, y)));
    auto sum = x, power = x;
    for (int i = 0; i < 5; ++i) {
      sum = w.ev.add(sum, sum);
      power = covered(w.multiply(power, x));
    }
    EXPECT_LE(w.ev.rules().bound_bits(covered(sum)), w.client.measure(sum, w.sk).largest + 8);
  }
}

/// Plaintexts of the largest norm, all of it at one root of unity, or spread evenly, or zero but for one: one after
/// another and between products.
TEST(BfvNoiseOfKeys, WorstPlaintexts) {
  const bfv::Parameters params = parameters(10, 65537, 8);
  std::vector<double> closest;  // by step, of all keys
  for (std::uint8_t key = 1; key <= 32; ++key) {
    std::size_t step = 0;
    World w(params, key);
    SCOPED_TRACE(int{key});
    const auto covered = [&](const bfv::Ciphertext& c) {
      const double bound = w.ev.rules().bound_bits(c), largest = w.client.measure(c, w.sk).largest;
      EXPECT_GE(bound, largest);
      if (step == closest.size()) closest.push_back(INFINITY);
      closest[step] = std::min(closest[step], bound - largest);
      ++step;
      return c;
    };
    std::vector<bfv::Plaintext> all;
    for (int kind = 0; kind < 4; ++kind) {
      bfv::Plaintext p(w.t, w.n);
      for (std::size_t k = 0; k < w.n; ++k) {
        const double turns = static_cast<double>((4 * key + 1) * k) / static_cast<double>(2 * w.n);
        const bool minus = kind == 0   ? std::cos(2 * std::acos(-1.0) * turns) < 0
                           : kind == 1 ? k % 2 == 1
                                       : (k * k * 40503U >> 7) % 2 == 1;
        const u64 size = kind == 3 && k != 5 ? 0 : w.t / 2;
        p.coefficients.data()[k] = minus && size != 0 ? w.t - size : size;
      }
      all.push_back(std::move(p));
    }
    const auto x = w.client.encrypt(w.ctx->encode(random_values(w.n, w.t, key)), w.pk);
    for (const auto& p : all) {
      auto y = covered(w.ev.mul_plain(x, p));
      y = covered(w.multiply(y, y));
      y = covered(w.ev.mul_plain(y, p));
      (void)covered(w.multiply(y, x));
      auto z = x;
      for (const auto& q : all) z = w.ev.mul_plain(z, q);
      (void)covered(z);
    }
    auto z = x;
    for (int i = 0; i < 4; ++i) z = covered(w.ev.mul_plain(z, all[0]));  // a pure tone, larger and larger
  }
  // Five steps with each plaintext, of which the first multiplies by it once.
  for (std::size_t i = 0; i < closest.size(); ++i) EXPECT_LE(closest[i], i < 20 && i % 5 == 0 ? 8 : 18) << "step " << i;
}

/// Programs nobody thought of: every intermediate result is covered and right.
TEST_F(BfvNoise, RandomPrograms) {
  w.add_keys({1});
  std::mt19937_64 rng(5);
  for (int program = 0; program < 4; ++program) {
    std::vector<bfv::Ciphertext> pool{w.ev.mod_switch_to(a, 8), w.ev.mod_switch_to(b, 8)};
    std::vector<Values> values{x, y};
    for (int step = 0; step < 12; ++step) {
      const std::size_t i = rng() % pool.size(), j = rng() % pool.size();
      bfv::Ciphertext c;
      Values v;
      switch (rng() % 5) {
        case 0:
          c = w.ev.add(pool[i], pool[j]);
          v = sum(values[i], values[j], w.t);
          break;
        case 1:
          c = w.ev.rotate_rows(pool[i], 1, w.keys);
          v = rotated(values[i], 1);
          break;
        case 2:
          c = w.ev.mul_plain(pool[i], w.ctx->encode(y));
          v = product(values[i], y, w.t);
          break;
        default:
          c = w.multiply(pool[i], pool[j]);
          v = product(values[i], values[j], w.t);
      }
      if (w.ev.budget(c) < 1) continue;
      EXPECT_EQ(w.decrypt(c), v);
      const auto m = w.client.measure(c, w.sk);
      EXPECT_GE(w.ev.rules().bound_bits(c), m.largest) << "program " << program << " step " << step;
      pool.push_back(std::move(c));
      values.push_back(std::move(v));
    }
  }
}

TEST(BfvNoiseRules, BoundsGrowWithDegreeAndSecurity) {
  const auto params = bfv::Parameters::named("omr");
  const bfv::NoiseRules rules(params), typical(params, bfv::NoiseRules::kTypical), sure(params, 128);
  EXPECT_EQ(rules.security(), 40u);
  EXPECT_NEAR(rules.deviations(), 9, 0.2);
  const auto powers = [](const bfv::NoiseRules& r) {
    std::vector<double> out;
    bfv::Noise e = r.encrypted(true);
    for (int i = 0; i < 28; ++i) {
      out.push_back(r.bound_bits(e));
      e = r.multiplied(e, e, 23);
    }
    return out;
  };
  const auto a = powers(typical), b = powers(rules), c = powers(sure);
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_LT(a[i], b[i]);
    EXPECT_LT(b[i], c[i]);
    if (i > 0) EXPECT_GT(b[i] - a[i], b[i - 1] - a[i - 1] - 0.1);
  }
  EXPECT_LT(b[1] - a[1], 3);
  EXPECT_GT(b[27] - a[27], 12);
  const bfv::Noise shallow{50, 1, 0};
  EXPECT_THROW((void)rules.budget(shallow, 24), LevelError);
  EXPECT_THROW((void)rules.mod_switched(shallow, 3, 4), LevelError);
  EXPECT_THROW((void)rules.switched(shallow, 0), LevelError);
  EXPECT_THROW(bfv::NoiseRules(params, 0), ParameterError);
  EXPECT_THROW(bfv::NoiseRules(params, 513), ParameterError);
}

/// Against means of drawn products: bounds at 2^-5 and 2^-10 are exceeded at most that often, and within a few bits of
/// what is.
TEST(BfvNoiseRules, MomentsBoundWhatIsDrawn) {
  constexpr unsigned kLogN = 8, kDegree = 12;
  constexpr int kDraws = 4000;
  std::mt19937_64 rng(7);
  std::exponential_distribution<double> exponential;
  const std::size_t pairs = std::size_t{1} << (kLogN - 1);
  const double most = bfv::largest_spectrum(std::size_t{1} << kLogN);
  const bfv::Moments five(kLogN, 5), ten(kLogN, 10);
  std::array<std::vector<double>, 3> means;  // degree 2; 12; 12 with one factor four times
  for (int draw = 0; draw < kDraws; ++draw) {
    std::array<double, 3> sums{};
    for (std::size_t i = 0; i < pairs; ++i) {
      double x = exponential(rng);
      while (x > most) x = exponential(rng);
      double v = exponential(rng);
      for (unsigned d = 1; d <= kDegree; ++d) {
        const double factor = exponential(rng);
        if (d == kDegree - 3) sums[2] += v * x * x * x * std::pow(factor, 4) * x;
        v *= x * factor;
        if (d == 2) sums[0] += v;
      }
      sums[1] += v;
    }
    for (std::size_t k = 0; k < 3; ++k) means[k].push_back(std::log2(sums[k] / static_cast<double>(pairs)));
  }
  for (std::size_t k = 0; k < 3; ++k) {
    SCOPED_TRACE(k);
    const unsigned degree = k == 0 ? 2 : kDegree, reuse = k == 2 ? 4 : 1;
    std::sort(means[k].begin(), means[k].end());
    const double one_in_32 = means[k][kDraws - kDraws / 32], one_in_1024 = means[k][kDraws - kDraws / 1024 - 1];
    EXPECT_GE(five.at(degree, reuse), one_in_32);
    EXPECT_GE(ten.at(degree, reuse), one_in_1024);
    EXPECT_LE(five.at(degree, reuse), one_in_32 + 6);
    EXPECT_LE(ten.at(degree, reuse), one_in_1024 + 6);
  }
}

}  // namespace
}  // namespace ringforge::test
