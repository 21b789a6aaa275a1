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
  /// How conversions to other primes are made.
  enum class Convert {
    each,  ///< when a limb is asked for: nothing but c is held
    all    ///< at once, block by block, which reads c once: as many limbs are held as there will be transforms
  };
  /// `c` must outlive this. Counts one mod_up. @throws MismatchError when c's basis is no prefix of the gadget's
  /// Q, ParameterError for a base-B gadget.
  DigitSource(const Poly<Eval>& c, const Gadget& gadget, unsigned threads = 1, Convert convert = Convert::each);
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
  std::vector<WordBuffer> lifted_;  // of each digit, at all primes but its own; empty unless all are converted at once
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
/// is faster: target limb by target limb, the digits are transformed and used while they are in the cache.
/// Counts one mod_up and one key_switch. @throws as Digits and key_product.
void switch_key(Poly<Eval>& u0, Poly<Eval>& u1, const Poly<Eval>& c, const SwitchingKey& key, const Gadget& gadget,
                unsigned threads = 1);

/// What is done with the two parts after a key switch: sums with polynomials over c's primes (null: none), then
/// X -> X^element. `rescale`: the sums are divided by c's last prime, in one step with the division by P.
struct AfterSwitch {
  const Poly<Eval>* add[2] = {nullptr, nullptr};
  u64 element = 1;
  bool rescale = false;
};

/// A key switch, the division by P, and what comes after, limb by limb: the sums never leave the cache. `digits` are
/// c's, or null. The gadget has special primes. Counts what switch_key (or key_product), two divisions, sums and
/// automorphisms count. @throws as Digits and key_product; LevelError when a rescaled c has one limb.
std::pair<Poly<Eval>, Poly<Eval>> switch_and_divide(const Poly<Eval>& c, const Digits* digits, const SwitchingKey& key,
                                                    const Gadget& gadget, const AfterSwitch& then,
                                                    unsigned threads = 1);

}  // namespace ringforge::rlwe
