// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/threads.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "ringforge/counters.hpp"
#include "ringforge/error.hpp"

namespace ringforge {
namespace {

thread_local bool inside_loop = false;
thread_local bool is_worker = false;  // of the pool: whoever it works for may hold what a check for signals waits for
std::atomic<void (*)()> interruption{nullptr};

void check_interruption() {
  using Clock = std::chrono::steady_clock;
  thread_local Clock::time_point next{};
  const auto check = interruption.load(std::memory_order_relaxed);
  if (check == nullptr || is_worker) return;
  const auto now = Clock::now();
  if (now < next) return;
  next = now + std::chrono::milliseconds(100);
  check();
}

std::atomic<unsigned> forks{0};  // between the first process and this one

/// One parallel loop: its caller and its helpers draw indices from `next` until none is left.
struct Loop {
  const std::function<void(std::size_t)>* body = nullptr;
  std::size_t count = 0;
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  std::exception_ptr error;
  CountScope* counts = CountScope::current();
  // Guarded by the pool's mutex:
  unsigned seats = 0, helpers = 0;
  std::condition_variable done;

  bool drawn() const noexcept { return next.load(std::memory_order_relaxed) >= count; }

  void work() {
    inside_loop = true;
    for (std::size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) {
      try {
        check_interruption();
        (*body)(i);
      } catch (...) {
        if (!failed.exchange(true)) error = std::current_exception();
        next.store(count, std::memory_order_relaxed);
      }
    }
    inside_loop = false;
  }
};

/// Workers that sleep while no loop wants them. A caller works on its own loop, whoever joins; a worker joins the loop
/// that has the fewest, and stays until its indices are drawn.
class Pool {
 public:
  void run(Loop& loop, unsigned helpers) {
    const unsigned forked = forks.load();
    unsigned sleeping = 0;
    {
      const std::lock_guard lock(mutex_);
      hire(helpers);
      loop.seats = helpers;
      loops_.push_back(&loop);
      sleeping = idle_;
    }
    if (helpers < sleeping)
      for (unsigned i = 0; i < helpers; ++i) wake_.notify_one();
    else if (sleeping > 0)
      wake_.notify_all();
    loop.work();
    std::unique_lock lock(mutex_);
    std::erase(loops_, &loop);
    if (loop.helpers > 0 && forks.load() != forked)
      throw Error("a process that was forked from within a parallel loop cannot end that loop");
    loop.done.wait(lock, [&] { return loop.helpers == 0; });
  }

  std::mutex& mutex() noexcept { return mutex_; }

 private:
  // As many workers as the widest loop asks for: loops that run at once share them. Fewer do when the system refuses.
  void hire(unsigned helpers) {
    try {
      for (; workers_ < helpers; ++workers_) std::thread([this] { serve(); }).detach();
    } catch (const std::system_error&) {
    }
  }

  Loop* choose() const noexcept {
    Loop* best = nullptr;
    for (Loop* l : loops_)
      if (l->seats > 0 && !l->drawn() && (best == nullptr || l->helpers < best->helpers)) best = l;
    return best;
  }

  void serve() {
    is_worker = true;
    std::unique_lock lock(mutex_);
    for (;;) {
      Loop* loop = nullptr;
      ++idle_;
      wake_.wait(lock, [&] { return (loop = choose()) != nullptr; });
      --idle_;
      --loop->seats;
      ++loop->helpers;
      lock.unlock();
      {
        const CountScope::Lent lent(loop->counts);
        loop->work();
      }
      lock.lock();
      // Under the lock: the loop ends with its caller's wait.
      if (--loop->helpers == 0) loop->done.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Loop*> loops_;
  unsigned workers_ = 0, idle_ = 0;
};

// Never destroyed, and its workers never joined: at exit they sleep, or work for a thread that is itself cut off.
std::atomic<Pool*> shared{nullptr};

// A fork copies the pool without its workers, so the child makes a pool of its own when it first needs one. The mutex
// is held over the fork: a loop of the forking thread then finds its helpers counted right in the child.
Pool* held_over_fork = nullptr;
void before_fork() {
  held_over_fork = shared.load();
  if (held_over_fork != nullptr) held_over_fork->mutex().lock();
}
void after_fork_in_parent() {
  if (held_over_fork != nullptr) held_over_fork->mutex().unlock();
}
void after_fork_in_child() {
  after_fork_in_parent();
  shared.store(nullptr);
  forks.fetch_add(1);
  inside_loop = false;
}

Pool& pool() {
  static const int registered = ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  (void)registered;
  Pool* p = shared.load(std::memory_order_acquire);
  if (p == nullptr) {
    auto* fresh = new Pool;
    if (shared.compare_exchange_strong(p, fresh))
      p = fresh;
    else
      delete fresh;
  }
  return *p;
}

}  // namespace

void set_interruption(void (*check)()) noexcept { interruption.store(check); }

unsigned hardware_threads() noexcept { return std::max(1U, std::thread::hardware_concurrency()); }

void parallel_for(unsigned threads, std::size_t count, const std::function<void(std::size_t)>& body) {
  const auto useful = static_cast<unsigned>(std::min<std::size_t>(threads, count));
  if (useful <= 1 || inside_loop) {
    for (std::size_t i = 0; i < count; ++i) {
      check_interruption();
      body(i);
    }
    return;
  }
  Loop loop;
  loop.body = &body;
  loop.count = count;
  pool().run(loop, useful - 1);
  if (loop.error) std::rethrow_exception(loop.error);
}

}  // namespace ringforge
