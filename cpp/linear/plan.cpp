// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/linear/plan.hpp"

#include <algorithm>
#include <bit>

#include "ringforge/error.hpp"

namespace ringforge::linear {

std::size_t next_power_of_two(std::size_t x) noexcept { return std::bit_ceil(x); }

const char* name(Algorithm a) noexcept {
  switch (a) {
    case Algorithm::diagonal:
      return "diagonal";
    case Algorithm::horner:
      return "horner";
    case Algorithm::bsgs:
      return "bsgs";
  }
  return "unknown";
}

Packing::Packing(std::size_t rows, std::size_t cols, std::size_t slots, Span span, std::size_t input_period)
    : rows_(rows), cols_(cols), slots_(slots) {
  if (rows == 0 || cols == 0)
    throw ShapeError("a matrix of " + std::to_string(rows) + " x " + std::to_string(cols) + " has no product");
  if (!std::has_single_bit(slots)) throw ShapeError("the number of slots must be a power of two");
  row_period_ = std::min(next_power_of_two(rows), slots);
  if (input_period != 0) {
    if (!std::has_single_bit(input_period) || input_period > slots || (cols > input_period && input_period != slots))
      throw ShapeError("inputs of period " + std::to_string(input_period) + " cannot hold " + std::to_string(cols) +
                       " columns");
  }
  std::size_t widest = 0;
  for (std::size_t first = 0; first < cols; first += slots) {
    ColumnBlock b;
    b.first = first;
    b.count = std::min(slots, cols - first);
    b.period = input_period != 0 ? input_period : next_power_of_two(b.count);
    widest = std::max(widest, b.period);
    blocks_.push_back(b);
  }
  span_ = span == Span::spread && input_period == 0 ? slots : std::max(row_period_, widest);
  for (auto& b : blocks_) {
    // A narrow block is padded until one diagonal is full.
    if (input_period == 0) b.period = std::max(b.period, span_ / row_period_);
    b.diagonals = row_period_ * b.period / span_;
  }
}

std::size_t Packing::diagonals() const noexcept {
  std::size_t d = 0;
  for (const auto& b : blocks_) d = std::max(d, b.diagonals);
  return d;
}

std::vector<std::size_t> Packing::folds() const {
  std::vector<std::size_t> h;
  for (std::size_t step = span_ / 2; step >= row_period_; step /= 2) h.push_back(step);
  return h;
}

std::size_t Packing::column(std::size_t block, std::size_t slot) const noexcept {
  const ColumnBlock& b = blocks_[block];
  const std::size_t s = slot & (span_ - 1), length = std::max(row_period_, b.period);
  const std::size_t c = (s + s / length * b.diagonals) & (b.period - 1);
  return c < b.count ? b.first + c : cols_;
}

Plan::Plan(Packing packing, Algorithm algorithm, std::size_t baby)
    : packing_(std::move(packing)), algorithm_(algorithm), baby_(algorithm == Algorithm::bsgs ? baby : 1) {
  const std::size_t all = packing_.diagonals();
  if (baby_ < 1 || baby_ > all)
    throw ShapeError(std::to_string(baby) + " baby steps for " + std::to_string(all) + " diagonals: choose 1 ... " +
                     std::to_string(all));
  for (std::size_t r = 0; r < packing_.row_blocks(); ++r)
    for (std::size_t g = 0; g < giants(); ++g)
      for (std::size_t c = 0; c < packing_.blocks().size(); ++c)
        for (std::size_t b = 0; b < baby_ && g * baby_ + b < packing_.blocks()[c].diagonals; ++b)
          terms_.push_back({r, c, g * baby_ + b, b, g, g * baby_});
}

std::size_t Plan::babies(std::size_t block) const noexcept {
  return std::min(baby_, packing_.blocks()[block].diagonals);
}

std::vector<KeyUse> Plan::keys() const {
  std::vector<KeyUse> uses;
  if (algorithm_ == Algorithm::bsgs) {
    for (std::size_t b = 1; b < std::min(baby_, packing_.diagonals()); ++b) uses.push_back({b, 0});
    for (std::size_t g = 1; g < giants(); ++g) uses.push_back({g * baby_, 0});
  } else {
    const std::size_t last = algorithm_ == Algorithm::horner ? 2 : packing_.diagonals();
    for (std::size_t d = 1; d < std::min(last, packing_.diagonals()); ++d) uses.push_back({d, 1});
  }
  for (const std::size_t h : packing_.folds()) {
    // A key for a higher level also serves a lower one.
    const bool have = std::any_of(uses.begin(), uses.end(), [&](const KeyUse& u) { return u.step == h; });
    if (!have) uses.push_back({h, 1});
  }
  return uses;
}

}  // namespace ringforge::linear
