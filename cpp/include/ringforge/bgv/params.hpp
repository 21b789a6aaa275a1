// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// BGV parameters: an editable specification, and the checked immutable set made from it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "ringforge/ring.hpp"
#include "ringforge/rlwe/security.hpp"

namespace ringforge::bgv {

/// What a user may write down; turned into `Parameters` by checking. Plaintexts are modulo 2.
struct ParametersSpec {
  std::string name;              ///< free text, at most 64 bytes; not part of the identity
  u64 m = 0;                     ///< index of the ring Z[X]/Phi_m, one that Ring::tensor takes, of degree 64 and more
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
  const Ring& ring() const noexcept { return ring_; }
  u64 m() const noexcept { return spec_.m; }
  /// N = phi(m), a power of two: bits of a plaintext.
  std::size_t degree() const noexcept { return ring_.degree(); }
  unsigned log_n() const noexcept { return log_n_; }
  std::size_t max_limbs() const noexcept { return spec_.q.size(); }
  /// log2 of the product of the first `limbs` primes of Q. @throws LevelError unless Q has so many.
  double log_q(std::size_t limbs) const;
  double log_q() const { return log_q(max_limbs()); }
  double log_qp() const noexcept { return log_qp_; }
  /// Whether the 2024 guideline gives a ring of this degree 128 bits.
  bool secure() const noexcept { return log_qp_ <= rlwe::max_log_qp(log_n_); }
  /// SHA-256 of index, primes and digits: names and reasons do not count.
  const std::array<std::uint8_t, 32>& hash() const noexcept { return hash_; }
  friend bool operator==(const Parameters& a, const Parameters& b) noexcept { return a.hash_ == b.hash_; }

 private:
  ParametersSpec spec_;
  Ring ring_;
  unsigned log_n_ = 0;
  double log_qp_ = 0;
  std::array<std::uint8_t, 32> hash_{};
};

}  // namespace ringforge::bgv
