// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Plans for plain matrix x encrypted vector, over an abstract cyclic group of slot rotations. Nothing here
// knows a scheme: a plan says which column of the matrix each slot of each input holds, which entries make
// each diagonal, which rotations to perform, and where the rows of the result are.
//
// Packing (docs/matvec-algorithms.md has the proof). S slots, rows padded to a period m', the columns cut into blocks
// of at most S, block c padded to a period n_c. All blocks share a span P (a power of two with m', n_c <= P
// <= S); slots repeat with period P. With D_c = m'*n_c/P diagonals and len = max(m', n_c), slot s of input c
// holds column
//     col_c(s) = (s' + floor(s'/len)*D_c) mod n_c,   s' = s mod P,
// and diagonal j has at slot s the entry M[s mod m'][col_c(s + j)]. Then
//     acc = sum_c sum_{j < D_c} diag_{c,j} * Rot_j(x_c),   then   acc += Rot_h(acc) for h = P/2, ..., m'
// holds row s mod m' of the product in every slot s. P = S ("spread") uses every slot of every diagonal, so
// the fewest diagonals; P = max(m', n_c) ("compact") is the packing of the matrix-vector paper.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ringforge::linear {

/// Smallest power of two that is at least x (x >= 1).
std::size_t next_power_of_two(std::size_t x) noexcept;

/// How input slots are filled.
enum class Span {
  spread,   ///< P = S
  compact,  ///< P = max(m', n_c)
};

/// One block of columns: one input ciphertext.
struct ColumnBlock {
  std::size_t first = 0;      ///< first column
  std::size_t count = 0;      ///< columns in it
  std::size_t period = 0;     ///< n_c
  std::size_t diagonals = 0;  ///< D_c
};

/// Where matrix entries and results sit in slots. Immutable once made.
class Packing {
 public:
  /// @param slots slots of the (virtual) group, a power of two
  /// @param input_period 0, or the period of inputs that an earlier plan produced (forces `compact`)
  /// @throws ShapeError for an empty matrix or a period that cannot hold the columns.
  Packing(std::size_t rows, std::size_t cols, std::size_t slots, Span span, std::size_t input_period = 0);
  Packing() = default;

  std::size_t rows() const noexcept { return rows_; }
  std::size_t cols() const noexcept { return cols_; }
  std::size_t slots() const noexcept { return slots_; }
  /// m': results repeat with this period.
  std::size_t row_period() const noexcept { return row_period_; }
  /// Number of output ciphertexts: rows beyond the slots go to further ones.
  std::size_t row_blocks() const noexcept { return (rows_ + row_period_ - 1) / row_period_; }
  std::size_t span() const noexcept { return span_; }
  const std::vector<ColumnBlock>& blocks() const noexcept { return blocks_; }
  /// The largest D_c.
  std::size_t diagonals() const noexcept;
  /// Steps of the final rotate-and-sum, in order.
  std::vector<std::size_t> folds() const;

  /// Column of the matrix in slot s of input c, or cols() where the slot holds zero.
  std::size_t column(std::size_t block, std::size_t slot) const noexcept;

 private:
  std::size_t rows_ = 0, cols_ = 0, slots_ = 0, row_period_ = 0, span_ = 0;
  std::vector<ColumnBlock> blocks_;
};

enum class Algorithm {
  diagonal,  ///< the paper's: one rotation, with its own key, and one rescale for each diagonal
  horner,    ///< the same sum as acc = P_d + Rot_1(acc): one key, rotations in series
  bsgs,      ///< baby-step giant-step with hoisting, one rescale
};
const char* name(Algorithm a) noexcept;

/// A rotation that needs a key. Stage 0 is before the rescale, stage 1 after it, one level lower.
struct KeyUse {
  std::size_t step = 0;  ///< in virtual slots, 1 <= step < slots
  unsigned stage = 0;
  friend bool operator==(const KeyUse&, const KeyUse&) = default;
};

/// One product: diagonal `index` of column block `block`, pre-rotated right by `shift` slots, times input
/// `block` rotated left by `baby`; summed into giant step `giant` of row block `row_block`.
struct Term {
  std::size_t row_block, block, index, baby, giant, shift;
};

/// A packing with an algorithm.
class Plan {
 public:
  /// @param baby number of baby steps n1 (bsgs only, at least 1)
  Plan(Packing packing, Algorithm algorithm, std::size_t baby = 1);
  Plan() = default;

  const Packing& packing() const noexcept { return packing_; }
  Algorithm algorithm() const noexcept { return algorithm_; }
  /// n1; 1 for the diagonal algorithms.
  std::size_t baby() const noexcept { return baby_; }
  /// Number of giant steps ceil(D/n1), the trivial one included.
  std::size_t giants() const noexcept { return (packing_.diagonals() + baby_ - 1) / baby_; }
  /// Baby steps of input c, the trivial one included: min(n1, D_c).
  std::size_t babies(std::size_t block) const noexcept;
  /// All products, ordered by (row block, giant, block, baby).
  const std::vector<Term>& terms() const noexcept { return terms_; }
  /// Distinct keys the plan needs.
  std::vector<KeyUse> keys() const;

 private:
  Packing packing_;
  Algorithm algorithm_ = Algorithm::bsgs;
  std::size_t baby_ = 1;
  std::vector<Term> terms_;
};

}  // namespace ringforge::linear
