// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Linear transforms of slots on RLWE ciphertexts, whatever the scheme: sum_i d_i * Rot_{step_i}(c) by one of four
// schedules. All give the same phase up to noise.
//
//   naive    a full rotation, product and sum for each diagonal (the FAME paper's Algorithm 1)
//   hoisted  one ModUp for all rotations, sums over Q*P, one ModDown (Algorithm 3)
//   mo       the same with the limb outermost: digits of one limb are made, then all diagonals use them; key
//            product, automorphism and diagonal product are fused (the paper's memory-optimised datapath)
//   bsgs     baby-step giant-step with double hoisting: babies share a ModUp and stay over Q*P, giants delay
//            their ModDown (Bossuat et al., Eurocrypt 2021)
//
// A scheme brings the encoded diagonals (Multipliers), the Galois element of each rotation, whether products are
// divided by the last prime, and its own rules for scale and noise: hlt.hpp does so for CKKS.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "ringforge/rlwe/evaluator.hpp"

namespace ringforge::circuits {

enum class Schedule { naive, hoisted, mo, bsgs };
const char* name(Schedule s) noexcept;

/// Encoded polynomials to multiply by: kept, or made when they are asked for. Used by several threads at once.
class Multipliers {
 public:
  virtual ~Multipliers() = default;
  /// Multiplier i modulo prime j of the basis it was encoded over, in Eval form: in memory of its own, or made in `t`,
  /// which has room for one limb.
  virtual const u64* limb(std::size_t i, std::size_t j, u64* t) const = 0;
};

/// A sparse linear map for one number of limbs and one schedule.
class LinearTransform {
 public:
  struct Plan {
    std::size_t slots = 0;             ///< that rotate in a cycle, a power of two
    std::vector<std::uint32_t> steps;  ///< left rotation of each diagonal, below `slots`
    Schedule schedule = Schedule::bsgs;
    std::vector<std::uint32_t> babies;  ///< for bsgs the baby step of each diagonal: the giant step is the rest
    bool rescales = true;               ///< results are divided by the last prime and have a limb less
  };
  /// The Galois element of a left rotation.
  using Element = std::function<u64(std::uint32_t step)>;

  /// @param limbs of inputs
  /// @throws ShapeError for no diagonals, steps that are not below `slots`, or babies of another number; LevelError for
  ///         limbs that Q does not have, or too few to rescale; ParameterError for a schedule other than naive without
  ///         special primes or with base-B digits.
  LinearTransform(rlwe::GadgetPtr gadget, Plan plan, Element element, std::size_t limbs);

  const Plan& plan() const noexcept { return plan_; }
  std::size_t limbs() const noexcept { return limbs_; }
  /// Whether a diagonal other than 0 exists.
  bool rotates() const noexcept { return rotates_; }
  /// What diagonal i must be rotated right by before it is encoded: its giant step.
  std::uint32_t shift(std::size_t i) const noexcept;
  /// Giant steps that are not 0.
  std::size_t giants() const noexcept;
  /// The primes over which the diagonals must be encoded.
  Basis diagonal_basis() const;
  /// Rotation steps that need a key for so many limbs, ascending.
  std::vector<std::uint32_t> rotations() const;

  /// What `run` demands of its input. @throws ShapeError, LevelError, MismatchError.
  void check_input(const rlwe::Ciphertext& in) const;
  /// @throws MissingKeyError; as check_input.
  rlwe::Ciphertext run(const rlwe::Ciphertext& in, const Multipliers& diagonals, const rlwe::GaloisKeys& keys,
                       unsigned threads = 1) const;

 private:
  struct Giant {
    std::uint32_t step;
    std::vector<std::size_t> terms;  // diagonals
  };
  using Parts = std::vector<Poly<Eval>>;
  std::shared_ptr<const rlwe::SwitchingKey> key(const rlwe::GaloisKeys& keys, std::uint32_t step, u64 key_id) const;
  /// ModDown, merged with the rescale if there is one.
  const rlwe::ModulusDrop& down() const;
  Parts naive(const rlwe::Ciphertext& in, const Multipliers& diagonals, const rlwe::GaloisKeys& keys,
              unsigned threads) const;
  Parts hoisted(const rlwe::Ciphertext& in, const Multipliers& diagonals, const rlwe::GaloisKeys& keys,
                unsigned threads) const;
  Parts memory_optimised(const rlwe::Ciphertext& in, const Multipliers& diagonals, const rlwe::GaloisKeys& keys,
                         unsigned threads) const;
  Parts bsgs(const rlwe::Ciphertext& in, const Multipliers& diagonals, const rlwe::GaloisKeys& keys,
             unsigned threads) const;

  rlwe::GadgetPtr gadget_;
  Plan plan_;
  Element element_;
  std::size_t limbs_;
  std::vector<std::uint32_t> babies_;  // of each diagonal
  std::vector<Giant> giants_;          // ascending
  bool rotates_ = false;
};

}  // namespace ringforge::circuits
