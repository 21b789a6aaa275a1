// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The avx2 kernel set: AVX2, with fused multiply-add in the transforms.
#include "internal.hpp"
#include "sets.hpp"

namespace ringforge::kernels {
namespace {

// Transforms are five times the cost of a lift here: fusing the two would gain little.
void ntt_forward_lift(u64* dst, const u64* src, u64 p, const NttTable& t) noexcept {
  avx2::lift_centered(dst, src, p, t.n, t.mod);
  avx2::ntt_forward(dst, dst, t);
}
void ntt_packed_head(u64* dst, u64*, const std::uint8_t* src, unsigned bits, u64 p, const NttTable& t) noexcept {
  avx2::unpack(dst, src, t.n, bits);
  ntt_forward_lift(dst, dst, p, t);
}
void ntt_finish(u64*, std::size_t, std::size_t, const u64*, const NttTable&) noexcept {}

void dot2_twice(u64* const out[4], const u64* const* x, const u64* const* y0, const u64* const* y1, std::size_t count,
                std::size_t n, const Modulus& m) noexcept {
  avx2::dot2(out[0], out[1], x, y0, y1, count, false, n, m);
  avx2::dot2(out[2], out[3], x, y0 + 1, y1 + 1, count, false, n, m);
}

}  // namespace

const Kernels& avx2_kernels() noexcept {
  using namespace avx2;
  static constexpr Kernels table{"avx2",
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
