// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Randomness. Secrets and seeds come from the operating system's generator (getentropy).
//
// Seed expansion, format "ringforge-xof-1" (part of every file format that stores seeds):
//   k || iv = SHAKE256("ringforge-xof-1" || seed || le32(object) || le32(digit) || le32(limb)), 32 + 16 bytes;
//   the stream is AES-256-CTR(k, iv), read as little-endian 64-bit words.
// A uniform residue modulo q takes one word, masked to bits(q) bits, rejected when >= q. Ternary and
// error polynomials take words as described at their samplers.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "ringforge/constant_time.hpp"
#include "ringforge/ring.hpp"

namespace ringforge {

using Seed = std::array<std::uint8_t, 32>;

/// What a stream is for; part of the format, never renumbered. From 0x8000 on: for schemes outside the library.
enum class StreamObject : u32 {
  ciphertext = 1,     ///< second half of a secret-key encryption
  public_key = 2,     ///< second half of a public key
  switching_key = 3,  ///< second halves of evaluation keys, per digit and limb
  secret = 4,
  error = 5,
  mask = 6,            ///< ephemeral ternary polynomial of public-key encryption
  flood = 7,           ///< noise added before a result is shared
  fork = 8,            ///< seeds of a TestRandomness
  small_row = 9,       ///< first half of a row of an evaluation key or ciphertext over a small ring
  lwe_row = 10,        ///< first halves of key-switching entries between LWE keys, per coefficient
  signal_key = 32,     ///< first half of a key of signals
  signal_secret = 33,  ///< secret of a receiver of signals
  signal = 34,         ///< ephemeral secret and errors of one signal
  signal_trial = 35,   ///< secrets that signals are tried with
  message_sign = 48,   ///< public signs of the bits of an LTV message
};

/// The pseudo-random stream of (seed, object, digit, limb).
class Stream {
 public:
  Stream(const Seed& seed, StreamObject object, u32 digit = 0, u32 limb = 0);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  u64 next() noexcept {
    if (used_ == kWords) refill();
    return words_[used_++];
  }

 private:
  void refill() noexcept;
  static constexpr std::size_t kWords = 512;
  struct Cipher;
  std::unique_ptr<Cipher> cipher_;
  std::array<u64, kWords> words_;
  std::size_t used_ = kWords;
};

/// A seed that may expand to secrets: wiped at the end. Converts to Seed where one is asked for.
class SecretSeed {
 public:
  SecretSeed() = default;
  ~SecretSeed() { wipe(value_.data(), value_.size()); }
  SecretSeed(SecretSeed&& o) noexcept : value_(o.value_) { wipe(o.value_.data(), o.value_.size()); }
  SecretSeed(const SecretSeed&) = delete;
  SecretSeed& operator=(const SecretSeed&) = delete;
  operator const Seed&() const noexcept { return value_; }  // NOLINT(google-explicit-constructor)
  std::uint8_t* data() noexcept { return value_.data(); }

 private:
  Seed value_{};
};

/// Source of fresh seeds: the operating system's generator, asked anew for each. It has no state, so seeds are
/// unique over threads, forks, copies and moves; any threads may share one.
class Randomness {
 public:
  Randomness() = default;
  /// A new seed, independent of all others; publishing it reveals nothing of them.
  /// @throws Error when the system's generator fails.
  SecretSeed next_seed() const;
  /// The same for a seed that will be published: declassified.
  Seed next_public_seed() const;

 private:
  friend class TestRandomness;
  struct Fixed;
  std::shared_ptr<Fixed> fixed_;  // of TestRandomness; null otherwise
};

/// Seeds that follow from one, for tests only: nothing made from it is secret. It passes as Randomness; copies draw
/// from the same sequence and threads may share it, but a forked child repeats its parent.
class TestRandomness : public Randomness {
 public:
  explicit TestRandomness(const Seed& root);
};

/// Small signed coefficients that may be secret: move-only, wiped at the end.
class SmallPoly {
 public:
  explicit SmallPoly(std::size_t n) : c_(n) {}
  ~SmallPoly() { wipe(c_.data(), c_.size() * sizeof(i64)); }
  SmallPoly(SmallPoly&&) noexcept = default;
  SmallPoly& operator=(SmallPoly&& o) noexcept {
    wipe(c_.data(), c_.size() * sizeof(i64));
    c_ = std::move(o.c_);
    return *this;
  }
  SmallPoly(const SmallPoly&) = delete;
  SmallPoly& operator=(const SmallPoly&) = delete;
  std::vector<i64>& coeffs() noexcept { return c_; }
  const std::vector<i64>& coeffs() const noexcept { return c_; }
  /// The polynomial over a basis, in Eval form. Coefficients must be below 2^62 in size.
  /// @throws MismatchError when the basis has another degree.
  template <class Word>
  Poly<Eval, Word> lift(const BasisOf<Word>& basis, unsigned threads = 1) const;

 private:
  std::vector<i64> c_;
};

/// Variance of the error distribution: centred binomial with 21 coin pairs, sigma = 3.24.
inline constexpr double kErrorVariance = 10.5;
/// One error: popcount of bits 0-20 of the word minus popcount of bits 21-41.
inline i64 error_of(u64 word) noexcept {
  // One count for both halves: a - b = a + (21 - b) - 21, and 21 - b is the number of zeros of the upper half.
  constexpr u64 kHalf = (u64{1} << 21) - 1;
  return static_cast<i64>(ones_of((word ^ kHalf << 21) & (kHalf << 21 | kHalf))) - 21;
}

/// A uniform element of the ring modulo every prime; limb i of the basis uses stream limb `first_limb + i`. The stream
/// gives the residues of Eval form, in padded rings the coefficients; they are the same in words of both widths.
template <class Word>
Poly<Eval, Word> sample_uniform(const BasisOf<Word>& basis, const Seed& seed, StreamObject object, u32 digit = 0,
                                u32 first_limb = 0, unsigned threads = 1);
/// Coefficients uniform in {-1, 0, 1}: two bits each, the pattern 3 rejected.
SmallPoly sample_ternary(std::size_t n, const Seed& seed, StreamObject object);
/// Centred binomial: `error_of` one word per coefficient.
SmallPoly sample_error(std::size_t n, const Seed& seed, u32 digit = 0);

}  // namespace ringforge
