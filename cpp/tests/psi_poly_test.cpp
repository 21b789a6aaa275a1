// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/circuits/psi_poly.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "ringforge/error.hpp"

namespace ringforge::circuits {
namespace {

PsiPolyPlan small_plan(unsigned label_words) {
  const auto primes = primes_below(50, 4, 2048);
  PsiPolyPlan p;
  p.log_n = 10;
  p.t = primes_below(18, 1, 2048)[0];
  p.q = {primes[1], primes[2], primes[3]};
  p.p = {primes[0]};
  p.sources = {1, 3};
  p.degree = 7;
  p.felts = 3;
  p.columns = 2;
  p.bundles = 2;
  p.label_words = label_words;
  p.plain_limbs = 2;
  p.reply_bits = 30;
  p.reply_drop = 3;
  p.insecure = "test";
  return p;
}

/// A table of random elements, and what its polynomials are.
struct World {
  explicit World(unsigned label_words, std::size_t elements = 600, unsigned threads = 1)
      : plan(small_plan(label_words)), context(std::make_shared<const PsiPolyContext>(plan)) {
    std::mt19937_64 rng(5);
    const std::size_t sub_bins = plan.columns * plan.bundles * plan.column_bins();
    counts.resize(sub_bins);
    roots.resize(sub_bins * plan.degree * plan.felts);
    labels.resize(roots.size() * label_words);
    plain.resize(plan.columns * plan.bundles * psi_poly_bundle_words(plan));
    std::vector<std::uint8_t> touched(plan.columns * plan.bundles);
    std::vector<u32> bins, felts, words;
    for (std::size_t i = 0; i < elements; ++i) {
      bins.push_back(static_cast<u32>(rng() % plan.bins()));
      for (unsigned j = 0; j < plan.felts; ++j) felts.push_back(static_cast<u32>(rng() % plan.t));
      for (unsigned j = 0; j < plan.felts * label_words; ++j) words.push_back(static_cast<u32>(rng() % plan.t));
    }
    psi_poly_insert(plan, members(), bins.data(), felts.data(), words.data(), elements, touched.data());
    std::fill(touched.begin(), touched.end(), 1);
    psi_poly_interpolate(*context, members(), touched.data(), plain.data(), threads);
  }
  PsiPolyMembers members() { return {counts.data(), roots.data(), labels.data()}; }
  PsiPolyTable table() const { return {counts.data(), plain.data()}; }
  const u32* root(std::size_t column, std::size_t bundle, std::size_t bin, std::size_t k) const {
    return roots.data() +
           (((column * plan.bundles + bundle) * plan.column_bins() + bin) * plan.degree + k) * plan.felts;
  }

  PsiPolyPlan plan;
  PsiPolyContextPtr context;
  std::vector<std::uint16_t> counts;
  std::vector<u32> roots, labels;
  std::vector<u64> plain;
};

class PsiPoly : public ::testing::TestWithParam<unsigned> {};

TEST_P(PsiPoly, AnElementGivesZeroAndItsLabel) {
  World w(GetParam());
  const PsiPolyPlan& plan = w.plan;
  PsiPolyClientKey client(w.context);
  const PsiPolySessionKeys session(w.context, client.evaluation_keys());
  std::vector<u32> query(plan.bins() * plan.felts, 12345);
  const std::size_t b = 0;
  for (std::size_t bin = 0; bin < plan.bins(); ++bin) {
    const std::size_t c = bin / plan.column_bins(), at = bin % plan.column_bins();
    const std::size_t count = w.counts[c * plan.bundles * plan.column_bins() + at];
    if (bin % 2 == 0 && count > 0) std::copy_n(w.root(c, b, at, count - 1), plan.felts, &query[bin * plan.felts]);
  }
  const auto request = client.query(query.data());
  EXPECT_EQ(request.size(), plan.request_bytes());
  PsiPolyCounts counts;
  const auto reply = psi_poly_answer(session, request, w.table(), 1, {}, &counts);
  EXPECT_EQ(counts, plan.counts());
  EXPECT_EQ(reply, psi_poly_answer(session, request, w.table(), 3));
  std::vector<u32> values(plan.bundles * plan.polys() * plan.bins() * plan.felts);
  double margin = 0;
  client.decode(values.data(), reply, 1, &margin);
  EXPECT_LT(margin, 0.5);
  std::size_t hits = 0;
  for (std::size_t bin = 0; bin < plan.bins(); ++bin) {
    const std::size_t c = bin / plan.column_bins(), at = bin % plan.column_bins();
    const std::size_t count = w.counts[c * plan.bundles * plan.column_bins() + at];
    const bool there = bin % 2 == 0 && count > 0;
    for (std::size_t j = 0; j < plan.felts; ++j) {
      if (there) {
        EXPECT_EQ(values[bin * plan.felts + j], 0u);
      }
      for (std::size_t word = 0; there && word < plan.label_words; ++word) {
        const std::size_t element = ((c * plan.bundles) * plan.column_bins() + at) * plan.degree + count - 1;
        EXPECT_EQ(values[((1 + word) * plan.bins() + bin) * plan.felts + j],
                  w.labels[(element * plan.label_words + word) * plan.felts + j]);
      }
    }
    hits += there ? 1 : 0;
    if (!there) {
      EXPECT_TRUE(
          std::any_of(&values[bin * plan.felts], &values[(bin + 1) * plan.felts], [](u32 v) { return v != 0; }));
    }
  }
  EXPECT_GT(hits, 100u);
}

INSTANTIATE_TEST_SUITE_P(Labels, PsiPoly, ::testing::Values(0u, 2u));

TEST(PsiPolyTable, ThreadsDoNotChangeIt) { EXPECT_EQ(World(1, 600, 1).plain, World(1, 600, 4).plain); }

TEST(PsiPolyTable, RemovingUndoesInserting) {
  World empty(0, 0), w(0, 0);
  const std::vector<u32> bins{5, 5, 300}, felts{1, 2, 3, 4, 5, 6, 7, 8, 9};
  std::vector<std::uint8_t> touched(w.plan.columns * w.plan.bundles);
  psi_poly_insert(w.plan, w.members(), bins.data(), felts.data(), nullptr, 3, touched.data());
  EXPECT_NE(w.roots, empty.roots);
  EXPECT_EQ(psi_poly_remove(w.plan, w.members(), bins.data(), felts.data(), 3, touched.data()), 3u);
  EXPECT_EQ(w.roots, empty.roots);
  EXPECT_EQ(w.counts, empty.counts);
  EXPECT_EQ(psi_poly_remove(w.plan, w.members(), bins.data(), felts.data(), 3, touched.data()), 0u);
  psi_poly_interpolate(*w.context, w.members(), touched.data(), w.plain.data());
  EXPECT_EQ(w.plain, empty.plain);
}

TEST(PsiPolyPlanTest, RefusesWhatDoesNotFit) {
  const auto refused = [](auto&& change) {
    PsiPolyPlan p = small_plan(0);
    change(p);
    EXPECT_THROW(p.check(), ParameterError);
  };
  EXPECT_NO_THROW(small_plan(0).check());
  refused([](PsiPolyPlan& p) { p.sources = {1, 8}; });
  refused([](PsiPolyPlan& p) { p.sources = {}; });
  refused([](PsiPolyPlan& p) { p.felts = 6; });
  refused([](PsiPolyPlan& p) { p.columns = 0; });
  refused([](PsiPolyPlan& p) { p.plain_limbs = 4; });
  refused([](PsiPolyPlan& p) { p.plain_limbs = 1; });  // no room for noise
  refused([](PsiPolyPlan& p) { p.reply_drop = p.reply_bits; });
  refused([](PsiPolyPlan& p) { p.q[0] = primes_below(30, 1, 2048)[0]; });  // replies of 30 bits from so many
  refused([](PsiPolyPlan& p) { p.q.resize(1); });
  refused([](PsiPolyPlan& p) { p.p.push_back(p.q.back()), p.q.pop_back(); });
  refused([](PsiPolyPlan& p) { p.t += 2048; });
  refused([](PsiPolyPlan& p) { p.insecure.clear(); });
}

TEST(PsiPolyPlanTest, TheHashTellsPlansApart) {
  const auto of = [](auto&& change) {
    PsiPolyPlan p = small_plan(0);
    change(p);
    return p.hash();
  };
  const auto own = small_plan(0).hash();
  EXPECT_NE(own, of([](PsiPolyPlan& p) { p.degree = 6; }));
  EXPECT_NE(own, of([](PsiPolyPlan& p) { p.sources = {1, 2}; }));
  EXPECT_NE(own, of([](PsiPolyPlan& p) { p.reply_drop = 2; }));
  EXPECT_NE(own, of([](PsiPolyPlan& p) { std::swap(p.q[0], p.q[1]); }));
  EXPECT_EQ(own, of([](PsiPolyPlan& p) { p.insecure = "another reason"; }));
}

TEST(PsiPolyAnswer, StopsWhenToldAndTellsAllOfTheWay) {
  const World w(0);
  PsiPolyClientKey client(w.context);
  const PsiPolySessionKeys session(w.context, client.evaluation_keys());
  const auto request = client.query(std::vector<u32>(w.plan.bins() * w.plan.felts, 1).data());
  std::vector<double> told;
  (void)psi_poly_answer(session, request, w.table(), 1, [&](double done) { return told.push_back(done), true; });
  EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
  EXPECT_EQ(told.back(), 1);
  EXPECT_THROW((void)psi_poly_answer(session, request, w.table(), 1, [](double done) { return done < 0.5; }), Error);
  PsiPolyClientKey other(w.context);
  EXPECT_THROW(
      (void)psi_poly_answer(session, other.query(std::vector<u32>(w.plan.bins() * w.plan.felts, 1).data()), w.table()),
      MismatchError);
}

// Values of parts, put one after the other, are those of the whole.
TEST_P(PsiPoly, JoinedPartsAreTheWhole) {
  const World w(GetParam());
  const PsiPolyPlan& plan = w.plan;
  PsiPolyClientKey client(w.context);
  const PsiPolySessionKeys session(w.context, client.evaluation_keys());
  std::vector<u32> query(plan.bins() * plan.felts);
  std::mt19937_64 rng(6);
  for (u32& x : query) x = static_cast<u32>(rng() % plan.t);
  const auto request = client.query(query.data());
  const auto whole = psi_poly_answer(session, request, w.table());
  const auto columns = psi_poly_cut_request(session, request);
  ASSERT_EQ(columns.size(), plan.columns);
  const auto values = [&](std::size_t column, std::size_t bundle, std::size_t bundles, unsigned threads,
                          PsiPolyCounts* counts) {
    const std::size_t first = column * plan.bundles + bundle;
    const PsiPolyTable own{w.counts.data() + first * plan.column_bins(),
                           w.plain.data() + first * psi_poly_bundle_words(plan)};
    return psi_poly_answer_part(session, columns[column], own, bundles, threads, {}, counts);
  };
  for (const std::size_t each : {std::size_t{1}, std::size_t{2}}) {
    ASSERT_EQ(plan.bundles % each, 0u);
    std::vector<std::uint8_t> all;
    u64 rows = 0;
    for (std::size_t column = 0; column < plan.columns; ++column)
      for (std::size_t bundle = 0; bundle < plan.bundles; bundle += each) {
        PsiPolyCounts counts;
        const auto part = values(column, bundle, each, 1 + static_cast<unsigned>(bundle), &counts);
        all.insert(all.end(), part.begin(), part.end());
        rows += counts.row;
        // Powers are made in each part.
        EXPECT_EQ(counts.product, plan.counts().product / plan.columns);
      }
    EXPECT_EQ(rows, plan.counts().row);
    EXPECT_EQ(psi_poly_seal_reply(session, all), whole) << each << " bundles in a part";
    std::rotate(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
    EXPECT_NE(psi_poly_seal_reply(session, all), whole);
  }
}

TEST(PsiPolyParts, RefuseForeignBytesAndStop) {
  const World w(0);
  const PsiPolyPlan& plan = w.plan;
  PsiPolyClientKey client(w.context), other(w.context);
  const PsiPolySessionKeys session(w.context, client.evaluation_keys());
  const std::vector<u32> query(plan.bins() * plan.felts, 1);
  auto request = client.query(query.data());
  const auto column = psi_poly_cut_request(session, request)[0];
  EXPECT_THROW(psi_poly_cut_request(session, other.query(query.data())), MismatchError);
  request.pop_back();
  EXPECT_THROW(psi_poly_cut_request(session, request), FormatError);
  EXPECT_THROW(psi_poly_cut_request(session, client.evaluation_keys()), FormatError);
  const auto answer = [&](const std::vector<std::uint8_t>& bytes, const PsiPolyProgress& progress = {}) {
    return psi_poly_answer_part(session, bytes, w.table(), 1, 2, progress, nullptr);
  };
  const auto values = answer(column);
  auto bad = column;
  bad.pop_back();
  EXPECT_THROW(answer(bad), FormatError);
  EXPECT_THROW(answer({}), FormatError);
  bad = column;
  bad.push_back(0);
  EXPECT_THROW(answer(bad), FormatError);
  bad = column;
  std::fill(bad.end() - 64, bad.end(), 0xFF);  // residues above q
  EXPECT_THROW(answer(bad), FormatError);
  EXPECT_THROW(answer(column, [](double done) { return done < 0.5; }), Error);
  EXPECT_THROW(psi_poly_seal_reply(session, values), ShapeError);  // one part of several
  EXPECT_THROW(psi_poly_seal_reply(session, {}), ShapeError);
}

}  // namespace
}  // namespace ringforge::circuits
