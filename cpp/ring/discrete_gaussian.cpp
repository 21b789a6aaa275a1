// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/discrete_gaussian.hpp"

#include <bit>
#include <cmath>

#include "limb_kernels.hpp"
#include "ringforge/error.hpp"
#include "ringforge/threads.hpp"

namespace ringforge {
namespace {

using u128 = unsigned __int128;

/// Samples are taken apart into signed words of so many bits, which SmallPoly lifts.
constexpr unsigned kWordBits = 62;
/// Whole deviations that a sample may have: beyond them it is drawn again.
constexpr unsigned kDeviations = 16;

/// A uniform integer below m, for 1 <= m < 2^32.
unsigned below(unsigned m, Stream& stream) noexcept {
  if (m == 1) return 0;
  const unsigned bits = static_cast<unsigned>(std::bit_width(m - 1));
  const u64 mask = (u64{1} << bits) - 1;
  // A word has 64 / bits attempts; each succeeds with more than a half.
  for (;;) {
    u64 word = stream.next();
    for (unsigned left = 64 / bits; left > 0; --left, word >>= bits)
      if ((word & mask) < m) return static_cast<unsigned>(word & mask);
  }
}

/// True with probability exp(-1/2). For a trial of probability exp(-p): count trials of probability p/1, p/2, p/3, ...
/// up to the first that fails; its number is odd with probability 1 - p + p^2/2! - ... = exp(-p).
bool half_exponential(Stream& stream) noexcept {
  unsigned k = 1;
  while (below(2 * k, stream) == 0) ++k;
  return (k & 1) != 0;
}

}  // namespace

DiscreteGaussian::DiscreteGaussian(double deviation) {
  if (!(deviation >= 1 && deviation <= kLargest))
    throw ParameterError("a discrete Gaussian of standard deviation " + std::to_string(deviation) +
                         " cannot be sampled: it must be from 1 to 2^120");
  sigma_ = static_cast<u128>(std::ceil(deviation));
  const u128 last = sigma_ - 1;
  const auto high = static_cast<u64>(last >> 64), low = static_cast<u64>(last);
  bits_ = high != 0 ? 64 + static_cast<unsigned>(std::bit_width(high)) : static_cast<unsigned>(std::bit_width(low));
}

/// A uniform integer below sigma.
u128 DiscreteGaussian::uniform(Stream& stream) const noexcept {
  const u64 mask = bits_ % 64 == 0 ? ~u64{0} : (u64{1} << (bits_ % 64)) - 1;
  u128 u = 0;
  do {
    if (bits_ > 64)
      u = (static_cast<u128>(stream.next() & mask) << 64) | stream.next();
    else if (bits_ > 0)
      u = stream.next() & mask;
  } while (u >= sigma_);
  return u;
}

// A sample is +-(k sigma + j) with 0 <= j < sigma. With x = j / sigma its weight is
//   exp(-(k + x)^2 / 2) = exp(-k/2) * exp(-k(k - 1)/2) * exp(-x(2k + x)/2),
// three steps of rejection, each of trials whose probabilities are exact. A trial of x: a uniform integer is below j.
DiscreteGaussian::Sample DiscreteGaussian::next(Stream& stream) const noexcept {
  for (;;) {
    unsigned k = 0;
    while (k < kDeviations && half_exponential(stream)) ++k;
    if (k == kDeviations) continue;
    bool good = true;
    for (unsigned i = 0; good && i < k * (k - 1); ++i) good = half_exponential(stream);
    if (!good) continue;

    const u128 j = uniform(stream);
    const bool negative = below(2, stream) != 0;
    if (k == 0 && j == 0 && negative) continue;  // zero has one sign

    // exp(-x(2k + x)/2) as k + 1 trials of exp(-x y), y = (2k + x)/(2k + 2). A trial of x y / n is one of x, one of y
    // and one of 1/n; one of y takes a number r below 2k + 2: r < 2k succeeds, r = 2k is a trial of x.
    for (unsigned i = 0; good && i <= k; ++i) {
      unsigned n = 1;
      for (;; ++n) {
        if (below(n, stream) != 0 || uniform(stream) >= j) break;
        const unsigned r = below(2 * k + 2, stream);
        if (!(r < 2 * k || (r == 2 * k && uniform(stream) < j))) break;
      }
      good = (n & 1) != 0;
    }
    if (good) return {k * sigma_ + j, negative};
  }
}

Poly<Eval> DiscreteGaussian::polynomial(const Basis& basis, const Seed& seed, unsigned threads) const {
  const std::size_t n = basis.ring().degree();
  const bool wide = bits_ + 4 > kWordBits;
  SmallPoly low(n), high(wide ? n : 0);
  Stream stream(seed, StreamObject::flood);
  constexpr u64 kMask = (u64{1} << kWordBits) - 1;
  for (std::size_t i = 0; i < n; ++i) {
    const Sample s = next(stream);
    const i64 sign = s.negative ? -1 : 1;
    low.coeffs()[i] = sign * static_cast<i64>(static_cast<u64>(s.size) & kMask);
    if (wide) high.coeffs()[i] = sign * static_cast<i64>(static_cast<u64>(s.size >> kWordBits));
  }
  Poly<Eval> r = low.lift(basis, threads);
  if (!wide) return r;
  Poly<Eval> rest = high.lift(basis, threads);
  const auto& kern = limb_kernels<u64>();
  parallel_for(threads, basis.size(), [&](std::size_t i) {
    const auto& m = basis[i].mod();
    const auto factor = kernels::make_factor((u64{1} << kWordBits) % m.q, m);
    kern.mul_scalar(rest.limb(i), rest.limb(i), factor, rest.stride(), m);
    kern.add(r.limb(i), r.limb(i), rest.limb(i), r.stride(), m);
  });
  rest.wipe();
  return r;
}

}  // namespace ringforge
