// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Fuzzes what a PSI server reads from a new client: circuits::PsiSessionKeys.
#include "fhew_harness.hpp"
#include "ringforge/packing.hpp"

using namespace ringforge;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const circuits::PsiPlan& plan = fuzz::named_by(fuzz::psi_plans(), data, size);
  try {
    const circuits::PsiSessionKeys keys(plan, {data, size});
    fuzz::require(size == plan.key_bytes() && keys.bytes() == plan.session_bytes(), "keys of another length");
    // The b half of the last row is the last thing in the body.
    const auto ring = SmallRing<u64>::get(plan.modulus, plan.log_n);
    std::vector<std::uint8_t> last(packed_bytes(plan.n(), ring->bits()));
    pack_bits(last.data(), keys.zero() + plan.n(), plan.n(), ring->bits());
    fuzz::require(std::equal(last.begin(), last.end(), data + size - io::kChecksumBytes - last.size()),
                  "a row differs from what was sent");
  } catch (const FormatError&) {
  } catch (const MismatchError&) {
  }
  return 0;
}

RINGFORGE_FUZZ_PSI_MUTATOR(kPsiKeysType, key_bytes)
