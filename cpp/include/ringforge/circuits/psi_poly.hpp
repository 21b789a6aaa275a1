// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Private set intersection by polynomials under BFV (Chen, Laine, Rindal, CCS 2017; with labels Chen, Huang, Laine,
// Rindal, CCS 2018; parameters in the manner of Cong et al., CCS 2021). docs/psi-poly.md derives what is claimed here.
//
// An element is `felts` residues modulo t. The server's elements lie in bins, a bin's in `bundles` sub-bins of at most
// `degree` elements. For each residue of a sub-bin there is the monic polynomial with the elements' residues as roots,
// and for labels the polynomials that take label words there. A slot of a plaintext is one residue of one bin; n/felts
// bins fill a column of ciphertexts. The client encrypts some powers of its elements' residues, one element for each
// bin; the server makes the other powers, multiplies by coefficients, and sends the values.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ringforge/bfv/bfv.hpp"
#include "ringforge/record.hpp"

namespace ringforge::circuits {

/// The types of messages, which are records. docs/formats.md has their bodies.
inline constexpr io::TypeCode kPsiPolyKeysType = 0x0304, kPsiPolyRequestType = 0x0305, kPsiPolyReplyType = 0x0306;
/// What the registry knows of them.
std::vector<io::RecordType> psi_poly_record_types();

/// Operations of one query.
struct PsiPolyCounts {
  u64 product = 0;  ///< products of ciphertexts
  u64 relinearization = 0;
  u64 row = 0;    ///< plaintexts multiplied and added
  u64 reply = 0;  ///< ciphertexts of the reply
  friend bool operator==(const PsiPolyCounts&, const PsiPolyCounts&) = default;
};

/// What both sides agree on.
struct PsiPolyPlan {
  /// How a power is made: x^power = x^left * x^right, `depth` products above the sources.
  struct Step {
    unsigned power, left, right, depth;
    friend bool operator==(const Step&, const Step&) = default;
  };

  unsigned log_n = 13;
  u64 t = 0;                      ///< prime, 1 modulo 2n, below 2^30
  std::vector<u64> q, p;          ///< primes of Q, and the special prime; digits of key switches are of one limb
  std::vector<unsigned> sources;  ///< powers that the client sends, ascending, 1 the first
  unsigned degree = 0;            ///< elements of a sub-bin
  unsigned felts = 0;             ///< residues of an element
  unsigned columns = 1;           ///< columns of n/felts bins
  unsigned bundles = 1;           ///< sub-bins of a bin
  unsigned label_words = 0;       ///< words of a label for each residue
  unsigned plain_limbs = 1;       ///< limbs at which plaintexts are multiplied
  unsigned reply_bits = 0;        ///< replies are modulo 2^reply_bits
  unsigned reply_drop = 0;        ///< low bits of parts[0] that a reply leaves away
  std::string insecure;

  std::size_t n() const noexcept { return std::size_t{1} << log_n; }
  std::size_t column_bins() const noexcept { return n() / felts; }
  std::size_t bins() const noexcept { return columns * column_bins(); }
  /// Polynomials of a sub-bin: that of the elements, and those of label words.
  std::size_t polys() const noexcept { return 1 + std::size_t{label_words}; }
  /// Plaintexts of a polynomial.
  std::size_t rows() const noexcept { return std::size_t{degree} + 1; }
  /// Bits of a label that a word of it has: what always fits below t.
  unsigned word_bits() const noexcept;
  /// Bytes of a label, at most.
  std::size_t label_bytes() const noexcept { return std::size_t{label_words} * felts * word_bits() / 8; }
  std::size_t replies() const noexcept { return std::size_t{columns} * bundles * polys(); }
  /// All powers up to `degree` in an order in which they can be made; sources have depth 0. Every power is as shallow
  /// as the sources allow.
  std::vector<Step> steps() const;
  unsigned depth() const;
  /// Limbs of the relinearisation key.
  std::size_t key_limbs() const { return depth() > 1 ? q.size() : plain_limbs; }

  std::size_t key_bytes() const;
  std::size_t request_bytes() const noexcept;
  std::size_t reply_bytes() const noexcept;
  /// Bytes of a session's keys in the server, and what one query adds while it runs.
  std::size_t session_bytes() const;
  std::size_t query_bytes() const;
  PsiPolyCounts counts() const;
  /// Bits that are left before a reply decrypts wrongly with more than 2^-40 (`bfv::NoiseRules`), whatever plaintexts
  /// and requests are. Negative: not to be used.
  double budget() const;
  /// log2 of the probability, at most, that some of `elements` elements that the server has not is reported.
  double false_positive_log2(u64 elements) const noexcept;

  bfv::Parameters parameters() const;
  /// @throws ParameterError when something is out of range or does not fit, no budget is left, or the set is below 128
  ///         bits without `insecure`.
  void check() const;
  std::array<std::uint8_t, 32> hash() const;
};

/// A plan with what is derived from it. Immutable and shared by all that uses it.
class PsiPolyContext {
 public:
  /// @throws ParameterError as PsiPolyPlan::check.
  explicit PsiPolyContext(PsiPolyPlan plan);
  const PsiPolyPlan& plan() const noexcept { return plan_; }
  const bfv::ContextPtr& bfv() const noexcept { return bfv_; }
  const std::vector<PsiPolyPlan::Step>& steps() const noexcept { return steps_; }
  const std::array<std::uint8_t, 32>& hash() const noexcept { return hash_; }

 private:
  PsiPolyPlan plan_;
  bfv::ContextPtr bfv_;
  std::vector<PsiPolyPlan::Step> steps_;
  std::array<std::uint8_t, 32> hash_;
};
using PsiPolyContextPtr = std::shared_ptr<const PsiPolyContext>;

/// The client's secret for one session. Move-only, wiped at the end. Any threads may share one.
class PsiPolyClientKey {
 public:
  PsiPolyClientKey(PsiPolyContextPtr context, Randomness rng = {});
  const PsiPolyPlan& plan() const noexcept { return context_->plan(); }
  /// The relinearisation key: plan.key_bytes() bytes.
  std::vector<std::uint8_t> evaluation_keys(unsigned threads = 1);
  /// A query: for each bin the residues of one element, (bins, felts). plan.request_bytes() bytes.
  /// @throws ValueError for a residue that is not below t.
  std::vector<std::uint8_t> query(const u32* felts, unsigned threads = 1);
  /// The values of every polynomial, (bundles, polys, bins, felts). `margin`, if given, becomes the largest distance of
  /// a coefficient from its centre, in parts of the modulus over t: below 0.5 when all are right. For measurements: it
  /// takes time that depends on the noise. @throws FormatError, MismatchError.
  void decode(u32* values, std::span<const std::uint8_t> reply, unsigned threads = 1, double* margin = nullptr) const;

 private:
  PsiPolyContextPtr context_;
  bfv::Client client_;
  bfv::SecretKey key_;
};

/// A client's evaluation key, checked and expanded. Immutable.
class PsiPolySessionKeys {
 public:
  /// @throws FormatError, MismatchError.
  PsiPolySessionKeys(PsiPolyContextPtr context, std::span<const std::uint8_t> bytes, unsigned threads = 1);
  const PsiPolyContextPtr& context() const noexcept { return context_; }
  const PsiPolyPlan& plan() const noexcept { return context_->plan(); }
  const bfv::RelinKey& key() const noexcept { return *key_; }
  std::size_t bytes() const noexcept { return key_->key().bytes(); }

 private:
  PsiPolyContextPtr context_;
  std::shared_ptr<const bfv::RelinKey> key_;
};

// ---- tables ---------------------------------------------------------------------------------------

/// Plaintexts are cut into blocks of so many words; those of a block lie together, row by row.
inline constexpr std::size_t kPsiPolyBlock = 256;

/// A table. The arrays are the caller's and must outlive it.
struct PsiPolyTable {
  const std::uint16_t* counts = nullptr;  ///< elements of every sub-bin: (columns, bundles, column_bins)
  const u64* plain = nullptr;  ///< coefficients: (columns, bundles, polys, plain_limbs, n/block, degree + 1, block)
};
/// Words of `plain` of one sub-bin's bundle.
std::size_t psi_poly_bundle_words(const PsiPolyPlan& plan) noexcept;
/// @throws FormatError when the counts are above the plan's degree.
void check_table(const PsiPolyPlan& plan, const PsiPolyTable& table);

/// The elements of a table in their sub-bins.
struct PsiPolyMembers {
  std::uint16_t* counts = nullptr;  ///< as in PsiPolyTable
  u32* roots = nullptr;             ///< (columns, bundles, column_bins, degree, felts)
  u32* labels = nullptr;            ///< (columns, bundles, column_bins, degree, label_words * felts); null without
};

/// Puts elements into sub-bins: the first with room, in tables with labels the first with room in which no other
/// element has one of its residues at the same place; if there is none, another element makes room. `touched` (columns,
/// bundles) is set to 1 for those that changed.
/// @param bins below plan.bins(). felts (count, felts), below t. labels (count, label_words * felts), below t, or null.
/// An element that is put in twice is there twice. When it throws, elements before are in: throw the members away.
/// @throws ParameterError when an element finds no sub-bin; ValueError for a bin or residue out of range.
void psi_poly_insert(const PsiPolyPlan& plan, const PsiPolyMembers& members, const u32* bins, const u32* felts,
                     const u32* labels, std::size_t count, std::uint8_t* touched);
/// Takes elements out, each once. @returns how many were there. @throws ValueError as insert.
std::size_t psi_poly_remove(const PsiPolyPlan& plan, const PsiPolyMembers& members, const u32* bins, const u32* felts,
                            std::size_t count, std::uint8_t* touched);

/// Called with the fraction done; returning false cancels.
using PsiPolyProgress = std::function<bool(double)>;

/// Makes the coefficients of those bundles (columns, bundles) whose `touched` is set, from their members, into `plain`
/// as in PsiPolyTable. @throws Error("cancelled"); ParameterError for members with equal residues in one sub-bin.
void psi_poly_interpolate(const PsiPolyContext& context, const PsiPolyMembers& members, const std::uint8_t* touched,
                          u64* plain, unsigned threads = 1, const PsiPolyProgress& progress = {});

/// Answers one query; the reply has plan.reply_bytes() bytes.
/// @throws FormatError, MismatchError for a request that is none of these keys; Error("cancelled").
std::vector<std::uint8_t> psi_poly_answer(const PsiPolySessionKeys& keys, std::span<const std::uint8_t> request,
                                          const PsiPolyTable& table, unsigned threads = 1,
                                          const PsiPolyProgress& progress = {}, PsiPolyCounts* counts = nullptr);

// ---- parts of a query -----------------------------------------------------------------------------

/// What each column needs of a request. @throws FormatError, MismatchError for a request that is none of these keys.
std::vector<std::vector<std::uint8_t>> psi_poly_cut_request(const PsiPolySessionKeys& keys,
                                                            std::span<const std::uint8_t> request);
/// Values of the polynomials of some of a column's bundles, which `table` has alone, as a reply has them. Powers are
/// made in every part of a column. @throws FormatError for a column of another length; Error("cancelled").
std::vector<std::uint8_t> psi_poly_answer_part(const PsiPolySessionKeys& keys, std::span<const std::uint8_t> column,
                                               const PsiPolyTable& table, std::size_t bundles, unsigned threads,
                                               const PsiPolyProgress& progress, PsiPolyCounts* counts);
/// The reply of all values, column by column. @throws ShapeError for another length.
std::vector<std::uint8_t> psi_poly_seal_reply(const PsiPolySessionKeys& keys, std::span<const std::uint8_t> values);

}  // namespace ringforge::circuits
