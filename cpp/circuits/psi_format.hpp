// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// What both sides of private set intersection know of messages: records with the plan's hash. Internal.
#pragma once

#include <algorithm>
#include <cstring>

#include "ringforge/circuits/psi.hpp"
#include "ringforge/error.hpp"
#include "ringforge/packing.hpp"

namespace ringforge::circuits {

/// The body of a message of this plan. @throws FormatError, MismatchError.
inline const std::uint8_t* open_message(std::span<const std::uint8_t> bytes, std::size_t expected, io::TypeCode type,
                                        const PsiPlan& plan) {
  return io::open_record(bytes, type, plan.hash(), expected - io::record_bytes(0)).data();
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
