// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// RLWE ciphertexts without a scheme: encryptions of zero are noise of the stated size, operations do to phases what
// they say, in exact integers, and what belongs elsewhere is refused.
#include "integer_phases.hpp"
#include "ref/arith.hpp"
#include "ringforge/error.hpp"

namespace ringforge::rlwe {
namespace {

using namespace ringforge::test;

TEST(RlweZero, IsNoiseOfTheStatedSize) {
  PhaseWorld w(7, 10);
  const auto pk = w.encryptor.public_key(w.sk);
  for (std::size_t limbs = 1; limbs <= PhaseWorld::kLimbs; ++limbs) {
    const double n = static_cast<double>(w.n());
    const auto variance = [&](const Ciphertext& c) {
      EXPECT_EQ(c.limbs(), limbs);
      double sum = 0;
      for (const i64 e : w.phase(c)) sum += static_cast<double>(e * e);
      return sum / n;
    };
    const Ciphertext secret = w.encryptor.zero(w.sk, limbs), open = w.encryptor.zero(pk, limbs);
    // 1,024 samples: a factor 1.5 is more than ten standard deviations of the measured variance.
    const double expected = kErrorVariance * (4 * n / 3 + 1);
    EXPECT_LT(variance(secret), kErrorVariance * 1.5);
    EXPECT_GT(variance(secret), kErrorVariance / 1.5);
    EXPECT_LT(variance(open), expected * 1.5);
    EXPECT_GT(variance(open), expected / 1.5);
    EXPECT_TRUE(secret.seed.has_value());
    EXPECT_FALSE(open.seed.has_value());
    EXPECT_TRUE(
        equal(secret.parts[1], sample_uniform(secret.parts[1].basis(), *secret.seed, StreamObject::ciphertext)));
  }
}

class RlweOperations : public testing::Test {
 protected:
  RlweOperations()
      : ev(w.gadget, 2),
        a(w.encrypt(random_small(w.n(), 100, 1), w.sk)),
        b(w.encrypt(random_small(w.n(), 100, 2), w.encryptor.public_key(w.sk))),
        p(random_small(w.n(), 50, 3)),
        x(w.phase(a)),
        y(w.phase(b)) {}
  PhaseWorld w;
  Evaluator ev;
  Ciphertext a, b;
  Integers p, x, y;
};

bool same(const Ciphertext& c, const Ciphertext& d) {
  return c.parts.size() == d.parts.size() && c.key_id == d.key_id &&
         std::equal(c.parts.begin(), c.parts.end(), d.parts.begin(), equal<Eval, u64>);
}

TEST_F(RlweOperations, SumsAndProductsOfPhasesAreExact) {
  const auto sum = each(x, y, std::plus<>()), difference = each(x, y, std::minus<>());
  EXPECT_EQ(w.phase(ev.add(a, b)), sum);
  EXPECT_EQ(w.phase(ev.sub(a, b)), difference);
  EXPECT_EQ(w.phase(ev.negate(a)), each(difference, sum, [](i64 d, i64 s) { return -(d + s) / 2; }));
  const auto plain = lifted(p, w.gadget->q());
  EXPECT_EQ(w.phase(ev.add_plain(a, plain)), each(x, p, std::plus<>()));
  EXPECT_EQ(w.phase(ev.sub_plain(a, plain)), each(x, p, std::minus<>()));
  EXPECT_EQ(w.phase(ev.mul_plain(a, plain)), schoolbook(x, p));
  Integers seven(w.n());
  seven[0] = 7;
  const std::vector<u64> residues(PhaseWorld::kLimbs, 7);
  EXPECT_EQ(w.phase(ev.add_constant(a, residues)), each(x, seven, std::plus<>()));
  EXPECT_EQ(w.phase(ev.mul_constant(a, residues)), each(x, x, [](i64 v, i64) { return 7 * v; }));
  const Ciphertext three = ev.mul(a, b);
  const auto product = schoolbook(x, y);
  EXPECT_EQ(w.phase(three), product);
  // Sums of two and three parts, either way round.
  EXPECT_EQ(w.phase(ev.add(a, three)), each(x, product, std::plus<>()));
  EXPECT_EQ(w.phase(ev.add(three, a)), each(x, product, std::plus<>()));
  EXPECT_EQ(w.phase(ev.sub(a, three)), each(x, product, std::minus<>()));
  EXPECT_EQ(w.phase(ev.sub(three, a)), each(product, x, std::minus<>()));
}

// As NTRU schemes have them.
TEST_F(RlweOperations, OnePartIsItsOwnPhase) {
  Ciphertext c = a;
  c.parts.resize(1);
  c.parts[0] = lifted(p, w.gadget->q());
  const auto plain = lifted(x, w.gadget->q());
  EXPECT_EQ(w.phase(ev.add(c, c)), each(p, p, std::plus<>()));
  EXPECT_EQ(w.phase(ev.mul_plain(c, plain)), schoolbook(p, x));
  EXPECT_EQ(w.phase(ev.drop_to(c, 1)), p);
  EXPECT_EQ(ev.divide(c).parts.size(), 1u);
  EXPECT_TRUE(same(ev.relinearize(c, w.encryptor.relin_key(w.sk, PhaseWorld::kLimbs)), c));
  EXPECT_THROW((void)ev.map(c, 5, GaloisKeys()), ShapeError);
}

TEST_F(RlweOperations, InPlaceFormsGiveTheSameBits) {
  const Ciphertext three = ev.mul(a, b);
  const std::vector<const Ciphertext*> all{&a, &b, &three};
  for (const Ciphertext* left : all)
    for (const Ciphertext* right : all) {
      Ciphertext sum = *left, difference = *left;
      ev.add_in_place(sum, *right);
      ev.sub_in_place(difference, *right);
      EXPECT_TRUE(same(sum, ev.add(*left, *right)));
      EXPECT_TRUE(same(difference, ev.sub(*left, *right)));
      EXPECT_FALSE(sum.seed || difference.seed);  // their second parts are no expansion any more
    }
  Ciphertext c = a;
  ev.add_in_place(c, c);
  EXPECT_EQ(w.phase(c), each(x, x, std::plus<>()));
  ev.sub_in_place(c, c);
  EXPECT_EQ(w.phase(c), Integers(w.n()));
  c = a;
  ev.negate_in_place(c);
  EXPECT_TRUE(same(c, ev.negate(a)));
  EXPECT_FALSE(c.seed);
}

TEST_F(RlweOperations, KeySwitchesKeepPhasesWithinTheirNoise) {
  const auto relin = w.encryptor.relin_key(w.sk, PhaseWorld::kLimbs);
  const Ciphertext three = ev.mul(a, b), two = ev.relinearize(three, relin);
  EXPECT_EQ(two.parts.size(), 2u);
  EXPECT_LT(static_cast<double>(distance(w.phase(two), schoolbook(x, y))), w.switched());
  EXPECT_TRUE(same(ev.relinearize(a, relin), a));
  GaloisKeys keys;
  const Digits digits = ev.hoist(a);
  for (const u64 g : {u64{5}, u64{25}, 2 * static_cast<u64>(w.n()) - 1}) {
    keys.insert(w.encryptor.galois_key(w.sk, g, PhaseWorld::kLimbs));
    const Ciphertext c = ev.map(a, g, keys);
    EXPECT_LT(static_cast<double>(distance(w.phase(c), mapped(x, g))), w.switched()) << g;
    EXPECT_TRUE(same(c, ev.map(a, digits, g, *keys.at(g)))) << g;
  }
  EXPECT_TRUE(same(ev.map(a, 1, keys), a));
  // To another secret.
  const SecretKey other = w.encryptor.secret_key();
  TestRandomness rng(fixed_seed(9));
  const auto key = SwitchingKey::make(w.sk.eval(), other.eval(), other.id(), *w.gadget, PhaseWorld::kLimbs, rng);
  const Ciphertext moved = ev.switch_to(a, key);
  EXPECT_EQ(moved.key_id, other.id());
  EXPECT_LT(static_cast<double>(distance(integers(Decryptor(w.gadget).phase(moved, other)), x)), w.switched());
  EXPECT_THROW((void)Decryptor(w.gadget).phase(moved, w.sk), MismatchError);
}

// The gadget without special primes has keys of its own digits' size: nothing is divided.
TEST(RlweBaseB, SwitchesWithoutSpecialPrimes) {
  const Ring ring = Ring::negacyclic(6);
  const auto gadget = std::make_shared<const Gadget>(Basis(ring, primes_below(45, 2, u64{1} << 18)), Basis(ring, {}),
                                                     GadgetSpec{1, 10});
  Encryptor encryptor(gadget, fixed_randomness());
  const SecretKey sk = encryptor.secret_key();
  const Evaluator ev(gadget);
  Ciphertext c = encryptor.zero(sk, 2);
  const auto x = integers(Decryptor(gadget).phase(c, sk));
  GaloisKeys keys;
  keys.insert(encryptor.galois_key(sk, 5, 2));
  const auto turned = integers(Decryptor(gadget).phase(ev.map(c, 5, keys), sk));
  EXPECT_LT(static_cast<double>(distance(turned, mapped(x, 5))), 8 * std::sqrt(gadget->switch_variance(2)));
}

TEST_F(RlweOperations, DivisionDividesThePhase) {
  for (const std::size_t count : {1U, 2U}) {
    std::vector<u64> residues;
    for (std::size_t i = 0; i < PhaseWorld::kLimbs; ++i) {
      const auto& m = w.gadget->q()[i].mod();
      u64 r = 1;
      for (std::size_t d = PhaseWorld::kLimbs - count; d < PhaseWorld::kLimbs; ++d)
        r = arith::mul(r, arith::reduce64(w.gadget->q()[d].value(), m), m);
      residues.push_back(r);
    }
    const Ciphertext c = ev.divide(ev.mul_constant(a, residues), count);
    EXPECT_EQ(c.limbs(), PhaseWorld::kLimbs - count);
    // A product with what is divided by: no remainder, so no rounding.
    EXPECT_EQ(w.phase(c), x);
  }
  EXPECT_EQ(w.phase(ev.drop_to(a, 2)), x);
}

// Messages in the low bits, modulo t, as multiples of 1/t modulo Q: the layer's noise and division serve as they are.
TEST_F(RlweOperations, LowBitMessagesSurviveDivision) {
  constexpr i64 t = 257;
  const auto m = random_small(w.n(), t / 2, 4);
  std::vector<u64> inverse;
  for (std::size_t i = 0; i < PhaseWorld::kLimbs; ++i)
    inverse.push_back(arith::inverse(static_cast<u64>(t), w.gadget->q()[i].mod()));
  Ciphertext c = w.encryptor.zero(w.sk, PhaseWorld::kLimbs);
  Ciphertext message;
  message.key_id = c.key_id;
  message.parts = {lifted(m, w.gadget->q()), Poly<Eval>(w.gadget->q())};
  message.parts[1].zero();
  ev.add_in_place(c, ev.mul_constant(message, inverse));
  const auto read = [&](const Ciphertext& from, i64 factor) {
    const std::vector<u64> times_t(from.limbs(), static_cast<u64>(t));
    auto out = w.phase(ev.mul_constant(from, times_t));  // m + t*e, small
    for (auto& v : out) {
      v = v % t * factor % t;
      v = v > t / 2 ? v - t : v < -(t / 2) ? v + t : v;
    }
    return out;
  };
  EXPECT_EQ(read(c, 1), m);
  const auto q = static_cast<i64>(w.gadget->q()[PhaseWorld::kLimbs - 1].value());
  EXPECT_EQ(read(ev.divide(c), q % t), m);
}

TEST(RlweKeySet, SharesKeysAndHasAListOfItsOwn) {
  PhaseWorld w;
  GaloisKeys galois;
  galois.insert(w.encryptor.galois_key(w.sk, 5, 2));
  KeySet none(galois, {});
  EXPECT_THROW((void)none.relin(), MissingKeyError);
  EXPECT_EQ(none.bytes(), galois.bytes());
  KeySet all(galois, w.encryptor.relin_key(w.sk, 2));
  EXPECT_EQ(all.bytes(), galois.bytes() + all.relin().key().bytes());
  EXPECT_EQ(all.galois().at(5), galois.at(5));
  const KeySet copy = all;
  all.galois().erase(5);
  EXPECT_TRUE(copy.galois().contains(5) && galois.contains(5));
  EXPECT_EQ(&copy.relin().key(), &all.relin().key());
}

struct Refusal {
  const char* what;
  std::function<void()> call;
  const char* error;
};

std::string outcome(const std::function<void()>& call) {
  try {
    call();
  } catch (const MismatchError&) {
    return "mismatch";
  } catch (const LevelError&) {
    return "level";
  } catch (const ShapeError&) {
    return "shape";
  } catch (const MissingKeyError&) {
    return "missing";
  } catch (const ParameterError&) {
    return "parameter";
  }
  return "none";
}

// Key ids agree between worlds of one seed: only the primes can tell.
TEST(RlweForeign, ArgumentsOfAnotherWorldAreRefused) {
  for (const auto& [log_n, bits] : {std::pair(6U, 44U), std::pair(7U, 45U)}) {
    PhaseWorld w, f(7, log_n, bits);
    const Evaluator ev(w.gadget);
    const Decryptor decryptor(w.gadget);
    const Integers m(w.n(), 1), fm(f.n(), 1);
    Ciphertext c = w.encrypt(m, w.sk);
    const Ciphertext g = f.encrypt(fm, f.sk), three = ev.mul(c, c);
    const auto relin = w.encryptor.relin_key(w.sk, 4), foreign_relin = f.encryptor.relin_key(f.sk, 4);
    GaloisKeys keys, foreign_keys;
    keys.insert(w.encryptor.galois_key(w.sk, 5, 4));
    foreign_keys.insert(f.encryptor.galois_key(f.sk, 5, 4));
    const auto foreign_plain = lifted(fm, f.gadget->q());
    const auto pk = f.encryptor.public_key(f.sk);
    const Digits digits = ev.hoist(c), foreign_digits(g.parts[1], *f.gadget);
    Ciphertext mixed = c;
    mixed.parts[1] = g.parts[1];
    const std::vector<Refusal> rows = {
        {"zero, secret key", [&] { (void)w.encryptor.zero(f.sk, 4); }, "mismatch"},
        {"zero, public key", [&] { (void)w.encryptor.zero(pk, 4); }, "mismatch"},
        {"zero, empty public key", [&] { (void)w.encryptor.zero(PublicKey{}, 4); }, "mismatch"},
        {"zero, limbs", [&] { (void)w.encryptor.zero(w.sk, 5); }, "level"},
        {"public_key", [&] { (void)w.encryptor.public_key(f.sk); }, "mismatch"},
        {"relin_key", [&] { (void)w.encryptor.relin_key(f.sk, 4); }, "mismatch"},
        {"relin_key, limbs", [&] { (void)w.encryptor.relin_key(w.sk, 5); }, "level"},
        {"galois_key", [&] { (void)w.encryptor.galois_key(f.sk, 5, 4); }, "mismatch"},
        {"galois_key, even", [&] { (void)w.encryptor.galois_key(w.sk, 4, 4); }, "parameter"},
        {"galois_key, 1", [&] { (void)w.encryptor.galois_key(w.sk, 1, 4); }, "parameter"},
        {"phase, ciphertext", [&] { (void)decryptor.phase(g, w.sk); }, "mismatch"},
        {"phase, key", [&] { (void)decryptor.phase(c, f.sk); }, "mismatch"},
        {"phase, empty", [&] { (void)decryptor.phase(Ciphertext{}, w.sk); }, "shape"},
        {"phase, mixed", [&] { (void)decryptor.phase(mixed, w.sk); }, "mismatch"},
        {"add", [&] { (void)ev.add(c, g); }, "mismatch"},
        {"add, left", [&] { (void)ev.add(g, c); }, "mismatch"},
        {"sub", [&] { (void)ev.sub(c, g); }, "mismatch"},
        {"add_in_place", [&] { ev.add_in_place(c, g); }, "mismatch"},
        {"sub_in_place", [&] { ev.sub_in_place(c, g); }, "mismatch"},
        {"negate", [&] { (void)ev.negate(g); }, "mismatch"},
        {"add, level", [&] { (void)ev.add(c, ev.drop_to(c, 2)); }, "level"},
        {"add_plain", [&] { (void)ev.add_plain(c, foreign_plain); }, "mismatch"},
        {"sub_plain", [&] { (void)ev.sub_plain(c, foreign_plain); }, "mismatch"},
        {"mul_plain", [&] { (void)ev.mul_plain(c, foreign_plain); }, "mismatch"},
        {"mul_plain, level", [&] { (void)ev.mul_plain(c, lifted(m, w.gadget->q().prefix(2))); }, "level"},
        {"add_constant", [&] { (void)ev.add_constant(c, std::vector<u64>(3, 1)); }, "shape"},
        {"mul_constant", [&] { (void)ev.mul_constant(c, std::vector<u64>(5, 1)); }, "shape"},
        {"mul", [&] { (void)ev.mul(c, g); }, "mismatch"},
        {"mul, three parts", [&] { (void)ev.mul(three, c); }, "shape"},
        {"relinearize, key", [&] { (void)ev.relinearize(three, foreign_relin); }, "mismatch"},
        {"relinearize", [&] { (void)ev.relinearize(g, relin); }, "mismatch"},
        {"switch_to, key", [&] { (void)ev.switch_to(c, foreign_relin.key()); }, "mismatch"},
        {"switch_to, three parts", [&] { (void)ev.switch_to(three, relin.key()); }, "shape"},
        {"map, keys", [&] { (void)ev.map(c, 5, foreign_keys); }, "mismatch"},
        {"map", [&] { (void)ev.map(g, 5, keys); }, "mismatch"},
        {"map, missing", [&] { (void)ev.map(c, 25, keys); }, "missing"},
        {"map, three parts", [&] { (void)ev.map(three, 5, keys); }, "shape"},
        {"map, digits", [&] { (void)ev.map(c, foreign_digits, 5, *keys.at(5)); }, "mismatch"},
        {"map, digits of another level", [&] { (void)ev.map(ev.drop_to(c, 2), digits, 5, *keys.at(5)); }, "mismatch"},
        {"hoist", [&] { (void)ev.hoist(g); }, "mismatch"},
        {"divide", [&] { (void)ev.divide(g); }, "mismatch"},
        {"divide, all", [&] { (void)ev.divide(c, 4); }, "level"},
        {"divide, none", [&] { (void)ev.divide(c, 0); }, "level"},
        {"drop_to", [&] { (void)ev.drop_to(c, 5); }, "level"},
        {"drop_to, 0", [&] { (void)ev.drop_to(c, 0); }, "level"},
    };
    const auto before = w.phase(c);
    for (const auto& row : rows) EXPECT_EQ(outcome(row.call), row.error) << row.what << ", N = 2^" << log_n;
    EXPECT_EQ(w.phase(c), before);
  }
  // The same primes, another secret.
  PhaseWorld w(7), f(8);
  const Evaluator ev(w.gadget);
  const Ciphertext c = w.encryptor.zero(w.sk, 4), g = f.encryptor.zero(f.sk, 4);
  EXPECT_THROW((void)ev.add(c, g), MismatchError);
  EXPECT_THROW((void)ev.mul(c, g), MismatchError);
  EXPECT_THROW((void)ev.relinearize(ev.mul(c, c), f.encryptor.relin_key(f.sk, 4)), MismatchError);
  EXPECT_THROW((void)ev.map(c, 5, *f.encryptor.galois_key(f.sk, 5, 4).key), MismatchError);
  EXPECT_THROW((void)ev.map(c, 5, *w.encryptor.galois_key(w.sk, 5, 3).key), LevelError);
}

}  // namespace
}  // namespace ringforge::rlwe
