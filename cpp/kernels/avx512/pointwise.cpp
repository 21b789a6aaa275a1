// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Pointwise operations: sums, products, scalar products, reductions.
#include "internal.hpp"

namespace ringforge::kernels::avx512 {
namespace {

RF_INLINE V mod_add(V a, V b, V q) { return csub(vadd(a, b), q); }
/// a - b for canonical operands: of a - b and a - b + q the one that did not wrap is the smaller.
RF_INLINE V mod_sub(V a, V b, V q) {
  const V d = vsub(a, b);
  return vmin(d, vadd(d, q));
}

/// Barrett product for q < 2^50, b = bits. c = x*y < 2^(2b); the high word of (x << 52-b)*(y << 2) is
/// c >> (b-2), below 2^(b+2) <= 2^52. Its product with mu52 = floor(2^(b+50)/q) >> 52 is at most 2 below
/// floor(c/q): the dropped bits of c count for 2^(b-2)/q < 1/2, those of mu52 for less than 1, the last
/// shift for less than 1. So c - quotient*q is below 3q, and below 4q <= 2^52 with a canonical addend.
struct Barrett52 {
  V q, q2, neg_q, mask, mu;
  __m128i shift;
  explicit RF_MEMBER Barrett52(const Modulus& m)
      : q(set1(m.q)),
        q2(set1(2 * m.q)),
        neg_q(set1((u64{1} << 52) - m.q)),
        mask(set1(kMask52)),
        mu(set1(m.mu52)),
        shift(_mm_cvtsi32_si128(static_cast<int>(52 - m.bits))) {}
  RF_MEMBER V mul_add(V acc, V x, V y) const {
    const V top = hi52(zero(), _mm512_sll_epi64(x, shift), _mm512_slli_epi64(y, 2));
    const V quot = hi52(zero(), top, mu);
    return csub(csub(vand(lo52(lo52(acc, x, y), quot, neg_q), mask), q2), q);
  }
};

/// Barrett product for 2^50 < q < 2^61, b = bits, along the same lines: the high word of
/// (x << 64-b)*(y << 2) is c >> (b-2), taken up to 2 too low, below 2^(b+2); mu = floor(2^(b+62)/q) < 2^63.
/// Below c/q the quotient is by less than 3 * 2^(b-2)/q (first word) + 2^(b+2)/2^64 (mu) + 3 (second word)
/// < 5, so the remainder is below 6q, and below 7q < 2^64 with a canonical addend.
struct Barrett64 {
  V q, q2, q4, mu, mu_h;
  __m128i shift;
  explicit RF_MEMBER Barrett64(const Modulus& m) : Barrett64(m, reciprocal(m)) {}
  RF_MEMBER Barrett64(const Modulus& m, u64 r)
      : q(set1(m.q)),
        q2(set1(2 * m.q)),
        q4(set1(4 * m.q)),
        mu(set1(r)),
        mu_h(set1(r >> 32)),
        shift(_mm_cvtsi32_si128(static_cast<int>(64 - m.bits))) {}
  /// floor(2^(bits+62)/q) from floor(2^128/q).
  static RF_MEMBER u64 reciprocal(const Modulus& m) {
    const unsigned s = 66 - m.bits;  // 5..15
    return (m.ratio_hi << (64 - s)) | (m.ratio_lo >> s);
  }
  RF_MEMBER V mul_add(V acc, V x, V y) const {
    const V ys = _mm512_slli_epi64(y, 2);
    const V top = mulhi_below(_mm512_sll_epi64(x, shift), ys, shr<32>(ys));
    const V quot = mulhi_below(top, mu, mu_h);
    const V r = vadd(acc, vsub(mullo(x, y), mullo(quot, q)));
    return csub(csub(csub(r, q4), q2), q);
  }
};

/// Product for 2^50 < q < 2^54 by quotients in double precision: 22 operations where Barrett's takes 34. The first
/// is below 2^54 and five roundings of 2^-53 each and one to an integer put it off by less than 11; the second
/// leaves at most q/2 + 1.
struct Float54 {
  V q;
  D inverse;
  explicit RF_MEMBER Float54(const Modulus& m)
      : q(set1(m.q)), inverse(_mm512_set1_pd(1.0 / static_cast<double>(m.q))) {}
  RF_MEMBER V mul_add(V acc, V x, V y) const {
    const D product = _mm512_mul_pd(_mm512_cvtepu64_pd(x), _mm512_cvtepu64_pd(y));
    const V first = _mm512_cvtpd_epu64(_mm512_mul_pd(product, inverse));
    V r = vadd(acc, vsub(mullo(x, y), mullo(first, q)));
    const V second = _mm512_cvtpd_epi64(_mm512_mul_pd(_mm512_cvtepi64_pd(r), inverse));
    r = vsub(r, mullo(second, q));
    return vmin(r, vadd(r, q));  // a negative word is the larger one
  }
};

/// Shoup's product with a constant, q < 2^50: a < 2^52, result canonical.
struct Shoup52 {
  V q, neg_q, mask, w, s;
  RF_MEMBER Shoup52(const Factor& f, const Modulus& m)
      : q(set1(m.q)), neg_q(set1((u64{1} << 52) - m.q)), mask(set1(kMask52)), w(set1(f.w)), s(set1(f.w52)) {}
  RF_MEMBER V mul(V a) const { return csub(vand(lo52(lo52(zero(), a, w), hi52(zero(), a, s), neg_q), mask), q); }
};

/// The same for q < 2^61 and any 64-bit a.
struct Shoup64 {
  V q, q2;
  Factor64 f;
  RF_MEMBER Shoup64(const Factor& factor, const Modulus& m)
      : q(set1(m.q)), q2(set1(2 * m.q)), f(factor.w, factor.w64) {}
  RF_MEMBER V mul(V a) const { return csub(csub(f.mul(a, q), q2), q); }
};

/// Any 64-bit a modulo q < 2^50: a = a0 + a1*2^52, both remainders with one quotient, below 3q + 1.
struct Word52 {
  V q, q2, neg_q, mask, one_s, r52, r52_s;
  explicit RF_MEMBER Word52(const Modulus& m) {
    const u64 r = arith::reduce64(u64{1} << 52, m);
    q = set1(m.q);
    q2 = set1(2 * m.q);
    neg_q = set1((u64{1} << 52) - m.q);
    mask = set1(kMask52);
    one_s = set1((u64{1} << 52) / m.q);
    r52 = set1(r);
    r52_s = set1(Sum52::quotient(r, m.q));
  }
  RF_MEMBER V reduce(V a) const {
    const V h = shr<52>(a);
    const V quot = hi52(hi52(zero(), a, one_s), h, r52_s);
    return csub(csub(vand(lo52(lo52(vand(a, mask), h, r52), quot, neg_q), mask), q2), q);
  }
};

/// Any 64-bit a modulo q < 2^61.
struct Word64 {
  V q, q2, s, sh;
  explicit RF_MEMBER Word64(const Modulus& m)
      : q(set1(m.q)), q2(set1(2 * m.q)), s(set1(m.ratio_hi)), sh(set1(m.ratio_hi >> 32)) {}
  RF_MEMBER V reduce(V a) const { return csub(csub(vsub(a, mullo(mulhi_below(a, s, sh), q)), q2), q); }
};

template <class B>
RF_INLINE void mul_loop(u64* dst, const u64* a, const u64* b, size_t n, const B k) {
  for (size_t i = 0; i < n; i += 8) store(dst + i, k.mul_add(zero(), load(a + i), load(b + i)));
}
template <class B>
RF_INLINE void mul_add_loop(u64* dst, const u64* a, const u64* b, size_t n, const B k) {
  for (size_t i = 0; i < n; i += 8) store(dst + i, k.mul_add(load(dst + i), load(a + i), load(b + i)));
}
template <class S>
RF_INLINE void mul_scalar_loop(u64* dst, const u64* a, size_t n, const S k) {
  for (size_t i = 0; i < n; i += 8) store(dst + i, k.mul(load(a + i)));
}
/// a - b may reach down to -4q; the smaller of a - b and a - b + 4q has not wrapped, and is below 4q.
template <class S>
RF_INLINE void sub_mul_loop(u64* dst, const u64* a, const u64* b, size_t n, V q4, const S k) {
  for (size_t i = 0; i < n; i += 8) {
    const V d = vsub(load(a + i), load(b + i));
    store(dst + i, k.mul(vmin(d, vadd(d, q4))));
  }
}
/// dst = (a + offset) mod q.
template <class W>
RF_INLINE void reduce_loop(u64* dst, const void* a, u64 offset, size_t n, const W k) {
  const V c = set1(offset);
  const u64* p = static_cast<const u64*>(a);
  for (size_t i = 0; i < n; i += 8) store(dst + i, k.reduce(vadd(load(p + i), c)));
}

}  // namespace

void add(u64* dst, const u64* a, const u64* b, size_t n, const Modulus& m) noexcept {
  const V q = set1(m.q);
  for (size_t i = 0; i < n; i += 8) store(dst + i, mod_add(load(a + i), load(b + i), q));
}
void sub(u64* dst, const u64* a, const u64* b, size_t n, const Modulus& m) noexcept {
  const V q = set1(m.q);
  for (size_t i = 0; i < n; i += 8) store(dst + i, mod_sub(load(a + i), load(b + i), q));
}
void neg(u64* dst, const u64* a, size_t n, const Modulus& m) noexcept {
  const V q = set1(m.q);
  for (size_t i = 0; i < n; i += 8) store(dst + i, mod_sub(zero(), load(a + i), q));
}
void add_scalar(u64* dst, const u64* a, u64 c, size_t n, const Modulus& m) noexcept {
  const V q = set1(m.q), v = set1(c);
  for (size_t i = 0; i < n; i += 8) store(dst + i, mod_add(load(a + i), v, q));
}
void mul(u64* dst, const u64* a, const u64* b, size_t n, const Modulus& m) noexcept {
  if (fast(m))
    mul_loop(dst, a, b, n, Barrett52(m));
  else if (m.bits <= Half::kBits)
    mul_loop(dst, a, b, n, Float54(m));
  else
    mul_loop(dst, a, b, n, Barrett64(m));
}
void mul_add(u64* dst, const u64* a, const u64* b, size_t n, const Modulus& m) noexcept {
  if (fast(m))
    mul_add_loop(dst, a, b, n, Barrett52(m));
  else if (m.bits <= Half::kBits)
    mul_add_loop(dst, a, b, n, Float54(m));
  else
    mul_add_loop(dst, a, b, n, Barrett64(m));
}
void mul_scalar(u64* dst, const u64* a, const Factor& f, size_t n, const Modulus& m) noexcept {
  fast(m) ? mul_scalar_loop(dst, a, n, Shoup52(f, m)) : mul_scalar_loop(dst, a, n, Shoup64(f, m));
}
void sub_mul_scalar(u64* dst, const u64* a, const u64* b, const Factor& f, size_t n, const Modulus& m) noexcept {
  const V q4 = set1(4 * m.q);
  fast(m) ? sub_mul_loop(dst, a, b, n, q4, Shoup52(f, m)) : sub_mul_loop(dst, a, b, n, q4, Shoup64(f, m));
}
void reduce(u64* dst, const u64* a, size_t n, const Modulus& m) noexcept {
  fast(m) ? reduce_loop(dst, a, 0, n, Word52(m)) : reduce_loop(dst, a, 0, n, Word64(m));
}
void reduce_signed(u64* dst, const i64* a, size_t n, const Modulus& m) noexcept {
  // The first multiple of q from 2^62 on makes every word non-negative: below 2^62 + 2^62 + 2^61.
  const u64 offset = ((u64{1} << 62) / m.q + 1) * m.q;
  fast(m) ? reduce_loop(dst, a, offset, n, Word52(m)) : reduce_loop(dst, a, offset, n, Word64(m));
}

void lift_centered(u64* dst, const u64* src, u64 p, size_t n, const Modulus& m) noexcept {
  // Above p/2, add -p modulo q before the reduction.
  const V half = set1(p / 2), shift = set1(arith::neg(arith::reduce64(p, m), m.q));
  const auto shifted = [=](const u64* x) __attribute__((always_inline)) {
    const V a = load(x);
    return _mm512_mask_add_epi64(a, _mm512_cmpgt_epu64_mask(a, half), a, shift);
  };
  if (fast(m) && p < u64{1} << 51) {  // p + q < 2^52: one word of 52 bits
    const Shoup52 k({1, 0, (u64{1} << 52) / m.q}, m);
    for (size_t i = 0; i < n; i += 8) store(dst + i, k.mul(shifted(src + i)));
  } else if (fast(m)) {
    const Word52 k(m);
    for (size_t i = 0; i < n; i += 8) store(dst + i, k.reduce(shifted(src + i)));
  } else {
    const Word64 k(m);
    for (size_t i = 0; i < n; i += 8) store(dst + i, k.reduce(shifted(src + i)));
  }
}

}  // namespace ringforge::kernels::avx512
