// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Many products of encrypted d x d matrices at once (Cheon, Kang, Lee 2025; transposition after Park 2025). The
// derivation, and what differs here, is in docs/matmul-batch.md.
#pragma once

#include <array>
#include <complex>
#include <span>
#include <vector>

#include "ringforge/ckks/ckks.hpp"
#include "ringforge/counters.hpp"

namespace ringforge::circuits {

/// Which lines of a matrix are ciphertexts of their own.
enum class Lines { columns, rows };

/// Up to N/(2d) encrypted d x d matrices. Ciphertext j holds line j of all of them: the polynomial
/// sum_i X^i * m_i(X^d), where the slots of m_i are entry i of that line, one slot for each matrix. Levels, scales
/// and keys of the lines are equal.
struct MatrixBatch {
  std::vector<ckks::Ciphertext> lines;
  Lines by = Lines::columns;
  /// Declared bound of every |entry|, public.
  double bound = 1;
  std::size_t level() const { return lines.at(0).level(); }
  double scale() const { return lines.at(0).scale; }
  /// The transposed matrices: the same ciphertexts, read the other way.
  MatrixBatch transposed() const { return {lines, by == Lines::columns ? Lines::rows : Lines::columns, bound}; }
};

/// What one product costs: exact counts, and memory.
struct BatchMatmulCost {
  OpCounts ops;
  std::uint64_t multiply_adds = 0;  ///< modular multiply-adds of the matrix products
  std::uint64_t butterflies = 0;    ///< butterflies of the transforms across ciphertexts, not in ops
  std::size_t keys = 0;             ///< Galois keys; the relinearisation key comes on top
  std::size_t key_storage = 0;      ///< bytes of these keys and the relinearisation key, expanded
  std::size_t input_storage = 0;    ///< bytes of both operands
  std::size_t working = 0;          ///< bytes of temporaries and the result during a run, at most
};

/// What a run did and how long each phase took, in seconds.
struct BatchMatmulReport {
  double products = 0;   ///< matrix products modulo the primes, with packing and unpacking
  double switching = 0;  ///< key switches and relinearisations
  double transform = 0;  ///< transforms across ciphertexts
  double division = 0;   ///< division by P and the last prime
  std::uint64_t multiply_adds = 0, butterflies = 0;
  BatchMatmulReport& operator+=(const BatchMatmulReport& o) noexcept;
};

/// Encrypted products of batches of d x d matrices. Stateless apart from tables. Depth 1.
class BatchMatmul {
 public:
  /// Largest d: every thread holds tiles of 64*d*d bytes.
  static constexpr std::size_t kMaxDim = 1024;
  /// @param dim d, a power of two, 2 ... min(N/2, kMaxDim)
  /// @throws ShapeError for another d.
  BatchMatmul(ckks::ContextPtr context, std::size_t dim);

  const ckks::ContextPtr& context() const noexcept { return ctx_; }
  std::size_t dim() const noexcept { return dim_; }
  /// Complex matrices in a batch: N/(2d).
  std::size_t capacity() const noexcept { return ctx_->params().slots() / dim_; }

  // ---- client ----
  /// One plaintext for each of the d lines.
  /// @param matrices count x d x d numbers, matrix by matrix, each by rows; count <= capacity, the rest is zero
  /// @throws ShapeError for a size that is no multiple of d*d or too large; as Context::encode.
  std::vector<ckks::Plaintext> encode(std::span<const std::complex<double>> matrices, Lines by, double scale,
                                      std::size_t level, unsigned threads = 1) const;
  /// All `capacity` matrices. @throws ShapeError unless there are d plaintexts.
  std::vector<std::complex<double>> decode(std::span<const ckks::Plaintext> lines, Lines by,
                                           unsigned threads = 1) const;
  /// Encodes and encrypts. `bound` is declared: it travels in the open, so it must not be read off the data.
  /// Key is SecretKey or PublicKey.
  /// @throws ValueError when an entry exceeds the bound; as encode and Client::encrypt.
  template <class Key>
  MatrixBatch encrypt(ckks::Client& client, const Key& key, std::span<const std::complex<double>> matrices, Lines by,
                      double scale, std::size_t level, double bound = 1.0, unsigned threads = 1) const;
  std::vector<std::complex<double>> decrypt(ckks::Client& client, const ckks::SecretKey& sk, const MatrixBatch& batch,
                                            unsigned threads = 1) const;

  // ---- server ----
  /// Galois elements that products and conversions need, d - 1 of them. Products need a relinearisation key too.
  std::vector<u64> required_keys() const;

  /// left * right, matrix by matrix, one level lower, at scale left * right / last prime. The left operand is used by
  /// columns and the right one by rows; one that comes otherwise is converted first. The result comes in either
  /// form at the same price.
  /// @throws LevelError at level 0, for unequal levels or keys of a lower level; MismatchError for operands or
  ///         keys of another secret key or other parameters; MissingKeyError; ShapeError for operands that are not
  ///         d ciphertexts of two parts; ScaleError for lines of unequal scale, and as check_rescaled; ValueError when
  ///         results may not fit the lower level.
  MatrixBatch multiply(const MatrixBatch& left, const MatrixBatch& right, const ckks::KeySet& keys,
                       Lines result = Lines::columns, unsigned threads = 1, BatchMatmulReport* report = nullptr) const;

  /// The same matrices by other lines, at the same level: a transposition of the ciphertexts with d - 1 key
  /// switches. (`transposed` costs nothing.) @throws as multiply.
  MatrixBatch convert(const MatrixBatch& batch, Lines to, const ckks::GaloisKeys& galois, unsigned threads = 1,
                      BatchMatmulReport* report = nullptr) const;

  /// Drops primes of all lines without division. @throws LevelError when `level` is above the batch's.
  MatrixBatch drop_to_level(const MatrixBatch& batch, std::size_t level) const;

  /// Predicted cost of one product of operands of a level, with `conversions` (0, 1, 2) operands to convert.
  /// @throws LevelError.
  BatchMatmulCost cost(std::size_t level, unsigned conversions = 0, unsigned threads = 1) const;
  /// Predicted bound of |decrypted entry - exact entry| over all entries (probability 1 - 2^-40).
  double error_bound(const MatrixBatch& batch) const;

 private:
  /// Both parts of a ciphertext, perhaps over Q and P.
  using Pair = std::array<Poly<Eval>, 2>;
  /// What belongs to automorphism u in a product: the phase is fb + s'*fa + s*lb + s*s'*la, s' its image of s.
  struct Diagonal {
    Poly<Eval> fb, fa, lb, la;
  };
  /// Matrix products take multiples of this.
  static constexpr std::size_t kPad = 16;
  void check(const MatrixBatch& batch) const;
  void check_operands(const MatrixBatch& left, const MatrixBatch& right, const ckks::RelinKey& relin) const;
  /// The Galois key of each element(u), checked; null for u = 0.
  std::vector<std::shared_ptr<const rlwe::SwitchingKey>> keys_of(const ckks::GaloisKeys& keys,
                                                                 const MatrixBatch& batch) const;
  /// A result of this scale, bound and error, without polynomials.
  MatrixBatch described(const MatrixBatch& from, Lines by, double scale, double bound, double variance, double spread,
                        double float_error) const;
  /// The largest of the lines': it bounds that of an entry, a mean of slots.
  static double float_error(const MatrixBatch& batch);
  u64 element(std::size_t u) const noexcept { return 1 + ctx_->ring().index() / dim_ * u; }
  std::size_t images(std::array<u32, 8>& at, std::size_t first, std::size_t block, std::size_t u,
                     std::size_t stride) const noexcept;
  std::vector<Diagonal> products(const MatrixBatch& left, const MatrixBatch& right, unsigned threads,
                                 BatchMatmulReport& report) const;
  Pair switch_diagonal(Diagonal&& diagonal, std::size_t u, const rlwe::SwitchingKey* galois,
                       const ckks::RelinKey& relin) const;
  Pair switch_part(Pair&& part, std::size_t u, const rlwe::SwitchingKey* galois) const;
  void divide(MatrixBatch& out, std::vector<Pair>& values, const rlwe::ModulusDrop& drop, unsigned threads) const;
  std::vector<Pair> diagonals_of(const MatrixBatch& batch, unsigned threads, BatchMatmulReport& report) const;
  /// From diagonals to lines: turns values at (position, automorphism) into coefficients, in place.
  void to_lines(std::vector<Pair>& values, unsigned threads, BatchMatmulReport& report) const;

  double product_bound(const MatrixBatch& left, const MatrixBatch& right) const;
  double product_scale(const MatrixBatch& left, const MatrixBatch& right) const;
  /// Variance and spread of a product's errors.
  std::pair<double, double> predict(const MatrixBatch& left, const MatrixBatch& right) const;

  ckks::ContextPtr ctx_;
  std::size_t dim_ = 0;
  unsigned log_dim_ = 0;
  std::vector<u32> reversed_;               // log2 d bits in reverse order
  std::vector<u32> exponent_;               // position -> exponent of psi there, modulo d
  std::vector<u32> inverse_;                // u -> number of the inverse automorphism
  std::vector<std::complex<double>> zeta_;  // exp(i*pi*k/N)
  std::vector<u32> slot_of_;                // (exponent - 1)/4 -> slot
};

}  // namespace ringforge::circuits
