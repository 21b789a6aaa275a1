// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// C = A B for encrypted A (m x l) and B (l x n), one CKKS ciphertext each: encrypt, keys, multiply, decrypt. Matrices
// of numbers are row-major, entry (i, j) at i * columns + j.
//
//   client   encrypt(A), encrypt(B), make_keys; later decrypt(C)
//   server   prepare, multiply: it has the keys that make_keys gives and never the secret key
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ringforge/circuits/hlt.hpp"
#include "ringforge/circuits/matrix_plan.hpp"
#include "ringforge/circuits/pair_sum.hpp"
#include "ringforge/ckks/ckks.hpp"

namespace ringforge::circuits {

/// Products of one shape, level and bounds. Everything but `prepare` may be called by several threads at once.
class MatrixProduct {
 public:
  struct Options {
    std::optional<std::size_t> level{};    ///< of the inputs; by default as low as the plan allows
    double left_bound = 1;                 ///< largest |entry| of A, declared: public, and never read off the data
    double right_bound = 1;                ///< of B
    std::optional<double> result_bound{};  ///< of A B, where less than l * left_bound * right_bound is known
    bool compact = false;                  ///< keep encoded vectors by coefficients only: less memory, more transforms
  };

  /// Plans the product. @throws as plan_matrix_product; ValueError for bounds that are not positive numbers.
  MatrixProduct(ckks::ContextPtr context, const MatrixShape& shape, const Options& options);
  MatrixProduct(ckks::ContextPtr context, const MatrixShape& shape);

  const MatrixPlan& plan() const noexcept { return plan_; }
  std::size_t level() const noexcept { return plan_.level; }
  std::size_t result_level() const noexcept { return plan_.level - plan_.depth(); }
  double result_bound() const noexcept { return result_bound_; }

  // ---- the side of the keys ----
  /// @param a row-major, m * l numbers (right: l * n), |entry| at most the declared bound
  /// @throws ShapeError for another count; ValueError for an entry above the bound, NaN or infinity.
  ckks::Ciphertext encrypt_left(ckks::Client& client, const ckks::SecretKey& key, std::span<const double> a) const;
  ckks::Ciphertext encrypt_left(ckks::Client& client, const ckks::PublicKey& key, std::span<const double> a) const;
  ckks::Ciphertext encrypt_right(ckks::Client& client, const ckks::SecretKey& key, std::span<const double> b) const;
  ckks::Ciphertext encrypt_right(ckks::Client& client, const ckks::PublicKey& key, std::span<const double> b) const;
  /// The m * n entries of A B, row-major, each within ckks::error_bound(c). @throws MismatchError.
  std::vector<double> decrypt(const ckks::Client& client, const ckks::SecretKey& key, const ckks::Ciphertext& c) const;
  /// Galois element of each key that a product needs, with the highest level it is used at, ascending.
  std::vector<std::pair<u64, std::size_t>> required_keys() const;
  /// Level that the relinearisation key must cover.
  std::size_t relin_level() const noexcept { return product_level_; }
  /// All keys that a product needs, and no others.
  ckks::KeySet make_keys(ckks::Client& client, const ckks::SecretKey& key, unsigned threads = 1) const;

  // ---- the side of the ciphertexts ----
  /// Encodes diagonals and masks, which products need. Not while another thread uses this object.
  /// @throws ValueError when results up to the bound do not fit the result's level, ScaleError for scales that leave no
  ///         room for the diagonals; then nothing is prepared.
  void prepare(unsigned threads = 1);
  bool prepared() const noexcept { return prepared_; }
  /// Bytes of what is encoded now.
  std::size_t storage() const noexcept;

  /// An operand after its transforms; serves any number of products.
  struct Factor {
    bool left = true;
    ckks::Ciphertext base;
  };
  /// @param a of this product's level or above
  /// @throws LevelError, ScaleError, MismatchError, MissingKeyError; ParameterError before `prepare`.
  Factor left(const ckks::Ciphertext& a, const ckks::KeySet& keys, unsigned threads = 1) const;
  Factor right(const ckks::Ciphertext& b, const ckks::KeySet& keys, unsigned threads = 1) const;
  /// @throws ShapeError unless one is a left and the other a right factor; as above.
  ckks::Ciphertext multiply(const Factor& a, const Factor& b, const ckks::KeySet& keys, unsigned threads = 1,
                            const std::function<void(double)>& progress = {}) const;
  ckks::Ciphertext multiply(const ckks::Ciphertext& a, const ckks::Ciphertext& b, const ckks::KeySet& keys,
                            unsigned threads = 1, const std::function<void(double)>& progress = {}) const;

  /// What is known of the product of two fresh ciphertexts before anything is encrypted: ckks::error_bound(describe(),
  /// degree) bounds the error of each entry. @param public_key inputs are encrypted under the public key
  ckks::Metadata describe(bool public_key = false) const;

 private:
  struct Stages {
    std::vector<Hlt> transforms;
    std::vector<Hlt::Scaling> scalings;
    std::vector<i64> copies;
    double scale = 1, bound = 1;  // of the base
  };
  Stages stages(const MatrixOperand& operand, double scale, double bound) const;
  template <class Key>
  ckks::Ciphertext encrypt(ckks::Client& client, const Key& key, std::span<const double> x, bool left) const;
  Factor factor(const ckks::Ciphertext& x, const ckks::KeySet& keys, bool left, unsigned threads) const;
  ckks::Metadata describe(const Stages& of, bool public_key, double bound) const;
  PairSum::Scaling product_scaling() const;

  ckks::ContextPtr ctx_;
  MatrixPlan plan_;
  Options options_;
  double scale_, result_bound_;
  std::size_t base_level_, product_level_;
  Stages left_, right_;
  PairSum products_;
  bool prepared_ = false;
};

}  // namespace ringforge::circuits
