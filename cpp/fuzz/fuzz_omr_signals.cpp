// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Fuzzes omr::unpack_signals: what is accepted has residues below the modulus and one encoding.
#include <vector>

#include "require.hpp"
#include "ringforge/circuits/omr_signal.hpp"
#include "ringforge/error.hpp"

using namespace ringforge;
using fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // 3 clues: 19 words of 20 bits leave 4 bits over.
  static const omr::SignalParameters p = omr::SignalParameters::make(4, 786433, 3, 4, 0.5, true);
  const std::size_t count = size / p.packed();
  std::vector<u32> a(count * p.n()), b(count * p.clues);
  try {
    omr::unpack_signals(a.data(), b.data(), p, data, count);
    omr::require_residues(a, p.q, "a signal");
    omr::require_residues(b, p.q, "a signal");
    std::vector<std::uint8_t> again(count * p.packed());
    omr::pack_signals(again.data(), p, a.data(), b.data(), count);
    require(std::equal(again.begin(), again.end(), data), "a signal has two encodings");
    static const omr::SignalSecret secret = omr::SignalSecret::make(p, TestRandomness(Seed{1}));
    std::vector<std::int32_t> errors(b.size());
    secret.errors(errors.data(), a.data(), b.data(), count);
    std::vector<u32> hits(count);
    omr::count_hits(hits.data(), p, a.data(), b.data(), count, 49, 8, TestRandomness(Seed{2}));
  } catch (const FormatError&) {
  }
  return 0;
}
