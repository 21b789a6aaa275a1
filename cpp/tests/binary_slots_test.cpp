// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Slots modulo 2 against Horner's rule at roots of unity and products by schoolbook.
#include "ringforge/linear/binary_slots.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "ringforge/error.hpp"

namespace ringforge::linear {
namespace {

using Bits = std::vector<std::uint8_t>;
using Elements = std::vector<std::uint32_t>;

Elements random_elements(const BinarySlots& s, unsigned seed) {
  std::mt19937_64 rng(seed);
  Elements v(s.size());
  for (auto& x : v) x = static_cast<std::uint32_t>(rng() & s.field().order());
  return v;
}

std::uint32_t value(const BinarySlots& s, const Bits& a, std::size_t slot) {
  const BinaryField& f = s.field();
  const std::uint32_t x = f.root(f.order() / s.index() * s.representatives()[slot]);
  std::uint32_t sum = 0;
  for (std::size_t i = a.size(); i-- > 0;) sum = f.product(sum, x) ^ a[i];
  return sum;
}

TEST(BinarySlots, AreValuesAtRootsOfUnity) {
  for (const unsigned m : {3U, 7U, 9U, 51U, 63U, 85U, 255U, 1285U, 2047U, 65535U, 65537U}) {
    const BinarySlots s(m);
    const Elements v = random_elements(s, m);
    Bits a(s.degree());
    s.encode(a, v);
    const std::size_t step = std::max<std::size_t>(1, s.size() / 8);
    for (std::size_t i = 0; i < s.size(); i += step) EXPECT_EQ(value(s, a, i), v[i]) << m << " slot " << i;
    Elements back(s.size());
    s.decode(back, a);
    EXPECT_EQ(back, v) << m;
  }
}

TEST(BinarySlots, MultiplyAsPolynomials) {
  const BinarySlots s(255);
  const Elements u = random_elements(s, 1), v = random_elements(s, 2);
  Bits a(s.degree()), b(s.degree()), c(2 * s.degree());
  s.encode(a, u);
  s.encode(b, v);
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < b.size(); ++j) c[i + j] ^= a[i] & b[j];
  Elements w(s.size());
  s.field().products(w, u, v);
  for (std::size_t i = 0; i < s.size(); ++i) EXPECT_EQ(value(s, c, i), w[i]);
}

TEST(BinarySlots, ArePermutedWithPowers) {
  for (const unsigned m : {51U, 63U, 255U}) {
    const BinarySlots s(m);
    const Elements v = random_elements(s, m);
    Bits a(s.degree());
    s.encode(a, v);
    for (const BinarySlots::Dimension& d : s.dimensions()) {
      Bits moved(m);
      for (std::size_t i = 0; i < a.size(); ++i) moved[i * d.element % m] ^= a[i];
      const auto p = s.permutation(d.element);
      for (std::size_t i = 0; i < s.size(); ++i)
        EXPECT_EQ(value(s, moved, i), s.field().power(v[p.source[i]], std::uint64_t{1} << p.frobenius[i]));
    }
  }
}

TEST(BinarySlots, HoldTheBytesOfAes) {
  const BinarySlots s(65535);
  EXPECT_EQ(s.field().polynomial(), 0x1002dU);
  EXPECT_EQ(s.byte_root(), 0x188U);
  Bits every(256), back(256);
  for (unsigned i = 0; i < 256; ++i) every[i] = static_cast<std::uint8_t>(i);
  Elements embedded(256);
  s.embed(embedded, every);
  s.extract(back, embedded);
  EXPECT_EQ(back, every);
  // FIPS 197, section 4.2: {57} * {83} = {c1}.
  EXPECT_EQ(s.field().product(embedded[0x57], embedded[0x83]), embedded[0xc1]);
}

/// A prime index, whose tables are those of one unit: 2,048 slots of GF(2^32).
TEST(BinarySlots, OfAPrimeIndex) {
  const BinarySlots s(65537);
  EXPECT_EQ(s.size(), 2048U);
  EXPECT_EQ(s.field().degree(), 32U);
  const Elements v = random_elements(s, 3);
  Bits a(s.degree());
  s.encode(a, v);
  for (const std::size_t i : {0U, 1U, 777U, 2047U}) EXPECT_EQ(value(s, a, i), v[i]);
  Elements back(s.size());
  s.decode(back, a);
  EXPECT_EQ(back, v);
}

TEST(BinarySlots, Refuse) {
  for (const std::uint64_t m : {0ULL, 1ULL, 2ULL, 16ULL, 21ULL, 131073ULL})
    EXPECT_THROW(BinarySlots{m}, ParameterError);
  EXPECT_THROW(BinaryField(1), ParameterError);
  EXPECT_THROW(BinaryField(33), ParameterError);
  const BinarySlots s(85), odd(7);
  Bits a(s.degree()), bytes(1);
  Elements v(s.size()), outside{256};
  EXPECT_THROW(s.encode({a.data(), 1}, v), ShapeError);
  EXPECT_THROW(s.decode(v, {a.data(), 1}), ShapeError);
  v[0] = 256;
  EXPECT_THROW(s.encode(a, v), ValueError);
  a[63] = 2;
  EXPECT_THROW(s.decode(v, a), ValueError);
  EXPECT_THROW(s.permutation(5), ParameterError);
  EXPECT_THROW(s.extract(bytes, outside), ValueError);
  EXPECT_THROW(odd.byte_root(), ParameterError);
}

}  // namespace
}  // namespace ringforge::linear
