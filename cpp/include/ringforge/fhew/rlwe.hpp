// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Third-generation building blocks over one small ring: RLWE, RLWE', RGSW, external product, CMUX, RLWE
// substitution.
//
// Conventions. An RLWE ciphertext (a, b) under s has phase b - a*s. RLWE'(m) is one RLWE(g_j*m) for each digit j of a
// gadget, g_j = 2^drop * B^j. RGSW(m) is RLWE'(-s*m) for the digits of a, then RLWE'(m) for the digits of b, so that
// the external product (a, b) (x) RGSW(m) = sum_j digit_j(a)*row_j + sum_j digit_j(b)*row'_j has phase
// m*(b - a*s) + noise. Rows are 2N words, a then b, in Eval form.
#pragma once

#include <span>
#include <type_traits>

#include "ringforge/small_ring.hpp"

namespace ringforge::fhew {

using kernels::Cut;

/// Checks that a gadget's digits cover residues modulo q of this many bits. @throws ParameterError.
void check_cut(const Cut& cut, u64 q, const char* what);
/// g_j = 2^drop * B^j modulo q.
u64 gadget_element(const Cut& cut, unsigned digit, u64 q) noexcept;
/// Mean of the squared digit, over uniform residues: (B^2 + 2)/12 for balanced digits, (B-1)(2B-1)/6 for plain ones.
double digit_square(const Cut& cut) noexcept;
/// Variance of the rest that the digits leave out: 2^(2 drop)/12.
double rest_variance(const Cut& cut) noexcept;

/// A ternary ring secret. Move-only, wiped at the end.
template <class W>
class RingSecret {
 public:
  RingSecret(std::shared_ptr<const SmallRing<W>> ring, Randomness& rng);
  RingSecret(std::shared_ptr<const SmallRing<W>> ring, SmallPoly&& coeffs);
  ~RingSecret() { eval_.wipe(); }
  RingSecret(RingSecret&&) noexcept = default;
  RingSecret(const RingSecret&) = delete;
  RingSecret& operator=(const RingSecret&) = delete;

  const SmallRing<W>& ring() const noexcept { return *ring_; }
  const std::vector<i64>& coeffs() const noexcept { return coeffs_.coeffs(); }
  const W* eval() const noexcept { return eval_.data(); }

  /// Row `index` of an object: a from (seed, index), b = a*s + e + message, all in Eval form; `message` in Eval form,
  /// or null for zero; e from (errors, index).
  void encrypt_row(W* row, const W* message, const Seed& seed, u32 index, const Seed& errors) const;
  /// phase = b - a*s of a row in Eval form, as coefficients.
  void phase(W* dst, const W* row) const;

 private:
  std::shared_ptr<const SmallRing<W>> ring_;
  SmallPoly coeffs_;
  WordArray<W> eval_;
};

/// The a half of row `index`, as every holder of the seed makes it.
template <class W>
void expand_row(W* a, const SmallRing<W>& ring, const Seed& seed, u32 index);

/// The rows of RLWE'(message) from row number `first`; message in Eval form.
template <class W>
void encrypt_rlwe_prime(W* rows, const RingSecret<W>& s, const W* message, const Cut& cut, const Seed& seed, u32 first,
                        const Seed& errors);
/// The rows of RGSW(message), message in Eval form.
template <class W>
void encrypt_rgsw(W* rows, const RingSecret<W>& s, const W* message, const Cut& a, const Cut& b, const Seed& seed,
                  u32 first, const Seed& errors);

/// The rows of a gadget ciphertext as products take them: in Eval form, and their spectra where products are to go in
/// double precision, exact where `spectral_error` says so.
template <class W>
struct GadgetRows {
  const W* eval = nullptr;
  const double* spectra = nullptr;
  GadgetRows(const W* rows, const double* s = nullptr) : eval(rows), spectra(s) {}
};

/// As a parameter, which rows alone convert to.
template <class W>
using Rows = std::type_identity_t<GadgetRows<W>>;

/// The spectra of `count` gadget ciphertexts of `rows` rows each, in Eval form: 2n*rows doubles for each.
void make_spectra(double* dst, const u32* ciphertexts, std::size_t count, std::size_t rows, const SmallRing<u32>& ring);

/// Buffers for the operations below; one for each thread.
template <class W>
struct Workspace {
  Workspace(std::size_t n, std::size_t rows)
      : digits(n * rows), t(4 * n), spectral(sizeof(W) == 4 ? kernels::spectral_scratch(n, rows) : 0) {}
  WordArray<W> digits, t;
  WordArray<double> spectral;
};

/// (a, b) <- (a, b) (x) RGSW, 2n words in coefficient form, a then b. dst may be src. This is the step of the
/// accumulation chain. `next`, if any, is the RGSW ciphertext of the product after this one: its first row is fetched
/// from memory while this one's result is transformed back.
template <class W>
void external_product(W* dst, const W* src, const Rows<W>& rgsw, const Cut& cut_a, const Cut& cut_b,
                      const SmallRing<W>& ring, Workspace<W>& w, const W* next = nullptr) noexcept;
/// acc <- acc + (X^r - 1)*acc (x) RGSW(bit): acc*X^(r*bit), a CMUX of acc and its rotation. r in [0, 2N).
template <class W>
void rotate_by_bit(W* acc, std::size_t r, const Rows<W>& rgsw, const Cut& cut_a, const Cut& cut_b,
                   const SmallRing<W>& ring, Workspace<W>& w) noexcept;
/// c0 <- c0 + (c1 - c0) (x) RGSW(bit): c1 when the bit is 1.
template <class W>
void cmux(W* c0, const W* c1, const Rows<W>& rgsw, const Cut& cut_a, const Cut& cut_b, const SmallRing<W>& ring,
          Workspace<W>& w) noexcept;
/// RLWE substitution X -> X^g: (a, b) under s to its image under s again. `key` is RLWE'(s(X^g)) for the digits of a:
/// the ciphertext is mapped first, then switched, (0, b') - sum_j digit_j(a')*key_j. Coefficient form; dst may be src.
template <class W>
void substitute(W* dst, const W* src, std::size_t g, const Rows<W>& key, const Cut& cut, const SmallRing<W>& ring,
                Workspace<W>& w) noexcept;
/// The key of `substitute`.
template <class W>
void encrypt_substitution_key(W* rows, const RingSecret<W>& s, std::size_t g, const Cut& cut, const Seed& seed,
                              u32 first, const Seed& errors);

}  // namespace ringforge::fhew
