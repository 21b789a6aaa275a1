// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The kernels of 32-bit words in plain scalar code.
#include "ref/words.hpp"
#include "sets.hpp"

namespace ringforge::kernels {
namespace {

void ntt_forward(u32* dst, const u32* src, const NttTable32& t) noexcept { arith::transform_forward(dst, src, t); }
void ntt_inverse(u32* dst, const u32* src, const NttTable32& t) noexcept { arith::transform_inverse(dst, src, t); }

void ntt_forward_short(u32* dst, const u32* src, std::size_t count, const NttTable32& t) noexcept {
  if (dst != src) std::copy_n(src, count, dst);
  std::fill(dst + count, dst + t.n, 0U);
  ntt_forward(dst, dst, t);
}

void ntt_forward_lift(u32* dst, const u32* src, u32 p, const NttTable32& t) noexcept {
  const u32 half = p / 2;
  const auto p_mod_q = static_cast<u32>(arith::reduce64(p, t.mod));
  for (std::size_t i = 0; i < t.n; ++i) {
    const auto x = static_cast<u32>(arith::reduce64(src[i], t.mod));
    const auto above = static_cast<u32>((i64{half} - i64{src[i]}) >> 63);  // all ones where src[i] > half
    dst[i] = arith::difference(x, p_mod_q & above, t.mod);
  }
  ntt_forward(dst, dst, t);
}

void add(u32* dst, const u32* a, const u32* b, std::size_t n, const Modulus& m) noexcept {
  for (std::size_t i = 0; i < n; ++i) dst[i] = arith::sum(a[i], b[i], m);
}
void sub(u32* dst, const u32* a, const u32* b, std::size_t n, const Modulus& m) noexcept {
  for (std::size_t i = 0; i < n; ++i) dst[i] = arith::difference(a[i], b[i], m);
}
void neg(u32* dst, const u32* a, std::size_t n, const Modulus& m) noexcept {
  for (std::size_t i = 0; i < n; ++i) dst[i] = arith::negative(a[i], m);
}
void mul(u32* dst, const u32* a, const u32* b, std::size_t n, const Modulus& m) noexcept {
  for (std::size_t i = 0; i < n; ++i) dst[i] = arith::product(a[i], b[i], m);
}
void mul_add(u32* dst, const u32* a, const u32* b, std::size_t n, const Modulus& m) noexcept {
  for (std::size_t i = 0; i < n; ++i) dst[i] = static_cast<u32>(arith::reduce64(u64{a[i]} * b[i] + dst[i], m));
}
void dot(u32* dst, const u32* const* x, const u32* const* y, std::size_t count, bool accumulate, std::size_t n,
         const Modulus& m) noexcept {
  for (std::size_t i = 0; i < n; ++i) {
    u64 sum = accumulate ? dst[i] : 0;
    for (std::size_t d = 0; d < count; ++d) sum = arith::reduce64(sum + u64{x[d][i]} * y[d][i], m);
    dst[i] = static_cast<u32>(sum);
  }
}
void reduce_signed(u32* dst, const i64* a, std::size_t n, const Modulus& m) noexcept {
  for (std::size_t i = 0; i < n; ++i) {
    const i64 sign = a[i] >> 63;
    const auto size = static_cast<u32>(arith::reduce64(static_cast<u64>((a[i] ^ sign) - sign), m));
    dst[i] = arith::wrapped<u32>((i64{size} ^ sign) - sign, m);
  }
}

void automorphism_coeff(u32* dst, const u32* src, u64 g, std::size_t n, const Modulus& m) noexcept {
  arith::automorphism(dst, src, g, n, m);
}
void automorphism_eval(u32* dst, const u32* src, const u32* index, std::size_t n) noexcept {
  for (std::size_t i = 0; i < n; ++i) dst[i] = src[index[i]];
}

void ntt_product(u32* dst, const u32* a, const u32* b, std::size_t count, u32* work, const NttTable32& t) noexcept {
  ntt_forward_short(dst, a, count, t);
  if (a != b) ntt_forward_short(work, b, count, t);
  mul(dst, dst, a == b ? dst : work, t.n, t.mod);
  ntt_inverse(dst, dst, t);
}

constexpr Kernels32 kTable{
    "ref",   ntt_forward, ntt_forward_short, ntt_forward_lift,   ntt_inverse,      ntt_product, add, sub, neg, mul,
    mul_add, dot,         reduce_signed,     automorphism_coeff, automorphism_eval};

}  // namespace

const Kernels32& ref_kernels32() noexcept { return kTable; }

}  // namespace ringforge::kernels
