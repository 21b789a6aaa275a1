// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "cyclotomic.hpp"

#include <algorithm>

#include "limb_kernels.hpp"

namespace ringforge {
namespace {

using kernels::Modulus;

std::vector<std::uint64_t> prime_factors(std::uint64_t m) {
  std::vector<std::uint64_t> factors;
  for (std::uint64_t p = 2; p * p <= m; ++p) {
    if (m % p != 0) continue;
    factors.push_back(p);
    while (m % p == 0) m /= p;
  }
  if (m > 1) factors.push_back(m);
  return factors;
}

/// Sums and differences of any number of words. Kernels of 64-bit words take whole blocks of 16 only.
template <class Word>
void add(Word* dst, const Word* a, const Word* b, std::size_t n, const Modulus& mod) {
  if constexpr (sizeof(Word) == 4) {
    limb_kernels<Word>().add(dst, a, b, n, mod);
  } else {
    for (std::size_t i = 0; i < n; ++i) dst[i] = wrapped<Word>(a[i] + b[i] - mod.q, mod.q);
  }
}
template <class Word>
void sub(Word* dst, const Word* a, const Word* b, std::size_t n, const Modulus& mod) {
  if constexpr (sizeof(Word) == 4) {
    limb_kernels<Word>().sub(dst, a, b, n, mod);
  } else {
    for (std::size_t i = 0; i < n; ++i) dst[i] = wrapped<Word>(a[i] - b[i], mod.q);
  }
}

constexpr std::size_t kShort = 16;  // shorter pieces are not worth a call
constexpr std::size_t kStrip =
    512;  // words of a block that are taken at a time: all there is of them stays in the cache

/// a *= 1 - X^e modulo X^n: from the top, as each word takes one that has not changed yet.
template <class Word>
void multiply(Word* a, std::size_t n, std::size_t e, const Modulus& mod) {
  if (e < kShort) {
    const auto q = static_cast<Word>(mod.q);
    for (std::size_t i = n; i-- > e;) a[i] = wrapped<Word>(a[i] - a[i - e], q);
    return;
  }
  for (std::size_t end = n; end > e;) {
    const std::size_t begin = std::max(e, end - e);
    sub(a + begin, a + begin, a + begin - e, end - begin, mod);
    end = begin;
  }
}
/// a /= 1 - X^e modulo X^n.
template <class Word>
void divide(Word* a, std::size_t n, std::size_t e, const Modulus& mod) {
  if (e < kShort) {
    const auto q = static_cast<Word>(mod.q);
    for (std::size_t i = e; i < n; ++i) a[i] = wrapped<Word>(a[i] + a[i - e] - q, q);
    return;
  }
  for (std::size_t begin = e; begin < n; begin += e)
    add(a + begin, a + begin, a + begin - e, std::min(e, n - begin), mod);
}

}  // namespace

std::uint64_t euler_phi(std::uint64_t m) {
  std::uint64_t phi = m;
  for (const std::uint64_t p : prime_factors(m)) phi = phi / p * (p - 1);
  return phi;
}

CyclotomicReduction::CyclotomicReduction(std::uint64_t m) : m_(m) {
  Binomials binomials{{1, true}};  // 1 - Z, up to its sign Phi_1
  std::size_t n = 1, degree = 1;
  for (const std::uint64_t p : prime_factors(m)) {
    Step s{n, p, m / (n * p), degree, binomials, {}, {}};
    for (const auto& [exponent, above] : binomials) {
      s.after.push_back({exponent * p, above});
      s.after.push_back({exponent, !above});
    }
    s.coefficients.assign(degree, 0);
    s.coefficients[0] = 1;
    for (const auto& [exponent, above] : binomials) {
      if (above)
        for (std::size_t i = degree; i-- > exponent;) s.coefficients[i] -= s.coefficients[i - exponent];
      else
        for (std::size_t i = exponent; i < degree; ++i) s.coefficients[i] += s.coefficients[i - exponent];
    }
    if (n > 1) room_ = std::max(room_, (degree + 2 * n) * s.e);
    binomials = s.after;
    n *= p;
    degree *= p - 1;
    steps_.push_back(std::move(s));
  }
}

template <class Word>
void CyclotomicReduction::times(const Binomials& product, bool inverse, Word* a, std::size_t words, std::size_t e,
                                const Modulus& mod) noexcept {
  for (const auto& [exponent, above] : product)
    above != inverse ? multiply(a, words, exponent * e, mod) : divide(a, words, exponent * e, mod);
}

template <class Word>
void CyclotomicReduction::series(Word* dst, std::size_t n, bool inverse, const Modulus& mod) const noexcept {
  std::fill_n(dst, n, Word{0});
  dst[0] = 1;
  times(steps_.back().after, inverse, dst, n, steps_.back().e, mod);
}

template <class Word>
void CyclotomicReduction::descend(const Step& s, Word* dst, Word* a, std::size_t length, Word* room,
                                  const Modulus& mod) noexcept {
  if (s.e <= kStrip) return descend_strip(s, 0, s.e, dst, a, length, room, mod);
  for (std::size_t first = 0; first < s.e; first += kStrip)
    descend_strip(s, first, std::min(kStrip, s.e - first), dst, a, length, room, mod);
}

template <class Word>
void CyclotomicReduction::descend_strip(const Step& s, std::size_t offset, std::size_t width, Word* dst, Word* a,
                                        std::size_t length, Word* room, const Modulus& mod) noexcept {
  const auto& [n, p, e, degree, before, after, coefficients] = s;
  const std::size_t period = n * width, blocks = degree * (p - 1);
  Word *quotient = room, *w = quotient + degree * width, *sum = w + period;
  // The top blocks, the last first: those of Q are then the coefficients of a power series.
  for (std::size_t k = 0; k < degree; ++k) {
    const std::size_t first = (blocks + degree - 1 - k) * e + offset;
    const std::size_t words = first < length ? std::min(width, length - first) : 0;
    std::copy_n(a + first, words, quotient + k * width);
    std::fill_n(quotient + k * width + words, width - words, Word{0});
  }
  times(after, true, quotient, degree * width, width, mod);
  for (std::size_t k = 0; k < degree; ++k) std::copy_n(quotient + (degree - 1 - k) * width, width, w + k * width);
  std::fill(w + degree * width, w + period, Word{0});
  times(before, true, w, period, width, mod);
  std::fill_n(sum, period, Word{0});
  for (std::size_t k = 0, block = 0; block < blocks; ++k) {
    const std::size_t shift = k * p % n * width;  // of W now, and where in the period this piece begins
    for (int c = coefficients[k]; c > 0; --c) {
      add(sum + shift, sum + shift, w, period - shift, mod);
      add(sum, sum, w + period - shift, shift, mod);
    }
    for (int c = coefficients[k]; c < 0; ++c) {
      sub(sum + shift, sum + shift, w, period - shift, mod);
      sub(sum, sum, w + period - shift, shift, mod);
    }
    // Whole blocks lie one after the other in both, strips do not.
    const std::size_t end = std::min(block + p, blocks);
    for (std::size_t from = shift; block < end; from = from % period) {
      const std::size_t count = width == e ? std::min((period - from) / width, end - block) : 1;
      const std::size_t at = block * e + offset;
      sub(dst + at, a + at, sum + from, count * width, mod);
      block += count;
      from += count * width;
    }
  }
}

template <class Word>
void CyclotomicReduction::reduce(Word* dst, Word* a, std::size_t length, Word* room,
                                 const Modulus& mod) const noexcept {
  while (length > m_) {  // X^m = 1
    const std::size_t words = std::min(length - m_, std::size_t{m_}), from = length - words;
    add(a + (from - m_), a + (from - m_), a + from, words, mod);
    length = from;
  }
  for (const Step& s : steps_) {
    Word* out = &s == &steps_.back() ? dst : a;
    const std::size_t size = s.degree * (s.p - 1) * s.e;
    if (length <= size) continue;
    if (s.n > 1) {
      descend(s, out, a, length, room, mod);
    } else {  // Z^(p-1) = -(1 + Z + ... + Z^(p-2))
      const std::size_t words = std::min(s.e, length - size);
      for (std::size_t k = 0; k + 1 < s.p; ++k) {
        sub(out + k * s.e, a + k * s.e, a + size, words, mod);
        if (out != a) std::copy_n(a + k * s.e + words, s.e - words, out + k * s.e + words);
      }
    }
    length = size;
  }
}

template void CyclotomicReduction::reduce(std::uint32_t*, std::uint32_t*, std::size_t, std::uint32_t*,
                                          const Modulus&) const noexcept;
template void CyclotomicReduction::reduce(std::uint64_t*, std::uint64_t*, std::size_t, std::uint64_t*,
                                          const Modulus&) const noexcept;
template void CyclotomicReduction::series(std::uint32_t*, std::size_t, bool, const Modulus&) const noexcept;
template void CyclotomicReduction::series(std::uint64_t*, std::size_t, bool, const Modulus&) const noexcept;

}  // namespace ringforge
