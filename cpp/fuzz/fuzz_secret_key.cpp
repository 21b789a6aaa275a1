// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Fuzzes io::load_secret_key and io::next_secret_key.
#include "harness.hpp"

RINGFORGE_FUZZ_READER(secret_key, kSecretKeyType)
