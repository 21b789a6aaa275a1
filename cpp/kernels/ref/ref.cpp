// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The reference kernel set: plain scalar code, the oracle of the conformance suite. Clarity first.
#include <cmath>

#include "ref/arith.hpp"
#include "sets.hpp"

namespace ringforge::kernels {
namespace {

using namespace arith;

// Cooley-Tukey with Harvey's lazy ranges: values stay in [0, 4q) between stages. 4q < 2^63.
void ntt_forward(u64* dst, const u64* src, const NttTable& t) noexcept {
  const u64 q = t.mod.q, q2 = 2 * q;
  const std::size_t n = t.n;
  if (dst != src)
    for (std::size_t i = 0; i < n; ++i) dst[i] = src[i];
  for (std::size_t m = 1, len = n / 2; m < n; m *= 2, len /= 2) {
    for (std::size_t i = 0; i < m; ++i) {
      const u64 w = t.w[m + i], w64 = t.w64[m + i];
      u64* x = dst + 2 * i * len;
      u64* y = x + len;
      for (std::size_t j = 0; j < len; ++j) {
        const u64 u = once(x[j], q2), v = mul_lazy(y[j], w, w64, q);
        x[j] = u + v;
        y[j] = u - v + q2;
      }
    }
  }
  for (std::size_t i = 0; i < n; ++i) dst[i] = once(once(dst[i], q2), q);
}

// Gentleman-Sande, values in [0, 2q) between stages; 1/n folded into the last stage.
void ntt_inverse(u64* dst, const u64* src, const NttTable& t) noexcept {
  const u64 q = t.mod.q, q2 = 2 * q;
  const std::size_t n = t.n;
  if (dst != src)
    for (std::size_t i = 0; i < n; ++i) dst[i] = src[i];
  for (std::size_t m = n / 2, len = 1; m > 1; m /= 2, len *= 2) {
    for (std::size_t i = 0; i < m; ++i) {
      const u64 w = t.iw[m + i], w64 = t.iw64[m + i];
      u64* x = dst + 2 * i * len;
      u64* y = x + len;
      for (std::size_t j = 0; j < len; ++j) {
        const u64 u = x[j], v = y[j];
        x[j] = once(u + v, q2);
        y[j] = mul_lazy(u - v + q2, w, w64, q);
      }
    }
  }
  u64* x = dst;
  u64* y = dst + n / 2;
  for (std::size_t j = 0; j < n / 2; ++j) {
    const u64 u = x[j], v = y[j];
    x[j] = mul_factor(u + v, t.n_inv, q);
    y[j] = mul_factor(u - v + q2, t.n_inv_w, q);
  }
}

void add(u64* dst, const u64* a, const u64* b, std::size_t n, const Modulus& m) noexcept {
  for (std::size_t i = 0; i < n; ++i) dst[i] = arith::add(a[i], b[i], m.q);
}
void sub(u64* dst, const u64* a, const u64* b, std::size_t n, const Modulus& m) noexcept {
  for (std::size_t i = 0; i < n; ++i) dst[i] = arith::sub(a[i], b[i], m.q);
}
void neg(u64* dst, const u64* a, std::size_t n, const Modulus& m) noexcept {
  for (std::size_t i = 0; i < n; ++i) dst[i] = arith::neg(a[i], m.q);
}
void mul(u64* dst, const u64* a, const u64* b, std::size_t n, const Modulus& m) noexcept {
  for (std::size_t i = 0; i < n; ++i) dst[i] = arith::mul(a[i], b[i], m);
}
void mul_add(u64* dst, const u64* a, const u64* b, std::size_t n, const Modulus& m) noexcept {
  for (std::size_t i = 0; i < n; ++i) dst[i] = reduce128(static_cast<u128>(a[i]) * b[i] + dst[i], m);
}
void add_scalar(u64* dst, const u64* a, u64 c, std::size_t n, const Modulus& m) noexcept {
  for (std::size_t i = 0; i < n; ++i) dst[i] = arith::add(a[i], c, m.q);
}
void mul_scalar(u64* dst, const u64* a, const Factor& f, std::size_t n, const Modulus& m) noexcept {
  for (std::size_t i = 0; i < n; ++i) dst[i] = mul_factor(a[i], f, m.q);
}
void sub_mul_scalar(u64* dst, const u64* a, const u64* b, const Factor& f, std::size_t n, const Modulus& m) noexcept {
  for (std::size_t i = 0; i < n; ++i) dst[i] = mul_factor(a[i] + 4 * m.q - b[i], f, m.q);
}
void reduce(u64* dst, const u64* a, std::size_t n, const Modulus& m) noexcept {
  for (std::size_t i = 0; i < n; ++i) dst[i] = reduce64(a[i], m);
}
void reduce_signed(u64* dst, const i64* a, std::size_t n, const Modulus& m) noexcept {
  for (std::size_t i = 0; i < n; ++i) {
    const u64 sign = static_cast<u64>(a[i] >> 63);
    const u64 size = reduce64((static_cast<u64>(a[i]) ^ sign) - sign, m);
    dst[i] = arith::wrapped((size ^ sign) - sign, m.q);
  }
}

void dot2(u64* out0, u64* out1, const u64* const* x, const u64* const* y0, const u64* const* y1, std::size_t count,
          bool accumulate, std::size_t n, const Modulus& m) noexcept {
  for (std::size_t i = 0; i < n; ++i) {
    u64 a0 = accumulate ? out0[i] : 0, a1 = accumulate ? out1[i] : 0;
    for (std::size_t d = 0; d < count; ++d) {
      a0 = reduce128(static_cast<u128>(x[d][i]) * y0[d][i] + a0, m);
      a1 = reduce128(static_cast<u128>(x[d][i]) * y1[d][i] + a1, m);
    }
    out0[i] = a0;
    out1[i] = a1;
  }
}
void dot2_twice(u64* const out[4], const u64* const* x, const u64* const* y0, const u64* const* y1, std::size_t count,
                std::size_t n, const Modulus& m) noexcept {
  dot2(out[0], out[1], x, y0, y1, count, false, n, m);
  dot2(out[2], out[3], x, y0 + 1, y1 + 1, count, false, n, m);
}

void matmul(u64* out, std::size_t stride, const u64* a, const u64* b, std::size_t rows, std::size_t cols,
            std::size_t count, const Modulus& m) noexcept {
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < cols; ++c) {
      u64 sum = 0;
      for (std::size_t t = 0; t < count; ++t)
        sum = reduce128(static_cast<u128>(a[t * rows + r]) * b[t * cols + c] + sum, m);
      out[r * stride + c] = sum;
    }
  }
}

void automorphism_coeff(u64* dst, const u64* src, u64 g, std::size_t n, const Modulus& m) noexcept {
  const u64 mask = 2 * n - 1;
  for (std::size_t i = 0; i < n; ++i) {
    const u64 e = (i * g) & mask;
    if (e < n)
      dst[e] = src[i];
    else
      dst[e - n] = arith::neg(src[i], m.q);
  }
}
void automorphism_eval(u64* dst, const u64* src, const u32* index, std::size_t n) noexcept {
  for (std::size_t i = 0; i < n; ++i) dst[i] = src[index[i]];
}
void automorphism_eval_add(u64* dst, const u64* src, const u32* index, std::size_t n, const Modulus& m) noexcept {
  for (std::size_t i = 0; i < n; ++i) dst[i] = arith::add(dst[i], src[index[i]], m.q);
}

void lift_centered(u64* dst, const u64* src, u64 p, std::size_t n, const Modulus& m) noexcept {
  const u64 half = p / 2, p_mod_q = reduce64(p, m);
  for (std::size_t i = 0; i < n; ++i) {
    const u64 above = u64{0} - ((half - src[i]) >> 63);
    dst[i] = arith::sub(reduce64(src[i], m), p_mod_q & above, m.q);
  }
}

void ntt_forward_lift(u64* dst, const u64* src, u64 p, const NttTable& t) noexcept {
  lift_centered(dst, src, p, t.n, t.mod);
  ntt_forward(dst, dst, t);
}

void ntt_packed_head(u64* dst, u64*, const std::uint8_t* src, unsigned bits, u64 p, const NttTable& t) noexcept {
  for (std::size_t i = 0; i < t.n; ++i) {
    u64 word = 0;
    const std::size_t first = i * bits / 8, last = (i * bits + bits - 1) / 8;
    for (std::size_t b = last + 1; b-- > first;) word = word << 8 | src[b];
    dst[i] = word >> (i * bits % 8) & ((u64{1} << bits) - 1);
  }
  ntt_forward_lift(dst, dst, p, t);
}
void ntt_finish(u64*, std::size_t, std::size_t, const u64*, const NttTable&) noexcept {}

void convert_quotient(u64* v, const u64* const* y, const double* inv, std::size_t k, std::size_t n) noexcept {
  for (std::size_t i = 0; i < n; ++i) {
    double s = 0;
    // As signed numbers: conversions of unsigned ones branch on the highest bit.
    for (std::size_t d = 0; d < k; ++d) s += static_cast<double>(static_cast<i64>(y[d][i])) * inv[d];
    v[i] = static_cast<u64>(static_cast<i64>(s + 0.5));
  }
}

void base_convert(u64* dst, const u64* const* y, const u64* c, std::size_t k, unsigned /*y_bits*/, const u64* v,
                  u64 p_mod_q, std::size_t n, const Modulus& m) noexcept {
  for (std::size_t i = 0; i < n; ++i) {
    u64 acc = v == nullptr ? 0 : arith::neg(arith::mul(v[i], p_mod_q, m), m.q);
    for (std::size_t d = 0; d < k; ++d) acc = reduce128(static_cast<u128>(y[d][i]) * c[d] + acc, m);
    dst[i] = acc;
  }
}

void fft_forward(double* re, double* im, const FftTable& t) noexcept {
  const std::size_t n = t.n;
  for (std::size_t m = 1, len = n / 2; m < n; m *= 2, len /= 2) {
    for (std::size_t i = 0; i < m; ++i) {
      const double wr = t.re[m + i], wi = t.im[m + i];
      for (std::size_t j = 2 * i * len; j < (2 * i + 1) * len; ++j) {
        const double xr = re[j + len], xi = im[j + len];
        const double vr = xr * wr - xi * wi, vi = xr * wi + xi * wr;
        const double ur = re[j], ui = im[j];
        re[j] = ur + vr;
        im[j] = ui + vi;
        re[j + len] = ur - vr;
        im[j + len] = ui - vi;
      }
    }
  }
}

void fft_inverse(double* re, double* im, const FftTable& t) noexcept {
  const std::size_t n = t.n;
  for (std::size_t m = n / 2, len = 1; m >= 1; m /= 2, len *= 2) {
    for (std::size_t i = 0; i < m; ++i) {
      const double wr = t.re[m + i], wi = -t.im[m + i];
      for (std::size_t j = 2 * i * len; j < (2 * i + 1) * len; ++j) {
        const double ur = re[j], ui = im[j], vr = re[j + len], vi = im[j + len];
        const double dr = ur - vr, di = ui - vi;
        re[j] = ur + vr;
        im[j] = ui + vi;
        re[j + len] = dr * wr - di * wi;
        im[j + len] = dr * wi + di * wr;
      }
    }
  }
  const double f = 1.0 / static_cast<double>(n);
  for (std::size_t i = 0; i < n; ++i) {
    re[i] *= f;
    im[i] *= f;
  }
}

bool scale_round(i64* dst, const double* x, double scale, std::size_t n) noexcept {
  constexpr double limit = 4611686018427387904.0;  // 2^62
  unsigned beyond = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double s = x[i] * scale;
    beyond |= static_cast<unsigned>(!(std::fabs(s) < limit));
    dst[i] = static_cast<i64>(std::nearbyint(s));
  }
  return beyond == 0;
}

}  // namespace

const Kernels& ref_kernels() noexcept {
  static constexpr Kernels table{"ref",
                                 ntt_forward,
                                 ntt_forward_lift,
                                 ntt_packed_head,
                                 ntt_finish,
                                 ntt_inverse,
                                 add,
                                 sub,
                                 neg,
                                 mul,
                                 mul_add,
                                 add_scalar,
                                 mul_scalar,
                                 sub_mul_scalar,
                                 reduce,
                                 reduce_signed,
                                 dot2,
                                 dot2_twice,
                                 matmul,
                                 automorphism_coeff,
                                 automorphism_eval,
                                 automorphism_eval_add,
                                 lift_centered,
                                 convert_quotient,
                                 base_convert,
                                 fft_forward,
                                 fft_inverse,
                                 scale_round};
  return table;
}

}  // namespace ringforge::kernels
