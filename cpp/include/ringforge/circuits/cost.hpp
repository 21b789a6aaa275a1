// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// What linear transforms and sums of products take, without running them: exact counts of operations, as the run-time
// counters have them, keys, memory, and one number to compare plans by.
//
// The rules, with x limbs at a point, K special primes, ext = x + K, dn digits of alpha limbs (dn = ceil(x / alpha)):
//
// * ModUp: x inverse transforms, dn ext - x transforms. A key switch (inner product only) reads 2 dn ext N words.
// * ModDown of one polynomial that drops d limbs and keeps x': d inverse transforms, x' transforms. A full rotation
//   is ModUp, key switch and two ModDowns that drop K.
// * Transform, `hoisted` and `mo`: one ModUp, one key switch for each diagonal but 0, at the end two ModDowns that
//   drop K + 1 limbs. `naive`: a full rotation for each diagonal but 0, at the end two that drop 1. `bsgs`: one ModUp
//   if a baby step is not 0, one key switch for each of those, ModDown of one polynomial, ModUp and key switch for
//   each giant step that is not 0, and the same end as `hoisted`. One that does not rotate ends like `naive`. Where
//   results are not divided by a prime, the last ModDowns drop K limbs, and those of `naive` are left out.
// * Sums of products: one ModUp for each base that is rotated; a bare rotation is a key switch and two ModDowns that
//   drop K, made once for all pairs that use it. A masked shift is one key switch and two ModDowns that drop K + 1: all
//   terms take the first one's rotation, after masks on bases rotated by what the others lack; those are few, made
//   like bare rotations, have a ModUp each, and the last PairSum::kDerived of them are kept. Without a rotation it is
//   two ModDowns that drop 1. Each group: ModUp and key switch to relinearise; with an outer rotation ModDown of one
//   polynomial, ModUp and key switch more. At the end two ModDowns that drop K + 1.
#pragma once

#include <map>
#include <optional>
#include <span>

#include "ringforge/circuits/hlt.hpp"
#include "ringforge/counters.hpp"

namespace ringforge::circuits {

/// Counts of operations, and words multiplied and added, and converted between bases, in limbs, which the counters
/// have not.
struct Work : OpCounts {
  std::uint64_t multiplied = 0;
  std::uint64_t converted = 0;
  friend bool operator==(const Work&, const Work&) = default;
  Work& operator+=(const Work& o) noexcept;
};

/// One number: butterflies, words streamed from memory, words multiplied and added, words converted, each with what
/// it costs beside a butterfly.
double weight(const rlwe::GadgetShape& gadget, const Work& work) noexcept;
/// Weights of one baby step and of one giant step of a transform with so many limbs.
struct StepWeights {
  double baby, giant;
};
StepWeights step_weights(const rlwe::GadgetShape& gadget, std::size_t limbs) noexcept;

/// One term of a shift, without its mask's slots.
struct OutlineTerm {
  std::size_t base = 0;
  std::size_t step = 0;
  std::size_t period = 0;             ///< of the mask's slots, a power of two
  std::optional<std::size_t> size{};  ///< slots where the mask is 1; nothing without a mask
};
/// The terms of one side, shift after shift: those of pair i are [first[i], first[i + 1]).
struct OutlineSide {
  std::vector<OutlineTerm> terms;
  std::vector<std::size_t> first;
  std::size_t bases = 1;
};

/// Counts as operations are named; the keys, the memory of what is encoded, the most memory at a time.
class Tally {
 public:
  /// @param coefficients_only of encoded vectors are kept; their limbs are made at each use
  explicit Tally(const rlwe::GadgetShape& gadget, bool coefficients_only = false)
      : compact(coefficients_only), g_(gadget) {}

  const rlwe::GadgetShape& gadget() const noexcept { return g_; }
  Work work;
  /// Limbs of the key of each rotation step; relinearisation is apart.
  std::map<std::int64_t, std::size_t> keys;
  std::size_t storage = 0;  ///< bytes of encoded vectors
  std::size_t working = 0;  ///< bytes of ciphertexts and temporaries, at most
  bool compact;

  void mod_up(std::size_t limbs) noexcept;
  /// `times` polynomials lose `gone` limbs and keep `kept`.
  void mod_down(std::size_t gone, std::size_t kept, std::size_t times) noexcept;
  /// Inner product with the key of a step, or of relinearisation.
  void key_switch(std::size_t limbs, std::optional<std::int64_t> step);
  /// A full rotation, or another automorphism that has been given a step of its own; nothing for step 0.
  void rotate(std::size_t limbs, std::int64_t step);
  /// Products with encoded vectors.
  void multiply(std::size_t terms, std::size_t limbs) noexcept;
  /// Limbs multiplied and added.
  void multiplied(std::size_t limbs) noexcept { work.multiplied += limbs; }
  /// A linear transform; bytes of its diagonals, which are not added to the storage.
  /// @param steps the diagonals  @param babies for bsgs the baby step of each  @param periods of each one's slots
  /// @param rescales the result is divided by the last prime as well
  /// @throws ShapeError when these differ in length.
  std::size_t transform(std::span<const std::uint32_t> steps, std::span<const std::uint32_t> babies,
                        std::span<const std::size_t> periods, std::size_t slots, std::size_t limbs, Schedule schedule,
                        bool rescales = true);
  /// A sum of products of shifted ciphertexts.
  /// @param groups for each the outer rotation and the number of pairs
  /// @param base, product limbs of the bases and of the products
  /// @param unit rotations are made in two parts, a multiple of this of the steps' common divisor and the rest; 0: in
  /// one
  /// @throws ShapeError when the pairs are not those of the groups.
  void pair_sum(const OutlineSide& left, const OutlineSide& right,
                std::span<const std::pair<std::size_t, std::size_t>> groups, std::size_t slots, std::size_t base,
                std::size_t product, std::size_t unit);
  /// At least so many limbs are held at a time.
  void need(std::size_t limbs) noexcept;

 private:
  class Side;
  std::size_t kept_bytes(std::size_t period, std::size_t limbs) const noexcept;
  void expand(std::size_t period, std::size_t limbs) noexcept;

  rlwe::GadgetShape g_;
};

}  // namespace ringforge::circuits
