// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Polynomials in words of 32 bits: the residues of words of 64 bits, operation by operation.
#include "ringforge/counters.hpp"
#include "ringforge/small_tables.hpp"
#include "support.hpp"

namespace ringforge::test {
namespace {

// A word is part of the type: nothing of one width passes for the other.
static_assert(!std::is_constructible_v<Poly<Coeff, u32>, Basis>);
static_assert(!std::is_constructible_v<Poly<Coeff>, BasisOf<u32>>);
static_assert(!std::is_assignable_v<Basis&, BasisOf<u32>>);
static_assert(std::is_same_v<Poly<Eval>, Poly<Eval, u64>>);

template <class Form>
bool same(const Poly<Form, u32>& narrow, const Poly<Form>& wide) {
  const auto x = narrow.words();
  const auto y = wide.words();
  return std::equal(x.begin(), x.end(), y.begin(), y.end());
}

template <class Form>
Poly<Form, u32> narrowed(const Poly<Form>& wide, const BasisOf<u32>& basis) {
  Poly<Form, u32> p(basis);
  for (std::size_t i = 0; i < p.words().size(); ++i) p.words()[i] = static_cast<u32>(wide.words()[i]);
  return p;
}

TEST(Words, AgreeInEveryOperation) {
  for (const Ring& ring : {Ring::negacyclic(4), Ring::negacyclic(7), Ring::negacyclic(10), Ring::negacyclic(13),
                           Ring::cyclotomic(15), Ring::cyclotomic(1155), Ring::cyclotomic(4097)}) {
    auto primes = primes_below(31, 2, ring.prime_step());
    primes.push_back(primes_below(20, 1, ring.prime_step())[0]);
    const Basis wide(ring, primes);
    const BasisOf<u32> narrow(ring, primes);
    EXPECT_EQ(wide.values(), narrow.values());
    auto a = random_poly<Coeff>(wide, 1), b = random_poly<Coeff>(wide, 2);
    for (std::size_t l = 0; l < 3; ++l) {
      a.limb(l)[0] = b.limb(l)[0] = primes[l] - 1;
      a.limb(l)[1] = 0;
    }
    const auto na = narrowed(a, narrow), nb = narrowed(b, narrow);
    const auto ea = to_eval(a), eb = to_eval(b, 2);
    const auto nea = to_eval(na), neb = to_eval(nb, 2);
    EXPECT_TRUE(same(nea, ea)) << ring.name();
    EXPECT_TRUE(same(to_coeff(nea), to_coeff(ea))) << ring.name();

    const auto in_form = [&](const auto& x, const auto& y, const auto& nx, const auto& ny) {
      auto out = x;
      auto small = nx;
      add(out, x, y), add(small, nx, ny);
      EXPECT_TRUE(same(small, out)) << ring.name();
      sub(out, y, x), sub(small, ny, nx);
      EXPECT_TRUE(same(small, out)) << ring.name();
      neg(out, x), neg(small, nx);
      EXPECT_TRUE(same(small, out)) << ring.name();
      const u64 g = ring.power(ring.kind() == RingKind::negacyclic ? 5 : 2, 3);
      EXPECT_TRUE(same(automorphism(nx, g), automorphism(x, g))) << ring.name();
    };
    in_form(a, b, na, nb);
    in_form(ea, eb, nea, neb);
    auto product = ea;
    auto small = nea;
    mul(product, ea, eb), mul(small, nea, neb);
    EXPECT_TRUE(same(small, product)) << ring.name();
    mul_add(product, ea, ea), mul_add(small, nea, nea);
    EXPECT_TRUE(same(small, product)) << ring.name();
    EXPECT_TRUE(same(to_coeff(small), to_coeff(product))) << ring.name();
    EXPECT_TRUE(same(small.prefix(2), product.prefix(2)));

    ntt_lift(small.limb(2), na.limb(0), narrow[0], narrow[2]);
    ntt_lift(product.limb(2), a.limb(0), wide[0], wide[2]);
    ntt_lift(small.limb(0), na.limb(2), narrow[2], narrow[0]);
    ntt_lift(product.limb(0), a.limb(2), wide[2], wide[0]);
    EXPECT_TRUE(same(small, product)) << ring.name();

    EXPECT_TRUE(same(sample_uniform(narrow, fixed_seed(), StreamObject::mask, 1, 2, 2),
                     sample_uniform(wide, fixed_seed(), StreamObject::mask, 1, 2)));
    SmallPoly s = sample_error(ring.degree(), fixed_seed());
    for (i64& c : s.coeffs()) c *= i64{0x123456789ab};
    s.coeffs()[0] = (i64{1} << 62) - 1;
    s.coeffs()[1] = -((i64{1} << 62) - 1);
    s.coeffs()[2 % ring.degree()] = -static_cast<i64>(primes[0]);
    EXPECT_TRUE(same(s.lift(narrow, 2), s.lift(wide)));
  }
}

TEST(Words, PrimesAreRefusedByWidth) {
  const Ring ring = Ring::negacyclic(10);
  const u64 large = primes_below(32, 1, 2048)[0], fits = primes_below(31, 1, 2048)[0];
  EXPECT_THROW(PrimeOf<u32>::get(large, ring), ParameterError);
  EXPECT_THROW(BasisOf<u32>(ring, std::vector<u64>{fits, large}), ParameterError);
  EXPECT_NO_THROW(Basis(ring, std::vector<u64>{fits, large}));
  EXPECT_THROW(PrimeOf<u32>::get(12289, ring), ParameterError);
  EXPECT_THROW(BasisOf<u32>(ring, std::vector<u64>{fits, fits}), ParameterError);
  const BasisOf<u32> basis(ring, std::vector<u64>{fits});
  EXPECT_THROW(basis.prefix(2), LevelError);
  EXPECT_THROW(basis.join(BasisOf<u32>(Ring::negacyclic(9), std::vector<u64>{fits})), MismatchError);
}

TEST(Words, TrafficCountsTheBytesOfTheWidth) {
  const Ring ring = Ring::negacyclic(10);
  const auto primes = primes_below(31, 2, 2048);
  auto wide = random_poly<Eval>(Basis(ring, primes), 1);
  auto narrow = narrowed(wide, BasisOf<u32>(ring, primes));
  const CountScope scope;
  add(narrow, narrow, narrow);
  EXPECT_EQ(scope.traffic().read, 2 * 2 * 1024 * 4U);
  EXPECT_EQ(scope.traffic().written, 2 * 1024 * 4U);
  add(wide, wide, wide);
  EXPECT_EQ(scope.traffic().read, 2 * 2 * 1024 * 12U);
}

// Small rings and RNS rings transform by the same tables.
TEST(Words, SmallRingsShareTheTables) {
  const u64 q = primes_below(27, 1, 2048)[0];
  const auto narrow = PrimeOf<u32>::get(q, Ring::negacyclic(10));
  const SmallTables<u32> tables(static_cast<u32>(q), 10);
  EXPECT_EQ(tables.ntt().w, narrow->table().w);
  EXPECT_EQ(tables.ntt().iws, narrow->table().iws);
  EXPECT_EQ(tables.ntt().table.w, Prime::get(q, Ring::negacyclic(10))->table().w);
  const SmallTables<u64> wide(q, 10);
  EXPECT_EQ(wide.ntt().w, Prime::get(q, Ring::negacyclic(10))->table().w);
  // And the transforms of either contract agree.
  const BasisOf<u32> basis(Ring::negacyclic(10), std::vector<u64>{q});
  const auto x = random_poly<Coeff>(basis, 1);
  const auto e = to_eval(x);
  Poly<Eval, u32> y(basis);
  kernels::small_active<u32>().forward(y.limb(0), x.limb(0), tables.ntt());
  EXPECT_TRUE(equal(y, e));
}

}  // namespace
}  // namespace ringforge::test
