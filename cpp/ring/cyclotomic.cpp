// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "cyclotomic.hpp"

#include <algorithm>

namespace ringforge {
namespace {

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

/// a *= 1 - X^e modulo X^n.
template <class Word>
void multiply(Word* a, std::size_t n, std::size_t e, Word q) {
  for (std::size_t i = n; i-- > e;) a[i] = wrapped<Word>(a[i] - a[i - e], q);
}
/// a /= 1 - X^e modulo X^n.
template <class Word>
void divide(Word* a, std::size_t n, std::size_t e, Word q) {
  for (std::size_t i = e; i < n; ++i) a[i] = wrapped<Word>(a[i] + a[i - e] - q, q);
}

}  // namespace

std::uint64_t euler_phi(std::uint64_t m) {
  std::uint64_t phi = m;
  for (const std::uint64_t p : prime_factors(m)) phi = phi / p * (p - 1);
  return phi;
}

CyclotomicReduction::CyclotomicReduction(std::uint64_t m) : degree_(euler_phi(m)), binomials_{{m, true}} {
  for (const std::uint64_t p : prime_factors(m))
    for (std::size_t i = 0, before = binomials_.size(); i < before; ++i)
      binomials_.push_back({binomials_[i].exponent / p, !binomials_[i].above});
}

std::size_t CyclotomicReduction::quotient_words(std::size_t length) const noexcept {
  return std::max(length - degree_, degree_);
}

// With a = Q Phi + r: backwards, the coefficients of Q are those of a/Phi as a power series, as Phi is a palindrome.
template <class Word>
void CyclotomicReduction::reduce(Word* a, std::size_t length, Word* quotient, Word q) const noexcept {
  const std::size_t size = length - degree_;
  std::reverse_copy(a + degree_, a + length, quotient);
  for (const auto& [e, above] : binomials_) above ? divide(quotient, size, e, q) : multiply(quotient, size, e, q);
  std::reverse(quotient, quotient + size);
  if (size < degree_) std::fill(quotient + size, quotient + degree_, Word{0});
  for (const auto& [e, above] : binomials_) above ? multiply(quotient, degree_, e, q) : divide(quotient, degree_, e, q);
  for (std::size_t i = 0; i < degree_; ++i) a[i] = wrapped<Word>(a[i] - quotient[i], q);
}

template void CyclotomicReduction::reduce(std::uint32_t*, std::size_t, std::uint32_t*, std::uint32_t) const noexcept;
template void CyclotomicReduction::reduce(std::uint64_t*, std::size_t, std::uint64_t*, std::uint64_t) const noexcept;

}  // namespace ringforge
