// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Vector helpers and the list of operations of the avx512 set. Everything defined here has internal
// linkage, so that no AVX-512 code can replace a generic copy of a function at link time.
#pragma once

// gcc 12 takes the deliberately undefined pass-through operands inside its own header for mistakes.
#pragma GCC diagnostic push
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#pragma GCC diagnostic pop

#include <cstddef>
#include <cstdint>

#include "ref/arith.hpp"
#include "ringforge/kernels.hpp"

#define RF_INLINE static inline __attribute__((always_inline))
#define RF_MEMBER inline __attribute__((always_inline))

namespace ringforge::kernels::avx512 {

using V = __m512i;
using D = __m512d;
using std::size_t;

// ---- operations, one file per group ---------------------------------------------------------------
void ntt_forward52(u64* dst, const u64* src, const NttTable& t) noexcept;
void ntt_forward_lift52(u64* dst, const u64* src, u64 p, const NttTable& t) noexcept;
void ntt_forward_lift64(u64* dst, const u64* src, u64 p, const NttTable& t) noexcept;
/// For n > kNttTile.
void ntt_packed_head52(u64* dst, u64* work, const std::uint8_t* src, unsigned bits, u64 p, const NttTable& t) noexcept;
void ntt_finish52(u64* x, size_t first, size_t count, const u64* soon, const NttTable& t) noexcept;
void ntt_inverse52(u64* dst, const u64* src, const NttTable& t) noexcept;
void ntt_forward64(u64* dst, const u64* src, const NttTable& t) noexcept;
void ntt_inverse64(u64* dst, const u64* src, const NttTable& t) noexcept;

void add(u64* dst, const u64* a, const u64* b, size_t n, const Modulus& m) noexcept;
void sub(u64* dst, const u64* a, const u64* b, size_t n, const Modulus& m) noexcept;
void neg(u64* dst, const u64* a, size_t n, const Modulus& m) noexcept;
void mul(u64* dst, const u64* a, const u64* b, size_t n, const Modulus& m) noexcept;
void mul_add(u64* dst, const u64* a, const u64* b, size_t n, const Modulus& m) noexcept;
void add_scalar(u64* dst, const u64* a, u64 c, size_t n, const Modulus& m) noexcept;
void mul_scalar(u64* dst, const u64* a, const Factor& f, size_t n, const Modulus& m) noexcept;
void sub_mul_scalar(u64* dst, const u64* a, const u64* b, const Factor& f, size_t n, const Modulus& m) noexcept;
void reduce(u64* dst, const u64* a, size_t n, const Modulus& m) noexcept;
void reduce_signed(u64* dst, const i64* a, size_t n, const Modulus& m) noexcept;

void dot2(u64* out0, u64* out1, const u64* const* x, const u64* const* y0, const u64* const* y1, size_t count,
          bool accumulate, size_t n, const Modulus& m) noexcept;
void dot2_twice(u64* const out[4], const u64* const* x, const u64* const* y0, const u64* const* y1, size_t count,
                size_t n, const Modulus& m) noexcept;
void matmul(u64* out, size_t stride, const u64* a, const u64* b, size_t rows, size_t cols, size_t count,
            const Modulus& m) noexcept;

void automorphism_coeff(u64* dst, const u64* src, u64 g, size_t n, const Modulus& m) noexcept;
void automorphism_eval(u64* dst, const u64* src, const u32* index, size_t n) noexcept;
void automorphism_eval_add(u64* dst, const u64* src, const u32* index, size_t n, const Modulus& m) noexcept;

void lift_centered(u64* dst, const u64* src, u64 p, size_t n, const Modulus& m) noexcept;
void convert_quotient(u64* v, const u64* const* y, const double* inv, size_t k, size_t n) noexcept;
void base_convert(u64* dst, const u64* const* y, const u64* c, size_t k, unsigned y_bits, const u64* v, u64 p_mod_q,
                  size_t n, const Modulus& m) noexcept;
void unpack(u64* dst, const std::uint8_t* src, size_t n, unsigned bits) noexcept;

void fft_forward(double* re, double* im, const FftTable& t) noexcept;
void fft_inverse(double* re, double* im, const FftTable& t) noexcept;
bool scale_round(i64* dst, const double* x, double scale, size_t n) noexcept;

// ---- words ----------------------------------------------------------------------------------------
static constexpr u64 kMask52 = (u64{1} << 52) - 1;

RF_INLINE bool fast(const Modulus& m) { return m.bits <= kFastBits; }

RF_INLINE V load(const void* p) { return _mm512_loadu_si512(p); }
RF_INLINE void store(void* p, V v) { _mm512_storeu_si512(p, v); }
/// Past the caches; p is aligned.
RF_INLINE void stream(void* p, V v) { _mm512_stream_si512(static_cast<V*>(p), v); }
RF_INLINE void prefetch(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T1); }
RF_INLINE V set1(u64 a) { return _mm512_set1_epi64(static_cast<long long>(a)); }
RF_INLINE V zero() { return _mm512_setzero_si512(); }
RF_INLINE V vadd(V a, V b) { return _mm512_add_epi64(a, b); }
RF_INLINE V vsub(V a, V b) { return _mm512_sub_epi64(a, b); }
RF_INLINE V vand(V a, V b) { return _mm512_and_si512(a, b); }
RF_INLINE V vmin(V a, V b) { return _mm512_min_epu64(a, b); }
template <unsigned S>
RF_INLINE V shr(V a) {
  return _mm512_srli_epi64(a, S);
}

/// a in [0, 2k) to [0, k): the wrong one of the two candidates is the larger as an unsigned word.
RF_INLINE V csub(V a, V k) { return vmin(a, vsub(a, k)); }

/// c + low (high) 52 bits of the product of the low 52 bits of a and b.
RF_INLINE V lo52(V c, V a, V b) { return _mm512_madd52lo_epu64(c, a, b); }
RF_INLINE V hi52(V c, V a, V b) { return _mm512_madd52hi_epu64(c, a, b); }

RF_INLINE V mul32(V a, V b) { return _mm512_mul_epu32(a, b); }
RF_INLINE V mullo(V a, V b) { return _mm512_mullo_epi64(a, b); }

/// High word of a*b, at most 2 too low: the product of the low halves and the carries out of the middle
/// are dropped. bh = b >> 32.
RF_INLINE V mulhi_below(V a, V b, V bh) {
  const V ah = shr<32>(a);
  return vadd(mul32(ah, bh), vadd(shr<32>(mul32(ah, b)), shr<32>(mul32(a, bh))));
}

/// Words of `bits` bits, at most 32, without gaps: eight of them are `bits` whole bytes, and each lies within four
/// units of 16 bits from the one where it begins.
struct Unpack {
  unsigned bits;
  V units, shift, mask;
  explicit RF_MEMBER Unpack(unsigned b) : bits(b), mask(set1((u64{1} << b) - 1)) {
    alignas(64) std::uint16_t unit[32];
    alignas(64) u64 offset[8];
    for (unsigned k = 0; k < 8; ++k) {
      for (unsigned u = 0; u < 4; ++u) unit[4 * k + u] = static_cast<std::uint16_t>(k * b / 16 + u);
      offset[k] = k * b % 16;
    }
    units = load(unit);
    shift = load(offset);
  }
  RF_MEMBER V eight(const std::uint8_t* p) const {
    const V x = _mm512_permutexvar_epi16(units, _mm512_maskz_loadu_epi8((u64{1} << bits) - 1, p));
    return vand(_mm512_srlv_epi64(x, shift), mask);
  }
};

/// Interleave two vectors: (a0 b0 a1 b1 ...), and its inverse. Three rounds of `zip` bring the butterfly
/// partners at distance 4, 2, 1 of two blocks of eight into the same lanes, with the twiddles of the
/// lanes in the order of the table (repeated 4, 2, 1 times); the fourth restores the order.
struct Zip {
  V lo, hi;
};
RF_INLINE Zip zip_index() {
  return {_mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0), _mm512_set_epi64(15, 7, 14, 6, 13, 5, 12, 4)};
}
RF_INLINE Zip unzip_index() {
  return {_mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0), _mm512_set_epi64(15, 13, 11, 9, 7, 5, 3, 1)};
}
RF_INLINE void permute_pair(V& a, V& b, const Zip& z) {
  const V c = _mm512_permutex2var_epi64(a, z.lo, b);
  b = _mm512_permutex2var_epi64(a, z.hi, b);
  a = c;
}
RF_INLINE void permute_pair(D& a, D& b, const Zip& z) {
  const D c = _mm512_permutex2var_pd(a, z.lo, b);
  b = _mm512_permutex2var_pd(a, z.hi, b);
  a = c;
}

// ---- reduction of sums of products ----------------------------------------------------------------

/// Constants to reduce a0 + a1*2^52 + a2*2^104 modulo q < 2^50.
struct Sum52 {
  V q, q2, q4, neg_q, mask, one_s, r52, r52_s, r104, r104_s;
  explicit RF_MEMBER Sum52(const Modulus& m) {
    const u64 r = arith::reduce64(u64{1} << 52, m), rr = arith::mul(r, r, m);
    q = set1(m.q);
    q2 = set1(2 * m.q);
    q4 = set1(4 * m.q);
    neg_q = set1((u64{1} << 52) - m.q);
    mask = set1(kMask52);
    one_s = set1((u64{1} << 52) / m.q);
    r52 = set1(r);
    r52_s = set1(quotient(r, m.q));
    r104 = set1(rr);
    r104_s = set1(quotient(rr, m.q));
  }
  static RF_MEMBER u64 quotient(u64 w, u64 q) {
    return static_cast<u64>((static_cast<unsigned __int128>(w) << 52) / q);
  }
  /// a0 any, a1 < 2^64 - 2^12, a2 < 2^40. Without `Top`: a1 + (a0 >> 52) < 2^52 and a2 = 0.
  /// Shoup's remainder of x < 2^52 is below q*(1 + x/2^52): 2q for the middle word, 2q and q + 1 for the
  /// outer two (whose multiplier of 2^104 is below 2^41), hence below 4q < 2^52 before each mask.
  template <bool Top>
  RF_MEMBER V reduce(V a0, V a1, V a2) const {
    a1 = vadd(a1, shr<52>(a0));
    const V r1 = vand(lo52(lo52(zero(), a1, r52), hi52(zero(), a1, r52_s), neg_q), mask);
    V quot = hi52(zero(), a0, one_s);
    V r0 = vand(a0, mask);
    if constexpr (Top) {
      const V h = vadd(a2, shr<52>(a1));
      quot = hi52(quot, h, r104_s);
      r0 = lo52(r0, h, r104);
    }
    r0 = vand(lo52(r0, quot, neg_q), mask);
    return csub(csub(csub(vadd(r0, r1), q4), q2), q);
  }
};

/// A constant factor for the 64-bit path.
struct Factor64 {
  V w, s, sh;
  RF_MEMBER Factor64(u64 factor, u64 shoup) : w(set1(factor)), s(set1(shoup)), sh(set1(shoup >> 32)) {}
  /// Any 64-bit a; result in [0, 4q).
  RF_MEMBER V mul(V a, V q) const { return vsub(mullo(a, w), mullo(mulhi_below(a, s, sh), q)); }
};

/// Constants to reduce a0 + a1*2^52 + a2*2^104 modulo q < 2^61, any 64-bit words.
struct Sum64 {
  V q, q2, q4, one_s, one_sh;
  Factor64 r52, r104;
  explicit RF_MEMBER Sum64(const Modulus& m) : Sum64(m, arith::reduce64(u64{1} << 52, m)) {}
  RF_MEMBER Sum64(const Modulus& m, u64 r) : Sum64(m, r, arith::mul(r, r, m)) {}
  RF_MEMBER Sum64(const Modulus& m, u64 r, u64 rr)
      : q(set1(m.q)),
        q2(set1(2 * m.q)),
        q4(set1(4 * m.q)),
        one_s(set1(m.ratio_hi)),
        one_sh(set1(m.ratio_hi >> 32)),
        r52(r, quotient(r, m.q)),
        r104(rr, quotient(rr, m.q)) {}
  static RF_MEMBER u64 quotient(u64 w, u64 q) {
    return static_cast<u64>((static_cast<unsigned __int128>(w) << 64) / q);
  }
  /// Any 64-bit a to [0, 4q).
  RF_MEMBER V word(V a) const { return vsub(a, mullo(mulhi_below(a, one_s, one_sh), q)); }
  RF_MEMBER V reduce(V a0, V a1) const { return csub(csub(vadd(csub(word(a0), q2), csub(r52.mul(a1, q), q2)), q2), q); }
  RF_MEMBER V reduce(V a0, V a1, V a2) const {
    const V s = vadd(csub(word(a0), q2), csub(r52.mul(a1, q), q2));
    return csub(csub(csub(vadd(s, r104.mul(a2, q)), q4), q2), q);
  }
};

/// Constants to reduce x = a0 + a1*2^52 below 2^59*q modulo q, 2^50 < q < 2^54, by quotients in double precision. The
/// first is below 2^59 and off by less than 2^8 (three roundings of 2^-53 of it, and one to an integer), so the rest
/// is below 2^62 in size; the second leaves at most q/2 + 1.
struct SumFloat {
  static constexpr size_t kMaxTerms = 32;
  V q;
  D inverse, two52;
  explicit RF_MEMBER SumFloat(const Modulus& m)
      : q(set1(m.q)), inverse(_mm512_set1_pd(1.0 / static_cast<double>(m.q))), two52(_mm512_set1_pd(0x1p52)) {}
  RF_MEMBER V reduce(V a0, V a1) const {
    const D x = _mm512_fmadd_pd(_mm512_cvtepu64_pd(a1), two52, _mm512_cvtepu64_pd(a0));
    const V first = _mm512_cvtpd_epu64(_mm512_mul_pd(x, inverse));
    return rest(vsub(vadd(a0, _mm512_slli_epi64(a1, 52)), mullo(first, q)));
  }
  /// x from x modulo 2^64 and from x rounded, its quotient off by less than 2^9 - 1.
  RF_MEMBER V reduce_rounded(V lo, D rounded) const {
    return rest(vsub(lo, mullo(_mm512_cvtpd_epi64(_mm512_mul_pd(rounded, inverse)), q)));
  }
  /// Any signed word.
  RF_MEMBER V rest(V r) const {
    r = vsub(r, mullo(_mm512_cvtpd_epi64(_mm512_mul_pd(_mm512_cvtepi64_pd(r), inverse)), q));
    return vmin(r, vadd(r, q));  // a negative word is the larger one
  }
};

/// Sums of products of residues below 2^54, in halves of 27 bits: vpmuludq runs on two ports, the 52-bit
/// multiply-add on one, and four of the former replace seven of the latter. lo + mid*2^27 + hi*2^54; 128 terms keep
/// lo and hi below 2^61 and mid below 2^62.
struct Half {
  static constexpr unsigned kBits = 54;
  static constexpr size_t kMaxTerms = 128;
  V lo, mid, hi;
  static RF_MEMBER V low(V a) { return vand(a, set1((u64{1} << 27) - 1)); }
  static RF_MEMBER V high(V a) { return shr<27>(a); }
  RF_MEMBER void add(V x, V xh, V y, V yh) {
    lo = vadd(lo, mul32(x, y));
    mid = vadd(vadd(mid, mul32(x, yh)), mul32(xh, y));
    hi = vadd(hi, mul32(xh, yh));
  }
  RF_MEMBER void add(V x, V y) { add(low(x), high(x), low(y), high(y)); }
  template <bool, class K>
  RF_MEMBER V reduce(const K& k) const {
    const V a0 = vadd(lo, _mm512_slli_epi64(vand(mid, set1((u64{1} << 25) - 1)), 27));
    const V a1 = vadd(shr<25>(mid), _mm512_slli_epi64(hi, 2));
    return k.reduce(a0, a1);
  }
};

}  // namespace ringforge::kernels::avx512
