// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The long dimension of index 65537 for q < 2^50; larger primes take `ref`.
//
// A vector is a row. The levels within rows are done on eight rows at a time, transposed. From there on no lane is
// permuted: the passes of ntt_impl.hpp with a twiddle factor for each lane. Rows are 13 levels: one beside those
// within rows, and 4 for each of three passes, the last of which has the product with the fixed array in place of its
// last level and is, like the one before it, done on blocks that stay in the first-level cache.
#include "sets.hpp"
#include "transpose.hpp"
#include "word52.hpp"

namespace ringforge::kernels {
namespace avx512 {
namespace {

constexpr size_t kRow = 8, kLength = 65536;

NttTable modulus_alone(const Modulus& m) {
  NttTable t;
  t.mod = m;
  return t;
}

/// The arithmetic of the lanes: tw1(h) is the row of twiddle factors of node h, stored or from their quotients.
template <unsigned K, bool Stored>
struct Lanes : Word52<K> {
  using Tw = typename Word52<K>::Tw;
  RF_MEMBER Lanes(const Modulus& m, const u64* twiddle, const u64* quotient)
      : Word52<K>(modulus_alone(m), twiddle, quotient) {}
  RF_MEMBER Tw tw1(size_t h) const {
    if constexpr (Stored)
      return {load(this->tw + kRow * h), load(this->tw_s + kRow * h)};
    else
      return this->from_quotient(load(this->tw_s + kRow * h));
  }
};

/// The constants other than 1 of the levels within a row.
template <class A>
struct Row {
  using Tw = typename A::Tw;
  Tw w1, w2, w3;
  explicit RF_MEMBER Row(const Factor (&f)[4]) : w1(constant(f[1])), w2(constant(f[2])), w3(constant(f[3])) {}
  static RF_MEMBER Tw constant(const Factor& f) { return {set1(f.w), set1(f.w52)}; }

  /// x + y and x - y, from words below K/2*q to words below K*q.
  static RF_MEMBER void plain(const A& a, V& x, V& y) {
    const V d = vsub(vadd(x, a.half()), y);
    x = vadd(x, y);
    y = d;
  }
  /// Of words below K*q.
  static RF_MEMBER void plain_of_any(const A& a, V& x, V& y) {
    x = csub(x, a.half());
    y = csub(y, a.half());
    plain(a, x, y);
  }
  /// Words below K/2*q to such words.
  static RF_MEMBER void plain_back(const A& a, V& x, V& y) {
    plain(a, x, y);
    x = csub(x, a.half());
    y = csub(y, a.half());
  }

  /// The three levels, of words below 4q, and below K*q after.
  RF_MEMBER void forward(const A& a, V x[8]) const {
    constexpr bool reduce = must_reduce<A>(A::kLimit);
    constexpr auto first = A::kLimit == 8 ? plain : plain_of_any;
    first(a, x[0], x[4]);
    first(a, x[1], x[5]);
    first(a, x[2], x[6]);
    first(a, x[3], x[7]);
    plain_of_any(a, x[0], x[2]);
    plain_of_any(a, x[1], x[3]);
    a.template fwd<reduce>(x[4], x[6], w1);
    a.template fwd<reduce>(x[5], x[7], w1);
    plain_of_any(a, x[0], x[1]);
    a.template fwd<reduce>(x[2], x[3], w1);
    a.template fwd<reduce>(x[4], x[5], w2);
    a.template fwd<reduce>(x[6], x[7], w3);
  }
  /// The same undone, of words below K/2*q to canonical ones.
  RF_MEMBER void inverse(const A& a, V x[8]) const {
    constexpr unsigned r = A::kLimit / 2;
    plain_back(a, x[0], x[1]);
    a.template inv<r>(x[2], x[3], w1);
    a.template inv<r>(x[4], x[5], w2);
    a.template inv<r>(x[6], x[7], w3);
    plain_back(a, x[0], x[2]);
    plain_back(a, x[1], x[3]);
    a.template inv<r>(x[4], x[6], w1);
    a.template inv<r>(x[5], x[7], w1);
    plain(a, x[0], x[4]);
    plain(a, x[1], x[5]);
    plain(a, x[2], x[6]);
    plain(a, x[3], x[7]);
    for (int i = 0; i < 8; ++i) {
      if constexpr (A::kLimit == 8) x[i] = csub(x[i], a.q4);
      x[i] = csub(csub(x[i], a.q2), a.q);
    }
  }
};

/// The levels within rows, and the first of the lanes.
template <class A, class In>
__attribute__((noinline)) void enter(const A& shared, const In& input, u64* dst, const u64* src,
                                     const Factor (&lane)[4]) {
  const A a = shared;
  const In in = input;
  const Row<A> row(lane);
  constexpr size_t half = kLength / 2;
  for (size_t i = 0; i < half; i += 8 * kRow) {
    V x[8], y[8];
    load8(x, src + i, kRow, in);
    transpose8(x);
    row.forward(a, x);
    transpose8(x);
    load8(y, src + i + half, kRow, in);
    transpose8(y);
    row.forward(a, y);
    transpose8(y);
    constexpr bool reduce = must_reduce<A>(A::kLimit);
    const auto w = a.tw1(1);
    a.template fwd<reduce>(x[0], y[0], w);
    a.template fwd<reduce>(x[1], y[1], w);
    a.template fwd<reduce>(x[2], y[2], w);
    a.template fwd<reduce>(x[3], y[3], w);
    a.template fwd<reduce>(x[4], y[4], w);
    a.template fwd<reduce>(x[5], y[5], w);
    a.template fwd<reduce>(x[6], y[6], w);
    a.template fwd<reduce>(x[7], y[7], w);
    store8(dst + i, kRow, x);
    store8(dst + i + half, kRow, y);
  }
}

template <class A>
__attribute__((noinline)) void leave(const A& shared, u64* p, const Factor (&lane)[4]) {
  const A a = shared;
  const Row<A> row(lane);
  constexpr size_t half = kLength / 2;
  constexpr unsigned r = A::kLimit / 2;
  for (size_t i = 0; i < half; i += 8 * kRow) {
    V x[8], y[8];
    load8(x, p + i, kRow);
    load8(y, p + i + half, kRow);
    const auto w = a.tw1(1);
    a.template inv<r>(x[0], y[0], w);
    a.template inv<r>(x[1], y[1], w);
    a.template inv<r>(x[2], y[2], w);
    a.template inv<r>(x[3], y[3], w);
    a.template inv<r>(x[4], y[4], w);
    a.template inv<r>(x[5], y[5], w);
    a.template inv<r>(x[6], y[6], w);
    a.template inv<r>(x[7], y[7], w);
    transpose8(x);
    row.inverse(a, x);
    transpose8(x);
    store8(p + i, kRow, x);
    transpose8(y);
    row.inverse(a, y);
    transpose8(y);
    store8(p + i + half, kRow, y);
  }
}

/// x*s + y*t, words below 2^52 to words below K/2*q.
template <class A>
RF_INLINE V dot(const A& a, V x, const typename A::Tw& s, V y, const typename A::Tw& t) {
  const V quot = hi52(hi52(zero(), x, s.s), y, t.s);
  const V sum = vand(lo52(lo52(lo52(zero(), x, s.w), y, t.w), quot, a.neg_q), a.mask);  // below 4q
  return A::kLimit == 8 ? sum : csub(sum, a.q2);
}
/// The last level, the array and the last level back.
template <class A>
RF_INLINE void pair(const A& a, V& x, V& y, const u64* array) {
  const auto both = a.from_quotient(load(array)), y_to_x = a.from_quotient(load(array + kRow)),
             x_to_y = a.from_quotient(load(array + 2 * kRow));
  const V u = dot(a, x, both, y, y_to_x);
  y = dot(a, x, x_to_y, y, both);
  x = u;
}
template <class A>
RF_INLINE void pairs8(const A& a, V x[8], const u64* array) {
  pair(a, x[0], x[1], array);
  pair(a, x[2], x[3], array + 3 * kRow);
  pair(a, x[4], x[5], array + 6 * kRow);
  pair(a, x[6], x[7], array + 9 * kRow);
}

/// The last four levels of 16 blocks of 16 rows from node h, the product with the array, and the levels back.
template <class A>
__attribute__((noinline)) void middle(const A& forward, const A& back, u64* p, const u64* array, size_t h) {
  const A a = forward;
  A b = a;
  b.tw_s = back.tw_s;
  constexpr unsigned r0 = A::kLimit, r1 = after_fwd<A>(r0), r2 = after_fwd<A>(r1);
  constexpr bool c0 = must_reduce<A>(r0), c1 = must_reduce<A>(r1), c2 = must_reduce<A>(r2);
  constexpr unsigned r = A::kLimit / 2;
  for (const size_t end = h + 16; h < end; ++h, p += 16 * kRow, array += 24 * kRow) {
    V x[8], y[8];
    load8(x, p, kRow);
    load8(y, p + 8 * kRow, kRow);
    const auto w = a.tw1(h);
    a.template fwd<c0>(x[0], y[0], w);
    a.template fwd<c0>(x[1], y[1], w);
    a.template fwd<c0>(x[2], y[2], w);
    a.template fwd<c0>(x[3], y[3], w);
    a.template fwd<c0>(x[4], y[4], w);
    a.template fwd<c0>(x[5], y[5], w);
    a.template fwd<c0>(x[6], y[6], w);
    a.template fwd<c0>(x[7], y[7], w);
    const auto w0 = a.tw1(2 * h), w1 = a.tw1(2 * h + 1);
    a.template fwd<c1>(x[0], x[4], w0);
    a.template fwd<c1>(x[1], x[5], w0);
    a.template fwd<c1>(x[2], x[6], w0);
    a.template fwd<c1>(x[3], x[7], w0);
    a.template fwd<c1>(y[0], y[4], w1);
    a.template fwd<c1>(y[1], y[5], w1);
    a.template fwd<c1>(y[2], y[6], w1);
    a.template fwd<c1>(y[3], y[7], w1);
    const auto u0 = a.tw1(4 * h), u1 = a.tw1(4 * h + 1), u2 = a.tw1(4 * h + 2), u3 = a.tw1(4 * h + 3);
    a.template fwd<c2>(x[0], x[2], u0);
    a.template fwd<c2>(x[1], x[3], u0);
    a.template fwd<c2>(x[4], x[6], u1);
    a.template fwd<c2>(x[5], x[7], u1);
    a.template fwd<c2>(y[0], y[2], u2);
    a.template fwd<c2>(y[1], y[3], u2);
    a.template fwd<c2>(y[4], y[6], u3);
    a.template fwd<c2>(y[5], y[7], u3);
    pairs8(a, x, array);
    pairs8(a, y, array + 12 * kRow);
    const auto v0 = b.tw1(4 * h), v1 = b.tw1(4 * h + 1), v2 = b.tw1(4 * h + 2), v3 = b.tw1(4 * h + 3);
    b.template inv<r>(x[0], x[2], v0);
    b.template inv<r>(x[1], x[3], v0);
    b.template inv<r>(x[4], x[6], v1);
    b.template inv<r>(x[5], x[7], v1);
    b.template inv<r>(y[0], y[2], v2);
    b.template inv<r>(y[1], y[3], v2);
    b.template inv<r>(y[4], y[6], v3);
    b.template inv<r>(y[5], y[7], v3);
    const auto z0 = b.tw1(2 * h), z1 = b.tw1(2 * h + 1);
    b.template inv<r>(x[0], x[4], z0);
    b.template inv<r>(x[1], x[5], z0);
    b.template inv<2>(x[2], x[6], z0);
    b.template inv<2>(x[3], x[7], z0);
    b.template inv<r>(y[0], y[4], z1);
    b.template inv<r>(y[1], y[5], z1);
    b.template inv<2>(y[2], y[6], z1);
    b.template inv<2>(y[3], y[7], z1);
    const auto z = b.tw1(h);
    b.template inv<r>(x[0], y[0], z);
    b.template inv<r>(x[1], y[1], z);
    b.template inv<r>(x[2], y[2], z);
    b.template inv<r>(x[3], y[3], z);
    b.template inv<2>(x[4], y[4], z);
    b.template inv<2>(x[5], y[5], z);
    b.template inv<2>(x[6], y[6], z);
    b.template inv<2>(x[7], y[7], z);
    store8(p, kRow, x);
    store8(p + 8 * kRow, kRow, y);
  }
}

template <unsigned K, class In>
void convolve_by(u64* dst, const u64* src, const In& in, const RaderTable& t, bool undo) {
  const Lanes<K, true> a(t.mod, t.forward_twiddle, t.forward_quotient), b(t.mod, t.inverse_twiddle, t.inverse_quotient);
  const Lanes<K, false> deep(t.mod, nullptr, t.forward_quotient), deep_back(t.mod, nullptr, t.inverse_quotient);
  const u64* array = undo ? t.inverse_array : t.array;
  constexpr size_t block = kLength / 2, part = block / 16;
  enter(a, in, dst, src, t.lane);
  for (size_t h = 2; h < 4; ++h) {
    const size_t first = (h - 2) * block;
    fwd_pass16(a, Plain{}, dst + first, dst + first, part, h);
    for (size_t i = 0; i < 16; ++i) {
      const size_t at = first + i * part, node = 16 * h + i;
      fwd_pass16(a, Plain{}, dst + at, dst + at, part / 16, node);
      middle(deep, deep_back, dst + at, array + at / 2 * 3, 16 * node);
      inv_pass16<Lanes<K, true>, false>(b, dst + at, part / 16, node);
    }
    inv_pass16<Lanes<K, true>, false>(b, dst + first, part, h);
  }
  leave(b, dst, t.inverse_lane);
}

bool takes(const RaderTable& t) { return t.mod.bits <= kFastBits && t.n == kLength; }

void convolve(u64* dst, const u64* src, const RaderTable& t, bool undo) noexcept {
  if (!takes(t)) return ref_rader().convolve(dst, src, t, undo);
  t.mod.bits < kFastBits ? convolve_by<8>(dst, src, Plain{}, t, undo) : convolve_by<4>(dst, src, Plain{}, t, undo);
}

void convolve_lift(u64* dst, const u64* src, u64 p, const RaderTable& t) noexcept {
  // p may be so large that a centred residue exceeds q.
  if (!takes(t) || p / 2 >= t.mod.q) return ref_rader().convolve_lift(dst, src, p, t);
  const Lift in(p, t.mod.q);
  t.mod.bits < kFastBits ? convolve_by<8>(dst, src, in, t, false) : convolve_by<4>(dst, src, in, t, false);
}

}  // namespace
}  // namespace avx512

const RaderKernels& avx512_rader() noexcept {
  static constexpr RaderKernels table{"avx512", avx512::convolve, avx512::convolve_lift};
  return table;
}

}  // namespace ringforge::kernels
