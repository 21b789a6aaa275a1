// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "fork_mutex.hpp"

#include <pthread.h>

#include <array>
#include <vector>

namespace ringforge {
namespace {

struct Registry {
  std::mutex mutex;
  std::array<std::vector<ForkMutex*>, kForkRanks> ranks;
};

// Never destroyed: a child may be forked while static objects end.
Registry& registry() {
  static auto* r = new Registry;
  return *r;
}

void before_fork() {
  Registry& r = registry();
  r.mutex.lock();
  for (auto& rank : r.ranks)
    for (ForkMutex* m : rank) m->lock();
}

void after_fork() {
  Registry& r = registry();
  for (auto rank = r.ranks.rbegin(); rank != r.ranks.rend(); ++rank)
    for (ForkMutex* m : *rank) m->unlock();
  r.mutex.unlock();
}

}  // namespace

ForkMutex::ForkMutex(unsigned rank) noexcept {
  static const int handlers = ::pthread_atfork(before_fork, after_fork, after_fork);
  (void)handlers;
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  r.ranks[rank].push_back(this);
}

}  // namespace ringforge
