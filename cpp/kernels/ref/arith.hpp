// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Scalar modular arithmetic on 64-bit words. Internal to the kernels and the ring layer. Residues may be secret: sums
// are brought back by masks, because of comparisons the compiler may make branches.
#pragma once

#include "ringforge/kernels.hpp"

namespace ringforge::arith {

using kernels::Factor;
using kernels::Modulus;
using u64 = std::uint64_t;
using u128 = unsigned __int128;

static inline u64 mul_hi(u64 a, u64 b) { return static_cast<u64>((static_cast<u128>(a) * b) >> 64); }

/// A difference in (-q, q), modulo 2^64, to [0, q). q < 2^63.
static inline u64 wrapped(u64 difference, u64 q) { return difference + (q & (u64{0} - (difference >> 63))); }

/// a in [0, 2q) to [0, q).
static inline u64 once(u64 a, u64 q) { return wrapped(a - q, q); }

static inline u64 add(u64 a, u64 b, u64 q) { return once(a + b, q); }
static inline u64 sub(u64 a, u64 b, u64 q) { return wrapped(a - b, q); }
static inline u64 neg(u64 a, u64 q) { return wrapped(u64{0} - a, q); }

/// Any 64-bit a to [0, q). With r = floor(2^128/q)'s high word = floor(2^64/q), the estimate
/// floor(a*r/2^64) is at most one below floor(a/q), so one correction suffices.
static inline u64 reduce64(u64 a, const Modulus& m) { return once(a - mul_hi(a, m.ratio_hi) * m.q, m.q); }

/// Any 128-bit a to [0, q) (Barrett with a 128-bit reciprocal; the quotient estimate is at most 2 low).
static inline u64 reduce128(u128 a, const Modulus& m) {
  const u64 lo = static_cast<u64>(a), hi = static_cast<u64>(a >> 64);
  const u128 mid = static_cast<u128>(lo) * m.ratio_hi + mul_hi(lo, m.ratio_lo);
  const u128 mid2 = static_cast<u128>(hi) * m.ratio_lo + static_cast<u64>(mid);
  const u64 quot = hi * m.ratio_hi + static_cast<u64>(mid >> 64) + static_cast<u64>(mid2 >> 64);
  u64 r = lo - quot * m.q;
  r = once(r, 2 * m.q);
  return once(r, m.q);
}

static inline u64 mul(u64 a, u64 b, const Modulus& m) { return reduce128(static_cast<u128>(a) * b, m); }

/// Shoup multiplication, any 64-bit a; result in [0, 2q).
static inline u64 mul_lazy(u64 a, u64 w, u64 w64, u64 q) { return a * w - mul_hi(a, w64) * q; }
static inline u64 mul_factor(u64 a, const Factor& f, u64 q) { return once(mul_lazy(a, f.w, f.w64, q), q); }

static inline u64 pow(u64 base, u64 e, const Modulus& m) {
  u64 r = 1;
  for (u64 b = reduce64(base, m); e != 0; e >>= 1, b = mul(b, b, m))
    if (e & 1) r = mul(r, b, m);
  return r;
}

/// Inverse modulo a prime.
static inline u64 inverse(u64 a, const Modulus& m) { return pow(a, m.q - 2, m); }

}  // namespace ringforge::arith
