// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The fused inner product: unreduced sums of 52-bit partial products, one reduction at the end.
//
// The kernel is bound by memory: 192 bytes against 4 (q < 2^50), 13 (q < 2^54; 22 with many terms) or 17 vector
// operations per term and 8 coefficients. With few terms, the sums of 16 coefficients stay in registers while all terms
// pass by. With many, that would open more streams than the prefetchers follow: then the sums of a tile of coefficients
// stay in the first-level cache, and four terms at a time (12 streams) are read for the whole tile.
#include "sums.hpp"

namespace ringforge::kernels::avx512 {
namespace {

constexpr size_t kManyTerms = 16;
static_assert(kManyTerms <= Rounded::kMaxTerms + 1);
constexpr size_t kTile = 256;

/// Both outputs at 16 coefficients.
template <class S>
struct Block {
  S a0{}, b0{}, a1{}, b1{};
  RF_MEMBER void start(const u64* out0, const u64* out1) {
    a0.lo = load(out0);
    b0.lo = load(out0 + 8);
    a1.lo = load(out1);
    b1.lo = load(out1 + 8);
  }
  RF_MEMBER void add(const u64* x, const u64* y0, const u64* y1) {
    const V xa = load(x), xb = load(x + 8);
    a0.add(xa, load(y0));
    b0.add(xb, load(y0 + 8));
    a1.add(xa, load(y1));
    b1.add(xb, load(y1 + 8));
  }
  template <bool Top, class K>
  RF_MEMBER void finish(u64* out0, u64* out1, const K& k) const {
    store(out0, a0.template reduce<Top>(k));
    store(out0 + 8, b0.template reduce<Top>(k));
    store(out1, a1.template reduce<Top>(k));
    store(out1 + 8, b1.template reduce<Top>(k));
  }
};

struct Operands {
  const u64* const* x;
  const u64* const* y0;
  const u64* const* y1;
  size_t count;
  bool accumulate;
};

template <class S, bool Top, class K>
RF_INLINE void by_16(u64* out0, u64* out1, const Operands& o, size_t n, const K& k) {
  for (size_t i = 0; i < n; i += 16) {
    Block<S> s;
    if (o.accumulate) s.start(out0 + i, out1 + i);
    for (size_t d = 0; d < o.count; ++d) s.add(o.x[d] + i, o.y0[d] + i, o.y1[d] + i);
    s.template finish<Top>(out0 + i, out1 + i, k);
  }
}

// The steps on a tile are functions of their own so that the sums are memory like any other to them (see
// the note on gcc in ntt_impl.hpp).

template <class S>
__attribute__((noinline)) void begin_tile(Block<S>* sums, const u64* out0, const u64* out1, bool accumulate,
                                          size_t size) {
  for (size_t i = 0; i < size; i += 16) {
    Block<S> s;
    if (accumulate) s.start(out0 + i, out1 + i);
    sums[i / 16] = s;
  }
}

template <class S, bool Top, class K>
__attribute__((noinline)) void finish_tile(u64* out0, u64* out1, const Block<S>* sums, size_t size, const K& shared) {
  const K k = shared;
  for (size_t i = 0; i < size; i += 16) sums[i / 16].template finish<Top>(out0 + i, out1 + i, k);
}

/// One term, or the next four, for `size` coefficients from `first`.
template <class S>
__attribute__((noinline)) void add_term(Block<S>* sums, const Operands& o, size_t d, size_t first, size_t size) {
  const u64 *x = o.x[d] + first, *y0 = o.y0[d] + first, *y1 = o.y1[d] + first;
  for (size_t i = 0; i < size; i += 16) sums[i / 16].add(x + i, y0 + i, y1 + i);
}
template <class S>
__attribute__((noinline)) void add_terms(Block<S>* sums, const Operands& o, size_t d, size_t first, size_t size) {
  const u64 *xa = o.x[d] + first, *xb = o.x[d + 1] + first, *xc = o.x[d + 2] + first, *xd = o.x[d + 3] + first;
  const u64 *ya = o.y0[d] + first, *yb = o.y0[d + 1] + first, *yc = o.y0[d + 2] + first, *yd = o.y0[d + 3] + first;
  const u64 *za = o.y1[d] + first, *zb = o.y1[d + 1] + first, *zc = o.y1[d + 2] + first, *zd = o.y1[d + 3] + first;
  for (size_t i = 0; i < size; i += 16) {
    Block<S> s = sums[i / 16];
    s.add(xa + i, ya + i, za + i);
    s.add(xb + i, yb + i, zb + i);
    s.add(xc + i, yc + i, zc + i);
    s.add(xd + i, yd + i, zd + i);
    sums[i / 16] = s;
  }
}

template <class S, bool Top, class K>
RF_INLINE void by_tile(u64* out0, u64* out1, const Operands& o, size_t n, const K& k) {
  Block<S> sums[kTile / 16];
  for (size_t first = 0; first < n; first += kTile) {
    const size_t size = n - first < kTile ? n - first : kTile;
    begin_tile(sums, out0 + first, out1 + first, o.accumulate, size);
    size_t d = 0;
    for (; d + 4 <= o.count; d += 4) add_terms(sums, o, d, first, size);
    for (; d < o.count; ++d) add_term(sums, o, d, first, size);
    finish_tile<S, Top>(out0 + first, out1 + first, sums, size, k);
  }
}

}  // namespace

void dot2(u64* out0, u64* out1, const u64* const* x, const u64* const* y0, const u64* const* y1, size_t count,
          bool accumulate, size_t n, const Modulus& m) noexcept {
  const bool narrow = fast(m);
  const bool half = !narrow && m.bits <= Half::kBits;
  const size_t most = narrow ? Narrow::kMaxTerms : half ? Half::kMaxTerms : Wide::kMaxTerms;
  do {
    const size_t now = count < most ? count : most;
    const Operands o{x, y0, y1, now, accumulate};
    if (half && now < kManyTerms)
      by_16<Rounded, true>(out0, out1, o, n, SumFloat(m));
    else if (half)
      by_tile<Half, true>(out0, out1, o, n, Sum64(m));
    else if (!narrow && now < kManyTerms)
      by_16<Wide, true>(out0, out1, o, n, Sum64(m));
    else if (!narrow)
      by_tile<Wide, true>(out0, out1, o, n, Sum64(m));
    else if (now <= 8)  // high words: 8 * 2^48 and a carry
      by_16<Narrow, false>(out0, out1, o, n, Sum52(m));
    else if (now < kManyTerms)
      by_16<Narrow, true>(out0, out1, o, n, Sum52(m));
    else
      by_tile<Narrow, true>(out0, out1, o, n, Sum52(m));
    x += now;
    y0 += now;
    y1 += now;
    count -= now;
    accumulate = true;
  } while (count != 0);
}

}  // namespace ringforge::kernels::avx512
