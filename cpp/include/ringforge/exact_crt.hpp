// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Between residues in 32-bit words and the exact integers behind them, and windows of bits of these.
#pragma once

#include <vector>

#include "ringforge/ring.hpp"

namespace ringforge {

/// The integers in [0, q) behind residues, q the product of a basis' primes. Immutable; any threads may share one.
///
/// Integers are kept in planes of 64-bit words: word k of coefficient i of a polynomial of N is planes[k*N + i], the
/// lowest first, `words()` in all. Windows of bits then are masks and shifts of one plane or two.
class ExactCrt {
 public:
  explicit ExactCrt(const BasisOf<u32>& basis);

  const BasisOf<u32>& basis() const noexcept { return basis_; }
  /// Words of an integer: as many as q - 1 takes.
  std::size_t words() const noexcept { return words_; }
  /// Bits of q.
  std::size_t bits() const noexcept { return bits_; }
  /// Windows of r bits in an integer below q. @throws ParameterError unless 1 <= r <= 30.
  std::size_t windows(unsigned r) const;

  /// Residues to integers: sum of (q/p_i) * [(q/p_i)^-1 * c_i modulo p_i], modulo q. `planes` has words() * degree
  /// words. @throws MismatchError when p is of another basis; `to_residues` likewise.
  void to_integers(u64* planes, const Poly<Coeff, u32>& p, unsigned threads = 1) const;
  /// Integers to residues: the sum of t_k * (word k) modulo p_i, t_k = 2^(64k) modulo p_i. Any words.
  void to_residues(Poly<Coeff, u32>& p, const u64* planes, unsigned threads = 1) const;
  /// Bits [index*r, index*r + r) of each coefficient, those beyond the planes zero. dst has `degree` words, below every
  /// prime of more than r bits: residues modulo all of them.
  void window(u32* dst, const u64* planes, unsigned r, std::size_t index) const noexcept;

 private:
  static constexpr std::size_t kBlock = 256;  // coefficients of a task
  void integers(u64* planes, const Poly<Coeff, u32>& p, std::size_t first, std::size_t count) const;

  BasisOf<u32> basis_;
  std::size_t words_ = 0, bits_ = 0;
  std::vector<u64> product_;              // q
  std::vector<u64> hats_;                 // word k of q/p_i: [k * size + i]
  std::vector<u32> hat_inverse_, shoup_;  // (q/p_i)^-1 modulo p_i and floor(2^32 * it / p_i)
  std::vector<double> reciprocal_;        // 1/p_i
  std::vector<u32> powers_;               // 2^(64k) modulo p_i: [i * words + k]
};

}  // namespace ringforge
