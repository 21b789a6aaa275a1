// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
#include "ringforge/rlwe/security.hpp"

#include "params_data.hpp"

namespace ringforge::rlwe {

double max_log_qp(unsigned log_n) noexcept {
  for (const auto& l : data::kLimits)
    if (l.log_n == log_n) return l.max_log_qp;
  return 0;
}

const char* security_source() noexcept { return data::kSecuritySource; }

}  // namespace ringforge::rlwe
