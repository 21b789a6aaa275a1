// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Exact gadget products by complex transforms, written once for W lanes over a policy P: P::kLanes = W (1, 4 or 8),
// P::kEight (passes of three levels: they take 16 vectors of data), P::fma(a, b, c) = a*b + c and P::fnma = c - a*b,
// fused or not. Internal linkage throughout, so that no copy for one CPU replaces another's at link time.
//
// A transform is passes of one to three levels over the whole array, then tails: blocks of W*W numbers, W vectors,
// whose upper levels go from vector to vector, and after a transposition the lower ones too. Spectra stay as the tails
// leave them, block after block, so that products read their operands in one stream, and begin the way back in
// registers.
#pragma once

#include <cstddef>
#include <cstring>
#include <utility>

#if defined(__x86_64__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

#include "ringforge/spectral_kernels.hpp"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"

#define RF_SPECTRAL inline __attribute__((always_inline))

namespace ringforge::kernels {
namespace {

/// The default floating-point environment while it lives, whatever the caller's thread has set: results are exact only
/// where operations round to nearest. What runs under it is in functions that are not inlined.
class ToNearest {
 public:
  ToNearest(const ToNearest&) = delete;
  ToNearest& operator=(const ToNearest&) = delete;
#if defined(__x86_64__)
  ToNearest() noexcept : was_(_mm_getcsr()) {
    if ((was_ & ~kFlags) != kDefault) _mm_setcsr(kDefault);
  }
  ~ToNearest() {
    if ((was_ & ~kFlags) != kDefault) _mm_setcsr(was_);
  }

 private:
  static constexpr unsigned kFlags = 0x3f, kDefault = 0x1f80;
  unsigned was_;
#else
  ToNearest() noexcept {
    std::fegetenv(&was_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~ToNearest() { std::fesetenv(&was_); }

 private:
  std::fenv_t was_;
#endif
};

template <class P>
struct Spectral {
  static constexpr std::size_t W = P::kLanes, kBlock = W * W;
  static constexpr unsigned kLaneLog = W == 8 ? 3 : W == 4 ? 2 : 0;
  static_assert(W == 1 || W == 4 || W == 8);
  using i32 = std::int32_t;
  using D = typename P::D;
  typedef i32 I __attribute__((vector_size(4 * W)));     // as many as doubles in a vector
  typedef i32 Cuts __attribute__((vector_size(8 * W)));  // a whole vector of them
  typedef u32 Words __attribute__((vector_size(8 * W)));
  using Table = SpectralTable;

  struct C {
    D re, im;
  };
  template <class V, class T>
  static RF_SPECTRAL V load(const T* p) {
    V v;
    std::memcpy(&v, p, sizeof(V));
    return v;
  }
  template <class V, class T>
  static RF_SPECTRAL void store(T* p, V v) {
    std::memcpy(p, &v, sizeof(V));
  }
  static RF_SPECTRAL D all(double x) { return x - D{}; }  // x + 0 would not be -0
  static RF_SPECTRAL C load(const double* re, const double* im, std::size_t i) {
    return {load<D>(re + i), load<D>(im + i)};
  }
  static RF_SPECTRAL void store(double* re, double* im, std::size_t i, const C& x) {
    store(re + i, x.re);
    store(im + i, x.im);
  }

  // ---- butterflies --------------------------------------------------------------------------------

  /// (u, v) to (u + w*v, u - w*v).
  static RF_SPECTRAL void fwd(C& u, C& v, const C& w) {
    const D re = P::fnma(w.im, v.im, w.re * v.re), im = P::fma(w.re, v.im, w.im * v.re);
    v = {u.re - re, u.im - im};
    u = {u.re + re, u.im + im};
  }
  /// The same with i*w.
  static RF_SPECTRAL void fwd_i(C& u, C& v, const C& w) {
    const D re = P::fnma(w.im, v.im, w.re * v.re), im = P::fma(w.re, v.im, w.im * v.re);
    v = {u.re + im, u.im - re};
    u = {u.re - im, u.im + re};
  }
  /// (u, v) to (u + v, (u - v)/w).
  static RF_SPECTRAL void inv(C& u, C& v, const C& w) {
    const D re = u.re - v.re, im = u.im - v.im;
    u = {u.re + v.re, u.im + v.im};
    v = {P::fma(w.im, im, w.re * re), P::fnma(w.im, re, w.re * im)};
  }
  static RF_SPECTRAL void inv_i(C& u, C& v, const C& w) {
    const D re = v.re - u.re, im = v.im - u.im;
    u = {u.re + v.re, u.im + v.im};
    v = {P::fnma(w.re, im, w.im * re), P::fma(w.im, im, w.re * re)};
  }

  /// Twiddle factors of one node, the same in every lane, or of W nodes from h on, one for each lane.
  template <unsigned Levels, bool Each>
  struct Twiddles {
    C w1, w2, w4, w6;
    static RF_SPECTRAL C take(const double* re, const double* im, std::size_t h) {
      if constexpr (Each)
        return {load<D>(re + h), load<D>(im + h)};
      else
        return {all(re[h]), all(im[h])};
    }
    RF_SPECTRAL Twiddles(const Table& s, std::size_t h) {
      w1 = take(s.re1, s.im1, h);
      if constexpr (Levels >= 2) w2 = take(s.re2, s.im2, h);
      if constexpr (Levels >= 3) {
        w4 = take(s.re4, s.im4, h);
        w6 = take(s.re6, s.im6, h);
      }
    }
  };

  /// The levels of 2^Levels numbers.
  template <unsigned Levels, class T>
  static RF_SPECTRAL void fwd_levels(C* x, const T& t) {
    if constexpr (Levels == 1) {
      fwd(x[0], x[1], t.w1);
    } else if constexpr (Levels == 2) {
      fwd(x[0], x[2], t.w1);
      fwd(x[1], x[3], t.w1);
      fwd(x[0], x[1], t.w2);
      fwd_i(x[2], x[3], t.w2);
    } else if constexpr (Levels == 3) {
      fwd(x[0], x[4], t.w1);
      fwd(x[1], x[5], t.w1);
      fwd(x[2], x[6], t.w1);
      fwd(x[3], x[7], t.w1);
      fwd(x[0], x[2], t.w2);
      fwd(x[1], x[3], t.w2);
      fwd_i(x[4], x[6], t.w2);
      fwd_i(x[5], x[7], t.w2);
      fwd(x[0], x[1], t.w4);
      fwd_i(x[2], x[3], t.w4);
      fwd(x[4], x[5], t.w6);
      fwd_i(x[6], x[7], t.w6);
    }
  }
  template <unsigned Levels, class T>
  static RF_SPECTRAL void inv_levels(C* x, const T& t) {
    if constexpr (Levels == 1) {
      inv(x[0], x[1], t.w1);
    } else if constexpr (Levels == 2) {
      inv(x[0], x[1], t.w2);
      inv_i(x[2], x[3], t.w2);
      inv(x[0], x[2], t.w1);
      inv(x[1], x[3], t.w1);
    } else if constexpr (Levels == 3) {
      inv(x[0], x[1], t.w4);
      inv_i(x[2], x[3], t.w4);
      inv(x[4], x[5], t.w6);
      inv_i(x[6], x[7], t.w6);
      inv(x[0], x[2], t.w2);
      inv(x[1], x[3], t.w2);
      inv_i(x[4], x[6], t.w2);
      inv_i(x[5], x[7], t.w2);
      inv(x[0], x[4], t.w1);
      inv(x[1], x[5], t.w1);
      inv(x[2], x[6], t.w1);
      inv(x[3], x[7], t.w1);
    }
  }

  // ---- transposition ------------------------------------------------------------------------------

  /// Lanes whose number has the bit S clear from a and its partner from b, and the others.
  template <std::size_t S, std::size_t... L>
  static RF_SPECTRAL void exchange(D& a, D& b, std::index_sequence<L...>) {
    const D low = __builtin_shufflevector(a, b, static_cast<int>((L & S) == 0 ? L : W + L - S)...);
    b = __builtin_shufflevector(a, b, static_cast<int>((L & S) == 0 ? L + S : W + L)...);
    a = low;
  }
  template <std::size_t S>
  static RF_SPECTRAL void exchange(C& a, C& b) {
    exchange<S>(a.re, b.re, std::make_index_sequence<W>{});
    exchange<S>(a.im, b.im, std::make_index_sequence<W>{});
  }
  static RF_SPECTRAL void transpose(C* x) {
    if constexpr (W == 4) {
      exchange<2>(x[0], x[2]);
      exchange<2>(x[1], x[3]);
      exchange<1>(x[0], x[1]);
      exchange<1>(x[2], x[3]);
    } else if constexpr (W == 8) {
      exchange<4>(x[0], x[4]);
      exchange<4>(x[1], x[5]);
      exchange<4>(x[2], x[6]);
      exchange<4>(x[3], x[7]);
      exchange<2>(x[0], x[2]);
      exchange<2>(x[1], x[3]);
      exchange<2>(x[4], x[6]);
      exchange<2>(x[5], x[7]);
      exchange<1>(x[0], x[1]);
      exchange<1>(x[2], x[3]);
      exchange<1>(x[4], x[5]);
      exchange<1>(x[6], x[7]);
    }
  }

  // ---- passes -------------------------------------------------------------------------------------

  /// The first levels, from signed words.
  template <unsigned Levels>
  static __attribute__((noinline)) void fwd_first(double* re, double* im, const i32* x, const Table& s) {
    constexpr std::size_t kCount = std::size_t{1} << Levels;
    const std::size_t points = s.n / 2, len = points >> Levels;
    const Twiddles<Levels, false> t(s, 1);
    for (std::size_t j = 0; j < len; j += W) {
      C v[kCount];
#pragma GCC unroll 8
      for (std::size_t k = 0; k < kCount; ++k)
        v[k] = {__builtin_convertvector(load<I>(x + j + k * len), D),
                __builtin_convertvector(load<I>(x + points + j + k * len), D)};
      fwd_levels<Levels>(v, t);
#pragma GCC unroll 8
      for (std::size_t k = 0; k < kCount; ++k) store(re, im, j + k * len, v[k]);
    }
  }
  /// Levels of `nodes` nodes of 2^Levels*len numbers.
  template <unsigned Levels, bool Forward>
  static __attribute__((noinline)) void pass(double* re, double* im, std::size_t nodes, std::size_t len,
                                             const Table& s) {
    constexpr std::size_t kCount = std::size_t{1} << Levels;
    for (std::size_t h = nodes; h < 2 * nodes; ++h, re += kCount * len, im += kCount * len) {
      const Twiddles<Levels, false> t(s, h);
      for (std::size_t j = 0; j < len; j += W) {
        C v[kCount];
#pragma GCC unroll 8
        for (std::size_t k = 0; k < kCount; ++k) v[k] = load(re, im, j + k * len);
        Forward ? fwd_levels<Levels>(v, t) : inv_levels<Levels>(v, t);
#pragma GCC unroll 8
        for (std::size_t k = 0; k < kCount; ++k) store(re, im, j + k * len, v[k]);
      }
    }
  }

  /// Levels above the tails, and of them those of the first pass.
  static unsigned upper(const Table& s) { return s.log_n - 1 - 2 * kLaneLog; }
  static unsigned first(const Table& s) {
    const unsigned levels = upper(s);
    if (levels % 2 == 0) return 2;
    return P::kEight && levels >= 3 ? 3 : 1;
  }

  static void fwd_upper(double* re, double* im, const i32* x, const Table& s) {
    unsigned done = first(s);
    if (done == 1)
      fwd_first<1>(re, im, x, s);
    else if (done == 2)
      fwd_first<2>(re, im, x, s);
    else if constexpr (P::kEight)
      fwd_first<3>(re, im, x, s);
    for (; done < upper(s); done += 2) pass<2, true>(re, im, std::size_t{1} << done, (s.n / 2) >> (done + 2), s);
  }

  /// The transform of x, block b to dst + b*stride. Fetches 2n doubles from `soon` on to the second-level cache.
  static __attribute__((noinline)) void forward(double* dst, std::size_t stride, const i32* x, double* work,
                                                const Table& s, const double* soon) {
    const std::size_t points = s.n / 2, blocks = points / kBlock;
    double *re = work, *im = work + points;
    fwd_upper(re, im, x, s);
    for (std::size_t b = 0; b < blocks; ++b, dst += stride, re += kBlock, im += kBlock) {
      if constexpr (W > 1)
        for (const double* end = soon + 4 * kBlock; soon < end; soon += 8) __builtin_prefetch(soon, 0, 2);
      C v[W];
#pragma GCC unroll 8
      for (std::size_t k = 0; k < W; ++k) v[k] = load(re, im, k * W);
      if constexpr (W > 1) {
        fwd_levels<kLaneLog>(v, Twiddles<kLaneLog, false>(s, blocks + b));
        transpose(v);
        fwd_levels<kLaneLog>(v, Twiddles<kLaneLog, true>(s, W * (blocks + b)));
      }
#pragma GCC unroll 8
      for (std::size_t k = 0; k < W; ++k) store(dst, dst + kBlock, k * W, v[k]);
    }
  }

  /// Sums of products, and the tails of the way back: `x` has the blocks of all rows side by side, `key` those of a
  /// and b of all rows. Two vectors of both sums at a time: 8 accumulators, as many as their latency takes.
  static __attribute__((noinline)) void multiply(double* work_a, double* work_b, const double* x, const double* key,
                                                 std::size_t rows, const Table& s) {
    constexpr std::size_t kTogether = W == 1 ? 1 : 2;
    const std::size_t points = s.n / 2, blocks = points / kBlock;
    for (std::size_t b = 0; b < blocks; ++b, x += rows * 2 * kBlock, key += rows * 4 * kBlock) {
      C sums[2][W];
      for (std::size_t k = 0; k < W; k += kTogether) {
        C v[2][kTogether] = {};
        const double *px = x + k * W, *pk = key + k * W;
        for (std::size_t r = 0; r < rows; ++r, px += 2 * kBlock, pk += 4 * kBlock) {
#pragma GCC unroll 8
          for (std::size_t i = 0; i < kTogether; ++i) {
            const C d = load(px, px + kBlock, i * W);
            add_product(v[0][i], d, load(pk, pk + kBlock, i * W));
            add_product(v[1][i], d, load(pk + 2 * kBlock, pk + 3 * kBlock, i * W));
          }
        }
#pragma GCC unroll 8
        for (std::size_t i = 0; i < kTogether; ++i) {
          sums[0][k + i] = v[0][i];
          sums[1][k + i] = v[1][i];
        }
      }
      inv_tail(work_a + b * kBlock, points, sums[0], blocks + b, s);
      inv_tail(work_b + b * kBlock, points, sums[1], blocks + b, s);
    }
  }
  static RF_SPECTRAL void add_product(C& sum, const C& d, const C& f) {
    sum = {P::fnma(d.im, f.im, P::fma(d.re, f.re, sum.re)), P::fma(d.im, f.re, P::fma(d.re, f.im, sum.im))};
  }
  static RF_SPECTRAL void inv_tail(double* re, std::size_t points, const C* x, std::size_t h, const Table& s) {
    C v[W];
#pragma GCC unroll 8
    for (std::size_t k = 0; k < W; ++k) v[k] = x[k];
    if constexpr (W > 1) {
      inv_levels<kLaneLog>(v, Twiddles<kLaneLog, true>(s, W * h));
      transpose(v);
      inv_levels<kLaneLog>(v, Twiddles<kLaneLog, false>(s, h));
    }
#pragma GCC unroll 8
    for (std::size_t k = 0; k < W; ++k) store(re, re + points, k * W, v[k]);
  }

  /// The nearest integers as residues, on top of what is there.
  struct Rounding {
    D inverse, modulus;
    Words q;
    RF_SPECTRAL explicit Rounding(u32 p) : inverse(all(1.0 / p)), modulus(all(p)), q(p - Words{}) {}
    /// In [-q/2, q/2], a hair more. k*q is exact: k < 2^36, q < 2^31, |x| < 2^51; and the difference is rounded by less
    /// than 2^-22.
    RF_SPECTRAL I centred(D x) const {
      const D r = P::fnma(nearest(x), modulus, x);
      return __builtin_convertvector((r + 0x1.8p52) - 0x1.8p52, I);
    }
    RF_SPECTRAL D nearest(D x) const { return P::fma(x, inverse, all(0x1.8p52)) - 0x1.8p52; }
    template <bool Add>
    RF_SPECTRAL void operator()(u32* dst, D x, D y) const {
      Words r = join(centred(x), centred(y), std::make_index_sequence<2 * W>{});
      r = least(r, r + q);  // a negative one is a word above q
      if constexpr (Add) {
        r += load<Words>(dst);  // below 2q, which is below 2^32
        r = least(r, r - q);
      }
      store(dst, r);
    }
    static RF_SPECTRAL Words least(Words a, Words b) { return a < b ? a : b; }
    template <std::size_t... L>
    static RF_SPECTRAL Words join(I a, I b, std::index_sequence<L...>) {
      return reinterpret_cast<Words>(__builtin_shufflevector(a, b, static_cast<int>(L)...));
    }
  };
  template <unsigned Levels, bool Add>
  static __attribute__((noinline)) void inv_last(u32* dst, const double* re, const double* im, u32 q, const Table& s) {
    constexpr std::size_t kCount = std::size_t{1} << Levels;
    const std::size_t points = s.n / 2, len = points >> Levels;
    const Twiddles<Levels, false> t(s, 1);
    const Rounding round(q);
    for (std::size_t j = 0; j < len; j += 2 * W) {
      C v[kCount], w[kCount];
#pragma GCC unroll 8
      for (std::size_t k = 0; k < kCount; ++k) v[k] = load(re, im, j + k * len);
      inv_levels<Levels>(v, t);
#pragma GCC unroll 8
      for (std::size_t k = 0; k < kCount; ++k) w[k] = load(re, im, j + W + k * len);
      inv_levels<Levels>(w, t);
#pragma GCC unroll 8
      for (std::size_t k = 0; k < kCount; ++k) {
        round.template operator()<Add>(dst + j + k * len, v[k].re, w[k].re);
        round.template operator()<Add>(dst + points + j + k * len, v[k].im, w[k].im);
      }
    }
  }
  template <bool Add>
  static void inv_upper(u32* dst, double* work, u32 q, const Table& s) {
    double *re = work, *im = work + s.n / 2;
    const unsigned last = first(s);
    for (unsigned left = upper(s); left > last; left -= 2)
      pass<2, false>(re, im, std::size_t{1} << (left - 2), (s.n / 2) >> left, s);
    if (last == 1)
      inv_last<1, Add>(dst, re, im, q, s);
    else if (last == 2)
      inv_last<2, Add>(dst, re, im, q, s);
    else if constexpr (P::kEight)
      inv_last<3, Add>(dst, re, im, q, s);
  }

  // ---- digits -------------------------------------------------------------------------------------

  /// The digits themselves, not their residues (see Cut).
  static __attribute__((noinline)) void cut(i32* dst, const u32* src, const Cut& c, const SmallNtt<u32>& t) {
    const i32 q = static_cast<i32>(t.q), base = i32{1} << c.log_base, half = c.balanced ? base / 2 : 0;
    const i32 top = c.balanced ? q / 2 : q, rounding = c.drop > 0 ? i32{1} << (c.drop - 1) : 0;
    const i32 drop = static_cast<i32>(c.drop), shift = static_cast<i32>(c.log_base);
    for (std::size_t i = 0; i < t.n; i += 2 * W) {
      Cuts v = load<Cuts>(src + i);
      v -= (v > top) & q;
      v = (v + rounding) >> drop;
      for (unsigned j = 0; j < c.count; ++j) {
        v += half;
        const Cuts d = c.balanced && j + 1 == c.count ? v : v & (base - 1);
        store(dst + j * t.n + i, d - half);
        v >>= shift;
      }
    }
  }

  // ---- the contract -------------------------------------------------------------------------------

  static void prepare(double* dst, const u32* key, std::size_t rows, double* scratch, const SmallNtt<u32>& t,
                      const Table& s) noexcept {
    const ToNearest mode;
    double* work = scratch;
    i32* x = reinterpret_cast<i32*>(scratch + s.n);
    const Cut whole{1, 1, 0, true};  // centred: the last digit takes all
    for (std::size_t r = 0; r < 2 * rows; ++r) {
      cut(x, key + r * s.n, whole, t);
      forward(dst + r * 2 * kBlock, 2 * rows * 2 * kBlock, x, work, s, scratch);
    }
    const double scale = 2.0 / static_cast<double>(s.n);  // that of the way back: a power of two
    for (std::size_t i = 0; i < 2 * rows * s.n; ++i) dst[i] *= scale;
  }

  static void product(u32* out_a, u32* out_b, const CutPoly<u32>* polys, std::size_t count, const double* key,
                      bool accumulate, double* scratch, const SmallNtt<u32>& t, const Table& s) noexcept {
    const ToNearest mode;
    const std::size_t n = s.n;
    double *work_a = scratch, *work_b = work_a + n, *spectra = work_b + n;
    std::size_t rows = 0;
    for (std::size_t p = 0; p < count; ++p) rows += polys[p].cut.count;
    i32* digits = reinterpret_cast<i32*>(spectra + rows * n);
    std::size_t r = 0;
    for (std::size_t p = 0; p < count; ++p) {
      cut(digits + r * n, polys[p].poly, polys[p].cut, t);
      r += polys[p].cut.count;
    }
    for (r = 0; r < rows; ++r) {
      // Keys pass by once in a blind rotation: this row's share of them comes from memory during its transform.
      forward(spectra + r * 2 * kBlock, rows * 2 * kBlock, digits + r * n, work_a, s, key + r * 2 * n);
    }
    multiply(work_a, work_b, spectra, key, rows, s);
    if (accumulate) {
      inv_upper<true>(out_a, work_a, t.q, s);
      inv_upper<true>(out_b, work_b, t.q, s);
    } else {
      inv_upper<false>(out_a, work_a, t.q, s);
      inv_upper<false>(out_b, work_b, t.q, s);
    }
  }
};

}  // namespace
}  // namespace ringforge::kernels

#undef RF_SPECTRAL
#pragma GCC diagnostic pop
