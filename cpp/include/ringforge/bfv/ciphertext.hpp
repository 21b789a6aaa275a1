// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// BFV plaintexts and ciphertexts.
#pragma once

#include <span>

#include "ringforge/bfv/noise.hpp"
#include "ringforge/rlwe/ciphertext.hpp"

namespace ringforge::bfv {

// Keys are those of the RLWE layer.
using rlwe::GaloisKey;
using rlwe::GaloisKeys;
using rlwe::KeySet;
using rlwe::PublicKey;
using rlwe::RelinKey;
using rlwe::SecretKey;

/// A polynomial modulo t: N coefficients in [0, t). Values in slots or coefficients are Context's to put there.
struct Plaintext {
  Plaintext() = default;
  /// Contents undefined until written.
  Plaintext(u64 modulus, std::size_t degree) : t(modulus), coefficients(degree) {}
  u64 t = 0;
  WordBuffer coefficients;  // aligned, as kernels take it
  std::span<const u64> words() const noexcept { return {coefficients.data(), coefficients.size()}; }
};

/// A plaintext as a factor: its coefficients, centred, modulo the first primes of Q, in Eval form. Made once, used
/// often; a ciphertext of as many limbs or fewer may be multiplied by it.
struct Multiplier {
  Poly<Eval> poly;
  u64 t = 0;
  double log_norm = 0;  ///< log2 of the Euclidean norm of the centred coefficients; 0 for the plaintext zero
  double log_peak = 0;  ///< log2 of its largest value at a 2N-th root of unity, as `largest_square` has it
};

/// An encrypted plaintext: two parts, or three between a multiplication and its relinearisation. The phase over the
/// ciphertext's limbs, with product Q, is (Q/t)*m + e modulo Q.
struct Ciphertext : Noise, rlwe::Ciphertext {
  Ciphertext() = default;
  Ciphertext(u64 modulus, const Noise& noise, rlwe::Ciphertext&& polynomials)
      : Noise(noise), rlwe::Ciphertext(std::move(polynomials)), t(modulus) {}
  u64 t = 0;  ///< the plaintext modulus, which the polynomials do not tell
  const Noise& noise() const noexcept { return *this; }
};

}  // namespace ringforge::bfv
