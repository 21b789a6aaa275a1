# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""AES-128 on encrypted blocks, and transciphering: AES-CTR streams turned into homomorphic ciphertexts.

`engine` says what a scheme provides; docs/aes.md is the guide.
"""
