// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Compression at full size: omr_compress_bench [k [words [threads]]], by default 50 messages of 250 words on one
// thread. Prints seconds of each step, and checks nothing: the tests do.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>

#include "ringforge/circuits/omr_compress.hpp"

using namespace ringforge;
using namespace ringforge::circuits;

namespace {

template <class F>
auto timed(const char* what, F&& f) {
  const auto wall = std::chrono::steady_clock::now();
  const std::clock_t cpu = std::clock();
  auto r = f();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - wall).count();
  std::printf("%-24s %8.3f s wall %8.3f s cpu\n", what, seconds,
              static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC);
  return r;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t messages = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 50;
  const std::size_t words = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 250;
  const unsigned threads = argc > 3 ? static_cast<unsigned>(std::strtoul(argv[3], nullptr, 10)) : 1;
  const auto primes = primes_below(50, 4, u64{1} << 18);
  const CompressionParameters parameters{.t = 786433, .q = {primes[2], primes[3]}, .p = {primes[0], primes[1]}};
  const auto context = std::make_shared<const CompressionContext>(parameters);
  const CompressionPlan plan(context, messages, words);
  Randomness rng;
  rlwe::Encryptor encryptor(context->big());
  const rlwe::SecretKey key = encryptor.secret_key();
  const CompressionSecret secret(context, rng);
  const CompressionKeys keys = timed("keys", [&] { return CompressionKeys(key, secret, rng, threads); });
  const Compressor compressor(plan, keys);
  const rlwe::Ciphertext u = encryptor.zero(key, 2);
  std::mt19937_64 random(1);
  std::vector<u32> payloads(parameters.entries() * words);
  for (u32& w : payloads) w = static_cast<u32>(random() % parameters.t);
  const auto powers = timed("rotations times powers", [&] { return compressor.powers(u, threads); });
  const auto part = timed("values", [&] { return compressor.part(powers, payloads, plan.all(), threads); });
  const auto packed = timed("last packing", [&] { return compressor.packed({part}); });
  const auto digest = timed("digest", [&] { return compressor.digest(packed, 0); });
  const auto opened = timed("decryption", [&] { return open_digest(digest, plan, secret); });
  std::printf("digest %zu bytes, %u and %u bits; keys %llu bytes; memory planned %zu MiB; margin %.3f\n", digest.size(),
              plan.c0_bits(), plan.c1_bits(), static_cast<unsigned long long>(CompressionKeys::saved_bytes(*context)),
              plan.memory(threads) >> 20, opened.margin);
}
