// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The affine transform of oblivious message retrieval: for a bulletin of N signals (a_m, b_m), a_m in Z_t^n, and a
// signal key s in Z_t^n under encryption, the ciphertexts of (a_m * s)_l, l < outputs, the first coefficients of the
// products modulo X^n + 1, one slot for each m.
//
// Slots are N values modulo t in two rows of N/2, which rotate apart: slot (row, i) is the value at psi^(+-5^i), and
// X -> X^(5^k) rotates the rows left by k. Message m lies in slot (m div N/2, m mod N/2).
//
// Both methods are baby-step giant-step products with diagonals (SophOMR, Algorithm 1), k = g*B + b:
//   paper      a matrix for each output l, A_l[m][c] = a_m[l - c] for c <= l, else -a_m[n + l - c]; the key's slots
//              v have the period n. Diagonal k of output l is A_l[m][(m + k) mod n], and out_l = sum_k d_k * Rot_k(v).
//   ringforge  v has the period 2n, v[i] = s[i mod n] * (-1)^(i div n). Then out_l = sum_k d_k * Rot_{k + l}(v) with
//   the
//              same d_k[m] = +-a_m[(-k - m) mod n] for every l, minus where (-k - m) mod 2n >= n
//              (docs/omr-algorithm.md has the proof): one set of diagonals, and outputs - 1 more baby steps.
// Diagonals are rotated right by their giant step and kept as polynomials modulo t in coefficient form, without gaps.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <vector>

#include "ringforge/bfv/bfv.hpp"
#include "ringforge/counters.hpp"

namespace ringforge::circuits {

enum class OmrMethod : std::uint8_t { paper = 0, ringforge = 1 };

/// What diagonals depend on. Immutable; any threads may share one.
class OmrLayout {
 public:
  /// @param ring negacyclic, of degree N
  /// @param t prime, 1 modulo 2N, below 2^32
  /// @param columns n, a power of two with 2n <= N/2
  /// @param outputs 1 to 8, at most n
  /// @param babies B, 1 to n
  /// @throws ParameterError.
  OmrLayout(const Ring& ring, u64 t, std::size_t columns, std::size_t outputs, std::size_t babies, OmrMethod method);

  OmrMethod method() const noexcept { return method_; }
  std::size_t slots() const noexcept { return ring_.degree(); }
  std::size_t columns() const noexcept { return columns_; }
  std::size_t outputs() const noexcept { return outputs_; }
  std::size_t babies() const noexcept { return babies_; }
  const Ring& ring() const noexcept { return ring_; }
  const Prime& plain() const noexcept { return *plain_; }

  std::size_t giants() const noexcept { return (columns_ + babies_ - 1) / babies_; }
  /// Matrices: one for each output of `paper`, else one.
  std::size_t matrices() const noexcept { return method_ == OmrMethod::paper ? outputs_ : 1; }
  /// Diagonals of one matrix at giant step g: B, or fewer at the last.
  std::size_t terms(std::size_t g) const noexcept;
  /// Rotations of the key that are used: B, and for `ringforge` outputs - 1 more.
  std::size_t rotations() const noexcept { return babies_ + (method_ == OmrMethod::ringforge ? outputs_ - 1 : 0); }
  /// Bytes of one diagonal and of giant step g.
  std::size_t diagonal_bytes() const noexcept;
  std::size_t bytes(std::size_t g) const noexcept { return matrices() * terms(g) * diagonal_bytes(); }

  /// The diagonals of giant step g: matrix by matrix, babies ascending; bytes(g) bytes.
  /// @param signals a_m for each m, N rows of n words below t
  /// @throws ShapeError for another number of words, ValueError for a word of t or more, LevelError for g.
  void encode(std::uint8_t* dst, std::span<const u32> signals, std::size_t g, unsigned threads = 1) const;

  /// The slots of v for a key of n values modulo t: `slots()` words.
  /// @throws ShapeError, ValueError.
  std::vector<u64> key_slots(std::span<const u32> key) const;

 private:
  Ring ring_;
  std::shared_ptr<const Prime> plain_;
  std::size_t columns_, outputs_, babies_;
  OmrMethod method_;
  std::vector<u32> slot_of_;  // of each index of Eval form
};

/// Both parts of a ciphertext by limbs, in the order of the primes.
using PairLimbs = std::array<std::vector<std::span<const u64>>, 2>;

/// Progress: the fraction done; false cancels (Error "cancelled").
using OmrProgress = std::function<bool(double)>;

/// Rotations of the encrypted key by 0, 1, 2 ...; what is known of the noise of each.
struct OmrBabies {
  std::vector<rlwe::Ciphertext> rotations;
  std::vector<bfv::Noise> noise;
};

/// The transform on BFV ciphertexts. Immutable; any threads may share one.
///
/// Noise: diagonals are products with signals, whose first halves are public and pass for random, so that the terms of
/// a sum have nothing to do with each other: their variances add, each with the largest norm that a diagonal can have.
class OmrAffine {
 public:
  /// A block of giant steps of one bulletin: what one worker does.
  struct Shard {
    std::size_t first = 0, count = 0;
  };

  /// @param limbs of the encrypted key
  /// @throws MismatchError when the layout is of another ring or plaintext modulus, LevelError unless Q has so many.
  OmrAffine(bfv::ContextPtr context, OmrLayout layout, std::size_t limbs);

  const bfv::ContextPtr& context() const noexcept { return ctx_; }
  const OmrLayout& layout() const noexcept { return layout_; }
  std::size_t limbs() const noexcept { return limbs_; }
  /// Galois elements of a step of one slot and of B slots: the keys that are needed.
  u64 baby_element() const noexcept { return 5; }
  u64 giant_element() const noexcept;

  /// Rot_0(v) ... Rot_{rotations() - 1}(v), each from the one before.
  /// @throws MissingKeyError; MismatchError and ShapeError for a foreign `v`; LevelError for one of other limbs.
  OmrBabies babies(const bfv::Ciphertext& v, const rlwe::GaloisKeys& keys, unsigned threads = 1,
                   const OmrProgress& progress = {}) const;

  /// The outputs of a shard, sum_{g in shard} Rot_{(g - first)B}(sum_b ...), by Horner's rule from its last giant step.
  /// @param diagonals of each giant step of the shard, bytes(g) bytes; words of t or more give wrong results
  /// @throws LevelError for a shard outside, ShapeError for other diagonals or babies, MismatchError for babies of
  ///         other parameters, MissingKeyError.
  std::vector<bfv::Ciphertext> run(const OmrBabies& babies, Shard shard,
                                   std::span<const std::span<const std::uint8_t>> diagonals,
                                   const rlwe::GaloisKeys& keys, unsigned threads = 1,
                                   const OmrProgress& progress = {}) const;

  /// Two neighbouring shards' outputs to those of both: Rot_{count*B}(upper) + lower, `count` that of the lower one.
  /// @throws ShapeError for other numbers of outputs, as `babies`.
  std::vector<bfv::Ciphertext> combine(std::span<const bfv::Ciphertext> lower, std::size_t count,
                                       std::span<const bfv::Ciphertext> upper, const rlwe::GaloisKeys& keys,
                                       unsigned threads = 1, const OmrProgress& progress = {}) const;

  // ---- `run` in two pieces that several machines can share, with the same words ----
  /// One limb of the rotations, and where its sums go.
  struct LimbWork {
    std::size_t limb = 0;
    std::span<const u64> babies;  ///< [rotation][part][N]
    std::span<u64> out;           ///< [output][giant step of the shard][part][N]
  };
  /// First: the sums of each giant step, before any is rotated, at some limbs. Each limb is for itself.
  /// @throws LevelError for a shard outside, ShapeError for other diagonals, rotations or room.
  void sums(std::span<const LimbWork> limbs, Shard shard, std::span<const std::span<const std::uint8_t>> diagonals,
            unsigned threads = 1, const OmrProgress& progress = {}) const;
  /// Then: one output, from its sums at all limbs, for each giant step of the shard.
  /// @throws ShapeError, ValueError for words that are no residues, MissingKeyError.
  rlwe::Ciphertext horner(std::span<const PairLimbs> steps, const rlwe::GaloisKeys& keys, unsigned threads = 1,
                          const OmrProgress& progress = {}) const;

  // ---- for results that another machine computed: limbs[part][limb] of each ciphertext ----
  /// Refuses what `babies` and `run` would refuse. @throws as they do.
  void check_babies(const bfv::Ciphertext& v, const rlwe::GaloisKeys& keys) const;
  void check_run(const OmrBabies& babies, Shard shard, const rlwe::GaloisKeys& keys) const;
  /// Of `check_run`, what concerns the shard and the keys, for rotations under a secret key of this id.
  void check_giants(u64 key_id, Shard shard, const rlwe::GaloisKeys& keys) const;
  /// The results of `babies`, from the rotations behind the first, and of `run`, from its outputs.
  /// @throws ShapeError, ValueError for words that are no residues.
  OmrBabies assemble_babies(const bfv::Ciphertext& v, std::span<const PairLimbs> rotations) const;
  std::vector<bfv::Ciphertext> assemble(const OmrBabies& babies, Shard shard, std::span<const PairLimbs> outputs) const;
  /// The same where the rotations are elsewhere. @param v the encrypted key that they are of
  std::vector<bfv::Ciphertext> assemble(const bfv::Ciphertext& v, Shard shard,
                                        std::span<const PairLimbs> outputs) const;

  // ---- what a planner asks ----
  /// What `babies`, `run` and `combine` count.
  OpCounts baby_counts() const;
  /// @throws LevelError for a shard outside, here and below.
  OpCounts run_counts(Shard shard) const;
  OpCounts combine_counts(std::size_t count) const;
  /// Bytes of residues that `babies` leaves, and that `run` holds beside them.
  std::size_t baby_bytes() const noexcept;
  std::size_t run_bytes(Shard shard, unsigned threads) const;
  /// Noise of every rotation of a key with noise `v`, of output l of a shard, and of two shards together.
  /// @param rules other than the context's, for another confidence
  /// @throws MismatchError for rules of other parameters.
  std::vector<bfv::Noise> baby_noise(const bfv::Noise& v, const bfv::NoiseRules* rules = nullptr) const;
  bfv::Noise run_noise(std::span<const bfv::Noise> babies, Shard shard, std::size_t l,
                       const bfv::NoiseRules* rules = nullptr) const;
  bfv::Noise combined_noise(const bfv::Noise& lower, std::size_t count, const bfv::Noise& upper) const;

 private:
  void check(const rlwe::Ciphertext& c, const char* what) const;
  void check(Shard shard) const;
  void check_diagonals(Shard shard, std::span<const std::span<const std::uint8_t>> diagonals) const;
  void count_sums(Shard shard, std::size_t limbs) const;
  std::vector<bfv::Ciphertext> assembled_outputs(std::span<const bfv::Noise> babies, u64 key_id, Shard shard,
                                                 std::span<const PairLimbs> outputs) const;
  bfv::Noise step_noise(std::span<const bfv::Noise> babies, std::size_t g, std::size_t l,
                        const bfv::NoiseRules& rules) const;
  const bfv::NoiseRules& checked(const bfv::NoiseRules* rules) const;
  OpCounts rotation_counts(std::size_t count) const;

  bfv::ContextPtr ctx_;
  OmrLayout layout_;
  std::size_t limbs_;
};

}  // namespace ringforge::circuits
