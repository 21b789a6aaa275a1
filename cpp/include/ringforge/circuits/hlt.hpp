// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Homomorphic linear transforms (HLT) in CKKS: a sparse linear map of slots, one level lower, with its scales and
// noise. The schedules are those of linear_transform.hpp.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "ringforge/circuits/linear_transform.hpp"
#include "ringforge/ckks/ckks.hpp"
#include "ringforge/linear/diagonals.hpp"

namespace ringforge::circuits {

class MaskStore;

/// A linear map, encoded for one level and schedule.
class Hlt {
 public:
  /// @param level of the input, at least 1
  /// @param babies for `bsgs` the baby step of each diagonal, in [0, slots): the giant step is the rest
  /// @throws LevelError, ShapeError.
  Hlt(ckks::ContextPtr context, linear::Diagonals map, std::size_t level, Schedule schedule,
      std::vector<std::uint32_t> babies = {});

  struct Scaling {
    double input_scale = 0, output_scale = 0;
    double input_bound = 1;  ///< of the input's slots
  };
  /// Encodes the diagonals. With `compact` only their coefficients are kept, and limbs are made when used.
  /// When it throws, nothing is encoded. Not while another thread runs this object.
  /// @throws ScaleError when the diagonals' scale q * output / input is outside 2^16 ... 2^61.
  void encode(const Scaling& scaling, bool compact = false, unsigned threads = 1,
              const std::function<void(double)>& progress = {});
  /// @throws MissingKeyError, LevelError, ScaleError, ShapeError, MismatchError, ValueError.
  ckks::Ciphertext run(const ckks::Ciphertext& in, const ckks::GaloisKeys& keys, unsigned threads = 1) const;

  /// Refuses inputs that `run` would refuse, keys aside.
  void check_input(const ckks::Ciphertext& in) const;
  /// The result of a run that another machine did: polynomials from there, metadata as `run` would give.
  /// @param parts of each part the residues of every limb of level - 1
  /// @throws ShapeError for other sizes, ValueError for words that are not below their prime; and as `run`.
  ckks::Ciphertext assemble(const ckks::Ciphertext& in,
                            std::span<const std::vector<std::span<const u64>>, 2> parts) const;
  /// One limb of encoded diagonal `i`, in Eval form, modulo prime `j` of Q's level + 1 and then, where diagonals are
  /// summed over Q*P, of P. @throws ShapeError.
  void copy_diagonal(std::size_t i, std::size_t j, std::span<u64> out) const;
  /// Primes that a diagonal is encoded over.
  std::size_t diagonal_limbs() const { return transform_.diagonal_basis().size(); }

  /// Metadata of the result of `run`; nothing needs to be encoded.
  ckks::Metadata describe(const ckks::Metadata& in, const Scaling& scaling) const;

  std::size_t level() const noexcept { return transform_.limbs() - 1; }
  std::size_t degree() const noexcept { return ctx_->params().degree(); }
  Schedule schedule() const noexcept { return transform_.plan().schedule; }
  const linear::Diagonals& map() const noexcept { return map_; }
  /// Rotation steps that need a key at this level, ascending.
  std::vector<std::uint32_t> steps() const { return transform_.rotations(); }
  /// Bytes of the encoded diagonals.
  std::size_t storage() const noexcept;

 private:
  double plain_scale(const Scaling& scaling) const;

  ckks::ContextPtr ctx_;
  linear::Diagonals map_;
  LinearTransform transform_;
  Scaling scaling_;
  std::shared_ptr<MaskStore> store_;
};

}  // namespace ringforge::circuits
