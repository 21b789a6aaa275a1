// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// The affine transform of message retrieval at its full set, or with fewer giant steps: rotations of the key (babies),
// then a shard of giant steps on diagonals of random words.
//
//   omr_affine_bench [giants=23] [rounds=1] [threads=1]
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "ringforge/bfv/bfv.hpp"
#include "ringforge/circuits/omr_affine.hpp"

namespace {

using namespace ringforge;

struct Times {
  double wall, user, system;
};

Times now() {
  rusage r{};
  getrusage(RUSAGE_SELF, &r);
  const auto of = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return {std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(), of(r.ru_utime),
          of(r.ru_stime)};
}

void print(const char* what, const Times& from) {
  const Times t = now();
  std::printf("%-28s %8.3f s wall %8.3f s user %8.3f s system\n", what, t.wall - from.wall, t.user - from.user,
              t.system - from.system);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const auto argument = [&](int i, unsigned long other) {
    return argc > i ? std::strtoul(argv[i], nullptr, 10) : other;
  };
  const std::size_t giants = argument(1, 23), rounds = argument(2, 1);
  const auto threads = static_cast<unsigned>(argument(3, 1));
  constexpr std::size_t columns = 1024, outputs = 2, babies = 46;
  const auto ctx = std::make_shared<const bfv::Context>(bfv::Parameters::named("omr-24"));
  const std::size_t limbs = ctx->params().max_limbs();
  const circuits::OmrLayout layout(ctx->ring(), ctx->t(), columns, outputs, babies, circuits::OmrMethod::ringforge);
  const circuits::OmrAffine affine(ctx, layout, limbs);
  bfv::Client client(ctx);
  const auto sk = client.secret_key();
  rlwe::GaloisKeys keys;
  for (const u64 element : {affine.baby_element(), affine.giant_element()}) keys.insert(client.galois_key(sk, element));
  const auto v = client.encrypt(ctx->encode(std::vector<u64>(layout.slots(), 1)), sk);

  std::mt19937_64 random(1);
  std::vector<std::uint8_t> words(layout.bytes(0));
  for (auto& w : words) w = static_cast<std::uint8_t>(random());
  for (std::size_t i = 0; i + 5 <= words.size(); i += 5) words[i + 2] &= 0x37, words[i + 4] &= 0x7f;  // words below t
  std::vector<std::span<const std::uint8_t>> diagonals;
  for (std::size_t g = 0; g < giants; ++g) diagonals.emplace_back(words.data(), layout.bytes(g));
  Times start = now();
  const auto rotations = affine.babies(v, keys, threads);
  print("rotations of the key", start);
  for (std::size_t round = 0; round < rounds; ++round) {
    start = now();
    (void)affine.run(rotations, {0, giants}, diagonals, keys, threads);
    print("sums and giant steps", start);
  }
}
