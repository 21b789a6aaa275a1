// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Tensor rings against exact integers in the tensor basis itself (X^a * X^b = X^(a+b), exponents modulo m, those that
// are no units replaced by minus the others of their coset), against padded rings in the power basis, and against
// evaluation at the stated roots.
#include <array>
#include <numeric>
#include <thread>

#include "ref/arith.hpp"
#include "ringforge/tensor_basis.hpp"
#include "ringforge/tensor_tables.hpp"
#include "support.hpp"

namespace ringforge::test {
namespace {

using i128 = __int128;
using Integers = std::vector<i128>;

constexpr std::array<u64, 15> kIndices{3, 5, 15, 17, 51, 85, 255, 257, 771, 1285, 3855, 4369, 13107, 21845, 65535};

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

/// Coefficients of X^0 ... X^(m-1) to those of the units, one prime of m after the other.
Integers to_units(Integers x, u64 m, std::span<const u32> exponents) {
  for (const u64 p : {3, 5, 17, 257})
    if (m % p == 0)
      for (u64 a = 0; a < m; a += p) {
        for (u64 k = 1; k < p; ++k) x[(a + k * (m / p)) % m] -= x[a];
        x[a] = 0;
      }
  Integers r;
  for (const u32 e : exponents) r.push_back(x[e]);
  return r;
}

Integers product(const Integers& a, const Integers& b, u64 m, std::span<const u32> exponents) {
  Integers c(m);
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < b.size(); ++j) c[(exponents[i] + exponents[j]) % m] += a[i] * b[j];
  return to_units(c, m, exponents);
}

Integers image(const Integers& a, u64 g, u64 m, std::span<const u32> exponents) {
  Integers c(m);
  for (std::size_t i = 0; i < a.size(); ++i) c[exponents[i] * g % m] += a[i];
  return to_units(c, m, exponents);
}

/// Primes of several sizes for a ring, as words of the width take them.
template <class Word>
BasisOf<Word> primes_of(const Ring& ring) {
  std::vector<u64> primes;
  for (const unsigned bits : {31U, 49U, 50U, 54U, 61U})
    if (bits <= PrimeOf<Word>::kMaxBits) primes.push_back(primes_below(bits, 1, ring.prime_step())[0]);
  return BasisOf<Word>(ring, primes);
}

template <class Word>
class Tensor : public ::testing::Test {};
using WordTypes = ::testing::Types<u32, u64>;
TYPED_TEST_SUITE(Tensor, WordTypes);

TYPED_TEST(Tensor, ProductsAndSumsAreThoseOfIntegers) {
  for (const u64 m : kIndices) {
    const Ring ring = Ring::tensor(m);
    if (ring.degree() > 2048) continue;
    const auto basis = primes_of<TypeParam>(ring);
    const TensorBasis bases(ring);
    std::mt19937_64 rng(m);
    const Integers a = random_integers(ring.degree(), rng), b = random_integers(ring.degree(), rng);
    const auto pa = lifted(a, basis);
    const auto ea = to_eval(pa), eb = to_eval(lifted(b, basis));
    EXPECT_EQ(ea.length(), ring.degree());
    EXPECT_TRUE(equal(to_coeff(ea), pa)) << m;

    // ((a*b - a) + b*b) * a: nothing has to be reduced.
    const Integers ab = product(a, b, m, bases.exponents());
    Poly<Eval, TypeParam> c(basis);
    mul(c, ea, eb);
    EXPECT_TRUE(c.reduced());
    EXPECT_TRUE(equal(to_coeff(c), lifted(ab, basis))) << m;
    Integers sum = product(b, b, m, bases.exponents());
    mul_add(c, eb, eb);
    sub(c, c, ea);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += ab[i] - a[i];
    EXPECT_TRUE(equal(to_coeff(c), lifted(sum, basis))) << m;
    if (m > 255) continue;
    const auto before = to_coeff(c);
    mul(c, c, ea);
    for (std::size_t l = 0; l < basis.size(); ++l) {
      const Integers residues(before.limb(l), before.limb(l) + ring.degree());
      Integers small(ring.degree());
      const auto q = static_cast<i128>(basis[l].value());
      // Term by term, as products of three do not fit.
      Integers exact(ring.degree());
      for (std::size_t i = 0; i < a.size(); ++i) {
        Integers one(ring.degree());
        one[i] = 1;
        const auto shifted = product(one, residues, m, bases.exponents());
        for (std::size_t k = 0; k < exact.size(); ++k) exact[k] = (exact[k] + shifted[k] % q * (a[i] % q)) % q;
      }
      for (std::size_t k = 0; k < exact.size(); ++k)
        ASSERT_EQ(to_coeff(c).limb(l)[k], static_cast<TypeParam>((exact[k] + q) % q)) << m;
    }
  }
}

TYPED_TEST(Tensor, AutomorphismsOfAllUnits) {
  for (const u64 m : {u64{3}, u64{15}, u64{51}, u64{255}}) {
    const Ring ring = Ring::tensor(m);
    const auto basis = primes_of<TypeParam>(ring);
    const TensorBasis bases(ring);
    std::mt19937_64 rng(m);
    const Integers a = random_integers(ring.degree(), rng);
    const auto pa = lifted(a, basis);
    const auto ea = to_eval(pa);
    EXPECT_EQ(ring.permutes(), m == 255);
    std::size_t units = 0;
    for (u64 g = 0; g <= m; ++g) {
      if (!ring.is_galois_element(g)) {
        EXPECT_THROW(automorphism(pa, g), ParameterError);
        EXPECT_THROW(automorphism(ea, g), ParameterError);
        EXPECT_THROW((void)ring.eval_index(g), ParameterError);
        continue;
      }
      ++units;
      const auto expected = lifted(image(a, g, m, bases.exponents()), basis);
      EXPECT_TRUE(equal(automorphism(pa, g), expected)) << g << " modulo " << m;
      EXPECT_TRUE(equal(automorphism(ea, g), to_eval(expected))) << g << " modulo " << m;
      if (!ring.permutes()) {
        EXPECT_THROW((void)ring.eval_index(g), ParameterError);
        continue;
      }
      // The same permutation of both forms, of whole blocks.
      const auto index = ring.eval_index(g);
      for (std::size_t i = 0; i < ring.degree(); ++i) {
        ASSERT_EQ(expected.limb(0)[i], pa.limb(0)[(*index)[i]]);
        ASSERT_EQ((*index)[i] / 8, (*index)[i / 8 * 8] / 8);
      }
    }
    EXPECT_EQ(units, ring.degree());
  }
}

// The order contract: word v is the value at psi^b with b = g^-v modulo each prime, psi the product of the smallest
// primitive p-th roots.
TYPED_TEST(Tensor, SlotsAreValuesAtTheStatedRoots) {
  for (const u64 m : {u64{15}, u64{255}, u64{4369}}) {
    const Ring ring = Ring::tensor(m);
    const auto basis = primes_of<TypeParam>(ring);
    const TensorBasis bases(ring);
    const auto c = random_poly<Coeff>(basis, 1);
    const auto e = to_eval(c);
    for (std::size_t l = 0; l < basis.size(); ++l) {
      const auto& mod = basis[l].mod();
      for (const u64 p : {3, 5, 17, 257})
        if (m % p == 0) {
          // psi^(m/p) to the inverse of m/p: the factor of order p.
          u64 k = 1;
          while (k * (m / p) % p != 1) ++k;
          const u64 root = arith::pow(basis[l].psi(), m / p * k, mod);
          ASSERT_NE(root, 1U);
          for (u64 j = 1; j < p; ++j) ASSERT_LE(root, arith::pow(root, j, mod));
        }
      for (std::size_t i = 0; i < ring.degree(); i += 1 + ring.degree() / 40) {
        const u64 x = arith::pow(basis[l].psi(), ring.inverse(bases.exponents()[i]), mod);
        u64 v = 0;
        for (std::size_t k = 0; k < ring.degree(); ++k)
          v = arith::add(v, arith::mul(c.limb(l)[k], arith::pow(x, bases.exponents()[k], mod), mod), mod.q);
        ASSERT_EQ(e.limb(l)[i], v) << i << " modulo " << m;
      }
    }
  }
}

// Conversions are linear and inverse to each other; the products are those of the padded ring.
TYPED_TEST(Tensor, ProductsAreThoseOfThePaddedRing) {
  for (const u64 m : kIndices) {
    const Ring tensor = Ring::tensor(m), padded = Ring::cyclotomic(m);
    const u64 step = std::lcm(tensor.prime_step(), padded.prime_step());
    std::vector<u64> primes;
    for (const unsigned bits : {31U, 49U, 50U, 54U, 60U})
      if (bits <= PrimeOf<TypeParam>::kMaxBits && step >> (bits - 8) == 0)
        primes.push_back(primes_below(bits, 1, step)[0]);
    if (primes.empty()) continue;
    const BasisOf<TypeParam> over_tensor(tensor, primes), over_padded(padded, primes);
    const TensorBasis bases(tensor);
    const auto x = random_poly<Coeff>(over_padded, 1), y = random_poly<Coeff>(over_padded, 2);
    const auto convert = [&](const Poly<Coeff, TypeParam>& p) {
      Poly<Coeff, TypeParam> r(over_tensor);
      for (std::size_t l = 0; l < primes.size(); ++l)
        bases.from_power_basis(r.limb(l), p.limb(l), static_cast<TypeParam>(primes[l]));
      return r;
    };
    const auto back = [&](const Poly<Coeff, TypeParam>& p) {
      Poly<Coeff, TypeParam> r(over_padded);
      for (std::size_t l = 0; l < primes.size(); ++l)
        bases.to_power_basis(r.limb(l), p.limb(l), static_cast<TypeParam>(primes[l]));
      return r;
    };
    EXPECT_TRUE(equal(back(convert(x)), x)) << m;
    Poly<Eval, TypeParam> a(over_padded), b(over_tensor);
    mul(a, to_eval(x), to_eval(y));
    mul(b, to_eval(convert(x)), to_eval(convert(y)));
    EXPECT_TRUE(equal(to_coeff(a), back(to_coeff(b)))) << m;
    for (const u64 g : {u64{2}, m - 1})
      EXPECT_TRUE(equal(back(automorphism(convert(x), g)), automorphism(x, g))) << m << " " << g;
  }
}

TYPED_TEST(Tensor, LiftsAndSamples) {
  for (const u64 m : {15, 51, 255, 3855, 65535}) {
    const Ring ring = Ring::tensor(m);
    const auto basis = primes_of<TypeParam>(ring);
    const SmallPoly s = sample_error(ring.degree(), fixed_seed());
    const Integers a(s.coeffs().begin(), s.coeffs().end());
    EXPECT_TRUE(equal(s.lift(basis), to_eval(lifted(a, basis))));
    const auto c = to_coeff(sample_uniform(basis, fixed_seed(), StreamObject::mask, 1, 2));
    for (std::size_t from = 0; from < basis.size(); ++from) {
      const u64 q = basis[from].value();
      Poly<Eval, TypeParam> l(basis);
      for (std::size_t i = 0; i < basis.size(); ++i) ntt_lift(l.limb(i), c.limb(from), basis[from], basis[i]);
      Integers centred(c.limb(from), c.limb(from) + ring.degree());
      for (auto& x : centred) x -= x > static_cast<i128>(q / 2) ? q : 0;
      EXPECT_TRUE(equal(l, to_eval(lifted(centred, basis)))) << m << " " << q;
    }
  }
}

TEST(TensorBasis, IntegersOfBothBases) {
  const Ring ring = Ring::tensor(255);
  const TensorBasis bases(ring);
  std::vector<i64> power(ring.degree());
  for (std::size_t j = 0; j < ring.degree(); ++j) {
    std::fill(power.begin(), power.end(), 0);
    power[j] = -7;
    Integers x(255);
    x[j] = -7;
    const auto units = bases.from_power_basis(power);
    const Integers expected = to_units(x, 255, bases.exponents());
    for (std::size_t i = 0; i < ring.degree(); ++i) ASSERT_EQ(units[i], expected[i]) << j;
    ASSERT_EQ(bases.to_power_basis(units), power) << j;
  }
  std::mt19937_64 rng(1);
  const TensorBasis large(Ring::tensor(65535));
  std::vector<i64> a(32768);
  for (auto& x : a) x = static_cast<i64>(rng()) >> 30;
  EXPECT_EQ(large.to_power_basis(large.from_power_basis(a)), a);
  EXPECT_THROW((void)large.to_power_basis(std::span(a).first(8)), MismatchError);
  EXPECT_THROW(TensorBasis(Ring::cyclotomic(15)), ParameterError);
  EXPECT_THROW(TensorBasis(Ring::negacyclic(4)), ParameterError);
}

TEST(TensorRing, GroupAndSizes) {
  for (const u64 m : kIndices) {
    const Ring ring = Ring::tensor(m);
    EXPECT_EQ(ring.degree(), Ring::cyclotomic(m).degree());
    EXPECT_EQ(ring.transform_length(), ring.degree());
    EXPECT_NE(ring, Ring::cyclotomic(m));
    const auto units = TensorBasis(ring);
    std::vector<u32> seen(units.exponents().begin(), units.exponents().end());
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end());
    EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [&](u32 e) { return ring.is_galois_element(e); }));
  }
  const Ring ring = Ring::tensor(65535);
  EXPECT_EQ(ring.prime_step(), u64{65535} * 256);
  EXPECT_EQ(ring.name(), "Z[X]/Phi_65535 (tensor basis)");
  EXPECT_EQ(primes_below(31, 1, ring.prime_step())[0] % 65535, 1U);
  for (const u64 m : {u64{0}, u64{1}, u64{2}, u64{7}, u64{9}, u64{30}, u64{75}, u64{65536}, 3 * u64{65537}, ~u64{0}})
    EXPECT_THROW(Ring::tensor(m), ParameterError) << m;
  EXPECT_THROW(Prime::get(primes_below(50, 1, u64{1} << 18)[0], ring), ParameterError);
  const Basis a(Ring::tensor(15), primes_below(50, 1, 960)), b(Ring::cyclotomic(15), a.values());
  auto x = random_poly<Coeff>(a, 1), y = random_poly<Coeff>(b, 1);
  EXPECT_THROW(add(x, x, y), MismatchError);
}

TEST(TensorRing, EveryKernelSetGivesTheSameBits) {
  for (const u64 m : {15, 255, 3855, 4369, 65535}) {
    const Ring ring = Ring::tensor(m);
    for (const unsigned bits : {31U, 48U, 49U, 50U, 51U, 60U}) {
      const u64 q = primes_below(bits, 1, ring.prime_step())[0], p = primes_below(bits + 1, 1, 2)[0];
      const TensorTables tables(ring, kernels::make_modulus(q));
      const auto& t = tables.table();
      const std::size_t n = ring.degree();
      // Words as large as they may be, beside random ones.
      for (const u64 fill : {u64{0}, u64{1}, q - 1, 4 * q - 1}) {
        std::mt19937_64 rng(m);
        WordBuffer x(n), y(n), z(n);
        for (std::size_t i = 0; i < n; ++i) x.data()[i] = fill == 0 ? rng() % (4 * q) : fill;
        for (const auto* factors : {&t.forward, &t.inverse})
          for (const auto* set : kernels::available()) {
            kernels::tensor_find<u64>("ref")->convolve(y.data(), x.data(), t, *factors);
            const auto& k = *kernels::tensor_find<u64>(set->name);
            k.convolve(z.data(), x.data(), t, *factors);
            EXPECT_TRUE(std::equal(y.data(), y.data() + n, z.data())) << set->name << " " << m << " " << bits;
            std::copy_n(x.data(), n, z.data());
            k.convolve(z.data(), z.data(), t, *factors);
            EXPECT_TRUE(std::equal(y.data(), y.data() + n, z.data())) << "in place, " << set->name << " " << m;
          }
        // There and back.
        kernels::tensor_active<u64>().convolve(y.data(), x.data(), t, t.forward);
        kernels::tensor_active<u64>().convolve(y.data(), y.data(), t, t.inverse);
        for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(y.data()[i], x.data()[i] % q) << m << " " << bits;
      }
      // Lifts of residues modulo primes that are smaller, larger, and so large that they exceed 2q.
      for (const u64 from : {u64{65537}, p, u64{(u64{1} << 61) - 1}}) {
        std::mt19937_64 rng(m);
        WordBuffer x(n), y(n), z(n);
        for (std::size_t i = 0; i < n; ++i) x.data()[i] = i < 3 ? from / 2 - 1 + i : rng() % from;
        kernels::tensor_find<u64>("ref")->convolve_lift(y.data(), x.data(), from, t, t.forward);
        for (const auto* set : kernels::available()) {
          kernels::tensor_find<u64>(set->name)->convolve_lift(z.data(), x.data(), from, t, t.forward);
          EXPECT_TRUE(std::equal(y.data(), y.data() + n, z.data())) << set->name << " " << m << " " << from;
        }
      }
    }
  }
  EXPECT_EQ(kernels::tensor_find<u64>("none"), nullptr);
}

TEST(TensorRing, ThreadsThatAskAtOnceShareTables) {
  const Ring ring = Ring::tensor(3855);
  const u64 q = primes_below(50, 1, ring.prime_step())[0];
  std::vector<std::shared_ptr<const Prime>> primes(8);
  std::vector<std::shared_ptr<const std::vector<u32>>> indices(8);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < 8; ++t)
      threads.emplace_back([&, t] {
        primes[t] = Prime::get(q, ring);
        indices[t] = ring.eval_index(7);
      });
  }
  for (std::size_t t = 1; t < 8; ++t) {
    EXPECT_EQ(primes[t], primes[0]);
    EXPECT_EQ(*indices[t], *indices[0]);
  }
  const Basis basis(ring, {{q}});
  const auto x = random_poly<Coeff>(basis, 1);
  const auto once = to_eval(x);
  std::vector<int> same(8);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < 8; ++t) threads.emplace_back([&, t] { same[t] = equal(to_eval(x), once) ? 1 : 0; });
  }
  EXPECT_EQ(std::accumulate(same.begin(), same.end(), 0), 8);
}

}  // namespace
}  // namespace ringforge::test
