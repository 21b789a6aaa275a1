// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Counts belong to the run that made them, whatever other threads do meanwhile.
#include "ringforge/counters.hpp"

#include <barrier>
#include <thread>
#include <vector>

#include "ringforge/circuits/matvec.hpp"
#include "ringforge/threads.hpp"
#include "support.hpp"

namespace ringforge {
namespace {

using namespace ringforge::linear;
using test::fixed_randomness;

/// A matrix with keys and an input, to run again and again.
struct Layer {
  Layer(const ckks::ContextPtr& ctx, std::size_t rows, Algorithm algorithm)
      : ctx(ctx),
        plan(Packing(rows, 16, ctx->params().slots(), Span::compact), algorithm, algorithm == Algorithm::bsgs ? 4 : 1),
        matvec(ctx, plan, 2) {
    ckks::Client client(ctx, fixed_randomness());
    const auto sk = client.secret_key();
    matvec.encode(std::vector<double>(rows * 16, 0.01), {}, {0x1p36, 0x1p38, 1.0, true});
    for (const auto& [element, level] : matvec.required_keys()) keys.insert(client.galois_key(sk, element, level));
    const auto x = test::random_slots(ctx->params().slots(), 1);
    const auto p = ctx->encode(std::span<const std::complex<double>>(x), 0x1p36, 2);
    inputs.assign(plan.packing().blocks().size(), client.encrypt(p, sk));
  }
  OpCounts predicted() const { return circuits::Matvec::cost(*ctx, plan, 2).ops; }
  void run(unsigned threads) const { (void)matvec.run(inputs, keys, threads); }

  ckks::ContextPtr ctx;
  Plan plan;
  circuits::Matvec matvec;
  ckks::GaloisKeys keys;
  std::vector<ckks::Ciphertext> inputs;
};

TEST(Counts, TwoEvaluationsAtOnceCountTheirOwn) {
  const auto ctx = std::make_shared<const ckks::Context>(test::small_params(10, 3));
  const Layer one(ctx, 16, Algorithm::diagonal), two(ctx, 40, Algorithm::bsgs);
  ASSERT_NE(one.predicted(), two.predicted());
  std::barrier<> start(2);
  const auto repeat = [&](const Layer& layer, unsigned threads) {
    for (int i = 0; i < 60; ++i) {
      start.arrive_and_wait();
      const CountScope did;
      layer.run(threads);
      EXPECT_EQ(did.operations(), layer.predicted());
    }
  };
  std::jthread other([&] { repeat(two, 3); });
  repeat(one, 2);
}

TEST(Counts, InnerScopesAddToOuterOnesWhenTheyEnd) {
  const CountScope outer;
  count({.ntt = 1});
  move_limbs(1, 2, 16);
  {
    const Held held(Held::As::working, 3, 16);
    const CountScope inner;
    count({.ntt = 5, .rotation = 1});
    spill_limbs(1, 16);
    const Held more(Held::As::working, 4, 16);
    EXPECT_EQ(inner.operations(), (OpCounts{.ntt = 5, .rotation = 1}));
    EXPECT_EQ(inner.traffic().spilled, 256U);
    EXPECT_EQ(inner.traffic().working, 4 * 128U);
    EXPECT_EQ(outer.operations(), (OpCounts{.ntt = 1}));
  }
  EXPECT_EQ(outer.operations(), (OpCounts{.ntt = 6, .rotation = 1}));
  EXPECT_EQ(outer.traffic().read, 2 * 128U);
  EXPECT_EQ(outer.traffic().written, 3 * 128U);
  EXPECT_EQ(outer.traffic().spilled, 256U);
  EXPECT_EQ(outer.traffic().working, 7 * 128U);  // 3 held by itself while the inner scope held 4
}

TEST(Counts, WorkersCountForTheirCallerAndNobodyElse) {
  const CountScope mine;
  std::jthread([] {
    EXPECT_EQ(CountScope::current(), nullptr);
    count({.ntt = 1000});  // belongs to nobody
    const CountScope other;
    parallel_for(4, 100, [](std::size_t) { count({.intt = 1}); });
    EXPECT_EQ(other.operations(), (OpCounts{.intt = 100}));
  }).join();
  parallel_for(4, 100, [](std::size_t) {
    const CountScope body;
    count({.ntt = 2});
    EXPECT_EQ(body.operations(), (OpCounts{.ntt = 2}));
  });
  EXPECT_EQ(mine.operations(), (OpCounts{.ntt = 200}));
}

TEST(Counts, TrafficOfTwoThreadsIsKeptApart) {
  std::barrier<> start(2);
  const auto repeat = [&](std::uint64_t limbs) {
    for (int i = 0; i < 200; ++i) {
      start.arrive_and_wait();
      const CountScope did;
      parallel_for(3, 50, [&](std::size_t) {
        const Held held(Held::As::out, limbs, 8);
        move_limbs(limbs, 1, 8);
      });
      EXPECT_EQ(did.traffic().read, 50 * limbs * 64);
      EXPECT_EQ(did.traffic().written, 50 * 64U);
      EXPECT_GE(did.traffic().held_out, limbs * 64);
      EXPECT_LE(did.traffic().held_out, 3 * limbs * 64);
    }
  };
  std::jthread other([&] { repeat(7); });
  repeat(3);
}

}  // namespace
}  // namespace ringforge
