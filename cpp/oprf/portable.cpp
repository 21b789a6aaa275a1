// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Eight lanes of plain integers: slow, and what valgrind can watch and any machine can run.
#include <cstring>

#include "lanes_impl.hpp"

namespace ringforge::oprf {
namespace {

struct Portable {
  struct U {
    u64 lane[8];
  };
  /// All ones or zero in each lane.
  using M = U;

  template <class F>
  static U each(F f) noexcept {
    U r;
    for (unsigned j = 0; j < 8; ++j) r.lane[j] = f(j);
    return r;
  }
  static U set(u64 v) noexcept {
    return each([&](unsigned) { return v; });
  }
  static U load(const u64* p) noexcept {
    return each([&](unsigned j) { return p[j]; });
  }
  static void store(u64* p, const U& a) noexcept {
    for (unsigned j = 0; j < 8; ++j) p[j] = a.lane[j];
  }
  static U add(const U& a, const U& b) noexcept {
    return each([&](unsigned j) { return a.lane[j] + b.lane[j]; });
  }
  static U sub(const U& a, const U& b) noexcept {
    return each([&](unsigned j) { return a.lane[j] - b.lane[j]; });
  }
  static U bit_and(const U& a, const U& b) noexcept {
    return each([&](unsigned j) { return a.lane[j] & b.lane[j]; });
  }
  static U bit_or(const U& a, const U& b) noexcept {
    return each([&](unsigned j) { return a.lane[j] | b.lane[j]; });
  }
  static U bit_xor(const U& a, const U& b) noexcept {
    return each([&](unsigned j) { return a.lane[j] ^ b.lane[j]; });
  }
  template <unsigned n>
  static U left(const U& a) noexcept {
    return each([&](unsigned j) { return a.lane[j] << n; });
  }
  template <unsigned n>
  static U right(const U& a) noexcept {
    return each([&](unsigned j) { return a.lane[j] >> n; });
  }
  static U right(const U& a, unsigned n) noexcept {
    return each([&](unsigned j) { return a.lane[j] >> n; });
  }
  template <unsigned n>
  static U rotate(const U& a) noexcept {
    return each([&](unsigned j) { return a.lane[j] >> n | a.lane[j] << (64 - n); });
  }
  static U xor3(const U& a, const U& b, const U& c) noexcept { return bit_xor(bit_xor(a, b), c); }
  static U choose(const U& a, const U& b, const U& c) noexcept { return bit_xor(c, bit_and(a, bit_xor(b, c))); }
  static U majority(const U& a, const U& b, const U& c) noexcept {
    return bit_or(bit_and(a, b), bit_and(c, bit_or(a, b)));
  }
  /// acc + the lower, or upper, 52 bits of the product of the operands' lowest 52.
  static U madd_low(const U& acc, const U& a, const U& b) noexcept {
    return each([&](unsigned j) { return acc.lane[j] + (static_cast<u64>(product(a.lane[j], b.lane[j])) & kLow52); });
  }
  static U madd_high(const U& acc, const U& a, const U& b) noexcept {
    return each([&](unsigned j) { return acc.lane[j] + static_cast<u64>(product(a.lane[j], b.lane[j]) >> 52); });
  }
  static U times(const U& a, u64 b) noexcept {
    return each([&](unsigned j) { return a.lane[j] * b; });
  }
  static M equal(const U& a, const U& b) noexcept {
    return each([&](unsigned j) { return mask_of_equal(a.lane[j], b.lane[j]); });
  }
  /// Whether a < b, both below 2^63.
  static M less(const U& a, const U& b) noexcept {
    return each([&](unsigned j) { return mask_of_bit((a.lane[j] - b.lane[j]) >> 63); });
  }
  static M both(const M& a, const M& b) noexcept { return bit_and(a, b); }
  static M either(const M& a, const M& b) noexcept { return bit_or(a, b); }
  static M opposite(const M& a) noexcept {
    return each([&](unsigned j) { return ~a.lane[j]; });
  }
  /// a where m, else b.
  static U select(const M& m, const U& a, const U& b) noexcept {
    return each([&](unsigned j) { return b.lane[j] ^ ((a.lane[j] ^ b.lane[j]) & m.lane[j]); });
  }
  static unsigned bits(const M& m) noexcept {
    unsigned r = 0;
    for (unsigned j = 0; j < 8; ++j) r |= static_cast<unsigned>(m.lane[j] & 1) << j;
    return r;
  }

 private:
  static constexpr u64 kLow52 = (u64{1} << 52) - 1;
  static unsigned __int128 product(u64 a, u64 b) noexcept {
    return static_cast<unsigned __int128>(a & kLow52) * (b & kLow52);
  }
};

}  // namespace

const Lanes& portable_lanes() noexcept {
  static constexpr Lanes table = Batch<Portable>::table("portable");
  return table;
}

}  // namespace ringforge::oprf
