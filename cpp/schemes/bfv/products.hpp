// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Products of ciphertexts, as Halevi, Polyakov and Shoup compute them (CT-RSA 2019, sections 4.5 and 4.6): operands are
// extended from the primes of Q to auxiliary ones, multiplied over both, divided by Q/t into the auxiliary basis, and
// brought back to Q.
#pragma once

#include <vector>

#include "ringforge/bfv/params.hpp"
#include "ringforge/rlwe/ciphertext.hpp"
#include "ringforge/rlwe/gadget.hpp"

namespace ringforge::bfv {

/// Tables for every number of limbs. Immutable; any threads may share one.
class Products {
 public:
  Products(const Parameters& params, const rlwe::Gadget& gadget);

  /// a*b in three parts, b == nullptr: a*a. Operands were checked: two parts each, the same limbs and key.
  rlwe::Ciphertext multiply(const rlwe::Ciphertext& a, const rlwe::Ciphertext* b, unsigned threads) const;
  /// Auxiliary primes of products at so many limbs.
  std::size_t auxiliary(std::size_t limbs) const noexcept { return levels_[limbs - 1].aux; }

 private:
  /// Base conversion with factors folded into its tables: x, by its residues modulo p_1..p_k, goes to a*c_j*x' modulo
  /// target j, with x' centred and c_j a constant. Residues were multiplied by a*(P/p_i)^-1 before.
  struct Conversion {
    Conversion() = default;
    Conversion(const Basis& from, const Basis& to, const std::vector<u64>& scale);
    void quotient(u64* v, const u64* const* y, std::size_t n) const noexcept;
    void convert(u64* dst, const u64* const* y, const u64* v, std::size_t j, std::size_t n,
                 const kernels::Modulus& m) const noexcept;
    unsigned bits = 0;
    std::vector<double> inverse;  // 1/p_i
    std::vector<u64> rows;        // c_j*(P/p_i) mod target j, row per target
    std::vector<u64> product;     // c_j*P mod target j
  };
  struct Level {
    std::size_t aux = 0;
    Conversion extend, scale, back;
    // Inverse transforms modulo q_i that multiply by the first factors of a conversion: (Q/q_i)^-1, t*(Q/q_i)^-1.
    std::vector<kernels::NttTable> extended, scaled;
    std::vector<kernels::Factor> divided;  // (t/Q)*(B/b_j)^-1 mod b_j
  };

  Basis q_, aux_;
  std::vector<Level> levels_;
};

}  // namespace ringforge::bfv
