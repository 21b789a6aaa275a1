// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Fuzzes what a PSI server by polynomials reads in a query, and answers: circuits::psi_poly_answer, and the same in
// parts, cut by circuits::psi_poly_cut_request. Both refuse the same bytes, and answer others alike.
#include <optional>

#include "fhew_harness.hpp"
#include "poly_objects.hpp"

using namespace ringforge;

namespace {

circuits::PsiPolySessionKeys session(const circuits::PsiPolyPlan& plan) {
  const fuzz::PolyWorld& world = fuzz::poly_world(plan);
  return {world.context, world.keys};
}

using Reply = std::optional<std::vector<std::uint8_t>>;

/// Nothing where a request is refused.
template <class Answer>
Reply answered(Answer&& answer) {
  try {
    return answer();
  } catch (const FormatError&) {
  } catch (const MismatchError&) {
  }
  return {};
}

/// A part for each bundle.
std::vector<std::uint8_t> by_parts(const circuits::PsiPolySessionKeys& keys, std::span<const std::uint8_t> request,
                                   const circuits::PsiPolyTable& all) {
  const circuits::PsiPolyPlan& plan = keys.plan();
  const auto columns = circuits::psi_poly_cut_request(keys, request);
  fuzz::require(columns.size() == plan.columns, "a request was cut into other columns");
  std::vector<std::uint8_t> values;
  for (std::size_t i = 0; i < std::size_t{plan.columns} * plan.bundles; ++i) {
    const circuits::PsiPolyTable own{all.counts + i * plan.column_bins(),
                                     all.plain + i * circuits::psi_poly_bundle_words(plan)};
    const auto part = circuits::psi_poly_answer_part(keys, columns[i / plan.bundles], own, 1, 1, {}, nullptr);
    values.insert(values.end(), part.begin(), part.end());
  }
  return circuits::psi_poly_seal_reply(keys, values);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::array<circuits::PsiPolySessionKeys, 2> sessions{session(fuzz::poly_plans()[0]),
                                                                    session(fuzz::poly_plans()[1])};
  const circuits::PsiPolyPlan& plan = fuzz::named_by(fuzz::poly_plans(), data, size);
  const circuits::PsiPolySessionKeys& keys = sessions[&plan == &fuzz::poly_plans()[0] ? 0 : 1];
  const circuits::PsiPolyTable table = fuzz::poly_world(plan).table();
  const Reply reply = answered([&] { return circuits::psi_poly_answer(keys, {data, size}, table); });
  if (reply) {
    fuzz::require(size == plan.request_bytes(), "a request of another length was answered");
    fuzz::require(reply->size() == plan.reply_bytes(), "a reply of another length");
    fuzz::require(io::open_record(*reply, circuits::kPsiPolyReplyType).header.hash == plan.hash(),
                  "a reply of another plan");
  }
  fuzz::require(answered([&] { return by_parts(keys, {data, size}, table); }) == reply, "parts answer otherwise");
  return 0;
}

RINGFORGE_FUZZ_POLY_MUTATOR(kPsiPolyRequestType, request_bytes)
