// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Integers modulo p = 2^255 - 19 in eight lanes: five limbs of radix 2^51, for products of 52 bits by 52.
//
// Bounds of limbs, which every function states:
//   tight    below 2^51 + 2^18: what `carry` gives for any limbs below 2^64. A carry is below 2^13, and limb 0 gets 19
//            times the last one.
//   operand  below 2^52: what a product takes, because the instructions look at no more bits.
//   wide     at most 267 * 2^52 < 2^61: what a product leaves before the carry. Sums of such are carried once.
// 2 p has limbs 2^52 - 38 and 2^52 - 2, above every tight limb, so that 2 p - x is an operand for tight x.
//
// Included by one file for each kind of lanes; all has internal linkage.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ringforge/constant_time.hpp"

#if defined(__AVX512IFMA__)
#define RF_FIELD static inline __attribute__((always_inline))
#else
#define RF_FIELD static inline
#endif

namespace ringforge::oprf {
namespace {

using u64 = std::uint64_t;
using std::size_t;

constexpr u64 kLow51 = (u64{1} << 51) - 1;

struct Constant {
  u64 limb[5];
};
// RFC 9496, section 4.1.
constexpr Constant kD{{0x34dca135978a3, 0x1a8283b156ebd, 0x5e7a26001c029, 0x739c663a03cbb, 0x52036cee2b6ff}};
constexpr Constant kTwiceD{{0x69b9426b2f159, 0x35050762add7a, 0x3cf44c0038052, 0x6738cc7407977, 0x2406d9dc56dff}};
constexpr Constant kSqrtMinusOne{{0x61b274a0ea0b0, 0xd5a5fc8f189d, 0x7ef5e9cbd0c60, 0x78595a6804c9e, 0x2b8324804fc1d}};
constexpr Constant kSqrtAdMinusOne{
    {0x7f6a0497b2e1b, 0x1836f0a97afd2, 0x7d747f6be7638, 0x456079e7e6498, 0x376931bf2b834}};
constexpr Constant kInvsqrtAMinusD{{0xfdaa805d40ea, 0x2eb482e57d339, 0x7610274bc58, 0x6510b613dc8ff, 0x786c8905cfaff}};
constexpr Constant kOneMinusDSquared{
    {0x409c1945fc176, 0x719abc6a1fc4f, 0x1c37f90b20684, 0x6bccca55eedf, 0x29072a8b2b3e}};
constexpr Constant kDMinusOneSquared{
    {0x55aaa44ed4d20, 0x59603c3332635, 0x26d3baf4a7928, 0x120a66e6997a9, 0x5968b37af66c2}};

template <class L>
struct Field {
  using U = typename L::U;
  using M = typename L::M;

  struct Fe {
    U limb[5];
  };

  RF_FIELD Fe constant(const Constant& c) noexcept {
    Fe r;
    for (int k = 0; k < 5; ++k) r.limb[k] = L::set(c.limb[k]);
    return r;
  }
  RF_FIELD Fe small(u64 v) noexcept { return constant({{v, 0, 0, 0, 0}}); }

  /// Any limbs to tight ones.
  RF_FIELD Fe carry(const Fe& a) noexcept {
    const U low = L::set(kLow51);
    U over[5];
    Fe r;
    for (int k = 0; k < 5; ++k) over[k] = L::template right<51>(a.limb[k]);
    for (int k = 0; k < 5; ++k) r.limb[k] = L::bit_and(a.limb[k], low);
    r.limb[0] = L::madd_low(r.limb[0], over[4], L::set(19));  // over < 2^13: all of the product
    for (int k = 1; k < 5; ++k) r.limb[k] = L::add(r.limb[k], over[k - 1]);
    return r;
  }

  /// Limb by limb; the sum of the bounds must stay below 2^64.
  RF_FIELD Fe plus(const Fe& a, const Fe& b) noexcept {
    Fe r;
    for (int k = 0; k < 5; ++k) r.limb[k] = L::add(a.limb[k], b.limb[k]);
    return r;
  }
  /// a + f p - b, with f 2^51 - 19 f no less than b's limbs.
  template <u64 f>
  RF_FIELD Fe minus(const Fe& a, const Fe& b) noexcept {
    const U first = L::set(f * (kLow51 - 18)), other = L::set(f * kLow51);
    Fe r;
    for (int k = 0; k < 5; ++k) r.limb[k] = L::sub(L::add(a.limb[k], k == 0 ? first : other), b.limb[k]);
    return r;
  }
  RF_FIELD Fe twice(const Fe& a) noexcept { return plus(a, a); }
  /// 2 p - a: an operand for tight a.
  RF_FIELD Fe negated(const Fe& a) noexcept {
    const U first = L::set(2 * (kLow51 - 18)), other = L::set(2 * kLow51);
    Fe r;
    for (int k = 0; k < 5; ++k) r.limb[k] = L::sub(k == 0 ? first : other, a.limb[k]);
    return r;
  }
  /// Tight ones, of tight ones.
  RF_FIELD Fe add(const Fe& a, const Fe& b) noexcept { return carry(plus(a, b)); }
  RF_FIELD Fe sub(const Fe& a, const Fe& b) noexcept { return carry(minus<2>(a, b)); }

  /// Columns 5 to 9, 19 times, into 0 to 4.
  RF_FIELD Fe fold(const U* column) noexcept {
    Fe r;
    for (int k = 0; k < 5; ++k) r.limb[k] = L::add(column[k], L::times(column[k + 5], 19));
    return r;
  }
  /// Operands to a wide product. With a_i b_j = low + 2^52 high, column k of radix 2^51 collects the low parts of
  /// i + j = k and twice the high parts of i + j = k - 1; column k + 5 comes back 19 times in column k. Column k <= 4
  /// has k + 1 low and k high parts of its own, and 4 - k low and 5 - k high ones of column k + 5, each below 2^52: at
  /// most 3 k + 1 + 19 (14 - 3 k) <= 267 times 2^52.
  RF_FIELD Fe wide_mul(const Fe& a, const Fe& b) noexcept {
    U high[9], column[10];
    for (int k = 0; k < 9; ++k) high[k] = L::set(0);
#pragma GCC unroll 5
    for (int i = 0; i < 5; ++i)
#pragma GCC unroll 5
      for (int j = 0; j < 5; ++j) high[i + j] = L::madd_high(high[i + j], a.limb[i], b.limb[j]);
    column[0] = L::set(0);
    for (int k = 1; k < 10; ++k) column[k] = L::template left<1>(high[k - 1]);
#pragma GCC unroll 5
    for (int i = 0; i < 5; ++i)
#pragma GCC unroll 5
      for (int j = 0; j < 5; ++j) column[i + j] = L::madd_low(column[i + j], a.limb[i], b.limb[j]);
    return fold(column);
  }
  /// wide_mul(a, a), the same bound. Products of two different limbs count twice: columns by weight 1 (low parts of
  /// squares), 2 (their high parts, low parts of the others) and 4 (high parts of the others).
  RF_FIELD Fe wide_square(const Fe& a) noexcept {
    U column[10];
    for (int k = 0; k < 10; ++k) column[k] = L::set(0);
#pragma GCC unroll 5
    for (int i = 0; i < 5; ++i)
#pragma GCC unroll 5
      for (int j = i + 1; j < 5; ++j) column[i + j + 1] = L::madd_high(column[i + j + 1], a.limb[i], a.limb[j]);
    for (int k = 2; k < 9; ++k) column[k] = L::template left<1>(column[k]);
#pragma GCC unroll 5
    for (int i = 0; i < 5; ++i) {
      column[2 * i + 1] = L::madd_high(column[2 * i + 1], a.limb[i], a.limb[i]);
#pragma GCC unroll 5
      for (int j = i + 1; j < 5; ++j) column[i + j] = L::madd_low(column[i + j], a.limb[i], a.limb[j]);
    }
    for (int k = 1; k < 10; ++k) column[k] = L::template left<1>(column[k]);
    for (int i = 0; i < 5; ++i) column[2 * i] = L::madd_low(column[2 * i], a.limb[i], a.limb[i]);
    return fold(column);
  }
  /// Operands to tight ones.
  RF_FIELD Fe mul(const Fe& a, const Fe& b) noexcept { return carry(wide_mul(a, b)); }
  RF_FIELD Fe square(const Fe& a) noexcept { return carry(wide_square(a)); }

  /// Tight to canonical: limbs below 2^51, the number below p.
  static Fe freeze(const Fe& a) noexcept {
    const U low = L::set(kLow51);
    // Tight limbs make a number below 2 p: it is p or more when adding 19 reaches 2^255.
    U over = L::template right<51>(L::add(a.limb[0], L::set(19)));
    for (int k = 1; k < 5; ++k) over = L::template right<51>(L::add(a.limb[k], over));
    Fe r;
    U in = L::times(over, 19);
    for (int k = 0; k < 5; ++k) {
      const U sum = L::add(a.limb[k], in);
      r.limb[k] = L::bit_and(sum, low);
      in = L::template right<51>(sum);
    }
    return r;
  }
  /// Of canonical ones.
  static M same(const Fe& a, const Fe& b) noexcept {
    U differ = L::bit_xor(a.limb[0], b.limb[0]);
    for (int k = 1; k < 5; ++k) differ = L::bit_or(differ, L::bit_xor(a.limb[k], b.limb[k]));
    return L::equal(differ, L::set(0));
  }
  static M is_zero(const Fe& tight) noexcept { return same(freeze(tight), small(0)); }
  /// Whether the canonical number is odd: RFC 9496 calls it negative.
  static M odd(const Fe& canonical) noexcept { return L::equal(L::bit_and(canonical.limb[0], L::set(1)), L::set(1)); }
  static M is_negative(const Fe& tight) noexcept { return odd(freeze(tight)); }
  RF_FIELD Fe select(const M& m, const Fe& a, const Fe& b) noexcept {
    Fe r;
    for (int k = 0; k < 5; ++k) r.limb[k] = L::select(m, a.limb[k], b.limb[k]);
    return r;
  }
  /// -a where m. Tight of tight.
  static Fe negate_where(const M& m, const Fe& a) noexcept { return select(m, carry(negated(a)), a); }
  static Fe magnitude(const Fe& tight) noexcept { return negate_where(is_negative(tight), tight); }

  /// x^(2^times), n numbers in turn: one alone would wait for its own products. Tight.
  template <size_t n>
  static __attribute__((noinline)) void square_often(Fe* x, unsigned times) noexcept {
    Fe y[n];
    for (size_t i = 0; i < n; ++i) y[i] = x[i];
    for (unsigned t = 0; t < times; ++t)
#pragma GCC unroll 4
      for (size_t i = 0; i < n; ++i) y[i] = square(y[i]);
    for (size_t i = 0; i < n; ++i) x[i] = y[i];
  }
  /// x = a^(2^times) b, x another array than b.
  template <size_t n>
  static void raise(Fe* x, const Fe* a, unsigned times, const Fe* b) noexcept {
    for (size_t i = 0; i < n; ++i) x[i] = a[i];
    square_often<n>(x, times);
    for (size_t i = 0; i < n; ++i) x[i] = mul(x[i], b[i]);
  }
  template <size_t n>
  struct Powers {
    Fe to_11[n];       ///< x^11
    Fe to_2_250_1[n];  ///< x^(2^250 - 1)
  };
  /// 250 squarings and 11 products: exponents 2^k - 1 from shorter ones.
  template <size_t n>
  static void powers(Powers<n>& r, const Fe* x) noexcept {
    Fe a[n], b[n], c[n];
    for (size_t i = 0; i < n; ++i) a[i] = square(x[i]);           // 2
    raise<n>(b, a, 2, x);                                         // 9
    for (size_t i = 0; i < n; ++i) r.to_11[i] = mul(a[i], b[i]);  // 11
    raise<n>(a, r.to_11, 1, b);                                   // 31 = 2^5 - 1
    raise<n>(b, a, 5, a);                                         // 2^10 - 1
    raise<n>(c, b, 10, b);                                        // 2^20 - 1
    raise<n>(a, c, 20, c);                                        // 2^40 - 1
    raise<n>(c, a, 10, b);                                        // 2^50 - 1
    raise<n>(a, c, 50, c);                                        // 2^100 - 1
    raise<n>(b, a, 100, a);                                       // 2^200 - 1
    raise<n>(r.to_2_250_1, b, 50, c);                             // 2^250 - 1
  }
  /// x^((p - 5) / 8) = x^(2^252 - 3), `out` another array than `x`.
  template <size_t n>
  static void power_p58(Fe* out, const Fe* x) noexcept {
    Powers<n> p;
    powers<n>(p, x);
    raise<n>(out, p.to_2_250_1, 2, x);
  }
  /// x^(p - 2) = x^(2^255 - 21): the inverse, of 0 0. `out` may be `x`.
  static void invert(Fe* out, const Fe* x) noexcept {
    Powers<1> p;
    powers<1>(p, x);
    raise<1>(out, p.to_2_250_1, 5, p.to_11);
  }

  /// SQRT_RATIO_M1 (RFC 9496, section 4.2) of n pairs of tight ones: the root, tight and even, of u / v where that is a
  /// square, of i u / v elsewhere; 0 where u or v is. `whole`: u / v is a square, or u = 0.
  template <size_t n>
  static void sqrt_ratio(M* whole, Fe* root, const Fe* u, const Fe* v) noexcept {
    Fe base[n], power[n];
    for (size_t i = 0; i < n; ++i) {
      const Fe v3 = mul(square(v[i]), v[i]);
      root[i] = mul(u[i], v3);
      base[i] = mul(mul(u[i], v[i]), square(v3));
    }
    power_p58<n>(power, base);
    const Fe i_root = constant(kSqrtMinusOne);
    for (size_t i = 0; i < n; ++i) {
      const Fe r = mul(root[i], power[i]);
      const Fe check = freeze(mul(v[i], square(r)));
      const Fe minus_u = carry(negated(u[i]));
      const M right = same(check, freeze(u[i])), flipped = same(check, freeze(minus_u)),
              flipped_i = same(check, freeze(mul(minus_u, i_root)));
      root[i] = magnitude(select(L::either(flipped, flipped_i), mul(i_root, r), r));
      whole[i] = L::either(right, flipped);
    }
  }
};

}  // namespace
}  // namespace ringforge::oprf
