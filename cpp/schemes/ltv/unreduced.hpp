// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Polynomials below X^transform_length that another machine computed, and what a key of a level takes.
#pragma once

#include "ringforge/ltv/ltv.hpp"

namespace ringforge::ltv {

/// @throws ParameterError for rings that are not padded.
void require_padded(const Context& context);

/// The remainders modulo Phi of `count` polynomials, words [polynomial][limb][transform_length]. Polynomial i goes to
/// into[i].poly, which has its basis.
/// @throws ShapeError for another number of words; ParameterError as above; ValueError for words that are no residues.
void reduce_unreduced(std::span<Ciphertext> into, std::span<const u32> words, const Context& context, unsigned threads);

/// @throws MismatchError, LevelError for a ciphertext that the evaluation key does not take.
void check_for_key(const Context& context, const Ciphertext& c, u64 key_id, u32 level, u32 lag);

}  // namespace ringforge::ltv
