// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// RLWE building blocks shared by all schemes: secret keys, the gadget, key switching.
//
// Conventions. A ciphertext (c0, c1) under s has phase c0 + c1*s. A gadget splits a polynomial c over
// Q = q_0...q_{L-1} into small digits D_d with sum_d D_d * g_d = c mod Q. A switching key from s' to s
// holds for each digit (b_d, a_d), b_d = -a_d*s + e_d + P*g_d*s' over Q*P, P the special primes. Then
// u = (sum D_d*b_d, sum D_d*a_d) has phase P*c*s' + small, and dividing by P ("ModDown") gives an
// encryption of c*s' under s.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ringforge/modulus_drop.hpp"
#include "ringforge/random.hpp"
#include "ringforge/ring.hpp"

namespace ringforge {

/// How digits are cut.
///   per-limb: limbs_per_digit = 1, log_base = 0: digit d is c mod q_d, centred;
///   hybrid:   limbs_per_digit = alpha > 1: digit d is c modulo alpha primes, centred;
///   base B:   limbs_per_digit = 1, log_base = log2 B: the balanced base-B digits of each c mod q_i, in
///             [-B/2, B/2); the top digit holds the rest.
struct GadgetSpec {
  unsigned limbs_per_digit = 1;
  unsigned log_base = 0;
  friend bool operator==(const GadgetSpec&, const GadgetSpec&) = default;
};

/// What counts and sizes of key switching depend on, for digits of whole limbs.
struct GadgetShape {
  std::size_t degree = 0;   ///< N
  std::size_t special = 0;  ///< primes of P
  std::size_t alpha = 1;    ///< limbs of a digit
  friend auto operator<=>(const GadgetShape&, const GadgetShape&) = default;

  std::size_t digits(std::size_t limbs) const noexcept { return (limbs + alpha - 1) / alpha; }
  std::size_t extended(std::size_t limbs) const noexcept { return limbs + special; }
  /// Forward transforms of a ModUp.
  std::size_t mod_up_transforms(std::size_t limbs) const noexcept { return digits(limbs) * extended(limbs) - limbs; }
  /// Limb products of the base conversions of a ModUp; digits of one limb need none.
  std::size_t conversions(std::size_t limbs) const noexcept;
  /// Bytes of a switching key, both halves expanded.
  std::size_t key_bytes(std::size_t limbs) const noexcept {
    return 2 * digits(limbs) * extended(limbs) * degree * sizeof(u64);
  }
};

/// A gadget over Q with special primes P, for every number of limbs of Q at once. Immutable.
class Gadget {
 public:
  /// @throws ParameterError when digits are larger than P allows (P must be at least half the largest digit,
  ///         or digits be base-B), when both kinds of spec are mixed, or a prime is in both bases; MismatchError when
  ///         Q and P belong to different rings.
  Gadget(const Basis& q, const Basis& p, const GadgetSpec& spec);

  const GadgetSpec& spec() const noexcept { return spec_; }
  GadgetShape shape() const noexcept { return {q_.ring().degree(), p_.size(), spec_.limbs_per_digit}; }
  const Basis& q() const noexcept { return q_; }
  const Basis& p() const noexcept { return p_; }
  /// Number of digits of a polynomial with this many limbs.
  std::size_t digits(std::size_t limbs) const noexcept;
  /// The first `limbs` primes of Q followed by P.
  /// @throws LevelError unless Q has so many; the same for the three below.
  const Basis& extended(std::size_t limbs) const { return level(limbs).extended; }
  /// Division by P from `limbs` + |P| primes. Undefined when P is empty.
  const ModulusDrop& mod_down(std::size_t limbs) const { return level(limbs).down; }
  /// Division by P and the last prime of Q at once; limbs >= 2, P not empty.
  const ModulusDrop& mod_down_rescale(std::size_t limbs) const { return level(limbs).down_rescale; }
  /// Division by the last prime of Q; limbs >= 2.
  const ModulusDrop& rescale(std::size_t limbs) const { return level(limbs).rescale; }
  /// P*g_d modulo prime number `limb` of Q (it is 0 modulo P's primes).
  u64 key_factor(std::size_t digit, std::size_t limb) const noexcept;
  /// P mod q_limb, as a factor.
  const kernels::Factor& p_factor(std::size_t limb) const noexcept { return p_mod_q_[limb]; }

  /// Variance that one key switch of a polynomial with `limbs` limbs adds to each coefficient before
  /// ModDown's rounding, after division by P: sum over digits of N * E[digit^2] * Var(error) / P^2.
  /// @throws LevelError unless Q has so many limbs.
  double switch_variance(std::size_t limbs) const;
  /// Transforms of one ModUp.
  struct Cost {
    std::size_t intt, ntt;
  };
  Cost mod_up_cost(std::size_t limbs) const noexcept;
  /// Bytes of a switching key for this many limbs, both halves expanded.
  std::size_t key_bytes(std::size_t limbs) const noexcept;

 private:
  friend class Digits;
  friend class DigitSource;
  struct Level {
    Basis extended;
    ModulusDrop down, down_rescale, rescale;
  };
  /// Conversion of the digit made of primes [first, first + size) to all others of the largest basis.
  struct Group {
    std::size_t first, size;
    BaseConverter convert;
  };
  const Level& level(std::size_t limbs) const {
    if (limbs < 1 || limbs > levels_.size()) refuse(limbs);
    return levels_[limbs - 1];
  }
  [[noreturn]] void refuse(std::size_t limbs) const;
  const BaseConverter& converter(std::size_t first, std::size_t size) const;
  unsigned parts(std::size_t limb) const noexcept;  // base-B digits of one limb

  Basis q_, p_;
  GadgetSpec spec_;
  std::vector<Level> levels_;
  std::vector<Group> groups_;
  std::vector<kernels::Factor> p_mod_q_;
};

/// ModUp one limb at a time: holds the polynomial in coefficient form, from which any limb of any digit is made.
/// For gadgets whose digits are whole limbs (not base-B).
class DigitSource {
 public:
  /// `c` must outlive this. Counts one mod_up. @throws MismatchError when c's basis is no prefix of the gadget's
  /// Q, ParameterError for a base-B gadget.
  DigitSource(const Poly<Eval>& c, const Gadget& gadget, unsigned threads = 1);
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

/// A secret polynomial with ternary coefficients. Move-only, wiped at the end.
class SecretKey {
 public:
  SecretKey(const Basis& basis, Randomness& rng);
  /// From stored coefficients in {-1, 0, 1}. @throws FormatError for others.
  SecretKey(const Basis& basis, SmallPoly&& coeffs, u64 id);
  ~SecretKey() { eval_.wipe(); }
  SecretKey(SecretKey&&) noexcept = default;
  SecretKey& operator=(SecretKey&& o) noexcept {
    eval_.wipe();
    coeffs_ = std::move(o.coeffs_);
    eval_ = std::move(o.eval_);
    id_ = o.id_;
    return *this;
  }
  SecretKey(const SecretKey&) = delete;
  SecretKey& operator=(const SecretKey&) = delete;

  /// Random public name that keys and ciphertexts carry, so that foreign ones are recognised.
  u64 id() const noexcept { return id_; }
  const SmallPoly& coeffs() const noexcept { return coeffs_; }
  /// s over the full basis (Q and P).
  const Poly<Eval>& eval() const noexcept { return eval_; }

 private:
  SmallPoly coeffs_;
  Poly<Eval> eval_;
  u64 id_ = 0;
};

/// Switching key from some s' to s, for polynomials of up to `limbs` limbs. Its polynomials' primes and `spec` say
/// which gadgets it works with.
struct SwitchingKey {
  u64 key_id = 0;         ///< of s
  std::size_t limbs = 0;  ///< limbs of Q it covers
  GadgetSpec spec;        ///< how digits are cut
  Seed seed{};            ///< expands to the a halves
  std::vector<Poly<Eval>> b, a;

  /// Key from `from` (s') to `to` (s), both over all primes of Q and P; `key_id` is copied into the key.
  /// @throws MismatchError when a secret is over other primes or another ring, LevelError unless Q has `limbs` limbs.
  static SwitchingKey make(const Poly<Eval>& from, const Poly<Eval>& to, u64 key_id, const Gadget& gadget,
                           std::size_t limbs, Randomness& rng, unsigned threads = 1);
  /// The a halves of a seed.
  static std::vector<Poly<Eval>> expand(const Seed& seed, const Gadget& gadget, std::size_t limbs,
                                        unsigned threads = 1);
  std::size_t bytes() const noexcept;
  /// What every use with a gadget demands. @throws MismatchError when the key was made for another ring, other primes
  /// or other digits, LevelError when it covers fewer limbs than `wanted`.
  void check(const Gadget& gadget, std::size_t wanted) const;
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

}  // namespace ringforge
