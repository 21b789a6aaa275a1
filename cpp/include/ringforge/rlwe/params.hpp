// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// What parameter sets of the schemes have in common: the rules of their primes, digits and security, and why a set is
// refused.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ringforge/error.hpp"
#include "ringforge/ring.hpp"

namespace ringforge::rlwe {

/// Why a specification is refused.
enum class ParameterFailure {
  degree,             ///< log_n outside 10 ... 17
  plaintext_modulus,  ///< BFV: t outside 2 ... 2^32 - 1, a multiple of a prime, or too large for the first prime
  limb_count,         ///< no primes, or too many
  modulus,            ///< not a prime, not 1 mod 2N, too small, too large, or repeated
  digit,              ///< the special primes are smaller than a key-switching digit
  scale,              ///< CKKS: log_scale outside 10 ... 60, or above log2 q[0] - 2
  not_secure,         ///< log2(QP) above the 128-bit limit and no `insecure` reason given
  text,               ///< a name or reason over 64 / 256 bytes
};
/// One sentence for each failure.
const char* explain(ParameterFailure f) noexcept;
/// @throws ParameterError of the failure's sentence and `detail`: the value, the limit and the remedy.
[[noreturn]] void refuse(ParameterFailure f, const std::string& detail);

/// The part of a specification that every scheme has.
struct ChainSpec {
  const std::string& name;
  unsigned log_n;
  const std::vector<u64>&q, &p;
  unsigned limbs_per_digit;
  const std::string& insecure;
};
/// log2(QP) of a chain that keeps the rules, over X^N + 1. @throws ParameterError naming the failure, the value, the
/// limit and the remedy.
double checked_log_qp(const ChainSpec& spec);
/// The same over another ring of degree 2^log_n, whatever log_n is: primes are 1 modulo `step`.
double checked_log_qp(const ChainSpec& spec, u64 step);

/// `count` primes that are 1 mod `step`, descending from below 2^log, none in `exclude`.
/// @throws ParameterError when there are not that many above 2^(log - 1).
std::vector<u64> primes_under(double log, std::size_t count, u64 step, const std::vector<u64>& exclude);
/// Primes by the logarithm of what they are below, "50 42.5*4": one below 2^50, then four below 2^42.5. Found ones are
/// added to `taken`, and none is taken twice.
std::vector<u64> primes_of(const std::string& text, u64 step, std::vector<u64>& taken);

/// log2 of the product of primes.
double log2_of(std::span<const u64> primes);

/// Names of a table of shipped sets.
template <class Sets>
std::vector<std::string> names_of(const Sets& sets) {
  std::vector<std::string> out;
  for (const auto& s : sets) out.emplace_back(s.name);
  return out;
}

/// The row of a table of shipped sets. @throws ParameterError listing the names; also for a set below 128 bits when
/// `insecure` is empty.
template <class Sets>
const auto& row_of(const Sets& sets, const std::string& name, const std::string& insecure) {
  std::string all;
  for (const auto& s : sets) {
    all += (all.empty() ? "" : ", ") + std::string(s.name);
    if (name != s.name) continue;
    if (*s.insecure != '\0' && insecure.empty())
      throw ParameterError("the set " + name + " is not secure (" + s.insecure +
                           "): state why it may be used with insecure=\"...\", as in named(\"" + name +
                           "\", insecure=\"why\")");
    return s;
  }
  throw ParameterError("there is no parameter set \"" + name + "\"; the sets are " + all);
}

}  // namespace ringforge::rlwe
