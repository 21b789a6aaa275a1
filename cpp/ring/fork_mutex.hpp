// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Mutexes of process-wide tables. A fork copies the memory of a process but only the thread that forks: what another
// thread holds at that moment would stay locked for ever in the child, half changed. So these are taken before a fork
// and given back on both sides.
#pragma once

#include <mutex>

namespace ringforge {

/// A mutex for a static object, registered for good. Where one is held while another is taken, the other has the
/// higher rank; ranks run from 0 to kForkRanks - 1.
class ForkMutex {
 public:
  explicit ForkMutex(unsigned rank) noexcept;
  ForkMutex(const ForkMutex&) = delete;
  ForkMutex& operator=(const ForkMutex&) = delete;
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

/// 0: small rings; 1: primes, which small rings ask for; 2: tables of a degree; 3: memory.
inline constexpr unsigned kForkRanks = 4;

}  // namespace ringforge
