// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Private set intersection by encrypted table lookup: for each of 2^k bins, the client names one of 2^w cells under
// encryption, and gets that cell's words. The server computes on every bin and every cell, whatever they hold.
//
// One bin. Cells lie in rows of N coefficients: cell c has its s words in row c / (N/s) at coefficients
// r + j*(N/s), r = c mod (N/s). The query picks the row, in two steps, then rotates its cell to coefficient 0:
//   one-hot   D = 2^log_onehot encrypted selectors, dotted with D transformed rows: 2^(w + log s)/(N*D) leaves;
//   tree      CMUX by RGSW encrypted bits among the leaves;
//   rotation  blind rotation by the low bits of c.
// `paper` has no one-hot step (D = 1: leaves are plain rows, all levels are CMUXes).
//
// The query. Selectors and gadget rows of the bits are numbers, one for each bin, packed as coefficients of RLWE
// ciphertexts, N bins in each; substitutions X -> X^(N/2^s + 1) expand them (Chen, Chillotti, Ren, "Onion Ring ORAM",
// CCS 2019). Rows for the digits of a, RLWE(-z*bit*g), are made from the others, RLWE(bit*g): by a key switch with
// RLWE'(z^2) (`ringforge`), or by an external product with RGSW(-z) (`paper`, Equation 12).
//
// The reply. The lookups of N/s bins are packed into one RLWE ciphertext, the same substitutions in reverse;
// a fresh encryption of zero is added, and the modulus switched down.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ringforge/fhew/rlwe.hpp"
#include "ringforge/record.hpp"

namespace ringforge::circuits {

/// The types of messages, which are records. docs/formats.md has their bodies.
inline constexpr io::TypeCode kPsiKeysType = 0x0301, kPsiRequestType = 0x0302, kPsiReplyType = 0x0303;
/// What the registry knows of them.
std::vector<io::RecordType> psi_record_types();

enum class PsiAlgorithm : std::uint8_t { paper = 0, ringforge = 1 };

/// Operations counted for one query; transforms are of one polynomial.
struct PsiCounts {
  u64 ntt = 0, intt = 0;
  u64 substitution = 0;      ///< RLWE substitutions
  u64 external_product = 0;  ///< RLWE x RGSW, reconstruction by RGSW(-z) included
  u64 reconstruction = 0;    ///< key switches that make rows of RGSW ciphertexts
  u64 row = 0;               ///< plain rows transformed and multiplied
  friend bool operator==(const PsiCounts&, const PsiCounts&) = default;
  PsiCounts& operator+=(const PsiCounts& o) noexcept;
};

/// What both sides agree on.
struct PsiPlan {
  PsiAlgorithm algorithm = PsiAlgorithm::ringforge;
  unsigned log_n = 11;
  u64 modulus = 0;
  unsigned log_bins = 14;               ///< k
  unsigned cell_bits = 18;              ///< w
  unsigned log_cell = 0;                ///< log2 of s, the words in a cell
  unsigned log_t = 1;                   ///< words are modulo T = 2^log_t
  unsigned log_onehot = 0;              ///< log2 of D
  kernels::Cut gadget;                  ///< of RGSW ciphertexts, for a and b alike
  std::vector<kernels::Cut> expansion;  ///< of the substitution key of each stage, X -> X^(N/2^s + 1)
  kernels::Cut reconstruction;          ///< of RLWE'(z^2); unused by `paper`
  unsigned log_reply = 13;              ///< replies are modulo 2^log_reply
  std::string insecure;

  std::size_t n() const noexcept { return std::size_t{1} << log_n; }
  std::size_t bins() const noexcept { return std::size_t{1} << log_bins; }
  std::size_t cells() const noexcept { return std::size_t{1} << cell_bits; }
  std::size_t cell_words() const noexcept { return std::size_t{1} << log_cell; }
  /// Coefficients between the words of a cell, and cells in a row: N/s.
  std::size_t stride() const noexcept { return n() >> log_cell; }
  unsigned rotation_bits() const noexcept { return log_n - log_cell; }
  unsigned row_bits() const noexcept { return cell_bits - rotation_bits(); }
  unsigned tree_bits() const noexcept { return row_bits() - log_onehot; }
  bool onehot() const noexcept { return algorithm == PsiAlgorithm::ringforge; }
  unsigned rgsw_bits() const noexcept { return tree_bits() + rotation_bits(); }
  /// Ciphertexts expanded for each bin: selectors, then the gadget rows of each bit, tree bits first, low bit first.
  std::size_t outputs() const noexcept {
    return (onehot() ? std::size_t{1} << log_onehot : 0) + std::size_t{rgsw_bits()} * gadget.count;
  }
  /// Stages of the expansion: log2 of the bins packed in one ciphertext.
  unsigned stages() const noexcept { return log_bins < log_n ? log_bins : log_n; }
  std::size_t groups() const noexcept { return bins() >> stages(); }
  /// log2 of the bins in one reply ciphertext.
  unsigned pack_stages() const noexcept { return stages() < rotation_bits() ? stages() : rotation_bits(); }
  std::size_t replies() const noexcept { return bins() >> pack_stages(); }
  std::size_t key_rows() const noexcept;
  std::size_t key_bytes() const noexcept;
  std::size_t request_bytes() const noexcept;
  std::size_t reply_bytes() const noexcept;
  /// Bytes a session's keys take in the server, and what one query adds while it runs.
  std::size_t session_bytes() const noexcept;
  std::size_t query_bytes(unsigned threads) const noexcept;
  PsiCounts counts() const noexcept;
  /// Variance of the error of a reply's word before the modulus switch, for rows with at most `entries` words set in
  /// a bin and in a row; errors modulo Q. docs/psi-algorithm.md derives it.
  double variance(std::size_t entries) const noexcept;
  /// log2 of the probability that some word of one bin decodes wrongly.
  double failure_log2(std::size_t entries) const noexcept;
  /// @throws ParameterError when something is out of range or does not fit; also for a set below 128 bits (a ring
  /// whose modulus exceeds the guideline's limit) without `insecure`.
  void check() const;
  std::array<std::uint8_t, 32> hash() const;
};

/// The client's secret for one session. Move-only, wiped at the end.
class PsiClientKey {
 public:
  PsiClientKey(PsiPlan plan, Randomness& rng);
  const PsiPlan& plan() const noexcept { return plan_; }
  /// The evaluation keys: plan.key_bytes() bytes.
  void evaluation_keys(std::uint8_t* dst, unsigned threads = 1);
  /// A query: one cell for every bin; plan.request_bytes() bytes. The work is the same whatever the cells are.
  /// @throws ValueError for a cell out of range.
  void query(std::uint8_t* dst, const u32* cells, unsigned threads = 1);
  /// The words of every bin, bins x s. @throws FormatError.
  void decode(std::uint16_t* words, std::span<const std::uint8_t> reply) const;
  /// Also the largest distance of a decoded word from its centre, in parts of T: below 0.5 when all are right. For
  /// measurements: it takes time that depends on the noise.
  double decode(std::uint16_t* words, std::span<const std::uint8_t> reply, double* squares) const;

 private:
  /// Calls take(word's index, its phase modulo 2^log_reply) for every word.
  template <class Take>
  void phases(std::span<const std::uint8_t> reply, Take&& take) const;

  PsiPlan plan_;
  std::shared_ptr<const SmallRing<u64>> ring_;
  Randomness rng_;
  fhew::RingSecret<u64> secret_;
};

/// A client's evaluation keys, expanded. Immutable.
class PsiSessionKeys {
 public:
  /// @throws FormatError, MismatchError.
  PsiSessionKeys(const PsiPlan& plan, std::span<const std::uint8_t> bytes, unsigned threads = 1);
  const PsiPlan& plan() const noexcept { return plan_; }
  std::size_t bytes() const noexcept { return rows_.bytes(); }
  const u64* substitution(unsigned stage) const noexcept { return rows_.data() + offsets_[stage] * 2 * plan_.n(); }
  /// RLWE'(z^2) or RGSW(-z).
  const u64* reconstruction() const noexcept { return rows_.data() + offsets_[plan_.expansion.size()] * 2 * plan_.n(); }
  /// An encryption of zero.
  const u64* zero() const noexcept { return rows_.data() + (plan_.key_rows() - 1) * 2 * plan_.n(); }

 private:
  PsiPlan plan_;
  std::vector<std::size_t> offsets_;
  WordArray<u64> rows_;
};

/// The server's table: bin i holds cells[offsets[i]] ... cells[offsets[i+1]-1], ascending, with s words each; null
/// words mean a bitmap: s = 1 and every word 1. The arrays are the caller's and must outlive it.
struct PsiTable {
  const u64* offsets = nullptr;
  const u32* cells = nullptr;
  const std::uint16_t* words = nullptr;
  std::size_t count = 0;
};
/// @throws FormatError when the arrays do not describe a table of this plan.
void check_table(const PsiPlan& plan, const PsiTable& table);
/// The same of a table of some of the bins.
void check_table(const PsiPlan& plan, const PsiTable& table, std::size_t bins);

/// Called with the fraction done; returning false cancels.
using PsiProgress = std::function<bool(double)>;

/// Answers one query; the reply has plan.reply_bytes() bytes. Memory beyond the request: plan.query_bytes(threads).
/// `rng` is what replies are masked by; two seeds for each reply ciphertext are drawn from it.
/// @throws FormatError for a request that is none; Error("cancelled").
std::vector<std::uint8_t> psi_answer(const PsiSessionKeys& keys, std::span<const std::uint8_t> request,
                                     const PsiTable& table, unsigned threads, const PsiProgress& progress,
                                     PsiCounts* counts, Randomness& rng);
/// The same with fresh randomness.
std::vector<std::uint8_t> psi_answer(const PsiSessionKeys& keys, std::span<const std::uint8_t> request,
                                     const PsiTable& table, unsigned threads = 1, const PsiProgress& progress = {},
                                     PsiCounts* counts = nullptr);

/// The beginning and the end of an answer, for those who compute what is between elsewhere: the query's ciphertexts,
/// groups() * outputs() rows of 2N words in Eval form, those of a group together;
/// @throws FormatError for a request that is none.
void psi_open_request(u64* dst, const PsiPlan& plan, std::span<const std::uint8_t> request);
/// and the reply of packed results, replies() ciphertexts of 2N words in coefficient form, masked as `psi_answer` does.
/// @throws ValueError for a coefficient that is not below the modulus.
std::vector<std::uint8_t> psi_seal_reply(const PsiSessionKeys& keys, const u64* results, Randomness& rng);

/// A part of a query: the bins of a group whose numbers in it have `prefix` as their `depth` low bits, in order: a
/// subtree of the expansion. Nothing but the way down to it is expanded in several parts.
struct PsiPart {
  std::size_t group = 0;
  unsigned depth = 0;
  std::size_t prefix = 0;
  std::size_t bins(const PsiPlan& plan) const noexcept { return std::size_t{1} << (plan.stages() - depth); }
};
/// Packed results of a part: whole replies, or the one that is joined to a reply with those of other parts.
std::size_t psi_part_results(const PsiPlan& plan, unsigned depth) noexcept;
/// What the parts of each group need of a request. @throws FormatError for a request that is none.
std::vector<std::vector<std::uint8_t>> psi_cut_request(const PsiPlan& plan, std::span<const std::uint8_t> request);
/// Answers a part; `table` has its bins alone. `dst` has room for psi_part_results() ciphertexts of 2N words in
/// coefficient form. @throws FormatError for rows of another length, or a residue out of range; Error("cancelled").
void psi_answer_part(u64* dst, const PsiSessionKeys& keys, std::span<const std::uint8_t> rows, const PsiTable& table,
                     const PsiPart& part, unsigned threads, const PsiProgress& progress, PsiCounts* counts);
/// The packed results of a query, as `psi_seal_reply` takes them, of those of all parts (groups, 2^depth, results).
void psi_join_parts(u64* dst, const PsiSessionKeys& keys, const u64* parts, unsigned depth, PsiCounts* counts);

}  // namespace ringforge::circuits
