// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/circuits/psi.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "ringforge/error.hpp"

namespace ringforge::circuits {
namespace {

using namespace ringforge::fhew;

constexpr u64 kPrime54 = 0x3FFFFFFFFED001;  // the paper's

PsiPlan ringforge_plan(unsigned log_bins, unsigned cell_bits, unsigned log_cell, unsigned log_t, unsigned log_onehot) {
  PsiPlan p;
  p.algorithm = PsiAlgorithm::ringforge;
  p.modulus = primes_below(50, 1, 4096)[0];
  p.log_bins = log_bins;
  p.cell_bits = cell_bits;
  p.log_cell = log_cell;
  p.log_t = log_t;
  p.log_onehot = log_onehot;
  p.gadget = {8, 2, 34, true};
  // Fine digits in the first stages, whose errors grow most, coarse ones in the last, which are most of the work.
  const unsigned counts[] = {9, 7, 6, 5, 5, 4, 4, 3, 3, 3, 3};
  const Cut cuts[] = {{},
                      {},
                      {},
                      {12, 3, 14, true},
                      {10, 4, 10, true},
                      {8, 5, 10, true},
                      {7, 6, 8, true},
                      {6, 7, 8, true},
                      {},
                      {5, 9, 5, true}};
  for (const unsigned c : counts) p.expansion.push_back(cuts[c]);
  p.reconstruction = {9, 5, 5, true};
  p.log_reply = 8 + log_t;
  return p;
}

PsiPlan paper_plan(unsigned log_bins, unsigned cell_bits) {
  PsiPlan p;
  p.algorithm = PsiAlgorithm::paper;
  p.modulus = kPrime54;
  p.log_bins = log_bins;
  p.cell_bits = cell_bits;
  p.log_t = 3;
  p.gadget = {9, 6, 0, true};
  p.expansion.assign(11, p.gadget);
  p.log_reply = 12;
  p.insecure = "paper: 54 bits at N = 2048";
  return p;
}

// A random table, a random query half of whose cells are set; every word must come back.
void lookups(const PsiPlan& plan, unsigned threads) {
  std::mt19937_64 random(plan.cell_bits * 100 + plan.log_bins);
  std::vector<u64> offsets{0};
  std::vector<u32> cells;
  std::vector<std::uint16_t> words;
  const std::size_t s = plan.cell_words(), each = 24;
  std::vector<u32> asked(plan.bins());
  std::vector<std::uint16_t> expected(plan.bins() * s);
  for (std::size_t bin = 0; bin < plan.bins(); ++bin) {
    std::vector<u32> here;
    for (std::size_t i = 0; i < each; ++i) here.push_back(static_cast<u32>(random() % plan.cells()));
    std::sort(here.begin(), here.end());
    here.erase(std::unique(here.begin(), here.end()), here.end());
    asked[bin] = bin % 2 == 0 ? here[random() % here.size()] : static_cast<u32>(random() % plan.cells());
    for (const u32 c : here) {
      for (std::size_t j = 0; j < s; ++j) {
        const std::uint16_t w =
            plan.log_cell == 0 && plan.log_t < 4 ? 1 : static_cast<std::uint16_t>(random() % (1u << plan.log_t));
        words.push_back(w);
        if (c == asked[bin]) expected[bin * s + j] = w;
      }
      cells.push_back(c);
    }
    offsets.push_back(cells.size());
  }
  TestRandomness rng(Seed{7});
  PsiClientKey key(plan, rng);
  std::vector<std::uint8_t> keys(plan.key_bytes()), request(plan.request_bytes());
  key.evaluation_keys(keys.data(), threads);
  key.query(request.data(), asked.data(), threads);
  const PsiSessionKeys session(plan, keys, threads);
  const PsiTable table{offsets.data(), cells.data(), words.data(), cells.size()};
  check_table(plan, table);
  PsiCounts counts;
  const auto reply = psi_answer(session, request, table, threads, {}, &counts);
  EXPECT_EQ(counts, plan.counts());
  std::vector<std::uint16_t> got(expected.size());
  double squares = 0;
  const double worst = key.decode(got.data(), reply, &squares);
  EXPECT_EQ(got, expected);
  const double t = std::ldexp(1.0, static_cast<int>(plan.log_t)), q = static_cast<double>(plan.modulus);
  const double switched = (1 + 2.0 * plan.n() / 3) / 12 / std::ldexp(1.0, 2 * static_cast<int>(plan.log_reply));
  std::printf("w=%u s=%zu T=2^%u: worst %.3f, std %.4f, predicted %.4f, failure 2^%.0f\n", plan.cell_bits, s,
              plan.log_t, worst, std::sqrt(squares), t * std::sqrt(plan.variance(each) / (q * q) + switched),
              plan.failure_log2(each));
}

TEST(Psi, BitmapByRingforge) {
  lookups(ringforge_plan(11, 13, 0, 1, 1), 2);
  lookups(ringforge_plan(4, 14, 0, 1, 2), 1);
  lookups(ringforge_plan(0, 12, 0, 1, 0), 1);
}
TEST(Psi, CellsOfSeveralWords) {
  lookups(ringforge_plan(5, 12, 3, 5, 2), 2);
  lookups(ringforge_plan(9, 10, 3, 5, 1), 1);
  lookups(ringforge_plan(3, 6, 10, 4, 2), 2);  // a cell of half a ring
}
TEST(Psi, BitmapByThePaper) {
  lookups(paper_plan(3, 13), 2);
  lookups(paper_plan(2, 11), 1);
}

// What a request opens to, decrypted with the secret that the client drew: every bin's selectors and bits, divided by
// the number of bins that share a ciphertext.
TEST(Psi, RequestsOpenToSelectorsAndBits) {
  const PsiPlan plan = ringforge_plan(4, 14, 0, 1, 2);
  TestRandomness rng(Seed{5}), again(Seed{5});
  PsiClientKey key(plan, rng);
  const auto ring = SmallRing<u64>::get(plan.modulus, plan.log_n);
  const RingSecret<u64> secret(ring, again);
  std::mt19937_64 random(1);
  std::vector<u32> cells(plan.bins());
  for (auto& c : cells) c = static_cast<u32>(random() % plan.cells());
  std::vector<std::uint8_t> request(plan.request_bytes());
  key.query(request.data(), cells.data());
  const std::size_t n = plan.n(), selectors = 4;
  ASSERT_EQ(plan.groups(), 1u);
  WordArray<u64> rows(plan.outputs() * 2 * n), phase(n);
  psi_open_request(rows.data(), plan, request);
  const u64 q = plan.modulus, share = ring->invert(plan.bins());
  const auto times = [&](u64 a, u64 b) { return static_cast<u64>(static_cast<unsigned __int128>(a) * b % q); };
  std::size_t set = 0;
  for (std::size_t o = 0; o < plan.outputs(); ++o) {
    secret.phase(phase.data(), rows.data() + o * 2 * n);
    for (std::size_t i = 0; i < n; ++i) {
      u64 want = 0;
      if (i < plan.bins() && o < selectors) {
        want = cells[i] >> (plan.cell_bits - 2) == o ? times(q / 2 + 1, share) : 0;
      } else if (i < plan.bins()) {
        // Bits of the tree come first, then those of the rotation: cells have one word.
        const std::size_t bit = (o - selectors) / plan.gadget.count;
        const std::size_t at = bit < plan.tree_bits() ? plan.log_n + bit : bit - plan.tree_bits();
        const auto digit = static_cast<unsigned>((o - selectors) % plan.gadget.count);
        want = cells[i] >> at & 1 ? times(gadget_element(plan.gadget, digit, q), share) : 0;
      }
      const u64 off = (phase.data()[i] + q - want) % q;
      ASSERT_LT(std::min(off, q - off), 64u) << "output " << o << ", coefficient " << i;
      set += want != 0;
    }
  }
  EXPECT_GT(set, 16u);
  std::vector<std::uint8_t> bad(request.begin(), request.end() - 1);
  EXPECT_THROW(psi_open_request(rows.data(), plan, bad), FormatError);
  EXPECT_THROW(psi_open_request(rows.data(), ringforge_plan(4, 14, 0, 1, 1), request), Error);
}

// Results that anybody can make, words without noise, become the reply that a client reads; each is masked afresh.
TEST(Psi, RepliesAreSealedFromResults) {
  const PsiPlan plan = ringforge_plan(11, 12, 0, 1, 0);
  TestRandomness rng(Seed{6});
  PsiClientKey key(plan, rng);
  std::vector<std::uint8_t> keys(plan.key_bytes());
  key.evaluation_keys(keys.data(), 2);
  const PsiSessionKeys session(plan, keys, 2);
  const std::size_t n = plan.n();
  ASSERT_EQ(plan.bins(), n);
  ASSERT_EQ(plan.replies(), 1u);
  std::mt19937_64 random(2);
  std::vector<u64> results(2 * n);
  std::vector<std::uint16_t> want(n), got(n);
  for (std::size_t i = 0; i < n; ++i) {
    want[i] = static_cast<std::uint16_t>(random() & 1);
    results[n + i] = want[i] * (plan.modulus / 2 + 1);
  }
  TestRandomness once(Seed{8}), same(Seed{8}), other(Seed{9});
  const auto reply = psi_seal_reply(session, results.data(), once);
  key.decode(got.data(), reply);
  EXPECT_EQ(got, want);
  EXPECT_EQ(psi_seal_reply(session, results.data(), same), reply);
  const auto masked = psi_seal_reply(session, results.data(), other);
  EXPECT_NE(masked, reply);
  key.decode(got.data(), masked);
  EXPECT_EQ(got, want);
  results[7] = plan.modulus;
  EXPECT_THROW(psi_seal_reply(session, results.data(), other), ValueError);
}

TEST(Psi, RefusesForeignBytes) {
  const PsiPlan plan = ringforge_plan(2, 12, 0, 1, 0);
  TestRandomness rng(Seed{9});
  PsiClientKey key(plan, rng);
  std::vector<std::uint8_t> keys(plan.key_bytes()), request(plan.request_bytes());
  const std::vector<u32> cells(plan.bins());
  key.evaluation_keys(keys.data());
  key.query(request.data(), cells.data());
  const PsiSessionKeys session(plan, keys);
  const std::vector<u64> offsets(plan.bins() + 1);
  const PsiTable table{offsets.data(), nullptr, nullptr, 0};
  auto bad = keys;
  bad.pop_back();
  EXPECT_THROW(PsiSessionKeys(plan, bad), FormatError);
  bad = keys;
  bad[0] ^= 1;
  EXPECT_THROW(PsiSessionKeys(plan, bad), FormatError);
  bad = keys;
  bad[20] ^= 1;
  EXPECT_THROW(PsiSessionKeys(plan, bad), MismatchError);
  bad = keys;
  std::fill(bad.end() - 64, bad.end(), 0xFF);  // residues above Q
  EXPECT_THROW(PsiSessionKeys(plan, bad), FormatError);
  auto query = request;
  query.push_back(0);
  EXPECT_THROW(psi_answer(session, query, table), FormatError);
  query = request;
  std::fill(query.end() - 64, query.end(), 0xFF);
  EXPECT_THROW(psi_answer(session, query, table), FormatError);
  EXPECT_THROW(psi_answer(session, request, table, 1, [](double) { return false; }), Error);
  auto reply = psi_answer(session, request, table);
  std::vector<std::uint16_t> words(plan.bins());
  key.decode(words.data(), reply);
  reply.resize(reply.size() - 1);
  EXPECT_THROW(key.decode(words.data(), reply), FormatError);
  const std::vector<u32> high(plan.bins(), static_cast<u32>(plan.cells()));
  EXPECT_THROW(key.query(request.data(), high.data()), ValueError);
  PsiPlan plain = paper_plan(2, 11);
  plain.gadget.balanced = false;
  EXPECT_THROW(plain.check(), ParameterError);
  PsiPlan wide = plan;
  wide.modulus = kPrime54;
  wide.gadget.drop += 5;
  EXPECT_THROW(wide.check(), ParameterError);  // above the guideline's limit without a reason
}

// ---- parts of a query ----------------------------------------------------------------------------

// A plan as small as the library takes: what is computed has no room for noise, and is compared word by word.
PsiPlan tiny_plan(unsigned log_bins) {
  PsiPlan p;
  p.log_n = 10;
  p.modulus = primes_below(25, 1, 2048)[0];
  p.log_bins = log_bins;
  p.cell_bits = 4;
  p.log_cell = 6;
  p.gadget = p.reconstruction = {12, 1, 13, true};
  p.expansion.assign(p.log_n, p.gadget);
  p.log_reply = 12;
  p.check();
  return p;
}

// Keys, a request, and a table whose bins have 1 to 3 cells, every fifth one none.
struct PartsWorld {
  explicit PartsWorld(const PsiPlan& p) : plan(p), keys(p.key_bytes()), request(p.request_bytes()) {
    std::mt19937_64 random(p.log_bins);
    std::vector<u32> asked(p.bins());
    for (std::size_t bin = 0; bin < p.bins(); ++bin) {
      std::vector<u32> here(bin % 5 == 4 ? 0 : 1 + random() % 3);
      for (u32& c : here) c = static_cast<u32>(random() % p.cells());
      std::sort(here.begin(), here.end());
      here.erase(std::unique(here.begin(), here.end()), here.end());
      cells.insert(cells.end(), here.begin(), here.end());
      offsets.push_back(cells.size());
      asked[bin] = static_cast<u32>(random() % p.cells());
    }
    for (std::size_t i = 0; i < cells.size() * p.cell_words(); ++i)
      words.push_back(static_cast<std::uint16_t>(random() % (1u << p.log_t)));
    TestRandomness rng(Seed{4});
    PsiClientKey client(p, rng);
    client.evaluation_keys(keys.data());
    client.query(request.data(), asked.data());
  }
  PsiTable table() const { return {offsets.data(), cells.data(), words.data(), cells.size()}; }

  PsiPlan plan;
  std::vector<u64> offsets{0};
  std::vector<u32> cells;
  std::vector<std::uint16_t> words;
  std::vector<std::uint8_t> keys, request;
};

// The bins of a part alone, found one by one from their numbers.
struct PartTable {
  PartTable(const PartsWorld& w, const PsiPart& part) {
    const std::size_t size = w.plan.bins() / w.plan.groups(), s = w.plan.cell_words();
    for (std::size_t i = 0; i < size; ++i) {
      if ((i & ((std::size_t{1} << part.depth) - 1)) != part.prefix) continue;
      const u64 first = w.offsets[part.group * size + i], last = w.offsets[part.group * size + i + 1];
      cells.insert(cells.end(), w.cells.data() + first, w.cells.data() + last);
      words.insert(words.end(), w.words.data() + first * s, w.words.data() + last * s);
      offsets.push_back(cells.size());
    }
  }
  PsiTable table() const { return {offsets.data(), cells.data(), words.data(), cells.size()}; }

  std::vector<u64> offsets{0};
  std::vector<u32> cells;
  std::vector<std::uint16_t> words;
};

void joined_parts_are_the_whole(const PartsWorld& w, const std::vector<unsigned>& depths, unsigned threads) {
  const PsiPlan& plan = w.plan;
  const PsiSessionKeys session(plan, w.keys);
  const std::size_t words = 2 * plan.n();
  TestRandomness whole(Seed{8});
  const auto reply = psi_answer(session, w.request, w.table(), threads, {}, nullptr, whole);
  const auto rows = psi_cut_request(plan, w.request);
  ASSERT_EQ(rows.size(), plan.groups());
  for (const unsigned depth : depths) {
    const std::size_t each = std::size_t{1} << depth, count = psi_part_results(plan, depth);
    std::vector<u64> results(plan.groups() * each * count * words, ~u64{0}), packed(plan.replies() * words);
    PsiCounts counts;
    u64* to = results.data();
    for (std::size_t group = 0; group < plan.groups(); ++group)
      for (std::size_t prefix = 0; prefix < each; ++prefix, to += count * words) {
        const PsiPart part{group, depth, prefix};
        const PartTable own(w, part);
        ASSERT_EQ(own.offsets.size(), part.bins(plan) + 1);
        check_table(plan, own.table(), part.bins(plan));
        psi_answer_part(to, session, rows[group], own.table(), part, threads, {}, &counts);
      }
    // Only the way down to a part is done in several: products and rows are those of the whole.
    const PsiCounts all = plan.counts();
    EXPECT_EQ(counts.external_product, all.external_product) << depth;
    EXPECT_EQ(counts.reconstruction, all.reconstruction) << depth;
    EXPECT_EQ(counts.row, all.row) << depth;
    psi_join_parts(packed.data(), session, results.data(), depth, nullptr);
    TestRandomness same(Seed{8});
    EXPECT_EQ(psi_seal_reply(session, packed.data(), same), reply) << "depth " << depth;
    if (depth == 0) continue;
    // The first two parts in each other's place are another reply: neither is empty.
    std::swap_ranges(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(count * words),
                     results.begin() + static_cast<std::ptrdiff_t>(count * words));
    psi_join_parts(packed.data(), session, results.data(), depth, nullptr);
    TestRandomness swapped(Seed{8});
    EXPECT_NE(psi_seal_reply(session, packed.data(), swapped), reply) << "depth " << depth;
  }
}

TEST(PsiParts, JoinedAreTheWhole) {
  // Replies of 16 bins: depths of several replies in a part, of one, and of several parts in one.
  joined_parts_are_the_whole(PartsWorld(tiny_plan(6)), {0, 1, 2, 3, 4, 5, 6}, 1);
  joined_parts_are_the_whole(PartsWorld(tiny_plan(3)), {0, 1, 3}, 3);
  joined_parts_are_the_whole(PartsWorld(ringforge_plan(3, 12, 0, 1, 1)), {0, 2, 3}, 2);
  joined_parts_are_the_whole(PartsWorld(paper_plan(2, 11)), {1, 2}, 1);
}
TEST(PsiParts, OfSeveralGroups) {
  const PartsWorld w(tiny_plan(11));
  ASSERT_EQ(w.plan.groups(), 2u);
  joined_parts_are_the_whole(w, {2, 7}, 2);
}

TEST(PsiParts, RefuseForeignBytesAndStop) {
  const PartsWorld w(tiny_plan(3));
  const PsiPlan& plan = w.plan;
  const PsiSessionKeys session(plan, w.keys);
  auto request = w.request;
  request.pop_back();
  EXPECT_THROW(psi_cut_request(plan, request), FormatError);
  EXPECT_THROW(psi_cut_request(plan, w.keys), FormatError);
  EXPECT_THROW(psi_cut_request(tiny_plan(4), w.request), MismatchError);
  const PsiPart part{0, 1, 1};
  const PartTable own(w, part);
  std::vector<u64> out(psi_part_results(plan, 1) * 2 * plan.n());
  const auto rows = psi_cut_request(plan, w.request)[0];
  const auto answer = [&](const std::vector<std::uint8_t>& bytes, const PsiProgress& progress = {}) {
    psi_answer_part(out.data(), session, bytes, own.table(), part, 2, progress, nullptr);
  };
  EXPECT_NO_THROW(answer(rows));
  auto bad = rows;
  bad.pop_back();
  EXPECT_THROW(answer(bad), FormatError);
  EXPECT_THROW(answer({}), FormatError);
  bad = rows;
  bad.push_back(0);
  EXPECT_THROW(answer(bad), FormatError);
  bad = rows;
  std::fill(bad.end() - 64, bad.end(), 0xFF);  // residues above Q
  EXPECT_THROW(answer(bad), FormatError);
  EXPECT_THROW(answer(rows, [](double) { return false; }), Error);
}

TEST(PsiParts, RefuseTablesOfOtherBins) {
  const PsiPlan plan = tiny_plan(3);
  const PsiPart part{0, 1, 0};
  const std::size_t bins = part.bins(plan);
  ASSERT_EQ(bins, 4u);
  const auto check = [&](std::vector<u64> offsets, std::vector<u32> cells, std::uint16_t word) {
    const std::vector<std::uint16_t> words(cells.size() * plan.cell_words(), word);
    check_table(plan, {offsets.data(), cells.data(), words.data(), cells.size()}, bins);
  };
  EXPECT_NO_THROW(check({0, 1, 1, 3, 3}, {15, 0, 15}, 1));
  EXPECT_THROW(check({0, 1, 1, 3, 2}, {15, 0, 15}, 1), FormatError);   // cells of no bin
  EXPECT_THROW(check({1, 1, 1, 3, 3}, {15, 0, 15}, 1), FormatError);   // begins after the first
  EXPECT_THROW(check({0, 2, 1, 3, 3}, {1, 2, 15}, 1), FormatError);    // descends
  EXPECT_THROW(check({0, 9, 9, 9, 3}, {1, 2, 15}, 1), FormatError);    // past the end
  EXPECT_THROW(check({0, 1, 1, 3, 3}, {16, 0, 15}, 1), FormatError);   // no cell of the plan
  EXPECT_THROW(check({0, 1, 1, 3, 3}, {15, 15, 15}, 1), FormatError);  // twice
  EXPECT_THROW(check({0, 1, 1, 3, 3}, {15, 0, 15}, 2), FormatError);   // no word of the plan
  const std::vector<u64> offsets{0, 0, 0, 0, 1};
  const u32 cell = 1;
  EXPECT_THROW(check_table(plan, {offsets.data(), &cell, nullptr, 1}, bins), FormatError);
  const std::vector<u64> empty(bins + 1);
  EXPECT_NO_THROW(check_table(plan, {empty.data(), nullptr, nullptr, 0}, bins));
}

}  // namespace
}  // namespace ringforge::circuits
