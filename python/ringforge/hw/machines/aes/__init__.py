# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The accelerator for encrypted AES under LTV: transforms of 2^16 words modulo primes of 31 bits, relinearisation."""
