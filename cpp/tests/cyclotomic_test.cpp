// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Rings of odd index against exact integers: Phi_m by long division from its definition, products and images of
// automorphisms by schoolbook, remainders by long division. Rings of equal degree and different kind stay apart.
#include <array>
#include <numeric>
#include <thread>

#include "ref/arith.hpp"
#include "ringforge/counters.hpp"
#include "ringforge/kernels32.hpp"
#include "support.hpp"

namespace ringforge::test {
namespace {

using i128 = __int128;
using Integers = std::vector<i128>;

/// a = quotient * b + remainder for monic b; a becomes the remainder.
Integers divide(Integers& a, const Integers& b) {
  Integers quotient(a.size() < b.size() ? 0 : a.size() - b.size() + 1);
  for (std::size_t k = quotient.size(); k-- > 0;) {
    quotient[k] = a[k + b.size() - 1];
    for (std::size_t i = 0; i < b.size(); ++i) a[k + i] -= quotient[k] * b[i];
  }
  a.resize(b.size() - 1);
  return quotient;
}

/// Phi_m = (X^m - 1) / product of Phi_d over the divisors d < m.
Integers phi(u64 m) {
  Integers a(m + 1);
  a[m] = 1;
  a[0] = -1;
  for (u64 d = 1; d < m; ++d)
    if (m % d == 0) a = divide(a, phi(d));
  return a;
}

Integers product(const Integers& a, const Integers& b, const Integers& modulus) {
  Integers c(a.size() + b.size() - 1);
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < b.size(); ++j) c[i + j] += a[i] * b[j];
  divide(c, modulus);
  return c;
}

Integers image(const Integers& a, u64 g, u64 m, const Integers& modulus) {
  Integers c(m);
  for (std::size_t i = 0; i < a.size(); ++i) c[i * g % m] += a[i];
  divide(c, modulus);
  return c;
}

Integers random_integers(std::size_t n, std::mt19937_64& rng) {
  Integers a(n);
  for (auto& x : a) x = static_cast<i64>(rng() >> 30) - (i64{1} << 33);
  return a;
}

template <class Word>
Poly<Coeff, Word> lifted(const Integers& a, const BasisOf<Word>& basis) {
  Poly<Coeff, Word> p(basis);
  for (std::size_t l = 0; l < basis.size(); ++l)
    for (std::size_t i = 0; i < a.size(); ++i) {
      const auto q = static_cast<i128>(basis[l].value());
      p.limb(l)[i] = static_cast<Word>((a[i] % q + q) % q);
    }
  return p;
}

/// Primes of several sizes for a ring, as words of the width take them.
template <class Word>
BasisOf<Word> primes_of(const Ring& ring) {
  std::vector<u64> primes;
  for (const unsigned bits : {20U, 31U, 50U, 54U, 61U})
    if (bits <= PrimeOf<Word>::kMaxBits) primes.push_back(primes_below(bits, 1, ring.prime_step())[0]);
  return BasisOf<Word>(ring, primes);
}

constexpr std::array<u64, 9> kIndices{3, 9, 15, 17, 21, 45, 105, 165, 255};

template <class Word>
class Cyclotomic : public ::testing::Test {};
using WordTypes = ::testing::Types<u32, u64>;
TYPED_TEST_SUITE(Cyclotomic, WordTypes);

TYPED_TEST(Cyclotomic, ProductsAndSumsAreThoseOfIntegers) {
  for (const u64 m : kIndices) {
    const Ring ring = Ring::cyclotomic(m);
    const auto basis = primes_of<TypeParam>(ring);
    const Integers modulus = phi(m);
    ASSERT_EQ(ring.degree(), modulus.size() - 1);
    std::mt19937_64 rng(m);
    const Integers a = random_integers(ring.degree(), rng), b = random_integers(ring.degree(), rng);
    const auto pa = lifted(a, basis), pb = lifted(b, basis);
    const auto ea = to_eval(pa), eb = to_eval(pb);
    EXPECT_EQ(pa.length(), ring.degree());
    EXPECT_EQ(ea.length(), ring.transform_length());
    EXPECT_TRUE(equal(to_coeff(ea), pa)) << m;

    Poly<Eval, TypeParam> c(basis);
    mul(c, ea, eb);
    const Integers ab = product(a, b, modulus);
    EXPECT_TRUE(equal(to_coeff(c), lifted(ab, basis))) << m;

    // A sum of products and of others: (a*b + b*b - a) + b, in place.
    mul_add(c, eb, eb);
    sub(c, c, ea);
    add(c, c, eb);
    Integers sum = product(b, b, modulus), negative(sum.size());
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += ab[i] - a[i] + b[i], negative[i] = -sum[i];
    EXPECT_TRUE(equal(to_coeff(c), lifted(sum, basis))) << m;
    neg(c, c);
    EXPECT_TRUE(equal(to_coeff(c), lifted(negative, basis))) << m;

    // The same sums in Coeff form.
    auto s = lifted(ab, basis);
    add(s, s, to_coeff([&] {
          auto square = eb;
          mul(square, eb, eb);
          return square;
        }()));
    sub(s, s, pa);
    add(s, s, pb);
    neg(s, s);
    EXPECT_TRUE(equal(s, lifted(negative, basis))) << m;
  }
}

TYPED_TEST(Cyclotomic, AutomorphismsOfAllUnits) {
  for (const u64 m : kIndices) {
    const Ring ring = Ring::cyclotomic(m);
    const auto basis = primes_of<TypeParam>(ring);
    const Integers modulus = phi(m);
    std::mt19937_64 rng(m);
    const Integers a = random_integers(ring.degree(), rng), b = random_integers(ring.degree(), rng);
    const auto pa = lifted(a, basis);
    const auto ea = to_eval(pa);
    Poly<Eval, TypeParam> product_ab(basis);
    mul(product_ab, ea, to_eval(lifted(b, basis)));
    const Integers ab = product(a, b, modulus);
    std::size_t units = 0;
    for (u64 g = 0; g <= m; ++g) {
      ASSERT_EQ(ring.is_galois_element(g), g < m && std::gcd(g, m) == 1) << g << " modulo " << m;
      if (!ring.is_galois_element(g)) {
        EXPECT_THROW(automorphism(pa, g), ParameterError);
        EXPECT_THROW(automorphism(ea, g), ParameterError);
        continue;
      }
      ++units;
      const auto expected = lifted(image(a, g, m, modulus), basis);
      EXPECT_TRUE(equal(automorphism(pa, g), expected)) << g << " modulo " << m;
      EXPECT_TRUE(equal(automorphism(ea, g), to_eval(expected))) << g << " modulo " << m;
      EXPECT_EQ(ring.inverse(g) * g % m, 1U);
      EXPECT_TRUE(equal(automorphism(automorphism(pa, g), ring.inverse(g)), pa));
      // Of a product that is not reduced yet; the result is.
      const auto mapped = automorphism(product_ab, g);
      EXPECT_TRUE(mapped.reduced());
      EXPECT_TRUE(equal(to_coeff(mapped), lifted(image(ab, g, m, modulus), basis))) << g << " modulo " << m;
    }
    EXPECT_EQ(units, ring.degree());
  }
}

// The order contract: slot i is the value at psi^brv(i), psi the smallest primitive root of the transform's length.
TYPED_TEST(Cyclotomic, SlotsAreValuesAtTheStatedRoots) {
  const Ring ring = Ring::cyclotomic(21);
  const auto basis = primes_of<TypeParam>(ring);
  ASSERT_EQ(ring.transform_length(), 32U);
  const auto c = random_poly<Coeff>(basis, 1);
  const auto e = to_eval(c);
  for (std::size_t l = 0; l < basis.size(); ++l) {
    const auto& m = basis[l].mod();
    for (u64 x = 2; x < 2000; ++x)
      if (arith::pow(x, 16, m) == m.q - 1) {
        EXPECT_LE(basis[l].psi(), x);
      }
    for (std::size_t i = 0; i < 32; ++i) {
      std::size_t r = 0;
      for (unsigned b = 0; b < 5; ++b) r |= ((i >> b) & 1) << (4 - b);
      const u64 x = arith::pow(basis[l].psi(), r, m);
      u64 v = 0;
      for (std::size_t k = ring.degree(); k-- > 0;) v = arith::add(arith::mul(v, x, m), c.limb(l)[k], m.q);
      ASSERT_EQ(e.limb(l)[i], v) << i;
    }
  }
}

TYPED_TEST(Cyclotomic, LiftsAndSamples) {
  for (const u64 m : {15, 21, 45}) {  // degrees 8, 12, 24: not whole blocks of 16
    const Ring ring = Ring::cyclotomic(m);
    const auto basis = primes_of<TypeParam>(ring);
    const SmallPoly s = sample_error(ring.degree(), fixed_seed());
    const Integers a(s.coeffs().begin(), s.coeffs().end());
    EXPECT_TRUE(equal(s.lift(basis), to_eval(lifted(a, basis))));
    EXPECT_THROW((void)sample_error(16, fixed_seed()).lift(basis), MismatchError);

    const auto u = sample_uniform(basis, fixed_seed(), StreamObject::mask, 1, 2);
    EXPECT_TRUE(u.reduced());
    const auto c = to_coeff(u);
    EXPECT_TRUE(equal(to_eval(c), u));
    Stream stream(fixed_seed(), StreamObject::mask, 1, 2);
    const u64 q = basis[0].value(), mask = (u64{1} << basis[0].mod().bits) - 1;
    for (std::size_t i = 0; i < ring.degree(); ++i) {
      u64 x = stream.next() & mask;
      while (x >= q) x = stream.next() & mask;
      ASSERT_EQ(c.limb(0)[i], x);
    }
    // The centred lift of one prime's residues to another.
    Poly<Eval, TypeParam> l(basis);
    for (std::size_t i = 0; i < basis.size(); ++i) ntt_lift(l.limb(i), c.limb(0), basis[0], basis[i]);
    Integers centred(c.limb(0), c.limb(0) + ring.degree());
    for (auto& x : centred) x -= x > static_cast<i128>(q / 2) ? q : 0;
    EXPECT_TRUE(equal(l, to_eval(lifted(centred, basis))));
  }
}

TYPED_TEST(Cyclotomic, ProductsOfThreeNeedReduction) {
  const Ring ring = Ring::cyclotomic(15);
  const auto basis = primes_of<TypeParam>(ring);
  const Integers modulus = phi(15);
  std::mt19937_64 rng(1);
  Integers small = random_integers(8, rng);
  for (auto& x : small) x %= 1000;
  const auto a = to_eval(lifted(small, basis));
  Poly<Eval, TypeParam> square(basis), out(basis);
  mul(square, a, a);
  EXPECT_FALSE(square.reduced());
  EXPECT_FALSE(square.prefix(1).reduced());
  EXPECT_THROW(mul(out, square, a), ParameterError);
  EXPECT_THROW(mul(out, a, square), ParameterError);
  EXPECT_THROW(mul_add(out, square, a), ParameterError);
  add(out, square, a);
  EXPECT_FALSE(out.reduced());
  EXPECT_THROW(mul(out, out, a), ParameterError);
  sub(out, a, square);
  EXPECT_FALSE(out.reduced());
  neg(out, square);
  EXPECT_FALSE(out.reduced());
  const auto reduced = to_eval(to_coeff(square));
  mul(out, reduced, a);
  EXPECT_TRUE(equal(to_coeff(out), lifted(product(product(small, small, modulus), small, modulus), basis)));
  add(out, reduced, a);
  EXPECT_TRUE(out.reduced());

  auto x = random_poly<Eval>(primes_of<TypeParam>(Ring::negacyclic(4)), 1);
  for (int i = 0; i < 3; ++i) mul(x, x, x);
  EXPECT_TRUE(x.reduced());
}

TEST(CyclotomicRing, GroupAndSizes) {
  const Ring ring = Ring::cyclotomic(15);
  EXPECT_EQ(ring.degree(), 8U);
  EXPECT_EQ(ring.transform_length(), 16U);
  EXPECT_EQ(ring.index(), 15U);
  EXPECT_EQ(ring.prime_step(), 16U);
  EXPECT_EQ(ring.compose(7, 11), 77U % 15);
  EXPECT_EQ(ring.power(7, 3), 7U * 7 * 7 % 15);
  EXPECT_EQ(ring.power(7, 0), 1U);
  EXPECT_EQ(ring.name(), "Z[X]/Phi_15");
  EXPECT_EQ(Ring::negacyclic(4).name(), "Z[X]/(X^16 + 1)");
  const Ring negacyclic = Ring::negacyclic(4);
  for (u64 g = 1; g < 32; g += 2) EXPECT_EQ(g * negacyclic.inverse(g) % 32, 1U);
  EXPECT_FALSE(negacyclic.is_galois_element(0));
  EXPECT_FALSE(negacyclic.is_galois_element(6));
  EXPECT_FALSE(negacyclic.is_galois_element(33));
  EXPECT_FALSE(ring.is_galois_element(0));
  EXPECT_EQ(Ring::cyclotomic(65535).transform_length(), 65536U);
  EXPECT_EQ(Ring::cyclotomic(65537).transform_length(), u64{1} << 17);
  for (const u64 m : {u64{0}, u64{1}, u64{2}, u64{16}, u64{14}, u64{65539}, 3 * u64{65537}, ~u64{0}})
    EXPECT_THROW(Ring::cyclotomic(m), ParameterError) << m;
  EXPECT_THROW(ring.eval_index(7), ParameterError);
  EXPECT_THROW(Prime::get(primes_below(20, 1, 16)[0] - 2, ring), ParameterError);
}

TEST(CyclotomicRing, EqualDegreesStayApart) {
  // Degrees 16 and 2^15; the primes suit both kinds.
  for (const auto& [cyclotomic, negacyclic] : {std::pair(Ring::cyclotomic(17), Ring::negacyclic(4)),
                                               std::pair(Ring::cyclotomic(65535), Ring::negacyclic(15))}) {
    ASSERT_EQ(cyclotomic.degree(), negacyclic.degree());
    EXPECT_NE(cyclotomic, negacyclic);
    const u64 q = primes_below(50, 1, u64{1} << 18)[0];
    const auto a = Prime::get(q, cyclotomic), b = Prime::get(q, negacyclic);
    EXPECT_NE(a, b);
    EXPECT_EQ(a->table().n, cyclotomic.transform_length());
    EXPECT_EQ(b->table().n, negacyclic.degree());
    EXPECT_EQ(a->table().w[1], 1U);
    EXPECT_NE(b->table().w[1], 1U);
    EXPECT_EQ(a, Prime::get(q, cyclotomic));
    const Basis over_a(cyclotomic, {{q}}), over_b(negacyclic, {{q}});
    EXPECT_FALSE(over_a == over_b);
    EXPECT_THROW(over_a.join(over_b), MismatchError);
    auto x = random_poly<Coeff>(over_a, 1), y = random_poly<Coeff>(over_b, 1);
    EXPECT_THROW(add(x, x, y), MismatchError);

    // X * X^(m-1) is 1 modulo Phi_m, and X * X^(N-1) is -1 modulo X^N + 1.
    const std::size_t n = cyclotomic.degree();
    for (const Basis& basis : {over_a, over_b}) {
      Poly<Coeff> monomial(basis);
      monomial.zero();
      monomial.limb(0)[1] = 1;
      Poly<Coeff> other(basis);
      if (basis == over_a) {
        other = automorphism(monomial, cyclotomic.index() - 1);
      } else {
        other.zero();
        other.limb(0)[n - 1] = 1;
      }
      auto e = to_eval(monomial);
      mul(e, e, to_eval(other));
      const auto one = to_coeff(e);
      EXPECT_EQ(one.limb(0)[0], basis == over_a ? 1 : q - 1);
      EXPECT_TRUE(std::all_of(one.limb(0) + 1, one.limb(0) + n, [](u64 w) { return w == 0; }));
    }
    const auto z = random_poly<Coeff>(over_a, 3);
    EXPECT_TRUE(equal(to_coeff(to_eval(z)), z));
    EXPECT_TRUE(equal(automorphism(automorphism(z, 2), cyclotomic.inverse(2)), z));
  }
}

TEST(CyclotomicRing, ThreadsThatAskAtOnceShareTables) {
  const std::vector<Ring> rings{Ring::cyclotomic(257), Ring::negacyclic(8), Ring::cyclotomic(255), Ring::negacyclic(7)};
  const u64 q = primes_below(31, 1, u64{1} << 12)[0];
  std::vector<std::vector<std::shared_ptr<const Prime>>> wide(8);
  std::vector<std::vector<std::shared_ptr<const PrimeOf<u32>>>> narrow(8);
  std::vector<std::vector<std::vector<u32>>> indices(8);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < 8; ++t)
      threads.emplace_back([&, t] {
        for (const Ring& ring : rings) {
          wide[t].push_back(Prime::get(q, ring));
          narrow[t].push_back(PrimeOf<u32>::get(q, ring));
          if (ring.permutes()) indices[t].push_back(*ring.eval_index(5));
        }
      });
  }
  for (std::size_t t = 1; t < 8; ++t) {
    EXPECT_EQ(wide[t], wide[0]);
    EXPECT_EQ(narrow[t], narrow[0]);
    EXPECT_EQ(indices[t], indices[0]);
  }
  for (std::size_t r = 0; r < rings.size(); ++r) EXPECT_EQ(wide[0][r]->table().n, rings[r].transform_length());
  // One transform, used by all at once.
  const Basis basis(rings[2], {{q}});
  const auto x = random_poly<Coeff>(basis, 1);
  const auto once = automorphism(to_eval(x), 2);
  std::vector<int> same(8);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < 8; ++t)
      threads.emplace_back([&, t] { same[t] = equal(automorphism(to_eval(x), 2), once) ? 1 : 0; });
  }
  EXPECT_EQ(std::accumulate(same.begin(), same.end(), 0), 8);
}

// The tables of cyclic transforms obey the contract that kernels rely on.
TEST(CyclotomicRing, EveryKernelSetTakesItsTables) {
  for (const u64 m : {u64{15}, u64{105}, u64{1021}, u64{65535}}) {
    const Ring ring = Ring::cyclotomic(m);
    for (const unsigned bits : {31U, 50U, 54U, 61U}) {
      const Basis basis(ring, primes_below(bits, 1, ring.prime_step()));
      const auto& t = basis[0].table();
      const auto x = random_poly<Eval>(basis, 1);
      Poly<Eval> a(basis), b(basis);
      for (const auto* set : kernels::available()) {
        kernels::find("ref")->ntt_forward(a.limb(0), x.limb(0), t);
        set->ntt_forward(b.limb(0), x.limb(0), t);
        EXPECT_TRUE(equal(a, b)) << set->name << " " << m << " " << bits;
        kernels::find("ref")->ntt_forward_lift(a.limb(0), x.limb(0), t.mod.q, t);
        set->ntt_forward_lift(b.limb(0), x.limb(0), t.mod.q, t);
        EXPECT_TRUE(equal(a, b)) << set->name << " " << m << " " << bits;
        kernels::find("ref")->ntt_inverse(a.limb(0), x.limb(0), t);
        set->ntt_inverse(b.limb(0), x.limb(0), t);
        EXPECT_TRUE(equal(a, b)) << set->name << " " << m << " " << bits;
        set->ntt_forward(b.limb(0), b.limb(0), t);
        EXPECT_TRUE(equal(b, x)) << set->name << " " << m << " " << bits;
      }
    }
  }
}

}  // namespace
}  // namespace ringforge::test
