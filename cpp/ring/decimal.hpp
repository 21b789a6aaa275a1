// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Numbers in messages.
#pragma once

#include <cstdio>
#include <string>

namespace ringforge {

/// With one digit after the point.
inline std::string decimal(double v) {
  char buffer[32];
  std::snprintf(buffer, sizeof(buffer), "%.1f", v);
  return buffer;
}

}  // namespace ringforge
