// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/threads.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace ringforge {
namespace {

thread_local bool inside_loop = false;

/// One parallel loop: workers draw indices from `next` until none is left.
struct Loop {
  const std::function<void(std::size_t)>* body = nullptr;
  std::size_t count = 0;
  std::atomic<std::size_t> next{0};
  std::exception_ptr error;
  std::mutex error_mutex;

  void work() {
    inside_loop = true;
    for (std::size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) {
      try {
        (*body)(i);
      } catch (...) {
        const std::lock_guard lock(error_mutex);
        if (!error) error = std::current_exception();
        next.store(count, std::memory_order_relaxed);
      }
    }
    inside_loop = false;
  }
};

/// Workers that sleep between loops. They are started when first needed and joined at exit.
class Pool {
 public:
  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    for (auto& t : workers_) t.join();
  }

  void run(Loop& loop, unsigned helpers) {
    const std::lock_guard one_loop(run_mutex_);
    while (workers_.size() < helpers) workers_.emplace_back([this] { serve(); });
    {
      const std::lock_guard lock(mutex_);
      loop_ = &loop;
      seats_ = helpers;
    }
    wake_.notify_all();
    loop.work();
    std::unique_lock lock(mutex_);
    seats_ = 0;
    done_.wait(lock, [this] { return busy_ == 0; });
    loop_ = nullptr;
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return stop_ || seats_ > 0; });
      if (stop_) return;
      --seats_;
      ++busy_;
      Loop* loop = loop_;
      lock.unlock();
      loop->work();
      lock.lock();
      if (--busy_ == 0) done_.notify_all();
    }
  }

  std::mutex run_mutex_, mutex_;
  std::condition_variable wake_, done_;
  std::vector<std::thread> workers_;
  Loop* loop_ = nullptr;
  unsigned seats_ = 0, busy_ = 0;
  bool stop_ = false;
};

Pool& pool() {
  static Pool p;
  return p;
}

}  // namespace

unsigned hardware_threads() noexcept { return std::max(1U, std::thread::hardware_concurrency()); }

void parallel_for(unsigned threads, std::size_t count, const std::function<void(std::size_t)>& body) {
  const auto useful = static_cast<unsigned>(std::min<std::size_t>(threads, count));
  if (useful <= 1 || inside_loop) {
    for (std::size_t i = 0; i < count; ++i) body(i);
    return;
  }
  Loop loop;
  loop.body = &body;
  loop.count = count;
  pool().run(loop, useful - 1);
  if (loop.error) std::rethrow_exception(loop.error);
}

}  // namespace ringforge
