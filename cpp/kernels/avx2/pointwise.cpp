// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Pointwise operations: sums, products, scalar products, reductions.
#include "internal.hpp"

namespace ringforge::kernels::avx2 {
namespace {

RF_INLINE V mod_add(V a, V b, V q) { return csub(vadd(a, b), q); }
RF_INLINE V mod_sub(V a, V b, V q) {
  const V d = vsub(a, b);
  return by_sign(d, vadd(d, q), d);
}

/// Barrett product, b = bits. c = x*y < 2^(2b); the high word of (x << 64-b)*(y << 2) is c >> (b-2), taken
/// up to 2 too low, below 2^(b+2); mu = floor(2^(b+62)/q) < 2^63. Below c/q the quotient is by less than
/// 3 * 2^(b-2)/q (first word) + 2^(b+2)/2^64 (mu) + 3 (second word) < 5, so the remainder is below 5q + q,
/// and below 7q with a canonical addend.
struct Barrett {
  Moduli m;
  Word mu;
  __m128i shift;
  explicit RF_MEMBER Barrett(const Modulus& mod)
      : m(mod), mu(word(reciprocal(mod))), shift(_mm_cvtsi32_si128(static_cast<int>(64 - mod.bits))) {}
  /// floor(2^(bits+62)/q) from floor(2^128/q).
  static RF_MEMBER u64 reciprocal(const Modulus& m) {
    const unsigned s = 66 - m.bits;  // 5..49
    return (m.ratio_hi << (64 - s)) | (m.ratio_lo >> s);
  }
  RF_MEMBER V mul_add(V acc, V x, V y) const {
    const V top = mulhi_below(word(_mm256_sll_epi64(x, shift)), word(shl<2>(y)));
    const V quot = mulhi_below(word(top), mu);
    return m.canonical8(vadd(acc, cross(word(x), word(y), word(quot), m.q)));
  }
};

/// dst = (a + offset) mod q, any 64-bit a + offset.
RF_INLINE void reduce_loop(u64* dst, const u64* a, u64 offset, size_t n, const Modulus& mod) {
  const Moduli m(mod);
  const Word ratio = word(mod.ratio_hi);
  const V c = set1(offset);
  for (size_t i = 0; i < n; i += 4) store(dst + i, m.canonical4(remainder4(vadd(load(a + i), c), ratio, m.q)));
}

}  // namespace

void add(u64* dst, const u64* a, const u64* b, size_t n, const Modulus& m) noexcept {
  const V q = set1(m.q);
  for (size_t i = 0; i < n; i += 4) store(dst + i, mod_add(load(a + i), load(b + i), q));
}
void sub(u64* dst, const u64* a, const u64* b, size_t n, const Modulus& m) noexcept {
  const V q = set1(m.q);
  for (size_t i = 0; i < n; i += 4) store(dst + i, mod_sub(load(a + i), load(b + i), q));
}
void neg(u64* dst, const u64* a, size_t n, const Modulus& m) noexcept {
  const V q = set1(m.q);
  for (size_t i = 0; i < n; i += 4) store(dst + i, mod_sub(zero(), load(a + i), q));
}
void add_scalar(u64* dst, const u64* a, u64 c, size_t n, const Modulus& m) noexcept {
  const V q = set1(m.q), v = set1(c);
  for (size_t i = 0; i < n; i += 4) store(dst + i, mod_add(load(a + i), v, q));
}
void mul(u64* dst, const u64* a, const u64* b, size_t n, const Modulus& m) noexcept {
  const Barrett k(m);
  for (size_t i = 0; i < n; i += 4) store(dst + i, k.mul_add(zero(), load(a + i), load(b + i)));
}
void mul_add(u64* dst, const u64* a, const u64* b, size_t n, const Modulus& m) noexcept {
  const Barrett k(m);
  for (size_t i = 0; i < n; i += 4) store(dst + i, k.mul_add(load(dst + i), load(a + i), load(b + i)));
}
void mul_scalar(u64* dst, const u64* a, const Factor& f, size_t n, const Modulus& mod) noexcept {
  const Moduli m(mod);
  const Shoup k(f.w, f.w64);
  for (size_t i = 0; i < n; i += 4) store(dst + i, m.canonical4(k.mul(load(a + i), m.q)));
}
void sub_mul_scalar(u64* dst, const u64* a, const u64* b, const Factor& f, size_t n, const Modulus& mod) noexcept {
  const Moduli m(mod);
  const Shoup k(f.w, f.w64);
  for (size_t i = 0; i < n; i += 4)
    store(dst + i, m.canonical4(k.mul(vsub(vadd(load(a + i), m.q4), load(b + i)), m.q)));
}
void reduce(u64* dst, const u64* a, size_t n, const Modulus& m) noexcept { reduce_loop(dst, a, 0, n, m); }
void reduce_signed(u64* dst, const i64* a, size_t n, const Modulus& m) noexcept {
  // The first multiple of q from 2^62 on makes every word non-negative: below 2^62 + 2^62 + 2^61.
  const u64 offset = ((u64{1} << 62) / m.q + 1) * m.q;
  reduce_loop(dst, reinterpret_cast<const u64*>(a), offset, n, m);
}

void lift_centered(u64* dst, const u64* src, u64 p, size_t n, const Modulus& mod) noexcept {
  // Above p/2, add -p modulo q before the reduction.
  const Moduli m(mod);
  const Word ratio = word(mod.ratio_hi);
  const V half = set1(p / 2), shift = set1(arith::neg(arith::reduce64(p, mod), mod.q));
  for (size_t i = 0; i < n; i += 4) {
    const V a = load(src + i), s = vand(_mm256_cmpgt_epi64(a, half), shift);
    store(dst + i, m.canonical4(remainder4(vadd(a, s), ratio, m.q)));
  }
}

}  // namespace ringforge::kernels::avx2
