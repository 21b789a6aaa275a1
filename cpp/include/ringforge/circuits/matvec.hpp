// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The fused kernel of the `matvec` system on the CPU: plain matrix x encrypted vector, with bias.
#pragma once

#include <array>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "ringforge/ckks/ckks.hpp"
#include "ringforge/counters.hpp"
#include "ringforge/linear/norms.hpp"
#include "ringforge/linear/plan.hpp"

namespace ringforge::circuits {

/// What a plan costs at a level: exact operation counts of one run, and memory.
struct MatvecCost {
  OpCounts ops;
  std::size_t keys = 0;               ///< distinct Galois keys
  std::size_t key_storage = 0;        ///< bytes of those keys, expanded
  std::size_t plaintext_storage = 0;  ///< bytes of the encoded matrix and bias
  std::size_t working = 0;            ///< bytes of temporaries and ciphertexts during a run, at most
  /// Butterflies plus weighted words moved: what the planner minimises.
  double weight = 0;
};

/// A matrix encoded for one plan and level, ready to be applied to encrypted vectors.
class Matvec {
 public:
  /// @param level of the inputs, at least 1; results are one lower
  /// @param batch vectors interleaved in each ciphertext: slot = virtual slot * batch + index; a power of two
  /// @throws LevelError, ShapeError.
  Matvec(ckks::ContextPtr context, linear::Plan plan, std::size_t level, std::size_t batch = 1);

  const linear::Plan& plan() const noexcept { return plan_; }
  std::size_t level() const noexcept { return level_; }
  std::size_t batch() const noexcept { return batch_; }
  /// Ring degree N.
  std::size_t degree() const noexcept { return ctx_->params().degree(); }

  /// What inputs and results look like.
  struct Scaling {
    double input_scale = 0;   ///< scale of the inputs
    double output_scale = 0;  ///< scale of the results; the matrix is encoded at q_level * output / input
    double input_bound = 1;   ///< declared bound of the inputs' slots
    /// Inputs come straight from encryption: their spread is 1, whatever a file could not say.
    bool fresh_inputs = false;
    /// Results are known to be no larger, whatever the matrix could make of inputs of that bound: a promise of whoever
    /// knows the inputs. Broken, results may wrap around.
    double promised = std::numeric_limits<double>::infinity();
  };
  /// What predictions need of a matrix and its bias: bounds that a program may state in the open.
  struct Sums {
    double bound = 0;         ///< of results: sum of |entries| of a row times the input bound, plus |bias|
    double square = 0;        ///< largest sum of entries^2 over the diagonals of one slot
    double norm = 0;          ///< linear::Norms::matrix
    double rotated_norm = 0;  ///< linear::Norms::rotated
  };
  /// @throws ValueError for entries that are not finite, ShapeError for sizes that do not match the plan.
  static Sums sums(const linear::Plan& plan, std::span<const double> matrix, std::span<const double> bias,
                   double input_bound);
  /// The same rounded up to powers of 2^(1/4), as results and programs state them.
  static Sums rounded_up(const Sums& sums) noexcept;
  /// Metadata of every result for a matrix of these sums, with a bias; bound and variance are rounded up.
  static ckks::Metadata describe(const ckks::ContextPtr& context, const linear::Plan& plan, std::size_t level,
                                 const Scaling& scaling, const Sums& sums,
                                 std::span<const ckks::Metadata* const> inputs);
  /// Encodes the matrix (row-major, rows x cols) at the plan's level, and the bias (rows numbers or empty).
  /// `progress` receives the fraction done now and then, from any of the threads, never from two at once. When this
  /// throws, nothing is encoded. Not while another thread runs this object.
  /// @throws ValueError for entries that are not finite or results that do not fit the lower level,
  ///         ShapeError for sizes that do not match, ScaleError when the matrix's scale is outside
  ///         2^16 ... 2^62.
  void encode(std::span<const double> matrix, std::span<const double> bias, const Scaling& scaling,
              unsigned threads = 1, const std::function<void(double)>& progress = {});

  /// Applies the matrix to one ciphertext per column block; one result per row block. The results' bound and
  /// variance are rounded up to powers of 2^(1/4): they depend on the matrix.
  /// @throws MissingKeyError, LevelError, ScaleError, ShapeError, MismatchError.
  std::vector<ckks::Ciphertext> run(std::span<const ckks::Ciphertext> inputs, const ckks::GaloisKeys& keys,
                                    unsigned threads = 1) const;

  /// Results of a run that another machine did: polynomials from there, metadata as `run` would give.
  /// @param parts for each row block and each of the two parts, the residues of every limb of level - 1
  /// @throws ShapeError for other sizes, ValueError for words that are not below their prime; and as `run`.
  std::vector<ckks::Ciphertext> assemble(std::span<const ckks::Ciphertext> inputs,
                                         std::span<const std::array<std::vector<std::span<const u64>>, 2>> parts) const;
  /// One limb of the encoded product number `term` of the plan, in Eval form. @throws ShapeError.
  void copy_term(std::size_t term, std::size_t limb, std::span<u64> out) const;
  /// The encoded bias of each row block, one level below the inputs; empty without a bias.
  const std::vector<ckks::Plaintext>& bias() const noexcept { return bias_; }

  /// What `run` demands of its inputs.
  /// @throws LevelError, ScaleError, ShapeError, MismatchError, ValueError.
  void check_inputs(std::span<const ckks::Ciphertext> inputs) const;

  /// Galois elements needed, each with the level it is used at.
  std::vector<std::pair<u64, std::size_t>> required_keys() const;
  /// Bytes held by the encoded matrix.
  std::size_t storage() const noexcept { return store_.size() * sizeof(u64); }
  /// Predicted cost of a plan at a level. @throws LevelError, ShapeError when the plan is for other slots.
  static MatvecCost cost(const ckks::Context& context, const linear::Plan& plan, std::size_t level);

  /// Coefficients of one term that lie together in memory.
  static constexpr std::size_t kBlock = 512;

 private:
  u64* words(std::size_t limb, std::size_t block, std::size_t term) noexcept;
  const u64* words(std::size_t limb, std::size_t block, std::size_t term) const noexcept;
  u64 element(std::size_t step) const { return ctx_->rotation_element(static_cast<i64>(step * batch_)); }
  // Polynomials of the results; their metadata is set by `describe`.
  std::vector<ckks::Ciphertext> run_bsgs(std::span<const ckks::Ciphertext> inputs, const ckks::GaloisKeys& keys,
                                         unsigned threads) const;
  std::vector<ckks::Ciphertext> run_diagonal(std::span<const ckks::Ciphertext> inputs, const ckks::GaloisKeys& keys,
                                             unsigned threads) const;
  /// A result without polynomials.
  ckks::Ciphertext described(std::span<const ckks::Ciphertext> inputs) const;
  /// Rotate-and-sum and bias; metadata of the result is the evaluator's.
  ckks::Ciphertext fold(ckks::Ciphertext acc, std::size_t row_block, const ckks::GaloisKeys& keys,
                        const ckks::Evaluator& ev) const;

  ckks::ContextPtr ctx_;
  linear::Plan plan_;
  std::size_t level_ = 0, batch_ = 1;
  Scaling scaling_;
  double plain_scale_ = 0;
  Sums sums_;
  bool encoded_ = false;
  WordBuffer store_;  // [limb][block][term][kBlock]
  std::vector<ckks::Plaintext> bias_;
};

}  // namespace ringforge::circuits
