// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Eight lanes of one AVX-512 register, products by the IFMA instructions. Everything here but the table has internal
// linkage: no AVX-512 code can replace a generic copy of a function at link time.
#pragma GCC diagnostic push
#if defined(__GNUC__) && !defined(__clang__)
// gcc 12 takes the deliberately undefined pass-through operands inside its own header for mistakes.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#pragma GCC diagnostic pop

#include "../lanes_impl.hpp"

namespace ringforge::oprf {
namespace {

struct Avx512 {
  using U = __m512i;
  using M = __mmask8;

#define RF_LANE static inline __attribute__((always_inline))
  RF_LANE U set(u64 v) noexcept { return _mm512_set1_epi64(static_cast<long long>(v)); }
  RF_LANE U load(const u64* p) noexcept { return _mm512_loadu_si512(p); }
  RF_LANE void store(u64* p, U a) noexcept { _mm512_storeu_si512(p, a); }
  RF_LANE U add(U a, U b) noexcept { return _mm512_add_epi64(a, b); }
  RF_LANE U sub(U a, U b) noexcept { return _mm512_sub_epi64(a, b); }
  RF_LANE U bit_and(U a, U b) noexcept { return _mm512_and_si512(a, b); }
  RF_LANE U bit_or(U a, U b) noexcept { return _mm512_or_si512(a, b); }
  RF_LANE U bit_xor(U a, U b) noexcept { return _mm512_xor_si512(a, b); }
  template <unsigned n>
  RF_LANE U left(U a) noexcept {
    return _mm512_slli_epi64(a, n);
  }
  template <unsigned n>
  RF_LANE U right(U a) noexcept {
    return _mm512_srli_epi64(a, n);
  }
  RF_LANE U right(U a, unsigned n) noexcept { return _mm512_srl_epi64(a, _mm_cvtsi32_si128(static_cast<int>(n))); }
  template <unsigned n>
  RF_LANE U rotate(U a) noexcept {
    return _mm512_ror_epi64(a, n);
  }
  RF_LANE U xor3(U a, U b, U c) noexcept { return _mm512_ternarylogic_epi64(a, b, c, 0x96); }
  RF_LANE U choose(U a, U b, U c) noexcept { return _mm512_ternarylogic_epi64(a, b, c, 0xca); }
  RF_LANE U majority(U a, U b, U c) noexcept { return _mm512_ternarylogic_epi64(a, b, c, 0xe8); }
  RF_LANE U madd_low(U acc, U a, U b) noexcept { return _mm512_madd52lo_epu64(acc, a, b); }
  RF_LANE U madd_high(U acc, U a, U b) noexcept { return _mm512_madd52hi_epu64(acc, a, b); }
  RF_LANE U times(U a, u64 b) noexcept {
    // Left to itself, the compiler makes shifts and sums of a known factor: five instructions in place of one.
    U factor = set(b);
    asm("" : "+v"(factor));
    return _mm512_mullo_epi64(a, factor);
  }
  RF_LANE M equal(U a, U b) noexcept { return _mm512_cmpeq_epi64_mask(a, b); }
  RF_LANE M less(U a, U b) noexcept { return _mm512_cmplt_epu64_mask(a, b); }
  RF_LANE M both(M a, M b) noexcept { return static_cast<M>(a & b); }
  RF_LANE M either(M a, M b) noexcept { return static_cast<M>(a | b); }
  RF_LANE M opposite(M a) noexcept { return static_cast<M>(~a); }
  RF_LANE U select(M m, U a, U b) noexcept { return _mm512_mask_mov_epi64(b, m, a); }
  RF_LANE unsigned bits(M m) noexcept { return m; }
#undef RF_LANE
};

}  // namespace

const Lanes& avx512_lanes() noexcept {
  static constexpr Lanes table = Batch<Avx512>::table("avx512");
  return table;
}

}  // namespace ringforge::oprf
