// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The batches of oprf.hpp by given lanes, null for libsodium: for tests and benchmarks. Same bytes by all.
#pragma once

#include "lanes.hpp"
#include "ringforge/oprf.hpp"

namespace ringforge::oprf {

BlindedBatch blind_batch(const Lanes* lanes, const Inputs& inputs, Randomness& rng, unsigned threads,
                         const Progress& progress);
std::vector<std::uint8_t> evaluate_batch(const Lanes* lanes, const ServerKey& key, Bytes elements, unsigned threads,
                                         const Progress& progress);
std::vector<std::uint8_t> finalize_batch(const Lanes* lanes, const Inputs& inputs, const Blinds& blinds,
                                         Bytes evaluated, unsigned threads, const Progress& progress);
std::vector<std::uint8_t> prf_batch(const Lanes* lanes, const ServerKey& key, const Inputs& inputs, unsigned threads,
                                    const Progress& progress);

}  // namespace ringforge::oprf
