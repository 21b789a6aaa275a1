// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Encoded slot vectors to multiply by: the diagonals of linear maps, the masks of a matrix product.
#pragma once

#include <vector>

#include "ringforge/circuits/linear_transform.hpp"

namespace ringforge::circuits {

/// What is kept of an encoded vector.
enum class Keep {
  limbs,         ///< every limb in Eval form: no work at use
  coefficients,  ///< N rounded coefficients: a limb is made by a reduction and an NTT when it is used
};

/// Of negacyclic rings. Slot values with period p (a power of two below N/16) encode to polynomials in X^(N/2p): in
/// Eval form runs of N/2p equal words, of which one is kept. The complement 1 - u of another vector takes no memory at
/// all.
class MaskStore final : public Multipliers {
 public:
  MaskStore() = default;
  /// @param basis the primes of the limbs
  MaskStore(Basis basis, Keep keep, std::size_t count);

  /// Vector i from its N encoded coefficients. Different i may be put at the same time.
  void put(std::size_t i, const i64* coefficients);
  /// Vector i is the constant `scale`, rounded, minus vector `of`.
  void complement(std::size_t i, std::size_t of, double scale);
  /// Vector i modulo prime j, N words: in the store, or made in `t` (N words).
  const u64* limb(std::size_t i, std::size_t j, u64* t) const override;
  /// Words [first, first + count) of the same, for blocks that stay in the first-level cache; `whole` is what
  /// `limb` gave for a vector kept as coefficients, and not used otherwise.
  const u64* block(std::size_t i, std::size_t j, std::size_t first, std::size_t count, u64* t,
                   const u64* whole) const noexcept;
  /// Whether `limb` must run an NTT.
  bool transforms(std::size_t i) const noexcept {
    const Entry& e = entries_[i];
    return e.kind == Kind::coefficients || (e.kind == Kind::complement && transforms(e.of));
  }
  /// Whether vector i is the complement of vector `of`.
  bool complements(std::size_t i, std::size_t of) const noexcept {
    return entries_[i].kind == Kind::complement && entries_[i].of == of;
  }
  /// Limbs of a vector.
  std::size_t limbs() const noexcept { return basis_.size(); }
  std::size_t bytes() const noexcept;
  /// Bytes of a vector without period.
  static std::size_t bytes_each(const Basis& basis, Keep keep) noexcept;

 private:
  enum class Kind { none, limbs, coefficients, complement };
  struct Entry {
    Kind kind = Kind::none;
    std::size_t run = 1;  // words that are equal
    std::size_t of = 0;
    WordBuffer words;  // limbs: [limb][N/run]; coefficients: [N]
    std::vector<u64> constant;
  };
  Basis basis_;
  Keep keep_ = Keep::limbs;
  std::vector<Entry> entries_;
};

}  // namespace ringforge::circuits
