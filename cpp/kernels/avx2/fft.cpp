// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The encoder's complex transforms and the rounding after them. Each butterfly performs the operations of
// the reference on the same operands, so the results are the same to the bit; only the order of
// independent butterflies differs. Walked depth first like the number-theoretic transforms (ntt.cpp).
#include "internal.hpp"

namespace ringforge::kernels::avx2 {
namespace {

constexpr unsigned kTailLog = 4;
constexpr unsigned kLeafLog = 10;

struct C {
  D re, im;
};

RF_INLINE D vadd(D a, D b) { return _mm256_add_pd(a, b); }
RF_INLINE D vsub(D a, D b) { return _mm256_sub_pd(a, b); }
RF_INLINE D vmul(D a, D b) { return _mm256_mul_pd(a, b); }

RF_INLINE C tw1(const FftTable& t, size_t i) { return {_mm256_set1_pd(t.re[i]), _mm256_set1_pd(t.im[i])}; }
RF_INLINE C tw2(const FftTable& t, size_t i) {
  const D re = _mm256_castpd128_pd256(_mm_loadu_pd(t.re + i));
  const D im = _mm256_castpd128_pd256(_mm_loadu_pd(t.im + i));
  return {_mm256_permute4x64_pd(re, 0x50), _mm256_permute4x64_pd(im, 0x50)};
}
RF_INLINE C tw4(const FftTable& t, size_t i) { return {_mm256_loadu_pd(t.re + i), _mm256_loadu_pd(t.im + i)}; }

RF_INLINE C get(const double* re, const double* im, size_t i) {
  return {_mm256_loadu_pd(re + i), _mm256_loadu_pd(im + i)};
}
RF_INLINE void put(double* re, double* im, size_t i, const C& x) {
  _mm256_storeu_pd(re + i, x.re);
  _mm256_storeu_pd(im + i, x.im);
}
RF_INLINE void swap_halves(D& a, D& b) {  // (a0 a1 b0 b1), (a2 a3 b2 b3)
  const D c = _mm256_permute2f128_pd(a, b, 0x20);
  b = _mm256_permute2f128_pd(a, b, 0x31);
  a = c;
}
RF_INLINE void swap_odd(D& a, D& b) {  // (a0 b0 a2 b2), (a1 b1 a3 b3)
  const D c = _mm256_unpacklo_pd(a, b);
  b = _mm256_unpackhi_pd(a, b);
  a = c;
}
RF_INLINE void swap_halves(C& a, C& b) {
  swap_halves(a.re, b.re);
  swap_halves(a.im, b.im);
}
RF_INLINE void swap_odd(C& a, C& b) {
  swap_odd(a.re, b.re);
  swap_odd(a.im, b.im);
}

/// (u, v) -> (u + w*v, u - w*v).
RF_INLINE void fwd(C& u, C& v, const C& w) {
  const D pr = vsub(vmul(v.re, w.re), vmul(v.im, w.im)), pi = vadd(vmul(v.re, w.im), vmul(v.im, w.re));
  v = {vsub(u.re, pr), vsub(u.im, pi)};
  u = {vadd(u.re, pr), vadd(u.im, pi)};
}

/// (u, v) -> (u + v, conj(w)*(u - v)). x - y*(-z) and x + y*z are the same to the bit.
RF_INLINE void inv(C& u, C& v, const C& w) {
  const D dr = vsub(u.re, v.re), di = vsub(u.im, v.im);
  u = {vadd(u.re, v.re), vadd(u.im, v.im)};
  v = {vadd(vmul(dr, w.re), vmul(di, w.im)), vsub(vmul(di, w.re), vmul(dr, w.im))};
}

RF_INLINE void scale(C& x, D f) { x = {vmul(x.re, f), vmul(x.im, f)}; }

RF_INLINE void scale4(C x[4], D f) {
  scale(x[0], f);
  scale(x[1], f);
  scale(x[2], f);
  scale(x[3], f);
}

RF_INLINE void fwd4(C x[4], const C& w1, const C& w2, const C& w3) {
  fwd(x[0], x[2], w1);
  fwd(x[1], x[3], w1);
  fwd(x[0], x[1], w2);
  fwd(x[2], x[3], w3);
}
RF_INLINE void inv4(C x[4], const C& w1, const C& w2, const C& w3) {
  inv(x[0], x[1], w2);
  inv(x[2], x[3], w3);
  inv(x[0], x[2], w1);
  inv(x[1], x[3], w1);
}

/// Two levels of a block, `len` apart. With `Last`, 1/n is applied. (Written out, not looped over: see
/// ntt.cpp.)
template <bool Forward, bool Last>
__attribute__((noinline)) void pass4(double* re, double* im, const FftTable& t, size_t len, size_t h) {
  const C w1 = tw1(t, h), w2 = tw1(t, 2 * h), w3 = tw1(t, 2 * h + 1);
  const D f = _mm256_set1_pd(1.0 / static_cast<double>(t.n));
  for (size_t j = 0; j < len; j += 4) {
    C x[4] = {get(re, im, j), get(re, im, j + len), get(re, im, j + 2 * len), get(re, im, j + 3 * len)};
    Forward ? fwd4(x, w1, w2, w3) : inv4(x, w1, w2, w3);
    if constexpr (Last) scale4(x, f);
    put(re, im, j, x[0]);
    put(re, im, j + len, x[1]);
    put(re, im, j + 2 * len, x[2]);
    put(re, im, j + 3 * len, x[3]);
  }
}

template <bool Forward, bool Last>
__attribute__((noinline)) void pass2(double* re, double* im, const FftTable& t, size_t len, size_t h) {
  const C w1 = tw1(t, h);
  const D f = _mm256_set1_pd(1.0 / static_cast<double>(t.n));
  for (size_t j = 0; j < len; j += 4) {
    C x = get(re, im, j), y = get(re, im, j + len);
    Forward ? fwd(x, y, w1) : inv(x, y, w1);
    if constexpr (Last) {
      scale(x, f);
      scale(y, f);
    }
    put(re, im, j, x);
    put(re, im, j + len, y);
  }
}

/// The 2 levels nearest to single elements of two blocks of 4, g the heap index of their parent.
template <bool Forward>
RF_INLINE void pair(C& u, C& v, const FftTable& t, size_t g) {
  swap_halves(u, v);
  if constexpr (Forward) {
    fwd(u, v, tw2(t, 2 * g));
    swap_odd(u, v);
    fwd(u, v, tw4(t, 4 * g));
    swap_odd(u, v);
  } else {
    swap_odd(u, v);
    inv(u, v, tw4(t, 4 * g));
    swap_odd(u, v);
    inv(u, v, tw2(t, 2 * g));
  }
  swap_halves(u, v);
}

/// The 4 levels nearest to single elements of `count` blocks of 16.
template <bool Forward>
__attribute__((noinline)) void tails(double* re, double* im, const FftTable& t, size_t count, size_t h, bool last) {
  const D f = _mm256_set1_pd(1.0 / static_cast<double>(t.n));
  for (; count != 0; --count, ++h, re += 16, im += 16) {
    C x[4] = {get(re, im, 0), get(re, im, 4), get(re, im, 8), get(re, im, 12)};
    if constexpr (Forward) fwd4(x, tw1(t, h), tw1(t, 2 * h), tw1(t, 2 * h + 1));
    pair<Forward>(x[0], x[1], t, 2 * h);
    pair<Forward>(x[2], x[3], t, 2 * h + 1);
    if constexpr (!Forward) {
      inv4(x, tw1(t, h), tw1(t, 2 * h), tw1(t, 2 * h + 1));
      if (last) scale4(x, f);
    }
    put(re, im, 0, x[0]);
    put(re, im, 4, x[1]);
    put(re, im, 8, x[2]);
    put(re, im, 12, x[3]);
  }
}

template <bool Forward>
void walk(double* re, double* im, const FftTable& t, unsigned lg, size_t h) {
  if (lg == kTailLog) return;
  const unsigned s = lg == kTailLog + 1 ? 1 : 2;
  const size_t len = size_t{1} << (lg - s);
  if constexpr (Forward) s == 2 ? pass4<true, false>(re, im, t, len, h) : pass2<true, false>(re, im, t, len, h);
  for (size_t i = 0; i < size_t{1} << s; ++i) {
    const size_t child = (h << s) + i;
    double *r = re + i * len, *m = im + i * len;
    const bool leaf = lg > kLeafLog && lg - s <= kLeafLog;
    if (!Forward && leaf) tails<false>(r, m, t, len >> kTailLog, child << (lg - s - kTailLog), false);
    walk<Forward>(r, m, t, lg - s, child);
    if (Forward && leaf) tails<true>(r, m, t, len >> kTailLog, child << (lg - s - kTailLog), false);
  }
  if constexpr (!Forward) {
    if (h == 1)
      s == 2 ? pass4<false, true>(re, im, t, len, h) : pass2<false, true>(re, im, t, len, h);
    else
      s == 2 ? pass4<false, false>(re, im, t, len, h) : pass2<false, false>(re, im, t, len, h);
  }
}

// n < 16: plain loops.
void small_forward(double* re, double* im, const FftTable& t) {
  for (size_t m = 1, len = t.n / 2; m < t.n; m *= 2, len /= 2)
    for (size_t i = 0; i < m; ++i)
      for (size_t j = 2 * i * len; j < (2 * i + 1) * len; ++j) {
        const double wr = t.re[m + i], wi = t.im[m + i], xr = re[j + len], xi = im[j + len];
        const double pr = xr * wr - xi * wi, pi = xr * wi + xi * wr;
        re[j + len] = re[j] - pr;
        im[j + len] = im[j] - pi;
        re[j] += pr;
        im[j] += pi;
      }
}
void small_inverse(double* re, double* im, const FftTable& t) {
  for (size_t m = t.n / 2, len = 1; m >= 1; m /= 2, len *= 2)
    for (size_t i = 0; i < m; ++i)
      for (size_t j = 2 * i * len; j < (2 * i + 1) * len; ++j) {
        const double wr = t.re[m + i], wi = t.im[m + i];
        const double dr = re[j] - re[j + len], di = im[j] - im[j + len];
        re[j] += re[j + len];
        im[j] += im[j + len];
        re[j + len] = dr * wr + di * wi;
        im[j + len] = di * wr - dr * wi;
      }
  const double f = 1.0 / static_cast<double>(t.n);
  for (size_t i = 0; i < t.n; ++i) {
    re[i] *= f;
    im[i] *= f;
  }
}

}  // namespace

void fft_forward(double* re, double* im, const FftTable& t) noexcept {
  if (t.log_n < kTailLog) return small_forward(re, im, t);
  walk<true>(re, im, t, t.log_n, 1);
  if (t.log_n <= kLeafLog) tails<true>(re, im, t, t.n >> kTailLog, t.n >> kTailLog, false);
}

void fft_inverse(double* re, double* im, const FftTable& t) noexcept {
  if (t.log_n < kTailLog) return small_inverse(re, im, t);
  if (t.log_n <= kLeafLog) tails<false>(re, im, t, t.n >> kTailLog, t.n >> kTailLog, t.log_n == kTailLog);
  walk<false>(re, im, t, t.log_n, 1);
}

bool scale_round(i64* dst, const double* x, double scale, size_t n) noexcept {
  constexpr double kLimit = 4611686018427387904.0;  // 2^62
  const D limit = _mm256_set1_pd(kLimit), f = _mm256_set1_pd(scale);
  const D sign = _mm256_set1_pd(-0.0), magic = _mm256_set1_pd(6755399441055744.0);  // 1.5 * 2^52
  const D two32 = _mm256_set1_pd(4294967296.0), two_m32 = _mm256_set1_pd(1 / 4294967296.0);
  D good = _mm256_castsi256_pd(_mm256_set1_epi64x(-1));
  size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const D s = vmul(_mm256_loadu_pd(x + i), f);
    good = _mm256_and_pd(good, _mm256_cmp_pd(_mm256_andnot_pd(sign, s), limit, _CMP_LT_OQ));
    // r = h*2^32 + l, all exact, |h| <= 2^30, 0 <= l < 2^32; each is read from the low bits of its sum
    // with 1.5 * 2^52.
    const D r = _mm256_round_pd(s, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const D h = _mm256_floor_pd(vmul(r, two_m32)), l = vsub(r, vmul(h, two32));
    const V hi = _mm256_castpd_si256(vadd(h, magic)), lo = _mm256_castpd_si256(vadd(l, magic));
    const V low = vsub(lo, _mm256_castpd_si256(magic));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst + i), vadd(shl<32>(hi), low));
  }
  bool ok = _mm256_movemask_pd(good) == 15;
  for (; i < n; ++i) {
    const double s = x[i] * scale;
    if (!(__builtin_fabs(s) < kLimit)) {
      ok = false;
      continue;
    }
    // The nearest integer, ties to even: from 2^52 on s is an integer already.
    const double r = __builtin_fabs(s) < 4503599627370496.0 ? (s < 0 ? (s - 4503599627370496.0) + 4503599627370496.0
                                                                     : (s + 4503599627370496.0) - 4503599627370496.0)
                                                            : s;
    dst[i] = static_cast<i64>(r);
  }
  return ok;
}

}  // namespace ringforge::kernels::avx2
