// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Number-theoretic transforms for q < 2^61 on 64-bit words, and the small lengths.
//
// Shoup's product with a quotient that may be 2 too low (see mulhi_below) lies in [0, 4q); 8q < 2^64.
#include "ntt_impl.hpp"

namespace ringforge::kernels::avx512 {
namespace {

/// K = 8 for q < 2^61, K = 16 for q < 2^60.
template <unsigned K>
struct Word64 {
  static constexpr unsigned kLimit = K, kGrow = 4;
  struct Tw {
    V w, s, sh;
  };

  const u64 *tw, *tw_s;
  V q, q2, q4, q8;
  Factor64 n_inv, n_inv_w;

  static const u64* quotients(const NttTable& t) { return t.w64; }
  static const u64* inverse_quotients(const NttTable& t) { return t.iw64; }

  RF_MEMBER Word64(const NttTable& t, const u64* w, const u64* s)
      : tw(w),
        tw_s(s),
        q(set1(t.mod.q)),
        q2(set1(2 * t.mod.q)),
        q4(set1(4 * t.mod.q)),
        q8(set1(8 * t.mod.q)),
        n_inv(t.n_inv.w, t.n_inv.w64),
        n_inv_w(t.n_inv_w.w, t.n_inv_w.w64) {}

  RF_MEMBER Tw make(V w, V s) const { return {w, s, shr<32>(s)}; }
  RF_MEMBER Tw tw1(size_t i) const { return make(set1(tw[i]), set1(tw_s[i])); }
  RF_MEMBER Tw tw2(size_t i) const { return make(pair(tw + i), pair(tw_s + i)); }
  RF_MEMBER Tw tw4(size_t i) const { return make(quad(tw + i), quad(tw_s + i)); }
  RF_MEMBER Tw tw8(size_t i) const { return make(load(tw + i), load(tw_s + i)); }
  static RF_MEMBER V pair(const u64* p) {
    return _mm512_broadcast_i64x2(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static RF_MEMBER V quad(const u64* p) {
    return _mm512_broadcast_i64x4(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }

  RF_MEMBER V half() const { return K == 8 ? q4 : q8; }
  RF_MEMBER V mul(V y, const Tw& t) const { return vsub(mullo(y, t.w), mullo(mulhi_below(y, t.s, t.sh), q)); }
  RF_MEMBER V canonical4(V x) const { return csub(csub(x, q2), q); }

  template <bool Reduce>
  RF_MEMBER void fwd(V& x, V& y, const Tw& t) const {
    if constexpr (Reduce) x = csub(x, half());
    const V v = mul(y, t);
    y = vsub(vadd(x, q4), v);
    x = vadd(x, v);
  }
  template <unsigned R>
  RF_MEMBER void last_fwd(V& x, V& y, const Tw& t) const {
    if constexpr (R > 8) x = csub(x, q8);
    const V u = csub(x, q4), v = mul(y, t);
    x = canonical4(csub(vadd(u, v), q4));
    y = canonical4(csub(vsub(vadd(u, q4), v), q4));
  }

  template <unsigned R>
  RF_MEMBER V difference(V x, V y) const {
    static_assert(R == 4 || R == 8);
    return vsub(vadd(x, R == 4 ? q4 : q8), y);
  }
  template <unsigned R>
  RF_MEMBER void inv(V& x, V& y, const Tw& t) const {
    const V d = difference<R>(x, y);
    x = vadd(x, y);
    if constexpr (2 * R > K / 2) x = csub(x, half());
    y = mul(d, t);
  }
  template <unsigned R>
  RF_MEMBER void last_inv(V& x, V& y) const {
    const V d = difference<R>(x, y);
    x = canonical4(n_inv.mul(vadd(x, y), q));
    y = canonical4(n_inv_w.mul(d, q));
  }
};

// n < 64: plain loops.
void small_forward(u64* dst, const u64* src, const NttTable& t) {
  using arith::mul_lazy;
  using arith::once;
  const u64 q = t.mod.q, q2 = 2 * q;
  for (size_t i = 0; i < t.n; ++i) dst[i] = src[i];
  for (size_t m = 1, len = t.n / 2; m < t.n; m *= 2, len /= 2)
    for (size_t i = 0; i < m; ++i)
      for (size_t j = 2 * i * len; j < (2 * i + 1) * len; ++j) {
        const u64 u = once(dst[j], q2), v = mul_lazy(dst[j + len], t.w[m + i], t.w64[m + i], q);
        dst[j] = u + v;
        dst[j + len] = u - v + q2;
      }
  for (size_t i = 0; i < t.n; ++i) dst[i] = once(once(dst[i], q2), q);
}

void small_inverse(u64* dst, const u64* src, const NttTable& t) {
  using arith::mul_factor;
  using arith::mul_lazy;
  using arith::once;
  const u64 q = t.mod.q, q2 = 2 * q;
  const size_t half = t.n / 2;
  for (size_t i = 0; i < t.n; ++i) dst[i] = src[i];
  for (size_t m = half, len = 1; m > 1; m /= 2, len *= 2)
    for (size_t i = 0; i < m; ++i)
      for (size_t j = 2 * i * len; j < (2 * i + 1) * len; ++j) {
        const u64 u = dst[j], v = dst[j + len];
        dst[j] = once(u + v, q2);
        dst[j + len] = mul_lazy(u - v + q2, t.iw[m + i], t.iw64[m + i], q);
      }
  for (size_t j = 0; j < half; ++j) {
    const u64 u = dst[j], v = dst[j + half];
    dst[j] = mul_factor(u + v, t.n_inv, q);
    dst[j + half] = mul_factor(u - v + q2, t.n_inv_w, q);
  }
}

}  // namespace

void ntt_forward64(u64* dst, const u64* src, const NttTable& t) noexcept {
  if (t.log_n < kTailLog) return small_forward(dst, src, t);
  t.mod.bits < kMaxBits ? forward<Word64<16>>(dst, src, t) : forward<Word64<8>>(dst, src, t);
}
void ntt_forward_lift64(u64* dst, const u64* src, u64 p, const NttTable& t) noexcept {
  if (t.log_n <= kTailLog || p / 2 >= t.mod.q) {  // too short, or p so large that a centred residue exceeds q
    lift_centered(dst, src, p, t.n, t.mod);
    return ntt_forward64(dst, dst, t);
  }
  const Lift in(p, t.mod.q);
  t.mod.bits < kMaxBits ? forward<Word64<16>>(dst, src, t, in) : forward<Word64<8>>(dst, src, t, in);
}
void ntt_inverse64(u64* dst, const u64* src, const NttTable& t) noexcept {
  if (t.log_n < kTailLog) return small_inverse(dst, src, t);
  t.mod.bits < kMaxBits ? inverse<Word64<16>>(dst, src, t) : inverse<Word64<8>>(dst, src, t);
}

}  // namespace ringforge::kernels::avx512
