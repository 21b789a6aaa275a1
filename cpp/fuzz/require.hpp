// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// How a fuzz target says that something does not hold: the fuzzer keeps the input.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace ringforge::fuzz {

[[noreturn]] inline void fail(const char* what) {
  std::fprintf(stderr, "fuzz: %s\n", what);
  std::abort();
}

inline void require(bool condition, const char* what) {
  if (!condition) fail(what);
}

}  // namespace ringforge::fuzz
