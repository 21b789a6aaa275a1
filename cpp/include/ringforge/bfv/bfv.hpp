// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The BFV scheme (Brakerski 2012; Fan, Vercauteren 2012) in RNS form, with products as Halevi, Polyakov and Shoup
// compute them (CT-RSA 2019): encode, keys, encrypt, evaluate, decrypt.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "ringforge/bfv/ciphertext.hpp"
#include "ringforge/rlwe/evaluator.hpp"

namespace ringforge::bfv {

class Slots;
class Products;

/// Everything derived from a parameter set. Immutable and shared by all objects that use it.
class Context {
 public:
  /// @param security of the rules: 40 for results that nobody else sees fail, 128 where others see whether they are
  ///        right (docs/security.md). Parties who exchange ciphertexts take the same.
  explicit Context(const Parameters& params, unsigned security = NoiseRules::kSecurity);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Parameters& params() const noexcept { return rules_.params(); }
  const NoiseRules& rules() const noexcept { return rules_; }
  const Ring& ring() const noexcept { return ring_; }
  const rlwe::Gadget& gadget() const noexcept { return *gadget_; }
  const rlwe::GadgetPtr& gadget_ptr() const noexcept { return gadget_; }
  u64 t() const noexcept { return params().t(); }
  /// The first `limbs` primes of Q. @throws LevelError unless Q has so many.
  Basis basis(std::size_t limbs) const;

  /// Galois element of a left rotation of both rows by `step` slots (negative: right).
  u64 rotation_element(i64 step) const noexcept;
  /// Galois element that exchanges the rows.
  u64 swap_element() const noexcept { return ring_.index() - 1; }

  /// @throws MismatchError for an object of other parameters, ShapeError for a plaintext that has not N coefficients or
  ///         a ciphertext without two or three parts, ValueError for coefficients that are not below t.
  void check(const Plaintext& p) const;
  void check(const Multiplier& m) const;
  void check(const Ciphertext& c) const;

  // ---- encoding ----
  /// Up to N values in slots, the rest zero: first row 0, then row 1, N/2 slots each. Slot i of row 0 is the value at
  /// zeta^(5^i), of row 1 at zeta^(-5^i); zeta is the smallest primitive 2N-th root of unity modulo t.
  /// Signed values lie in (-t, t). @throws ValueError for values out of range or too many; ParameterError when t has
  /// no slots.
  Plaintext encode(std::span<const u64> values) const;
  Plaintext encode(std::span<const i64> values) const;
  /// All N slots. @throws as check, and ParameterError when t has no slots.
  std::vector<u64> decode(const Plaintext& p) const;
  /// Up to N coefficients, for any t. @throws ValueError as encode.
  Plaintext encode_coefficients(std::span<const u64> values) const;
  Plaintext encode_coefficients(std::span<const i64> values) const;
  /// The same value in every slot: the constant polynomial. Any integer, modulo t.
  Plaintext constant(i64 value) const;
  /// Residues of (-t/2, t/2] of a decoded vector.
  std::vector<i64> centred(std::span<const u64> values) const;

  /// As a factor for ciphertexts of up to `limbs` limbs (default: all). Counts `limbs` transforms.
  Multiplier multiplier(const Plaintext& p, std::optional<std::size_t> limbs = {}, unsigned threads = 1) const;
  /// The same at words level, for many plaintexts made on the fly: N coefficients in [0, t) to limb `limb`, in Eval
  /// form. Unchecked; no allocation. dst may be src; both aligned to 64 bytes.
  void lift(u64* dst, const u64* coefficients, std::size_t limb) const noexcept;
  /// N slots in [0, t) to N coefficients in `out`, aligned to 64 bytes. No allocation.
  /// @throws ParameterError when t has no slots.
  void to_coefficients(u64* out, const u64* slots) const;
  /// Back; `coefficients`, aligned as well, are used up, and out is another array.
  void to_slots(u64* out, u64* coefficients) const;

  /// (Q/t)*m rounded, exactly, over `limbs` limbs in Eval form: what encryption and plain sums add to parts[0].
  Poly<Eval> scaled(const Plaintext& p, std::size_t limbs, unsigned threads = 1) const;

  /// Tables of products, made by the first one. Any threads may ask at once.
  const Products& products() const;

 private:
  const Slots& slots() const;

  NoiseRules rules_;
  Ring ring_;
  rlwe::GadgetPtr gadget_;
  std::unique_ptr<const Slots> slots_;  // null when t has none
  mutable std::shared_ptr<const Products> products_;
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

  /// Secret-key encryption: half of the result is a seed, so files are half the size.
  Ciphertext encrypt(const Plaintext& p, const SecretKey& sk, std::optional<std::size_t> limbs = {});
  Ciphertext encrypt(const Plaintext& p, const PublicKey& pk, std::optional<std::size_t> limbs = {});
  /// Exact while every coefficient of the noise is below (1 - 16/N) * Q / 2t.
  /// @param anyway decrypts also what may be wrong by its predicted noise: show it to nobody, since whether and how it
  ///        is wrong tells of the key.
  /// @throws MismatchError for a ciphertext under another key; LevelError without a predicted budget, and when a
  ///         coefficient is above that modulo Q/t: noise that has filled the modulus, so that nothing of the plaintext
  ///         is left, is so but for luck of e^-16.
  Plaintext decrypt(const Ciphertext& c, const SecretKey& sk, unsigned threads = 1, bool anyway = false) const;
  /// The decryption of the ciphertext with fresh Gaussian noise added, so that whether and how decryption fails says
  /// nothing of the noise: for results shown to others (IND-CPA-D, Li and Micciancio 2021; rlwe::flood_deviation).
  /// `queries` counts all ciphertexts whose decryptions are shown. `noise` is what the flood grows from: whoever did
  /// not make the ciphertext predicts it, and does not take the ciphertext's word; the default is the ciphertext's own.
  /// The ciphertext is brought to the fewest limbs that have room, where noise is smallest.
  /// @throws LevelError when no number of limbs has room for the noise, ParameterError for numbers out of range.
  Plaintext decrypt_to_share(const Ciphertext& c, const SecretKey& sk, double share_bits, u64 queries = 1,
                             std::optional<Noise> noise = {});

  /// What the key holder measures: log2 of the largest coefficient of the noise, and of their root mean square.
  struct Measured {
    double largest, deviation;
  };
  Measured measure(const Ciphertext& c, const SecretKey& sk) const;
  /// Bits left before decryption fails: log2(Q / 2t) - log2 of the largest coefficient. 0: it has failed.
  double noise_budget(const Ciphertext& c, const SecretKey& sk) const;

 private:
  template <class Key>
  Ciphertext encrypt_under(const Plaintext& p, const Key& key, std::optional<std::size_t> limbs, bool is_public);
  Poly<Coeff> remainder(const Ciphertext& c, const SecretKey& sk) const;

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
  Ciphertext sub(const Ciphertext& a, const Ciphertext& b) const;
  Ciphertext negate(const Ciphertext& a) const;
  void add_in_place(Ciphertext& a, const Ciphertext& b) const;
  void sub_in_place(Ciphertext& a, const Ciphertext& b) const;
  void negate_in_place(Ciphertext& a) const;
  Ciphertext add_plain(const Ciphertext& a, const Plaintext& p) const;
  Ciphertext sub_plain(const Ciphertext& a, const Plaintext& p) const;
  void add_plain_in_place(Ciphertext& a, const Plaintext& p) const;
  void sub_plain_in_place(Ciphertext& a, const Plaintext& p) const;
  /// Every slot plus an integer modulo t.
  Ciphertext add_constant(const Ciphertext& a, i64 value) const;

  // ---- plain products ----
  Ciphertext mul_plain(const Ciphertext& a, const Plaintext& p) const;
  /// @throws LevelError when the multiplier has fewer limbs than the ciphertext.
  Ciphertext mul_plain(const Ciphertext& a, const Multiplier& m) const;
  Ciphertext mul_constant(const Ciphertext& a, i64 value) const;
  /// sum of values[i] * terms[i] in one pass: integers modulo t. Terms may have two or three parts, 1 ... 64 of them.
  /// @throws ShapeError unless there are as many values as terms.
  Ciphertext combine(std::span<const Ciphertext* const> terms, std::span<const i64> values) const;

  // ---- products, at the operands' limbs ----
  /// Three parts; both operands must have two (ShapeError). Sums of such results may be relinearised at once.
  Ciphertext mul(const Ciphertext& a, const Ciphertext& b) const;
  /// The same for a*a, with a quarter less work.
  Ciphertext square(const Ciphertext& a) const;
  /// Back to two parts; a ciphertext that has no third is returned as it is.
  /// @throws MismatchError for a key of another secret, LevelError when it covers fewer limbs.
  Ciphertext relinearize(const Ciphertext& a, const RelinKey& key) const;

  // ---- rotations: two parts ----
  /// Both rows to the left by `step`. @throws MissingKeyError, naming the step and the steps present.
  Ciphertext rotate_rows(const Ciphertext& a, i64 step, const GaloisKeys& keys) const;
  Ciphertext swap_rows(const Ciphertext& a, const GaloisKeys& keys) const;
  Ciphertext apply_galois(const Ciphertext& a, u64 element, const GaloisKeys& keys) const;
  /// Rotations by many steps with one ModUp.
  std::vector<Ciphertext> rotate_hoisted(const Ciphertext& a, std::span<const i64> steps, const GaloisKeys& keys) const;

  // ---- fewer limbs ----
  /// Divides by the last primes, with rounding: the same plaintext at fewer limbs, where everything is cheaper.
  /// NoiseRules::fewest_limbs says how far noise allows it. @throws LevelError unless 1 <= limbs <= the ciphertext's.
  Ciphertext mod_switch_to(const Ciphertext& a, std::size_t limbs) const;

 private:
  std::vector<u64> residues(i64 value, std::size_t limbs) const;
  void check_pair(const Ciphertext& a, const Ciphertext& b) const;
  Ciphertext made(const Noise& noise, rlwe::Ciphertext&& polynomials) const {
    return {ctx_->t(), noise, std::move(polynomials)};
  }

  ContextPtr ctx_;
  rlwe::Evaluator poly_;  // of the polynomials
};

}  // namespace ringforge::bfv
