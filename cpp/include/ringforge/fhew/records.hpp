// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Types of the records of gates. docs/formats.md has their bodies.
#pragma once

#include <vector>

#include "ringforge/record.hpp"

namespace ringforge::fhew {

/// Fields: "key_id"; of evaluation keys "method".
inline constexpr io::TypeCode kGateSecretKeyType = 0x0201, kGateEvaluationKeyType = 0x0202, kGateBitsType = 0x0203;

/// Version of files. 1 and 2 are from before records; 1 has no key id.
inline constexpr std::uint16_t kGatesVersion = 3, kGatesWithoutId = 1;

/// What the registry knows of them.
std::vector<io::RecordType> record_types();

}  // namespace ringforge::fhew
