// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Plain integer matrix x encrypted integer vector in BFV, exact modulo t: the plans of linear/plan.hpp, run by
// LinearTransform.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "ringforge/bfv/bfv.hpp"
#include "ringforge/circuits/linear_transform.hpp"
#include "ringforge/counters.hpp"
#include "ringforge/linear/plan.hpp"

namespace ringforge::circuits {

class MaskStore;

/// What one product takes: exact counts, and memory.
struct IntegerMatvecCost {
  OpCounts ops;
  std::size_t keys = 0;               ///< Galois keys
  std::size_t key_storage = 0;        ///< bytes of them, expanded
  std::size_t plaintext_storage = 0;  ///< bytes of the encoded matrix and bias
  std::size_t working = 0;            ///< bytes of ciphertexts and temporaries
  double weight = 0;                  ///< one number to compare plans by
};

/// A matrix, encoded for one plan and number of limbs.
///
/// The slots of BFV are two rows of N/2 that rotate together. The upper half of the matrix's rows is multiplied in row
/// 0 and the lower half in row 1, so the plan is of ceil(rows / 2) x cols over N/2 slots. Inputs hold the vector in
/// both rows of slots: one ciphertext for each column block, slot s of it what `Packing::column` says. Results, one for
/// each row block r, hold row r*m' + s mod m' of their half in slot s, m' the plan's row period.
class IntegerMatvec {
 public:
  /// @throws ParameterError for an algorithm other than bsgs, or t without slots; ShapeError for a plan of other slots
  ///         or rows; LevelError for limbs that Q does not have.
  IntegerMatvec(bfv::ContextPtr context, std::size_t rows, linear::Plan plan, std::size_t limbs);

  /// Encodes matrix (rows x cols, row-major) and bias (rows, or empty), integers that are taken modulo t. With
  /// `compact` only coefficients of the diagonals are kept, and limbs are made when used. When it throws, nothing is
  /// encoded. Not while another thread runs this object.
  /// @throws ShapeError.
  void encode(std::span<const i64> matrix, std::span<const i64> bias, bool compact = false, unsigned threads = 1,
              const std::function<void(double)>& progress = {});
  /// @throws MissingKeyError, LevelError, ShapeError, MismatchError.
  std::vector<bfv::Ciphertext> run(std::span<const bfv::Ciphertext> inputs, const rlwe::GaloisKeys& keys,
                                   unsigned threads = 1) const;
  /// What `run` demands of its inputs. @throws ShapeError, LevelError, MismatchError.
  void check_inputs(std::span<const bfv::Ciphertext> inputs) const;

  /// Predicted noise of results, for inputs that are all as this one: the same for every matrix of this shape, so that
  /// results say nothing of the matrix. Nothing needs to be encoded.
  bfv::Noise describe(const bfv::Noise& in) const;
  /// What a run takes.
  IntegerMatvecCost cost(bool compact = false) const;

  // ---- for results that another machine computed ----
  /// Limb `limb` of the encoded diagonal `index` of a block, over Q, then P, or Q alone where nothing rotates.
  /// @throws ShapeError when there is none, or `out` has other than N words.
  void copy_diagonal(std::size_t row_block, std::size_t block, std::size_t index, std::size_t limb,
                     std::span<u64> out) const;
  /// Limb `limb` of the encoded bias of a row block. @throws ShapeError when there is none.
  std::span<const u64> bias_limb(std::size_t row_block, std::size_t limb) const;
  bool has_bias() const noexcept { return !bias_.empty(); }
  /// The results of `run` from the limbs of both parts of each. @throws as check_inputs; ShapeError, ValueError.
  std::vector<bfv::Ciphertext> assemble(std::span<const bfv::Ciphertext> inputs,
                                        std::span<const std::array<std::vector<std::span<const u64>>, 2>> parts) const;

  std::size_t rows() const noexcept { return rows_; }
  const linear::Plan& plan() const noexcept { return plan_; }
  std::size_t limbs() const noexcept { return limbs_; }
  /// Galois elements that need a key for as many limbs, ascending.
  std::vector<u64> elements() const;
  /// Bytes of the encoded matrix.
  std::size_t storage() const noexcept;

 private:
  bfv::Noise noise_of(std::span<const bfv::Ciphertext> inputs) const;

  bfv::ContextPtr ctx_;
  std::size_t rows_;
  linear::Plan plan_;
  std::size_t limbs_;
  std::vector<LinearTransform> transforms_;                         // of each column block
  std::vector<std::vector<std::shared_ptr<MaskStore>>> diagonals_;  // [row block][column block]
  std::vector<Poly<Eval>> bias_;                                    // of each row block, or none
};

}  // namespace ringforge::circuits
