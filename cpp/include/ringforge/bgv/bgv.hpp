// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The BGV scheme (Brakerski, Gentry, Vaikuntanathan, ITCS 2012) modulo 2, levelled, in RNS form, over rings of an odd
// index m: keys, encrypt, evaluate, decrypt.
//
// A plaintext is a polynomial over GF(2) modulo Phi_m, as N bits, the coefficients of 1, X, X^2, ...;
// linear::BinarySlots has its slots. Sums are XOR, products those modulo (2, Phi_m).
//
// Ciphertexts are scaled by 1/2: the phase phi of one over Q is such that v = 2*phi modulo Q, centred, is small and is
// the plaintext modulo 2. So errors are errors, and not their doubles, and everything that divides and rounds is the
// RLWE layer's: (v - 2d)/p is v modulo 2 for any integer d and odd p.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ringforge/bgv/noise.hpp"
#include "ringforge/rlwe/evaluator.hpp"
#include "ringforge/tensor_basis.hpp"

namespace ringforge {
class Spectrum;
}

namespace ringforge::bgv {

// Keys are those of the RLWE layer.
using rlwe::GaloisKey;
using rlwe::GaloisKeys;
using rlwe::KeySet;
using rlwe::PublicKey;
using rlwe::RelinKey;
using rlwe::SecretKey;

using Bits = std::vector<std::uint8_t>;

/// An encrypted plaintext: two parts, or three between a multiplication and its relinearisation.
struct Ciphertext : Noise, rlwe::Ciphertext {
  Ciphertext() = default;
  Ciphertext(const Noise& noise, rlwe::Ciphertext&& polynomials)
      : Noise(noise), rlwe::Ciphertext(std::move(polynomials)) {}
  const Noise& noise() const noexcept { return *this; }
};

/// A public plaintext that ciphertexts are multiplied by, or added to: its bits as 0, 1 and -1, signs from a fixed
/// stream, in Eval form. Made once, used often, for ciphertexts of as many limbs or fewer.
struct Multiplier {
  Poly<Eval> poly;      ///< modulo the first primes of Q
  Poly<Eval> special;   ///< modulo P's primes, for Evaluator::frobenius_sums; of no limbs where that was not asked for
  double log_peak = 0;  ///< log2 of its largest value at a primitive m-th root of unity; of the plaintext zero 0

  std::size_t bytes() const noexcept { return (poly.words().size() + special.words().size()) * sizeof(u64); }
};

/// Everything derived from a parameter set. Immutable and shared by all objects that use it.
class Context {
 public:
  /// @param security of the rules: 40 for results that nobody else sees fail, 128 where others see whether they are
  ///        right (docs/security.md). Parties who exchange ciphertexts take the same.
  explicit Context(const Parameters& params, unsigned security = NoiseRules::kSecurity);

  const Parameters& params() const noexcept { return rules_.params(); }
  const NoiseRules& rules() const noexcept { return rules_; }
  const Ring& ring() const noexcept { return params().ring(); }
  const rlwe::Gadget& gadget() const noexcept { return *gadget_; }
  const rlwe::GadgetPtr& gadget_ptr() const noexcept { return gadget_; }
  const TensorBasis& tensor_basis() const noexcept { return tensor_; }
  /// Values at roots of unity: internal.
  const Spectrum& spectrum() const noexcept { return *spectrum_; }
  /// The first `limbs` primes of Q. @throws LevelError unless Q has so many.
  Basis basis(std::size_t limbs) const;

  /// Galois element of the Frobenius map, which raises every slot to the power 2^k: 2^k modulo m. k may be negative.
  u64 frobenius_element(i64 k) const noexcept;

  /// @throws MismatchError for an object of other parameters, ShapeError for a ciphertext without two or three parts.
  void check(const Multiplier& m) const;
  void check(const Ciphertext& c) const;

  /// Up to N bits, the rest zero, as a factor for ciphertexts of up to `limbs` limbs (default: all). Counts a transform
  /// for each prime. `special`: for frobenius_sums too.
  /// @throws ValueError for what is not 0 or 1, or too much.
  Multiplier multiplier(std::span<const std::uint8_t> bits, std::optional<std::size_t> limbs = {}, bool special = false,
                        unsigned threads = 1) const;

 private:
  NoiseRules rules_;
  rlwe::GadgetPtr gadget_;
  TensorBasis tensor_;
  std::shared_ptr<const Spectrum> spectrum_;
};
using ContextPtr = std::shared_ptr<const Context>;

/// Key generation, encryption and decryption: everything that touches a secret. Any threads may share one.
class Client {
 public:
  explicit Client(ContextPtr context, Randomness rng = {})
      : ctx_(std::move(context)), encryptor_(ctx_->gadget_ptr(), std::move(rng)), decryptor_(ctx_->gadget_ptr()) {}
  const ContextPtr& context() const noexcept { return ctx_; }

  // Arguments of other parameters are refused with MismatchError throughout.
  /// Ternary, with bounded spectrum (largest_spectrum).
  SecretKey secret_key();
  PublicKey public_key(const SecretKey& sk) { return encryptor_.public_key(sk); }
  /// Keys for ciphertexts of up to `limbs` limbs; the default is all. @throws LevelError for more.
  RelinKey relin_key(const SecretKey& sk, std::optional<std::size_t> limbs = {}, unsigned threads = 1);
  /// @throws ParameterError when the element is no Galois element or is 1.
  GaloisKey galois_key(const SecretKey& sk, u64 element, std::optional<std::size_t> limbs = {}, unsigned threads = 1);

  /// Up to N bits, the rest zero. With the secret key half of the result is a seed, so files are half the size.
  /// @throws ValueError for what is not 0 or 1, or too much; LevelError unless Q has `limbs` limbs.
  Ciphertext encrypt(std::span<const std::uint8_t> bits, const SecretKey& sk, std::optional<std::size_t> limbs = {});
  Ciphertext encrypt(std::span<const std::uint8_t> bits, const PublicKey& pk, std::optional<std::size_t> limbs = {});
  /// N bits. Exact while every coefficient of v is below (1 - 16/N) * Q/2.
  /// @param anyway decrypts also what may be wrong by its predicted noise: show it to nobody, since whether and how it
  ///        is wrong tells of the key.
  /// @throws MismatchError for a ciphertext under another key; LevelError without a predicted budget, and when a
  ///         coefficient is above that: noise that has filled the modulus, so that nothing of the plaintext is left, is
  ///         so but for luck of e^-16.
  Bits decrypt(const Ciphertext& c, const SecretKey& sk, unsigned threads = 1, bool anyway = false) const;
  /// The decryption of the ciphertext with fresh Gaussian noise added, so that whether and how decryption fails says
  /// nothing of the noise: for results shown to others (IND-CPA-D, Li and Micciancio 2021; rlwe::flood_deviation).
  /// `queries` counts all ciphertexts whose decryptions are shown. `noise` is what the flood grows from: whoever did
  /// not make the ciphertext predicts it, and does not take the ciphertext's word; the default is the ciphertext's own.
  /// The ciphertext is brought to the fewest limbs that have room, where noise is smallest.
  /// @throws LevelError when no number of limbs has room for the noise, ParameterError for numbers out of range.
  Bits decrypt_to_share(const Ciphertext& c, const SecretKey& sk, double share_bits, u64 queries = 1,
                        std::optional<Noise> noise = {}, unsigned threads = 1);

  /// What the key holder measures: log2 of the largest coefficient of v, and of its largest value at a root of unity,
  /// which is what Noise bounds.
  struct Measured {
    double largest, value;
  };
  Measured measure(const Ciphertext& c, const SecretKey& sk, unsigned threads = 1) const;
  /// Bits left before decryption fails: log2(Q/2) - log2 of the largest coefficient.
  double noise_budget(const Ciphertext& c, const SecretKey& sk, unsigned threads = 1) const;

 private:
  template <class Key>
  Ciphertext encrypt_under(std::span<const std::uint8_t> bits, const Key& key, std::optional<std::size_t> limbs,
                           bool is_public);
  Poly<Coeff> noise_of(const Ciphertext& c, const SecretKey& sk, unsigned threads) const;

  ContextPtr ctx_;
  rlwe::Encryptor encryptor_;
  rlwe::Decryptor decryptor_;
};

/// Homomorphic operations. Stateless apart from its context and thread count; any threads may share one.
///
/// Every operand and key must be of the context's parameters (MismatchError), two ciphertexts under the same key and of
/// as many limbs (LevelError). Forms `..._in_place` change their first operand and give the same bits; when they throw,
/// it is as it was. Operands may be one object.
class Evaluator {
 public:
  explicit Evaluator(ContextPtr context, unsigned threads = 1)
      : ctx_(std::move(context)), poly_(ctx_->gadget_ptr(), threads) {}
  const ContextPtr& context() const noexcept { return ctx_; }
  const NoiseRules& rules() const noexcept { return ctx_->rules(); }
  unsigned threads() const noexcept { return poly_.threads(); }
  /// Bits that prediction leaves: rules().budget.
  double budget(const Ciphertext& c) const;

  // ---- sums: two and three parts mix ----
  Ciphertext add(const Ciphertext& a, const Ciphertext& b) const;
  void add_in_place(Ciphertext& a, const Ciphertext& b) const;
  /// @throws LevelError when the multiplier has fewer limbs than the ciphertext; `mul_plain` likewise.
  Ciphertext add_plain(const Ciphertext& a, const Multiplier& m) const;
  Ciphertext add_plain(const Ciphertext& a, std::span<const std::uint8_t> bits) const;
  /// Every slot plus 1.
  Ciphertext add_one(const Ciphertext& a) const;

  // ---- products, at the operands' limbs ----
  Ciphertext mul_plain(const Ciphertext& a, const Multiplier& m) const;
  Ciphertext mul_plain(const Ciphertext& a, std::span<const std::uint8_t> bits) const;
  /// Three parts; both operands must have two (ShapeError). Sums of such results may be relinearised at once.
  Ciphertext mul(const Ciphertext& a, const Ciphertext& b) const;
  /// The same for a*a, with a quarter less work.
  Ciphertext square(const Ciphertext& a) const;
  /// Back to two parts; a ciphertext that has no third is returned as it is. Then the last `drop` primes go.
  /// @throws MismatchError for a key of another secret, LevelError when it covers fewer limbs or none would be left.
  Ciphertext relinearize(const Ciphertext& a, const RelinKey& key, std::size_t drop = 0) const;
  /// relinearize(mul(a, b), key, drop).
  Ciphertext multiply(const Ciphertext& a, const Ciphertext& b, const RelinKey& key, std::size_t drop = 0) const;

  // ---- automorphisms: two parts ----
  /// X -> X^element. @throws MissingKeyError, naming the element and those present.
  Ciphertext apply_galois(const Ciphertext& a, u64 element, const GaloisKeys& keys) const;
  /// Many of them with one ModUp.
  std::vector<Ciphertext> apply_hoisted(const Ciphertext& a, std::span<const u64> elements,
                                        const GaloisKeys& keys) const;

  /// A factor and the map of what it multiplies.
  struct Term {
    u64 element = 1;
    const Multiplier* multiplier = nullptr;
  };
  /// Of one ciphertext several sums of multiplier * (its map by X -> X^element), with one ModUp for all, and one
  /// division by P (and by the last `drop` primes, 0 or 1) for each sum: the products are summed over Q*P. A map that
  /// several sums take is made once. The GF(2)-linear maps of slots are such sums of Frobenius maps.
  /// Multipliers were made with `special` (ParameterError). @throws as apply_galois; ShapeError for no sums, or one
  /// without terms; LevelError when a multiplier or key has fewer limbs than the ciphertext, or none would be left.
  std::vector<Ciphertext> frobenius_sums(const Ciphertext& a, std::span<const std::vector<Term>> sums,
                                         const GaloisKeys& keys, std::size_t drop = 0) const;

  // ---- fewer limbs ----
  /// Divides by the last primes, with rounding: the same plaintext with less noise, at fewer limbs.
  /// @throws LevelError unless 1 <= limbs <= the ciphertext's.
  Ciphertext mod_switch_to(const Ciphertext& a, std::size_t limbs) const;
  /// The first limbs without division: noise stays. For an operand that must have as few limbs as another.
  Ciphertext drop_to(const Ciphertext& a, std::size_t limbs) const;

 private:
  void check_pair(const Ciphertext& a, const Ciphertext& b) const;
  void check_limbs(const Multiplier& m, const Ciphertext& a) const;

  ContextPtr ctx_;
  rlwe::Evaluator poly_;  // of the polynomials
};

}  // namespace ringforge::bgv
