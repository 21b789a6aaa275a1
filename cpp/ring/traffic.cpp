// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/traffic.hpp"

#include <atomic>

namespace ringforge {
namespace {

std::atomic<std::uint64_t> read_bytes{}, written_bytes{}, spilled_bytes{};
struct Level {
  std::atomic<std::uint64_t> now{}, most{};
};
Level levels[2];

}  // namespace

Traffic traffic() noexcept { return {read_bytes, written_bytes, spilled_bytes, levels[0].most, levels[1].most}; }

void reset_traffic() noexcept {
  read_bytes = written_bytes = spilled_bytes = 0;
  for (auto& l : levels) l.most = l.now.load();
}

void move_limbs(std::uint64_t read, std::uint64_t written, std::uint64_t n) noexcept {
  read_bytes.fetch_add(8 * n * read, std::memory_order_relaxed);
  written_bytes.fetch_add(8 * n * written, std::memory_order_relaxed);
}

void spill_limbs(std::uint64_t limbs, std::uint64_t n) noexcept {
  move_limbs(limbs, limbs, n);
  spilled_bytes.fetch_add(16 * n * limbs, std::memory_order_relaxed);
}

Held::Held(As as, std::uint64_t limbs, std::uint64_t n) noexcept : as_(as), bytes_(8 * limbs * n) {
  auto& l = levels[as == As::working ? 0 : 1];
  const std::uint64_t now = l.now.fetch_add(bytes_) + bytes_;
  std::uint64_t most = l.most.load();
  while (most < now && !l.most.compare_exchange_weak(most, now)) {
  }
}

Held::~Held() { levels[as_ == As::working ? 0 : 1].now.fetch_sub(bytes_); }

}  // namespace ringforge
