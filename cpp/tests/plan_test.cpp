// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Packings and plans on plain integers: every shape up to a limit, every algorithm.
#include "ringforge/linear/plan.hpp"

#include <gtest/gtest.h>

#include <random>

#include "ringforge/error.hpp"
#include "ringforge/linear/norms.hpp"

namespace ringforge::linear {
namespace {

using Slots = std::vector<long>;

Slots rotate(const Slots& x, std::size_t step) {
  Slots r(x.size());
  for (std::size_t s = 0; s < x.size(); ++s) r[s] = x[(s + step) % x.size()];
  return r;
}

/// Performs a plan on integers and returns the rows of the product.
std::vector<long> perform(const Plan& plan, const std::vector<std::vector<long>>& m, const std::vector<Slots>& x) {
  const Packing& p = plan.packing();
  const std::size_t S = p.slots();
  std::vector<long> y;
  for (std::size_t rb = 0; rb < p.row_blocks(); ++rb) {
    Slots acc(S, 0);
    for (std::size_t g = 0; g < plan.giants(); ++g) {
      Slots inner(S, 0);
      for (const Term& t : plan.terms()) {
        if (t.row_block != rb || t.giant != g) continue;
        const Slots in = rotate(x[t.block], t.baby);
        for (std::size_t s = 0; s < S; ++s) {
          const std::size_t from = (s + S - t.shift % S) % S;
          const std::size_t row = rb * p.row_period() + from % p.row_period();
          const std::size_t col = p.column(t.block, from + t.index);
          if (row < p.rows() && col < p.cols()) inner[s] += m[row][col] * in[s];
        }
      }
      const Slots turned = rotate(inner, g * plan.baby());
      for (std::size_t s = 0; s < S; ++s) acc[s] += turned[s];
    }
    for (const std::size_t h : p.folds()) {
      const Slots turned = rotate(acc, h);
      for (std::size_t s = 0; s < S; ++s) acc[s] += turned[s];
    }
    for (std::size_t s = 0; s < S; ++s) EXPECT_EQ(acc[s], acc[s % p.row_period()]);
    for (std::size_t r = 0; r < p.row_period() && y.size() < p.rows(); ++r) y.push_back(acc[r]);
  }
  return y;
}

void check(std::size_t rows, std::size_t cols, std::size_t slots, Span span, std::size_t period) {
  std::mt19937 rng(static_cast<unsigned>(rows * 1000 + cols));
  std::vector<std::vector<long>> m(rows, std::vector<long>(cols));
  std::vector<long> v(cols);
  for (auto& row : m)
    for (auto& x : row) x = static_cast<long>(rng() % 19) - 9;
  for (auto& x : v) x = static_cast<long>(rng() % 19) - 9;
  std::vector<long> expected(rows, 0);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < cols; ++c) expected[r] += m[r][c] * v[c];

  const Packing packing(rows, cols, slots, span, period);
  std::vector<Slots> x;
  for (std::size_t c = 0; c < packing.blocks().size(); ++c) {
    Slots in(slots, 0);
    for (std::size_t s = 0; s < slots; ++s)
      if (packing.column(c, s) < cols) in[s] = v[packing.column(c, s)];
    x.push_back(in);
  }
  for (const Algorithm a : {Algorithm::bsgs, Algorithm::diagonal, Algorithm::horner}) {
    for (std::size_t baby = 1; baby <= packing.diagonals(); baby = baby * 2 + 1) {
      EXPECT_EQ(perform(Plan(packing, a, baby), m, x), expected)
          << rows << " x " << cols << " in " << slots << " slots, " << name(a) << ", " << baby << " babies, span "
          << packing.span();
      if (a != Algorithm::bsgs) break;
    }
  }
}

TEST(Plan, ComputesTheProductForEveryShape) {
  for (std::size_t rows = 1; rows <= 20; ++rows)
    for (std::size_t cols = 1; cols <= 20; ++cols)
      for (const Span span : {Span::spread, Span::compact}) check(rows, cols, 8, span, 0);
  for (const auto& [rows, cols] : {std::pair{5, 3}, {16, 16}, {3, 31}, {31, 3}, {17, 40}, {1, 1}, {33, 33}})
    for (const Span span : {Span::spread, Span::compact})
      check(static_cast<std::size_t>(rows), static_cast<std::size_t>(cols), 16, span, 0);
}

TEST(Plan, TakesInputsThatAnEarlierPlanLeft) {
  for (const std::size_t period : {4U, 8U, 16U})
    for (std::size_t rows = 1; rows <= 20; rows += 3)
      for (std::size_t cols = 1; cols <= period; cols += 2) check(rows, cols, 16, Span::compact, period);
  check(40, 20, 8, Span::compact, 8);
  EXPECT_THROW(Packing(4, 9, 16, Span::compact, 8), ShapeError);
  EXPECT_THROW(Packing(4, 4, 16, Span::compact, 3), ShapeError);
}

TEST(Plan, SpreadUsesEverySlot) {
  const Packing p(512, 1344, 8192, Span::spread);
  EXPECT_EQ(p.diagonals(), 128U);  // 512 * 2048 / 8192
  EXPECT_EQ(p.folds().size(), 4U);
  const Packing wide(4096, 9216, 8192, Span::spread);
  ASSERT_EQ(wide.blocks().size(), 2U);
  EXPECT_EQ(wide.blocks()[0].diagonals, 4096U);
  EXPECT_EQ(wide.blocks()[1].diagonals, 512U);
}

TEST(Plan, KeysCoverEveryRotation) {
  const Plan bsgs(Packing(16, 64, 256, Span::spread), Algorithm::bsgs, 2);
  EXPECT_EQ(bsgs.giants(), 2U);
  const std::vector<KeyUse> expected{{1, 0}, {2, 0}, {128, 1}, {64, 1}, {32, 1}, {16, 1}};
  EXPECT_EQ(bsgs.keys(), expected);
  const Plan horner(Packing(16, 64, 256, Span::compact), Algorithm::horner);
  const std::vector<KeyUse> few{{1, 1}, {32, 1}, {16, 1}};
  EXPECT_EQ(horner.keys(), few);
  EXPECT_EQ(Plan(Packing(16, 64, 256, Span::compact), Algorithm::diagonal).keys().size(), 17U);
  EXPECT_THROW(Plan(Packing(16, 64, 256, Span::compact), Algorithm::bsgs, 17), ShapeError);
  EXPECT_THROW(Packing(0, 4, 16, Span::spread), ShapeError);
  EXPECT_THROW(Packing(4, 4, 12, Span::spread), ShapeError);
}

// Known norms: a permutation has 1, the all-ones matrix n^2; splitting columns can only lower the latter.
TEST(Norms, OfKnownMatrices) {
  const std::size_t n = 16;
  std::vector<double> identity(n * n), ones(n * n, 1.0);
  for (std::size_t i = 0; i < n; ++i) identity[i * n + (i * 5 + 3) % n] = 1;
  for (const std::size_t baby : {1U, 4U, 16U}) {
    const Plan plan(Packing(n, n, n, Span::compact), Algorithm::bsgs, baby);
    EXPECT_NEAR(norms(plan, identity).matrix, 1, 0.25);
    EXPECT_NEAR(norms(plan, identity).rotated, 1, 0.25);
    EXPECT_NEAR(norms(plan, ones).matrix, 256, 1e-9);  // 1.25 times more is above the row-column bound
    // Every column is met giants() times by each baby step: the split matrix has n/giants() equal parts.
    const double split = static_cast<double>(n * plan.giants());
    EXPECT_GE(norms(plan, ones).rotated, split * 0.99);
    EXPECT_LE(norms(plan, ones).rotated, std::min(256.0, split * 1.26));
  }
}

}  // namespace
}  // namespace ringforge::linear
