// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Number-theoretic transforms for q < 2^50 on 52-bit multiply-add.
#include "word52.hpp"

namespace ringforge::kernels::avx512 {

void ntt_forward52(u64* dst, const u64* src, const NttTable& t) noexcept {
  if (t.log_n < kTailLog) return ntt_forward64(dst, src, t);
  t.mod.bits < kFastBits ? forward<Word52<8>>(dst, src, t) : forward<Word52<4>>(dst, src, t);
}
void ntt_forward_lift52(u64* dst, const u64* src, u64 p, const NttTable& t) noexcept {
  if (t.log_n <= kTailLog || p / 2 >= t.mod.q) {  // too short, or p so large that a centred residue exceeds q
    lift_centered(dst, src, p, t.n, t.mod);
    return ntt_forward52(dst, dst, t);
  }
  const Lift in(p, t.mod.q);
  t.mod.bits < kFastBits ? forward<Word52<8>>(dst, src, t, in) : forward<Word52<4>>(dst, src, t, in);
}
void ntt_packed_head52(u64* dst, u64* work, const std::uint8_t* src, unsigned bits, u64 p, const NttTable& t) noexcept {
  if (p / 2 >= t.mod.q) {
    unpack(work, src, t.n, bits);
    lift_centered(work, work, p, t.n, t.mod);
    return t.mod.bits < kFastBits ? fwd_head(Word52<8>(t, t.w, t.w52), Plain{}, dst, work, work, t.log_n, 1)
                                  : fwd_head(Word52<4>(t, t.w, t.w52), Plain{}, dst, work, work, t.log_n, 1);
  }
  const LiftPacked in{Lift(p, t.mod.q), Unpack(bits), src, work};
  t.mod.bits < kFastBits ? fwd_head(Word52<8>(t, t.w, t.w52), in, dst, work, work, t.log_n, 1)
                         : fwd_head(Word52<4>(t, t.w, t.w52), in, dst, work, work, t.log_n, 1);
}
void ntt_finish52(u64* x, size_t first, size_t count, const u64* soon, const NttTable& t) noexcept {
  t.mod.bits < kFastBits ? fwd_finish<Word52<8>>(x, first, count, soon, t)
                         : fwd_finish<Word52<4>>(x, first, count, soon, t);
}
void ntt_inverse52(u64* dst, const u64* src, const NttTable& t) noexcept {
  if (t.log_n < kTailLog) return ntt_inverse64(dst, src, t);
  t.mod.bits < kFastBits ? inverse<Word52<8>>(dst, src, t) : inverse<Word52<4>>(dst, src, t);
}

}  // namespace ringforge::kernels::avx512
