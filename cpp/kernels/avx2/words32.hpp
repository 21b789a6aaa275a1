// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Residues below 2^31 in 8 lanes of 32 bits, canonical everywhere: transforms, and the reduction of products.
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

/// A factor and its Shoup quotient, floor(w * 2^32 / q).
struct Tw {
  V w, s;
};
RF_INLINE Tw tw1(const u32* w, const u32* s, size_t i) { return {set32(w[i]), set32(s[i])}; }
/// y*w in [0, q) for any y.
RF_INLINE V times(V y, const Tw& t, V q) {
  const V even = high(mul32(y, t.s)), odd = mul32(high(y), high(t.s));
  const V quot = _mm256_blend_epi32(even, odd, 0xaa);
  return csub32(sub32(_mm256_mullo_epi32(y, t.w), _mm256_mullo_epi32(quot, q)), q);
}
RF_INLINE void fwd(V& x, V& y, const Tw& t, V q) {
  const V v = times(y, t, q);
  y = wrap32(sub32(x, v), q);
  x = csub32(add32(x, v), q);
}
RF_INLINE void inv(V& x, V& y, const Tw& t, V q) {
  const V d = wrap32(sub32(x, y), q);
  x = csub32(add32(x, y), q);
  y = times(d, t, q);
}

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

/// `Table` is NttTable32 or SmallNtt<u32>, n at least 32.
template <class Table>
void forward32(u32* dst, const u32* src, const Table& t) noexcept {
  const V q = set32(static_cast<u32>(t.mod.q));
  const u32 *w = t.w, *s = t.ws;
  size_t m = 1;
  for (size_t len = t.n / 2; len >= 16; len /= 2, m *= 2, src = dst) {
    for (size_t i = 0; i < m; ++i) {
      const Tw f = tw1(w, s, m + i);
      for (size_t j = 2 * i * len; j < (2 * i + 1) * len; j += 8) {
        V x = load(src + j), y = load(src + j + len);
        fwd(x, y, f, q);
        store(dst + j, x);
        store(dst + j + len, y);
      }
    }
  }
  for (size_t h = m; h < 2 * m; ++h, dst += 16) {
    V x = load(dst), y = load(dst + 8);
    fwd(x, y, tw1(w, s, h), q);
    swap4(x, y);
    fwd(x, y, tw2(w, s, 2 * h), q);
    swap2(x, y);
    fwd(x, y, tw4(w, s, 4 * h), q);
    part1(x, y);
    fwd(x, y, tw8(w, s, 8 * h), q);
    join1(x, y);
    swap2(x, y);
    swap4(x, y);
    store(dst, x);
    store(dst + 8, y);
  }
}

template <class Table>
void inverse32(u32* dst, const u32* src, const Table& t) noexcept {
  const V q = set32(static_cast<u32>(t.mod.q));
  const u32 *w = t.iw, *s = t.iws;
  const size_t blocks = t.n / 16;
  for (size_t b = 0; b < blocks; ++b) {
    const size_t h = blocks + b;
    V x = load(src + 16 * b), y = load(src + 16 * b + 8);
    swap4(x, y);
    swap2(x, y);
    part1(x, y);
    inv(x, y, tw8(w, s, 8 * h), q);
    join1(x, y);
    inv(x, y, tw4(w, s, 4 * h), q);
    swap2(x, y);
    inv(x, y, tw2(w, s, 2 * h), q);
    swap4(x, y);
    inv(x, y, tw1(w, s, h), q);
    store(dst + 16 * b, x);
    store(dst + 16 * b + 8, y);
  }
  size_t len = 16;
  for (size_t m = blocks / 2; m > 1; m /= 2, len *= 2) {
    for (size_t i = 0; i < m; ++i) {
      const Tw f = tw1(w, s, m + i);
      for (size_t j = 2 * i * len; j < (2 * i + 1) * len; j += 8) {
        V x = load(dst + j), y = load(dst + j + len);
        inv(x, y, f, q);
        store(dst + j, x);
        store(dst + j + len, y);
      }
    }
  }
  const Tw n_inv{set32(t.n_inv), set32(t.n_inv_s)}, n_inv_w{set32(t.n_inv_w), set32(t.n_inv_ws)};
  for (size_t j = 0; j < len; j += 8) {
    const V x = load(dst + j), y = load(dst + j + len);
    store(dst + j, times(csub32(add32(x, y), q), n_inv, q));
    store(dst + j + len, times(wrap32(sub32(x, y), q), n_inv_w, q));
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
