// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// What the fuzz targets of the third-generation schemes share. Messages have the length that their plan implies, its
// hash in their header, and a checksum: the mutator puts all in order after most mutations, so that inputs reach the
// residues.
#pragma once

#include <algorithm>
#include <cstring>
#include <random>

#include "fhew_objects.hpp"
#include "require.hpp"
#include "ringforge/error.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace ringforge::fuzz {

/// Mutates what follows the header, and puts header and checksum in order after most mutations. `length`: what the
/// record should have; 0 keeps what there is.
template <class T>
std::size_t mutate_message(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed, io::TypeCode type,
                           const std::array<T, 2>& all, std::size_t (*length)(const T&)) {
  std::mt19937_64 rng(seed);
  const bool old = is_old_gate_key(data, size);
  const std::size_t header = old ? kOldHeader : io::kHeaderBytes, frame = header + io::kChecksumBytes;
  if (size < frame || rng() % 16 == 0) return LLVMFuzzerMutate(data, size, max_size);
  const T& chosen = rng() % 8 == 0 ? all[rng() % 2] : named_by(all, data, size);
  const std::size_t wanted = length != nullptr ? length(chosen) : size;
  if (wanted > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::vector<std::uint8_t> body(data + header, data + size - io::kChecksumBytes);
  body.resize(std::max(body.size(), wanted - frame));
  if (!body.empty()) LLVMFuzzerMutate(body.data(), body.size(), body.size());
  // All ones are above every modulus.
  if (rng() % 8 == 0 && body.size() >= 8) std::memset(body.data() + rng() % (body.size() - 7), 0xff, 8);
  const auto hash = chosen.hash();
  if (old)
    std::memcpy(data + 8, hash.data(), hash.size());
  else
    io::begin_record({data, wanted}, type, hash);
  std::memcpy(data + header, body.data(), wanted - frame);
  if (rng() % 16 == 0) data[rng() % header] = static_cast<std::uint8_t>(rng());
  if (rng() % 16 != 0) io::seal_record({data, wanted});
  return wanted;
}

}  // namespace ringforge::fuzz

#define RINGFORGE_FUZZ_PSI_MUTATOR(type, bytes)                                                              \
  extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max,      \
                                                 unsigned seed) {                                            \
    using namespace ringforge;                                                                               \
    return fuzz::mutate_message<circuits::PsiPlan>(data, size, max, seed, circuits::type, fuzz::psi_plans(), \
                                                   [](const circuits::PsiPlan& p) { return p.bytes(); });    \
  }
