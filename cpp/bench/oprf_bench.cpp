// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Microseconds of processor time an element of the OPRF's batches take on one thread: libsodium and the lanes of this
// processor take turns, round by round, so that a change of clock or load meets both alike. Median and smallest of the
// rounds; every round's results are compared.
//
//   oprf_bench [elements] [rounds]
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "kernels/sets.hpp"
#include "oprf/batches.hpp"

namespace {

using namespace ringforge;
using namespace ringforge::oprf;

double processor_microseconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) * 1e-3;
}

struct Times {
  std::vector<double> all;
  double median() {
    std::sort(all.begin(), all.end());
    return all[all.size() / 2];
  }
  double least() const { return *std::min_element(all.begin(), all.end()); }
};

using Result = std::vector<std::uint8_t>;

void compare(const char* name, std::size_t count, int rounds, const std::vector<const Lanes*>& sets,
             const std::function<Result(const Lanes*)>& work) {
  std::vector<Times> times(sets.size());
  for (int round = -1; round < rounds; ++round) {  // the first warms up
    Result first;
    for (std::size_t k = 0; k < sets.size(); ++k) {
      const double start = processor_microseconds();
      Result result = work(sets[k]);
      const double took = processor_microseconds() - start;
      if (round >= 0) times[k].all.push_back(took / static_cast<double>(count));
      if (k == 0)
        first = std::move(result);
      else if (result != first) {
        std::fprintf(stderr, "%s: results differ\n", name);
        std::exit(1);
      }
    }
  }
  std::printf("%-9s", name);
  for (auto& t : times) std::printf("  %9.2f %9.2f", t.median(), t.least());
  std::printf("  %8.1f\n", times.front().median() / times.back().median());
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 4096;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 11;
  if (count == 0 || rounds < 1) {
    std::fputs("usage: oprf_bench [elements] [rounds]\n", stderr);
    return 2;
  }
  std::vector<const Lanes*> sets{nullptr};
#if defined(__x86_64__)
  if (kernels::cpu_has_avx512()) sets.push_back(&avx512_lanes());
#endif
  TestRandomness rng(Seed{1});
  const ServerKey key = ServerKey::random(rng);
  std::vector<std::uint8_t> bytes(16 * count);
  std::vector<std::uint64_t> offsets(count + 1);
  Stream stream(SecretSeed(rng.next_seed()), StreamObject::secret);
  for (auto& b : bytes) b = static_cast<std::uint8_t>(stream.next());
  for (std::size_t i = 0; i <= count; ++i) offsets[i] = 16 * i;
  const Inputs inputs{bytes, offsets};
  const BlindedBatch blinded = blind_batch(sets.back(), inputs, rng, 1, {});
  const Result evaluated = evaluate_batch(sets.back(), key, blinded.elements, 1, {});

  std::printf(
      "%zu elements of 16 bytes, %d rounds, one thread; processor microseconds an element, median and least\n%-9s",
      count, rounds, "");
  for (const Lanes* lanes : sets) std::printf("  %19s", lanes == nullptr ? "libsodium" : lanes->name);
  std::printf("  %8s\n", "times");
  compare("prf", count, rounds, sets, [&](const Lanes* l) { return prf_batch(l, key, inputs, 1, {}); });
  compare("blind", count, rounds, sets, [&](const Lanes* l) {
    TestRandomness same(Seed{2});
    return blind_batch(l, inputs, same, 1, {}).elements;
  });
  compare("evaluate", count, rounds, sets,
          [&](const Lanes* l) { return evaluate_batch(l, key, blinded.elements, 1, {}); });
  compare("finalize", count, rounds, sets,
          [&](const Lanes* l) { return finalize_batch(l, inputs, blinded.blinds, evaluated, 1, {}); });
  return 0;
}
