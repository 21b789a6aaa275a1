// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The fused inner product: unreduced sums of 52-bit partial products, one reduction at the end.
//
// The kernel is bound by memory: 192 bytes against 4 (q < 2^50), 13 (q < 2^54; 22 with many terms) or 17 vector
// operations per term and 8 coefficients. With few terms, the sums of 16 coefficients stay in registers while all terms
// pass by. With more, that would open more streams than prefetchers follow and than a set of a cache has ways, for
// polynomials often lie a power of two apart: then the sums of a tile of coefficients stay in the first-level cache,
// and a few terms at a time are read for the whole tile.
#include "sums.hpp"

namespace ringforge::kernels::avx512 {
namespace {

constexpr size_t kFewTerms = 8;  // 24 streams; high words of Narrow stay below 8 * 2^48 and a carry
constexpr size_t kAtOnce = 4;    // 12 streams
constexpr size_t kTile = 512;    // a page of each
static_assert(Rounded::kMaxTerms > kFewTerms);

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

/// Adds o's terms to the sums of the `size` coefficients from `first`; the first terms begin the sums, the last ones
/// reduce them. A function of its own so that the sums are memory like any other to it (see the note on gcc in
/// ntt_impl.hpp).
template <class S, bool Begin, bool End, bool Top, class K>
__attribute__((noinline)) void add_terms(u64* out0, u64* out1, Block<S>* sums, const Operands& o, size_t first,
                                         size_t size, const K& shared) {
  const K k = shared;
  const Operands t = o;  // a copy: stores do not change it
  for (size_t i = first; i < first + size; i += 16) {
    Block<S>& kept = sums[(i - first) / 16];
    Block<S> s;
    if constexpr (!Begin)
      s = kept;
    else if (t.accumulate)
      s.start(out0 + i, out1 + i);
    for (size_t d = 0; d < t.count; ++d) s.add(t.x[d] + i, t.y0[d] + i, t.y1[d] + i);
    if constexpr (End)
      s.template finish<Top>(out0 + i, out1 + i, k);
    else
      kept = s;
  }
}

template <class S, bool Top, class K>
RF_INLINE void by_tile(u64* out0, u64* out1, const Operands& o, size_t n, const K& k) {
  Block<S> sums[kTile / 16];
  const size_t groups = (o.count + kAtOnce - 1) / kAtOnce;
  const auto group = [&](size_t g) {
    const size_t from = g * o.count / groups;
    return Operands{o.x + from, o.y0 + from, o.y1 + from, (g + 1) * o.count / groups - from, o.accumulate};
  };
  for (size_t first = 0; first < n; first += kTile) {
    const size_t size = n - first < kTile ? n - first : kTile;
    add_terms<S, true, false, Top>(out0, out1, sums, group(0), first, size, k);
    for (size_t g = 1; g < groups - 1; ++g) add_terms<S, false, false, Top>(out0, out1, sums, group(g), first, size, k);
    add_terms<S, false, true, Top>(out0, out1, sums, group(groups - 1), first, size, k);
  }
}

template <class S, bool Top, class K>
RF_INLINE void sum(u64* out0, u64* out1, const Operands& o, size_t n, const K& k) {
  if (o.count <= kFewTerms)
    by_16<S, Top>(out0, out1, o, n, k);
  else
    by_tile<S, Top>(out0, out1, o, n, k);
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
    if (half && now <= Rounded::kMaxTerms)
      sum<Rounded, true>(out0, out1, o, n, SumFloat(m));
    else if (half)
      by_tile<Half, true>(out0, out1, o, n, Sum64(m));
    else if (!narrow)
      sum<Wide, true>(out0, out1, o, n, Sum64(m));
    else if (now <= kFewTerms)
      by_16<Narrow, false>(out0, out1, o, n, Sum52(m));
    else
      by_tile<Narrow, true>(out0, out1, o, n, Sum52(m));
    x += now;
    y0 += now;
    y1 += now;
    count -= now;
    accumulate = true;
  } while (count != 0);
}

void dot2_twice(u64* const out[4], const u64* const* x, const u64* const* y0, const u64* const* y1, size_t count,
                size_t n, const Modulus& m) noexcept {
  if (!fast(m) || count > Narrow::kMaxTerms) {
    dot2(out[0], out[1], x, y0, y1, count, false, n, m);
    return dot2(out[2], out[3], x, y0 + 1, y1 + 1, count, false, n, m);
  }
  // A word of y is read once and used twice, so that four multiply-adds meet three loads in two; every sum stays in
  // registers.
  const Sum52 k(m);
  for (size_t i = 0; i < n; i += 16) {
    Block<Narrow> s, t;
    V y0a = load(y0[0] + i), y0b = load(y0[0] + i + 8), y1a = load(y1[0] + i), y1b = load(y1[0] + i + 8);
    for (size_t d = 0; d < count; ++d) {
      const V xa = load(x[d] + i), xb = load(x[d] + i + 8);
      s.a0.add(xa, y0a);
      s.b0.add(xb, y0b);
      s.a1.add(xa, y1a);
      s.b1.add(xb, y1b);
      y0a = load(y0[d + 1] + i);
      y0b = load(y0[d + 1] + i + 8);
      y1a = load(y1[d + 1] + i);
      y1b = load(y1[d + 1] + i + 8);
      t.a0.add(xa, y0a);
      t.b0.add(xb, y0b);
      t.a1.add(xa, y1a);
      t.b1.add(xb, y1b);
    }
    s.finish<true>(out[0] + i, out[1] + i, k);
    t.finish<true>(out[2] + i, out[3] + i, k);
  }
}

}  // namespace ringforge::kernels::avx512
