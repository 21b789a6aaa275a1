// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Fuzzes the readers of LTV, each by the type that the input's first record claims.
#include <cstdlib>

#include "harness.hpp"
#include "ltv_objects.hpp"

using namespace ringforge;

namespace {

io::TypeCode type_of(const std::uint8_t* data, std::size_t size) {
  io::TypeCode type = 0;
  if (size >= io::kHeaderBytes) std::memcpy(&type, data + 6, sizeof(type));
  return type;
}

/// The hash that parameters of these fields have.
Hash hash_of(const std::uint8_t* record, std::size_t size, io::TypeCode type) {
  if (type != ltv::kParametersType) return fuzz::ltv_context()->params().hash();
  const std::uint8_t* body = record + io::kHeaderBytes;
  if (size < fuzz::kFrame + 48) return {};
  const auto at = [&](std::size_t i) { return u64{fuzz::peek_at<u32>(body + i)}; };
  const u64 q = at(32);
  if (48 + 8 * q > size - fuzz::kFrame) return {};
  std::vector<u64> identity{0x76746c, fuzz::peek_at<u64>(body + 8), at(16), at(20), at(24), at(28), q};
  for (u64 i = 0; i < q; ++i) identity.push_back(fuzz::peek_at<u64>(body + 48 + 8 * i));
  return sha256(identity.data(), identity.size() * sizeof(u64));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::with_ltv_reader(type_of(data, size), [&](auto load, auto save, auto next) {
    fuzz::check_single(data, size, load, save, [&](const auto&) { return size; });
    fuzz::check_sequence(data, size, next);
  });
  if (type_of(data, size) == ltv::kEvalKeyType) {
    const auto [one, other] = fuzz::ltv_keys_taken(data, size);
    if (one != other) std::abort();
  }
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max, unsigned seed) {
  io::TypeCode type = type_of(data, size);
  if (type < ltv::kParametersType || type > ltv::kEvalKeyType) type = ltv::kCiphertextType;
  return fuzz::mutate(data, size, max, seed, type, hash_of);
}
