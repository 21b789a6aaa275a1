// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Products over fibres of four slots, for any number of lanes: a kernel set brings its words. Internal.
#pragma once

#include "ringforge/kernels.hpp"

#define RF_FIBRE static inline __attribute__((always_inline))

namespace ringforge::kernels {
namespace {

/// One lane, and what lanes must do: words of 64 bits whose products take the low 32.
struct ScalarLane {
  using V = u64;
  static constexpr std::size_t kLanes = 1;
  RF_FIBRE V load(const u32* p) { return *p; }
  RF_FIBRE void store(u32* p, V v) { *p = static_cast<u32>(v); }
  RF_FIBRE V set(u64 x) { return x; }
  RF_FIBRE V add(V a, V b) { return a + b; }
  RF_FIBRE V sub(V a, V b) { return a - b; }
  RF_FIBRE V mul32(V a, V b) { return static_cast<u64>(static_cast<u32>(a)) * static_cast<u32>(b); }
  RF_FIBRE V shift(V a, unsigned by) { return a >> by; }
  /// Of the low 32 bits; the others are undefined.
  RF_FIBRE V min32(V a, V b) { return static_cast<u32>(a) < static_cast<u32>(b) ? a : b; }
};

/// `fibre4` on columns [at, at + kLanes).
///
/// Barrett reduction of x < 4*q^2, q < 2^21, by products of 32-bit words: with xh = floor(x / 2^(bits-2)) and
/// mu = floor(2^(bits+30) / q), floor(xh*mu / 2^32) is at most 2 below x/q, and the rest below 2q.
template <class L>
struct Fibre {
  using V = typename L::V;
  V q, mu, q2, q2_twice, root;
  unsigned shift;

  RF_FIBRE Fibre make(u32 root, const Modulus& m) {
    return {L::set(m.q),       L::set((u64{1} << (m.bits + 30)) / m.q),
            L::set(m.q * m.q), L::set(2 * m.q * m.q),
            L::set(root),      m.bits - 2};
  }
  inline __attribute__((always_inline)) V lazy(V x) const {
    return L::sub(x, L::mul32(L::shift(L::mul32(L::shift(x, shift), mu), 32), q));
  }
  inline __attribute__((always_inline)) V full(V x) const {
    const V r = lazy(x);
    return L::min32(r, L::sub(r, q));  // below q, r - q wraps to a large word
  }
  inline __attribute__((always_inline)) void columns(u32* const* dst, const u32* const* a, const u32* const* b,
                                                     const u32* const* z, std::size_t at) const {
    const auto product = [&](unsigned i) { return L::mul32(L::load(a[i] + at), L::load(b[i] + at)); };
    const V d0 = product(0), d1 = product(1), d2 = product(2), d3 = product(3);
    const V even = L::add(d0, d2), odd = L::add(d1, d3), left = L::sub(L::add(d0, q2), d2);
    const V right = L::mul32(lazy(L::sub(L::add(d1, q2), d3)), root);  // below 2q^2
    const auto turned = [&](V x, unsigned i) { return full(L::mul32(lazy(x), L::load(z[i - 1] + at))); };
    L::store(dst[0] + at, full(L::add(even, odd)));
    L::store(dst[1] + at, turned(L::add(left, right), 1));
    L::store(dst[2] + at, turned(L::sub(L::add(even, q2_twice), odd), 2));
    L::store(dst[3] + at, turned(L::sub(L::add(left, q2_twice), right), 3));
  }
};

template <class L>
RF_FIBRE void fibre4_columns(u32* const* dst, const u32* const* a, const u32* const* b, const u32* const* z, u32 root,
                             std::size_t n, const Modulus& m) {
  if (n < L::kLanes) {
    const auto one = Fibre<ScalarLane>::make(root, m);
    for (std::size_t i = 0; i < n; ++i) one.columns(dst, a, b, z, i);
    return;
  }
  const auto f = Fibre<L>::make(root, m);
  std::size_t i = 0;
  for (; i + L::kLanes <= n; i += L::kLanes) f.columns(dst, a, b, z, i);
  if (i < n) f.columns(dst, a, b, z, n - L::kLanes);  // some columns twice, which is cheaper than one by one
}

}  // namespace
}  // namespace ringforge::kernels
