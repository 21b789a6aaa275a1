// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Small plans and messages of PSI by polynomials, the same in each run, for the fuzz targets and their corpora. Their
// parameters are as small as the library takes and secure nothing.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "fhew_objects.hpp"
#include "ringforge/circuits/psi_poly.hpp"

namespace ringforge::fuzz {

/// N = 1024 over 2 x 50 bits: 512 bins of two residues, two sub-bins of up to three elements.
inline circuits::PsiPolyPlan poly_plan(unsigned label_words) {
  const auto primes = primes_below(50, 3, 2048);
  circuits::PsiPolyPlan plan;
  plan.log_n = 10;
  plan.t = primes_below(18, 1, 2048)[0];
  plan.q = {primes[1], primes[2]};
  plan.p = {primes[0]};
  plan.sources = {1, 2};
  plan.degree = 3;
  plan.felts = 2;
  plan.bundles = 2;
  plan.label_words = label_words;
  plan.plain_limbs = 2;
  plan.reply_bits = 30;
  plan.reply_drop = 3;
  plan.insecure = "fuzzing";
  return plan;
}

inline const std::array<circuits::PsiPolyPlan, 2>& poly_plans() {
  static const std::array<circuits::PsiPolyPlan, 2> plans{poly_plan(0), poly_plan(1)};
  return plans;
}

/// What both sides have, with a table in which every bin has one element.
struct PolyWorld {
  explicit PolyWorld(const circuits::PsiPolyPlan& plan)
      : context(std::make_shared<const circuits::PsiPolyContext>(plan)), client(context, fhew_randomness()) {
    const std::size_t bundles = plan.columns * plan.bundles, bins = bundles * plan.column_bins();
    counts.resize(bins);
    plain.resize(bundles * circuits::psi_poly_bundle_words(plan));
    std::vector<u32> roots(bins * plan.degree * plan.felts), labels(roots.size() * plan.label_words);
    std::vector<u32> at(plan.bins()), residues(plan.bins() * plan.felts, 5),
        words(residues.size() * plan.label_words, 7);
    for (std::size_t i = 0; i < at.size(); ++i) at[i] = static_cast<u32>(i);
    std::vector<std::uint8_t> touched(bundles);
    const circuits::PsiPolyMembers members{counts.data(), roots.data(), labels.data()};
    circuits::psi_poly_insert(plan, members, at.data(), residues.data(), words.data(), at.size(), touched.data());
    circuits::psi_poly_interpolate(*context, members, touched.data(), plain.data());
    keys = client.evaluation_keys();
    request = client.query(residues.data());
  }
  circuits::PsiPolyTable table() const { return {counts.data(), plain.data()}; }

  circuits::PsiPolyContextPtr context;
  circuits::PsiPolyClientKey client;
  std::vector<std::uint16_t> counts;
  std::vector<u64> plain;
  std::vector<std::uint8_t> keys, request;
};

inline PolyWorld& poly_world(const circuits::PsiPolyPlan& plan) {
  static std::array<PolyWorld, 2> worlds{PolyWorld(poly_plans()[0]), PolyWorld(poly_plans()[1])};
  return worlds[&plan == &poly_plans()[0] ? 0 : 1];
}

/// Reader name -> samples by a short name.
inline std::map<std::string, std::map<std::string, std::vector<std::uint8_t>>> make_poly_samples() {
  std::map<std::string, std::map<std::string, std::vector<std::uint8_t>>> out;
  for (const circuits::PsiPolyPlan& plan : poly_plans()) {
    const std::string name = plan.label_words > 0 ? "labels" : "plain";
    PolyWorld& world = poly_world(plan);
    out["psi_poly_keys"][name] = world.keys;
    out["psi_poly_request"][name] = world.request;
    const circuits::PsiPolySessionKeys session(world.context, world.keys);
    out["psi_poly_reply"][name] = circuits::psi_poly_answer(session, world.request, world.table());
  }
  return out;
}

}  // namespace ringforge::fuzz

#define RINGFORGE_FUZZ_POLY_MUTATOR(type, bytes)                                                                  \
  extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max,           \
                                                 unsigned seed) {                                                 \
    using namespace ringforge;                                                                                    \
    return fuzz::mutate_message<circuits::PsiPolyPlan>(data, size, max, seed, circuits::type, fuzz::poly_plans(), \
                                                       [](const circuits::PsiPolyPlan& p) { return p.bytes(); }); \
  }
