// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Messages of private set intersection: a magic, the plan's hash, then what the message holds. Internal.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>

#include "ringforge/circuits/psi.hpp"
#include "ringforge/error.hpp"

namespace ringforge::circuits {

inline constexpr char kPsiKeys[] = "RGFPSIK1";
inline constexpr char kPsiRequest[] = "RGFPSIQ1";
inline constexpr char kPsiReply[] = "RGFPSIR1";
inline constexpr std::size_t kPsiHeader = 8 + 32;

inline std::uint8_t* put_header(std::uint8_t* dst, const char* magic, const PsiPlan& plan) {
  const auto hash = plan.hash();
  std::memcpy(dst, magic, 8);
  std::memcpy(dst + 8, hash.data(), hash.size());
  return dst + kPsiHeader;
}

/// Checks length, magic and hash; returns what follows the header.
inline const std::uint8_t* check_header(std::span<const std::uint8_t> bytes, std::size_t expected, const char* magic,
                                        const PsiPlan& plan, const char* what) {
  if (bytes.size() != expected)
    throw FormatError(std::string(what) + " has " + std::to_string(bytes.size()) + " bytes, this plan's have " +
                      std::to_string(expected));
  if (std::memcmp(bytes.data(), magic, 8) != 0) throw FormatError(std::string("these bytes are no ") + what);
  const auto hash = plan.hash();
  if (std::memcmp(bytes.data() + 8, hash.data(), hash.size()) != 0)
    throw MismatchError(std::string(what) + " belongs to another plan");
  return bytes.data() + kPsiHeader;
}

/// Stages that are expanded breadth first, so that every thread has several subtrees.
inline unsigned psi_top_stages(const PsiPlan& plan, unsigned threads) {
  unsigned top = 0;
  while (threads > 1 && (1u << top) < 4 * threads) ++top;
  return std::min({top, plan.stages(), 5u});
}
/// Buffers of one lookup, in rows of 2N words: rebuilt RGSW ciphertexts, transformed rows, the stack of the tree.
inline std::size_t psi_lookup_rows(const PsiPlan& plan) {
  return std::size_t{plan.rgsw_bits()} * 2 * plan.gadget.count + ((std::size_t{1} << plan.log_onehot) + 1) / 2 +
         plan.tree_bits() + 4 + 16;
}

}  // namespace ringforge::circuits
