// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Key switching: digits (ModUp) and their inner products with a switching key.
#pragma once

#include <span>
#include <vector>

#include "ringforge/rlwe/keys.hpp"

namespace ringforge::rlwe {

/// ModUp one limb at a time: holds the polynomial in coefficient form, from which any limb of any digit is made.
/// For gadgets whose digits are whole limbs (not base-B).
class DigitSource {
 public:
  /// `c` must outlive this. Counts one mod_up. @throws MismatchError when c's basis is no prefix of the gadget's
  /// Q, ParameterError for a base-B gadget.
  /// @param whole converts every limb of every digit at once, which is faster where all are made: sources are then read
  ///        once. It takes digits * (limbs + |P|) - limbs limbs of memory.
  DigitSource(const Poly<Eval>& c, const Gadget& gadget, unsigned threads = 1, bool whole = false);
  std::size_t digits() const noexcept { return digits_; }
  /// Digit d modulo prime j of the extended basis, in Eval form.
  void limb(u64* dst, std::size_t d, std::size_t j) const noexcept;
  /// The same when nothing has to be computed (the digit's own limbs), else null.
  const u64* own(std::size_t d, std::size_t j) const noexcept;

 private:
  const Poly<Eval>& c_;
  const Gadget& gadget_;
  std::size_t digits_ = 0;
  Poly<Coeff> coeff_;
  std::vector<std::vector<const u64*>> sources_;  // of each digit
  std::vector<WordBuffer> quotients_;
  void convert_all(unsigned threads);
  std::size_t target(std::size_t j) const noexcept;
  std::vector<WordBuffer> converted_;                  // of each digit of several limbs
  std::vector<std::vector<const u64*>> converted_at_;  // limb j of digit d, or null
};

/// A decomposed polynomial: its digits over the extended basis, in Eval form. Made once, used by any
/// number of key switches (hoisting).
class Digits {
 public:
  /// ModUp of c (any prefix of Q). @throws MismatchError when c's basis is no prefix of the gadget's Q.
  Digits(const Poly<Eval>& c, const Gadget& gadget, unsigned threads = 1);
  std::size_t limbs() const noexcept { return limbs_; }
  const std::vector<Poly<Eval>>& polys() const noexcept { return digits_; }
  /// How they were cut.
  const GadgetSpec& spec() const noexcept { return spec_; }
  /// Limb j of every digit.
  std::vector<const u64*> at(std::size_t j) const;

 private:
  std::size_t limbs_ = 0;
  GadgetSpec spec_;
  std::vector<Poly<Eval>> digits_;
};

/// The inner product at prime j of the extended basis of `limbs` limbs: out0, out1 are N words, digits[d] is digit
/// d there. Counts nothing. The key must cover `limbs`.
void key_product_at(u64* out0, u64* out1, std::span<const u64* const> digits, const SwitchingKey& key,
                    const Gadget& gadget, std::size_t limbs, std::size_t j) noexcept;

/// (u0, u1) = [(u0, u1) +] sum_d D_d * (b_d, a_d) over the extended basis of the digits' limbs.
/// @throws as SwitchingKey::check; MismatchError for digits of another gadget, or u0, u1 of another basis.
void key_product(Poly<Eval>& u0, Poly<Eval>& u1, const Digits& digits, const SwitchingKey& key, const Gadget& gadget,
                 bool accumulate, unsigned threads = 1);

/// Digits and key_product in one: (u0, u1) = sum_d D_d(c) * (b_d, a_d). For a single use of the digits this
/// is faster: target limb by target limb, the digits are made and used while they are in the cache.
/// Counts one mod_up and one key_switch. @throws as Digits and key_product.
void switch_key(Poly<Eval>& u0, Poly<Eval>& u1, const Poly<Eval>& c, const SwitchingKey& key, const Gadget& gadget,
                unsigned threads = 1);

}  // namespace ringforge::rlwe
