// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Limbs of large rings in words of 32 bits, q < 2^31.
//
// Transforms of up to 4096 words are those of small rings: 64-bit lanes, 52-bit multiply-add, no correction between the
// first level and the last. Larger ones are a pass of 1 to 4 levels (twice for 2^17) that leaves words in [0, 2q), and
// then, block by block of 4096, a small transform of that node of the butterfly tree in the first-level cache.
// Factors come from a table of 32-bit words and their quotients from them by one multiply-add: tables twice as wide are
// more traffic than the arithmetic hides.
#include <algorithm>

#include "sets.hpp"
#include "words32.hpp"

namespace ringforge::kernels {
namespace avx512 {
namespace {

constexpr unsigned kBlockLog = 12;
constexpr unsigned kMinLog = 8;  // shorter transforms run in plain code
static_assert(size_t{1} << kBlockLog == kSmallMax);

/// Shoup quotients from the factors. With b the bits of q, u = w * 2^(52-b) < 2^52 and M = floor(2^(52+b) / q) - 2^52,
/// s = u + floor(u*M / 2^52) is at most 2 below w*2^52/q. Products y*w by them are in [0, 2q) for y < 2^51.
///
/// In a cyclic transform the factors of every level are the first ones of the last: the two levels before it, which
/// tw4 and tw2 belong to, are read from there.
struct Lazy32 : Lazy {
  const u32* words;
  size_t before4, before2;
  V shift, m;
  RF_MEMBER Lazy32(const NttTable32& t, const u32* w)
      : Lazy(t.mod.q, nullptr, nullptr),
        words(w),
        before4(t.w[1] == 1 ? t.n / 4 : 0),
        before2(t.w[1] == 1 ? t.n / 8 * 3 : 0),
        shift(set1(52 - t.mod.bits)),
        m(set1(static_cast<u64>((static_cast<unsigned __int128>(1) << (52 + t.mod.bits)) / t.mod.q) & kMask52)) {}

  RF_MEMBER Tw make(V w) const {
    const V u = _mm512_sllv_epi64(w, shift);
    return {w, hi52(u, u, m)};
  }
  RF_MEMBER Tw factor(u32 w) const { return make(set1(w)); }
  RF_MEMBER Tw tw1(size_t i) const { return make(_mm512_maskz_broadcastd_epi32(0x5555, _mm_loadu_si32(words + i))); }
  RF_MEMBER Tw tw2(size_t i) const {
    return make(_mm512_cvtepu32_epi64(_mm256_broadcastq_epi64(_mm_loadu_si64(words + before2 + i))));
  }
  RF_MEMBER Tw tw4(size_t i) const {
    return make(_mm512_cvtepu32_epi64(
        _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(words + before4 + i)))));
  }
  RF_MEMBER Tw tw8(size_t i) const { return make(words8(words + i)); }
};

/// Eight words to [0, 2q).
RF_INLINE void put8(u32* p, V x, const Lazy& a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi64_epi32(a.reduce(x)));
}
RF_INLINE void put8(u32* p, size_t stride, const V x[8], const Lazy& a) {
  put8(p, x[0], a);
  put8(p + stride, x[1], a);
  put8(p + 2 * stride, x[2], a);
  put8(p + 3 * stride, x[3], a);
  put8(p + 4 * stride, x[4], a);
  put8(p + 5 * stride, x[5], a);
  put8(p + 6 * stride, x[6], a);
  put8(p + 7 * stride, x[7], a);
}

/// Sixteen rows a power of two apart fall into one set of the first-level cache, which has fewer ways: whole lines of
/// them are written at a time, by way of this. By halves, as they come: a load of two stores would wait for both to
/// leave.
struct Lines {
  alignas(64) u32 words[256];
  template <size_t Row = 0>
  RF_MEMBER void put(u32* p, size_t stride) const {
    if constexpr (Row < 16) {
      const auto* from = reinterpret_cast<const __m256i*>(words + 16 * Row);
      auto* to = reinterpret_cast<__m256i*>(p + Row * stride);
      _mm256_storeu_si256(to, _mm256_load_si256(from));
      _mm256_storeu_si256(to + 1, _mm256_load_si256(from + 1));
      put<Row + 1>(p, stride);
    }
  }
};

// ---- forward --------------------------------------------------------------------------------------

__attribute__((noinline)) void head2(const Lazy32& shared, u32* dst, const u32* src, size_t len, size_t h) {
  const Lazy32 a = shared;
  const auto w = a.tw1(h);
  for (size_t j = 0; j < len; j += 8) {
    V x = words8(src + j), y = words8(src + j + len);
    a.fwd(x, y, w);
    put8(dst + j, x, a);
    put8(dst + j + len, y, a);
  }
}
__attribute__((noinline)) void head4(const Lazy32& shared, u32* dst, const u32* src, size_t len, size_t h) {
  const Lazy32 a = shared;
  for (size_t j = 0; j < len; j += 8) {
    V x0 = words8(src + j), x1 = words8(src + j + len), x2 = words8(src + j + 2 * len), x3 = words8(src + j + 3 * len);
    lazy_fwd4(a, x0, x1, x2, x3, h);
    put8(dst + j, x0, a);
    put8(dst + j + len, x1, a);
    put8(dst + j + 2 * len, x2, a);
    put8(dst + j + 3 * len, x3, a);
  }
}
__attribute__((noinline)) void head8(const Lazy32& shared, u32* dst, const u32* src, size_t len, size_t h) {
  const Lazy32 a = shared;
  for (size_t j = 0; j < len; j += 8) {
    V x[8];
    words8(x, src + j, len);
    lazy_fwd8(a, x, h);
    put8(dst + j, len, x, a);
  }
}
/// Short: the upper half of src is zero and not read; both halves of the first level are then the lower one.
template <bool Short>
__attribute__((noinline)) void head16(const Lazy32& shared, u32* dst, const u32* src, size_t len, size_t h) {
  const Lazy32 a = shared;
  const auto w = a.tw1(h);
  for (size_t j = 0; j < len; j += 16) {
    Lines out;
    for (size_t k = 0; k < 16; k += 8) {
      V x[8], y[8];
      words8(x, src + j + k, len);
      if constexpr (Short) {
        words8(y, src + j + k, len);
      } else {
        words8(y, src + j + k + 8 * len, len);
        a.fwd(x[0], y[0], w);
        a.fwd(x[1], y[1], w);
        a.fwd(x[2], y[2], w);
        a.fwd(x[3], y[3], w);
        a.fwd(x[4], y[4], w);
        a.fwd(x[5], y[5], w);
        a.fwd(x[6], y[6], w);
        a.fwd(x[7], y[7], w);
      }
      lazy_fwd8x2(a, x, y, 2 * h, 2 * h + 1);
      put8(out.words + k, 16, x, a);
      put8(out.words + k + 128, 16, y, a);
    }
    out.put(dst + j, len);
  }
}

/// Three levels in the first-level cache, two columns side by side: eight chains for the scheduler.
template <class W>
__attribute__((noinline)) void pass8x2(const Lazy32& shared, u64* dst, const W* src, size_t len, size_t h) {
  const Lazy32 a = shared;
  for (size_t j = 0; j < len; j += 16) {
    V x[8], y[8];
    words8(x, src + j, len);
    words8(y, src + j + 8, len);
    lazy_fwd8x2(a, x, y, h, h);
    store8(dst + j, len, x);
    store8(dst + j + 8, len, y);
  }
}
/// The first 6 of a block's 12 levels.
RF_INLINE void block_head(const Lazy32& a, u64* work, const u32* src, size_t h) {
  pass8x2(a, work, src, kSmallMax / 8, h);
  for (size_t k = 0; k < 8; ++k) pass8x2(a, work + 512 * k, work + 512 * k, 64, 8 * h + k);
}

/// The levels below the head.
RF_INLINE void finish_forward(u32* dst, const Lazy32& a, const NttTable32& t) {
  alignas(64) u64 work[kSmallMax];
  const Canonical out{L::set(static_cast<u32>(t.mod.q))};
  for (size_t i = 0, blocks = t.n >> kBlockLog; i < blocks; ++i, dst += kSmallMax) {
    block_head(a, work, dst, blocks + i);
    lazy_fwd_tails(a, out, dst, work, kSmallMax, blocks + i);
  }
}

void ntt_forward(u32* dst, const u32* src, const NttTable32& t) noexcept {
  if (t.log_n < kMinLog) return ref_kernels32().ntt_forward(dst, src, t);
  const Lazy32 a(t, t.w);
  switch (t.log_n) {
    case kBlockLog + 1:
      head2(a, dst, src, t.n / 2, 1);
      break;
    case kBlockLog + 2:
      head4(a, dst, src, t.n / 4, 1);
      break;
    case kBlockLog + 3:
      head8(a, dst, src, t.n / 8, 1);
      break;
    case kBlockLog + 4:
      head16<false>(a, dst, src, t.n / 16, 1);
      break;
    case kBlockLog + 5:
      head2(a, dst, src, t.n / 2, 1);
      head16<false>(a, dst, dst, t.n / 32, 2);
      head16<false>(a, dst + t.n / 2, dst + t.n / 2, t.n / 32, 3);
      break;
    default:
      return lazy_forward(dst, src, a, t.log_n, Canonical{L::set(static_cast<u32>(t.mod.q))});
  }
  finish_forward(dst, a, t);
}

void ntt_forward_short(u32* dst, const u32* src, size_t count, const NttTable32& t) noexcept {
  if (t.log_n == kBlockLog + 4 && count == t.n / 2) {
    const Lazy32 a(t, t.w);
    head16<true>(a, dst, src, t.n / 16, 1);
    return finish_forward(dst, a, t);
  }
  if (dst != src) std::copy_n(src, count, dst);
  std::fill(dst + count, dst + t.n, 0U);
  ntt_forward(dst, dst, t);
}

void ntt_forward_lift(u32* dst, const u32* src, u32 p, const NttTable32& t) noexcept {
  // Centred residues are below 2^30 in size.
  const Remainder r(static_cast<u32>(t.mod.q));
  const V half = L::set(p / 2), shift = L::set(p), q = r.q32, one = L::set(1);
  if (p / 2 < t.mod.q) {  // then the centred residue is in (-q, q)
    for (size_t i = 0; i < t.n; i += 16) store(dst + i, wrap<u32>(L::sub_above(load(src + i), half, shift), q));
  } else {
    for (size_t i = 0; i < t.n; i += 16) {
      const V x = L::sub_above(load(src + i), half, shift);
      const __mmask16 minus = _mm512_movepi32_mask(x);
      const V size = _mm512_mask_sub_epi32(x, minus, zero(), x), rest = product(size, one, one, r);
      const __mmask16 change = static_cast<__mmask16>(minus & _mm512_test_epi32_mask(rest, rest));
      store(dst + i, _mm512_mask_sub_epi32(rest, change, q, rest));
    }
  }
  ntt_forward(dst, dst, t);
}

// ---- inverse --------------------------------------------------------------------------------------

/// The last 3 levels of a block of 4096, from words below q << level.
__attribute__((noinline)) void block_end(const Lazy32& shared, u32* dst, const u64* x, size_t h) {
  const Lazy32 a = shared;
  constexpr size_t len = kSmallMax / 8;
  const V above = _mm512_slli_epi64(a.q, kBlockLog - 3);
  for (size_t j = 0; j < len; j += 8) {
    V v[8];
    load8(v, x + j, len);
    lazy_inv8<false>(a, v, h, above);
    put8(dst + j, len, v, a);
  }
}

/// All levels of a block, to [0, 2q).
RF_INLINE void inverse_block(const Lazy32& a, u32* dst, const u32* src, u64* work, size_t h) {
  lazy_inv_tails(a, work, src, kSmallMax, h);
  for (size_t k = 0; k < 8; ++k) lazy_inv_pass8(a, work + 512 * k, 64, 8 * h + k, kSmallTail);
  block_end(a, dst, work, h);
}

RF_INLINE void put_last8(u32* p, V x, const Lazy& a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi64_epi32(csub(vand(x, set1(kMask52)), a.q)));
}

/// The last level, 1/n included, of words below `above`.
RF_INLINE void put_last(u32* p, u32* p2, V x, V y, const Lazy32& a, const LastInv<Lazy32>& last, V above) {
  last.inv(a, x, y, above);
  put_last8(p, x, a);
  put_last8(p2, y, a);
}

__attribute__((noinline)) void last2(const Lazy32& shared, u32* x, const NttTable32& t) {
  const Lazy32 a = shared;
  const LastInv<Lazy32> last(a, t);
  const size_t len = t.n / 2;
  for (size_t j = 0; j < len; j += 8) put_last(x + j, x + j + len, words8(x + j), words8(x + j + len), a, last, a.q2);
}
__attribute__((noinline)) void last4(const Lazy32& shared, u32* x, const NttTable32& t) {
  const Lazy32 a = shared;
  const LastInv<Lazy32> last(a, t);
  const size_t len = t.n / 4;
  const V twice = vadd(a.q2, a.q2);
  const auto w2 = a.tw1(2), w3 = a.tw1(3);
  for (size_t j = 0; j < len; j += 8) {
    V x0 = words8(x + j), x1 = words8(x + j + len), x2 = words8(x + j + 2 * len), x3 = words8(x + j + 3 * len);
    a.inv(x0, x1, w2, a.q2);
    a.inv(x2, x3, w3, a.q2);
    put_last(x + j, x + j + 2 * len, x0, x2, a, last, twice);
    put_last(x + j + len, x + j + 3 * len, x1, x3, a, last, twice);
  }
}
__attribute__((noinline)) void last8(const Lazy32& shared, u32* x, const NttTable32& t) {
  const Lazy32 a = shared;
  const LastInv<Lazy32> last(a, t);
  const size_t len = t.n / 8;
  const V four = _mm512_slli_epi64(a.q2, 2);
  for (size_t j = 0; j < len; j += 8) {
    V v[8];
    words8(v, x + j, len);
    lazy_inv4(a, v[0], v[1], v[2], v[3], 2, a.q2);
    lazy_inv4(a, v[4], v[5], v[6], v[7], 3, a.q2);
    put_last(x + j, x + j + 4 * len, v[0], v[4], a, last, four);
    put_last(x + j + len, x + j + 5 * len, v[1], v[5], a, last, four);
    put_last(x + j + 2 * len, x + j + 6 * len, v[2], v[6], a, last, four);
    put_last(x + j + 3 * len, x + j + 7 * len, v[3], v[7], a, last, four);
  }
}
__attribute__((noinline)) void last16(const Lazy32& shared, u32* x, const NttTable32& t) {
  const Lazy32 a = shared;
  const LastInv<Lazy32> last(a, t);
  const size_t len = t.n / 16;
  const V eight = _mm512_slli_epi64(a.q2, 3);
  for (size_t j = 0; j < len; j += 8) {
    V v[8], w[8];
    words8(v, x + j, len);
    words8(w, x + j + 8 * len, len);
    lazy_inv8<false>(a, v, 2, a.q2);
    lazy_inv8<false>(a, w, 3, a.q2);
    put_last(x + j, x + j + 8 * len, v[0], w[0], a, last, eight);
    put_last(x + j + len, x + j + 9 * len, v[1], w[1], a, last, eight);
    put_last(x + j + 2 * len, x + j + 10 * len, v[2], w[2], a, last, eight);
    put_last(x + j + 3 * len, x + j + 11 * len, v[3], w[3], a, last, eight);
    put_last(x + j + 4 * len, x + j + 12 * len, v[4], w[4], a, last, eight);
    put_last(x + j + 5 * len, x + j + 13 * len, v[5], w[5], a, last, eight);
    put_last(x + j + 6 * len, x + j + 14 * len, v[6], w[6], a, last, eight);
    put_last(x + j + 7 * len, x + j + 15 * len, v[7], w[7], a, last, eight);
  }
}
/// Three levels in the middle of a transform, to [0, 2q).
__attribute__((noinline)) void middle8(const Lazy32& shared, u32* x, size_t len, size_t h) {
  const Lazy32 a = shared;
  for (size_t j = 0; j < len; j += 8) {
    V v[8];
    words8(v, x + j, len);
    lazy_inv8<false>(a, v, h, a.q2);
    put8(x + j, len, v, a);
  }
}

void ntt_inverse(u32* dst, const u32* src, const NttTable32& t) noexcept {
  if (t.log_n < kMinLog) return ref_kernels32().ntt_inverse(dst, src, t);
  const Lazy32 a(t, t.iw);
  if (t.log_n <= kBlockLog) return lazy_inverse(dst, src, a, t);
  alignas(64) u64 work[kSmallMax];
  for (size_t i = 0, blocks = t.n >> kBlockLog; i < blocks; ++i)
    inverse_block(a, dst + i * kSmallMax, src + i * kSmallMax, work, blocks + i);
  switch (t.log_n) {
    case kBlockLog + 1:
      return last2(a, dst, t);
    case kBlockLog + 2:
      return last4(a, dst, t);
    case kBlockLog + 3:
      return last8(a, dst, t);
    case kBlockLog + 4:
      return last16(a, dst, t);
    default:
      for (size_t i = 0; i < 4; ++i) middle8(a, dst + i * (t.n / 4), t.n / 32, 4 + i);
      return last4(a, dst, t);
  }
}

// ---- words ----------------------------------------------------------------------------------------

/// dst[i] = f(a[i], b[i]) for any n.
template <class F>
RF_INLINE void each(u32* dst, const u32* a, const u32* b, size_t n, const F& f) {
  size_t i = 0;
  for (; i + 16 <= n; i += 16) store(dst + i, f(load(a + i), load(b + i)));
  if (i == n) return;
  const auto lanes = static_cast<__mmask16>((1U << (n - i)) - 1);
  L::store_first(dst + i, lanes, f(L::load_first(lanes, a + i), L::load_first(lanes, b + i)));
}
void add(u32* dst, const u32* a, const u32* b, size_t n, const Modulus& m) noexcept {
  const V q = L::set(static_cast<u32>(m.q));
  each(dst, a, b, n, [q](V x, V y) __attribute__((always_inline)) { return csub32(L::add(x, y), q); });
}
void sub(u32* dst, const u32* a, const u32* b, size_t n, const Modulus& m) noexcept {
  const V q = L::set(static_cast<u32>(m.q));
  each(dst, a, b, n, [q](V x, V y) __attribute__((always_inline)) { return wrap<u32>(L::sub(x, y), q); });
}
void neg(u32* dst, const u32* a, size_t n, const Modulus& m) noexcept {
  const V q = L::set(static_cast<u32>(m.q));
  for (size_t i = 0; i < n; i += 16) store(dst + i, L::negative(load(a + i), q));
}
void mul(u32* dst, const u32* a, const u32* b, size_t n, const Modulus& m) noexcept {
  const Remainder r(static_cast<u32>(m.q));
  for (size_t i = 0; i < n; i += 16) {
    const V y = load(b + i);
    store(dst + i, product(load(a + i), y, high32(y), r));
  }
}

/// Sums of products below 2^62 in the even and the odd lanes: below q * 2^32 after each pair.
struct Sum32 {
  V even, odd;
  RF_MEMBER explicit Sum32(V x) : even(vand(x, set1(0xffffffff))), odd(shr<32>(x)) {}
  RF_MEMBER void add(V x, V y) {
    even = vadd(even, mul32(x, y));
    odd = vadd(odd, mul32(high32(x), high32(y)));
  }
  RF_MEMBER void settle(V above) {
    even = csub(even, above);
    odd = csub(odd, above);
  }
  RF_MEMBER V finish(const Remainder& r) const { return r.canonical(r.rest(even), r.rest(odd)); }
};
void mul_add(u32* dst, const u32* a, const u32* b, size_t n, const Modulus& m) noexcept {
  const Remainder r(static_cast<u32>(m.q));
  for (size_t i = 0; i < n; i += 16) {
    Sum32 s(load(dst + i));
    s.add(load(a + i), load(b + i));
    store(dst + i, s.finish(r));
  }
}
void dot(u32* dst, const u32* const* x, const u32* const* y, size_t count, bool accumulate, size_t n,
         const Modulus& m) noexcept {
  const Remainder r(static_cast<u32>(m.q));
  const V above = set1(m.q << 32);
  for (size_t i = 0; i < n; i += 32) {
    Sum32 s(accumulate ? load(dst + i) : zero()), s2(accumulate && i + 16 < n ? load(dst + i + 16) : zero());
    size_t d = 0;
    if (i + 16 < n) {
      for (; d + 2 <= count; d += 2) {
        s.add(load(x[d] + i), load(y[d] + i));
        s2.add(load(x[d] + i + 16), load(y[d] + i + 16));
        s.add(load(x[d + 1] + i), load(y[d + 1] + i));
        s2.add(load(x[d + 1] + i + 16), load(y[d + 1] + i + 16));
        s.settle(above);
        s2.settle(above);
      }
      if (d < count) {
        s.add(load(x[d] + i), load(y[d] + i));
        s2.add(load(x[d] + i + 16), load(y[d] + i + 16));
      }
      store(dst + i + 16, s2.finish(r));
    } else {
      for (; d < count; ++d) {
        s.add(load(x[d] + i), load(y[d] + i));
        s.settle(above);
      }
    }
    store(dst + i, s.finish(r));
  }
}

void reduce_signed(u32* dst, const i64* a, size_t n, const Modulus& m) noexcept {
  ref_kernels32().reduce_signed(dst, a, n, m);
}
void automorphism_coeff(u32* dst, const u32* src, u64 g, size_t n, const Modulus& m) noexcept {
  ref_kernels32().automorphism_coeff(dst, src, g, n, m);
}
void automorphism_eval(u32* dst, const u32* src, const u32* index, size_t n) noexcept {
  for (size_t i = 0; i < n; i += 16) store(dst + i, _mm512_i32gather_epi32(load(index + i), src, 4));
}

// ---- product --------------------------------------------------------------------------------------

/// Products of two transforms' words as they come out of the last level.
struct Products {
  Remainder r;
  RF_MEMBER void operator()(const Lazy& a, u32* p, V even, V odd, V even2, V odd2) const {
    store(p, r.canonical(r.rest(mul32(a.reduce(even), a.reduce(even2))), r.rest(mul32(a.reduce(odd), a.reduce(odd2)))));
  }
};

void ntt_product(u32* dst, const u32* a, const u32* b, size_t count, u32* work, const NttTable32& t) noexcept {
  if (t.log_n != kBlockLog + 4 || count != t.n / 2 || a == b) {
    ntt_forward_short(dst, a, count, t);
    if (a != b) ntt_forward_short(work, b, count, t);
    mul(dst, dst, a == b ? dst : work, t.n, t.mod);
    return ntt_inverse(dst, dst, t);
  }
  // Block by block there and back, while the factors are in the caches: those of both forward transforms are read once.
  const Lazy32 to(t, t.w), back(t, t.iw);
  const Products products{Remainder(static_cast<u32>(t.mod.q))};
  alignas(64) u64 x[kSmallMax], y[kSmallMax];
  alignas(64) u32 words[kSmallMax];
  head16<true>(to, dst, a, kSmallMax, 1);
  head16<true>(to, work, b, kSmallMax, 1);
  for (size_t i = 0; i < 16; ++i) {
    block_head(to, x, dst + i * kSmallMax, 16 + i);
    block_head(to, y, work + i * kSmallMax, 16 + i);
    lazy_fwd_tails_of_two(to, products, words, x, y, kSmallMax, 16 + i);
    inverse_block(back, dst + i * kSmallMax, words, x, 16 + i);
  }
  last16(back, dst, t);
}

constexpr Kernels32 kTable{
    "avx512", ntt_forward, ntt_forward_short, ntt_forward_lift,   ntt_inverse,      ntt_product, add, sub, neg, mul,
    mul_add,  dot,         reduce_signed,     automorphism_coeff, automorphism_eval};

}  // namespace
}  // namespace avx512

const Kernels32& avx512_kernels32() noexcept { return avx512::kTable; }

}  // namespace ringforge::kernels
