// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// CKKS parameters: an editable specification, and the checked immutable set made from it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "ringforge/ring.hpp"
#include "ringforge/rlwe/security.hpp"

namespace ringforge::ckks {

/// What a user may write down; turned into `Parameters` by checking.
struct ParametersSpec {
  std::string name;              ///< free text, at most 64 bytes; not part of the identity
  unsigned log_n = 0;            ///< log2 of the ring degree, 10 ... 17
  std::vector<u64> q;            ///< primes of Q, 1 ... 64; q[0] is the last to be dropped
  std::vector<u64> p;            ///< special primes, 1 ... 16
  unsigned limbs_per_digit = 1;  ///< alpha of hybrid key switching; 1 is per-limb
  double log_scale = 40;         ///< log2 of the default scale, 10 ... 60
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
  std::size_t slots() const noexcept { return degree() / 2; }
  std::size_t max_level() const noexcept { return spec_.q.size() - 1; }
  double log_q() const noexcept;
  double log_qp() const noexcept { return log_qp_; }
  /// Whether the 2024 guideline gives these parameters 128 bits.
  bool secure() const noexcept { return log_qp_ <= rlwe::max_log_qp(spec_.log_n); }
  /// SHA-256 of degree, primes, digits and scale: names and reasons do not count.
  const std::array<std::uint8_t, 32>& hash() const noexcept { return hash_; }
  friend bool operator==(const Parameters& a, const Parameters& b) noexcept { return a.hash_ == b.hash_; }

 private:
  ParametersSpec spec_;
  double log_qp_ = 0;
  std::array<std::uint8_t, 32> hash_{};
};

/// The smallest secure set for `depth` rescalings, results good to `precision_bits` (values up to 1; 4 ... 44), and
/// at least `slots` slots. Results may reach 2^headroom_bits in size. `why` receives the reasoning.
/// @throws ParameterError when no degree up to 2^17 suffices, naming what was short.
Parameters suggest(unsigned depth, double precision_bits, std::size_t slots, std::string* why = nullptr,
                   unsigned headroom_bits = 9);

}  // namespace ringforge::ckks
