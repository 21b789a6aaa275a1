// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Padded rings: reduction modulo Phi_m against long division and against values at roots of unity, Barrett reduction,
// products, inverses, and exact integers behind residues.
#include <numeric>

#include "ref/arith.hpp"
#include "ring/cyclotomic.hpp"
#include "ringforge/barrett.hpp"
#include "ringforge/exact_crt.hpp"
#include "ringforge/invert.hpp"
#include "support.hpp"

namespace ringforge::test {
namespace {

using i128 = __int128;

/// Phi_m in integers: X^m - 1 divided by Phi_d for the divisors d < m.
std::vector<i64> phi(u64 m) {
  std::vector<i64> a(m + 1);
  a[m] = 1;
  a[0] = -1;
  for (u64 d = 1; d < m; ++d) {
    if (m % d != 0) continue;
    const auto b = phi(d);
    std::vector<i64> quotient(a.size() - b.size() + 1);
    for (std::size_t k = quotient.size(); k-- > 0;) {
      quotient[k] = a[k + b.size() - 1];
      for (std::size_t i = 0; i < b.size(); ++i) a[k + i] -= quotient[k] * b[i];
    }
    a = quotient;
  }
  return a;
}

template <class Word>
class CyclotomicSteps : public ::testing::Test {};
using WordTypes = ::testing::Types<u32, u64>;
TYPED_TEST_SUITE(CyclotomicSteps, WordTypes);

TYPED_TEST(CyclotomicSteps, RemaindersOfEveryLength) {
  const u64 q = primes_below(PrimeOf<TypeParam>::kMaxBits, 1, 2)[0];
  const auto mod = kernels::make_modulus(q);
  for (const u64 m : {3, 5, 9, 15, 17, 21, 27, 45, 49, 75, 105, 165, 255, 315, 385, 771}) {
    const auto divisor = phi(m);
    const std::size_t degree = divisor.size() - 1;
    const CyclotomicReduction reduction(m);
    for (const std::size_t length : {degree + 1, 2 * degree - 1, 2 * degree, std::size_t{m} - 1, std::size_t{m},
                                     std::size_t{m} + 1, 2 * std::size_t{m} + 3, 4 * std::size_t{m}}) {
      if (length <= degree) continue;
      std::mt19937_64 rng(m + length);
      std::vector<TypeParam> a(length), dst(degree), room(reduction.room_words() + 1, 9);
      for (auto& x : a) x = static_cast<TypeParam>(rng() % q);
      a[length - 1] = static_cast<TypeParam>(q - 1);
      std::vector<i128> expected(a.begin(), a.end());
      for (std::size_t k = length; k-- > degree;)
        for (std::size_t i = 0, top = k - degree; i <= degree; ++i) {
          if (i == degree) break;
          expected[top + i] = (expected[top + i] - expected[k] * divisor[i]) % static_cast<i128>(q);
        }
      auto in_place = a;
      reduction.reduce(dst.data(), a.data(), length, room.data(), mod);
      reduction.reduce(in_place.data(), in_place.data(), length, room.data(), mod);
      EXPECT_EQ(room.back(), 9U);
      for (std::size_t i = 0; i < degree; ++i) {
        const auto r = static_cast<u64>((expected[i] + static_cast<i128>(q)) % static_cast<i128>(q));
        ASSERT_EQ(dst[i], r) << m << " " << length;
        ASSERT_EQ(in_place[i], r) << m << " " << length;
      }
    }
  }
}

TYPED_TEST(CyclotomicSteps, ModuloTheWord) {
  const auto divisor = phi(45);
  const CyclotomicReduction reduction(45);
  std::mt19937_64 rng(1);
  std::vector<TypeParam> a(64), room(reduction.room_words());
  for (auto& x : a) x = static_cast<TypeParam>(rng());
  auto expected = a;
  for (std::size_t k = a.size(); k-- > 24;)
    for (std::size_t i = 0; i < 24; ++i) expected[k - 24 + i] -= expected[k] * static_cast<TypeParam>(divisor[i]);
  reduction.reduce(a.data(), a.data(), a.size(), room.data(), kernels::Modulus{});
  for (std::size_t i = 0; i < 24; ++i) ASSERT_EQ(a[i], expected[i]);
}

// At roots of Phi_m a polynomial and its remainder have the same values; the prime here is 1 mod m.
TEST(CyclotomicSteps, RemaindersModulo65535HaveTheValuesOfThePolynomial) {
  constexpr u64 m = 65535;
  const auto mod = kernels::make_modulus(primes_below(31, 1, 2 * m)[0]);
  u64 zeta = 0;
  for (u64 x = 2; zeta == 0; ++x) {
    const u64 r = arith::pow(x, (mod.q - 1) / m, mod);
    bool primitive = true;
    for (const u64 p : {3, 5, 17, 257}) primitive = primitive && arith::pow(r, m / p, mod) != 1;
    if (primitive) zeta = r;
  }
  const auto value = [&mod](const std::vector<u32>& a, std::size_t n, u64 x) {
    u64 v = 0;
    for (std::size_t k = n; k-- > 0;) v = arith::add(arith::mul(v, x, mod), a[k], mod.q);
    return v;
  };
  const CyclotomicReduction reduction(m);
  std::mt19937_64 rng(1);
  std::vector<u32> a(65536), dst(32768), room(reduction.room_words());
  for (auto& x : a) x = static_cast<u32>(rng() % mod.q);
  auto work = a;
  reduction.reduce(dst.data(), work.data(), work.size(), room.data(), mod);
  for (const u64 k : {1, 2, 4, 1024, 32767, 65534, 40961}) {
    ASSERT_EQ(std::gcd(k, m), 1U);
    const u64 x = arith::pow(zeta, k, mod);
    EXPECT_EQ(value(dst, dst.size(), x), value(a, a.size(), x)) << k;
  }
  std::vector<u32> divisor(32769);
  reduction.series(divisor.data(), divisor.size(), false, mod);
  EXPECT_EQ(divisor[32768], 1U);
  EXPECT_EQ(value(divisor, divisor.size(), zeta), 0U);
}

template <class Word>
void barrett_is_the_same(u64 m, unsigned bits) {
  const Ring ring = Ring::cyclotomic(m);
  const auto prime = PrimeOf<Word>::get(primes_below(bits, 1, ring.prime_step())[0], ring);
  const BarrettReductionOf<Word> barrett(ring, prime);
  const CyclotomicReduction reduction(m);
  const std::size_t n = ring.degree();
  std::mt19937_64 rng(m);
  WordArray<Word> a(2 * n), room(ring.transform_length()), r(n);
  std::vector<Word> steps(reduction.room_words());
  for (std::size_t i = 0; i < 2 * n - 1; ++i) a.data()[i] = static_cast<Word>(rng() % prime->value());
  barrett.reduce(r.data(), a.data(), room.data());
  reduction.reduce(a.data(), a.data(), 2 * n - 1, steps.data(), prime->mod());
  EXPECT_TRUE(std::equal(r.data(), r.data() + n, a.data())) << m << " " << bits;
}

TEST(PaddedRing, BarrettReductionIsTheSame) {
  for (const u64 m : {15, 105, 255, 1021, 65535}) barrett_is_the_same<u32>(m, 31);
  for (const u64 m : {105, 255, 65535}) barrett_is_the_same<u64>(m, 50);
  const Ring small = Ring::cyclotomic(15);
  EXPECT_THROW(BarrettReductionOf<u64>(small, Prime::get(primes_below(50, 1, 64)[0], small)), ParameterError);
  const Ring negacyclic = Ring::negacyclic(5);
  EXPECT_THROW(BarrettReduction(negacyclic, PrimeOf<u32>::get(primes_below(31, 1, 64)[0], negacyclic)), ParameterError);
}

TEST(PaddedRing, ProductsInCoeffForm) {
  for (const Ring& ring : {Ring::cyclotomic(45), Ring::cyclotomic(65535), Ring::negacyclic(6)}) {
    const BasisOf<u32> basis(ring, primes_below(31, 3, ring.prime_step()));
    const auto a = random_poly<Coeff>(basis, 1), b = random_poly<Coeff>(basis, 2);
    auto c = to_eval(a);
    mul(c, c, to_eval(b));
    const auto expected = to_coeff(c);
    for (const unsigned threads : {1U, 3U}) EXPECT_TRUE(equal(multiply(a, b, threads), expected));
    auto square = to_eval(a);
    mul(square, square, square);
    EXPECT_TRUE(equal(multiply(a, a), to_coeff(square)));
    auto in_place = a;
    limb_product(in_place.limb(0), in_place.limb(0), b.limb(0), basis[0]);
    EXPECT_TRUE(std::equal(in_place.limb(0), in_place.limb(0) + a.degree(), expected.limb(0)));
    in_place = b;
    limb_product(in_place.limb(0), a.limb(0), in_place.limb(0), basis[0]);
    EXPECT_TRUE(std::equal(in_place.limb(0), in_place.limb(0) + a.degree(), expected.limb(0)));
    in_place = a;
    limb_product(in_place.limb(0), in_place.limb(0), in_place.limb(0), basis[0]);
    EXPECT_TRUE(std::equal(in_place.limb(0), in_place.limb(0) + a.degree(), multiply(a, a).limb(0)));
    EXPECT_THROW(multiply(a, b.prefix(2)), MismatchError);
  }
}

// ---- inverses -------------------------------------------------------------------------------------

template <class Word>
Poly<Coeff, Word> constant(const BasisOf<Word>& basis, Word c) {
  Poly<Coeff, Word> p(basis);
  p.zero();
  for (std::size_t i = 0; i < basis.size(); ++i) p.limb(i)[0] = c;
  return p;
}

template <class Word>
class Inverses : public ::testing::Test {};
TYPED_TEST_SUITE(Inverses, WordTypes);

TYPED_TEST(Inverses, GiveOne) {
  for (const Ring& ring : {Ring::cyclotomic(3), Ring::cyclotomic(9), Ring::cyclotomic(15), Ring::cyclotomic(21),
                           Ring::cyclotomic(45), Ring::cyclotomic(105), Ring::cyclotomic(255), Ring::negacyclic(4)}) {
    const BasisOf<TypeParam> basis(ring, primes_below(31, 4, ring.prime_step()));
    const auto a = random_poly<Coeff>(basis, 1);
    const auto inverse = invert(a);
    ASSERT_TRUE(inverse) << ring.name();
    EXPECT_TRUE(equal(multiply(a, *inverse), constant<TypeParam>(basis, 1))) << ring.name();
    EXPECT_TRUE(equal(*invert(a, 3), *inverse));
    EXPECT_TRUE(equal(*invert(*inverse), a));
  }
}

TYPED_TEST(Inverses, ZeroDivisorsHaveNone) {
  for (const u64 m : {15, 105, 255}) {
    const Ring ring = Ring::cyclotomic(m);
    // The prime has a cube root of unity w, so that X^(m/3) - w and its conjugate have the product 0 modulo Phi_m.
    const auto primes = primes_below(31, 2, 3 * ring.prime_step());
    const BasisOf<TypeParam> basis(ring, primes);
    auto a = random_poly<Coeff>(basis, 1);
    ASSERT_TRUE(invert(a));
    const auto& mod = basis[1].mod();
    u64 w = 1;
    for (u64 x = 2; w == 1; ++x) w = arith::pow(x, (mod.q - 1) / 3, mod);
    std::fill_n(a.limb(1), a.degree(), TypeParam{0});
    a.limb(1)[m / 3] = 1;
    a.limb(1)[0] = static_cast<TypeParam>(mod.q - w);
    EXPECT_FALSE(invert(a)) << m;
    EXPECT_FALSE(invert(multiply(a, random_poly<Coeff>(basis, 2)), 2)) << m;
    EXPECT_TRUE(invert(a.prefix(1)));
    a.zero();
    EXPECT_FALSE(invert(a));
  }
}

TEST(PaddedRing, InversesModulo65535) {
  const Ring ring = Ring::cyclotomic(65535);
  const BasisOf<u32> basis(ring, primes_below(31, 2, ring.prime_step()));
  const SmallPoly u = sample_error(ring.degree(), fixed_seed());
  Poly<Coeff, u32> f(basis);  // 2u + 1
  for (std::size_t l = 0; l < basis.size(); ++l)
    for (std::size_t i = 0; i < ring.degree(); ++i) {
      const i64 x = 2 * u.coeffs()[i] + (i == 0 ? 1 : 0);
      f.limb(l)[i] = static_cast<u32>(x < 0 ? x + static_cast<i64>(basis[l].value()) : x);
    }
  const auto inverse = invert(f, 2);
  ASSERT_TRUE(inverse);
  EXPECT_TRUE(equal(multiply(f, *inverse), constant<u32>(basis, 1)));
}

// ---- integers -------------------------------------------------------------------------------------

TEST(ExactCrt, IntegersResiduesAndWindows) {
  const Ring ring = Ring::cyclotomic(1021);  // 1020 coefficients: not whole blocks
  const std::size_t n = ring.degree();
  for (const std::size_t size : {1, 2, 3, 5, 41}) {
    const BasisOf<u32> basis(ring, primes_below(31, size, ring.prime_step()));
    const ExactCrt crt(basis);
    const std::size_t words = crt.words();
    std::vector<u64> q{1};
    for (std::size_t i = 0; i < size; ++i) {
      unsigned __int128 carry = 0;
      for (auto& w : q) {
        carry += static_cast<unsigned __int128>(w) * basis[i].value();
        w = static_cast<u64>(carry);
        carry >>= 64;
      }
      if (carry != 0) q.push_back(static_cast<u64>(carry));
    }
    ASSERT_EQ(words, q.size());
    EXPECT_EQ(crt.bits(), static_cast<std::size_t>(basis.log2()) + 1);
    // Below q: the top word below that of q, or next to 0, q/2 and q.
    std::mt19937_64 rng(size);
    std::vector<u64> planes(words * n), back(words * n);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < words; ++k) planes[k * n + i] = rng();
      planes[(words - 1) * n + i] %= std::max<u64>(q.back(), 1);
      if (i >= 6) continue;
      for (std::size_t k = 0; k < words; ++k)
        planes[k * n + i] = i < 2 ? 0 : i < 4 ? q[k] : (q[k] >> 1) | (k + 1 < words ? q[k + 1] << 63 : 0);
      if (i == 1 || i == 5) planes[i] += 1;
      if (i == 2) planes[i] -= 1;
      if (i == 3) planes[i] -= 2;
    }
    Poly<Coeff, u32> p(basis);
    crt.to_residues(p, planes.data(), 2);
    for (std::size_t l = 0; l < size; ++l)
      for (std::size_t i = 0; i < n; ++i) {
        u64 r = 0;
        for (std::size_t k = words; k-- > 0;)
          r = static_cast<u64>(((static_cast<unsigned __int128>(r) << 64) | planes[k * n + i]) % basis[l].value());
        ASSERT_EQ(p.limb(l)[i], r);
      }
    for (const unsigned threads : {1U, 3U}) {
      std::fill(back.begin(), back.end(), 5);
      crt.to_integers(back.data(), p, threads);
      EXPECT_EQ(back, planes) << size;
    }
    std::vector<u32> window(n);
    for (const unsigned r : {1U, 7U, 16U, 30U}) {
      EXPECT_EQ(crt.windows(r), (crt.bits() + r - 1) / r);
      for (std::size_t t = 0; t <= crt.windows(r) + 64; ++t) {
        crt.window(window.data(), planes.data(), r, t);
        for (std::size_t i = 0; i < n; i += 17) {
          u32 expected = 0;
          for (unsigned b = 0; b < r; ++b) {
            const std::size_t at = t * r + b;
            if (at < 64 * words) expected |= static_cast<u32>(planes[at / 64 * n + i] >> at % 64 & 1) << b;
          }
          ASSERT_EQ(window[i], expected);
        }
      }
    }
    EXPECT_THROW((void)crt.windows(0), ParameterError);
    EXPECT_THROW((void)crt.windows(31), ParameterError);
    if (size > 1) {
      EXPECT_THROW(crt.to_integers(back.data(), p.prefix(1)), MismatchError);
      auto less = p.prefix(1);
      EXPECT_THROW(crt.to_residues(less, planes.data()), MismatchError);
    }
  }
  EXPECT_THROW(ExactCrt(BasisOf<u32>()), ParameterError);
}

}  // namespace
}  // namespace ringforge::test
