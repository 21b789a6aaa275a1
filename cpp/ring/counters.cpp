// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/counters.hpp"

namespace ringforge {
namespace {

constexpr std::array kFields{&OpCounts::ntt,       &OpCounts::intt,       &OpCounts::mod_up,
                             &OpCounts::mod_down,  &OpCounts::key_switch, &OpCounts::rotation,
                             &OpCounts::plain_mul, &OpCounts::key_bytes,  &OpCounts::plaintext_bytes};

constinit thread_local CountScope* innermost = nullptr;

void add(std::atomic<std::uint64_t>& to, std::uint64_t delta) noexcept {
  to.fetch_add(delta, std::memory_order_relaxed);
}

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

CountScope::CountScope() noexcept : outer_(innermost) {
  static_assert(kFields.size() == std::tuple_size_v<decltype(operations_)>);
  innermost = this;
}

CountScope::~CountScope() {
  innermost = outer_;
  if (outer_ == nullptr) return;
  for (std::size_t i = 0; i < operations_.size(); ++i) add(outer_->operations_[i], operations_[i]);
  add(outer_->read_, read_);
  add(outer_->written_, written_);
  add(outer_->spilled_, spilled_);
  for (std::size_t i = 0; i < levels_.size(); ++i) outer_->levels_[i].raise(outer_->levels_[i].now + levels_[i].most);
}

OpCounts CountScope::operations() const noexcept {
  OpCounts r;
  for (std::size_t i = 0; i < kFields.size(); ++i) r.*kFields[i] = operations_[i].load(std::memory_order_relaxed);
  return r;
}

Traffic CountScope::traffic() const noexcept { return {read_, written_, spilled_, levels_[0].most, levels_[1].most}; }

CountScope* CountScope::current() noexcept { return innermost; }

CountScope::Lent::Lent(CountScope* scope) noexcept : before_(innermost) { innermost = scope; }
CountScope::Lent::~Lent() { innermost = before_; }

void CountScope::Level::raise(std::uint64_t to) noexcept {
  std::uint64_t before = most.load();
  while (before < to && !most.compare_exchange_weak(before, to)) {
  }
}

void count(const OpCounts& delta) noexcept {
  CountScope* const scope = innermost;
  if (scope == nullptr) return;
  for (std::size_t i = 0; i < kFields.size(); ++i)
    if (const auto d = delta.*kFields[i]) add(scope->operations_[i], d);
}

void move_limbs(std::uint64_t read, std::uint64_t written, std::uint64_t n) noexcept {
  CountScope* const scope = innermost;
  if (scope == nullptr) return;
  add(scope->read_, 8 * n * read);
  add(scope->written_, 8 * n * written);
}

void spill_limbs(std::uint64_t limbs, std::uint64_t n) noexcept {
  move_limbs(limbs, limbs, n);
  if (innermost != nullptr) add(innermost->spilled_, 16 * n * limbs);
}

Held::Held(As as, std::uint64_t limbs, std::uint64_t n) noexcept : scope_(innermost), as_(as), bytes_(8 * limbs * n) {
  if (scope_ == nullptr) return;
  auto& level = scope_->levels_[static_cast<std::size_t>(as_)];
  level.raise(level.now.fetch_add(bytes_) + bytes_);
}

Held::~Held() {
  if (scope_ != nullptr) scope_->levels_[static_cast<std::size_t>(as_)].now.fetch_sub(bytes_);
}

}  // namespace ringforge
