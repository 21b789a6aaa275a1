// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Polynomials modulo Phi_m by additions only. Internal to the ring layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ringforge {

/// The number of units modulo m >= 1.
std::uint64_t euler_phi(std::uint64_t m);

/// (-q, q) to [0, q) without a branch: residues may be secret. Negative numbers have the top bit set. With q = 0, words
/// are integers modulo 2^64 or 2^32 and stay as they are.
template <class Word>
Word wrapped(Word x, Word q) {
  return x + (q & (Word{0} - (x >> (8 * sizeof(Word) - 1))));
}

/// The remainder modulo Phi_m, m >= 3 odd, q a modulus that leaves the top bit of a word free, or 0 for words
/// modulo their own size. Phi_m is the product of
/// (1 - X^(m/d))^mu(d) over the divisors d of m, so both products of the division, with 1/Phi_m as a power series
/// and with Phi_m, are passes of additions over words.
class CyclotomicReduction {
 public:
  explicit CyclotomicReduction(std::uint64_t m);

  /// Words that `reduce` needs beside a polynomial of `length` coefficients.
  std::size_t quotient_words(std::size_t length) const noexcept;
  /// Puts the remainder of a, `length` > phi(m) coefficients in [0, q), into its first phi(m) words. The other
  /// words of a keep their values, `quotient` has quotient_words(length).
  template <class Word>
  void reduce(Word* a, std::size_t length, Word* quotient, Word q) const noexcept;

 private:
  struct Binomial {
    std::size_t exponent;
    bool above;  ///< whether 1 - X^exponent is above the line in Phi_m, or below it
  };
  std::size_t degree_;
  std::vector<Binomial> binomials_;
};

}  // namespace ringforge
