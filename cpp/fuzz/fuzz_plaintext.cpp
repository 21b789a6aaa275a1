// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Fuzzes io::load_plaintext and io::next_plaintext.
#include "harness.hpp"

RINGFORGE_FUZZ_READER(plaintext, kPlaintextType)
