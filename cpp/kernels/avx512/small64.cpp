// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Small rings on words of 64 bits, q < 2^61.
//
// Transforms are lazy where q leaves room (small_ntt.hpp), else those of large rings; sums of products are those of
// dot.cpp.
#include "sets.hpp"
#include "small_lanes.hpp"
#include "small_ntt.hpp"
#include "small_signed.hpp"

namespace ringforge::kernels {
namespace avx512 {
namespace {

using T = SmallNtt<u64>;

constexpr unsigned kLazyForwardBits = 47, kLazyInverseBits = 40, kLazy64Bits = 58;

/// 16 words in their order, in [0, 2q) (of Signed54, in [-q, q]) or canonical. With Fetch, the digit's row of the key
/// is called in meanwhile, twice as many words: the sums that need it come after all transforms.
template <bool Exact, bool Fetch>
struct Ordered {
  const u64 *digit = nullptr, *row = nullptr;
  Zip zip = zip_index();
  RF_MEMBER void operator()(const Lazy& a, u64* p, V even, V odd) const {
    V u = vand(a.reduce(even), set1(kMask52)), v = vand(a.reduce(odd), set1(kMask52));
    if constexpr (Exact) {
      u = csub(u, a.q);
      v = csub(v, a.q);
    }
    put(p, u, v);
  }
  RF_MEMBER void operator()(const Lazy64& a, u64* p, V even, V odd) const {
    put(p, a.canonical(even), a.canonical(odd));
  }
  RF_MEMBER void operator()(const Signed54& a, u64* p, V even, V odd) const {
    V u = a.settle(even), v = a.settle(odd);
    if constexpr (Exact) {
      u = a.positive(u);
      v = a.positive(v);
    }
    put(p, u, v);
  }
  RF_MEMBER void put(u64* p, V u, V v) const {
    if constexpr (Fetch) {
      const u64* k = row + 2 * (p - digit);
      _mm_prefetch(reinterpret_cast<const char*>(k), _MM_HINT_T1);
      _mm_prefetch(reinterpret_cast<const char*>(k + 8), _MM_HINT_T1);
      _mm_prefetch(reinterpret_cast<const char*>(k + 16), _MM_HINT_T1);
      _mm_prefetch(reinterpret_cast<const char*>(k + 24), _MM_HINT_T1);
    }
    permute_pair(u, v, zip);
    store(p, u);
    store(p + 8, v);
  }
};

void forward(u64* dst, const u64* src, const T& t) noexcept {
  if (t.mod.bits <= kLazyForwardBits)
    lazy_forward<Lazy>(dst, src, t.table, Ordered<true, false>{});
  else if (fast(t.mod))
    lazy_forward<Checked>(dst, src, t.table, Ordered<true, false>{});
  else if (t.cw != nullptr)
    lazy_forward(dst, src, Signed54::forward(t), t.log_n, Ordered<true, false>{});
  else if (t.mod.bits <= kLazy64Bits)
    lazy_forward<Lazy64>(dst, src, t.table, Ordered<true, false>{});
  else
    ntt_forward64(dst, src, t.table);
}
/// A digit in place, next to its row of the key. Sums take [0, 2q) below 2^47, [-q, q] of Signed54.
void forward_digit(u64* digit, const u64* row, const T& t) {
  if (t.mod.bits <= kLazyForwardBits)
    lazy_forward<Lazy>(digit, digit, t.table, Ordered<false, true>{digit, row});
  else if (fast(t.mod))
    lazy_forward<Checked>(digit, digit, t.table, Ordered<true, true>{digit, row});
  else if (t.cw != nullptr)
    lazy_forward(digit, digit, Signed54::forward(t), t.log_n, Ordered<false, true>{digit, row});
  else if (t.mod.bits <= kLazy64Bits)
    lazy_forward<Lazy64>(digit, digit, t.table, Ordered<true, true>{digit, row});
  else
    ntt_forward64(digit, digit, t.table);
}
void inverse(u64* dst, const u64* src, const T& t) noexcept {
  if (t.mod.bits <= kLazyInverseBits)
    lazy_inverse(dst, src, t.table);
  else if (t.cw != nullptr)
    lazy_inverse(dst, src, Signed54::backward(t), t.table);
  else
    fast(t.mod) ? ntt_inverse52(dst, src, t.table) : ntt_inverse64(dst, src, t.table);
}

void cut(u64* dst, const u64* src, const Cut& c, const T& t) noexcept { cut_rows<Digits::Canonical>(dst, src, c, t); }

void dot(u64* out_a, u64* out_b, const u64* x, const u64* y, size_t count, bool accumulate, const T& t) noexcept {
  constexpr size_t kMost = 64;
  const u64 *px[kMost] = {}, *pa[kMost] = {}, *pb[kMost] = {};
  // Signed digits need the sums that take them, of at most 15 terms (Rounded).
  const size_t most = t.cw != nullptr ? 15 : kMost;
  do {
    const size_t now = count < most ? count : most;
    for (size_t d = 0; d < now; ++d) {
      px[d] = x + d * t.n;
      pa[d] = y + 2 * d * t.n;
      pb[d] = pa[d] + t.n;
    }
    dot2(out_a, out_b, px, pa, pb, now, accumulate, t.n, t.mod);
    x += now * t.n;
    y += 2 * now * t.n;
    count -= now;
    accumulate = true;
  } while (count != 0);
}

void gadget_product(u64* out_a, u64* out_b, const CutPoly<u64>* polys, size_t count, const u64* key, u64* scratch,
                    const T& t) noexcept {
  size_t rows = 0;
  for (size_t p = 0; p < count; ++p) {
    u64* digits = scratch + rows * t.n;
    if (t.cw != nullptr)
      cut_rows<Digits::Signed>(digits, polys[p].poly, polys[p].cut, t);
    else
      cut_rows<Digits::Loose>(digits, polys[p].poly, polys[p].cut, t);
    rows += polys[p].cut.count;
  }
  for (size_t r = 0; r < rows; ++r) forward_digit(scratch + r * t.n, key + 2 * r * t.n, t);
  dot(out_a, out_b, scratch, key, rows, false, t);
}

void rotate(u64* dst, const u64* src, size_t r, const T& t) noexcept { rotate_any<false>(dst, src, r, t); }
void rotate_sub(u64* dst, const u64* src, size_t r, const T& t) noexcept { rotate_any<true>(dst, src, r, t); }
void automorphism(u64* dst, const u64* src, size_t g, const T& t) noexcept {
  automorphism_coeff(dst, src, g, t.n, t.mod);
}
void add(u64* dst, const u64* a, const u64* b, const T& t) noexcept { avx512::add(dst, a, b, t.n, t.mod); }
void sub(u64* dst, const u64* a, const u64* b, const T& t) noexcept { avx512::sub(dst, a, b, t.n, t.mod); }
void mul(u64* dst, const u64* a, const u64* b, const T& t) noexcept { avx512::mul(dst, a, b, t.n, t.mod); }
void mul_scalar(u64* dst, const u64* a, u64 c, const T& t) noexcept {
  avx512::mul_scalar(dst, a, make_factor(c, t.mod), t.n, t.mod);
}

constexpr SmallKernels<u64> kSmall64{"avx512",     forward, inverse, cut, gadget_product, dot, rotate_sub, rotate,
                                     automorphism, add,     sub,     mul, mul_scalar};

}  // namespace
}  // namespace avx512

template <>
const SmallKernels<u64>& avx512_small<u64>() noexcept {
  return avx512::kSmall64;
}

}  // namespace ringforge::kernels
