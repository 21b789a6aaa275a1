// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Seeds never repeat: over threads, copies, moves and forks. Those of tests do, as they should.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <thread>
#include <vector>

#include "support.hpp"

namespace ringforge {
namespace {

using test::fixed_seed;

bool all_different(std::vector<Seed> seeds) {
  std::sort(seeds.begin(), seeds.end());
  return std::adjacent_find(seeds.begin(), seeds.end()) == seeds.end();
}

std::vector<Seed> draw(const Randomness& rng, std::size_t count) {
  std::vector<Seed> seeds;
  for (std::size_t i = 0; i < count; ++i) seeds.push_back(rng.next_seed());
  return seeds;
}

/// What a forked child draws from `rng`; it ends at once.
std::vector<Seed> drawn_by_child(const Randomness& rng, std::size_t count) {
  int ends[2];
  if (::pipe(ends) != 0) throw Error("pipe failed");
  const pid_t child = ::fork();
  if (child == 0) {
    const auto seeds = draw(rng, count);
    const auto bytes = seeds.size() * sizeof(Seed);
    ::_exit(::write(ends[1], seeds.data(), bytes) == static_cast<ssize_t>(bytes) ? 0 : 1);
  }
  ::close(ends[1]);
  std::vector<Seed> seeds(count);
  std::size_t got = 0;
  for (ssize_t n; (n = ::read(ends[0], reinterpret_cast<char*>(seeds.data()) + got, count * sizeof(Seed) - got)) > 0;)
    got += static_cast<std::size_t>(n);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(got, count * sizeof(Seed));
  return seeds;
}

// One source that all threads share, for half of them through copies.
TEST(Randomness, EightThreadsDrawDifferentSeeds) {
  constexpr std::size_t kThreads = 8, kDraws = 100'000;
  Randomness rng;
  std::vector<std::vector<Seed>> drawn(kThreads);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t, copy = rng] { drawn[t] = draw(t % 2 == 0 ? rng : copy, kDraws); });
  }
  std::vector<Seed> all;
  for (const auto& seeds : drawn) all.insert(all.end(), seeds.begin(), seeds.end());
  ASSERT_EQ(all.size(), kThreads * kDraws);
  EXPECT_TRUE(all_different(std::move(all)));
}

TEST(Randomness, CopiesAndMovedOnesDrawDifferentSeeds) {
  Randomness first;
  std::vector<Seed> all = draw(first, 10);
  Randomness copy = first, moved = std::move(first), assigned;
  assigned = copy;
  for (const Randomness* rng : {&copy, &moved, &assigned, &first})
    for (const Seed& s : draw(*rng, 10)) all.push_back(s);
  EXPECT_TRUE(all_different(std::move(all)));
}

TEST(Randomness, ForkedChildrenDrawDifferentSeeds) {
  const Randomness rng;
  std::vector<Seed> all = draw(rng, 10);
  // Threads of the parent use it too, before the fork and during it.
  std::jthread busy([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) (void)rng.next_seed();
  });
  for (int child = 0; child < 3; ++child)
    for (const Seed& s : drawn_by_child(rng, 10)) all.push_back(s);
  for (const Seed& s : draw(rng, 10)) all.push_back(s);
  EXPECT_TRUE(all_different(std::move(all)));
}

// The values by an independent SHAKE256 and AES-256-CTR.
TEST(TestRandomness, IsReproducible) {
  const TestRandomness rng(fixed_seed());
  const Seed first = rng.next_seed();
  EXPECT_EQ(first[0], 0x78);
  EXPECT_EQ(first[31], 0x6f);
  const Randomness copy = rng;
  const Seed second = copy.next_seed(), third = rng.next_seed();
  EXPECT_EQ(second[0], 0x48);
  EXPECT_EQ(second[31], 0xf5);
  EXPECT_EQ(draw(TestRandomness(fixed_seed()), 3), (std::vector<Seed>{first, second, third}));
}

TEST(TestRandomness, ThreadsThatShareItDrawDifferentSeeds) {
  const TestRandomness rng(fixed_seed());
  std::vector<std::vector<Seed>> drawn(4);
  {
    std::vector<std::jthread> threads;
    for (auto& seeds : drawn) threads.emplace_back([&] { seeds = draw(rng, 5'000); });
  }
  std::vector<Seed> all;
  for (const auto& seeds : drawn) all.insert(all.end(), seeds.begin(), seeds.end());
  auto alone = draw(TestRandomness(fixed_seed()), all.size());
  std::sort(alone.begin(), alone.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, alone);
  EXPECT_TRUE(all_different(std::move(all)));
}

// Flooding draws from the same source: one client in several threads never adds the same noise twice.
TEST(Randomness, FloodingNoiseDiffersOverThreads) {
  const auto params = test::small_params(10, 3);
  const auto ctx = std::make_shared<const ckks::Context>(params);
  ckks::Client client(ctx);
  const auto sk = client.secret_key();
  const auto x = test::random_slots(params.slots(), 1);
  const auto c = client.encrypt(ctx->encode(std::span<const std::complex<double>>(x), 0x1p40, 2), sk);
  std::vector<std::vector<std::vector<u64>>> shared(8);
  {
    std::vector<std::jthread> threads;
    for (auto& results : shared)
      threads.emplace_back([&] {
        for (int i = 0; i < 300; ++i) {
          const auto p = client.decrypt_to_share(c, sk, 20);
          results.emplace_back(p.poly.limb(0), p.poly.limb(0) + 4);
        }
      });
  }
  std::vector<std::vector<u64>> all;
  for (auto& results : shared) all.insert(all.end(), results.begin(), results.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
}

}  // namespace
}  // namespace ringforge
