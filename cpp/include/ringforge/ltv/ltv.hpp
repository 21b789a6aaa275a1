// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The scheme of Lopez-Alt, Tromer and Vaikuntanathan (STOC 2012) for one key, levelled, in RNS form: keys, encrypt,
// evaluate, decrypt. BROKEN at the parameters it needs (params.hpp): a rebuilt publication, no protection.
//
// Messages are polynomials over GF(2) of degree below N, as N bits. Sums are XOR of bits, products are those modulo 2
// and Phi_m.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ringforge/ltv/noise.hpp"
#include "ringforge/random.hpp"
#include "ringforge/tensor_basis.hpp"

namespace ringforge::ltv {

using Coefficients = Poly<Coeff, u32>;
using Bits = std::vector<std::uint8_t>;

/// Everything derived from a parameter set. Immutable and shared by all objects that use it.
class Context {
 public:
  explicit Context(const Parameters& params);
  const Parameters& params() const noexcept { return rules_.params(); }
  const NoiseRules& rules() const noexcept { return rules_; }
  const Ring& ring() const noexcept { return params().ring(); }
  /// The first `limbs` primes. @throws LevelError unless there are so many.
  BasisOf<u32> basis(std::size_t limbs) const;
  /// Of tensor rings: between messages, which are coefficients of powers of X, and polynomials. Null in padded rings.
  const TensorBasis* tensor() const noexcept { return tensor_ ? &*tensor_ : nullptr; }
  /// The coefficients of 1.
  const std::vector<i64>& one() const noexcept { return one_; }

 private:
  NoiseRules rules_;
  BasisOf<u32> basis_;
  std::optional<TensorBasis> tensor_;
  std::vector<i64> one_;
};
using ContextPtr = std::shared_ptr<const Context>;

/// c with c f^degree = w modulo its primes, w = m modulo 2; f is the secret of `level`. Of a product over levels
/// (batch.hpp), one of the two factors is the secret of level - lag.
struct Ciphertext {
  Coefficients poly;
  u64 key_id = 0;
  u32 level = 0;
  u32 degree = 1;  ///< 2 after a product, until it is relinearised
  Noise noise;
  u32 lag = 0;

  std::size_t limbs() const noexcept { return poly.limbs(); }
};

/// f_i = 2 u_i + 1 for each level, u_i ternary. Move-only, wiped at the end.
struct SecretKey {
  u64 id = 0;         ///< random public name that keys and ciphertexts carry
  Hash parameters{};  ///< of the set it was made for: its numbers alone do not tell
  std::vector<SmallPoly> u;

  SecretKey() = default;
  SecretKey(SecretKey&&) noexcept = default;
  SecretKey& operator=(SecretKey&&) noexcept = default;
  SecretKey(const SecretKey&) = delete;
  SecretKey& operator=(const SecretKey&) = delete;
};

/// h_i = 2 g_i / f_i for each level: modulo the primes of level max(i - 1, 0), as evaluation keys need it.
struct PublicKey {
  u64 key_id = 0;
  std::vector<Coefficients> h;
};

/// What takes ciphertexts of level - 1 to `level`: for each digit an encryption under f_level of the digit's weight
/// times the square of f_(level-1), modulo the primes of level - 1, in Eval form. No half of it is expanded from a
/// seed, unlike keys of RLWE: h s + 2e has no uniform part of its own. With a lag, it has f_(level-1) f_(level-1-lag)
/// in place of the square, for products of ciphertexts of these two levels.
struct EvalKey {
  u64 key_id = 0;
  u32 level = 0;
  u32 lag = 0;
  std::vector<Poly<Eval, u32>> digits;

  u64 bytes() const noexcept;
};

/// Key generation, encryption, decryption: everything that touches a secret. Any threads may share one.
class Client {
 public:
  explicit Client(ContextPtr context, Randomness rng = {}) : ctx_(std::move(context)), rng_(std::move(rng)) {}
  const ContextPtr& context() const noexcept { return ctx_; }

  /// Secrets of all levels and what belongs to them. Secrets are drawn again until they have an inverse modulo every
  /// prime and keep NoiseRules::secret_bounds.
  std::pair<SecretKey, PublicKey> keys(unsigned threads = 1) const;
  /// The evaluation key of one level from 1 on (LevelError). @throws MismatchError for keys that are no pair.
  /// LevelError too for a lag that goes above level 0.
  EvalKey eval_key(const SecretKey& sk, const PublicKey& pk, std::size_t level, unsigned threads = 1,
                   std::size_t lag = 0) const;

  /// Up to N bits, each 0 or 1 (ValueError), the coefficients of 1, X, X^2, ...; the rest is zero.
  /// `above`: modulo the primes of the level above, to be mod_switched: what is left of its noise then is a rounding.
  /// @throws LevelError for a level that there is not, or above level 0; MismatchError for a foreign key.
  Ciphertext encrypt(std::span<const std::uint8_t> bits, const PublicKey& pk, std::size_t level = 0,
                     unsigned threads = 1, bool above = false) const;
  /// N bits, of a ciphertext under f or f^2. @throws MismatchError for a ciphertext of another key; LevelError when a
  /// coefficient of the phase is above (1 - 16/N) q/2: noise that has filled the modulus is so but for luck of e^-16.
  Bits decrypt(const Ciphertext& c, const SecretKey& sk, unsigned threads = 1) const;

  /// What the key holder measures: log2 of the phase's largest coefficient, of their root mean square, and of its
  /// largest value at a root of unity.
  struct Measured {
    double largest, deviation, value;
  };
  Measured measure(const Ciphertext& c, const SecretKey& sk, unsigned threads = 1) const;
  /// Bits left before decryption fails: log2(q/2) - log2 of the largest coefficient.
  double noise_budget(const Ciphertext& c, const SecretKey& sk, unsigned threads = 1) const;

 private:
  Coefficients phase(const Ciphertext& c, const SecretKey& sk, unsigned threads) const;

  ContextPtr ctx_;
  Randomness rng_;
};

/// Homomorphic operations. Stateless apart from its context and thread count; any threads may share one. Operands may
/// be one object. Each throws MismatchError for objects of another context or key, LevelError for levels or degrees
/// that do not fit, naming the step that is missing.
class Evaluator {
 public:
  explicit Evaluator(ContextPtr context, unsigned threads = 1) : ctx_(std::move(context)), threads_(threads) {}
  const ContextPtr& context() const noexcept { return ctx_; }
  unsigned threads() const noexcept { return threads_; }
  /// Predicted bits of budget; docs/ltv.md says how sure they are.
  double budget(const Ciphertext& c) const;

  /// Of equal level, degree and number of limbs.
  Ciphertext add(const Ciphertext& a, const Ciphertext& b) const;
  /// Bits as Client::encrypt takes them.
  Ciphertext add_plain(const Ciphertext& a, std::span<const std::uint8_t> bits) const;
  Ciphertext mul_plain(const Ciphertext& a, std::span<const std::uint8_t> bits) const;
  /// Of degree 1 and equal level, all primes of the level; the result has degree 2.
  Ciphertext mul(const Ciphertext& a, const Ciphertext& b) const;
  /// To the next level's secret, still modulo the primes of its own; of degree 2, or 1 (which only goes down a level).
  Ciphertext relinearize(const Ciphertext& a, const EvalKey& key) const;
  /// Drops the primes that the ciphertext's level has no more: after `relinearize`.
  Ciphertext mod_switch(const Ciphertext& a) const;
  /// Drops primes until there are `limbs`, fewer than now and those of some level (LevelError). The secret stays.
  Ciphertext drop(const Ciphertext& a, std::size_t limbs) const;

 private:
  void check_pair(const Ciphertext& a, const Ciphertext& b) const;
  ContextPtr ctx_;
  unsigned threads_;
};

/// @throws MismatchError for an object of other parameters; ShapeError, LevelError for counts that no such object has.
void check(const Context& context, const Ciphertext& c);
void check(const Context& context, const SecretKey& key);
void check(const Context& context, const PublicKey& key);
void check(const Context& context, const EvalKey& key);

}  // namespace ringforge::ltv
