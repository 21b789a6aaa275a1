// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Fuzzes io::load_parameters and io::next_parameters. Besides the usual mutations, primes are replaced by other primes:
// random words are almost never 1 mod 2N.
#include "harness.hpp"

using namespace ringforge;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::check_single(
      data, size, [](std::istream& in) { return io::load_parameters(in); },
      [](std::ostream& out, const ckks::Parameters& p) { io::save(out, p); },
      [](const ckks::Parameters& p) { return io::saved_size(p); });
  fuzz::check_sequence(data, size, [](std::istream& in) { return io::next_parameters(in).has_value(); });
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max, unsigned seed) {
  constexpr std::size_t kPrimes = io::kHeaderBytes + 40;
  size = fuzz::mutate(data, size, max, seed, ckks::kParametersType);
  std::mt19937_64 rng(seed);
  if (size >= kPrimes + 8 + io::kChecksumBytes && rng() % 3 == 0) {
    static const auto few = primes_below(40, 32, 1 << 18);
    const std::size_t count = (size - io::kChecksumBytes - kPrimes) / 8;
    std::memcpy(data + kPrimes + rng() % count * 8, &few[rng() % few.size()], 8);
    fuzz::repair(data, size, ckks::kParametersType);
  }
  return size;
}
