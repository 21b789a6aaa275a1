// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Operations on RLWE ciphertexts that mean the same in every scheme: they act on phases. What a phase stands for, and
// what an operation does to scale and noise, is the scheme's.
#pragma once

#include <span>
#include <vector>

#include "ringforge/rlwe/ciphertext.hpp"
#include "ringforge/rlwe/switching.hpp"

namespace ringforge::rlwe {

/// Stateless apart from its gadget and thread count; any threads may share one. Results carry no seed.
///
/// Every operand and key must be of the gadget's primes (MismatchError), ciphertexts have one to three parts
/// (ShapeError). Two operands must have the same number of limbs (LevelError) and the same key (MismatchError).
/// Forms `..._in_place` change their first operand and give the same bits; when they throw, it is as it was. The second
/// operand may be the first. Not while another thread uses that ciphertext.
class Evaluator {
 public:
  explicit Evaluator(GadgetPtr gadget, unsigned threads = 1) : gadget_(std::move(gadget)), threads_(threads) {}
  const Gadget& gadget() const noexcept { return *gadget_; }
  unsigned threads() const noexcept { return threads_; }

  // ---- sums: phases add ----
  Ciphertext add(const Ciphertext& a, const Ciphertext& b) const;
  Ciphertext sub(const Ciphertext& a, const Ciphertext& b) const;
  Ciphertext negate(const Ciphertext& a) const;
  void add_in_place(Ciphertext& a, const Ciphertext& b) const;
  void sub_in_place(Ciphertext& a, const Ciphertext& b) const;
  void negate_in_place(Ciphertext& a) const;
  /// p: over the ciphertext's primes.
  Ciphertext add_plain(const Ciphertext& a, const Poly<Eval>& p) const;
  Ciphertext sub_plain(const Ciphertext& a, const Poly<Eval>& p) const;
  /// The constant polynomial with these residues, one for each limb.
  Ciphertext add_constant(const Ciphertext& a, std::span<const u64> residues) const;

  // ---- products: phases multiply ----
  /// Counts one plain_mul.
  Ciphertext mul_plain(const Ciphertext& a, const Poly<Eval>& p) const;
  Ciphertext mul_constant(const Ciphertext& a, std::span<const u64> residues) const;
  /// Three parts, whose phase is the product of the phases; both operands must have two.
  Ciphertext mul(const Ciphertext& a, const Ciphertext& b) const;

  // ---- key switching: phases stay, but for the noise that Gadget::switch_variance and ModDown's rounding add ----
  /// Back to two parts; a ciphertext that has no third is returned as it is.
  /// @throws MismatchError for a key of another secret, LevelError when it covers fewer limbs.
  /// `rescale`: divided by the last prime too, in the same division.
  Ciphertext relinearize(const Ciphertext& a, const RelinKey& key, bool rescale = false) const;
  /// From the secret that `key` leads from to the one it leads to, whose id the result has. The key does not say
  /// where it leads from: that is the caller's to know. Two parts.
  Ciphertext switch_to(const Ciphertext& a, const SwitchingKey& key) const;
  /// The phase under X -> X^element; two parts. Element 1 returns the ciphertext.
  /// @throws MissingKeyError; as relinearize.
  Ciphertext map(const Ciphertext& a, u64 element, const GaloisKeys& keys) const;
  /// ModUp of a ciphertext of two parts, for many maps of it.
  Digits hoist(const Ciphertext& a) const;
  /// map with digits made before: the same bits. @throws MismatchError also for digits of another number of limbs.
  Ciphertext map(const Ciphertext& a, const Digits& digits, u64 element, const SwitchingKey& key) const;
  Ciphertext map(const Ciphertext& a, u64 element, const SwitchingKey& key) const;

  // ---- fewer limbs ----
  /// Every part divided by the last `count` primes, and rounded. @throws LevelError unless a limb is left.
  Ciphertext divide(const Ciphertext& a, std::size_t count = 1) const;
  /// The first `limbs` limbs, without division. @throws LevelError when the ciphertext has fewer.
  Ciphertext drop_to(const Ciphertext& a, std::size_t limbs) const;

  /// What every operation with two ciphertexts demands.
  void check_pair(const Ciphertext& a, const Ciphertext& b) const;
  /// A polynomial that a ciphertext is added to or multiplied by.
  void check_plain(const Ciphertext& a, const Poly<Eval>& p) const;

 private:
  void check(const Ciphertext& c) const;
  void check_two(const Ciphertext& a, const char* what) const;
  void check_constant(const Ciphertext& a, std::span<const u64> residues) const;
  /// c (or its digits) switched by `key`, divided by P, and what comes then.
  Ciphertext switched(const Poly<Eval>& c, const Digits* digits, const SwitchingKey& key,
                      const AfterSwitch& then) const;
  Ciphertext switch_and_map(const Ciphertext& a, const Digits* digits, u64 element, const SwitchingKey& key) const;

  GadgetPtr gadget_;
  unsigned threads_;
};

}  // namespace ringforge::rlwe
