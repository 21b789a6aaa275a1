// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Exact division by a product of primes with rounding: rescaling, ModDown, and both in one step.
#pragma once

#include <vector>

#include "ringforge/ring.hpp"

namespace ringforge::rlwe {

/// Converts residues from one set of primes to others: given x mod p_1..p_k in coefficient form, writes
/// x's centred representative (in (-P/2, P/2]) modulo a target prime. The quotient round(x/P) is found in
/// double precision (Halevi, Polyakov, Shoup 2019): it may be off by one where x is within about
/// k*2^-50*P of P/2, which changes which of two equally good representatives is taken, nothing else.
class BaseConverter {
 public:
  BaseConverter() = default;
  /// @throws MismatchError when the rings differ.
  BaseConverter(const Basis& from, const Basis& to);
  /// In place: y_i = x_i * (P/p_i)^-1 mod p_i, what `convert` expects. One limb of the source.
  void prepare_limb(u64* x, std::size_t i) const noexcept;
  /// v = round(sum y_i/p_i); for one source prime nothing is needed and v may be null.
  void quotient(u64* v, const u64* const* y, std::size_t n) const noexcept;
  /// dst = the centred lift modulo target prime j. For one source prime, y is x itself and v unused.
  void convert(u64* dst, const u64* const* y, const u64* v, std::size_t j) const noexcept;
  /// All of it at once, for targets [first, first + dst.size()): x[i] are the residues modulo source prime i (not
  /// prepared), dst[j] is target first + j; a null one is left out. Block by block of coefficients, so that sources are
  /// read once for all targets. Two source primes at least. dst must not alias x.
  void convert_all(std::span<u64* const> dst, std::size_t first, std::span<const u64* const> x, unsigned threads) const;
  /// Fast conversion: dst = sum y_i*(P/p_i) modulo target prime j, that is x + u*P for some 0 <= u < k, x in
  /// [0, P): enough where a multiple of P does no harm.
  void convert_fast(u64* dst, const u64* const* y, std::size_t j) const noexcept;
  std::size_t sources() const noexcept { return from_.size(); }

 private:
  Basis from_, to_;
  unsigned bits_ = 0;
  std::vector<double> inverse_;               // 1/p_i
  std::vector<kernels::Factor> hat_inverse_;  // (P/p_i)^-1 mod p_i
  std::vector<u64> hat_;                      // (P/p_i) mod q_j, row per target
  std::vector<u64> product_;                  // P mod q_j
};

/// Division by D = product of the last `dropped` primes of a basis, with rounding to nearest.
class ModulusDrop {
 public:
  ModulusDrop() = default;
  /// @throws ParameterError unless 1 <= dropped < basis.size().
  ModulusDrop(const Basis& basis, std::size_t dropped);

  const Basis& input() const noexcept { return input_; }
  const Basis& output() const noexcept { return kept_; }
  /// round(p / D) over the kept primes. Counts one mod_down, `dropped` INTTs and `kept` NTTs.
  /// @throws MismatchError when p has another basis.
  Poly<Eval> apply(const Poly<Eval>& p, unsigned threads = 1) const;

  // ---- the same in two steps, for what is fused with it ----
  /// What a kept limb needs of those that go.
  struct Rest {
    std::vector<const u64*> gone;  ///< in coefficient form
    Poly<Coeff> lifted;            ///< their centred lift modulo the kept primes; empty for a single one
  };
  /// `gone[i]` holds N words of prime kept + i in coefficient form; they stay the caller's and must live as long as
  /// this.
  Rest rest(std::vector<const u64*> gone, unsigned threads = 1) const;
  /// dst = round(p / D) modulo kept prime j, src being p there; `t` is N words of working memory. dst may be src.
  /// Counts an NTT.
  void divide(u64* dst, const u64* src, const Rest& rest, std::size_t j, u64* t) const noexcept;

  // ---- the same limb by limb, for schedules that hold little ----
  /// The limbs that go, in coefficient form and prepared. `limbs[i]` holds N words of prime kept + i; they stay
  /// the caller's and must live as long as this.
  struct Tail {
    std::vector<const u64*> limbs;
    WordBuffer quotient;
  };
  /// Prepares one limb that goes, in place, Eval form in. Counts an INTT.
  void prepare(u64* limb, std::size_t i) const noexcept;
  /// All of them, prepared.
  Tail tail(std::vector<const u64*> prepared) const;
  /// dst = round(p / D) modulo kept prime j, src being p there; `t` is N words of working memory. Counts an NTT.
  void finish(u64* dst, const u64* src, const Tail& tail, std::size_t j, u64* t) const noexcept;

 private:
  Basis input_, kept_, gone_;
  BaseConverter convert_;
  std::vector<kernels::Factor> inverse_;  // D^-1 mod q_j
};

}  // namespace ringforge::rlwe
