// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// What a machine that multiplies polynomials takes and gives, prime by prime, when it relinearises: digits as words of
// 16 bits, sums of products as they come out of its transforms. BatchEvaluator has the same of products. Padded rings
// only.
#pragma once

#include "ringforge/ltv/ltv.hpp"

namespace ringforge::ltv {

/// Digits of a ciphertext, of which no key is needed: for dst and errors see KeyParts::digits, which also holds it
/// against its key.
void shifted_digits(std::span<std::uint16_t> dst, const Context& context, const Ciphertext& c, unsigned threads = 1);

/// What belongs to an evaluation key. Immutable; any threads may share one.
///
/// Digits are balanced, in [-2^(r-1), 2^(r-1)) for windows of r bits; a machine gets them plus `offset()`, so that none
/// is negative. What that adds to a result is the same for all ciphertexts: one polynomial, which `assemble` takes
/// away.
class KeyParts {
 public:
  /// @throws MismatchError for a key of another context; ParameterError for rings that are not padded, and for digits
  /// that 16 bits do not hold.
  KeyParts(ContextPtr context, const EvalKey& key, unsigned threads = 1);
  const ContextPtr& context() const noexcept { return ctx_; }
  u64 key_id() const noexcept { return key_id_; }
  u32 level() const noexcept { return level_; }
  u32 lag() const noexcept { return lag_; }
  std::size_t limbs() const noexcept { return share_.limbs(); }
  std::size_t digits() const noexcept { return digits_; }
  /// 2^(r-1).
  u32 offset() const noexcept { return u32{1} << (ctx_->params().spec().window - 1); }

  /// Digits of a ciphertext, each plus `offset()`: dst[d * N + k] for coefficient k.
  /// @throws as Relinearizer::relinearize; ShapeError for other than digits() * N words.
  void digits(std::span<std::uint16_t> dst, const Ciphertext& c, unsigned threads = 1) const;
  /// The ciphertext that Relinearizer::relinearize gives, bit for bit, from the sums over all digits of such words
  /// times the key's digit: for each prime a polynomial of `transform_length` words, not reduced modulo Phi.
  /// @throws as `digits`; ValueError for words that are no residues.
  Ciphertext assemble(const Ciphertext& c, std::span<const u32> sums, unsigned threads = 1) const;

 private:
  void check_input(const Ciphertext& c) const;

  ContextPtr ctx_;
  u64 key_id_;
  u32 level_, lag_;
  std::size_t digits_;
  Coefficients share_;  // offset * (1 + X + ... + X^(N-1)) * the sum of the key's digits
};

}  // namespace ringforge::ltv
