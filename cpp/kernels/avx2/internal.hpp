// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Vector helpers and the list of operations of the avx2 set. Everything defined here has internal linkage,
// so that no AVX2 code can replace a generic copy of a function at link time.
//
// AVX2 multiplies 32-bit words only; a 64-bit product is put together from 3 (low word) or 3 (high word, at
// most 2 too low) of them. It has no unsigned comparison of 64-bit words, so every conditional subtraction
// works on the sign of a difference, and all ranges are such that this is right: |a - k| < 2^63.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "ref/arith.hpp"
#include "ringforge/kernels.hpp"

#define RF_INLINE static inline __attribute__((always_inline))
#define RF_MEMBER inline __attribute__((always_inline))

namespace ringforge::kernels::avx2 {

using V = __m256i;
using D = __m256d;
using std::size_t;

// ---- operations, one file per group ---------------------------------------------------------------
void ntt_forward(u64* dst, const u64* src, const NttTable& t) noexcept;
void ntt_inverse(u64* dst, const u64* src, const NttTable& t) noexcept;
void ntt_forward_double(u64* dst, const u64* src, const NttTable& t) noexcept;  // q < 2^50
void ntt_inverse_double(u64* dst, const u64* src, const NttTable& t) noexcept;

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
RF_INLINE V load(const u64* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
RF_INLINE void store(u64* p, V v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v); }
RF_INLINE V load_twice(const u64* p) {  // (p0 p0 p1 p1)
  return _mm256_permute4x64_epi64(_mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))), 0x50);
}
RF_INLINE V set1(u64 a) { return _mm256_set1_epi64x(static_cast<long long>(a)); }
RF_INLINE V zero() { return _mm256_setzero_si256(); }
RF_INLINE V vadd(V a, V b) { return _mm256_add_epi64(a, b); }
RF_INLINE V vsub(V a, V b) { return _mm256_sub_epi64(a, b); }
RF_INLINE V vand(V a, V b) { return _mm256_and_si256(a, b); }
RF_INLINE V mul32(V a, V b) { return _mm256_mul_epu32(a, b); }
template <int S>
RF_INLINE V shr(V a) {
  return _mm256_srli_epi64(a, S);
}
template <int S>
RF_INLINE V shl(V a) {
  return _mm256_slli_epi64(a, S);
}
/// The high halves where a multiplication reads them. A shuffle, to spare the ports that multiply.
RF_INLINE V high(V a) { return _mm256_shuffle_epi32(a, 0xf5); }

/// Where the sign of s is set a, else b.
RF_INLINE V by_sign(V s, V a, V b) {
  return _mm256_castpd_si256(_mm256_blendv_pd(_mm256_castsi256_pd(b), _mm256_castsi256_pd(a), _mm256_castsi256_pd(s)));
}

/// a in [0, 2k) to [0, k), k < 2^63.
RF_INLINE V csub(V a, V k) {
  const V d = vsub(a, k);
  return by_sign(d, a, d);
}

/// A constant 64-bit multiplier with its high half at hand.
struct Word {
  V lo, hi;
};
RF_INLINE Word word(u64 a) { return {set1(a), set1(a >> 32)}; }
RF_INLINE Word word(V a) { return {a, high(a)}; }

/// High word of a*b, at most 2 too low: the product of the low halves and the carries out of the middle
/// are dropped.
RF_INLINE V mulhi_below(const Word& a, const Word& b) {
  return vadd(mul32(a.hi, b.hi), vadd(shr<32>(mul32(a.hi, b.lo)), shr<32>(mul32(a.lo, b.hi))));
}
/// a*b - c*d modulo 2^64.
RF_INLINE V cross(const Word& a, const Word& b, const Word& c, const Word& d) {
  const V mid = vsub(vadd(mul32(a.hi, b.lo), mul32(a.lo, b.hi)), vadd(mul32(c.hi, d.lo), mul32(c.lo, d.hi)));
  return vadd(vsub(mul32(a.lo, b.lo), mul32(c.lo, d.lo)), shl<32>(mid));
}

/// A constant factor with its Shoup quotient.
struct Shoup {
  Word w, s;
  RF_MEMBER Shoup(u64 factor, u64 quotient) : w(word(factor)), s(word(quotient)) {}
  RF_MEMBER Shoup(V factor, V quotient) : w(word(factor)), s(word(quotient)) {}
  /// Any 64-bit a; result in [0, 4q).
  RF_MEMBER V mul(V a, const Word& q) const {
    const Word x = word(a);
    return cross(x, w, word(mulhi_below(x, s)), q);
  }
};
/// floor(w * 2^64 / q).
RF_INLINE u64 shoup_quotient(u64 w, u64 q) { return static_cast<u64>((static_cast<unsigned __int128>(w) << 64) / q); }

/// Any 64-bit a to [0, 4q), with ratio = floor(2^64 / q).
RF_INLINE V remainder4(V a, const Word& ratio, const Word& q) {
  const Word quot = word(mulhi_below(word(a), ratio));
  const V mid = vadd(mul32(quot.hi, q.lo), mul32(quot.lo, q.hi));
  return vsub(vsub(a, mul32(quot.lo, q.lo)), shl<32>(mid));
}

/// Multiples of q.
struct Moduli {
  Word q;
  V q2, q4;
  explicit RF_MEMBER Moduli(const Modulus& m) : q(word(m.q)), q2(set1(2 * m.q)), q4(set1(4 * m.q)) {}
  RF_MEMBER V canonical4(V a) const { return csub(csub(a, q2), q.lo); }            ///< from [0, 4q)
  RF_MEMBER V canonical8(V a) const { return csub(csub(csub(a, q4), q2), q.lo); }  ///< from [0, 8q)
};

}  // namespace ringforge::kernels::avx2
