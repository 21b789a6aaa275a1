// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "fork.hpp"

#include <pthread.h>

#include <map>

namespace ringforge {
namespace {

// By rank. Never destroyed: a fork may come after static objects have gone. Filled before main only.
std::multimap<ForkMutex::Rank, ForkMutex*>& all() {
  static auto* mutexes = new std::multimap<ForkMutex::Rank, ForkMutex*>;
  return *mutexes;
}

void lock_all() {
  for (auto& [rank, mutex] : all()) mutex->lock();
}

void unlock_all() {
  for (auto it = all().rbegin(); it != all().rend(); ++it) it->second->unlock();
}

}  // namespace

ForkMutex::ForkMutex(Rank rank) {
  static const int registered = ::pthread_atfork(lock_all, unlock_all, unlock_all);
  (void)registered;
  all().emplace(rank, this);
}

}  // namespace ringforge
