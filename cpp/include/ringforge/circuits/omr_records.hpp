// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Records of oblivious message retrieval whose bodies are text: what stands before a receiver's secrets, and before a
// detection key. docs/formats.md has the bodies.
#pragma once

#include <vector>

#include "ringforge/record.hpp"

namespace ringforge::circuits {

inline constexpr io::TypeCode kReceiverSecretType = 0x050C, kDetectionKeyType = 0x050D;
/// What the registry knows of them.
std::vector<io::RecordType> omr_record_types();

}  // namespace ringforge::circuits
