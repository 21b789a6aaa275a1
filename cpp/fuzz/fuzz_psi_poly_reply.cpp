// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Fuzzes what a PSI client by polynomials reads: circuits::PsiPolyClientKey::decode.
#include "fhew_harness.hpp"
#include "poly_objects.hpp"

using namespace ringforge;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const circuits::PsiPolyPlan& plan = fuzz::named_by(fuzz::poly_plans(), data, size);
  std::vector<u32> values(plan.bundles * plan.polys() * plan.bins() * plan.felts);
  try {
    double margin = -1;
    fuzz::poly_world(plan).client.decode(values.data(), {data, size}, 1, &margin);
    fuzz::require(size == plan.reply_bytes(), "a reply of another length was read");
    fuzz::require(margin >= 0 && margin <= 0.5, "a distance from the centre beyond half");
    for (const u32 v : values) fuzz::require(v < plan.t, "a value is not below t");
  } catch (const FormatError&) {
  } catch (const MismatchError&) {
  }
  return 0;
}

RINGFORGE_FUZZ_POLY_MUTATOR(kPsiPolyReplyType, reply_bytes)
