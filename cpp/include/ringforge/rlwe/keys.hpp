// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Secret keys, public keys, and the keys that switch from one secret to another.
#pragma once

#include <vector>

#include "ringforge/random.hpp"
#include "ringforge/rlwe/gadget.hpp"

namespace ringforge::rlwe {

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
  /// @throws MismatchError when the key is not over all primes of this gadget.
  void check(const Gadget& gadget) const;

 private:
  SmallPoly coeffs_;
  Poly<Eval> eval_;
  u64 id_ = 0;
};

/// An encryption of zero that anybody may add to: over all primes of Q and P, b = -a*s + e.
struct PublicKey {
  u64 key_id = 0;  ///< of s
  Seed seed{};     ///< expands to a
  Poly<Eval> b, a;

  /// @throws MismatchError when the secret key is over other primes or another ring.
  static PublicKey make(const SecretKey& sk, const Gadget& gadget, Randomness& rng);
  /// @throws MismatchError when the key is not over all primes of this gadget.
  void check(const Gadget& gadget) const;
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

}  // namespace ringforge::rlwe
