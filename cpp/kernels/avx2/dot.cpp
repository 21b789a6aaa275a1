// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The fused inner product: unreduced sums of 32-bit partial products, one reduction at the end. The sums
// of 8 coefficients stay in registers while all terms pass by.
#include "internal.hpp"

namespace ringforge::kernels::avx2 {
namespace {

struct Operands {
  const u64* const* x;
  const u64* const* y0;
  const u64* const* y1;
  size_t count;
  bool accumulate;
};

/// q < 2^50, words split at bit 26: x0*y0 < 2^52, x0*y1 + x1*y0 < 2^51, x1*y1 < 2^48. Up to 2^11 terms.
struct Narrow {
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
  V d0, d1, d2, d3;
  RF_MEMBER void add(const Wide& w) {
    const V s1 = vadd(w.s1, shr<31>(w.s0)), s2 = vadd(w.s2, shr<31>(s1));
    d0 = vadd(d0, Wide::low(w.s0));
    d1 = vadd(d1, Wide::low(s1));
    d2 = vadd(d2, Wide::low(s2));
    d3 = vadd(d3, shr<31>(s2));
  }
};

template <class S>
RF_INLINE void add_term(S& a, S& b, const u64* x, const u64* y0, const u64* y1) {
  const V v = load(x), x0 = S::low(v), x1 = S::top(v);
  a.add(x0, x1, load(y0));
  b.add(x0, x1, load(y1));
}

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

RF_INLINE void dot2_narrow(u64* out0, u64* out1, const Operands& o, size_t n, const Sum& k) {
  for (size_t i = 0; i < n; i += 4) {
    Narrow a{}, b{};
    if (o.accumulate) {
      a.s0 = load(out0 + i);
      b.s0 = load(out1 + i);
    }
    for (size_t d = 0; d < o.count; ++d) add_term(a, b, o.x[d] + i, o.y0[d] + i, o.y1[d] + i);
    store(out0 + i, k.reduce(a.s0, a.s1, a.s2));
    store(out1 + i, k.reduce(b.s0, b.s1, b.s2));
  }
}

RF_INLINE void dot2_wide(u64* out0, u64* out1, const Operands& o, size_t n, const Sum& k) {
  for (size_t i = 0; i < n; i += 4) {
    Digits a{}, b{};
    if (o.accumulate) {
      a.d0 = load(out0 + i);
      b.d0 = load(out1 + i);
    }
    for (size_t d = 0; d < o.count;) {
      const size_t end = o.count - d < 4 ? o.count : d + 4;
      Wide s{}, t{};
      for (; d < end; ++d) add_term(s, t, o.x[d] + i, o.y0[d] + i, o.y1[d] + i);
      a.add(s);
      b.add(t);
    }
    store(out0 + i, k.reduce(a.d0, a.d1, a.d2, a.d3));
    store(out1 + i, k.reduce(b.d0, b.d1, b.d2, b.d3));
  }
}

}  // namespace

void dot2(u64* out0, u64* out1, const u64* const* x, const u64* const* y0, const u64* const* y1, size_t count,
          bool accumulate, size_t n, const Modulus& m) noexcept {
  constexpr size_t kMaxTerms = 2048;
  do {
    const size_t now = count < kMaxTerms ? count : kMaxTerms;
    const Operands o{x, y0, y1, now, accumulate};
    if (m.bits <= kFastBits)
      dot2_narrow(out0, out1, o, n, Sum(m, arith::reduce64(u64{1} << 26, m)));
    else
      dot2_wide(out0, out1, o, n, Sum(m, u64{1} << 31));
    x += now;
    y0 += now;
    y1 += now;
    count -= now;
    accumulate = true;
  } while (count != 0);
}

}  // namespace ringforge::kernels::avx2
