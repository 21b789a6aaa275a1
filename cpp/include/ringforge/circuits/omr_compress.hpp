// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Compression in oblivious message retrieval: from the encrypted vector of pertinent entries, u_j in {0, 1} for each of
// a bulletin's N entries, to a digest from which the receiver solves for indices and payloads.
//
// The digest's rows are y = D*u modulo t, for exponents i <= k and values v:
//   D[(i, v)][j] = (j + 1)^i * P_j[v],  P_j[0] = 1 and P_j[1 + w] = word w of payload j.
// (0, 0) is the count, (i, 0) are power sums, (i, 1 + w) power sums weighted with payloads.
//
// The product is computed in a ring of degree N' = N/4, which y needs no more than, at a quarter of the cost for each
// operation (docs/omr-algorithm.md has the proofs and all noise; decision 29 the reasons):
//   1. u goes to a secret s'(X^4), s' of degree N', by one key switch: its ciphertexts are four samples under s';
//   2. u(X) = sum_{i<4} X^i u_i(X^4) splits into four ciphertexts over Z[X]/(X^N' + 1), without noise;
//   3. with zeta_j the root of entry j, u_j = sum_i zeta_j^i u_i(zeta_j^4), hence y = sum_i D'_i u_i for
//      D'_i[r][eta] = sum_{zeta_j^4 = eta} D[r][j] zeta_j^i: a transform of length 4 in each fibre over a small slot;
//   4. y by baby-step giant-step with rotations 1 and B and the exchange of rows. Diagonals of D'_i are made when they
//      are needed, from two tables: exponents, and values.
// The digest is y modulo powers of two, as few bits as its noise allows.
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
  unsigned log_n = 16;       ///< of u's ring; entries of a bulletin: 2^log_n
  u64 t = 0;                 ///< prime below 2^20, 1 modulo 2N
  std::vector<u64> q, p;     ///< the first two primes of u's Q, and two special primes: each 1 modulo 2N
  unsigned log_babies = 6;   ///< log2 of B
  std::string insecure = {};  ///< why a set below 128 bits may be used; empty otherwise. Not part of the identity

  std::size_t entries() const noexcept { return std::size_t{1} << log_n; }
  unsigned log_small() const noexcept { return log_n - 2; }
  /// N'
  std::size_t degree() const noexcept { return std::size_t{1} << log_small(); }
  /// Slots of one of the two rows: N'/2.
  std::size_t row() const noexcept { return degree() / 2; }
  std::size_t babies() const noexcept { return std::size_t{1} << log_babies; }
  Hash hash() const;
};

/// Everything derived from parameters. Immutable and shared.
class CompressionContext {
 public:
  /// @throws ParameterError when something is out of range or does not fit, or log2(QP) is above the limit of the small
  ///         ring and `insecure` is empty.
  explicit CompressionContext(CompressionParameters parameters);

  const CompressionParameters& parameters() const noexcept { return parameters_; }
  const Hash& hash() const noexcept { return hash_; }
  const rlwe::GadgetPtr& big() const noexcept { return big_; }
  const rlwe::GadgetPtr& small() const noexcept { return small_; }
  const Prime& plain() const noexcept { return *plain_; }
  /// Galois element of a rotation of both rows by one, by B, and of their exchange.
  u64 step_element() const noexcept { return 5; }
  u64 giant_element() const noexcept { return giant_; }
  u64 swap_element() const noexcept { return 2 * parameters_.degree() - 1; }

  /// Entry over small slot c (row 0, then row 1), number m of its fibre: roots of a fibre are zeta_0 * root^m.
  u32 entry(std::size_t m, std::size_t c) const noexcept { return entry_[m * parameters_.degree() + c]; }
  u32 root() const noexcept { return root_; }
  /// zeta_0^i of the fibre over small slot c, 1 <= i <= 3.
  u32 twist(std::size_t i, std::size_t c) const noexcept { return twist_[(i - 1) * parameters_.degree() + c]; }
  /// Small slot of each index of Eval form modulo t.
  const std::vector<u32>& slot_of() const noexcept { return slot_of_; }

 private:
  CompressionParameters parameters_;
  Hash hash_{};
  rlwe::GadgetPtr big_, small_;
  std::shared_ptr<const Prime> plain_;
  u64 giant_ = 0;
  u32 root_ = 0;
  std::vector<u32> entry_, twist_, slot_of_;
};
using CompressionContextPtr = std::shared_ptr<const CompressionContext>;

/// The receiver's s'. Move-only, wiped at the end.
class CompressionSecret {
 public:
  CompressionSecret(CompressionContextPtr context, Randomness& rng)
      : context_(std::move(context)), key_(context_->small()->all(), rng) {}
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
  const rlwe::GaloisKeys& galois() const noexcept { return galois_; }
  /// In memory.
  std::size_t bytes() const { return down_->bytes() + galois_.bytes(); }

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
  rlwe::GaloisKeys galois_;
};

/// What one digest holds and costs.
class CompressionPlan {
 public:
  static constexpr std::size_t kMaxMessages = 4096, kMaxWords = 1 << 16, kMaxRows = std::size_t{1} << 22;
  /// One ciphertext of the digest: rows [first, first + rows) in slots, in each `period` slots anew.
  struct Output {
    std::size_t first = 0, rows = 0, period = 0;
    /// 2 when rows fill both rows of slots, so that u's are needed exchanged and not; else 1.
    std::size_t signs = 1;
    /// Giant steps of one sign.
    std::size_t giants = 0;
  };
  /// A block of giant steps, over all outputs: what one worker does.
  struct Shard {
    std::size_t first = 0, count = 0;
  };
  /// What of a shard lies in one output.
  struct Piece {
    std::size_t output = 0, first = 0, count = 0;
  };

  /// @param messages k, the most pertinent entries that can be told apart
  /// @param words of a payload, modulo t
  /// @throws ParameterError for k outside 1 ... min(kMaxMessages, N), words above kMaxWords, or too many rows.
  CompressionPlan(CompressionContextPtr context, std::size_t messages, std::size_t words);

  const CompressionContextPtr& context() const noexcept { return context_; }
  std::size_t messages() const noexcept { return messages_; }
  std::size_t words() const noexcept { return words_; }
  std::size_t powers() const noexcept { return messages_ + 1; }
  std::size_t values() const noexcept { return words_ + 1; }
  std::size_t rows() const noexcept { return powers() * values(); }
  /// Rows lie so that the larger factor runs fastest: exponents outside and values inside, or the other way.
  bool values_inside() const noexcept { return values() >= powers(); }
  std::size_t row(std::size_t power, std::size_t value) const noexcept {
    return values_inside() ? power * values() + value : value * powers() + power;
  }
  const std::vector<Output>& outputs() const noexcept { return outputs_; }
  /// Giant steps of all outputs.
  std::size_t giants() const noexcept;
  /// Diagonals that are made and multiplied by.
  std::size_t diagonals(Shard shard) const;
  /// By output, ascending.
  std::vector<Piece> pieces(Shard shard) const;
  /// How often rows are repeated in one row of slots.
  std::size_t repeats(const Output& o) const noexcept { return o.signs == 2 ? 1 : context_->parameters().row() / o.period; }
  Shard all() const noexcept { return {0, giants()}; }
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
  /// Key switch, split, and babies of one u: done for each shard.
  OpCounts prepare_counts() const;
  OpCounts part_counts(Shard shard) const;
  /// Of all parts to the digest.
  OpCounts finish_counts(std::span<const Shard> shards) const;
  /// Bytes of residues and tables beside u and the payloads.
  std::size_t memory(unsigned threads) const noexcept;

  // ---- noise: variance of a coefficient of the error e of phase (Q/t)*m + e ----
  struct Noise {
    double split = 0;   ///< of the four ciphertexts, over two limbs
    double baby = 0;    ///< the last one
    double sum = 0;     ///< y, over two limbs
    double limb = 0;    ///< y, over one limb
    double digest = 0;  ///< in parts of 1/t: decryption is right where |e| < 0.5
    /// log2 of the probability that some coefficient of the digest decrypts wrongly.
    double failure_log2 = 0;
  };
  /// @param variance of u's error over two limbs
  Noise noise(double variance) const;

 private:
  void choose_bits();
  CompressionContextPtr context_;
  std::size_t messages_, words_;
  std::vector<Output> outputs_;
  unsigned c0_bits_ = 0, c1_bits_ = 0;
  Hash hash_{};
};

/// Called with the fraction done; returning false cancels.
using CompressionProgress = std::function<bool(double)>;

/// Sums of one shard, before the rotations of its first giant step: for each output that the shard touches, one
/// ciphertext a sign.
struct CompressionPart {
  CompressionPlan::Shard shard;
  std::vector<std::vector<rlwe::Ciphertext>> sums;

  void save(std::ostream& out, const CompressionPlan& plan) const;
  static CompressionPart load(std::istream& in, const CompressionPlan& plan);
};

/// The payloads of one bulletin, laid out for the products of one plan. Public, shared by all receivers of equal k.
class CompressionTables {
 public:
  /// @param words N rows of plan.words() words
  /// @throws ShapeError for another number, ValueError for a word of t or more.
  CompressionTables(CompressionPlan plan, std::span<const u32> words, unsigned threads = 1);
  const CompressionPlan& plan() const noexcept { return plan_; }
  /// The diagonal at (output, giant step, baby step, sign) of D'_0 ... D'_3, in slots: four times N' words.
  void diagonals(u32* const* dst, const CompressionPlan::Output& output, std::size_t giant, std::size_t baby,
                 std::size_t sign) const;

 private:
  CompressionPlan plan_;
  std::size_t inner_, outer_, stride_;
  WordArray<u32> skewed_, plain_, twist_;
};

/// Computes digests with one receiver's keys. Immutable; any threads may share one.
class Compressor {
 public:
  /// @throws MismatchError for keys of other parameters.
  Compressor(CompressionPlan plan, CompressionKeys keys);
  const CompressionPlan& plan() const noexcept { return plan_; }

  /// The four ciphertexts u_i under s'.
  /// @throws MismatchError for a ciphertext of another key or other primes, LevelError unless it has two limbs.
  std::vector<rlwe::Ciphertext> split(const rlwe::Ciphertext& u, unsigned threads = 1) const;
  /// Their rotations by 0 ... B - 1: number i*B + b.
  std::vector<rlwe::Ciphertext> babies(std::vector<rlwe::Ciphertext> split, unsigned threads = 1) const;
  /// @throws MismatchError for tables of another plan, ShapeError for a shard outside; Error("cancelled").
  CompressionPart part(const std::vector<rlwe::Ciphertext>& babies, const CompressionTables& tables,
                       CompressionPlan::Shard shard, unsigned threads = 1,
                       const CompressionProgress& progress = {}) const;
  /// y, one ciphertext an output, over two limbs. @throws ShapeError unless the parts are all of the plan.
  std::vector<rlwe::Ciphertext> sums(std::vector<CompressionPart> parts) const;
  /// The digest's record. @param bulletin its number, which the digest names
  std::vector<std::uint8_t> digest(const std::vector<rlwe::Ciphertext>& sums, u64 bulletin) const;

 private:
  rlwe::Ciphertext rotated(rlwe::Ciphertext c, std::size_t giants) const;

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

/// A digest, decrypted: rows (power, value), power by power, modulo t.
struct DigestRows {
  std::vector<u32> rows;
  double margin = 0;  ///< largest distance of a coefficient from a multiple of 1/t, in parts of 1/t: below 0.5
  double squares = 0;  ///< mean square of the distances
};
/// @throws FormatError, also when slots that hold no row, or repeat one, say otherwise: a damaged digest, or one whose
///         noise was too large; MismatchError for another plan or another secret.
DigestRows open_digest(std::span<const std::uint8_t> digest, const CompressionPlan& plan,
                       const CompressionSecret& secret);

}  // namespace ringforge::circuits
