// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The pool of workers under several callers, under forks, and with callbacks that wait. Bodies meet at barriers, so
// each of these tests ends only if the threads that it needs do run.
#include "ringforge/threads.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <cstdlib>
#include <latch>
#include <thread>
#include <vector>

#include "ringforge/error.hpp"
#include "ringforge/oprf.hpp"
#include "ringforge/record.hpp"
#include "support.hpp"

#if defined(__SANITIZE_ADDRESS__)
// What the parent's other threads hold has no owner in a forked child, which the leak checker takes for leaks.
static bool is_forked_child = false;
extern "C" int __lsan_is_turned_off() { return is_forked_child ? 1 : 0; }
#endif

namespace ringforge {
namespace {

/// Ends only when `threads` threads run bodies at the same time.
void meet(unsigned threads) {
  std::barrier<> all(threads);
  parallel_for(threads, threads, [&](std::size_t) { all.arrive_and_wait(); });
}

/// Exit status of a forked child that runs f; a child that hangs is ended by its alarm.
template <class F>
int in_child(const F& f) {
  const pid_t child = ::fork();
  if (child == 0) {
#if defined(__SANITIZE_ADDRESS__)
    is_forked_child = true;
#endif
    ::alarm(60);
    f();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

std::atomic<bool> asked{false};

TEST(Threads, AnInterruptionEndsTheLoopsOfItsThread) {
  for (const unsigned threads : {1U, 3U}) {
    asked = false;
    set_interruption([] {
      asked = true;
      throw Error("stop");
    });
    bool ended = false;
    // A new thread: one that was asked a moment ago is not asked again at once.
    std::jthread([&] {
      try {
        parallel_for(threads, 1000, [](std::size_t) {
          while (!asked) std::this_thread::yield();  // workers leave an index to the caller
        });
      } catch (const Error&) {
        ended = true;
      }
    }).join();
    EXPECT_TRUE(ended);
  }
  set_interruption(nullptr);
  std::atomic<int> ran{0};
  std::jthread([&] { parallel_for(3, 1000, [&](std::size_t) { ++ran; }); }).join();
  EXPECT_EQ(ran, 1000);
}

TEST(Threads, ACallerDoesNotWaitForTheLoopOfAnother) {
  std::latch begun(2), go_on(1);
  std::jthread other([&] {
    parallel_for(2, 2, [&](std::size_t) {
      begun.count_down();
      go_on.wait();
    });
  });
  begun.wait();  // the pool's worker and another caller are inside a loop, and stay there
  std::atomic<int> done = 0;
  for (int i = 0; i < 100; ++i) parallel_for(2, 10, [&](std::size_t) { ++done; });
  EXPECT_EQ(done, 1000);
  go_on.count_down();
}

TEST(Threads, WorkersOfAnEndedLoopHelpTheNext) {
  meet(3);  // two workers
  std::barrier<> together(3);
  std::latch taken(3), release(1);
  std::jthread other([&] {
    parallel_for(3, 3, [&](std::size_t) {
      taken.count_down();
      release.wait();
    });
  });
  taken.wait();
  // Both workers are busy. The first body here lets them go; the loop ends only with their help.
  std::atomic<bool> released = false;
  parallel_for(3, 3, [&](std::size_t) {
    if (!released.exchange(true)) release.count_down();
    together.arrive_and_wait();
  });
}

TEST(Threads, ManyCallersAtOnceComplete) {
  std::vector<std::atomic<int>> hits(64);
  {
    std::vector<std::jthread> callers;
    for (unsigned c = 0; c < 8; ++c)
      callers.emplace_back([&, c] {
        for (int round = 0; round < 500; ++round)
          parallel_for(1 + c % 5, hits.size(), [&](std::size_t i) { hits[i].fetch_add(1, std::memory_order_relaxed); });
      });
  }
  for (const auto& h : hits) EXPECT_EQ(h, 8 * 500);
}

TEST(Threads, AForkedChildHasWorkersOfItsOwn) {
  meet(4);
  EXPECT_EQ(in_child([] { meet(4); }), 0);
  EXPECT_EQ(in_child([] {
              meet(4);
              EXPECT_EQ(in_child([] { meet(4); }), 0);
              std::exit(::testing::Test::HasFailure() ? 1 : 0);  // the ordinary way out, with destructors
            }),
            0);
  EXPECT_EQ(in_child([] { std::exit(0); }), 0);  // the pool unused in the child
  meet(4);
}

TEST(Threads, AChildForkedWhileOthersUseThePoolGoesOn) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "its runtime keeps the parent's threads in the child, and ends it when a new one gets an old address";
#endif
  std::atomic<bool> stop = false;
  std::vector<std::jthread> busy;
  for (int i = 0; i < 3; ++i)
    busy.emplace_back([&] {
      while (!stop) parallel_for(3, 20, [](std::size_t) {});
    });
  for (int i = 0; i < 20; ++i) EXPECT_EQ(in_child([] { meet(3); }), 0);
  stop = true;
}

// What all threads share, tables and freed memory, is whole and free in the child.
TEST(Threads, AChildForkedWhileOthersAllocateAndMakeTablesGoesOn) {
  const auto primes = primes_below(45, 4, u64{1} << 18);
  const auto work = [&](std::size_t i) {
    const Basis basis(Ring::negacyclic(13), std::span(primes).subspan(i % 4, 1));  // 64 KiB a polynomial
    Poly<Eval> p(basis);
    (void)basis.ring().eval_index(2 * (i % 4096) + 1);
  };
  std::atomic<bool> stop = false;
  std::vector<std::jthread> busy;
  for (int t = 0; t < 3; ++t)
    busy.emplace_back([&] {
      for (std::size_t i = 0; !stop; ++i) work(i);
    });
  for (int i = 0; i < 12; ++i)
    ASSERT_EQ(in_child([&] {
                for (std::size_t k = 0; k < 5; ++k) work(k);
              }),
              0);
  stop = true;
}

TEST(Threads, AChildForkedWhileOthersLookTypesUpRegistersItsOwn) {
  const auto look = [] { EXPECT_NE(io::find_type(io::kOprfKeyType), nullptr); };
  std::atomic<bool> stop = false;
  std::vector<std::jthread> busy;
  for (int t = 0; t < 3; ++t)
    busy.emplace_back([&] {
      while (!stop) look();
    });
  for (int i = 0; i < 20; ++i)
    ASSERT_EQ(in_child([&] {
                io::register_type({.code = 0xfff1, .name = "type of a child"});
                look();
              }),
              0);
  stop = true;
}

TEST(Threads, AChildForkedInsideALoopIsToldThatItCannotEndIt) {
  const auto caller = std::this_thread::get_id();
  std::barrier<> both(2);
  std::latch forked(1);
  bool is_child = false;
  int status = -1;
  try {
    parallel_for(2, 2, [&](std::size_t) {
      both.arrive_and_wait();
      if (std::this_thread::get_id() != caller) return forked.wait();
      const pid_t child = ::fork();
      if (child == 0) {
        is_child = true;
        ::alarm(60);
        return;
      }
      ::waitpid(child, &status, 0);
      forked.count_down();
    });
    if (is_child) ::_exit(1);
  } catch (const Error&) {
    ::_exit(is_child ? 7 : 1);
  }
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
}

// A callback may wait for another caller's parallel work: nothing that work needs is held while it does.
TEST(Threads, ProgressMayWaitForAnotherCaller) {
  TestRandomness rng(test::fixed_seed());
  const auto key = oprf::ServerKey::random(rng);
  const std::vector<std::uint8_t> bytes(600, 5);
  std::vector<std::uint64_t> offsets;
  for (std::size_t i = 0; i <= bytes.size(); ++i) offsets.push_back(i);
  const oprf::Inputs inputs{bytes, offsets};
  std::latch reached(1), finished(1);
  std::atomic<bool> waited = false;
  std::jthread other([&] {
    reached.wait();
    (void)oprf::prf_batch(key, inputs, 4);
    finished.count_down();
  });
  (void)oprf::prf_batch(key, inputs, 4, [&](double) {
    if (waited.exchange(true)) return;
    reached.count_down();
    finished.wait();
  });
  EXPECT_TRUE(waited);
}

TEST(Threads, ProgressNeverFallsNeverOverlapsAndEndsAtOne) {
  TestRandomness rng(test::fixed_seed());
  const auto key = oprf::ServerKey::random(rng);
  const std::vector<std::uint8_t> bytes(2'000, 5);
  std::vector<std::uint64_t> offsets;
  for (std::size_t i = 0; i <= bytes.size(); ++i) offsets.push_back(i);
  std::atomic<int> inside = 0, overlaps = 0;
  double last = 0;
  bool falls = false;
  (void)oprf::prf_batch(key, {bytes, offsets}, 8, [&](double done) {
    if (inside.fetch_add(1) != 0) ++overlaps;
    falls = falls || done < last;
    last = done;
    inside.fetch_sub(1);
  });
  EXPECT_EQ(overlaps, 0);
  EXPECT_FALSE(falls);
  EXPECT_EQ(last, 1.0);
}

}  // namespace
}  // namespace ringforge
