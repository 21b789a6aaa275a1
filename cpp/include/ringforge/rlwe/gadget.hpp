// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The gadget: how polynomials are cut into digits, for key switching.
//
// Conventions of the layer. A ciphertext (c0, c1) under s has phase c0 + c1*s. A gadget splits a polynomial c over
// Q = q_0...q_{L-1} into small digits D_d with sum_d D_d * g_d = c mod Q. A switching key from s' to s
// holds for each digit (b_d, a_d), b_d = -a_d*s + e_d + P*g_d*s' over Q*P, P the special primes. Then
// u = (sum D_d*b_d, sum D_d*a_d) has phase P*c*s' + small, and dividing by P ("ModDown") gives an
// encryption of c*s' under s.
#pragma once

#include <memory>
#include <vector>

#include "ringforge/rlwe/modulus_drop.hpp"

namespace ringforge::rlwe {

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

class Gadget;
/// Shared by all that works with its primes and digits.
using GadgetPtr = std::shared_ptr<const Gadget>;

/// A gadget over Q with special primes P, for every number of limbs of Q at once. Immutable.
class Gadget {
 public:
  /// @throws ParameterError when digits are larger than P allows (P must be at least half the largest digit,
  ///         or digits be base-B), when both kinds of spec are mixed, when a prime is in both bases, or for a padded
  ///         ring, whose products need reducing; MismatchError when Q and P belong to different rings.
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
  /// All primes, Q then P: those of secret and public keys.
  const Basis& all() const { return extended(q_.size()); }
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
  /// ModDown's rounding, after division by P: sum over digits of N * E[digit^2] * Var(error) / P^2, with
  /// Ring::product_variance() for N.
  /// @throws LevelError unless Q has so many limbs.
  double switch_variance(std::size_t limbs) const;
  /// Transforms of one ModUp.
  struct Cost {
    std::size_t intt, ntt;
  };
  Cost mod_up_cost(std::size_t limbs) const noexcept;
  /// Bytes of a switching key for this many limbs, both halves expanded.
  std::size_t key_bytes(std::size_t limbs) const noexcept;

  // ---- what belongs here ----
  // Objects are known by their primes: ring, order and number of limbs. `what` and `remedy` are for the message.
  /// Of polynomials over the first primes of Q. @throws MismatchError.
  void check_level(const Basis& have, const char* what, const char* remedy) const;
  /// Of polynomials over all primes. @throws MismatchError.
  void check_all(const Basis& have, const char* what, const char* remedy) const;

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

}  // namespace ringforge::rlwe
