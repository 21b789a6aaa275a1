// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Private signalling of oblivious message retrieval (SophOMR, Lee, Yeo, 2024): a signal is an encryption of zero under
// the receiver's key that nobody else can tell from random words.
//
// Over Z_q[x]/(x^n + 1): the secret s has `weight` coefficients 1 or -1, the key is (A, B = A s + e), a signal
// (a, b) = (A r + e1, the first `clues` coefficients of B r + e2) with r as s. Its error is a s - b = e1 s - e r - e2
// in these coefficients. What depends on a secret (s, r, errors) is sampled and computed in constant time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ringforge/memory.hpp"
#include "ringforge/random.hpp"
#include "ringforge/ring.hpp"

namespace ringforge::omr {

/// What fixes signals. Made by `make` only.
struct SignalParameters {
  unsigned log_n = 0;      ///< log2 of the ring's degree, 4 ... 12
  u64 q = 0;               ///< a prime, 1 mod 2n, in (2^16, 2^20)
  unsigned clues = 0;      ///< coefficients of b, 1 ... 8
  unsigned weight = 0;     ///< of s and r, 1 ... min(n, 2047)
  double deviation = 0;    ///< of the errors' Gaussian, in [0.1, 8]
  bool discrete = false;   ///< a discrete Gaussian; otherwise a continuous one, rounded
  BasisOf<u32> basis;      ///< the prime in its ring
  std::vector<u64> tails;  ///< 2^63 P(|error| >= k) for k = 1, 2, ..., as long as not 0

  /// @throws ParameterError outside of these ranges.
  static SignalParameters make(unsigned log_n, u64 q, unsigned clues, unsigned weight, double deviation, bool discrete);
  std::size_t n() const noexcept { return std::size_t{1} << log_n; }
  /// Bytes of a packed signal.
  std::size_t packed() const noexcept;
};

/// @throws FormatError naming `what` when a word is not below q.
void require_residues(std::span<const u32> words, u64 q, const char* what);

/// The public key. Immutable; any threads may share it.
class SignalKey {
 public:
  /// @param b n residues below q.
  /// @throws ShapeError or FormatError when they are not.
  SignalKey(SignalParameters parameters, const Seed& seed, std::vector<u32> b);

  const SignalParameters& parameters() const noexcept { return parameters_; }
  /// A, in Eval form, is sample_uniform of it with StreamObject::signal_key.
  const Seed& seed() const noexcept { return seed_; }
  /// B, n coefficients.
  std::span<const u32> b() const noexcept { return b_; }
  /// `count` signals: a has n residues for each, b as many as there are clues.
  void signals(u32* a, u32* b, std::size_t count, const Randomness& rng, unsigned threads = 1) const;

 private:
  SignalParameters parameters_;
  Seed seed_;
  std::vector<u32> b_;
  WordArray<u32> a_eval_, b_eval_;
};

/// The secret: move-only, wiped at the end. 32 bytes, from which s, e and the key's seed follow.
class SignalSecret {
 public:
  static SignalSecret make(SignalParameters parameters, const Randomness& rng);
  SignalSecret(SignalParameters parameters, SecretSeed seed);

  const SignalParameters& parameters() const noexcept { return parameters_; }
  const Seed& seed() const noexcept { return seed_; }
  /// s: n coefficients, -1, 0 or 1.
  std::span<const i64> coefficients() const noexcept { return s_.coeffs(); }
  SignalKey key() const;
  /// The errors of signals, in (-q/2, q/2): uniform for signals of others. `clues` for each signal.
  /// @param a residues below q, as are b.
  void errors(std::int32_t* out, const u32* a, const u32* b, std::size_t count, unsigned threads = 1) const;

 private:
  SignalParameters parameters_;
  SecretSeed seed_;
  SmallPoly s_;
};

/// Signals as they travel: for each, the words of a and b without gaps (packing.hpp), `packed()` bytes.
void pack_signals(std::uint8_t* dst, const SignalParameters& parameters, const u32* a, const u32* b, std::size_t count,
                  unsigned threads = 1);
/// The inverse. @throws FormatError naming a signal with a word that is not below q, or bits that are left over.
void unpack_signals(u32* a, u32* b, const SignalParameters& parameters, const std::uint8_t* src, std::size_t count,
                    unsigned threads = 1);

/// How many of `trials` fresh random secrets would take each signal for theirs, with errors of at most `range` in all
/// clues. Signals that are nobody's hit each with ((2 range + 1) / q)^clues; degenerate ones, such as zeros, hit many.
/// The time depends on the signals, which are public.
/// @param a residues below q, as are b. enough: a signal that has so many hits is tried with no further secret.
/// @throws ParameterError unless 1 <= trials <= 2^16, 1 <= enough and 2 range + 1 < q.
void count_hits(u32* hits, const SignalParameters& parameters, const u32* a, const u32* b, std::size_t count, u32 range,
                u32 trials, const Randomness& rng, unsigned threads = 1, u32 enough = ~u32{0});

}  // namespace ringforge::omr
