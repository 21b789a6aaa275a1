// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/linear/diagonals.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "ringforge/error.hpp"

namespace ringforge::linear {

Diagonals::Diagonals(std::size_t slots, std::vector<std::uint32_t> steps, std::vector<std::size_t> offsets,
                     std::vector<std::uint32_t> targets, std::vector<std::complex<double>> values)
    : slots_(slots),
      steps_(std::move(steps)),
      offsets_(std::move(offsets)),
      targets_(std::move(targets)),
      values_(std::move(values)) {
  if (!std::has_single_bit(slots)) throw ShapeError(std::to_string(slots) + " slots: the number is a power of two");
  if (offsets_.size() != steps_.size() + 1 || offsets_.front() != 0 || offsets_.back() != targets_.size() ||
      !std::is_sorted(offsets_.begin(), offsets_.end()) || (!values_.empty() && values_.size() != targets_.size()))
    throw ShapeError("the arrays of the diagonals do not fit together");
  if (std::adjacent_find(steps_.begin(), steps_.end(), std::greater_equal<>()) != steps_.end() ||
      (!steps_.empty() && steps_.back() >= slots) ||
      std::any_of(targets_.begin(), targets_.end(), [&](auto s) { return s >= slots; }))
    throw ShapeError("diagonals must ascend, and they and their slots be below " + std::to_string(slots));
  std::vector<double> rows(slots), squares(slots), columns(slots);
  std::vector<std::size_t> entries(slots);
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    double peak = 0;
    for (std::size_t e = offsets_[i]; e < offsets_[i + 1]; ++e) {
      const double size = values_.empty() ? 1 : std::abs(values_[e]);
      if (!std::isfinite(size)) throw ValueError("diagonal " + std::to_string(steps_[i]) + " is not finite everywhere");
      const std::size_t s = targets_[e];
      rows[s] += size;
      squares[s] += size * size;
      columns[(s + steps_[i]) & (slots - 1)] += size;
      ++entries[s];
      peak = std::max(peak, size);
    }
    peak_sum_ += peak;
  }
  row_sum_ = *std::max_element(rows.begin(), rows.end());
  row_square_ = *std::max_element(squares.begin(), squares.end());
  column_sum_ = *std::max_element(columns.begin(), columns.end());
  row_entries_ = *std::max_element(entries.begin(), entries.end());
}

void Diagonals::fill(std::size_t i, std::size_t shift, double* re, double* im) const {
  std::fill_n(re, slots_, 0.0);
  std::fill_n(im, slots_, 0.0);
  for (std::size_t e = offsets_[i]; e < offsets_[i + 1]; ++e) {
    const std::size_t s = (targets_[e] + shift) & (slots_ - 1);
    re[s] += values_.empty() ? 1 : values_[e].real();
    if (!values_.empty()) im[s] += values_[e].imag();
  }
}

}  // namespace ringforge::linear
