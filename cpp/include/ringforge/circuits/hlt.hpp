// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Homomorphic linear transforms (HLT): a sparse linear map of slots, applied to a ciphertext by one of four
// schedules. All give the same result up to noise, one level lower.
//
//   naive    a full rotation, product and sum for each diagonal (the FAME paper's Algorithm 1)
//   hoisted  one ModUp for all rotations, sums over Q*P, one ModDown merged with the rescale (Algorithm 3)
//   mo       the same with the limb outermost: digits of one limb are made, then all diagonals use them; key
//            product, automorphism and diagonal product are fused (the paper's memory-optimised datapath)
//   bsgs     baby-step giant-step with double hoisting: babies share a ModUp and stay over Q*P, giants delay
//            their ModDown (Bossuat et al., Eurocrypt 2021)
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "ringforge/ckks/ckks.hpp"
#include "ringforge/linear/diagonals.hpp"

namespace ringforge::circuits {

enum class Schedule { naive, hoisted, mo, bsgs };
const char* name(Schedule s) noexcept;

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

  /// Metadata of the result of `run`; nothing needs to be encoded.
  ckks::Metadata describe(const ckks::Metadata& in, const Scaling& scaling) const;

  std::size_t level() const noexcept { return level_; }
  Schedule schedule() const noexcept { return schedule_; }
  const linear::Diagonals& map() const noexcept { return map_; }
  /// Rotation steps that need a key at this level, ascending.
  std::vector<std::uint32_t> steps() const;
  /// Bytes of the encoded diagonals.
  std::size_t storage() const noexcept;

 private:
  struct Giant {
    std::uint32_t step;
    std::vector<std::size_t> terms;  // diagonals
  };
  void check_input(const ckks::Ciphertext& in, const ckks::GaloisKeys& keys) const;
  std::shared_ptr<const rlwe::SwitchingKey> key(const ckks::GaloisKeys& keys, std::uint32_t step, u64 key_id) const;
  double plain_scale(const Scaling& scaling) const;
  using Parts = std::vector<Poly<Eval>>;
  Parts run_naive(const ckks::Ciphertext& in, const ckks::GaloisKeys& keys, unsigned threads) const;
  Parts run_hoisted(const ckks::Ciphertext& in, const ckks::GaloisKeys& keys, unsigned threads) const;
  Parts run_mo(const ckks::Ciphertext& in, const ckks::GaloisKeys& keys, unsigned threads) const;
  Parts run_bsgs(const ckks::Ciphertext& in, const ckks::GaloisKeys& keys, unsigned threads) const;

  ckks::ContextPtr ctx_;
  linear::Diagonals map_;
  std::size_t level_;
  Schedule schedule_;
  std::vector<std::uint32_t> babies_;  // of each diagonal
  std::vector<Giant> giants_;          // ascending
  bool rotates_ = false;
  Scaling scaling_;
  std::shared_ptr<MaskStore> store_;
};

}  // namespace ringforge::circuits
