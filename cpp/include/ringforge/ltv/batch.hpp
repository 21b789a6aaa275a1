// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// LTV for circuits on many ciphertexts: sums of products of sums with one relinearisation each, relinearisations that
// share one reading of a key, products over levels.
//
// A ciphertext that is multiplied some levels further down is not relinearised on its way: `carry` switches its modulus
// and leaves it under the secret it has. Its product with one of the level it meets is under the secrets of both, and
// an evaluation key for that pair (a lag) takes it on.
#pragma once

#include "ringforge/ltv/ltv.hpp"

namespace ringforge::ltv {

/// An evaluation key as relinearisations of many ciphertexts need it. Immutable; any threads may share one.
///
/// A digit d of a ciphertext, with coefficients below 2^31, is multiplied with the key's digit K by integers, not
/// modulo each of L primes: modulo two primes of 50 bits, where all sums over digits of d*K are exact for K modulo two
/// of the L primes, centred. So a digit takes 2 transforms in place of L, and sums of products as many words as before.
/// (The key is decomposed too, as in Kim, Lee, Seo, Song, CRYPTO 2023.)
class PreparedKey {
 public:
  /// Takes the key's digits one after the other and frees them: at most that key and this one are in memory.
  /// @throws MismatchError for a key of another context.
  PreparedKey(ContextPtr context, EvalKey&& key, unsigned threads = 1);

  const ContextPtr& context() const noexcept { return ctx_; }
  u64 key_id() const noexcept { return key_id_; }
  u32 level() const noexcept { return level_; }
  u32 lag() const noexcept { return lag_; }
  u64 bytes() const noexcept { return words_.bytes(); }

 private:
  friend class BatchEvaluator;
  /// Primes of the key that one integer holds the residues of.
  std::size_t group_start(std::size_t group) const noexcept { return group * group_; }

  ContextPtr ctx_;
  u64 key_id_ = 0;
  u32 level_ = 0, lag_ = 0;
  std::size_t limbs_ = 0, digits_ = 0, group_ = 1, groups_ = 0, tile_ = 0;
  BasisOf<u64> wide_;   // the two primes of 50 bits
  WordBuffer words_;    // [prime of 50 bits][tile of points][group][digit][point]
};

/// Sums of products of sums of ciphertexts.
struct ProductSums {
  struct Term {
    u32 a, b;  ///< numbers of sums
  };
  std::vector<std::vector<u32>> sums;      ///< each of inputs, by number: distinct ones, at least one
  std::vector<std::vector<Term>> outputs;  ///< each of products, at least one
  std::vector<std::vector<u32>> linear;    ///< for each output, sums that are added; or no entry at all
};

/// How noise of sums is told.
enum class Dependence {
  any,   ///< deviations add, whatever operands have in common
  none,  ///< variances add: docs/ltv.md says of which operands that is true
};

/// Operations on many ciphertexts. Stateless apart from its context and thread count; any threads may share one. Errors
/// as of Evaluator, and LevelError, ShapeError for plans that do not fit.
class BatchEvaluator {
 public:
  explicit BatchEvaluator(ContextPtr context, unsigned threads = 1, Dependence dependence = Dependence::any)
      : ctx_(std::move(context)), threads_(threads), dependence_(dependence) {}
  const ContextPtr& context() const noexcept { return ctx_; }
  unsigned threads() const noexcept { return threads_; }

  /// rows[r] lists inputs whose sum is output r, distinct ones; constants, if there are any, has for each row whether 1
  /// is added. Inputs are of one level, degree, lag and number of limbs.
  std::vector<Ciphertext> sums(std::span<const Ciphertext* const> inputs, const std::vector<std::vector<u32>>& rows,
                               std::span<const std::uint8_t> constants = {}) const;
  /// Of inputs of degree 1 with one number of limbs. All products of an output are of ciphertexts of the same two
  /// levels, or of one; the lower of them has as many limbs. What is added linearly is of one of both.
  std::vector<Ciphertext> products(std::span<const Ciphertext* const> inputs, const ProductSums& plan) const;
  /// As Evaluator::relinearize, bit for bit.
  std::vector<Ciphertext> relinearize(std::span<const Ciphertext* const> inputs, const PreparedKey& key) const;
  /// Evaluator::mod_switch.
  std::vector<Ciphertext> mod_switch(std::span<const Ciphertext* const> inputs) const;
  /// Modulo the primes of a lower level, of degree 1, the secret as it is.
  std::vector<Ciphertext> carry(std::span<const Ciphertext* const> inputs, std::size_t level) const;

 private:
  Noise sum(const Noise& a, const Noise& b) const;
  ContextPtr ctx_;
  unsigned threads_;
  Dependence dependence_;
};

}  // namespace ringforge::ltv
