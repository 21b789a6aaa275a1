// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Small rings on words of 32 bits, q < 2^31.
//
// Transforms run in 64-bit lanes (small_ntt.hpp); everything else on 16 lanes, products in the even and the odd lanes
// separately.
#include "sets.hpp"
#include "words32.hpp"

namespace ringforge::kernels {
namespace avx512 {
namespace {

using T = SmallNtt<u32>;

/// Below 2^27, 26q fits a word, so that digits need no reduction between their transform and their sum.
constexpr unsigned kLazyBits = 27;
/// Products of digits in [0, 2q) and keys are below 2^59 up to here; so are those of lazy digits. 31 of them make a sum
/// of less than 2^64.
constexpr unsigned kFusedBits = 29;
constexpr size_t kFusedRows = 31;

void forward(u32* dst, const u32* src, const T& t) noexcept {
  lazy_forward<Lazy>(dst, src, t.table, Canonical{L::set(t.q)});
}
void inverse(u32* dst, const u32* src, const T& t) noexcept { lazy_inverse(dst, src, t.table); }

// ---- sums of products -----------------------------------------------------------------------------

/// Sums below 2^64.
struct Narrow32 {
  V even, odd;
  RF_MEMBER void start(V x) {
    even = vand(x, set1(0xffffffff));
    odd = shr<32>(x);
  }
  RF_MEMBER void add(V e, V o) {
    even = vadd(even, e);
    odd = vadd(odd, o);
  }
  RF_MEMBER V finish(const Remainder& r) const { return r.canonical(r.rest(even), r.rest(odd)); }
};
/// Sums of any products, in halves.
struct Wide32 {
  V even, odd, even_high, odd_high;
  RF_MEMBER void start(V x) {
    even = vand(x, set1(0xffffffff));
    odd = shr<32>(x);
    even_high = odd_high = zero();
  }
  RF_MEMBER void add(V e, V o) {
    even = vadd(even, vand(e, set1(0xffffffff)));
    even_high = vadd(even_high, shr<32>(e));
    odd = vadd(odd, vand(o, set1(0xffffffff)));
    odd_high = vadd(odd_high, shr<32>(o));
  }
  RF_MEMBER V finish(const Remainder& r) const { return r.canonical(r.rest(even, even_high), r.rest(odd, odd_high)); }
};

template <class S>
__attribute__((noinline)) void dot_rows(u32* out_a, u32* out_b, const u32* x, const u32* y, size_t count,
                                        bool accumulate, const T& t) {
  const Remainder r(t.q);
  const size_t n = t.n;
  for (size_t i = 0; i < n; i += 16) {
    S a, b;
    a.start(accumulate ? load(out_a + i) : zero());
    b.start(accumulate ? load(out_b + i) : zero());
    const u32 *px = x + i, *py = y + i;
    for (size_t d = 0; d < count; ++d, px += n, py += 2 * n) {
      const V u = load(px), v = load(py), w = load(py + n);
      const V uh = high32(u);
      a.add(mul32(u, v), mul32(uh, high32(v)));
      b.add(mul32(u, w), mul32(uh, high32(w)));
    }
    store(out_a + i, a.finish(r));
    store(out_b + i, b.finish(r));
  }
}

/// x below `bound`.
void dot_below(u64 bound, u32* out_a, u32* out_b, const u32* x, const u32* y, size_t count, bool accumulate,
               const T& t) {
  const u64 most = ~u64{0} / (bound * t.q) - 1;  // products in 64 bits, next to what was there
  if (bound > ~u64{0} / t.q / 8) {
    return dot_rows<Wide32>(out_a, out_b, x, y, count, accumulate, t);
  }
  do {
    const size_t now = count < most ? count : most;
    dot_rows<Narrow32>(out_a, out_b, x, y, now, accumulate, t);
    x += now * t.n;
    y += 2 * now * t.n;
    count -= now;
    accumulate = true;
  } while (count != 0);
}

void dot(u32* out_a, u32* out_b, const u32* x, const u32* y, size_t count, bool accumulate, const T& t) noexcept {
  dot_below(t.q, out_a, out_b, x, y, count, accumulate, t);
}

// ---- digits ---------------------------------------------------------------------------------------

void cut(u32* dst, const u32* src, const Cut& c, const T& t) noexcept { cut_rows<Digits::Canonical>(dst, src, c, t); }

/// The products of a digit's transform with its row of the key, added to sums in 64-bit lanes (of 16 coefficients the
/// even and the odd of a, then of b): no store, reload and split of the digit, and the key streams in under the
/// arithmetic of the transform. A row is prefetched during the one before, the first one of the next key during the
/// last: hardware prefetchers stop at the end of a page, and at n = 1024 every page is a row of its own.
struct Sums {
  u64* sums;
  const u32* row;
  size_t n;
};
template <bool Reduce, bool First>
struct AddTo : Sums {
  /// One digit.
  RF_MEMBER void operator()(const Lazy& a, const u32* p, V even, V odd) const {
    shorten(a, even, odd);
    fetch(p + 2 * n);
    const V u = load(p), v = load(p + n);
    u64* s = sums + 2 * (p - row);
    put(s, mul32(even, u));
    put(s + 8, mul32(odd, high32(u)));
    put(s + 16, mul32(even, v));
    put(s + 24, mul32(odd, high32(v)));
  }
  /// Two digits and consecutive rows: half the traffic with the sums.
  RF_MEMBER void operator()(const Lazy& a, const u32* p, V even, V odd, V even2, V odd2) const {
    shorten(a, even, odd);
    shorten(a, even2, odd2);
    fetch(p + 4 * n);
    fetch(p + 6 * n);
    const V u = load(p), v = load(p + n), u2 = load(p + 2 * n), v2 = load(p + 3 * n);
    u64* s = sums + 2 * (p - row);
    put(s, vadd(mul32(even, u), mul32(even2, u2)));
    put(s + 8, vadd(mul32(odd, high32(u)), mul32(odd2, high32(u2))));
    put(s + 16, vadd(mul32(even, v), mul32(even2, v2)));
    put(s + 24, vadd(mul32(odd, high32(v)), mul32(odd2, high32(v2))));
  }
  static RF_MEMBER void shorten(const Lazy& a, V& even, V& odd) {
    if constexpr (Reduce) {
      even = a.reduce(even);
      odd = a.reduce(odd);
    }
  }
  RF_MEMBER void fetch(const u32* p) const {
    _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T1);
    _mm_prefetch(reinterpret_cast<const char*>(p + n), _MM_HINT_T1);
  }
  static RF_MEMBER void put(u64* s, V x) { store(s, First ? x : vadd(load(s), x)); }
};

__attribute__((noinline)) void finish_sums(u32* out_a, u32* out_b, const u64* s, const T& t) {
  const Remainder r(t.q);
  for (size_t i = 0; i < t.n; i += 16, s += 32) {
    store(out_a + i, r.canonical(r.rest(load(s)), r.rest(load(s + 8))));
    store(out_b + i, r.canonical(r.rest(load(s + 16)), r.rest(load(s + 24))));
  }
}

/// Sums below 2^64: digits below 2^32 if not reduced, else below 2q.
template <bool Reduce>
void fused_product(u32* out_a, u32* out_b, const u32* key, const u32* digits, size_t rows, const T& t) {
  alignas(64) u64 work[2 * kSmallMax], sums[2 * kSmallMax];
  const Lazy a(t.table);
  const size_t n = t.n;
  size_t r = 0;
  for (; r + 2 <= rows; r += 2) {
    const u32* row = key + 2 * r * n;
    const Sums s{sums, row, n};
    lazy_fwd_head(a, work, digits + r * n, t.log_n);
    lazy_fwd_head(a, work + n, digits + (r + 1) * n, t.log_n);
    if (r == 0)
      lazy_fwd_tails_of_two(a, AddTo<Reduce, true>{s}, row, work, work + n, n);
    else
      lazy_fwd_tails_of_two(a, AddTo<Reduce, false>{s}, row, work, work + n, n);
  }
  if (r < rows) {
    const u32* row = key + 2 * r * n;
    const Sums s{sums, row, n};
    lazy_fwd_head(a, work, digits + r * n, t.log_n);
    if (r == 0)
      lazy_fwd_tails(a, AddTo<Reduce, true>{s}, row, work, n);
    else
      lazy_fwd_tails(a, AddTo<Reduce, false>{s}, row, work, n);
  }
  finish_sums(out_a, out_b, sums, t);
}

void gadget_product(u32* out_a, u32* out_b, const CutPoly<u32>* polys, size_t count, const u32* key, u32* scratch,
                    const T& t) noexcept {
  size_t rows = 0;
  for (size_t p = 0; p < count; ++p) {
    cut_rows<Digits::Loose>(scratch + rows * t.n, polys[p].poly, polys[p].cut, t);
    rows += polys[p].cut.count;
  }
  if (rows > 0 && rows <= kFusedRows && t.mod.bits <= kLazyBits)
    return fused_product<false>(out_a, out_b, key, scratch, rows, t);
  if (rows > 0 && rows <= kFusedRows && t.mod.bits <= kFusedBits)
    return fused_product<true>(out_a, out_b, key, scratch, rows, t);
  for (size_t r = 0; r < rows; ++r) lazy_forward<Lazy>(scratch + r * t.n, scratch + r * t.n, t.table, Reduced{});
  dot_below(2 * u64{t.q}, out_a, out_b, scratch, key, rows, false, t);
}

// ---- the rest -------------------------------------------------------------------------------------

void add(u32* dst, const u32* a, const u32* b, const T& t) noexcept {
  const V q = L::set(t.q);
  for (size_t i = 0; i < t.n; i += 16) store(dst + i, csub32(L::add(load(a + i), load(b + i)), q));
}
void sub(u32* dst, const u32* a, const u32* b, const T& t) noexcept {
  const V q = L::set(t.q);
  for (size_t i = 0; i < t.n; i += 16) store(dst + i, wrap<u32>(L::sub(load(a + i), load(b + i)), q));
}
void mul(u32* dst, const u32* a, const u32* b, const T& t) noexcept {
  const Remainder r(t.q);
  for (size_t i = 0; i < t.n; i += 16) {
    const V y = load(b + i);
    store(dst + i, product(load(a + i), y, high32(y), r));
  }
}
void mul_scalar(u32* dst, const u32* a, u32 c, const T& t) noexcept {
  const Remainder r(t.q);
  const V w = L::set(c);
  for (size_t i = 0; i < t.n; i += 16) store(dst + i, product(load(a + i), w, w, r));
}

void rotate(u32* dst, const u32* src, size_t r, const T& t) noexcept { rotate_any<false>(dst, src, r, t); }
void rotate_sub(u32* dst, const u32* src, size_t r, const T& t) noexcept { rotate_any<true>(dst, src, r, t); }

void automorphism(u32* dst, const u32* src, size_t g, const T& t) noexcept {
  // As automorphism_coeff: dst[j] = +-src[j/g].
  u32 inv = static_cast<u32>(g);
  for (int i = 0; i < 4; ++i) inv *= 2 - static_cast<u32>(g) * inv;
  const V q = L::set(t.q), high = L::set(static_cast<u32>(t.n)), low = L::set(static_cast<u32>(t.n - 1)),
          step = L::set(16 * inv);
  V e = _mm512_mullo_epi32(L::set(inv), _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
  for (size_t i = 0; i < t.n; i += 16) {
    const V a = _mm512_i32gather_epi32(vand(e, low), src, 4);
    const __mmask16 minus = _mm512_test_epi32_mask(e, high) & _mm512_test_epi32_mask(a, a);
    store(dst + i, _mm512_mask_sub_epi32(a, minus, q, a));
    e = L::add(e, step);
  }
}

constexpr SmallKernels<u32> kSmall32{"avx512",     forward, inverse, cut, gadget_product, dot, rotate_sub, rotate,
                                     automorphism, add,     sub,     mul, mul_scalar};

}  // namespace
}  // namespace avx512

template <>
const SmallKernels<u32>& avx512_small<u32>() noexcept {
  return avx512::kSmall32;
}

}  // namespace ringforge::kernels
