// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/tensor_kernels.hpp"

#include "arith.hpp"
#include "sets.hpp"

namespace ringforge::kernels {
namespace {

using arith::mul_lazy;
using arith::once;
using std::size_t;

/// a*w, canonical, by Shoup's companion.
u64 times(u64 a, u64 w, u64 w64, u64 q) { return once(mul_lazy(a, w, w64, q), q); }

/// Transforms of all lines of one dimension, which stand in blocks of `length` rows of `stride` words; natural order to
/// bit-reversed.
template <class W>
void lines_forward(W* x, size_t n, size_t length, size_t stride, const NttTable& t) {
  const u64 q = t.mod.q;
  for (size_t m = 1, half = length * stride / 2; m < length; m *= 2, half /= 2)
    for (W* block = x; block < x + n; block += length * stride)
      for (size_t i = 0; i < m; ++i)
        for (size_t j = 2 * i * half; j < (2 * i + 1) * half; ++j) {
          const u64 u = block[j], v = times(block[j + half], t.w[m + i], t.w64[m + i], q);
          block[j] = static_cast<W>(arith::add(u, v, q));
          block[j + half] = static_cast<W>(arith::sub(u, v, q));
        }
}

/// The same undone, times `length`.
template <class W>
void lines_inverse(W* x, size_t n, size_t length, size_t stride, const NttTable& t) {
  const u64 q = t.mod.q;
  for (size_t m = length / 2, half = stride; m >= 1; m /= 2, half *= 2)
    for (W* block = x; block < x + n; block += length * stride)
      for (size_t i = 0; i < m; ++i)
        for (size_t j = 2 * i * half; j < (2 * i + 1) * half; ++j) {
          const u64 u = block[j], v = block[j + half];
          block[j] = static_cast<W>(arith::add(u, v, q));
          block[j + half] = static_cast<W>(times(arith::sub(u, v, q), t.iw[m + i], t.iw64[m + i], q));
        }
}

/// In place, canonical words.
template <class W>
void convolve_here(W* x, const TensorTable& t, const TensorFactors& f) noexcept {
  size_t stride = t.n;
  for (unsigned d = 0; d < t.dims; ++d) lines_forward(x, t.n, t.length[d], stride /= t.length[d], t.line);
  for (size_t i = 0; i < t.n; ++i) {
    const size_t row = i / t.inner;
    const Factor& place = f.place[i % t.inner];
    x[i] = static_cast<W>(times(times(x[i], f.row[row], f.row64[row], t.line.mod.q), place.w, place.w64, t.line.mod.q));
  }
  for (unsigned d = t.dims; d-- > 0; stride *= t.length[d]) lines_inverse(x, t.n, t.length[d], stride, t.line);
}

template <class W>
void convolve(W* dst, const W* src, const TensorTable& t, const TensorFactors& f) noexcept {
  for (size_t i = 0; i < t.n; ++i) dst[i] = static_cast<W>(arith::reduce64(src[i], t.line.mod));
  convolve_here(dst, t, f);
}

template <class W>
void convolve_lift(W* dst, const W* src, W p, const TensorTable& t, const TensorFactors& f) noexcept {
  const u64 q = t.line.mod.q, shift = q - arith::reduce64(p, t.line.mod);
  for (size_t i = 0; i < t.n; ++i) {
    const u64 above = u64{0} - ((p / 2 - u64{src[i]}) >> 63);
    dst[i] = static_cast<W>(once(arith::reduce64(src[i], t.line.mod) + (shift & above), q));
  }
  convolve_here(dst, t, f);
}

}  // namespace

template <class W>
const TensorKernels<W>& ref_tensor() noexcept {
  static constexpr TensorKernels<W> table{"ref", convolve<W>, convolve_lift<W>};
  return table;
}
template const TensorKernels<u32>& ref_tensor<u32>() noexcept;
template const TensorKernels<u64>& ref_tensor<u64>() noexcept;

}  // namespace ringforge::kernels
