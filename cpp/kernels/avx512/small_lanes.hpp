// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Operations of small rings that are the same for 16 lanes of 32 bits and 8 of 64: digits and rotations.
#pragma once

#include "internal.hpp"
#include "ringforge/small_kernels.hpp"

namespace ringforge::kernels::avx512 {
namespace {

template <class W>
struct Lanes;

template <>
struct Lanes<u32> {
  using Mask = __mmask16;
  static constexpr size_t kCount = 16;
  static RF_MEMBER V set(u32 a) { return _mm512_set1_epi32(static_cast<int>(a)); }
  static RF_MEMBER V add(V a, V b) { return _mm512_add_epi32(a, b); }
  static RF_MEMBER V sub(V a, V b) { return _mm512_sub_epi32(a, b); }
  static RF_MEMBER V min(V a, V b) { return _mm512_min_epu32(a, b); }
  static RF_MEMBER V right(V a, V s) { return _mm512_srlv_epi32(a, s); }
  static RF_MEMBER V right_signed(V a, V s) { return _mm512_srav_epi32(a, s); }
  static RF_MEMBER V sub_above(V a, V limit, V b) {
    return _mm512_mask_sub_epi32(a, _mm512_cmpgt_epu32_mask(a, limit), a, b);
  }
  static RF_MEMBER V negative(V a, V q) { return _mm512_maskz_sub_epi32(_mm512_test_epi32_mask(a, a), q, a); }
  static RF_MEMBER V load_first(Mask m, const u32* p) { return _mm512_maskz_loadu_epi32(m, p); }
  static RF_MEMBER void store_first(u32* p, Mask m, V a) { _mm512_mask_storeu_epi32(p, m, a); }
};

template <>
struct Lanes<u64> {
  using Mask = __mmask8;
  static constexpr size_t kCount = 8;
  static RF_MEMBER V set(u64 a) { return set1(a); }
  static RF_MEMBER V add(V a, V b) { return vadd(a, b); }
  static RF_MEMBER V sub(V a, V b) { return vsub(a, b); }
  static RF_MEMBER V min(V a, V b) { return vmin(a, b); }
  static RF_MEMBER V right(V a, V s) { return _mm512_srlv_epi64(a, s); }
  static RF_MEMBER V right_signed(V a, V s) { return _mm512_srav_epi64(a, s); }
  static RF_MEMBER V sub_above(V a, V limit, V b) {
    return _mm512_mask_sub_epi64(a, _mm512_cmpgt_epu64_mask(a, limit), a, b);
  }
  static RF_MEMBER V negative(V a, V q) { return _mm512_maskz_sub_epi64(_mm512_test_epi64_mask(a, a), q, a); }
  static RF_MEMBER V load_first(Mask m, const u64* p) { return _mm512_maskz_loadu_epi64(m, p); }
  static RF_MEMBER void store_first(u64* p, Mask m, V a) { _mm512_mask_storeu_epi64(p, m, a); }
};

/// a in [-k, k) to [0, k).
template <class W>
RF_INLINE V wrap(V a, V k) {
  return Lanes<W>::min(a, Lanes<W>::add(a, k));
}

/// Words of digits: canonical, residues in [0, 2q), or the digits themselves, at most q in size.
enum class Digits { Canonical, Loose, Signed };

/// All digits of a polynomial. The words of balanced digits are those of the reference: what is left, plus B/2, is
/// shifted down.
template <Digits Kind, class W>
void cut_rows(W* dst, const W* src, const Cut& c, const SmallNtt<W>& t) {
  using L = Lanes<W>;
  const W base = W{1} << c.log_base;
  const V mask = L::set(base - 1), q = L::set(t.q), shift = L::set(c.log_base);
  const size_t n = t.n;
  if (!c.balanced) {
    for (size_t i = 0; i < n; i += L::kCount) {
      V x = load(src + i);
      for (unsigned j = 0; j < c.count; ++j) {
        store(dst + j * n + i, vand(x, mask));
        x = L::right(x, shift);
      }
    }
    return;
  }
  const V top = L::set(t.q / 2), half = L::set(base / 2), to_residue = L::set(t.q - base / 2);
  const V rounding = L::set(c.drop > 0 ? W{1} << (c.drop - 1) : 0), drop = L::set(c.drop);
  const auto residue = [&](V d) {  // d is a digit + B/2
    if constexpr (Kind == Digits::Loose) return L::add(d, to_residue);
    if constexpr (Kind == Digits::Signed) return L::sub(d, half);
    return wrap<W>(L::sub(d, half), q);
  };
  for (size_t i = 0; i < n; i += L::kCount) {
    V v = L::right_signed(L::add(L::sub_above(load(src + i), top, q), rounding), drop);
    unsigned j = 0;
    for (; j + 1 < c.count; ++j) {
      v = L::add(v, half);
      store(dst + j * n + i, residue(vand(v, mask)));
      v = L::right_signed(v, shift);
    }
    store(dst + j * n + i, residue(L::add(v, half)));
  }
}

/// dst[i] = +-src[i] [- other[i]].
template <bool Negative, bool Sub, class W>
RF_INLINE void copy_part(W* dst, const W* src, const W* other, size_t size, V q) {
  using L = Lanes<W>;
  for (size_t i = 0; i < size; i += L::kCount) {
    const size_t left = size - i;
    const auto lanes = static_cast<typename L::Mask>(left >= L::kCount ? ~0U : (1U << left) - 1);
    V x = L::load_first(lanes, src + i);
    if constexpr (Negative) x = L::negative(x, q);
    if constexpr (Sub) x = wrap<W>(L::sub(x, L::load_first(lanes, other + i)), q);
    L::store_first(dst + i, lanes, x);
  }
}
template <bool Sub, class W>
void rotate_any(W* dst, const W* src, size_t r, const SmallNtt<W>& t) {
  const V q = Lanes<W>::set(t.q);
  const size_t n = t.n, e = r & (n - 1);
  if (r < n) {
    copy_part<true, Sub>(dst, src + (n - e), src, e, q);
    copy_part<false, Sub>(dst + e, src, src + e, n - e, q);
  } else {
    copy_part<false, Sub>(dst, src + (n - e), src, e, q);
    copy_part<true, Sub>(dst + e, src, src + e, n - e, q);
  }
}

}  // namespace
}  // namespace ringforge::kernels::avx512
