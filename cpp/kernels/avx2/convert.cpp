// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Base conversion.
#include "internal.hpp"

namespace ringforge::kernels::avx2 {
namespace {

constexpr size_t kMaxPrimes = 64;
constexpr double kTwo52 = 4503599627370496.0;
constexpr u64 kTwo52Bits = 0x4330000000000000, kTwo84Bits = 0x4530000000000000;

/// Any unsigned word to the nearest double: its halves are placed below 2^84 and 2^52; one addition rounds.
RF_INLINE D to_double(V a) {
  const V hi = _mm256_or_si256(shr<32>(a), set1(kTwo84Bits));
  const V lo = _mm256_blend_epi32(a, set1(kTwo52Bits), 0xaa);
  const D offset = _mm256_set1_pd(19342813118337666422669312.0);  // 2^84 + 2^52
  return _mm256_add_pd(_mm256_sub_pd(_mm256_castsi256_pd(hi), offset), _mm256_castsi256_pd(lo));
}

}  // namespace

void convert_quotient(u64* v, const u64* const* y, const double* inv, size_t k, size_t n) noexcept {
  const D half = _mm256_set1_pd(0.5), two52 = _mm256_set1_pd(kTwo52);
  for (size_t i = 0; i < n; i += 4) {
    D s = _mm256_setzero_pd();
    for (size_t d = 0; d < k; ++d)
      s = _mm256_add_pd(s, _mm256_mul_pd(to_double(load(y[d] + i)), _mm256_set1_pd(inv[d])));
    // The sum is at most k: added to 2^52, the floor stands in the low bits.
    const D f = _mm256_add_pd(_mm256_floor_pd(_mm256_add_pd(s, half)), two52);
    store(v + i, _mm256_xor_si256(_mm256_castpd_si256(f), set1(kTwo52Bits)));
  }
}

void base_convert(u64* dst, const u64* const* y, const u64* c, size_t k, unsigned /*y_bits*/, const u64* v, u64 p_mod_q,
                  size_t n, const Modulus& mod) noexcept {
  // Shoup products in [0, 4q) on a sum kept below 4q.
  const Moduli m(mod);
  u64 quotient[kMaxPrimes];
  for (size_t d = 0; d < k; ++d) quotient[d] = shoup_quotient(c[d], mod.q);
  const u64 minus_p = arith::neg(p_mod_q, mod.q);
  const Shoup mp(minus_p, shoup_quotient(minus_p, mod.q));
  for (size_t i = 0; i < n; i += 8) {
    V s = zero(), t = zero();
    if (v != nullptr) {
      s = mp.mul(load(v + i), m.q);
      t = mp.mul(load(v + i + 4), m.q);
    }
    for (size_t d = 0; d < k; ++d) {
      const Shoup f(c[d], quotient[d]);
      s = csub(vadd(s, f.mul(load(y[d] + i), m.q)), m.q4);
      t = csub(vadd(t, f.mul(load(y[d] + i + 4), m.q)), m.q4);
    }
    store(dst + i, m.canonical4(s));
    store(dst + i + 4, m.canonical4(t));
  }
}

void unpack(u64* dst, const std::uint8_t* src, size_t n, unsigned bits) noexcept {
  const u64 mask = (u64{1} << bits) - 1;
  const auto word = [&](const std::uint8_t* bytes, size_t at) {
    u64 w;
    __builtin_memcpy(&w, bytes + at / 8, sizeof(w));  // 7 bits of offset and 32 fit
    return w >> (at % 8) & mask;
  };
  // All but the last words, whose eight bytes could end beyond the array: those from a copy of its end.
  const size_t bytes = n * bits / 8, direct = bytes < 8 ? 0 : (bytes - 8) * 8 / bits;
  for (size_t i = 0; i < direct; ++i) dst[i] = word(src, i * bits);
  std::uint8_t end[80] = {};  // at most 16 words of 32 bits, and 8 bytes
  const size_t from = direct * bits / 8;
  __builtin_memcpy(end, src + from, bytes - from);
  for (size_t i = direct; i < n; ++i) dst[i] = word(end, i * bits - 8 * from);
}

}  // namespace ringforge::kernels::avx2
