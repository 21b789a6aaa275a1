// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// LTV for circuits on many ciphertexts: sums of products of sums, relinearisations that share one reading of a key,
// products over levels.
//
// A ciphertext that is multiplied some levels further down is not relinearised on its way: `carry` switches its modulus
// and leaves it under the secret it has. Its product with one of the level it meets is under the secrets of both, and
// an evaluation key for that pair (a lag) takes it on.
#pragma once

#include <functional>
#include <mutex>

#include "ringforge/ltv/ltv.hpp"

namespace ringforge::ltv {

class Digits;

/// Relinearises many ciphertexts by the evaluation key of one level at a time. Any threads may share one: what they ask
/// is done one after the other.
///
/// A digit d of a ciphertext, with coefficients below 2^31, is multiplied with the key's digit K by integers, not
/// modulo each of L primes: modulo two primes of 50 bits, where all sums over digits of d*K are exact for K modulo two
/// of the L primes, centred. So a digit takes 2 transforms in place of L, and sums of products as many words as before.
/// (The key is decomposed too, as in Kim, Lee, Seo, Song, CRYPTO 2023.)
class Relinearizer {
 public:
  explicit Relinearizer(ContextPtr context, unsigned threads = 1);
  ~Relinearizer();
  const ContextPtr& context() const noexcept { return ctx_; }
  unsigned threads() const noexcept { return threads_; }

  /// Takes a key in place of the one before. Memory is kept for the next: twice that of the largest key, and working
  /// memory for 1,280 digits of ciphertexts.
  /// @throws MismatchError for a key of another context.
  void load(const EvalKey& key);
  /// What an evaluation key says of itself, and its digits, in order and each but once: until `next` has given the last
  /// one. It is called while digits before are prepared, from one thread at a time, and only so many are in memory.
  struct Source {
    u64 key_id;
    u32 level, lag;
    std::function<Poly<Eval, u32>()> next;
    std::function<void()> end;  ///< checks what was read: called before the key may be used
  };
  /// @throws LevelError for a level or lag that there is not, and what the source throws; then no key is loaded.
  void load(const Source& source);
  /// Of the key that is loaded; 0 before the first.
  u32 level() const;
  /// As Evaluator::relinearize, bit for bit; as many at a time as have 1,280 digits read the key once. `threads`: 0
  /// for those that it was made with.
  /// @throws MismatchError for ciphertexts of another key or context; LevelError for other levels, lags, limbs than the
  /// key's, and before `load`.
  std::vector<Ciphertext> relinearize(std::span<const Ciphertext* const> inputs, unsigned threads = 0);

 private:
  void prepare(const Poly<Eval, u32>& digit, std::size_t d);
  void check_input(const Ciphertext& c) const;
  void transform(std::size_t count, std::size_t a, unsigned threads);
  void multiply(std::size_t count, std::size_t a, unsigned threads);
  void finish(std::span<Ciphertext> results, unsigned threads);

  ContextPtr ctx_;
  unsigned threads_;
  mutable std::mutex mutex_;
  BasisOf<u64> wide_;  // two primes of 50 bits
  u64 key_id_ = 0;
  u32 level_ = 0, lag_ = 0;
  // Of the key: limbs, digits, limbs that one integer holds, and how many such integers; points of a tile; words from a
  // digit's transform to the next, so that they are apart in the caches.
  std::size_t limbs_ = 0, digits_ = 0, group_ = 1, groups_ = 0, tile_ = 0, row_ = 0;
  WordBuffer key_;   // [prime of 50 bits][tile][group][digit][point]
  WordBuffer x_;     // [ciphertext][digit][point], of one of the two primes at a time
  WordBuffer sums_;  // [ciphertext][prime of 50 bits][group][point]
  std::vector<Digits> cut_;
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
  /// What another machine takes to compute `products`: the plan's sums of inputs, [sum][limb][N] words in Coeff form.
  /// @throws as `products`; ShapeError for another number of words; ParameterError for rings that are not padded.
  void operands(std::span<u32> dst, std::span<const Ciphertext* const> inputs, const ProductSums& plan) const;
  /// The results of `products`, bit for bit, from such a machine's: for each output the sum of products of the plan's
  /// sums, [output][limb][transform_length] words, not reduced modulo Phi; without what the plan adds linearly.
  /// @throws as `operands`; ValueError for words that are no residues.
  std::vector<Ciphertext> assemble(std::span<const Ciphertext* const> inputs, const ProductSums& plan,
                                   std::span<const u32> words) const;
  /// Evaluator::mod_switch.
  std::vector<Ciphertext> mod_switch(std::span<const Ciphertext* const> inputs) const;
  /// Modulo the primes of a lower level, of degree 1, the secret as it is.
  std::vector<Ciphertext> carry(std::span<const Ciphertext* const> inputs, std::size_t level) const;

 private:
  Noise sum(const Noise& a, const Noise& b) const;
  std::vector<Ciphertext> planned(std::span<const Ciphertext* const> inputs, const ProductSums& plan) const;
  ContextPtr ctx_;
  unsigned threads_;
  Dependence dependence_;
};

}  // namespace ringforge::ltv
