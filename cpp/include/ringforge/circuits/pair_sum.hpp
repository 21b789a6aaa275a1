// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The second step of an encrypted matrix product: sums of slot-wise products of shifted ciphertexts,
//     C = fold(Re(sum_g Rot_g(sum_k left_k * right_k))),
// where left_k and right_k are sums of masked rotations of a few base ciphertexts. One ModUp serves all rotations
// of a base, masks are applied over Q*P with one ModDown merged with the rescale, products are summed before one
// relinearisation for each group, and one rescale ends it.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "ringforge/ckks/ckks.hpp"

namespace ringforge::circuits {

class MaskStore;

/// One rotation of a base, masked. A rotation may be made in two parts, first by `via` and then by the rest: terms
/// with equal `via` share a ModUp, and far fewer keys are needed than with one for each step. The terms of a masked
/// pair are rotated together by the first one's rest; what is missing comes before it.
struct ShiftTerm {
  static constexpr std::uint32_t kNoMask = ~std::uint32_t{0};
  std::uint32_t base = 0;
  std::uint32_t step = 0;  ///< left rotation, in [0, slots)
  std::uint32_t via = 0;   ///< in [0, slots)
  std::uint32_t mask = kNoMask;
};

struct ShiftPair {
  std::vector<ShiftTerm> left, right;
};

struct ShiftGroup {
  std::uint32_t outer = 0;  ///< rotation of the group's sum
  std::vector<ShiftPair> pairs;
};

/// What a product does. Either all terms of a side have masks or none has; a side without masks has one term in
/// each pair.
struct PairSumPlan {
  std::size_t left_bases = 1, right_bases = 1;
  std::vector<std::vector<std::uint32_t>> masks;  ///< the slots where each mask is 1, ascending
  std::vector<ShiftGroup> groups;
  bool real_part = false;            ///< result is twice the real part; its scale is doubled to match
  std::vector<std::uint32_t> folds;  ///< x += Rot_step(x) for each in turn
  /// A promise for noise: a mask made so many copies of each value in the bases of a side, and a result slot gathers
  /// one of them at most. 0: they were replicated after that, and it gathers one of all of these at most.
  std::size_t left_copies = 1, right_copies = 1;
};

/// Encodes the masks of a plan for a level, and runs it.
class PairSum {
 public:
  /// @param level of the bases. A product without masks ends one level lower, one with masks two levels lower.
  /// @throws LevelError, ShapeError.
  PairSum(ckks::ContextPtr context, PairSumPlan plan, std::size_t level);

  struct Scaling {
    double left = 0, right = 0;  ///< scales of the bases
    double output = 0;           ///< of the result, after doubling when the real part is taken
    double left_bound = 1, right_bound = 1;
    double output_bound = 1;  ///< of the result's slots
  };
  /// Rotated bases, and blends of two bases for complementary masks, that a side keeps.
  static constexpr std::size_t kDerived = 4, kBlends = 2;
  /// Bases of one side.
  using Operands = std::span<const ckks::Ciphertext* const>;

  /// The masked side's masks are encoded so that the result has the output scale; without masks on either side
  /// the bases' scales must give it. `compact` as for Hlt.
  /// @throws ScaleError, ValueError.
  void encode(const Scaling& scaling, bool compact = false, unsigned threads = 1);

  /// @throws MissingKeyError, LevelError, ScaleError, ShapeError, MismatchError, ValueError.
  ckks::Ciphertext run(Operands left, Operands right, const ckks::KeySet& keys, unsigned threads = 1,
                       const std::function<void(double)>& progress = {}) const;

  /// Refuses bases that `run` would refuse, keys aside.
  void check_inputs(Operands left, Operands right) const;
  /// The result of a run that another machine did: polynomials from there, metadata as `run` would give.
  /// @param parts of each part the residues of every limb of the output level
  /// @throws ShapeError for other sizes, ValueError for words that are not below their prime; and as `run`.
  ckks::Ciphertext assemble(Operands left, Operands right,
                            std::span<const std::vector<std::span<const u64>>, 2> parts) const;
  /// One limb of the mask of a term, in Eval form, as it multiplies: before the last rotation of its pair's terms.
  /// Pairs are counted over all groups, limbs are those of Q's level + 1 primes and then, where some pair of the side
  /// has a last rotation, of P's. @throws ShapeError.
  void copy_mask(bool left, std::size_t pair, std::size_t term, std::size_t limb, std::span<u64> out) const;

  /// Metadata of the result of `run`; nothing needs to be encoded. @throws ShapeError for no bases.
  ckks::Metadata describe(std::span<const ckks::Metadata* const> left, std::span<const ckks::Metadata* const> right,
                          const Scaling& scaling) const;

  std::size_t level() const noexcept { return level_; }
  std::size_t output_level() const noexcept { return product_level_ - 1; }
  const PairSumPlan& plan() const noexcept { return plan_; }
  std::size_t degree() const noexcept { return ctx_->params().degree(); }
  /// Galois elements needed, each with the highest level it is used at.
  std::vector<std::pair<u64, std::size_t>> required_keys() const;
  std::size_t storage() const noexcept;

 private:
  class Side;
  void check(Operands bases, std::size_t count, double scale, double bound, const char* side) const;
  /// Scales at which masks of the two sides are encoded; 0 where there are none.
  struct MaskScales {
    double left, right;
  };
  MaskScales mask_scales(const Scaling& scaling) const;
  /// The product of the operands' scales, before the rescale.
  double product_scale(const Scaling& scaling) const;

  ckks::ContextPtr ctx_;
  PairSumPlan plan_;
  std::size_t level_ = 0, product_level_ = 0;
  bool left_masked_ = false, right_masked_ = false;
  Scaling scaling_;
  double left_mask_scale_ = 0, right_mask_scale_ = 0;
  std::shared_ptr<MaskStore> left_store_, right_store_;
  std::vector<std::size_t> left_masks_, right_masks_;  // where the stores have the masks of each pair
};

/// The relinearised product of two ciphertexts that another machine computed: polynomials from there, metadata as
/// ckks::Evaluator gives.
/// @param parts of each part the residues of every limb
/// @throws ShapeError for other sizes, ValueError for words that are not below their prime, LevelError, MismatchError.
ckks::Ciphertext assemble_product(const ckks::ContextPtr& context, const ckks::Ciphertext& a, const ckks::Ciphertext& b,
                                  std::span<const std::vector<std::span<const u64>>, 2> parts);

}  // namespace ringforge::circuits
