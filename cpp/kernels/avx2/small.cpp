// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The avx2 kernels of small rings. Words of 32 bits: canonical values between the levels, 8 lanes, Shoup products with
// quotients from the even and the odd lanes. Words of 64 bits: what large rings use, and plain loops.
#include "internal.hpp"
#include "sets.hpp"

namespace ringforge::kernels {
namespace avx2 {
namespace {

using T = SmallNtt<u32>;

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

void forward(u32* dst, const u32* src, const T& t) noexcept {
  const V q = set32(t.q);
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

void inverse(u32* dst, const u32* src, const T& t) noexcept {
  const V q = set32(t.q);
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

// ---- sums of products -----------------------------------------------------------------------------

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

void dot(u32* out_a, u32* out_b, const u32* x, const u32* y, size_t count, bool accumulate, const T& t) noexcept {
  const Remainder r(t.q);
  const V mask = set1(0xffffffff);
  for (size_t i = 0; i < t.n; i += 8) {
    const V a = accumulate ? load(out_a + i) : zero(), b = accumulate ? load(out_b + i) : zero();
    Sum ae{vand(a, mask), zero()}, ao{shr<32>(a), zero()}, be{vand(b, mask), zero()}, bo{shr<32>(b), zero()};
    for (size_t d = 0; d < count; ++d) {
      const V u = load(x + d * t.n + i), v = load(y + 2 * d * t.n + i), w = load(y + (2 * d + 1) * t.n + i);
      ae.add(mul32(u, v));
      ao.add(mul32(high(u), high(v)));
      be.add(mul32(u, w));
      bo.add(mul32(high(u), high(w)));
    }
    store(out_a + i, merge(r.reduce(ae), r.reduce(ao)));
    store(out_b + i, merge(r.reduce(be), r.reduce(bo)));
  }
}

void mul(u32* dst, const u32* a, const u32* b, const T& t) noexcept {
  const Remainder r(t.q);
  for (size_t i = 0; i < t.n; i += 8) {
    const V x = load(a + i), y = load(b + i);
    store(dst + i, merge(r.product(x, y), r.product(high(x), high(y))));
  }
}
void mul_scalar(u32* dst, const u32* a, u32 c, const T& t) noexcept {
  const V q = set32(t.q);
  const Tw f{set32(c), set32(static_cast<u32>((u64{c} << 32) / t.q))};
  for (size_t i = 0; i < t.n; i += 8) store(dst + i, times(load(a + i), f, q));
}
void add(u32* dst, const u32* a, const u32* b, const T& t) noexcept {
  const V q = set32(t.q);
  for (size_t i = 0; i < t.n; i += 8) store(dst + i, csub32(add32(load(a + i), load(b + i)), q));
}
void sub(u32* dst, const u32* a, const u32* b, const T& t) noexcept {
  const V q = set32(t.q);
  for (size_t i = 0; i < t.n; i += 8) store(dst + i, wrap32(sub32(load(a + i), load(b + i)), q));
}

void cut(u32* dst, const u32* src, const Cut& c, const T& t) noexcept {
  const u32 base = 1U << c.log_base, offset = c.balanced ? base / 2 : 0;
  const V q = set32(t.q), top = set32(c.balanced ? t.q / 2 : t.q), mask = set32(base - 1), half = set32(offset);
  const V rounding = set32(c.drop > 0 ? 1U << (c.drop - 1) : 0), drop = set32(c.drop), shift = set32(c.log_base);
  for (size_t i = 0; i < t.n; i += 8) {
    const V x = load(src + i);
    V v = sub32(x, vand(_mm256_cmpgt_epi32(x, top), q));
    v = _mm256_srav_epi32(add32(v, rounding), drop);
    for (unsigned j = 0; j < c.count; ++j) {
      v = add32(v, half);
      const V d = c.balanced && j + 1 == c.count ? v : vand(v, mask);
      store(dst + j * t.n + i, wrap32(sub32(d, half), q));
      v = _mm256_srav_epi32(v, shift);
    }
  }
}

// ---- both words -----------------------------------------------------------------------------------

/// The sets' own transforms and sums around the digits of one polynomial after the other.
template <class W>
void gadget_product(W* out_a, W* out_b, const CutPoly<W>* polys, size_t count, const W* key, W* scratch,
                    const SmallNtt<W>& t) noexcept {
  const SmallKernels<W>& k = avx2_small<W>();
  size_t rows = 0;
  for (size_t p = 0; p < count; ++p) {
    k.cut(scratch + rows * t.n, polys[p].poly, polys[p].cut, t);
    rows += polys[p].cut.count;
  }
  for (size_t r = 0; r < rows; ++r) k.forward(scratch + r * t.n, scratch + r * t.n, t);
  k.dot(out_a, out_b, scratch, key, rows, false, t);
}

template <bool Negative, bool Sub, class W>
void copy_part(W* dst, const W* src, const W* other, size_t size, W q) {
  for (size_t i = 0; i < size; ++i) {
    W x = src[i];
    if constexpr (Negative) x = x == 0 ? 0 : q - x;
    if constexpr (Sub) x = x - other[i] + (x < other[i] ? q : 0);
    dst[i] = x;
  }
}
template <bool Sub, class W>
void rotate_any(W* dst, const W* src, size_t r, const SmallNtt<W>& t) noexcept {
  const size_t n = t.n, e = r & (n - 1);
  if (r < n) {
    copy_part<true, Sub>(dst, src + (n - e), src, e, t.q);
    copy_part<false, Sub>(dst + e, src, src + e, n - e, t.q);
  } else {
    copy_part<false, Sub>(dst, src + (n - e), src, e, t.q);
    copy_part<true, Sub>(dst + e, src, src + e, n - e, t.q);
  }
}

/// A permutation by scalar loads and stores.
template <class W>
void automorphism(W* dst, const W* src, size_t g, const SmallNtt<W>& t) noexcept {
  const size_t low = t.n - 1;
  for (size_t i = 0, e = 0; i < t.n; ++i, e += g) {
    const W x = src[i], minus = (t.q - x) & (0 - static_cast<W>(x != 0));  // no branch on a value
    dst[e & low] = (e & t.n) != 0 ? minus : x;
  }
}

// ---- words of 64 bits -----------------------------------------------------------------------------

using T64 = SmallNtt<u64>;

void forward64(u64* dst, const u64* src, const T64& t) noexcept { ntt_forward(dst, src, t.table); }
void inverse64(u64* dst, const u64* src, const T64& t) noexcept { ntt_inverse(dst, src, t.table); }
void dot64(u64* out_a, u64* out_b, const u64* x, const u64* y, size_t count, bool accumulate, const T64& t) noexcept {
  constexpr size_t kMost = 64;
  const u64 *px[kMost] = {}, *pa[kMost] = {}, *pb[kMost] = {};
  do {
    const size_t now = count < kMost ? count : kMost;
    for (size_t d = 0; d < now; ++d) {
      px[d] = x + d * t.n;
      pa[d] = y + 2 * d * t.n;
      pb[d] = pa[d] + t.n;
    }
    dot2(out_a, out_b, px, pa, pb, now, accumulate, t.n, t.mod);
    x += now * t.n;
    y += 2 * now * t.n;
    count -= now;
    accumulate = true;
  } while (count != 0);
}
void cut64(u64* dst, const u64* src, const Cut& c, const T64& t) noexcept { ref_small<u64>().cut(dst, src, c, t); }
void add64(u64* dst, const u64* a, const u64* b, const T64& t) noexcept { avx2::add(dst, a, b, t.n, t.mod); }
void sub64(u64* dst, const u64* a, const u64* b, const T64& t) noexcept { avx2::sub(dst, a, b, t.n, t.mod); }
void mul64(u64* dst, const u64* a, const u64* b, const T64& t) noexcept { avx2::mul(dst, a, b, t.n, t.mod); }
void mul_scalar64(u64* dst, const u64* a, u64 c, const T64& t) noexcept {
  avx2::mul_scalar(dst, a, make_factor(c, t.mod), t.n, t.mod);
}

constexpr SmallKernels<u32> kSmall32{"avx2",
                                     forward,
                                     inverse,
                                     cut,
                                     gadget_product<u32>,
                                     dot,
                                     rotate_any<true, u32>,
                                     rotate_any<false, u32>,
                                     automorphism<u32>,
                                     add,
                                     sub,
                                     mul,
                                     mul_scalar};
constexpr SmallKernels<u64> kSmall64{"avx2",
                                     forward64,
                                     inverse64,
                                     cut64,
                                     gadget_product<u64>,
                                     dot64,
                                     rotate_any<true, u64>,
                                     rotate_any<false, u64>,
                                     automorphism<u64>,
                                     add64,
                                     sub64,
                                     mul64,
                                     mul_scalar64};

}  // namespace
}  // namespace avx2

template <>
const SmallKernels<u32>& avx2_small<u32>() noexcept {
  return avx2::kSmall32;
}
template <>
const SmallKernels<u64>& avx2_small<u64>() noexcept {
  return avx2::kSmall64;
}

}  // namespace ringforge::kernels
