// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Polynomials modulo Phi_m by additions only. Internal to the ring layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ringforge/kernels.hpp"

namespace ringforge {

/// The number of units modulo m >= 1.
std::uint64_t euler_phi(std::uint64_t m);

/// (-q, q) to [0, q) without a branch: residues may be secret. Negative numbers have the top bit set. With q = 0, words
/// are integers modulo 2^64 or 2^32 and stay as they are.
template <class Word>
Word wrapped(Word x, Word q) {
  return x + (q & (Word{0} - (x >> (8 * sizeof(Word) - 1))));
}

/// The remainder modulo Phi_m, m >= 3 odd. Of a modulus only q is used; it leaves the top bit of a word free, or is 0
/// for words modulo their own size.
///
/// From X^m - 1 = Phi_1(X^m) down to Phi_m, prime by prime: with n the product of the primes taken so far, p the next
/// one, e = m/(n*p) and Z = X^e, a step goes from Phi_n(Z^p) to its divisor Phi_np(Z) = Phi_n(Z^p) / Phi_n(Z). Words
/// are taken in blocks of e, so that polynomials in Z act on blocks. The quotient Q has phi(n) blocks; it comes from as
/// many at the top, by the factors 1 - Z^k of 1/Phi_np as a power series. What is to be subtracted is
/// Q/Phi_n(Z) * Phi_n(Z^p), and Q/Phi_n(Z) is a power series of period Z^n: its n blocks W, shifted by multiples of p,
/// are summed as the coefficients of Phi_n say. A step thus takes one addition a word and as many for n*phi(n) blocks.
class CyclotomicReduction {
 public:
  explicit CyclotomicReduction(std::uint64_t m);

  /// Words that `reduce` needs beside a polynomial.
  std::size_t room_words() const noexcept { return room_; }
  /// Puts the remainder of a, `length` > phi(m) canonical coefficients, into the first phi(m) words of dst. The words
  /// of a change; dst is a or apart from it.
  template <class Word>
  void reduce(Word* dst, Word* a, std::size_t length, Word* room, const kernels::Modulus& mod) const noexcept;
  /// Phi_m, or 1/Phi_m as a power series, modulo X^n.
  template <class Word>
  void series(Word* dst, std::size_t n, bool inverse, const kernels::Modulus& mod) const noexcept;

 private:
  /// A product of 1 - Z^exponent, above or below the line.
  struct Binomial {
    std::size_t exponent;
    bool above;
  };
  using Binomials = std::vector<Binomial>;
  struct Step {
    std::size_t n, p, e, degree;    ///< degree = phi(n)
    Binomials before, after;        ///< of Phi_n and Phi_np
    std::vector<int> coefficients;  ///< of Phi_n, the first `degree`
  };
  template <class Word>
  static void times(const Binomials& product, bool inverse, Word* a, std::size_t words, std::size_t e,
                    const kernels::Modulus& mod) noexcept;
  template <class Word>
  static void descend(const Step& s, Word* dst, Word* a, std::size_t length, Word* room,
                      const kernels::Modulus& mod) noexcept;
  /// Words [offset, offset + width) of each block.
  template <class Word>
  static void descend_strip(const Step& s, std::size_t offset, std::size_t width, Word* dst, Word* a,
                            std::size_t length, Word* room, const kernels::Modulus& mod) noexcept;

  std::uint64_t m_;
  std::vector<Step> steps_;
  std::size_t room_ = 0;
};

}  // namespace ringforge
