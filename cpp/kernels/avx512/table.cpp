// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The avx512 kernel set: AVX-512 F, DQ, VL, BW and IFMA.
#include "internal.hpp"
#include "sets.hpp"

namespace ringforge::kernels {
namespace {

void ntt_forward(u64* dst, const u64* src, const NttTable& t) noexcept {
  avx512::fast(t.mod) ? avx512::ntt_forward52(dst, src, t) : avx512::ntt_forward64(dst, src, t);
}
void ntt_forward_lift(u64* dst, const u64* src, u64 p, const NttTable& t) noexcept {
  avx512::fast(t.mod) ? avx512::ntt_forward_lift52(dst, src, p, t) : avx512::ntt_forward_lift64(dst, src, p, t);
}
/// Whether a transform is done in two parts; else the head is the whole of it.
bool in_parts(const NttTable& t) noexcept { return avx512::fast(t.mod) && t.n > kNttTile; }
void ntt_packed_head(u64* dst, u64* work, const std::uint8_t* src, unsigned bits, u64 p, const NttTable& t) noexcept {
  if (in_parts(t)) return avx512::ntt_packed_head52(dst, work, src, bits, p, t);
  avx512::unpack(dst, src, t.n, bits);
  ntt_forward_lift(dst, dst, p, t);
}
void ntt_finish(u64* x, std::size_t first, std::size_t count, const u64* soon, const NttTable& t) noexcept {
  if (in_parts(t)) avx512::ntt_finish52(x, first, count, soon, t);
}
void ntt_inverse(u64* dst, const u64* src, const NttTable& t) noexcept {
  avx512::fast(t.mod) ? avx512::ntt_inverse52(dst, src, t) : avx512::ntt_inverse64(dst, src, t);
}

}  // namespace

const Kernels& avx512_kernels() noexcept {
  using namespace avx512;
  static constexpr Kernels table{"avx512",
                                 ntt_forward,
                                 ntt_forward_lift,
                                 ntt_packed_head,
                                 ntt_finish,
                                 ntt_inverse,
                                 add,
                                 sub,
                                 neg,
                                 mul,
                                 mul_add,
                                 add_scalar,
                                 mul_scalar,
                                 sub_mul_scalar,
                                 reduce,
                                 reduce_signed,
                                 dot2,
                                 dot2_twice,
                                 matmul,
                                 automorphism_coeff,
                                 automorphism_eval,
                                 automorphism_eval_add,
                                 lift_centered,
                                 convert_quotient,
                                 base_convert,
                                 fft_forward,
                                 fft_inverse,
                                 scale_round};
  return table;
}

}  // namespace ringforge::kernels
