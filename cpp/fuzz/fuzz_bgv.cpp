// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Fuzzes the readers of BGV, each by the type that the input's first record claims.
#include "bgv_objects.hpp"
#include "harness.hpp"

using namespace ringforge;

namespace {

io::TypeCode type_of(const std::uint8_t* data, std::size_t size) {
  io::TypeCode type = 0;
  if (size >= io::kHeaderBytes) std::memcpy(&type, data + 6, sizeof(type));
  return type;
}

/// The hash that parameters of these fields have: "bgv", m, counts and primes.
Hash hash_of(const std::uint8_t* record, std::size_t size, io::TypeCode type) {
  if (type != bgv::kParametersType) return fuzz::bgv_context()->params().hash();
  const std::uint8_t* body = record + io::kHeaderBytes;
  if (size < fuzz::kFrame + 40) return {};
  const auto at = [&](std::size_t i) { return fuzz::peek_at<u32>(body + i); };
  const u64 q = at(12), p = at(16);
  if (40 + 8 * (q + p) > size - fuzz::kFrame) return {};
  std::vector<u64> identity{0x766762, fuzz::peek_at<u64>(body + 32), q, p, at(8)};
  for (u64 i = 0; i < q + p; ++i) identity.push_back(fuzz::peek_at<u64>(body + 40 + 8 * i));
  return sha256(identity.data(), identity.size() * sizeof(u64));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::with_bgv_reader(type_of(data, size), [&](auto load, auto save, auto next) {
    fuzz::check_single(data, size, load, save, [&](const auto&) { return size; });
    fuzz::check_sequence(data, size, next);
  });
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max, unsigned seed) {
  io::TypeCode type = type_of(data, size);
  if (type < bgv::kParametersType || type > bgv::kGaloisKeyType) type = bgv::kCiphertextType;
  return fuzz::mutate(data, size, max, seed, type, hash_of);
}
