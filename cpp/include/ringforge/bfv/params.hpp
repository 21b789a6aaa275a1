// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// BFV parameters: an editable specification, and the checked immutable set made from it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "ringforge/ring.hpp"
#include "ringforge/rlwe/security.hpp"

namespace ringforge::bfv {

/// What a user may write down; turned into `Parameters` by checking.
struct ParametersSpec {
  std::string name;              ///< free text, at most 64 bytes; not part of the identity
  unsigned log_n = 0;            ///< log2 of the ring degree, 10 ... 17
  u64 t = 0;                     ///< plaintext modulus, 2 ... 2^32 - 1; a prime that is 1 mod 2N allows batching
  std::vector<u64> q;            ///< primes of Q, 1 ... 64; q[0] is the last to be dropped
  std::vector<u64> p;            ///< special primes, 1 ... 16
  unsigned limbs_per_digit = 1;  ///< alpha of hybrid key switching; 1 is per-limb
  std::string insecure;          ///< why a set below 128 bits may be used; empty otherwise
};

/// A checked parameter set. Immutable; identified by its hash.
class Parameters {
 public:
  /// @throws ParameterError naming the failure (rlwe::ParameterFailure), the value, the limit and the remedy.
  explicit Parameters(ParametersSpec spec);

  /// A shipped set. @throws ParameterError listing the names; also for a set below 128 bits when
  /// `insecure` is empty.
  static Parameters named(const std::string& name, const std::string& insecure = "");
  /// Names of the shipped sets.
  static std::vector<std::string> names();

  const ParametersSpec& spec() const noexcept { return spec_; }
  std::size_t degree() const noexcept { return std::size_t{1} << spec_.log_n; }
  u64 t() const noexcept { return spec_.t; }
  /// Whether plaintexts have slots: t is a prime that is 1 modulo 2N.
  bool batching() const noexcept { return batching_; }
  /// Slots of one of the two rows: N/2.
  std::size_t row() const noexcept { return degree() / 2; }
  std::size_t max_limbs() const noexcept { return spec_.q.size(); }
  /// log2 of the product of the first `limbs` primes of Q. @throws LevelError unless Q has so many.
  double log_q(std::size_t limbs) const;
  double log_q() const { return log_q(max_limbs()); }
  double log_qp() const noexcept { return log_qp_; }
  /// Whether the 2024 guideline gives these parameters 128 bits.
  bool secure() const noexcept { return log_qp_ <= rlwe::max_log_qp(spec_.log_n); }
  /// SHA-256 of degree, plaintext modulus, primes and digits: names and reasons do not count.
  const std::array<std::uint8_t, 32>& hash() const noexcept { return hash_; }
  friend bool operator==(const Parameters& a, const Parameters& b) noexcept { return a.hash_ == b.hash_; }

 private:
  ParametersSpec spec_;
  double log_qp_ = 0;
  bool batching_ = false;
  std::array<std::uint8_t, 32> hash_{};
};

/// The smallest secure set with plaintext modulus t in which `depth` products can follow one another: each of two
/// results of the step before, relinearised, rotated and added to another of its kind. Encryption may be with the
/// public key. `batching`: only degrees at which t has slots count. `why` receives the reasoning.
/// @throws ParameterError when no degree up to 2^17 suffices, naming what was short.
Parameters suggest(unsigned depth, u64 t, bool batching = true, std::string* why = nullptr);

}  // namespace ringforge::bfv
