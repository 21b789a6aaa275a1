// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// CKKS plaintexts and ciphertexts. All polynomials are in Eval form over a prefix of Q.
#pragma once

#include "ringforge/ckks/metadata.hpp"
#include "ringforge/ckks/params.hpp"
#include "ringforge/rlwe/ciphertext.hpp"

namespace ringforge::ckks {

// Keys are those of the RLWE layer.
using rlwe::GaloisKey;
using rlwe::GaloisKeys;
using rlwe::KeySet;
using rlwe::PublicKey;
using rlwe::RelinKey;
using rlwe::SecretKey;

/// An encoded vector. Its level is limbs - 1.
struct Plaintext {
  Poly<Eval> poly;
  double scale = 1;
  /// Largest |slot| of the encoded values: of a matrix it bounds noise growth, of secret data it is secret.
  double bound = 1;
  std::size_t level() const noexcept { return poly.limbs() - 1; }
};

/// An encrypted vector: two parts, or three between a multiplication and its relinearisation.
struct Ciphertext : Metadata, rlwe::Ciphertext {
  Ciphertext() = default;
  /// No polynomials yet.
  explicit Ciphertext(const Metadata& known) : Metadata(known) {}
  Ciphertext(const Metadata& known, rlwe::Ciphertext&& polynomials)
      : Metadata(known), rlwe::Ciphertext(std::move(polynomials)) {}
};

}  // namespace ringforge::ckks
