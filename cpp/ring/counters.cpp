// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/counters.hpp"

#include <array>

namespace ringforge {
namespace {

constexpr std::array kFields{&OpCounts::ntt,       &OpCounts::intt,       &OpCounts::mod_up,
                             &OpCounts::mod_down,  &OpCounts::key_switch, &OpCounts::rotation,
                             &OpCounts::plain_mul, &OpCounts::key_bytes,  &OpCounts::plaintext_bytes};

std::array<std::atomic<std::uint64_t>, kFields.size()> totals{};

}  // namespace

OpCounts& OpCounts::operator+=(const OpCounts& o) noexcept {
  for (auto f : kFields) this->*f += o.*f;
  return *this;
}

OpCounts operator-(const OpCounts& a, const OpCounts& b) noexcept {
  OpCounts r;
  for (auto f : kFields) r.*f = a.*f - b.*f;
  return r;
}

void count(const OpCounts& delta) noexcept {
  for (std::size_t i = 0; i < kFields.size(); ++i)
    if (const auto d = delta.*kFields[i]) totals[i].fetch_add(d, std::memory_order_relaxed);
}

OpCounts counted() noexcept {
  OpCounts r;
  for (std::size_t i = 0; i < kFields.size(); ++i) r.*kFields[i] = totals[i].load(std::memory_order_relaxed);
  return r;
}

}  // namespace ringforge
