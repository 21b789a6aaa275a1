// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// ristretto255 (RFC 9496) in eight lanes: points of -x^2 + y^2 = 1 + d x^2 y^2 in extended coordinates x = X/Z, y =
// Y/Z, xy = T/Z, with the complete formulas of Hisil, Wong, Carter and Dawson (2008): no case is special. Coordinates
// are tight (field.hpp).
//
// Sums of products are carried once: a product leaves at most w = 267 * 2^52, and 2^10 p has limbs above 511 * 2^52, so
// x + 2^10 p - y is above 0 for every wide y. The largest sum is 2 c + a + 2^10 p - b <= (3 * 267 + 512) 2^52 < 2^63.
#pragma once

#include "field.hpp"

namespace ringforge::oprf {
namespace {

template <class L>
struct Group {
  using F = Field<L>;
  using Fe = typename F::Fe;
  using U = typename L::U;
  using M = typename L::M;

  struct Point {
    Fe x, y, z, t;
  };
  /// What an addition wants of its second operand; tight but for `t2d`, an operand.
  struct Addend {
    Fe difference, sum, z2, t2d;  ///< Y - X, Y + X, 2 Z, 2 d T
  };
  static constexpr u64 kAbove = 1024;  ///< multiple of p above every wide limb

  static Point identity() noexcept { return {F::small(0), F::small(1), F::small(1), F::small(0)}; }

  static Addend addend(const Point& p) noexcept {
    return {F::sub(p.y, p.x), F::add(p.y, p.x), F::carry(F::twice(p.z)), F::mul(p.t, F::constant(kTwiceD))};
  }

  /// 2 p; T, which another doubling does not need, only if asked for.
  template <bool with_t>
  static __attribute__((noinline)) void double_in_place(Point& p) noexcept {
    const Fe a = F::wide_square(p.x), b = F::wide_square(p.y), c = F::wide_square(p.z), xy = F::wide_mul(p.x, p.y);
    const Fe e = F::carry(F::twice(xy)), h = F::carry(F::plus(a, b)), g = F::carry(F::template minus<kAbove>(b, a));
    const Fe f = F::carry(F::template minus<kAbove>(F::plus(F::twice(c), a), b));
    // All signs are turned, which is the same point: f and h are the negatives of the usual F and H.
    p.x = F::mul(e, f);
    p.y = F::mul(g, h);
    p.z = F::mul(f, g);
    if constexpr (with_t) p.t = F::mul(e, h);
  }

  template <bool with_t>
  static __attribute__((noinline)) void add_in_place(Point& p, const Addend& q) noexcept {
    const Fe a = F::wide_mul(F::sub(p.y, p.x), q.difference), b = F::wide_mul(F::add(p.y, p.x), q.sum),
             c = F::wide_mul(p.t, q.t2d), d = F::wide_mul(p.z, q.z2);
    const Fe e = F::carry(F::template minus<kAbove>(b, a)), f = F::carry(F::template minus<kAbove>(d, c)),
             g = F::carry(F::plus(d, c)), h = F::carry(F::plus(b, a));
    p.x = F::mul(e, f);
    p.y = F::mul(g, h);
    p.z = F::mul(f, g);
    if constexpr (with_t) p.t = F::mul(e, h);
  }

  // ---- multiplication by scalars: 64 signed digits of 4 bits ------------------------------------------------------

  static constexpr size_t kTable = 8;
  struct Table {
    Addend multiple[kTable];  ///< 1 to 8 times the point
  };

  static void fill(Table& table, const Point& p) noexcept {
    Point two = p, three, at;
    table.multiple[0] = addend(p);
    double_in_place<true>(two);
    table.multiple[1] = addend(two);
    three = two;
    add_in_place<true>(three, table.multiple[0]);
    table.multiple[2] = addend(three);
    double_in_place<true>(two);  // 4
    table.multiple[3] = addend(two);
    at = two;
    add_in_place<true>(at, table.multiple[0]);
    table.multiple[4] = addend(at);
    double_in_place<true>(three);  // 6
    table.multiple[5] = addend(three);
    add_in_place<true>(three, table.multiple[0]);
    table.multiple[6] = addend(three);
    double_in_place<true>(two);  // 8
    table.multiple[7] = addend(two);
  }

  /// The digit's multiple, digits from -8 to 7 as 0 to 15; every entry is read.
  static void look_up(Addend& r, const Table& table, const U& digit) noexcept {
    const U eight = L::set(8);
    const M negative = L::less(digit, eight);
    const U size = L::select(negative, L::sub(eight, digit), L::sub(digit, eight));
    Addend s{F::small(1), F::small(1), F::small(2), F::small(0)};
    for (size_t k = 0; k < kTable; ++k) {
      const M here = L::equal(size, L::set(k + 1));
      const Addend& m = table.multiple[k];
      s.difference = F::select(here, m.difference, s.difference);
      s.sum = F::select(here, m.sum, s.sum);
      s.z2 = F::select(here, m.z2, s.z2);
      s.t2d = F::select(here, m.t2d, s.t2d);
    }
    r.difference = F::select(negative, s.sum, s.difference);
    r.sum = F::select(negative, s.difference, s.sum);
    r.z2 = s.z2;
    r.t2d = F::select(negative, F::negated(s.t2d), s.t2d);
  }

  /// Four words of a scalar to which 0x888...8 was added, so that its digits of 4 bits, less 8, make up the scalar.
  struct Digits {
    U word[4];
  };
  /// p times the scalars.
  static void multiply(Point& p, Table& table, const Digits& digits) noexcept {
    fill(table, p);
    p = identity();
    const U low = L::set(15);
    Addend q;
    for (unsigned i = 64; i-- > 0;) {
      look_up(q, table, L::bit_and(L::right(digits.word[i / 16], 4 * (i % 16)), low));
      if (i == 0) {
        add_in_place<true>(p, q);
        break;
      }
      add_in_place<false>(p, q);
      for (int k = 0; k < 3; ++k) double_in_place<false>(p);
      double_in_place<true>(p);
    }
  }

  // ---- elements ---------------------------------------------------------------------------------------------------

  /// MAP of RFC 9496, section 4.3.4, for n numbers t (tight).
  template <size_t n>
  static void elligator(Point* out, const Fe* t) noexcept {
    Fe r[n], u[n], v[n], s[n];
    M whole[n];
    const Fe one = F::small(1), d = F::constant(kD), i_root = F::constant(kSqrtMinusOne);
    for (size_t i = 0; i < n; ++i) {
      r[i] = F::mul(i_root, F::square(t[i]));
      u[i] = F::mul(F::add(r[i], one), F::constant(kOneMinusDSquared));
      const Fe minus_one_rd = F::carry(F::negated(F::add(F::mul(r[i], d), one)));
      v[i] = F::mul(minus_one_rd, F::add(r[i], d));
    }
    F::template sqrt_ratio<n>(whole, s, u, v);
    for (size_t i = 0; i < n; ++i) {
      const Fe other = F::carry(F::negated(F::magnitude(F::mul(s[i], t[i]))));
      const Fe root = F::select(whole[i], s[i], other);
      const Fe c = F::select(whole[i], F::carry(F::negated(one)), r[i]);
      const Fe term = F::mul(F::mul(c, F::sub(r[i], one)), F::constant(kDMinusOneSquared));
      const Fe ss = F::square(root);
      const Fe w0 = F::carry(F::twice(F::wide_mul(root, v[i]))),
               w1 = F::mul(F::sub(term, v[i]), F::constant(kSqrtAdMinusOne)), w2 = F::sub(one, ss),
               w3 = F::add(one, ss);
      out[i] = {F::mul(w0, w3), F::mul(w2, w1), F::mul(w1, w3), F::mul(w0, w2)};
    }
  }

  struct Encoded {
    U word[4];  ///< little-endian
  };
  static Fe from_words(const Encoded& w) noexcept {
    const U low = L::set(kLow51);
    return {{L::bit_and(w.word[0], low),
             L::bit_and(L::bit_or(L::template right<51>(w.word[0]), L::template left<13>(w.word[1])), low),
             L::bit_and(L::bit_or(L::template right<38>(w.word[1]), L::template left<26>(w.word[2])), low),
             L::bit_and(L::bit_or(L::template right<25>(w.word[2]), L::template left<39>(w.word[3])), low),
             L::bit_and(L::template right<12>(w.word[3]), low)}};
  }
  static Encoded to_words(const Fe& canonical) noexcept {
    const U* l = canonical.limb;
    return {{L::bit_or(l[0], L::template left<51>(l[1])),
             L::bit_or(L::template right<13>(l[1]), L::template left<38>(l[2])),
             L::bit_or(L::template right<26>(l[2]), L::template left<25>(l[3])),
             L::bit_or(L::template right<39>(l[3]), L::template left<12>(l[4]))}};
  }

  /// RFC 9496, section 4.3.1, for n encodings; bad[i]: no canonical one, or the identity's.
  template <size_t n>
  static void decode(M* bad, Point* out, const Encoded* in) noexcept {
    Fe s[n], u1[n], u2[n], v[n], u2v[n], one[n], root[n];
    M whole[n];
    for (size_t i = 0; i < n; ++i) {
      s[i] = from_words(in[i]);
      const M canonical =
          L::both(F::same(F::freeze(s[i]), s[i]), L::equal(L::template right<63>(in[i].word[3]), L::set(0)));
      bad[i] = L::either(F::odd(s[i]), L::opposite(canonical));
      bad[i] = L::either(bad[i], F::same(s[i], F::small(0)));
      one[i] = F::small(1);
      const Fe ss = F::square(s[i]);
      u1[i] = F::sub(one[i], ss);
      u2[i] = F::add(one[i], ss);
      const Fe u2_squared = F::square(u2[i]);
      v[i] = F::carry(F::negated(F::add(F::mul(F::square(u1[i]), F::constant(kD)), u2_squared)));
      u2v[i] = F::mul(v[i], u2_squared);
    }
    F::template sqrt_ratio<n>(whole, root, one, u2v);
    for (size_t i = 0; i < n; ++i) {
      const Fe den_x = F::mul(root[i], u2[i]), den_y = F::mul(F::mul(root[i], den_x), v[i]);
      Point& p = out[i];
      p.x = F::magnitude(F::carry(F::twice(F::wide_mul(s[i], den_x))));
      p.y = F::mul(u1[i], den_y);
      p.z = F::small(1);
      p.t = F::mul(p.x, p.y);
      bad[i] = L::either(bad[i], L::either(L::opposite(whole[i]), L::either(F::is_negative(p.t), F::is_zero(p.y))));
    }
  }

  /// What is left of 2 p before the one inversion that many share: 2 p is x = e / f, y = g / h.
  struct Doubled {
    Fe e, f, g, h, eg, fh;
  };
  static void begin_encoding(Doubled& r, const Point& p) noexcept {
    const Fe a = F::wide_square(p.x), b = F::wide_square(p.y), zz = F::wide_square(p.z);
    const Fe dtt = F::wide_mul(F::square(p.t), F::constant(kD));
    r.e = F::carry(F::twice(F::wide_mul(p.x, p.y)));
    r.f = F::carry(F::plus(zz, dtt));
    r.g = F::carry(F::plus(a, b));
    r.h = F::carry(F::template minus<kAbove>(zz, dtt));
    r.eg = F::mul(r.e, r.g);
    r.fh = F::mul(r.f, r.h);
  }
  /// The encoding of 2 p (RFC 9496, section 4.3.2) from the inverse of e f g h, without a root: what encoding
  /// takes the root of is, for a doubled point, a known square times a constant. Of the identity, whose inverse must be
  /// given as 0: zeros.
  static Encoded end_encoding(const Doubled& r, const Fe& inverse) noexcept {
    const Fe z_inverse = F::mul(r.eg, inverse), t_inverse = F::mul(r.fh, inverse);
    const M rotate = F::is_negative(F::mul(r.eg, z_inverse));
    const Fe e = F::select(rotate, r.g, r.e), h = F::select(rotate, F::mul(r.f, F::constant(kSqrtMinusOne)), r.h);
    const Fe g = F::select(rotate, F::carry(F::negated(r.e)), r.g);
    const Fe magic = F::select(rotate, F::constant(kSqrtMinusOne), F::constant(kInvsqrtAMinusD));
    const M flip = F::is_negative(F::mul(F::mul(h, e), z_inverse));
    const Fe g1 = F::negate_where(flip, g);
    const Fe s = F::mul(F::sub(h, g1), F::mul(magic, F::mul(g1, t_inverse)));
    return to_words(F::freeze(F::magnitude(s)));
  }
};

}  // namespace
}  // namespace ringforge::oprf
