// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/linear/norms.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace ringforge::linear {
namespace {

constexpr int kRounds = 20;
constexpr double kMargin = 1.25;
constexpr std::size_t kWorkLimit = std::size_t{1} << 18;

/// Largest eigenvalue of A A^T, given u -> A A^T u.
double largest_eigenvalue(std::size_t rows, const std::function<void(std::vector<double>&)>& apply) {
  std::vector<double> u(rows);
  // Any start that is not orthogonal to the eigenvector: signs and sizes without a pattern.
  std::uint64_t state = 1;
  for (auto& x : u) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    x = 0.5 + static_cast<double>(state >> 40) * 0x1p-24;
  }
  double value = 0;
  for (int i = 0; i < kRounds; ++i) {
    double length = 0;
    for (const double x : u) length += x * x;
    if (length == 0) return 0;
    for (auto& x : u) x /= std::sqrt(length);
    apply(u);
    double grown = 0;
    for (const double x : u) grown += x * x;
    value = std::sqrt(grown);
  }
  return value * kMargin;
}

}  // namespace

Norms norms(const Plan& plan, std::span<const double> matrix) {
  const Packing& packing = plan.packing();
  const std::size_t rows = packing.rows(), cols = packing.cols(), slots = packing.slots();
  double squares = 0, row_sum = 0;
  std::vector<double> column_sum(cols);
  for (std::size_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (std::size_t c = 0; c < cols; ++c) {
      const double x = std::fabs(matrix[r * cols + c]);
      sum += x;
      column_sum[c] += x;
      squares += x * x;
    }
    row_sum = std::max(row_sum, sum);
  }
  const double limit = std::min(squares, row_sum * *std::max_element(column_sum.begin(), column_sum.end()));
  if (std::max(rows * cols, plan.terms().size() * slots) > kWorkLimit) return {limit, limit};

  const double plain = largest_eigenvalue(rows, [&](std::vector<double>& u) {
    std::vector<double> v(cols), w(rows);
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t c = 0; c < cols; ++c) v[c] += matrix[r * cols + c] * u[r];
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t c = 0; c < cols; ++c) w[r] += matrix[r * cols + c] * v[c];
    u = std::move(w);
  });
  // Coordinates: (block, baby, slot of the rotated input).
  const auto walk = [&](const auto& visit) {
    for (const Term& t : plan.terms())
      for (std::size_t s = 0; s < slots; ++s) {
        const std::size_t from = (s - t.shift) & (slots - 1);
        const std::size_t row = t.row_block * packing.row_period() + (from & (packing.row_period() - 1));
        const std::size_t col = packing.column(t.block, from + t.index);
        if (row < rows && col < cols)
          visit(row, (t.block * plan.baby() + t.baby) * slots + s, matrix[row * cols + col]);
      }
  };
  const double rotated = largest_eigenvalue(rows, [&](std::vector<double>& u) {
    std::vector<double> v(packing.blocks().size() * plan.baby() * slots), w(rows);
    walk([&](std::size_t r, std::size_t k, double x) { v[k] += x * u[r]; });
    walk([&](std::size_t r, std::size_t k, double x) { w[r] += x * v[k]; });
    u = std::move(w);
  });
  return {std::min(limit, plain), std::min(limit, rotated)};
}

}  // namespace ringforge::linear
