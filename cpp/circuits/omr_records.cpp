// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/circuits/omr_records.hpp"

namespace ringforge::circuits {

std::vector<io::RecordType> omr_record_types() {
  return {{.code = kReceiverSecretType, .name = "secrets of a receiver of messages", .max_body = 4096, .secret = true},
          {.code = kDetectionKeyType, .name = "head of a detection key", .max_body = 4096}};
}

}  // namespace ringforge::circuits
