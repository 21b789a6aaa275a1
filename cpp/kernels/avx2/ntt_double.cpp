// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Number-theoretic transforms in double precision, for q < 2^50: AVX2 multiplies 64-bit words in nine operations and
// doubles in one.
//
// A word is a signed integer below 2^52 in a double, exact. A product w*y modulo q, |y| <= Y*q, Y <= 2:
//   h = w*y rounded, l = w*y - h exact (fused), k = round(y*s), s = w/q within 2^-53, r = (h - k*q) + l.
// Adding 1.5*2^52 rounds to an integer where the sum stays in [2^52, 2^53): |y*s| < 2q < 2^51. The error of k is below
// 1/2 + |y|*2^-53 <= 1/2 + Y/8, so |r| <= (1/2 + Y/8)*q; and h - k*q = r - l with |l| <= ulp(2^101)/2 = 2^47, an
// integer below 2^51, so that the fused operation is exact, and the sum too.
//
// Forward: a pass is entered with words of at most 2q. The first level brings x to at most q/2, and leaves (1/2 +
// 3/4)q; the second leaves (5/4 + 1/2 + 5/32)q < 2q. Inverse: words of at most q, a sum of at most 2q loses q by its
// sign, a product of a difference is at most 3/4 q.
//
// Running time depends on nothing: no word is below 2^-1022 in size but zero.
#include "ntt_walk.hpp"

namespace ringforge::kernels::avx2 {
namespace {

RF_INLINE D bits(V a) { return _mm256_castsi256_pd(a); }
RF_INLINE V bits(D a) { return _mm256_castpd_si256(a); }
RF_INLINE D dset1(double a) { return _mm256_set1_pd(a); }
RF_INLINE D dadd(D a, D b) { return _mm256_add_pd(a, b); }
RF_INLINE D dsub(D a, D b) { return _mm256_sub_pd(a, b); }

constexpr double kTwo52 = 0x1p52;
constexpr double kRound = 0x1.8p52;

struct Doubles {
  using Vec = D;
  struct Tw {
    D w, s;
  };
  const u64 *w, *w52;
  D q, q_inv, round;
  V q1, q2;
  Tw n_inv, n_inv_w;

  RF_MEMBER Doubles(const NttTable& t, bool inverse)
      : w(inverse ? t.iw : t.w),
        w52(inverse ? t.iw52 : t.w52),
        q(dset1(static_cast<double>(t.mod.q))),
        q_inv(dset1(1.0 / static_cast<double>(t.mod.q))),
        round(dset1(kRound)),
        q1(set1(t.mod.q)),
        q2(set1(2 * t.mod.q)),
        n_inv(twiddle(set1(t.n_inv.w), set1(t.n_inv.w52))),
        n_inv_w(twiddle(set1(t.n_inv_w.w), set1(t.n_inv_w.w52))) {}

  static RF_MEMBER D load(const u64* p) { return bits(avx2::load(p)); }
  static RF_MEMBER void store(u64* p, D v) { avx2::store(p, bits(v)); }
  /// a - c for words below 2^52: as the last bits of 2^52 + a.
  static RF_MEMBER D minus(V a, D two52_c) { return dsub(bits(_mm256_or_si256(a, bits(dset1(kTwo52)))), two52_c); }
  RF_MEMBER D first(const u64* p) const {  // [0, 4q) to [-2q, 2q)
    return minus(avx2::load(p), dadd(dset1(kTwo52), dadd(q, q)));
  }
  RF_MEMBER D first_inverse(const u64* p) const {  // [0, 2q) to [-q, q)
    return minus(avx2::load(p), dadd(dset1(kTwo52), q));
  }
  /// The quotient floor(w*2^52/q) as the last bits of a number in [1, 2), and half a unit of it more.
  static RF_MEMBER Tw twiddle(V w, V w52) {
    return {minus(w, dset1(kTwo52)), dsub(bits(_mm256_or_si256(w52, bits(dset1(1.0)))), dset1(1.0 - 0x1p-53))};
  }
  RF_MEMBER Tw tw1(size_t i) const { return twiddle(set1(w[i]), set1(w52[i])); }
  RF_MEMBER Tw tw2(size_t i) const { return twiddle(load_twice(w + i), load_twice(w52 + i)); }
  RF_MEMBER Tw tw4(size_t i) const { return twiddle(avx2::load(w + i), avx2::load(w52 + i)); }

  RF_MEMBER D mul(D y, const Tw& t) const {
    const D h = _mm256_mul_pd(y, t.w), k = dsub(_mm256_fmadd_pd(y, t.s, round), round);
    return dadd(_mm256_fnmadd_pd(k, q, h), _mm256_fmsub_pd(y, t.w, h));
  }
  /// To [-q/2, q/2], a hair more.
  RF_MEMBER D centred(D x) const { return _mm256_fnmadd_pd(dsub(_mm256_fmadd_pd(x, q_inv, round), round), q, x); }
  /// From [-2q, 2q] to [-q, q].
  RF_MEMBER D towards_zero(D x) const { return dsub(x, _mm256_or_pd(_mm256_and_pd(x, dset1(-0.0)), q)); }
  /// Canonical words of (-2q, 2q), and of (-q, q).
  RF_MEMBER D word2(D x) const {
    const V a = _mm256_xor_si256(bits(dadd(x, dadd(dset1(kTwo52), dadd(q, q)))), bits(dset1(kTwo52)));
    return bits(csub(csub(a, q2), q1));
  }
  RF_MEMBER D word1(D x) const {
    return bits(csub(_mm256_xor_si256(bits(dadd(x, dadd(dset1(kTwo52), q))), bits(dset1(kTwo52))), q1));
  }

  template <bool Second>
  RF_MEMBER void fwd(D& x, D& y, const Tw& t) const {
    if constexpr (!Second) x = centred(x);
    const D v = mul(y, t);
    y = dsub(x, v);
    x = dadd(x, v);
  }
  RF_MEMBER void last_fwd(D& x, D& y, const Tw& t) const {
    fwd<true>(x, y, t);
    x = word2(x);
    y = word2(y);
  }
  template <unsigned S>
  RF_MEMBER void inv(D& x, D& y, const Tw& t) const {
    const D d = dsub(x, y);
    x = towards_zero(dadd(x, y));
    y = mul(d, t);
  }
  template <unsigned S>
  RF_MEMBER void last_inv(D& x, D& y) const {
    const D d = dsub(x, y);
    x = word1(mul(dadd(x, y), n_inv));
    y = word1(mul(d, n_inv_w));
  }
};

}  // namespace

void ntt_forward_double(u64* dst, const u64* src, const NttTable& t) noexcept { forward<Doubles>(dst, src, t); }
void ntt_inverse_double(u64* dst, const u64* src, const NttTable& t) noexcept { inverse<Doubles>(dst, src, t); }

}  // namespace ringforge::kernels::avx2
