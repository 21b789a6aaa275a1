// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// What is known of a ciphertext apart from its polynomials, and what operations make of it. These are the only rules
// of noise, bounds and scales: operations on ciphertexts take them from here, and so do planners, which have none.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace ringforge::ckks {

class Context;
using ContextPtr = std::shared_ptr<const Context>;

struct Metadata {
  double scale = 1;
  /// Predicted variance of each error coefficient.
  double variance = 0;
  /// A combination of slot errors with weights w has at most |w|^2 * spread times the variance of one: 1 while
  /// slots err independently, more after a matrix, whose results share the input's errors. Not in files: a
  /// ciphertext read from one gets the number of slots, the largest possible.
  double spread = 1;
  /// Declared bound of |slot|, public: a promise of the encrypting side, never read off the data.
  double bound = 1;
  /// Bound of what the double precision of encoders has done to any slot, for inputs of whatever relation. No part
  /// of the noise: it depends on values, not on keys. Not in files: a ciphertext read from one gets what a single
  /// encoding of values up to its bound gives.
  double float_error = 0;
};

/// With N coefficients and the unit roundoff u = 2^-53, encoding values of size at most B moves no slot by more than
/// encoding_error(N) * B, decoding by no more than decoding_error(N) * B.
///
/// Both are S = N/2 point transforms of log2 S stages. Between stages t and t + 1 of decoding lie 2^t polynomials, each
/// of 2^-t * S coefficients, and each of them is the transform of as many slots: their squares add up to B^2 at most
/// (Parseval). A butterfly errs by u of its sums and (1 + sqrt(5)) * u of its product, twiddle included; so does what
/// one polynomial gets, in the Euclidean norm, by (2 + sqrt(5)) * u * B < 5uB. Its k coefficients reach a slot with
/// factors of absolute value 1: 5u * B * sqrt(k) at most. Over k = 1, 2, 4, ..., S/2 that is below
/// 5u * B * sqrt(S) * 2.42; the inverse has k = 2, 4, ..., S: below 5u * B * sqrt(S) * 3.42. Multiplying by the scale,
/// and putting residues together and dividing by it, add less than 2u and 4u of coefficients, again sqrt(S) * B.
double encoding_error(std::size_t degree) noexcept;
double decoding_error(std::size_t degree) noexcept;

/// With probability 1 - 2^-40 no slot of an error polynomial of this coefficient variance is larger.
/// Most error terms are products of two random polynomials (rounding times secret, digit times key error),
/// so a slot's is a product of two complex normal values: |slot|^2 = N*variance*X*Y with X, Y exponential,
/// and P(XY > t) < 2*sqrt(pi)*t^(1/4)*exp(-2*sqrt(t)). Over N/2 slots sqrt(t) = (ln(N/2 * 2^40) + 3)/2
/// suffices; single normal values, the other case, have lighter tails.
double slot_error_bound(double variance, std::size_t degree) noexcept;

/// Bound of |decrypted slot - exact slot|: noise (probability of more 2^-40), and the double precision of encoders
/// and decoder. Exact slots are those of the real numbers; a plain computation in doubles has errors of its own.
double error_bound(const Metadata& m, std::size_t degree) noexcept;

/// What operations do. `variance` is that of each error coefficient; a slot error then has variance N*variance, and
/// multiplying by slots of size at most B*scale multiplies it by (B*scale)^2. Errors of two operands may depend on
/// each other (c + c, c * c), so standard deviations are added, not variances; noise that an operation adds is fresh,
/// so its variance is. `limbs` are those of the operand.
/// @throws LevelError for limbs that Q does not have; `rescaled` and `squared` need two.
class MetadataRules {
 public:
  explicit MetadataRules(ContextPtr context) : ctx_(std::move(context)) {}
  const ContextPtr& context() const noexcept { return ctx_; }

  /// Variance of one error coefficient after ModDown or rescale rounding: (1 + N*2/3)/12.
  double rounding() const noexcept;
  /// Variance that a key switch adds to each coefficient, rounding included.
  double turned(std::size_t limbs) const;

  Metadata encrypted(double scale, double bound, bool public_key) const noexcept;
  Metadata sum(const Metadata& a, const Metadata& b) const noexcept;
  Metadata plain_sum(const Metadata& a, double scale, double bound) const noexcept;
  Metadata number_sum(const Metadata& a, double value) const noexcept;
  Metadata plain_product(const Metadata& a, double scale, double bound) const noexcept;
  Metadata number_product(const Metadata& a, double value, double scale) const noexcept;
  Metadata product(const Metadata& a, const Metadata& b) const noexcept;
  /// The same polynomials taken at another scale, so that every value is multiplied by a.scale / scale, and under a
  /// bound of these values that is known otherwise. @throws ScaleError, ValueError for numbers that are neither.
  Metadata read_as(const Metadata& a, double scale, double bound) const;
  /// After a rotation, the conjugation or a relinearisation.
  Metadata switched(const Metadata& a, std::size_t limbs) const;
  /// @param parts of the ciphertext, 2 or 3
  Metadata rescaled(const Metadata& a, std::size_t limbs, std::size_t parts = 2) const;
  /// Contents copied to empty slots by so many rotations, one after the other.
  Metadata replicated(const Metadata& a, std::size_t limbs, std::size_t times) const;
  Metadata doubled_real(const Metadata& a, std::size_t limbs) const;
  /// Product with itself, relinearised and rescaled.
  Metadata squared(const Metadata& a, std::size_t limbs) const;

 private:
  ContextPtr ctx_;
};

}  // namespace ringforge::ckks
