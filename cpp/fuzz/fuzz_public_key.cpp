// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Fuzzes io::load_public_key and io::next_public_key.
#include "harness.hpp"

RINGFORGE_FUZZ_READER(public_key, kPublicKeyType)
