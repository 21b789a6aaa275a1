// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The CKKS scheme (Cheon, Kim, Kim, Song 2017) in RNS form: encode, keys, encrypt, evaluate, decrypt.
#pragma once

#include <complex>
#include <span>

#include "ringforge/ckks/ciphertext.hpp"
#include "ringforge/rlwe/evaluator.hpp"

namespace ringforge::ckks {

/// Everything derived from a parameter set: bases, key-switching constants, encoder tables. Immutable and
/// shared by all objects that use it.
class Context {
 public:
  explicit Context(const Parameters& params);

  const Parameters& params() const noexcept { return params_; }
  const Ring& ring() const noexcept { return ring_; }
  const rlwe::Gadget& gadget() const noexcept { return *gadget_; }
  const rlwe::GadgetPtr& gadget_ptr() const noexcept { return gadget_; }
  /// Q's first level + 1 primes. @throws LevelError above the maximum level.
  Basis basis(std::size_t level) const;
  /// All primes, Q then P.
  const Basis& full_basis() const { return gadget_->all(); }

  /// Galois element of a left rotation by `step` slots (negative: right).
  u64 rotation_element(i64 step) const noexcept;
  /// Galois element of complex conjugation.
  u64 conjugation_element() const noexcept { return ring_.index() - 1; }

  /// @throws MismatchError for an object of other parameters, ShapeError for a ciphertext without two or three parts.
  void check(const Plaintext& p) const;
  void check(const Ciphertext& c) const { c.check(*gadget_); }

  // ---- encoder ----
  /// Encodes up to N/2 numbers, the rest zero. Slot j is the value at zeta^(5^j).
  /// @throws ValueError for NaN or infinity, too many values, or |value|*scale beyond the modulus;
  ///         LevelError for a level that does not exist; ScaleError unless 1 <= scale < 2^250.
  Plaintext encode(std::span<const std::complex<double>> values, double scale, std::size_t level,
                   unsigned threads = 1) const;
  Plaintext encode(std::span<const double> values, double scale, std::size_t level, unsigned threads = 1) const;
  /// Residues of round(value*scale) modulo each prime of the level.
  std::vector<u64> encode_constant(double value, double scale, std::size_t level) const;
  /// All N/2 slots. @throws MismatchError for a plaintext of other parameters.
  std::vector<std::complex<double>> decode(const Plaintext& p, unsigned threads = 1) const;

  /// Places real slot values in transform order for encode_words: slot v*batch + i gets values[v] for every
  /// i < batch; count*batch must be N/2.
  void scatter(const double* values, std::size_t count, std::size_t batch, double* re) const;
  /// Words-level encoder for many plaintexts: `re`, `im` hold N/2 slot values each and are overwritten;
  /// residues of limb i go to out[i], in Eval form. No allocation. @throws LevelError for more limbs than Q has.
  void encode_words(double* re, double* im, double scale, std::span<u64* const> out, i64* rounded) const;
  /// The same up to rounding: N coefficients. Returns false when one is 2^62 or larger.
  bool encode_coefficients(double* re, double* im, double scale, i64* rounded) const;

 private:
  void embed(double* re, double* im, const std::complex<double>* values, std::size_t count) const;
  Parameters params_;
  Ring ring_;
  rlwe::GadgetPtr gadget_;
  std::vector<double> fft_re_, fft_im_;
  kernels::FftTable fft_;
  std::vector<u32> slot_index_;  // slot j -> position in transform order
};

/// Key generation, encryption and decryption: everything that touches a secret. Any threads may share one.
class Client {
 public:
  explicit Client(ContextPtr context, Randomness rng = {})
      : ctx_(std::move(context)), encryptor_(ctx_->gadget_ptr(), std::move(rng)), decryptor_(ctx_->gadget_ptr()) {}

  // Arguments of other parameters are refused with MismatchError throughout.
  SecretKey secret_key() { return encryptor_.secret_key(); }
  PublicKey public_key(const SecretKey& sk) { return encryptor_.public_key(sk); }
  /// Keys for polynomials of up to `level`; the default is the maximum level.
  RelinKey relin_key(const SecretKey& sk, std::optional<std::size_t> level = {}, unsigned threads = 1);
  /// @throws ParameterError when the element is no Galois element or is 1.
  GaloisKey galois_key(const SecretKey& sk, u64 element, std::optional<std::size_t> level = {}, unsigned threads = 1);

  /// Secret-key encryption: half of the result is a seed, so files are half the size. `bound` is declared:
  /// it travels in the open, so it must not be read off the data.
  /// @throws ValueError when a slot exceeds the bound.
  Ciphertext encrypt(const Plaintext& p, const SecretKey& sk, double bound = 1.0);
  Ciphertext encrypt(const Plaintext& p, const PublicKey& pk, double bound = 1.0);
  /// @throws MismatchError for a ciphertext under another key.
  Plaintext decrypt(const Ciphertext& c, const SecretKey& sk) const;
  /// Adds Gaussian noise to the coefficients so that the decryption may be shown to others
  /// (IND-CPA-D, Li and Micciancio 2021): see rlwe::flood_deviation. `queries` counts all ciphertexts whose
  /// decryptions are shown. `variance` is what the noise grows from: whoever did not make the ciphertext predicts it,
  /// and does not take the ciphertext's word; the default is the ciphertext's own.
  /// @throws LevelError when the modulus has no room for the noise, ParameterError for numbers out of range.
  Plaintext decrypt_to_share(const Ciphertext& c, const SecretKey& sk, double share_bits, u64 queries = 1,
                             std::optional<double> variance = {});

 private:
  template <class Key>
  Ciphertext encrypt_under(const Plaintext& p, const Key& key, double bound, bool is_public);

  ContextPtr ctx_;
  rlwe::Encryptor encryptor_;
  rlwe::Decryptor decryptor_;
};

/// Homomorphic operations. Stateless apart from its context and thread count.
class Evaluator {
 public:
  explicit Evaluator(ContextPtr context, unsigned threads = 1)
      : ctx_(std::move(context)), rules_(ctx_), poly_(ctx_->gadget_ptr(), threads) {}
  const ContextPtr& context() const noexcept { return ctx_; }
  unsigned threads() const noexcept { return poly_.threads(); }

  // Every operand and key must be of the context's parameters (MismatchError).
  // Sums. Levels must agree (LevelError), scales within 2^-30 (ScaleError), keys too (MismatchError).
  // Predicted errors add as if they were fully dependent, since operands may share their history.
  Ciphertext add(const Ciphertext& a, const Ciphertext& b) const;
  Ciphertext sub(const Ciphertext& a, const Ciphertext& b) const;
  Ciphertext negate(const Ciphertext& a) const;
  /// a += b and a -= b, the same bits. The operands may be one. Not while another thread uses a.
  void add_in_place(Ciphertext& a, const Ciphertext& b) const;
  void sub_in_place(Ciphertext& a, const Ciphertext& b) const;
  Ciphertext add_plain(const Ciphertext& a, const Plaintext& p) const;
  Ciphertext sub_plain(const Ciphertext& a, const Plaintext& p) const;
  Ciphertext add_scalar(const Ciphertext& a, double value) const;

  // Products. Scales multiply; rescale afterwards.
  Ciphertext mul_plain(const Ciphertext& a, const Plaintext& p) const;
  /// Multiplies by a real number encoded at `scale` (default: the last prime, so that a rescale restores
  /// the ciphertext's scale exactly).
  Ciphertext mul_scalar(const Ciphertext& a, double value, std::optional<double> scale = {}) const;
  /// Three parts; both operands must have two (ShapeError).
  Ciphertext mul(const Ciphertext& a, const Ciphertext& b) const;
  Ciphertext relinearize(const Ciphertext& a, const RelinKey& key) const;

  /// Divides by the last prime. @throws LevelError at level 0; ScaleError as check_rescaled.
  Ciphertext rescale(const Ciphertext& a) const;
  /// Drops primes without division. @throws LevelError when `level` is above the ciphertext's.
  Ciphertext drop_to_level(const Ciphertext& a, std::size_t level) const;

  /// The same polynomials at another scale, every value multiplied by a.scale / scale, under a bound of those values
  /// that the caller knows: MetadataRules::read_as. Nothing is computed.
  Ciphertext read_as(const Ciphertext& a, double scale, double bound) const;

  /// Left rotation of the slots. @throws MissingKeyError, naming the step and the steps present.
  Ciphertext rotate(const Ciphertext& a, i64 step, const GaloisKeys& keys) const;
  Ciphertext conjugate(const Ciphertext& a, const GaloisKeys& keys) const;
  /// a += Rot_step(a) for each step in turn, where in every slot at most one of the two is not zero: copies of the
  /// contents in empty slots. The declared bound stays. @throws as rotate.
  Ciphertext replicate(const Ciphertext& a, std::span<const i64> steps, const GaloisKeys& keys) const;
  /// Twice the real part of every slot, at twice the scale: the real part's value, imaginary parts gone.
  Ciphertext double_real(const Ciphertext& a, const GaloisKeys& keys) const;
  Ciphertext apply_galois(const Ciphertext& a, u64 element, const GaloisKeys& keys) const;
  /// Rotations by many steps with one ModUp.
  std::vector<Ciphertext> rotate_hoisted(const Ciphertext& a, std::span<const i64> steps, const GaloisKeys& keys) const;

 private:
  void check_sum(const Ciphertext& a, const Ciphertext& b) const;
  void check_sum(const Ciphertext& a, const Plaintext& p) const;
  ContextPtr ctx_;
  MetadataRules rules_;
  rlwe::Evaluator poly_;  // of the polynomials
};

/// Refuses to rescale below the noise: when the predicted error of the result, slot_error_bound(variance) / scale, is
/// not below its declared bound, so that nothing of the values would be left, and the scale would fall below half the
/// parameters' default one. (At the usual scale, values may be as small as one likes: they keep the usual error.)
/// `r`: metadata of the result. `prime`: what would be divided by. @throws ScaleError.
void check_rescaled(const Parameters& params, const Metadata& r, double prime);

/// As of its metadata.
double error_bound(const Ciphertext& c);

}  // namespace ringforge::ckks
