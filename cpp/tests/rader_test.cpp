// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The tensor ring of index 65537 against evaluation at the stated roots, exact integers in the tensor basis (X^a * X^b
// = X^(a+b), X^0 replaced by minus all others) and the padded ring.
#include <numeric>
#include <thread>

#include "ref/arith.hpp"
#include "ringforge/rader_tables.hpp"
#include "ringforge/tensor_basis.hpp"
#include "support.hpp"

namespace ringforge::test {
namespace {

constexpr u64 kIndex = 65537;
constexpr std::size_t kDegree = 65536;

Basis primes_of(std::initializer_list<unsigned> sizes, u64 step = kIndex * kDegree) {
  std::vector<u64> primes;
  for (const unsigned bits : sizes) primes.push_back(primes_below(bits, 1, step)[0]);
  return {Ring::tensor(kIndex), primes};
}

/// Coefficients of X^0 ... X^65536, as residues modulo q, to those of the units in the order of words.
std::vector<u64> to_units(const std::vector<u64>& x, std::span<const u32> exponents, u64 q) {
  std::vector<u64> r;
  for (const u32 e : exponents) r.push_back(arith::sub(x[e], x[0], q));
  return r;
}

TEST(LongTensorRing, GroupAndSizes) {
  const Ring ring = Ring::tensor(kIndex);
  EXPECT_EQ(ring.degree(), kDegree);
  EXPECT_EQ(ring.transform_length(), kDegree);
  EXPECT_EQ(ring.prime_step(), kIndex * kDegree);
  EXPECT_EQ(ring.product_variance(), 2.0 * kIndex - 3);
  EXPECT_EQ(ring.name(), "Z[X]/Phi_65537 (tensor basis)");
  EXPECT_TRUE(ring.permutes());
  const TensorBasis bases(ring);
  // Word 8*low + high is the power of 3 with exponent low + 8192*high.
  for (const u64 u : {u64{0}, u64{1}, u64{8191}, u64{8192}, u64{40000}, u64{65535}})
    EXPECT_EQ(bases.exponents()[8 * (u % 8192) + u / 8192], ring.power(3, u)) << u;
  std::vector<u32> seen(bases.exponents().begin(), bases.exponents().end());
  std::sort(seen.begin(), seen.end());
  for (std::size_t i = 0; i < kDegree; ++i) ASSERT_EQ(seen[i], i + 1);
  EXPECT_THROW(Ring::tensor(3 * kIndex), ParameterError);
  EXPECT_THROW(Ring::tensor(kIndex * kIndex), ParameterError);
  EXPECT_THROW(Prime::get(primes_below(50, 1, u64{65535} * 256)[0], ring), ParameterError);
  EXPECT_THROW(PrimeOf<u32>::get(primes_below(31, 1, u64{1} << 16)[0], ring), ParameterError);
}

TEST(LongTensorRing, EvalFormIsValuesAtTheStatedRoots) {
  const Basis basis = primes_of({37, 50, 61});
  const TensorBasis bases(basis.ring());
  const auto c = random_poly<Coeff>(basis, 1);
  const auto e = to_eval(c);
  for (std::size_t l = 0; l < basis.size(); ++l) {
    const auto& mod = basis[l].mod();
    const u64 psi = basis[l].psi();
    EXPECT_EQ(arith::pow(psi, kIndex, mod), 1U);
    EXPECT_NE(psi, 1U);
    u64 least = psi, power = psi;
    for (u64 k = 1; k < kIndex; ++k, power = arith::mul(power, psi, mod)) least = std::min(least, power);
    EXPECT_EQ(psi, least);
    std::vector<u64> powers(kIndex);
    for (std::size_t i = 0; i < kDegree; ++i) powers[bases.exponents()[i]] = c.limb(l)[i];
    for (const std::size_t i :
         {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{8}, std::size_t{32768 + 3}, std::size_t{65535}}) {
      const u64 x = arith::pow(psi, basis.ring().inverse(bases.exponents()[i]), mod);
      u64 v = 0;
      for (std::size_t k = kIndex; k-- > 0;) v = arith::add(arith::mul(v, x, mod), powers[k], mod.q);
      EXPECT_EQ(e.limb(l)[i], v) << i;
    }
  }
  EXPECT_TRUE(equal(to_coeff(e), c));
}

// A few terms times many, term by term.
TEST(LongTensorRing, ProductsAreExact) {
  const Basis basis = primes_of({49, 54});
  const TensorBasis bases(basis.ring());
  std::mt19937_64 rng(2);
  const auto b = random_poly<Coeff>(basis, 3);
  for (std::size_t l = 0; l < basis.size(); ++l) {
    const auto& mod = basis[l].mod();
    Poly<Coeff> a(basis);
    a.zero();
    std::vector<u64> sums(kIndex);
    for (int term = 0; term < 12; ++term) {
      const std::size_t i = term == 0 ? 0 : rng() % kDegree;
      const u64 value = term == 1 ? mod.q - 1 : rng() % mod.q;
      a.limb(l)[i] = arith::add(a.limb(l)[i], value, mod.q);
      for (std::size_t k = 0; k < kDegree; ++k) {
        u64& at = sums[(bases.exponents()[i] + bases.exponents()[k]) % kIndex];
        at = arith::add(at, arith::mul(value, b.limb(l)[k], mod), mod.q);
      }
    }
    const auto expected = to_units(sums, bases.exponents(), mod.q);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), multiply(a, b).limb(l)));
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), multiply(b, a, 2).limb(l)));
  }
  EXPECT_TRUE(equal(multiply(b, b), multiply(b, Poly<Coeff>(b))));
}

TEST(LongTensorRing, ProductsAndAutomorphismsAreThoseOfThePaddedRing) {
  const Ring padded = Ring::cyclotomic(kIndex);
  const Basis basis = primes_of({50}, kIndex * (2 * kDegree)), over_padded(padded, basis.values());
  const TensorBasis bases(basis.ring());
  const auto x = random_poly<Coeff>(over_padded, 1), y = random_poly<Coeff>(over_padded, 2);
  const u64 q = basis[0].value();
  const auto convert = [&](const Poly<Coeff>& p) {
    Poly<Coeff> r(basis);
    bases.from_power_basis(r.limb(0), p.limb(0), q);
    return r;
  };
  const auto back = [&](const Poly<Coeff>& p) {
    Poly<Coeff> r(over_padded);
    bases.to_power_basis(r.limb(0), p.limb(0), q);
    return r;
  };
  EXPECT_TRUE(equal(back(convert(x)), x));
  EXPECT_TRUE(equal(back(multiply(convert(x), convert(y))), multiply(x, y)));
  const auto c = convert(x);
  const auto e = to_eval(c);
  for (const u64 g : {u64{1}, u64{2}, u64{3}, u64{12345}, kIndex - 1}) {
    const auto image = automorphism(c, g);
    EXPECT_TRUE(equal(back(image), automorphism(x, g))) << g;
    EXPECT_TRUE(equal(automorphism(e, g), to_eval(image))) << g;
    const auto index = basis.ring().eval_index(g);
    for (std::size_t i = 0; i < kDegree; ++i) {
      ASSERT_EQ(image.limb(0)[i], c.limb(0)[(*index)[i]]);
      ASSERT_EQ((*index)[i] / 8, (*index)[i / 8 * 8] / 8);
    }
  }
  EXPECT_THROW(automorphism(c, 0), ParameterError);
  EXPECT_THROW(automorphism(e, kIndex), ParameterError);
}

TEST(LongTensorRing, LiftsAndSamples) {
  const Basis basis = primes_of({48, 50, 54});
  const SmallPoly s = sample_error(kDegree, fixed_seed());
  Poly<Coeff> small(basis);
  for (std::size_t l = 0; l < basis.size(); ++l)
    for (std::size_t i = 0; i < kDegree; ++i) {
      const i64 x = s.coeffs()[i];
      small.limb(l)[i] = x < 0 ? basis[l].value() - static_cast<u64>(-x) : static_cast<u64>(x);
    }
  EXPECT_TRUE(equal(s.lift(basis), to_eval(small)));
  const auto c = to_coeff(sample_uniform(basis, fixed_seed(), StreamObject::mask, 1, 2));
  for (std::size_t from = 0; from < basis.size(); ++from) {
    const u64 p = basis[from].value();
    Poly<Eval> lifted(basis);
    Poly<Coeff> centred(basis);
    for (std::size_t l = 0; l < basis.size(); ++l) {
      const auto& mod = basis[l].mod();
      ntt_lift(lifted.limb(l), c.limb(from), basis[from], basis[l]);
      for (std::size_t i = 0; i < kDegree; ++i) {
        const u64 x = c.limb(from)[i];
        centred.limb(l)[i] = x > p / 2 ? arith::neg(arith::reduce64(p - x, mod), mod.q) : arith::reduce64(x, mod);
      }
    }
    EXPECT_TRUE(equal(lifted, to_eval(centred))) << p;
  }
}

// Sums over ternary secrets and uniform residues behave as product_variance says.
TEST(LongTensorRing, ProductVariance) {
  const Basis basis = primes_of({50});
  std::mt19937_64 rng(5);
  const u64 q = basis[0].value();
  double sum = 0;
  for (int round = 0; round < 4; ++round) {
    Poly<Coeff> a(basis), b(basis);
    for (auto* p : {&a, &b})
      for (std::size_t i = 0; i < kDegree; ++i) p->limb(0)[i] = (rng() % 3 + q - 1) % q;
    const auto c = multiply(a, b);
    // Less the term that all share.
    double mean = 0;
    std::vector<double> values;
    for (std::size_t i = 0; i < kDegree; ++i) {
      const u64 x = c.limb(0)[i];
      values.push_back(x > q / 2 ? -static_cast<double>(q - x) : static_cast<double>(x));
      mean += values.back() / kDegree;
    }
    for (const double v : values) sum += (v - mean) * (v - mean) / kDegree / 4;
  }
  // p - 2 pairs for each power; the other p - 1 of the variance are the shared term's.
  EXPECT_NEAR(sum / ((kIndex - 2) * 4.0 / 9), 1, 0.05);
}

TEST(LongTensorRing, EveryKernelSetGivesTheSameBits) {
  for (const unsigned bits : {37U, 48U, 49U, 50U, 51U, 60U}) {
    const u64 q = primes_below(bits, 1, kIndex * kDegree)[0], p = primes_below(bits + 1, 1, 2)[0];
    const RaderTables tables(kernels::make_modulus(q));
    const auto& t = tables.table();
    WordBuffer x(kDegree), y(kDegree), z(kDegree);
    const auto same = [&] { return std::equal(y.data(), y.data() + kDegree, z.data()); };
    // Words as large as they may be, beside random ones.
    for (const u64 fill : {u64{0}, q - 1, 4 * q - 1}) {
      std::mt19937_64 rng(bits);
      for (std::size_t i = 0; i < kDegree; ++i) x.data()[i] = fill == 0 ? rng() % (4 * q) : fill;
      for (const bool undo : {false, true}) {
        kernels::rader_find("ref")->convolve(y.data(), x.data(), t, undo);
        for (const auto* set : kernels::available()) {
          const auto& k = *kernels::rader_find(set->name);
          k.convolve(z.data(), x.data(), t, undo);
          EXPECT_TRUE(same()) << set->name << " " << bits;
          std::copy_n(x.data(), kDegree, z.data());
          k.convolve(z.data(), z.data(), t, undo);
          EXPECT_TRUE(same()) << "in place, " << set->name << " " << bits;
        }
      }
      kernels::rader_active().convolve(y.data(), x.data(), t, false);
      kernels::rader_active().convolve(y.data(), y.data(), t, true);
      for (std::size_t i = 0; i < kDegree; ++i) ASSERT_EQ(y.data()[i], x.data()[i] % q) << bits;
    }
    // Lifts of residues modulo primes that are smaller, larger, and so large that they exceed 2q.
    for (const u64 from : {u64{65537}, p, u64{(u64{1} << 61) - 1}}) {
      std::mt19937_64 rng(bits);
      for (std::size_t i = 0; i < kDegree; ++i) x.data()[i] = i < 3 ? from / 2 - 1 + i : rng() % from;
      kernels::rader_find("ref")->convolve_lift(y.data(), x.data(), from, t);
      for (const auto* set : kernels::available()) {
        kernels::rader_find(set->name)->convolve_lift(z.data(), x.data(), from, t);
        EXPECT_TRUE(same()) << set->name << " " << bits << " " << from;
      }
    }
  }
  EXPECT_EQ(kernels::rader_find("none"), nullptr);
}

TEST(LongTensorRing, ThreadsShareTables) {
  const Basis basis = primes_of({50});
  const auto x = random_poly<Coeff>(basis, 1);
  const auto once = to_eval(x);
  std::array<int, 4> same{};
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < same.size(); ++t)
      threads.emplace_back([&, t] { same[t] = equal(to_coeff(to_eval(x)), x) && equal(to_eval(x), once); });
  }
  EXPECT_EQ(std::accumulate(same.begin(), same.end(), 0), 4);
}

}  // namespace
}  // namespace ringforge::test
