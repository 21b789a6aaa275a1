// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/fhew/records.hpp"

namespace ringforge::fhew {
namespace {

constexpr std::size_t kIdBytes = sizeof(u64);

void describe(const io::RecordHead& head, io::RecordInfo& info) {
  const std::size_t id_bytes = info.version == kGatesWithoutId ? 0 : kIdBytes;
  info.fields.emplace_back("key_id", id_bytes == 0 ? u64{0} : head.at<u64>(0));
  if (info.type == kGateEvaluationKeyType) info.fields.emplace_back("method", u64{head.at<std::uint8_t>(id_bytes)});
}

io::RecordType of_gates(io::TypeCode code, const char* name, std::size_t head_bytes, bool secret, const char* magic) {
  return {.code = code,
          .name = name,
          .version = kGatesVersion,
          .oldest = kGatesWithoutId,
          .head_bytes = head_bytes,
          .secret = secret,
          .describe = describe,
          .old_magic = magic};
}

}  // namespace

std::vector<io::RecordType> record_types() {
  return {of_gates(kGateSecretKeyType, "secret key of gates", kIdBytes, true, "RGFGSEC"),
          of_gates(kGateEvaluationKeyType, "evaluation key of gates", kIdBytes + 1, false, "RGFGATE"),
          of_gates(kGateBitsType, "encrypted bits", kIdBytes, false, "RGFBITS")};
}

}  // namespace ringforge::fhew
