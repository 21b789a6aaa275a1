// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Fuzzes what a PSI server by polynomials reads in a query, and answers: circuits::psi_poly_answer.
#include "fhew_harness.hpp"
#include "poly_objects.hpp"

using namespace ringforge;

namespace {

circuits::PsiPolySessionKeys session(const circuits::PsiPolyPlan& plan) {
  const fuzz::PolyWorld& world = fuzz::poly_world(plan);
  return {world.context, world.keys};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::array<circuits::PsiPolySessionKeys, 2> sessions{session(fuzz::poly_plans()[0]),
                                                                    session(fuzz::poly_plans()[1])};
  const circuits::PsiPolyPlan& plan = fuzz::named_by(fuzz::poly_plans(), data, size);
  const circuits::PsiPolySessionKeys& keys = sessions[&plan == &fuzz::poly_plans()[0] ? 0 : 1];
  try {
    const auto reply = circuits::psi_poly_answer(keys, {data, size}, fuzz::poly_world(plan).table());
    fuzz::require(size == plan.request_bytes(), "a request of another length was answered");
    fuzz::require(reply.size() == plan.reply_bytes(), "a reply of another length");
    fuzz::require(io::open_record(reply, circuits::kPsiPolyReplyType).header.hash == plan.hash(),
                  "a reply of another plan");
  } catch (const FormatError&) {
  } catch (const MismatchError&) {
  }
  return 0;
}

RINGFORGE_FUZZ_POLY_MUTATOR(kPsiPolyRequestType, request_bytes)
