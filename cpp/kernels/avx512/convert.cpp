// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Base conversion.
#include "internal.hpp"

namespace ringforge::kernels::avx512 {
namespace {

/// s[0] + s[1]*2^52 + s[2]*2^104 += y*c, with y of Y words of 52 bits and c of C words.
template <int Y, int C>
RF_INLINE void add_product(V s[3], V y, V c, V ch) {
  s[0] = lo52(s[0], y, c);
  s[1] = hi52(s[1], y, c);
  if constexpr (C == 2) {
    s[1] = lo52(s[1], y, ch);
    s[2] = hi52(s[2], y, ch);
  }
  if constexpr (Y == 2) {
    const V yh = shr<52>(y);
    s[1] = lo52(s[1], yh, c);
    s[2] = hi52(s[2], yh, c);
    if constexpr (C == 2) s[2] = lo52(s[2], yh, ch);
  }
}

/// Two vectors at a time, so that the chains of additions overlap. `minus_p` is -P modulo q.
template <int Y, int C, class R>
RF_INLINE void convert(u64* dst, const u64* const* y, const u64* c, size_t k, const u64* v, u64 minus_p, size_t n,
                       const R reduce) {
  const V mp = set1(minus_p), mph = set1(minus_p >> 52);
  for (size_t i = 0; i < n; i += 16) {
    V a[3] = {zero(), zero(), zero()}, b[3] = {zero(), zero(), zero()};
    if (v != nullptr) {
      add_product<1, C>(a, load(v + i), mp, mph);
      add_product<1, C>(b, load(v + i + 8), mp, mph);
    }
    for (size_t d = 0; d < k; ++d) {
      const V f = set1(c[d]), fh = set1(c[d] >> 52);
      add_product<Y, C>(a, load(y[d] + i), f, fh);
      add_product<Y, C>(b, load(y[d] + i + 8), f, fh);
    }
    store(dst + i, reduce(a));
    store(dst + i + 8, reduce(b));
  }
}

/// The same for residues and moduli below 2^54, in halves.
template <class K>
void convert_halves(u64* dst, const u64* const* y, const u64* c, size_t k, const u64* v, u64 minus_p, size_t n,
                    const K& sum) {
  const V mp = set1(minus_p), mpl = Half::low(mp), mph = Half::high(mp);
  u64 low[64], high[64];
  for (size_t d = 0; d < k; ++d) {
    low[d] = c[d] & ((u64{1} << 27) - 1);
    high[d] = c[d] >> 27;
  }
  for (size_t i = 0; i < n; i += 16) {
    Half a{zero(), zero(), zero()}, b = a;
    if (v != nullptr) {
      a.add(load(v + i), zero(), mpl, mph);
      b.add(load(v + i + 8), zero(), mpl, mph);
    }
    for (size_t d = 0; d < k; ++d) {
      const V fl = set1(low[d]), fh = set1(high[d]), ya = load(y[d] + i), yb = load(y[d] + i + 8);
      a.add(Half::low(ya), Half::high(ya), fl, fh);
      b.add(Half::low(yb), Half::high(yb), fl, fh);
    }
    store(dst + i, a.template reduce<true>(sum));
    store(dst + i + 8, b.template reduce<true>(sum));
  }
}

}  // namespace

void convert_quotient(u64* v, const u64* const* y, const double* inv, size_t k, size_t n) noexcept {
  const D half = _mm512_set1_pd(0.5);
  for (size_t i = 0; i < n; i += 16) {
    D s = _mm512_setzero_pd(), t = _mm512_setzero_pd();
    for (size_t d = 0; d < k; ++d) {
      const D f = _mm512_set1_pd(inv[d]);
      s = _mm512_add_pd(s, _mm512_mul_pd(_mm512_cvtepu64_pd(load(y[d] + i)), f));
      t = _mm512_add_pd(t, _mm512_mul_pd(_mm512_cvtepu64_pd(load(y[d] + i + 8)), f));
    }
    // The sums are not negative, so truncation is the floor.
    store(v + i, _mm512_cvttpd_epu64(_mm512_add_pd(s, half)));
    store(v + i + 8, _mm512_cvttpd_epu64(_mm512_add_pd(t, half)));
  }
}

void base_convert(u64* dst, const u64* const* y, const u64* c, size_t k, unsigned y_bits, const u64* v, u64 p_mod_q,
                  size_t n, const Modulus& m) noexcept {
  const u64 minus_p = arith::neg(p_mod_q, m.q);
  if (fast(m)) {
    const Sum52 sum(m);
    const auto short_sum = [sum](const V s[3]) __attribute__((always_inline)) {
      return sum.template reduce<false>(s[0], s[1], zero());
    };
    const auto long_sum = [sum](const V s[3])
                              __attribute__((always_inline)) { return sum.template reduce<true>(s[0], s[1], s[2]); };
    if (y_bits <= 52 && k <= 3)  // high words: 3 * 2^50, 2^14 from v, a carry
      convert<1, 1>(dst, y, c, k, v, minus_p, n, short_sum);
    else if (y_bits <= 52)
      convert<1, 1>(dst, y, c, k, v, minus_p, n, long_sum);
    else
      convert<2, 1>(dst, y, c, k, v, minus_p, n, long_sum);
  } else {
    const Sum64 sum(m);
    if (y_bits <= Half::kBits && m.bits <= Half::kBits) {
      if (k < SumFloat::kMaxTerms) return convert_halves(dst, y, c, k, v, minus_p, n, SumFloat(m));
      return convert_halves(dst, y, c, k, v, minus_p, n, sum);
    }
    const auto full_sum = [sum](const V s[3]) __attribute__((always_inline)) { return sum.reduce(s[0], s[1], s[2]); };
    if (y_bits <= 52)
      convert<1, 2>(dst, y, c, k, v, minus_p, n, full_sum);
    else
      convert<2, 2>(dst, y, c, k, v, minus_p, n, full_sum);
  }
}

void unpack(u64* dst, const std::uint8_t* src, size_t n, unsigned bits) noexcept {
  const Unpack words(bits);
  for (size_t i = 0; i < n; i += 8, src += bits) store(dst + i, words.eight(src));
}

}  // namespace ringforge::kernels::avx512
