// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The avx2 kernels of small rings. Words of 32 bits: 8 lanes, Shoup products with quotients from the even and
// the odd lanes. Words of 64 bits: what large rings use, and plain loops.
#include "internal.hpp"
#include "sets.hpp"
#include "words32.hpp"

namespace ringforge::kernels {
namespace avx2 {
namespace {

using T = SmallNtt<u32>;

// ---- sums of products -----------------------------------------------------------------------------

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
  const Tw f(c, static_cast<u32>((u64{c} << 32) / t.q));
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
                                     forward32<T>,
                                     inverse32<T>,
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
