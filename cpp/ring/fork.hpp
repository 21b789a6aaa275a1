// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Locks that a forked child finds free.
#pragma once

#include <mutex>

namespace ringforge {

/// A mutex for what a process shares for its whole life: held over every fork, so that the child finds it free and
/// what it guards whole. For namespace scope only. A thread that holds one may lock another of higher rank only.
class ForkMutex {
 public:
  enum class Rank { types, keys, rings, primes, tables, memory };
  explicit ForkMutex(Rank rank);
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

}  // namespace ringforge
