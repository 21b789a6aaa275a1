// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Residues below 2^31 in 8 lanes of 32 bits: transforms, and the reduction of products.
#pragma once

#include "internal.hpp"

namespace ringforge::kernels::avx2 {
namespace {

RF_INLINE V load(const u32* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
RF_INLINE void store(u32* p, V v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v); }
RF_INLINE V set32(u32 a) { return _mm256_set1_epi32(static_cast<int>(a)); }
RF_INLINE V add32(V a, V b) { return _mm256_add_epi32(a, b); }
RF_INLINE V sub32(V a, V b) { return _mm256_sub_epi32(a, b); }
RF_INLINE V csub32(V a, V k) { return _mm256_min_epu32(a, sub32(a, k)); }  ///< [0, 2k) to [0, k)
RF_INLINE V wrap32(V a, V k) { return _mm256_min_epu32(a, add32(a, k)); }  ///< [-k, k) to [0, k)

/// A factor and its Shoup quotient, floor(w * 2^32 / q), and that of the odd lanes where a multiplication reads it.
struct Tw {
  V w, s, odd;
  RF_MEMBER Tw(V factor, V quotient) : w(factor), s(quotient), odd(high(quotient)) {}
  RF_MEMBER Tw(u32 factor, u32 quotient) : w(set32(factor)), s(set32(quotient)), odd(s) {}
};
RF_INLINE Tw tw1(const u32* w, const u32* s, size_t i) { return {w[i], s[i]}; }
/// y*w in [0, 2q) for any y.
RF_INLINE V times2(V y, const Tw& t, V q) {
  const V even = high(mul32(y, t.s)), odd = mul32(high(y), t.odd);
  const V quot = _mm256_blend_epi32(even, odd, 0xaa);
  return sub32(_mm256_mullo_epi32(y, t.w), _mm256_mullo_epi32(quot, q));
}
/// y*w in [0, q) for any y.
RF_INLINE V times(V y, const Tw& t, V q) { return csub32(times2(y, t, q), q); }

/// Keeps the compiler from taking a difference apart again: x + (a - b) and x - (a - b) share it.
RF_INLINE void keep(V& v) { __asm__("" : "+x"(v)); }

/// Butterflies on words below K*q, K*q <= 2^32, K = 32, 8, 4 or 1. Levels go in pairs.
///   Forward, a product is below 2q, so each level adds 2q: K = 32 has room for all of them, K = 8 for two, K = 4 for
///   one, and x loses K/2*q first. Leaving a pair, words are below K*q again.
///   Inverse, a pair is entered below R*q, R = 4 for K = 32 and 2 else. Sums double, products are below 2q.
template <unsigned K>
struct Words32 {
  static constexpr unsigned R = K == 32 ? 4 : 2;
  V q, q2, q4, q8;
  Tw one;
  RF_MEMBER explicit Words32(u32 m)
      : q(set32(m)),
        q2(set32(2 * m)),
        q4(set32(4 * m)),
        q8(set32(8 * m)),
        one(1, static_cast<u32>((u64{1} << 32) / m)) {}

  template <bool Second>
  RF_MEMBER void fwd(V& x, V& y, const Tw& t) const {
    if constexpr (K == 1) {
      V v = times(y, t, q);
      keep(v);
      y = wrap32(sub32(x, v), q);
      x = csub32(add32(x, v), q);
    } else {
      if constexpr (K == 8 && !Second) x = csub32(x, q4);
      if constexpr (K == 4) x = csub32(x, q2);
      V v = times2(y, t, q);
      keep(v);
      y = sub32(add32(x, q2), v);
      x = add32(x, v);
    }
  }
  /// Canonical results, of the second level of a pair.
  RF_MEMBER void last_fwd(V& x, V& y, const Tw& t) const {
    if constexpr (K == 32) x = times2(x, one, q);
    fwd<true>(x, y, t);
    x = canonical(x);
    y = canonical(y);
  }
  RF_MEMBER V canonical(V x) const {
    if constexpr (K == 8) x = csub32(x, q4);
    if constexpr (K != 1) x = csub32(csub32(x, q2), q);
    return x;
  }

  /// `Level`: 0 is the first of a pair; 1 the second, on sums; 2 the second, on products.
  template <unsigned Level>
  RF_MEMBER void inv(V& x, V& y, const Tw& t) const {
    if constexpr (K == 1) {
      const V d = wrap32(sub32(x, y), q);
      x = csub32(add32(x, y), q);
      y = times(d, t, q);
    } else {
      const V d = difference<Level>(x, y);
      x = add32(x, y);
      if constexpr (K == 32) {
        if constexpr (Level == 1) x = csub32(csub32(x, q8), q4);
      } else if constexpr (K == 8) {
        if constexpr (Level == 1) x = csub32(x, q4);
        if constexpr (Level != 0) x = csub32(x, q2);
      } else {
        x = csub32(x, q2);
      }
      y = times2(d, t, q);
    }
  }
  /// Canonical results of the last level, whose factors have 1/n.
  template <unsigned Level>
  RF_MEMBER void last_inv(V& x, V& y, const Tw& sum, const Tw& t) const {
    const V d = K == 1 ? wrap32(sub32(x, y), q) : difference<Level>(x, y);
    x = times(K == 1 ? csub32(add32(x, y), q) : add32(x, y), sum, q);
    y = times(d, t, q);
  }
  /// x - y and a multiple of q that y is below.
  template <unsigned Level>
  RF_MEMBER V difference(V x, V y) const {
    constexpr unsigned below = Level == 2 || K == 4 ? 2 : Level == 1 ? 2 * R : R;
    return sub32(add32(x, below == 2 ? q2 : below == 4 ? q4 : q8), y);
  }
};

// Partners at distance 4, 2, 1 of 16 words in the same lanes, and the twiddles that belong there.
RF_INLINE void swap4(V& a, V& b) {
  const V c = _mm256_permute2x128_si256(a, b, 0x20);
  b = _mm256_permute2x128_si256(a, b, 0x31);
  a = c;
}
RF_INLINE void swap2(V& a, V& b) {
  const V c = _mm256_unpacklo_epi64(a, b);
  b = _mm256_unpackhi_epi64(a, b);
  a = c;
}
RF_INLINE void part1(V& a, V& b) {
  const __m256 x = _mm256_castsi256_ps(a), y = _mm256_castsi256_ps(b);
  a = _mm256_castps_si256(_mm256_shuffle_ps(x, y, 0x88));
  b = _mm256_castps_si256(_mm256_shuffle_ps(x, y, 0xdd));
}
RF_INLINE void join1(V& a, V& b) {
  const V c = _mm256_unpacklo_epi32(a, b);
  b = _mm256_unpackhi_epi32(a, b);
  a = c;
}
RF_INLINE V spread2(const u32* p) {
  return _mm256_permutevar8x32_epi32(_mm256_castsi128_si256(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))),
                                     _mm256_set_epi32(1, 1, 1, 1, 0, 0, 0, 0));
}
RF_INLINE V spread4(const u32* p) {
  return _mm256_permutevar8x32_epi32(_mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))),
                                     _mm256_set_epi32(3, 3, 2, 2, 1, 1, 0, 0));
}
RF_INLINE V spread8(const u32* p) { return _mm256_shuffle_epi32(load(p), 0xd8); }
RF_INLINE Tw tw2(const u32* w, const u32* s, size_t i) { return {spread2(w + i), spread2(s + i)}; }
RF_INLINE Tw tw4(const u32* w, const u32* s, size_t i) { return {spread4(w + i), spread4(s + i)}; }
RF_INLINE Tw tw8(const u32* w, const u32* s, size_t i) { return {spread8(w + i), spread8(s + i)}; }

/// The last 4 levels of two blocks of 16, side by side: a butterfly waits for the one before it.
template <class A>
RF_INLINE void fwd_tails(const A& a, u32* p, const u32* w, const u32* s, size_t h) {
  V x = load(p), y = load(p + 8), u = load(p + 16), v = load(p + 24);
  a.template fwd<false>(x, y, tw1(w, s, h));
  a.template fwd<false>(u, v, tw1(w, s, h + 1));
  swap4(x, y);
  swap4(u, v);
  a.template fwd<true>(x, y, tw2(w, s, 2 * h));
  a.template fwd<true>(u, v, tw2(w, s, 2 * h + 2));
  swap2(x, y);
  swap2(u, v);
  a.template fwd<false>(x, y, tw4(w, s, 4 * h));
  a.template fwd<false>(u, v, tw4(w, s, 4 * h + 4));
  part1(x, y);
  part1(u, v);
  a.last_fwd(x, y, tw8(w, s, 8 * h));
  a.last_fwd(u, v, tw8(w, s, 8 * h + 8));
  join1(x, y);
  join1(u, v);
  swap2(x, y);
  swap2(u, v);
  swap4(x, y);
  swap4(u, v);
  store(p, x);
  store(p + 8, y);
  store(p + 16, u);
  store(p + 24, v);
}

template <class A, class Table>
__attribute__((noinline)) void forward_words(u32* dst, const u32* src, const Table& t) {
  const A a(static_cast<u32>(t.mod.q));
  const u32 *w = t.w, *s = t.ws;
  size_t m = 1, len = t.n / 2;
  // A level alone where those above the tails are odd in number.
  if ((__builtin_ctzll(t.n) & 1) != 0) {
    const Tw f = tw1(w, s, 1);
    for (size_t j = 0; j < len; j += 8) {
      V x = load(src + j), y = load(src + j + len);
      a.template fwd<false>(x, y, f);
      store(dst + j, x);
      store(dst + j + len, y);
    }
    m = 2;
    len /= 2;
    src = dst;
  }
  for (; len >= 32; len /= 4, m *= 4, src = dst) {
    const size_t quarter = len / 2;
    for (size_t h = m; h < 2 * m; ++h) {
      const Tw f = tw1(w, s, h), g = tw1(w, s, 2 * h), k = tw1(w, s, 2 * h + 1);
      const size_t first = (h - m) * 2 * len;
      for (size_t j = first; j < first + quarter; j += 8) {
        V x0 = load(src + j), x1 = load(src + j + quarter);
        V x2 = load(src + j + 2 * quarter), x3 = load(src + j + 3 * quarter);
        a.template fwd<false>(x0, x2, f);
        a.template fwd<false>(x1, x3, f);
        a.template fwd<true>(x0, x1, g);
        a.template fwd<true>(x2, x3, k);
        store(dst + j, x0);
        store(dst + j + quarter, x1);
        store(dst + j + 2 * quarter, x2);
        store(dst + j + 3 * quarter, x3);
      }
    }
  }
  for (size_t h = m; h < 2 * m; h += 2, dst += 32) fwd_tails(a, dst, w, s, h);
}

/// The first 4 levels.
template <class A>
RF_INLINE void inv_tails(const A& a, u32* dst, const u32* p, const u32* w, const u32* s, size_t h) {
  V x = load(p), y = load(p + 8), u = load(p + 16), v = load(p + 24);
  swap4(x, y);
  swap4(u, v);
  swap2(x, y);
  swap2(u, v);
  part1(x, y);
  part1(u, v);
  a.template inv<0>(x, y, tw8(w, s, 8 * h));
  a.template inv<0>(u, v, tw8(w, s, 8 * h + 8));
  join1(x, y);
  join1(u, v);
  a.template inv<1>(x, y, tw4(w, s, 4 * h));
  a.template inv<1>(u, v, tw4(w, s, 4 * h + 4));
  swap2(x, y);
  swap2(u, v);
  a.template inv<0>(x, y, tw2(w, s, 2 * h));
  a.template inv<0>(u, v, tw2(w, s, 2 * h + 2));
  swap4(x, y);
  swap4(u, v);
  a.template inv<1>(x, y, tw1(w, s, h));
  a.template inv<1>(u, v, tw1(w, s, h + 1));
  store(dst, x);
  store(dst + 8, y);
  store(dst + 16, u);
  store(dst + 24, v);
}

template <class A, bool Last>
__attribute__((noinline)) void inv_pairs(const A& shared, u32* p, size_t quarter, size_t h, const u32* w, const u32* s,
                                         const Tw& n_inv, const Tw& n_inv_w) {
  const A a = shared;
  const Tw f = Last ? n_inv_w : tw1(w, s, h), g = tw1(w, s, 2 * h), k = tw1(w, s, 2 * h + 1), sum = n_inv;
  for (size_t j = 0; j < quarter; j += 8) {
    V x0 = load(p + j), x1 = load(p + j + quarter), x2 = load(p + j + 2 * quarter), x3 = load(p + j + 3 * quarter);
    a.template inv<0>(x0, x1, g);
    a.template inv<0>(x2, x3, k);
    if constexpr (Last) {
      a.template last_inv<1>(x0, x2, sum, f);
      a.template last_inv<2>(x1, x3, sum, f);
    } else {
      a.template inv<1>(x0, x2, f);
      a.template inv<2>(x1, x3, f);
    }
    store(p + j, x0);
    store(p + j + quarter, x1);
    store(p + j + 2 * quarter, x2);
    store(p + j + 3 * quarter, x3);
  }
}

template <class A, class Table>
__attribute__((noinline)) void inverse_words(u32* dst, const u32* src, const Table& t) {
  const A a(static_cast<u32>(t.mod.q));
  const u32 *w = t.iw, *s = t.iws;
  const Tw n_inv(t.n_inv, t.n_inv_s), n_inv_w(t.n_inv_w, t.n_inv_ws);
  size_t m = t.n / 16, len = 16;
  for (size_t b = 0; b < m; b += 2) inv_tails(a, dst + 16 * b, src + 16 * b, w, s, m + b);
  for (; m >= 4; m /= 4, len *= 4)
    for (size_t h = m / 4; h < m / 2; ++h) {
      u32* p = dst + (h - m / 4) * 4 * len;
      h == 1 ? inv_pairs<A, true>(a, p, len, h, w, s, n_inv, n_inv_w)
             : inv_pairs<A, false>(a, p, len, h, w, s, n_inv, n_inv_w);
    }
  if (m == 1) return;
  for (size_t j = 0; j < len; j += 8) {
    V x = load(dst + j), y = load(dst + j + len);
    a.template last_inv<0>(x, y, n_inv, n_inv_w);
    store(dst + j, x);
    store(dst + j + len, y);
  }
}

/// Which words have room: all levels add 2q each to canonical ones, or two, or one.
template <class Table>
unsigned words_for(const Table& t) {
  const u64 q = t.mod.q, levels = static_cast<u64>(__builtin_ctzll(t.n));
  const u64 top = u64{1} << 32;
  return q * (2 * levels + 1) <= top && 16 * q <= top ? 32 : 8 * q <= top ? 8 : 4 * q <= top ? 4 : 1;
}

/// `Table` is NttTable32 or SmallNtt<u32>, n at least 32.
template <class Table>
void forward32(u32* dst, const u32* src, const Table& t) noexcept {
  switch (words_for(t)) {
    case 32:
      return forward_words<Words32<32>>(dst, src, t);
    case 8:
      return forward_words<Words32<8>>(dst, src, t);
    case 4:
      return forward_words<Words32<4>>(dst, src, t);
    default:
      return forward_words<Words32<1>>(dst, src, t);
  }
}
template <class Table>
void inverse32(u32* dst, const u32* src, const Table& t) noexcept {
  switch (words_for(t)) {
    case 32:
      return inverse_words<Words32<32>>(dst, src, t);
    case 8:
      return inverse_words<Words32<8>>(dst, src, t);
    case 4:
      return inverse_words<Words32<4>>(dst, src, t);
    default:
      return inverse_words<Words32<1>>(dst, src, t);
  }
}

/// A factor for 64-bit lanes that hold 32-bit words.
struct LaneFactor {
  V w, s;
  RF_MEMBER LaneFactor(u64 factor, u64 q) : w(set1(factor)), s(set1((factor << 32) / q)) {}
  /// In [0, 2q), so below 2^32.
  RF_MEMBER V times(V y, V q) const { return vsub(mul32(y, w), mul32(shr<32>(mul32(y, s)), q)); }
};
/// Sums of products in halves: low + high*2^32.
struct Sum {
  V low, high;
  RF_MEMBER void add(V p) {
    low = vadd(low, vand(p, set1(0xffffffff)));
    high = vadd(high, shr<32>(p));
  }
};
struct Remainder {
  V q;
  LaneFactor one, r32, r64;
  RF_MEMBER explicit Remainder(u64 m)
      : q(set1(m)), one(1, m), r32((u64{1} << 32) % m, m), r64((u64{1} << 32) % m * ((u64{1} << 32) % m) % m, m) {}
  /// low, high < 2^63; canonical.
  RF_MEMBER V reduce(const Sum& s) const {
    const V mask = set1(0xffffffff), high = vadd(s.high, shr<32>(s.low));
    V r = csub32(one.times(vand(s.low, mask), q), q);
    r = csub32(vadd(r, csub32(r32.times(vand(high, mask), q), q)), q);
    return csub32(vadd(r, csub32(r64.times(shr<32>(high), q), q)), q);
  }
  RF_MEMBER V product(V x, V y) const {
    const V p = mul32(x, y);
    return reduce({vand(p, set1(0xffffffff)), shr<32>(p)});
  }
};
RF_INLINE V merge(V even, V odd) { return vadd(even, shl<32>(odd)); }

}  // namespace
}  // namespace ringforge::kernels::avx2
