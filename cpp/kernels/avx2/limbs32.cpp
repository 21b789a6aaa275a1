// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Limbs of large rings in words of 32 bits, 8 lanes.
#include <algorithm>

#include "sets.hpp"
#include "words32.hpp"

namespace ringforge::kernels {
namespace avx2 {
namespace {

constexpr unsigned kMinLog = 5;  // shorter transforms run in plain code

void ntt_forward(u32* dst, const u32* src, const NttTable32& t) noexcept {
  t.log_n < kMinLog ? ref_kernels32().ntt_forward(dst, src, t) : forward32(dst, src, t);
}
void ntt_inverse(u32* dst, const u32* src, const NttTable32& t) noexcept {
  t.log_n < kMinLog ? ref_kernels32().ntt_inverse(dst, src, t) : inverse32(dst, src, t);
}

void ntt_forward_short(u32* dst, const u32* src, size_t count, const NttTable32& t) noexcept {
  if (dst != src) std::copy_n(src, count, dst);
  std::fill(dst + count, dst + t.n, 0U);
  ntt_forward(dst, dst, t);
}
void ntt_forward_lift(u32* dst, const u32* src, u32 p, const NttTable32& t) noexcept {
  const V q = set32(static_cast<u32>(t.mod.q)), half = set32(p / 2);
  const V p_mod_q = set32(static_cast<u32>(p % t.mod.q));
  const Tw one{set32(1), set32(static_cast<u32>((u64{1} << 32) / t.mod.q))};
  for (size_t i = 0; i < t.n; i += 8) {
    const V x = load(src + i), above = _mm256_cmpgt_epi32(x, half);
    store(dst + i, wrap32(sub32(times(x, one, q), vand(above, p_mod_q)), q));
  }
  ntt_forward(dst, dst, t);
}

void add(u32* dst, const u32* a, const u32* b, size_t n, const Modulus& m) noexcept {
  const V q = set32(static_cast<u32>(m.q));
  size_t i = 0;
  for (; i + 8 <= n; i += 8) store(dst + i, csub32(add32(load(a + i), load(b + i)), q));
  if (i < n) ref_kernels32().add(dst + i, a + i, b + i, n - i, m);
}
void sub(u32* dst, const u32* a, const u32* b, size_t n, const Modulus& m) noexcept {
  const V q = set32(static_cast<u32>(m.q));
  size_t i = 0;
  for (; i + 8 <= n; i += 8) store(dst + i, wrap32(sub32(load(a + i), load(b + i)), q));
  if (i < n) ref_kernels32().sub(dst + i, a + i, b + i, n - i, m);
}
void neg(u32* dst, const u32* a, size_t n, const Modulus& m) noexcept {
  const V q = set32(static_cast<u32>(m.q));
  for (size_t i = 0; i < n; i += 8) store(dst + i, csub32(sub32(q, load(a + i)), q));
}
void mul(u32* dst, const u32* a, const u32* b, size_t n, const Modulus& m) noexcept {
  const Remainder r(m.q);
  for (size_t i = 0; i < n; i += 8) {
    const V x = load(a + i), y = load(b + i);
    store(dst + i, merge(r.product(x, y), r.product(high(x), high(y))));
  }
}
void dot(u32* dst, const u32* const* x, const u32* const* y, size_t count, bool accumulate, size_t n,
         const Modulus& m) noexcept {
  const Remainder r(m.q);
  for (size_t i = 0; i < n; i += 8) {
    const V first = accumulate ? load(dst + i) : zero();
    Sum even{vand(first, set1(0xffffffff)), zero()}, odd{shr<32>(first), zero()};
    for (size_t d = 0; d < count; ++d) {
      const V u = load(x[d] + i), v = load(y[d] + i);
      even.add(mul32(u, v));
      odd.add(mul32(high(u), high(v)));
    }
    store(dst + i, merge(r.reduce(even), r.reduce(odd)));
  }
}
void mul_add(u32* dst, const u32* a, const u32* b, size_t n, const Modulus& m) noexcept {
  dot(dst, &a, &b, 1, true, n, m);
}

void reduce_signed(u32* dst, const i64* a, size_t n, const Modulus& m) noexcept {
  ref_kernels32().reduce_signed(dst, a, n, m);
}
void automorphism_coeff(u32* dst, const u32* src, u64 g, size_t n, const Modulus& m) noexcept {
  ref_kernels32().automorphism_coeff(dst, src, g, n, m);
}
void automorphism_eval(u32* dst, const u32* src, const u32* index, size_t n) noexcept {
  ref_kernels32().automorphism_eval(dst, src, index, n);
}

void ntt_product(u32* dst, const u32* a, const u32* b, size_t count, u32* work, const NttTable32& t) noexcept {
  ntt_forward_short(dst, a, count, t);
  if (a != b) ntt_forward_short(work, b, count, t);
  mul(dst, dst, a == b ? dst : work, t.n, t.mod);
  ntt_inverse(dst, dst, t);
}

constexpr Kernels32 kTable{
    "avx2",  ntt_forward, ntt_forward_short, ntt_forward_lift,   ntt_inverse,      ntt_product, add, sub, neg, mul,
    mul_add, dot,         reduce_signed,     automorphism_coeff, automorphism_eval};

}  // namespace
}  // namespace avx2

const Kernels32& avx2_kernels32() noexcept { return avx2::kTable; }

}  // namespace ringforge::kernels
