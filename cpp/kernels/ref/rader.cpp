// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/rader_kernels.hpp"

#include "arith.hpp"
#include "sets.hpp"

namespace ringforge::kernels {
namespace {

using arith::add;
using arith::sub;
using arith::u128;
using std::size_t;

constexpr size_t kRow = 8;

/// Multiplication of canonical words by constants that are given by their quotients of b bits.
template <unsigned b>
struct Constants {
  u64 q;
  explicit Constants(const Modulus& m) : q(m.q) {}

  static u64 product(u64 a, u64 s) { return static_cast<u64>((static_cast<u128>(a) * s) >> b); }
  u64 value(u64 s) const { return product(s, q) + 1; }
  u64 times(u64 a, u64 w, u64 s) const { return arith::once(a * w - product(a, s) * q, q); }
  u64 times(u64 a, u64 s) const { return times(a, value(s), s); }
};

/// One level within a row: blocks of 2*half words, block i with entry i.
template <bool Undo>
void lane_level(u64 x[kRow], size_t half, const Factor (&f)[4], u64 q) {
  for (size_t i = 0; i < kRow / 2 / half; ++i)
    for (size_t k = 2 * i * half; k < (2 * i + 1) * half; ++k) {
      const u64 u = x[k], v = Undo ? x[k + half] : arith::mul_factor(x[k + half], f[i], q);
      x[k] = add(u, v, q);
      x[k + half] = Undo ? arith::mul_factor(sub(u, v, q), f[i], q) : sub(u, v, q);
    }
}

/// One level of the lanes, m nodes.
template <unsigned b, bool Undo>
void level(u64* x, size_t m, const RaderTable& t) {
  const Constants<b> c(t.mod);
  const size_t half = t.n / kRow / m / 2;
  for (size_t i = 0; i < m; ++i) {
    const u64* s = (Undo ? t.inverse_quotient : t.forward_quotient) + kRow * (m + i);
    u64 w[kRow];
    for (size_t j = 0; j < kRow; ++j) w[j] = c.value(s[j]);
    for (u64 *a = x + 2 * i * half * kRow, *end = a + half * kRow; a < end; a += kRow)
      for (size_t j = 0; j < kRow; ++j) {
        u64 *high = a + half * kRow + j, u = a[j], v = Undo ? *high : c.times(*high, w[j], s[j]);
        a[j] = add(u, v, c.q);
        *high = Undo ? c.times(sub(u, v, c.q), w[j], s[j]) : sub(u, v, c.q);
      }
  }
}

template <unsigned b>
void transform(u64* x, const RaderTable& t) {
  for (u64* row = x; row < x + t.n; row += kRow)
    for (const size_t half : {4, 2, 1}) lane_level<false>(row, half, t.lane, t.mod.q);
  for (size_t m = 1; m < t.n / kRow / 2; m *= 2) level<b, false>(x, m, t);
}

/// In place, canonical words.
template <unsigned b>
void convolve_by(u64* x, const RaderTable& t, bool undo) {
  transform<b>(x, t);
  const Constants<b> c(t.mod);
  const u64* array = undo ? t.inverse_array : t.array;
  for (u64* row = x; row < x + t.n; row += 2 * kRow, array += 3 * kRow)
    for (size_t j = 0; j < kRow; ++j) {
      const u64 u = row[j], v = row[kRow + j];
      row[j] = add(c.times(u, array[j]), c.times(v, array[kRow + j]), c.q);
      row[kRow + j] = add(c.times(u, array[2 * kRow + j]), c.times(v, array[j]), c.q);
    }
  for (size_t m = t.n / kRow / 4; m >= 1; m /= 2) level<b, true>(x, m, t);
  for (u64* row = x; row < x + t.n; row += kRow)
    for (const size_t half : {1, 2, 4}) lane_level<true>(row, half, t.inverse_lane, t.mod.q);
}

void convolve_here(u64* x, const RaderTable& t, bool undo) {
  t.mod.bits <= kFastBits ? convolve_by<52>(x, t, undo) : convolve_by<64>(x, t, undo);
}

void convolve(u64* dst, const u64* src, const RaderTable& t, bool undo) noexcept {
  for (size_t i = 0; i < t.n; ++i) dst[i] = arith::reduce64(src[i], t.mod);
  convolve_here(dst, t, undo);
}

void convolve_lift(u64* dst, const u64* src, u64 p, const RaderTable& t) noexcept {
  const u64 q = t.mod.q, shift = q - arith::reduce64(p, t.mod);
  for (size_t i = 0; i < t.n; ++i) {
    const u64 above = u64{0} - ((p / 2 - src[i]) >> 63);
    dst[i] = arith::once(arith::reduce64(src[i], t.mod) + (shift & above), q);
  }
  convolve_here(dst, t, false);
}

}  // namespace

void rader_transform(u64* x, const RaderTable& t) noexcept {
  t.mod.bits <= kFastBits ? transform<52>(x, t) : transform<64>(x, t);
}

const RaderKernels& ref_rader() noexcept {
  static constexpr RaderKernels table{"ref", convolve, convolve_lift};
  return table;
}

}  // namespace ringforge::kernels
