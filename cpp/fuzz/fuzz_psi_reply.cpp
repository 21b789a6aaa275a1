// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Fuzzes what a PSI client reads: circuits::PsiClientKey::decode.
#include "fhew_harness.hpp"

using namespace ringforge;

namespace {

circuits::PsiClientKey client(const circuits::PsiPlan& plan) {
  TestRandomness rng = fuzz::fhew_randomness();
  return circuits::PsiClientKey(plan, rng);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::array<circuits::PsiClientKey, 2> clients{client(fuzz::psi_plans()[0]),
                                                             client(fuzz::psi_plans()[1])};
  const circuits::PsiPlan& plan = fuzz::named_by(fuzz::psi_plans(), data, size);
  std::vector<std::uint16_t> words(plan.bins() * plan.cell_words());
  try {
    double squares = -1;
    const double worst = clients[&plan == &fuzz::psi_plans()[0] ? 0 : 1].decode(words.data(), {data, size}, &squares);
    fuzz::require(size == plan.reply_bytes(), "a reply of another length was read");
    fuzz::require(worst >= 0 && worst <= 0.5 && squares >= 0 && squares <= 0.25,
                  "a distance from the centre beyond half");
    for (const std::uint16_t w : words) fuzz::require(w >> plan.log_t == 0, "a word is not below T");
  } catch (const FormatError&) {
  } catch (const MismatchError&) {
  }
  return 0;
}

RINGFORGE_FUZZ_PSI_MUTATOR(kPsiReplyType, reply_bytes)
