// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include <atomic>
#include <set>

#include "ref/arith.hpp"
#include "ringforge/threads.hpp"
#include "support.hpp"

namespace ringforge::test {
namespace {

TEST(Primes, DescendAndKeepTheCongruence) {
  const auto p = primes_below(50, 5, u64{1} << 18);
  for (std::size_t i = 0; i < p.size(); ++i) {
    EXPECT_TRUE(is_prime(p[i]));
    EXPECT_EQ(p[i] % (u64{1} << 18), 1U);
    EXPECT_EQ(p[i] >> 49, 1U);
    if (i > 0) EXPECT_LT(p[i], p[i - 1]);
  }
  EXPECT_EQ(
      std::count_if(p.begin(), p.end(), [&](u64 q) { return q == primes_below(50, 2, u64{1} << 18, {{p[0]}})[0]; }), 1);
  EXPECT_THROW(primes_below(20, 100, u64{1} << 18), ParameterError);
  EXPECT_FALSE(is_prime(3215031751));  // strong pseudoprime to bases 2, 3, 5, 7
  EXPECT_TRUE(is_prime((u64{1} << 61) - 1));
}

TEST(Prime, RefusesWhatCannotTransform) {
  const Ring ring = Ring::negacyclic(10);
  EXPECT_THROW(Prime::get((u64{1} << 50) - 1, ring), ParameterError);
  EXPECT_THROW(Prime::get(12289, ring), ParameterError);  // below 2^16
  EXPECT_THROW(Ring::negacyclic(3), ParameterError);
  EXPECT_THROW(Ring::negacyclic(18), ParameterError);
}

TEST(Prime, PsiIsTheSmallestPrimitiveRoot) {
  const Ring ring = Ring::negacyclic(4);
  const auto prime = Prime::get(primes_below(20, 1, 32)[0], ring);
  const auto& m = prime->mod();
  u64 smallest = 0;
  for (u64 x = 2; smallest == 0; ++x)
    if (arith::pow(x, 16, m) == m.q - 1) smallest = x;
  EXPECT_EQ(prime->psi(), smallest);
}

// The order contract: slot i is the value at psi^(2*brv(i)+1).
TEST(Ntt, SlotsAreValuesAtTheStatedRoots) {
  const unsigned log_n = 5;
  const Ring ring = Ring::negacyclic(log_n);
  const Basis basis(ring, primes_below(54, 1, 64));
  const auto c = random_poly<Coeff>(basis, 1);
  const auto e = to_eval(c);
  const auto& m = basis[0].mod();
  for (std::size_t i = 0; i < 32; ++i) {
    std::size_t r = 0;
    for (unsigned b = 0; b < log_n; ++b) r |= ((i >> b) & 1) << (log_n - 1 - b);
    const u64 x = arith::pow(basis[0].psi(), 2 * r + 1, m);
    u64 v = 0;
    for (std::size_t k = 32; k-- > 0;) v = arith::add(arith::mul(v, x, m), c.limb(0)[k], m.q);
    EXPECT_EQ(e.limb(0)[i], v);
  }
  EXPECT_TRUE(equal(to_coeff(e), c));
}

TEST(Ntt, ProductIsNegacyclicConvolution) {
  const Ring ring = Ring::negacyclic(6);
  const Basis basis(ring, primes_below(61, 2, 128));
  const auto a = random_poly<Coeff>(basis, 1), b = random_poly<Coeff>(basis, 2);
  auto e = to_eval(a);
  mul(e, e, to_eval(b));
  const auto c = to_coeff(e);
  for (std::size_t l = 0; l < 2; ++l) {
    const auto& m = basis[l].mod();
    std::vector<u64> expected(64, 0);
    for (std::size_t i = 0; i < 64; ++i)
      for (std::size_t j = 0; j < 64; ++j) {
        const u64 t = arith::mul(a.limb(l)[i], b.limb(l)[j], m);
        u64& slot = expected[(i + j) % 64];
        slot = i + j < 64 ? arith::add(slot, t, m.q) : arith::sub(slot, t, m.q);
      }
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), c.limb(l)));
  }
}

TEST(Automorphism, FormsAgreeAndCompose) {
  const Ring ring = Ring::negacyclic(8);
  const Basis basis(ring, primes_below(50, 2, 512));
  const auto a = random_poly<Coeff>(basis, 3);
  for (const u64 g : {3ULL, 5ULL, 511ULL, 77ULL}) {
    EXPECT_TRUE(equal(automorphism(to_eval(a), g), to_eval(automorphism(a, g))));
    EXPECT_TRUE(equal(automorphism(automorphism(a, g), ring.inverse(g)), a));
    EXPECT_EQ(ring.compose(g, ring.inverse(g)), 1U);
  }
  EXPECT_THROW(automorphism(a, 4), ParameterError);
  EXPECT_THROW(automorphism(to_eval(a), 513), ParameterError);
}

TEST(Automorphism, IndexKeepsBlocksOfEight) {
  const Ring ring = Ring::negacyclic(10);
  for (u64 g = 1; g < ring.index(); g += 94) {
    const auto index = ring.eval_index(g);
    for (std::size_t k = 0; k < index->size(); k += 8) {
      std::set<u32> low;
      for (std::size_t i = k; i < k + 8; ++i) {
        EXPECT_EQ((*index)[i] / 8, (*index)[k] / 8);
        low.insert((*index)[i] % 8);
      }
      EXPECT_EQ(low.size(), 8U);
    }
  }
}

TEST(Poly, MismatchedBasesAreRefused) {
  const Ring ring = Ring::negacyclic(5);
  const auto p = primes_below(40, 3, 64);
  const Basis two(ring, std::span(p).first(2)), three(ring, p);
  auto a = random_poly<Eval>(two, 1), b = random_poly<Eval>(three, 1);
  EXPECT_THROW(add(a, a, b), MismatchError);
  EXPECT_THROW(Basis(ring, std::vector<u64>{p[0], p[0]}), ParameterError);
}

TEST(Threads, EveryIndexOnceAndExceptionsReturn) {
  for (const unsigned threads : {1U, 2U, 4U}) {
    std::vector<std::atomic<int>> hits(1000);
    parallel_for(threads, hits.size(),
                 [&](std::size_t i) { parallel_for(threads, 2, [&](std::size_t) { hits[i].fetch_add(1); }); });
    for (const auto& h : hits) EXPECT_EQ(h.load(), 2);
    EXPECT_THROW(parallel_for(threads, 100,
                              [](std::size_t i) {
                                if (i == 37) throw ValueError("x");
                              }),
                 ValueError);
  }
}

TEST(Random, StreamsAreSeparatedAndReproducible) {
  Stream a(fixed_seed(), StreamObject::error, 1, 2), b(fixed_seed(), StreamObject::error, 1, 2);
  Stream c(fixed_seed(), StreamObject::error, 2, 1), d(fixed_seed(), StreamObject::secret, 1, 2);
  const u64 first = a.next();
  EXPECT_EQ(first, b.next());
  EXPECT_NE(first, c.next());
  EXPECT_NE(first, d.next());
  TestRandomness r(fixed_seed()), s(fixed_seed());
  const Seed one = r.next_seed(), same = s.next_seed(), two = r.next_seed();
  EXPECT_EQ(one, same);
  EXPECT_NE(one, two);
}

// Moments of the samplers, at 5 standard deviations of their estimators.
TEST(Random, DistributionsHaveTheStatedMoments) {
  const std::size_t n = 1 << 16;
  const auto moments = [&](const SmallPoly& p) {
    double mean = 0, square = 0;
    for (const i64 c : p.coeffs()) mean += static_cast<double>(c), square += static_cast<double>(c * c);
    return std::pair(mean / n, square / n);
  };
  const auto [em, ev] = moments(sample_error(n, fixed_seed(1)));
  EXPECT_NEAR(em, 0, 5 * std::sqrt(kErrorVariance / n));
  EXPECT_NEAR(ev, kErrorVariance, 5 * kErrorVariance * std::sqrt(2.0 / n));
  const auto [tm, tv] = moments(sample_ternary(n, fixed_seed(2), StreamObject::secret));
  EXPECT_NEAR(tm, 0, 5 * std::sqrt(2.0 / 3 / n));
  EXPECT_NEAR(tv, 2.0 / 3, 5 * std::sqrt(2.0 / 9 / n));
  const Ring ring = Ring::negacyclic(16);
  const Basis basis(ring, primes_below(50, 1, u64{1} << 18));
  const auto u = sample_uniform(basis, fixed_seed(4), StreamObject::ciphertext);
  double mean = 0;
  for (const u64 w : u.words()) {
    ASSERT_LT(w, basis[0].value());
    mean += static_cast<double>(w) / static_cast<double>(basis[0].value());
  }
  EXPECT_NEAR(mean / n, 0.5, 5 * std::sqrt(1.0 / 12 / n));
}

// The centred binomial, bit by bit; the three samplers of it (polynomials, LWE ciphertexts, key-switching entries)
// share error_of.
TEST(Random, ErrorsAreDifferencesOfBits) {
  const SmallPoly p = sample_error(1000, fixed_seed(), 3);
  Stream s(fixed_seed(), StreamObject::error, 3);
  for (const i64 c : p.coeffs()) {
    const u64 w = s.next();
    i64 expected = 0;
    for (int bit = 0; bit < 21; ++bit)
      expected += static_cast<i64>(w >> bit & 1) - static_cast<i64>(w >> (21 + bit) & 1);
    EXPECT_EQ(c, expected);
  }
  for (int bit = 0; bit < 64; ++bit) {
    EXPECT_EQ(ones_of(u64{1} << bit), 1u);
    EXPECT_EQ(ones_of(~u64{0} >> bit), static_cast<unsigned>(64 - bit));
  }
  EXPECT_EQ(ones_of(0), 0u);
  EXPECT_EQ(error_of(~u64{0}), 0);
  EXPECT_EQ(error_of((u64{1} << 21) - 1), 21);
  EXPECT_EQ(error_of(~((u64{1} << 21) - 1)), -21);
}

// The format contract, from an independent implementation of SHAKE256 and AES-256-CTR.
TEST(Random, SeedExpansionIsPinned) {
  Stream s(fixed_seed(7), StreamObject::switching_key, 3, 5);
  const u64 a = s.next(), b = s.next();
  EXPECT_EQ(a, 0xa87aa6baefe7707bULL);
  EXPECT_EQ(b, 0x5ee8253653c9824aULL);
}

}  // namespace
}  // namespace ringforge::test
