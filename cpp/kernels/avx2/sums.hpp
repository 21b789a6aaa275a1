// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Unreduced sums of products from 32-bit multiplications: what inner products and matrix products gather
// before their one reduction.
#pragma once

#include "internal.hpp"

namespace ringforge::kernels::avx2 {
namespace {

/// q < 2^50, words split at bit 26: x0*y0 < 2^52, x0*y1 + x1*y0 < 2^51, x1*y1 < 2^48. Up to 2^11 terms.
struct Narrow {
  static constexpr size_t kMaxTerms = 2048;
  V s0, s1, s2;
  static RF_MEMBER V low(V x) { return vand(x, set1((u64{1} << 26) - 1)); }
  static RF_MEMBER V top(V x) { return shr<26>(x); }
  RF_MEMBER void add(V x0, V x1, V y) {
    const V y0 = low(y), y1 = top(y);
    s0 = vadd(s0, mul32(x0, y0));
    s1 = vadd(s1, vadd(mul32(x0, y1), mul32(x1, y0)));
    s2 = vadd(s2, mul32(x1, y1));
  }
};

/// q < 2^61, words split at bit 31: x0*y0 < 2^62, x0*y1 + x1*y0 < 2^62 - 2^32, x1*y1 < 2^60. Four terms
/// fit; then the sums are carried into sums of 31-bit digits.
struct Wide {
  V s0, s1, s2;
  static RF_MEMBER V mask() { return set1((u64{1} << 31) - 1); }
  static RF_MEMBER V low(V x) { return vand(x, mask()); }
  static RF_MEMBER V top(V x) { return shr<31>(x); }
  RF_MEMBER void add(V x0, V x1, V y) {
    const V y0 = low(y), y1 = top(y);
    s0 = vadd(s0, mul32(x0, y0));
    s1 = vadd(s1, vadd(mul32(x0, y1), mul32(x1, y0)));
    s2 = vadd(s2, mul32(x1, y1));
  }
};
struct Digits {
  static constexpr size_t kMaxTerms = 2048;
  V d0, d1, d2, d3;
  RF_MEMBER void add(const Wide& w) {
    const V s1 = vadd(w.s1, shr<31>(w.s0)), s2 = vadd(w.s2, shr<31>(s1));
    d0 = vadd(d0, Wide::low(w.s0));
    d1 = vadd(d1, Wide::low(s1));
    d2 = vadd(d2, Wide::low(s2));
    d3 = vadd(d3, shr<31>(s2));
  }
};

/// a + b*2^s + c*2^2s + d*2^3s modulo q for any 64-bit words.
struct Sum {
  Moduli m;
  Word ratio;
  Shoup r1, r2, r3;
  /// r = 2^s modulo q.
  RF_MEMBER Sum(const Modulus& mod, u64 r) : Sum(mod, r, arith::mul(r, r, mod)) {}
  RF_MEMBER Sum(const Modulus& mod, u64 r, u64 rr) : Sum(mod, r, rr, arith::mul(r, rr, mod)) {}
  RF_MEMBER Sum(const Modulus& mod, u64 r, u64 rr, u64 rrr)
      : m(mod),
        ratio(word(mod.ratio_hi)),
        r1(r, shoup_quotient(r, mod.q)),
        r2(rr, shoup_quotient(rr, mod.q)),
        r3(rrr, shoup_quotient(rrr, mod.q)) {}
  RF_MEMBER V reduce(V a, V b, V c) const {
    const V s = vadd(csub(remainder4(a, ratio, m.q), m.q2), csub(r1.mul(b, m.q), m.q2));
    return m.canonical8(vadd(s, r2.mul(c, m.q)));
  }
  RF_MEMBER V reduce(V a, V b, V c, V d) const {
    const V s = csub(vadd(csub(remainder4(a, ratio, m.q), m.q2), csub(r1.mul(b, m.q), m.q2)), m.q2);
    return m.canonical8(vadd(vadd(s, csub(r2.mul(c, m.q), m.q2)), r3.mul(d, m.q)));
  }
};

}  // namespace
}  // namespace ringforge::kernels::avx2
