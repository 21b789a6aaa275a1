// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Fuzzes io::load_relin_key and io::next_relin_key.
#include "harness.hpp"

RINGFORGE_FUZZ_READER(relin_key, kRelinKeyType)
