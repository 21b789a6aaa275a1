// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Fuzzes what a PSI server reads in a query, and answers: circuits::psi_answer.
#include "fhew_harness.hpp"

using namespace ringforge;

namespace {

circuits::PsiSessionKeys session(const circuits::PsiPlan& plan) {
  TestRandomness rng = fuzz::fhew_randomness();
  circuits::PsiClientKey client(plan, rng);
  std::vector<std::uint8_t> bytes(plan.key_bytes());
  client.evaluation_keys(bytes.data());
  return circuits::PsiSessionKeys(plan, bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::array<circuits::PsiSessionKeys, 2> sessions{session(fuzz::psi_plans()[0]),
                                                                session(fuzz::psi_plans()[1])};
  static const std::array<u64, 3> offsets{0, 2, 3};
  static const std::array<u32, 3> cells{3, 7, 12};
  static const std::vector<std::uint16_t> words(cells.size() * fuzz::psi_plans()[0].cell_words(), 1);
  const circuits::PsiPlan& plan = fuzz::named_by(fuzz::psi_plans(), data, size);
  const circuits::PsiSessionKeys& keys = sessions[&plan == &fuzz::psi_plans()[0] ? 0 : 1];
  try {
    const auto reply =
        circuits::psi_answer(keys, {data, size}, {offsets.data(), cells.data(), words.data(), cells.size()});
    fuzz::require(size == plan.request_bytes(), "a request of another length was answered");
    fuzz::require(reply.size() == plan.reply_bytes(), "a reply of another length");
    fuzz::require(io::open_record(reply, circuits::kPsiReplyType).header.hash == plan.hash(),
                  "a reply of another plan");
  } catch (const FormatError&) {
  } catch (const MismatchError&) {
  }
  return 0;
}

RINGFORGE_FUZZ_PSI_MUTATOR(kPsiRequestType, request_bytes)
