// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Fuzzes io::load_secret_key.
#include "harness.hpp"

RINGFORGE_FUZZ_READER(load_secret_key, ckks_secret_key)
