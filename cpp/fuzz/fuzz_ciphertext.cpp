// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Fuzzes io::load_ciphertext.
#include "harness.hpp"

RINGFORGE_FUZZ_READER(load_ciphertext, ckks_ciphertext)
