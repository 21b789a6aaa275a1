// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Residues below 2^31 in 16 lanes of 32 bits, and their products in the even and the odd lanes separately.
#pragma once

#include "small_lanes.hpp"
#include "small_ntt.hpp"

namespace ringforge::kernels::avx512 {
namespace {

using L = Lanes<u32>;
RF_INLINE V csub32(V a, V k) { return L::min(a, L::sub(a, k)); }  ///< [0, 2k) to [0, k), 2k < 2^32
RF_INLINE V high32(V a) { return _mm512_shuffle_epi32(a, static_cast<_MM_PERM_ENUM>(0xf5)); }
/// The low halves of even and odd to the even and the odd lanes.
RF_INLINE V merge(V even, V odd) {
  return _mm512_mask_shuffle_epi32(even, 0xaaaa, odd, static_cast<_MM_PERM_ENUM>(0xa0));
}
struct Reduced {  ///< [0, 2q)
  RF_MEMBER void operator()(const Lazy& a, u32* p, V even, V odd) const {
    store(p, merge(a.reduce(even), a.reduce(odd)));
  }
};
struct Canonical {
  V q;
  RF_MEMBER void operator()(const Lazy& a, u32* p, V even, V odd) const {
    store(p, csub32(merge(a.reduce(even), a.reduce(odd)), q));
  }
};

/// Remainders of words x = [high*2^32 +] low by a quotient in double precision: below 2^45, and right up to a rounding
/// far smaller than 1, so that the rest is in [-q/2 - 1, q/2 + 1].
struct Remainder {
  V q, q32;
  D inverse, magic, two32;
  RF_MEMBER explicit Remainder(u32 modulus)
      : q(set1(modulus)),
        q32(L::set(modulus)),
        inverse(_mm512_set1_pd(1.0 / modulus)),
        magic(_mm512_set1_pd(0x1.8p52)),
        two32(_mm512_set1_pd(0x1p32)) {}
  RF_MEMBER V rest(V low, D x) const {
    const V quot = _mm512_castpd_si512(_mm512_fmadd_pd(x, inverse, magic));
    return vsub(low, mul32(quot, q));
  }
  RF_MEMBER V rest(V x) const { return rest(x, _mm512_cvtepu64_pd(x)); }
  RF_MEMBER V rest(V low, V high) const {
    return rest(low, _mm512_fmadd_pd(_mm512_cvtepu64_pd(high), two32, _mm512_cvtepu64_pd(low)));
  }
  RF_MEMBER V canonical(V even, V odd) const { return wrap<u32>(merge(even, odd), q32); }
};
RF_INLINE V product(V x, V y, V yh, const Remainder& r) {
  return r.canonical(r.rest(mul32(x, y)), r.rest(mul32(high32(x), yh)));
}

}  // namespace
}  // namespace ringforge::kernels::avx512
