// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Automorphisms in both forms.
#include "internal.hpp"

namespace ringforge::kernels::avx512 {
namespace {

/// The block of 8 that feeds dst[i..i+7], in order. vpermq reads the low 3 bits of each index.
RF_INLINE V permuted(const u64* src, const u32* index) {
  const V order = _mm512_cvtepu32_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(index)));
  return _mm512_permutexvar_epi64(order, load(src + (*index & ~u32{7})));
}

}  // namespace

void automorphism_coeff(u64* dst, const u64* src, u64 g, size_t n, const Modulus& m) noexcept {
  // dst[j] = +-src[i] for the i with i*g = j or j + n modulo 2n, that is i = j/g modulo 2n, minus n (and
  // the sign) if that is n or more. Newton's iteration doubles the correct bits of 1/g from 3.
  u64 inv = g;
  for (int i = 0; i < 5; ++i) inv *= 2 - g * inv;
  const V q = set1(m.q), high = set1(n), low = set1(n - 1), step = set1(8 * inv);
  V e = mullo(set1(inv), _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0));
  for (size_t i = 0; i < n; i += 8) {
    const V a = _mm512_i64gather_epi64(vand(e, low), src, 8);
    const __mmask8 negative = _mm512_test_epi64_mask(e, high) & _mm512_test_epi64_mask(a, a);
    store(dst + i, _mm512_mask_sub_epi64(a, negative, q, a));
    e = vadd(e, step);
  }
}

void automorphism_eval(u64* dst, const u64* src, const u32* index, size_t n) noexcept {
  for (size_t i = 0; i < n; i += 8) store(dst + i, permuted(src, index + i));
}

void automorphism_eval_add(u64* dst, const u64* src, const u32* index, size_t n, const Modulus& m) noexcept {
  const V q = set1(m.q);
  for (size_t i = 0; i < n; i += 8) store(dst + i, csub(vadd(load(dst + i), permuted(src, index + i)), q));
}

}  // namespace ringforge::kernels::avx512
