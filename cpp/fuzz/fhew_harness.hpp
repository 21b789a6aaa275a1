// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// What the fuzz targets of the third-generation schemes share. Messages have the length that their plan implies and
// begin with its hash: the mutator puts both in order after most mutations, so that inputs reach the residues.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "fhew_objects.hpp"
#include "ringforge/error.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace ringforge::fuzz {

inline void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "fuzz: %s\n", what);
  std::abort();
}

/// Mutates what follows the header. `length`: what the message should have; 0 keeps what there is. `tail`: bytes at
/// the end that `seal(data, size)` makes.
template <class T, class Seal>
std::size_t mutate_message(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed, const char* magic,
                           const std::array<T, 2>& all, std::size_t (*length)(const T&), std::size_t tail,
                           Seal&& seal) {
  std::mt19937_64 rng(seed);
  if (size < kFhewHeader + tail || rng() % 16 == 0) return LLVMFuzzerMutate(data, size, max_size);
  const T& chosen = rng() % 8 == 0 ? all[rng() % 2] : named_by(all, data, size);
  const std::size_t wanted = length != nullptr ? length(chosen) : size;
  if (wanted > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::vector<std::uint8_t> body(data + kFhewHeader, data + size - tail);
  body.resize(std::max(body.size(), wanted - kFhewHeader - tail));
  if (!body.empty()) LLVMFuzzerMutate(body.data(), body.size(), body.size());
  // All ones are above every modulus.
  if (rng() % 8 == 0 && body.size() >= 8) std::memset(body.data() + rng() % (body.size() - 7), 0xff, 8);
  const auto hash = chosen.hash();
  const std::uint8_t version = data[7] == '1' ? '1' : static_cast<std::uint8_t>(magic[7]);
  std::memcpy(data, magic, 8);
  data[7] = version;  // gates have two
  std::memcpy(data + 8, hash.data(), hash.size());
  std::memcpy(data + kFhewHeader, body.data(), wanted - kFhewHeader - tail);
  if (rng() % 16 == 0) data[rng() % kFhewHeader] = static_cast<std::uint8_t>(rng());
  if (rng() % 16 != 0) seal(data, wanted);
  return wanted;
}

}  // namespace ringforge::fuzz

#define RINGFORGE_FUZZ_PSI_MUTATOR(magic, bytes)                                                                    \
  extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max,             \
                                                 unsigned seed) {                                                   \
    using namespace ringforge;                                                                                      \
    return fuzz::mutate_message<circuits::PsiPlan>(                                                                     \
        data, size, max, seed, fuzz::magic, fuzz::psi_plans(), [](const circuits::PsiPlan& p) { return p.bytes(); }, 0, \
        [](std::uint8_t*, std::size_t) {});                                                                         \
  }
