// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Fuzzes io::load_ciphertext and io::next_ciphertext.
#include "harness.hpp"

RINGFORGE_FUZZ_READER(ciphertext, kCiphertextType)
