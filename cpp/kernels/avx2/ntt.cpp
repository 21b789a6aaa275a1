// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Number-theoretic transforms on 64-bit words, for all q < 2^61. Primes below 2^50 take ntt_double.cpp.
//
// Ranges: every word is below K*q, K*q <= 2^64, a product below 4q.
#include "ntt_walk.hpp"

namespace ringforge::kernels::avx2 {
namespace {

/// K = 8 for q < 2^61, K = 16 for q < 2^60. Every pass is entered at K: its first level brings x to K/2, its second
/// if K = 8.
template <unsigned K>
struct Words {
  using Vec = V;
  using Tw = Shoup;
  const u64 *w, *s;
  Moduli m;
  V half;
  Shoup n_inv, n_inv_w;

  RF_MEMBER Words(const NttTable& t, bool inverse)
      : w(inverse ? t.iw : t.w),
        s(inverse ? t.iw64 : t.w64),
        m(t.mod),
        half(set1(K / 2 * t.mod.q)),
        n_inv(t.n_inv.w, t.n_inv.w64),
        n_inv_w(t.n_inv_w.w, t.n_inv_w.w64) {}

  static RF_MEMBER V load(const u64* p) { return avx2::load(p); }
  static RF_MEMBER void store(u64* p, V v) { avx2::store(p, v); }
  RF_MEMBER V first(const u64* p) const { return load(p); }
  RF_MEMBER V first_inverse(const u64* p) const { return load(p); }

  RF_MEMBER Shoup tw1(size_t i) const { return {w[i], s[i]}; }
  RF_MEMBER Shoup tw2(size_t i) const { return {load_twice(w + i), load_twice(s + i)}; }
  RF_MEMBER Shoup tw4(size_t i) const { return {load(w + i), load(s + i)}; }

  template <bool Second>
  RF_MEMBER void fwd(V& x, V& y, const Shoup& t) const {
    if constexpr (!Second || K == 8) x = csub(x, half);
    const V v = t.mul(y, m.q);
    y = vsub(vadd(x, m.q4), v);
    x = vadd(x, v);
  }
  RF_MEMBER void last_fwd(V& x, V& y, const Shoup& t) const {
    if constexpr (K == 16) x = csub(x, half);
    const V u = csub(x, m.q4), v = t.mul(y, m.q);
    x = m.canonical8(vadd(u, v));
    y = m.canonical8(vsub(vadd(u, m.q4), v));
  }
  /// Operands below K/2, products below 4; a sum of more than K/2 is brought below K/2.
  template <unsigned S>
  static constexpr unsigned kBelow = S == 2 ? 4 : K / 2;
  template <unsigned S>
  RF_MEMBER V difference(V x, V y) const {
    return vsub(vadd(x, kBelow<S> == 4 ? m.q4 : half), y);
  }
  template <unsigned S>
  RF_MEMBER void inv(V& x, V& y, const Shoup& t) const {
    const V d = difference<S>(x, y);
    x = vadd(x, y);
    if constexpr (2 * kBelow<S> > K / 2) x = csub(x, half);
    y = t.mul(d, m.q);
  }
  template <unsigned S>
  RF_MEMBER void last_inv(V& x, V& y) const {
    const V d = difference<S>(x, y);
    x = m.canonical4(n_inv.mul(vadd(x, y), m.q));
    y = m.canonical4(n_inv_w.mul(d, m.q));
  }
};

}  // namespace

void ntt_forward(u64* dst, const u64* src, const NttTable& t) noexcept {
  if (t.w52 != nullptr) return ntt_forward_double(dst, src, t);
  t.mod.bits < kMaxBits ? forward<Words<16>>(dst, src, t) : forward<Words<8>>(dst, src, t);
}
void ntt_inverse(u64* dst, const u64* src, const NttTable& t) noexcept {
  if (t.iw52 != nullptr) return ntt_inverse_double(dst, src, t);
  t.mod.bits < kMaxBits ? inverse<Words<16>>(dst, src, t) : inverse<Words<8>>(dst, src, t);
}

}  // namespace ringforge::kernels::avx2
