// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// BGV against slots computed in the clear.
#include <thread>

#include "ringforge/bgv/bgv.hpp"
#include "ringforge/counters.hpp"
#include "ringforge/linear/binary_slots.hpp"
#include "support.hpp"

namespace ringforge::test {
namespace {

using bgv::Bits;
using bgv::Ciphertext;
using bgv::Multiplier;
using linear::BinarySlots;
using Elements = std::vector<u32>;
using Terms = std::vector<bgv::Evaluator::Term>;

bgv::Parameters parameters(u64 m, std::size_t limbs = 4, std::size_t special = 2, unsigned alpha = 2,
                           unsigned bits = 45) {
  const u64 step = Ring::tensor(m).prime_step();
  bgv::ParametersSpec spec;
  spec.m = m;
  spec.p = primes_below(bits + 1, special, step);
  spec.q = primes_below(bits, limbs, step);
  spec.limbs_per_digit = alpha;
  spec.insecure = "test";
  return bgv::Parameters(spec);
}

/// One of everything.
struct World {
  explicit World(const bgv::Parameters& params, std::uint8_t seed = 7)
      : ctx(std::make_shared<const bgv::Context>(params)),
        client(ctx, TestRandomness(fixed_seed(seed))),
        sk(client.secret_key()),
        pk(client.public_key(sk)),
        relin(client.relin_key(sk)),
        ev(ctx),
        slots(params.m()) {}
  void add_maps(std::initializer_list<i64> powers) {
    for (const i64 k : powers) keys.insert(client.galois_key(sk, ctx->frobenius_element(k)));
  }
  Elements random(unsigned seed) const {
    std::mt19937_64 rng(seed);
    Elements v(slots.size());
    for (auto& x : v) x = static_cast<u32>(rng() & slots.field().order());
    return v;
  }
  Bits encoded(const Elements& v) const {
    Bits b(ctx->params().degree());
    slots.encode(b, v);
    return b;
  }
  Ciphertext encrypt(const Elements& v) { return client.encrypt(encoded(v), sk); }
  Elements decrypt(const Ciphertext& c) const {
    Elements v(slots.size());
    slots.decode(v, client.decrypt(c, sk));
    return v;
  }
  Elements product(const Elements& a, const Elements& b) const {
    Elements r(a.size());
    slots.field().products(r, a, b);
    return r;
  }
  Elements raised(const Elements& a, unsigned k) const {
    Elements r(a.size());
    slots.field().frobenius(r, a, k);
    return r;
  }
  /// The right values, and noise below its bound by 2^`within` at most.
  void expect(const Ciphertext& c, const Elements& exact, const char* what, double within = 12) const {
    EXPECT_EQ(decrypt(c), exact) << what;
    const auto m = client.measure(c, sk);
    EXPECT_LE(m.value, c.log_bound) << what;
    EXPECT_GE(m.value + within, c.log_bound) << what;
    EXPECT_LE(m.largest, ctx->rules().bound_bits(c)) << what;
  }

  bgv::ContextPtr ctx;
  bgv::Client client;
  bgv::SecretKey sk;
  bgv::PublicKey pk;
  bgv::RelinKey relin;
  bgv::Evaluator ev;
  BinarySlots slots;
  bgv::GaloisKeys keys;
};

Elements sum(const Elements& a, const Elements& b) {
  Elements r(a);
  for (std::size_t i = 0; i < r.size(); ++i) r[i] ^= b[i];
  return r;
}

template <class F>
bool same(const Ciphertext& a, const Ciphertext& b, F&& equal_polys) {
  if (a.parts.size() != b.parts.size() || !(a.noise() == b.noise())) return false;
  for (std::size_t i = 0; i < a.parts.size(); ++i)
    if (!equal_polys(a.parts[i], b.parts[i])) return false;
  return true;
}
bool same(const Ciphertext& a, const Ciphertext& b) {
  return same(a, b, [](const auto& x, const auto& y) { return equal(x, y); });
}

/// Rings with one prime and with several, where automorphisms permute and where not; digits of one limb and of two.
TEST(Bgv, SumsAndProductsOfSlots) {
  for (const auto& [m, alpha] : {std::pair<u64, unsigned>{85, 1}, {255, 2}, {257, 2}, {771, 1}, {3855, 2}}) {
    SCOPED_TRACE(m);
    World w(parameters(m, 4, alpha, alpha));
    const Elements x = w.random(1), y = w.random(2), xy = w.product(x, y);
    const Ciphertext a = w.encrypt(x), b = w.client.encrypt(w.encoded(y), w.pk);
    const Multiplier plain = w.ctx->multiplier(w.encoded(y));
    w.expect(a, x, "encrypt");
    w.expect(b, y, "encrypt, public key");
    w.expect(w.ev.add(a, b), sum(x, y), "add");
    w.expect(w.ev.add(a, a), Elements(x.size()), "add to itself");
    w.expect(w.ev.add_plain(a, plain), sum(x, y), "add_plain");
    w.expect(w.ev.add_one(a), sum(x, Elements(x.size(), 1)), "add_one");
    w.expect(w.ev.mul_plain(a, plain), xy, "mul_plain");
    const Ciphertext product = w.ev.mul(a, b);
    w.expect(product, xy, "mul");
    w.expect(w.ev.square(b), w.product(y, y), "square");
    w.expect(w.ev.add(product, a), sum(xy, x), "add of two and three parts");
    w.expect(w.ev.relinearize(product, w.relin), xy, "relinearize");
    w.expect(w.ev.relinearize(product, w.relin, 1), xy, "relinearize and drop");
    w.expect(w.ev.multiply(a, b, w.relin, 3), xy, "multiply to the last limb");
    w.expect(w.ev.mod_switch_to(product, 2), xy, "mod_switch_to, three parts");
    w.expect(w.ev.mod_switch_to(a, 1), x, "mod_switch_to");
    w.expect(w.ev.drop_to(a, 1), x, "drop_to");
    Ciphertext in_place = a;
    w.ev.add_in_place(in_place, product);
    EXPECT_TRUE(same(in_place, w.ev.add(a, product)));
    EXPECT_EQ(in_place.seed, std::nullopt);
  }
}

/// Blocks that stay together under maps, by both ways to sum: 3855 in small blocks, 255 in one.
TEST(Bgv, SumsOfFrobeniusMaps) {
  for (const u64 m : {255U, 3855U}) {
    SCOPED_TRACE(m);
    World w(parameters(m, 5, 3, 2));
    w.add_maps({1, 2, 3, 5, 7});
    const Elements x = w.random(3);
    const Ciphertext c = w.encrypt(x);
    const std::vector<std::vector<unsigned>> powers{{0, 1, 2, 3}, {7, 5, 1}, {0}, {3, 3}};
    std::vector<Multiplier> multipliers;
    std::vector<Elements> factors;
    for (unsigned i = 0; i < 10; ++i) {
      factors.push_back(w.random(20 + i));
      multipliers.push_back(w.ctx->multiplier(w.encoded(factors.back()), {}, true));
    }
    std::vector<Terms> sums;
    std::vector<Elements> exact;
    for (std::size_t s = 0, used = 0; s < powers.size(); ++s) {
      sums.emplace_back();
      exact.emplace_back(x.size());
      for (const unsigned k : powers[s]) {
        sums[s].push_back({w.ctx->frobenius_element(k), &multipliers[used]});
        exact[s] = sum(exact[s], w.product(w.raised(x, k), factors[used++]));
      }
    }
    for (const std::size_t limbs : {5U, 4U, 2U})
      for (const std::size_t drop : {0U, 1U}) {
        const Ciphertext at = w.ev.drop_to(c, limbs);
        const auto got = w.ev.frobenius_sums(at, sums, w.keys, drop);
        const auto threaded = bgv::Evaluator(w.ctx, 3).frobenius_sums(at, sums, w.keys, drop);
        ASSERT_EQ(got.size(), sums.size());
        for (std::size_t s = 0; s < got.size(); ++s) {
          EXPECT_EQ(got[s].limbs(), limbs - drop);
          w.expect(got[s], exact[s], "sum");
          EXPECT_TRUE(same(got[s], threaded[s]));
        }
      }
  }
}

/// Any automorphism, of rings whose blocks other ones scatter: against the same maps one by one.
TEST(Bgv, SumsOfOtherMaps) {
  World w(parameters(3855, 3, 2, 2));
  const Elements x = w.random(4), f = w.random(5), g = w.random(6);
  const Ciphertext c = w.encrypt(x);
  const Multiplier mf = w.ctx->multiplier(w.encoded(f), {}, true), mg = w.ctx->multiplier(w.encoded(g), {}, true);
  for (const u64 element : {7U, 11U, 1286U, 3854U}) {
    w.keys.insert(w.client.galois_key(w.sk, element));
    const auto moved = w.slots.permutation(element);
    Elements mapped(x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
      mapped[i] = w.slots.field().power(x[moved.source[i]], u64{1} << moved.frobenius[i]);
    const std::vector<Terms> sums{{{element, &mf}, {1, &mg}}};
    w.expect(w.ev.frobenius_sums(c, sums, w.keys)[0], sum(w.product(mapped, f), w.product(x, g)), "sum");
    w.expect(w.ev.apply_galois(c, element, w.keys), mapped, "apply_galois");
    const std::array<u64, 2> elements{1, element};
    w.expect(w.ev.apply_hoisted(c, elements, w.keys)[1], mapped, "apply_hoisted");
  }
}

/// The division by P and a prime at once: as many transforms fewer, and less noise than in two steps.
TEST(Bgv, RelinearisationDividesOnce) {
  World w(parameters(255, 4, 2, 2));
  const Ciphertext c = w.encrypt(w.random(7)), product = w.ev.mul(c, c);
  const auto count = [](auto&& f) {
    CountScope scope;
    f();
    const OpCounts n = scope.operations();
    return std::pair(n.ntt, n.intt);
  };
  const auto once = count([&] { (void)w.ev.relinearize(product, w.relin, 1); });
  const auto twice = count([&] { (void)w.ev.mod_switch_to(w.ev.relinearize(product, w.relin), 3); });
  // 4 limbs, 2 digits, 2 special primes: ModUp 4 and 8; 2*3 back and 2*3 forward, against 2*2, 2*4 and 2*1, 2*3.
  EXPECT_EQ(once, std::pair(u64{8 + 6}, u64{4 + 6}));
  EXPECT_EQ(twice, std::pair(u64{8 + 8 + 6}, u64{4 + 4 + 2}));
}

/// As docs/bgv.md counts them.
TEST(Bgv, TransformsOfSumsAreAsCounted) {
  World w(parameters(255, 6, 3, 3));
  w.add_maps({1, 2, 3});
  const Ciphertext c = w.encrypt(w.random(8));
  const Multiplier one = w.ctx->multiplier(w.encoded(w.random(9)), {}, true);
  const std::vector<Terms> sums{{{2, &one}, {4, &one}, {8, &one}}, {{1, &one}, {2, &one}}};
  for (const u64 drop : {u64{0}, u64{1}}) {
    CountScope scope;
    (void)w.ev.frobenius_sums(c, sums, w.keys, drop);
    const OpCounts n = scope.operations();
    EXPECT_EQ(n.mod_up, 1U);
    EXPECT_EQ(n.mod_down, 4U);
    EXPECT_EQ(n.key_switch, 3U);
    EXPECT_EQ(n.plain_mul, 5U);
    EXPECT_EQ(n.intt, 6 + 4 * (3 + drop));
    EXPECT_EQ(n.ntt, 2 * (6 + 3) - 6 + 4 * (6 - drop));
  }
}

TEST(Bgv, ThreadsShareOneOfEverything) {
  World w(parameters(255));
  w.add_maps({1});
  const Elements x = w.random(10);
  const Ciphertext c = w.encrypt(x);
  const Multiplier m = w.ctx->multiplier(w.encoded(x), {}, true);
  const std::vector<Terms> sums{{{2, &m}, {1, &m}}};
  const Elements exact = sum(w.product(w.raised(x, 1), x), w.product(x, x));
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (int& bad : wrong)
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        if (w.decrypt(w.ev.frobenius_sums(c, sums, w.keys)[0]) != exact) ++bad;
        if (w.decrypt(w.ev.multiply(c, c, w.relin, 1)) != w.product(x, x)) ++bad;
        if (w.decrypt(w.client.encrypt(w.encoded(x), w.pk)) != x) ++bad;
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

/// A failed operation in place leaves its operand as it was.
TEST(Bgv, RefusalsChangeNothing) {
  World w(parameters(255));
  Ciphertext a = w.encrypt(w.random(11));
  const Ciphertext before = a, low = w.ev.drop_to(a, 1);
  EXPECT_THROW(w.ev.add_in_place(a, low), LevelError);
  EXPECT_TRUE(same(a, before));
  EXPECT_EQ(a.seed, before.seed);
  World other(parameters(255), 8);
  EXPECT_THROW(w.ev.add_in_place(a, other.encrypt(w.random(11))), MismatchError);
  EXPECT_TRUE(same(a, before));
  // 257 has no permutation of Eval form.
  World prime(parameters(257));
  EXPECT_THROW((void)prime.client.galois_key(prime.sk, 0), ParameterError);
}

TEST(BgvNoise, SecretsHaveBoundedSpectra) {
  const bgv::Parameters p = parameters(255);
  World w(p);
  // All that the rules say of a key switch and a rounding holds at other confidences too, in order.
  const bgv::NoiseRules weak(p, 1), strong(p, 512);
  EXPECT_LT(weak.rounding(), w.ctx->rules().rounding());
  EXPECT_LT(w.ctx->rules().rounding(3), strong.rounding(3));
  EXPECT_LT(weak.key_switch(4), strong.key_switch(4));
  EXPECT_THROW(bgv::NoiseRules(p, 0), ParameterError);
  EXPECT_THROW(bgv::NoiseRules(p, 513), ParameterError);
  EXPECT_THROW((void)w.ctx->rules().budget({10}, 5), LevelError);
  EXPECT_THROW((void)w.ctx->rules().mod_switched({10}, 4, 0), LevelError);
  EXPECT_THROW((void)w.ctx->rules().hoisted_sum({10}, {}, 4), ShapeError);
  EXPECT_EQ(w.ctx->rules().fewest_limbs({0}, 4), 4U);
}

}  // namespace
}  // namespace ringforge::test
