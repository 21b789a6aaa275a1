# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Products of two encrypted matrices, each in one CKKS ciphertext."""
