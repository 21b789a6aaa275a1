// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Fuzzes what a PSI server reads in a query, and answers: circuits::psi_answer, and the same in parts, cut by
// circuits::psi_cut_request. Both refuse the same bytes, and answer others alike.
#include <optional>

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

/// A part for each bin: the plans have one group.
std::vector<std::uint8_t> by_parts(const circuits::PsiSessionKeys& keys, std::span<const std::uint8_t> request,
                                   const circuits::PsiTable& all) {
  const circuits::PsiPlan& plan = keys.plan();
  const auto rows = circuits::psi_cut_request(plan, request);
  fuzz::require(rows.size() == 1, "a request of one group was cut otherwise");
  const std::size_t each = circuits::psi_part_results(plan, plan.log_bins) * 2 * plan.n();
  std::vector<u64> results(plan.bins() * each), packed(plan.replies() * 2 * plan.n());
  for (std::size_t bin = 0; bin < plan.bins(); ++bin) {
    const u64 first = all.offsets[bin];
    const std::array<u64, 2> offsets{0, all.offsets[bin + 1] - first};
    const circuits::PsiTable own{offsets.data(), all.cells + first, all.words + first * plan.cell_words(), offsets[1]};
    circuits::psi_answer_part(results.data() + bin * each, keys, rows[0], own, {0, plan.log_bins, bin}, 1, {}, nullptr);
  }
  circuits::psi_join_parts(packed.data(), keys, results.data(), plan.log_bins, nullptr);
  TestRandomness rng = fuzz::fhew_randomness();
  return circuits::psi_seal_reply(keys, packed.data(), rng);
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
  const circuits::PsiTable table{offsets.data(), cells.data(), words.data(), cells.size()};
  const Reply reply = answered([&] {
    TestRandomness rng = fuzz::fhew_randomness();
    return circuits::psi_answer(keys, {data, size}, table, 1, {}, nullptr, rng);
  });
  if (reply) {
    fuzz::require(size == plan.request_bytes(), "a request of another length was answered");
    fuzz::require(reply->size() == plan.reply_bytes(), "a reply of another length");
    fuzz::require(io::open_record(*reply, circuits::kPsiReplyType).header.hash == plan.hash(),
                  "a reply of another plan");
  }
  fuzz::require(answered([&] { return by_parts(keys, {data, size}, table); }) == reply, "parts answer otherwise");
  return 0;
}

RINGFORGE_FUZZ_PSI_MUTATOR(kPsiRequestType, request_bytes)
