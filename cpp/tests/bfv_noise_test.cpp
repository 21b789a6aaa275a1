// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Products against exact integers, and predicted noise against the measured.
#include <cmath>

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
    w.expect_covered(c, "power of b");
  }
  EXPECT_EQ(w.decrypt(c), expected);
}

/// As many squarings as the modulus has room for, limbs dropped as soon as the prediction allows: what a long circuit
/// does. After many products the noise itself differs by ten bits from key to key: predictions cover each with the
/// tail of one in 2^10, and stay within 2^8 of the noisiest.
TEST(BfvNoiseOfKeys, TwentyEightSquarings) {
  constexpr int kSquarings = 28;
  std::array<double, kSquarings> margin;  // of the prediction over the noisiest key
  margin.fill(INFINITY);
  for (std::uint8_t key = 1; key <= 4; ++key) {
    const World w(bfv::Parameters::named("omr-test", "test"), key);
    Values expected = random_values(w.n, w.t, 2);
    bfv::Client sender(w.ctx, TestRandomness(fixed_seed(static_cast<std::uint8_t>(key + 100))));
    auto c = sender.encrypt(w.ctx->encode(expected), w.pk);
    const bfv::NoiseRules& rules = w.ev.rules();
    bfv::Noise planned = rules.encrypted(true);
    std::size_t limbs = w.ctx->params().max_limbs();
    for (int i = 0; i < kSquarings; ++i) {
      c = w.multiply(c, c);
      c = w.ev.mod_switch_to(c, rules.fewest_limbs(c, c.limbs()));
      // A planner without ciphertexts comes to the same.
      planned = rules.multiplied(planned, planned, limbs);
      const std::size_t fewer = rules.fewest_limbs(planned, limbs);
      planned = rules.mod_switched(planned, limbs, fewer);
      limbs = fewer;
      ASSERT_EQ(c.limbs(), limbs);
      ASSERT_EQ(c.log_deviation, planned.log_deviation);
      expected = product(expected, expected, w.t);
      const double over = rules.bound_bits(c) - w.client.measure(c, w.sk).largest;
      ASSERT_GE(over + rules.tail_bits(c, 10), 0) << "key " << int{key} << " after squaring " << i + 1;
      margin[static_cast<std::size_t>(i)] = std::min(margin[static_cast<std::size_t>(i)], over);
    }
    EXPECT_EQ(w.decrypt(c), expected);
    EXPECT_GE(c.limbs(), 2u);
  }
  for (std::size_t i = 0; i < margin.size(); ++i) EXPECT_LE(margin[i], 8) << "after squaring " << i + 1;
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

TEST(BfvNoiseRules, TailsGrowWithDegreeAndSecurity) {
  const bfv::NoiseRules rules(bfv::Parameters::named("omr"));
  const bfv::Noise shallow{50, 1, 0}, deep{50, 28, 1};
  EXPECT_LT(rules.tail_bits(shallow, 40), rules.tail_bits(deep, 40));
  EXPECT_LE(rules.tail_bits(deep, 10), rules.tail_bits(deep, 40));
  EXPECT_GE(rules.tail_bits(shallow, 40), 0);
  EXPECT_THROW((void)rules.budget(shallow, 24), LevelError);
  EXPECT_THROW((void)rules.mod_switched(shallow, 3, 4), LevelError);
  EXPECT_THROW((void)rules.switched(shallow, 0), LevelError);
}

}  // namespace
}  // namespace ringforge::test
