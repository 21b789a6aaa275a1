// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Slots of Z[X]/Phi_m(X) modulo 2, m odd. Modulo 2, Phi_m splits into phi(m)/d factors of degree d, the order of 2
// modulo m: a polynomial is a vector of as many elements of GF(2^d), its values at roots of unity. For m = 65,535 these
// are 2,048 slots of GF(2^16), which has GF(2^8) within, the bytes of AES.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ringforge::linear {

/// GF(2^d) = GF(2)[Y]/P for 1 < d <= 32, P the primitive polynomial of degree d whose bits are least as a number; so Y
/// generates all units. An element is a word below 2^d, bit i the coefficient of Y^i. Nothing depends on values in
/// time.
class BinaryField {
 public:
  /// @throws ParameterError outside that range.
  explicit BinaryField(unsigned degree);

  unsigned degree() const noexcept { return degree_; }
  /// P, its leading bit too.
  std::uint64_t polynomial() const noexcept { return (std::uint64_t{1} << degree_) | low_; }
  /// 2^d - 1.
  std::uint64_t order() const noexcept { return (std::uint64_t{1} << degree_) - 1; }
  /// Y * x.
  std::uint32_t shifted(std::uint32_t x) const noexcept {
    return (((x << 1) & static_cast<std::uint32_t>(order())) ^ (low_ & (0U - ((x >> (degree_ - 1)) & 1U))));
  }
  std::uint32_t product(std::uint32_t a, std::uint32_t b) const noexcept;
  std::uint32_t power(std::uint32_t a, std::uint64_t e) const noexcept;
  /// Y^e.
  std::uint32_t root(std::uint64_t e) const noexcept { return power(2, e % order()); }
  /// out[i] = a[i] * b[i], out[i] = a[i]^(2^k); out may be a factor.
  /// @throws ShapeError when lengths differ, ValueError for a word that is not below 2^d.
  void products(std::span<std::uint32_t> out, std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) const;
  void frobenius(std::span<std::uint32_t> out, std::span<const std::uint32_t> a, unsigned k) const;
  /// @throws ValueError for a word that is not below 2^d.
  void check(std::span<const std::uint32_t> elements) const;
  /// The sum of x^(2^k), k < d: 0 or 1.
  std::uint32_t trace(std::uint32_t x) const noexcept;

 private:
  unsigned degree_;
  std::uint32_t low_ = 0;
};

/// The slots of an index. With zeta = Y^((2^d - 1)/m), slot i of a polynomial a is its value a(zeta^e) in GF(2^d), e =
/// `representatives()[i]`. Sums and products of polynomials modulo (2, Phi_m) are those of all slots.
///
/// Order. m = f * p_1 * ... * p_k with prime powers that have no common factor, p_1 < ... < p_k; f is the least of all
/// on which 2 has order d. Slots are numbered along dimensions (`dimensions()`), the last fastest: the units of p_1,
/// ..., of p_k, each as powers of the least generator, then the cosets of the powers of 2 among the units of f, as
/// powers 0 ... phi(f)/d - 1 of the least generator. m = 65,535: 2, 4 and 16 units of 3, 5 and 17, then 16 cosets of
/// 257.
///
/// Immutable; any threads may share it.
class BinarySlots {
 public:
  /// X -> X^element moves a value one place down along a dimension of `size` slots: slot t takes what t + 1 had. Where
  /// wrap is 0, the last takes what the first had. Else what wraps around is raised to 2^wrap, and has moved along the
  /// other dimensions by 2^-wrap: `permutation` says from where.
  struct Dimension {
    std::uint64_t element;
    std::size_t size;
    unsigned wrap;
  };
  /// What X -> X^g does: slot i becomes the old slot source[i], raised to 2^frobenius[i].
  struct Permutation {
    std::vector<std::uint32_t> source;
    std::vector<std::uint8_t> frobenius;
  };

  /// @param m odd, 3 <= m < 2^17, 2 of an order d <= 32 modulo m, and of the same order modulo a prime power f that
  ///   divides m as often as it can, a prime or with f * phi(f)/d <= 2^22
  /// @throws ParameterError otherwise.
  explicit BinarySlots(std::uint64_t m);

  std::uint64_t index() const noexcept { return index_; }
  /// phi(m), the coefficients of a polynomial.
  std::size_t degree() const noexcept { return degree_; }
  const BinaryField& field() const noexcept { return field_; }
  /// Slots.
  std::size_t size() const noexcept { return representatives_.size(); }
  const std::vector<std::uint32_t>& representatives() const noexcept { return representatives_; }
  const std::vector<Dimension>& dimensions() const noexcept { return dimensions_; }

  /// The polynomial with these values: `degree()` coefficients, 0 or 1, that of X^i in i.
  /// @throws ShapeError for other sizes, ValueError for a value that is not below 2^d.
  void encode(std::span<std::uint8_t> coefficients, std::span<const std::uint32_t> values) const;
  /// Its inverse.
  /// @throws ShapeError for other sizes, ValueError for a coefficient above 1.
  void decode(std::span<std::uint32_t> values, std::span<const std::uint8_t> coefficients) const;

  /// Bytes as AES has them, GF(2)[x]/(x^8 + x^4 + x^3 + x + 1) with bit i that of x^i, as elements of GF(2^d): x goes
  /// to the root of that polynomial in GF(2^d) which is least as a number, `byte_root()`.
  /// @throws ParameterError when 8 does not divide d; ShapeError, ValueError as above, the latter also for values in no
  ///   such subfield; `byte_root` and `extract` likewise.
  std::uint32_t byte_root() const;
  void embed(std::span<std::uint32_t> values, std::span<const std::uint8_t> bytes) const;
  void extract(std::span<std::uint8_t> bytes, std::span<const std::uint32_t> values) const;

  /// @throws ParameterError when g has a factor in common with m.
  Permutation permutation(std::uint64_t g) const;

 private:
  /// A prime power of m other than f, and its transform between its units and all residues.
  struct Axis {
    std::size_t length, units;
    std::vector<std::uint32_t> forward, backward;  ///< constants: units x length, length x units
  };
  struct Position {
    std::uint32_t lane;
    std::uint8_t frobenius;
  };

  void split(std::uint64_t m);
  bool prime_f() const noexcept { return lanes_ * field_.degree() == f_ - 1; }
  void number();
  void make_tables();
  void make_bytes();
  void require_bytes() const;
  std::uint32_t embedded(std::uint8_t byte) const noexcept;
  /// Along an axis: out[b][r][...] = sum over c of constants[r][c] * in[b][c][...], blocks of `after` words.
  void transform(std::span<std::uint32_t> out, std::span<const std::uint32_t> in,
                 std::span<const std::uint32_t> constants, std::size_t rows, std::size_t columns, std::size_t after,
                 std::span<std::uint32_t> room) const noexcept;
  void reduce(std::vector<std::uint64_t>& bits) const;

  std::uint64_t index_, f_ = 0, g_ = 1;
  std::size_t degree_ = 1, lanes_ = 0;
  BinaryField field_;
  std::vector<Axis> axes_;
  std::vector<Dimension> dimensions_;
  std::vector<std::uint32_t> representatives_;
  /// Residues of f and of g; for g: the place among the tensor of residues and, of units, of units.
  std::vector<Position> cosets_;
  std::vector<std::uint32_t> places_, unit_places_;
  /// For residue i of f and each lane, from word rows_[i] on: zeta_f^(i e), e the lane's unit, and bits whose parity
  /// with x is the trace of x * zeta_f^(-i e).
  std::vector<std::uint32_t> rows_, powers_, traces_;
  std::array<std::uint32_t, 8> embedding_{}, extraction_{};
};

}  // namespace ringforge::linear
