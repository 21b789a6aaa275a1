// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Compression in oblivious message retrieval: from the encrypted vector of pertinent entries, u_j in {0, 1} for each of
// a bulletin's N entries, to a digest from which the receiver solves for indices and payloads.
//
// The digest holds, for exponents i <= k and values v, the sums modulo t
//   S[i][v] = sum_j (j + 1)^i * P_j[v] * u_j,  P_j[0] = 1 and P_j[1 + w] = word w of payload j:
// (0, 0) is the count, (i, 0) are power sums, (i, 1 + w) power sums weighted with payloads.
//
// Steps (docs/omr-algorithm.md has proofs and noise, decision 29 the reasons); rho is a power of two above k + 1:
//   1. u goes to a secret s'(X^4), s' of degree N' = N/4, by one key switch;
//   2. its rotations by b < rho/2, of both rows and of the rows exchanged, are multiplied by diagonals of powers,
//      W_b[x] = w_{x+b}^i with i = x modulo rho/2, plus rho/2 in the second row: rho ciphertexts E_b, whatever payloads
//      are;
//   3. y_v = sum_b E_b * Rot_b(P_v) for each value v, one long inner product without transforms: in the order of slots
//   a
//      rotation of P_v is an offset. What is kept is part 0 of y_v(X) = sum_{i<4} X^i y_{v,i}(X^4), over degree N';
//   4. the sums S[.][v] are rho coefficients of part 0. A tree of automorphisms packs those of up to N'/rho values into
//      one ciphertext, N'/rho apart.
// The digest is that modulo powers of two, as few bits as its noise allows.
#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ringforge/counters.hpp"
#include "ringforge/record.hpp"
#include "ringforge/rlwe/evaluator.hpp"

namespace ringforge::circuits {

inline constexpr io::TypeCode kCompressionSecretType = 0x0508, kCompressionKeysType = 0x0509, kDigestType = 0x050A,
                              kCompressionPartType = 0x050B;
/// What the registry knows of them. docs/formats.md has their bodies.
std::vector<io::RecordType> compression_record_types();

/// What keys depend on.
struct CompressionParameters {
  unsigned log_n = 16;        ///< of u's ring; entries of a bulletin: 2^log_n
  u64 t = 0;                  ///< prime below 2^21, 1 modulo 2N
  std::vector<u64> q, p;      ///< the first two primes of u's Q, and two special primes: each 1 modulo 2N
  std::string insecure = {};  ///< why a set below 128 bits may be used; empty otherwise. Not part of the identity

  std::size_t entries() const noexcept { return std::size_t{1} << log_n; }
  unsigned log_small() const noexcept { return log_n - 2; }
  /// N'
  std::size_t degree() const noexcept { return std::size_t{1} << log_small(); }
  Hash hash() const;
};

/// Everything derived from parameters. Immutable and shared.
class CompressionContext {
 public:
  /// Fewest sums of a value; N' divided by it is the most values of a ciphertext.
  static constexpr unsigned kMinLogPeriod = 5;
  /// @throws ParameterError when something is out of range or does not fit, or log2(QP) is above the limit of the small
  ///         ring and `insecure` is empty.
  explicit CompressionContext(CompressionParameters parameters);

  const CompressionParameters& parameters() const noexcept { return parameters_; }
  const Hash& hash() const noexcept { return hash_; }
  const rlwe::GadgetPtr& big() const noexcept { return big_; }
  const rlwe::GadgetPtr& small() const noexcept { return small_; }
  /// t over the large ring and over the small one.
  const Prime& plain() const noexcept { return *plain_; }
  const Prime& small_plain() const noexcept { return *small_plain_; }
  /// Galois elements of the large ring: rotation of both rows by one, and their exchange.
  u64 step_element() const noexcept { return 5; }
  u64 swap_element() const noexcept { return 2 * parameters_.entries() - 1; }
  /// Of the small ring, for the pack at stride 2^level: fixes multiples of 2^(level+1), negates those of 2^level else.
  u64 pack_element(unsigned level) const noexcept { return 1 + (parameters_.degree() >> level); }
  unsigned pack_levels() const noexcept { return parameters_.log_small() - kMinLogPeriod; }

  /// Y^(2^level) over both primes.
  const Poly<Eval>& monomial(unsigned level) const noexcept { return monomials_[level]; }

  /// Index in Eval form of each slot of the large ring, modulo any prime.
  const std::vector<u32>& index_of() const noexcept { return index_of_; }
  /// Index in Eval form, modulo prime l, of the root zeta^4 over large slots (r, x + m*N'/2), at r*N'/2 + x.
  const std::vector<u32>& small_index_of(std::size_t l) const noexcept { return small_index_of_[l]; }
  /// (j + 1)^i modulo t.
  u32 power(std::size_t entry, std::size_t i) const noexcept { return exp_[i * log_[entry] % (parameters_.t - 1)]; }

 private:
  CompressionParameters parameters_;
  Hash hash_{};
  rlwe::GadgetPtr big_, small_;
  std::shared_ptr<const Prime> plain_, small_plain_;
  std::vector<u32> index_of_, exp_;
  std::vector<u64> log_;
  std::vector<std::vector<u32>> small_index_of_;
  std::vector<Poly<Eval>> monomials_;
};
using CompressionContextPtr = std::shared_ptr<const CompressionContext>;

/// The receiver's s'. Move-only, wiped at the end.
class CompressionSecret {
 public:
  /// Ternary, with bounded spectrum (bfv::largest_spectrum).
  CompressionSecret(CompressionContextPtr context, Randomness& rng);
  CompressionSecret(CompressionContextPtr context, rlwe::SecretKey&& key)
      : context_(std::move(context)), key_(std::move(key)) {}
  const CompressionContextPtr& context() const noexcept { return context_; }
  const rlwe::SecretKey& key() const noexcept { return key_; }

  /// One record; not encrypted.
  void save(std::ostream& out) const;
  /// Leaves the stream behind the record. @throws FormatError, MismatchError for other parameters.
  static CompressionSecret load(std::istream& in, CompressionContextPtr context);

 private:
  CompressionContextPtr context_;
  rlwe::SecretKey key_;
};

/// What the detector needs for one receiver. The polynomials are immutable.
class CompressionKeys {
 public:
  /// @param from the secret that u is encrypted under; only its coefficients and id are used
  /// @throws MismatchError for a secret of another degree.
  CompressionKeys(const rlwe::SecretKey& from, const CompressionSecret& to, Randomness& rng, unsigned threads = 1);

  const CompressionContextPtr& context() const noexcept { return context_; }
  u64 from_id() const noexcept { return from_id_; }
  u64 key_id() const noexcept { return down_->key_id; }
  const rlwe::SwitchingKey& down() const noexcept { return *down_; }
  /// Of the large ring under s'(X^4): step_element and swap_element.
  const rlwe::GaloisKeys& big() const noexcept { return big_; }
  /// Of the small ring under s': pack_element of every level.
  const rlwe::GaloisKeys& small() const noexcept { return small_; }
  /// In memory.
  std::size_t bytes() const { return down_->bytes() + big_.bytes() + small_.bytes(); }

  /// One record, uniform halves as seeds.
  void save(std::ostream& out) const;
  static u64 saved_bytes(const CompressionContext& context);
  /// Leaves the stream behind the record. @throws FormatError, MismatchError for other parameters.
  static CompressionKeys load(std::istream& in, CompressionContextPtr context, unsigned threads = 1);

 private:
  CompressionKeys() = default;
  CompressionContextPtr context_;
  u64 from_id_ = 0;
  std::shared_ptr<const rlwe::SwitchingKey> down_;
  rlwe::GaloisKeys big_, small_;
};

/// What one digest holds and costs.
class CompressionPlan {
 public:
  static constexpr std::size_t kMaxMessages = 1022, kMaxWords = 1 << 16;
  /// log2 of the values that one worker packs at a time.
  static constexpr unsigned kLogUnit = 4;
  /// One ciphertext of the digest.
  struct Output {
    std::size_t first = 0, count = 0;  ///< values
    unsigned levels = 0;               ///< of its tree
    /// Units of 2^min(levels, kLogUnit) values.
    std::size_t units = 0;
  };
  /// A block of units, over all outputs: what one worker does.
  struct Shard {
    std::size_t first = 0, count = 0;
  };
  /// One unit: values [first, first + count) of an output.
  struct Unit {
    std::size_t output = 0, first = 0, count = 0;
  };

  /// @param messages k, the most pertinent entries that can be told apart
  /// @param words of a payload, modulo t
  /// @throws ParameterError for k outside 1 ... min(kMaxMessages, N/16 - 2), or words above kMaxWords.
  CompressionPlan(CompressionContextPtr context, std::size_t messages, std::size_t words);

  const CompressionContextPtr& context() const noexcept { return context_; }
  std::size_t messages() const noexcept { return messages_; }
  std::size_t words() const noexcept { return words_; }
  std::size_t powers() const noexcept { return messages_ + 1; }
  std::size_t values() const noexcept { return words_ + 1; }
  /// rho
  std::size_t period() const noexcept { return std::size_t{1} << log_period_; }
  unsigned log_period() const noexcept { return log_period_; }
  const std::vector<Output>& outputs() const noexcept { return outputs_; }
  std::size_t units() const noexcept;
  Unit unit(std::size_t number) const noexcept;
  Shard all() const noexcept { return {0, units()}; }
  /// Block `index` of `count` of nearly equal size. @throws ParameterError.
  Shard shard(std::size_t index, std::size_t count) const;

  /// Bits of each coefficient in the digest: modulo 2^c0_bits and 2^c1_bits.
  unsigned c0_bits() const noexcept { return c0_bits_; }
  unsigned c1_bits() const noexcept { return c1_bits_; }
  /// Of the digest's record.
  std::size_t digest_bytes() const noexcept;
  /// Of messages, words and the parameters.
  const Hash& hash() const noexcept { return hash_; }

  // ---- counts ----
  OpCounts prepare_counts() const;
  OpCounts part_counts(Shard shard) const;
  OpCounts finish_counts() const;
  /// Bytes of residues beside u and the payloads.
  std::size_t memory(unsigned threads) const noexcept;

  // ---- noise: variance of a coefficient of the error e of phase (Q/t)*m + e ----
  struct Noise {
    double switched = 0;  ///< u under s'(X^4)
    double power = 0;     ///< E_b, mean over b
    double value = 0;     ///< part 0 of y_v
    double packed = 0;    ///< an output, over two limbs
    double limb = 0;      ///< over one limb
    double digest = 0;    ///< in parts of 1/t: decryption is right where |e| < 0.5
    /// log2 of the probability that some coefficient of the digest decrypts wrongly.
    double failure_log2 = 0;
  };
  /// @param variance of u's error over two limbs
  Noise noise(double variance) const;

 private:
  void choose_bits();
  CompressionContextPtr context_;
  std::size_t messages_, words_;
  unsigned log_period_ = 0;
  std::vector<Output> outputs_;
  unsigned c0_bits_ = 0, c1_bits_ = 0;
  Hash hash_{};
};

/// Called with the fraction done; returning false cancels.
using CompressionProgress = std::function<bool(double)>;

/// The ciphertexts E_b of one u, in the order of slots.
class CompressedPowers {
 public:
  explicit CompressedPowers(std::size_t terms, std::size_t n) : n_(n), words_(terms * 4 * n) {}
  /// Term b (rows exchanged: rho/2 + b), part, limb: N words.
  u64* at(std::size_t term, std::size_t part, std::size_t limb) noexcept {
    return words_.data() + (term * 4 + part * 2 + limb) * n_;
  }
  const u64* at(std::size_t term, std::size_t part, std::size_t limb) const noexcept {
    return words_.data() + (term * 4 + part * 2 + limb) * n_;
  }
  std::size_t size() const noexcept { return words_.size(); }

 private:
  std::size_t n_;
  WordBuffer words_;
};

/// Packed values of one shard, a ciphertext a unit.
struct CompressionPart {
  CompressionPlan::Shard shard;
  std::vector<rlwe::Ciphertext> packed;

  void save(std::ostream& out, const CompressionPlan& plan) const;
  /// Leaves the stream behind the record. @throws FormatError, MismatchError for another plan.
  static CompressionPart load(std::istream& in, const CompressionPlan& plan);
  /// Neighbours, in any order, as one. @throws ShapeError for gaps and overlaps, MismatchError for different keys.
  static CompressionPart joined(std::vector<CompressionPart> parts);
};

/// Computes digests with one receiver's keys. Immutable; any threads may share one.
class Compressor {
 public:
  /// @throws MismatchError for keys of other parameters.
  Compressor(CompressionPlan plan, CompressionKeys keys);
  const CompressionPlan& plan() const noexcept { return plan_; }

  /// u under s'(X^4). @throws MismatchError for a ciphertext of another key or other primes, LevelError unless it has
  ///         two limbs; `powers` likewise.
  rlwe::Ciphertext switched(const rlwe::Ciphertext& u, unsigned threads = 1) const;
  /// @throws Error("cancelled").
  CompressedPowers powers(const rlwe::Ciphertext& u, unsigned threads = 1,
                          const CompressionProgress& progress = {}) const;
  /// @param words of the payloads: N rows of plan().words()
  /// @throws ShapeError for another number of words, other powers, or a shard outside; ValueError for a word of t or
  ///         more; Error("cancelled").
  CompressionPart part(const CompressedPowers& powers, std::span<const u32> words, CompressionPlan::Shard shard,
                       unsigned threads = 1, const CompressionProgress& progress = {}) const;
  /// One ciphertext an output, over two limbs. @throws ShapeError unless the parts are all of the plan.
  std::vector<rlwe::Ciphertext> packed(std::vector<CompressionPart> parts) const;
  /// The digest's record. @param bulletin its number, which the digest names
  std::vector<std::uint8_t> digest(const std::vector<rlwe::Ciphertext>& packed, u64 bulletin) const;

 private:
  /// Packs in place, neighbours first, `levels` levels down from `top`: leaves one ciphertext for each 2^levels.
  void pack(std::vector<rlwe::Ciphertext>& c, unsigned top, unsigned levels) const;
  std::vector<rlwe::Ciphertext> values(const CompressedPowers& powers, std::span<const u32> words,
                                       const CompressionPlan::Unit& unit) const;
  void check_part(const CompressionPart& part) const;

  CompressionPlan plan_;
  CompressionKeys keys_;
  rlwe::Evaluator evaluator_;
};

/// What a digest says of itself. @throws FormatError.
struct DigestHead {
  u64 bulletin = 0, key_id = 0;
  std::size_t messages = 0, words = 0;
};
DigestHead digest_head(std::span<const std::uint8_t> digest);

/// A digest, decrypted: sums (i, v) modulo t, exponent by exponent.
struct DigestSums {
  std::vector<u32> sums;
  double margin = 0;   ///< largest distance of a coefficient from a multiple of 1/t, in parts of 1/t: below 0.5
  double squares = 0;  ///< mean square of the distances
};
/// @throws FormatError, also when sums that must be 0 are not: a damaged digest, or one whose noise was too large;
/// MismatchError for another plan or another secret.
DigestSums open_digest(std::span<const std::uint8_t> digest, const CompressionPlan& plan,
                       const CompressionSecret& secret);

}  // namespace ringforge::circuits
