// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The fused inner product: unreduced sums of 32-bit partial products, one reduction at the end. The sums
// of 8 coefficients stay in registers while all terms pass by.
#include "sums.hpp"

namespace ringforge::kernels::avx2 {
namespace {

struct Operands {
  const u64* const* x;
  const u64* const* y0;
  const u64* const* y1;
  size_t count;
  bool accumulate;
};

template <class S>
RF_INLINE void add_term(S& a, S& b, const u64* x, const u64* y0, const u64* y1) {
  const V v = load(x), x0 = S::low(v), x1 = S::top(v);
  a.add(x0, x1, load(y0));
  b.add(x0, x1, load(y1));
}

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
  do {
    const size_t now = count < Narrow::kMaxTerms ? count : Narrow::kMaxTerms;
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
