// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Reports from parallel loops to a progress callback.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <type_traits>

#include "ringforge/error.hpp"

namespace ringforge {

/// Tells a callback the fraction done: never falling, never from two threads at once, and with no lock held, because
/// the callback may wait for whatever it likes. A thread that finds another one reporting goes on; that one reports
/// anew when it comes back, so the last report is 1.
template <class Result>
class Reports {
 public:
  /// `callback` may be empty; of its results only false means something: stop. It must outlive this.
  Reports(const std::function<Result(double)>& callback, std::size_t total) : callback_(callback), total_(total) {}

  /// @throws Error when the callback says stop, and what the callback throws.
  void add(std::size_t steps) {
    if (!callback_) return;
    done_.fetch_add(steps);
    std::size_t told = 0;
    do {
      if (reporting_.exchange(true)) return;
      const End end{reporting_};
      told = done_.load();
      const double fraction = static_cast<double>(told) / static_cast<double>(total_);
      if constexpr (std::is_same_v<Result, bool>) {
        if (!callback_(fraction)) throw Error("cancelled");
      } else {
        callback_(fraction);
      }
    } while (done_.load() != told);
  }

 private:
  struct End {
    std::atomic<bool>& flag;
    ~End() { flag.store(false); }
  };
  const std::function<Result(double)>& callback_;
  const std::size_t total_;
  std::atomic<std::size_t> done_{0};
  std::atomic<bool> reporting_{false};
};

}  // namespace ringforge
