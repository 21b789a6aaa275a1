// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Fuzzes what a PSI server by polynomials reads from a new client: circuits::PsiPolySessionKeys.
#include "fhew_harness.hpp"
#include "poly_objects.hpp"
#include "ringforge/packing.hpp"

using namespace ringforge;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const circuits::PsiPolyPlan& plan = fuzz::named_by(fuzz::poly_plans(), data, size);
  try {
    const circuits::PsiPolySessionKeys keys(fuzz::poly_world(plan).context, {data, size});
    fuzz::require(size == plan.key_bytes() && keys.bytes() == plan.session_bytes(), "keys of another length");
    // The last limb of the last digit is the last thing in the body.
    const Poly<Eval>& b = keys.key().key().b.back();
    std::vector<std::uint8_t> last(packed_bytes(plan.n(), 50));
    pack_bits(last.data(), b.limb(b.limbs() - 1), plan.n(), 50);
    fuzz::require(std::equal(last.begin(), last.end(), data + size - io::kChecksumBytes - last.size()),
                  "a limb differs from what was sent");
  } catch (const FormatError&) {
  } catch (const MismatchError&) {
  }
  return 0;
}

RINGFORGE_FUZZ_POLY_MUTATOR(kPsiPolyKeysType, key_bytes)
