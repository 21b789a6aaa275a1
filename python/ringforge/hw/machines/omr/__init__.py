# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The accelerator for oblivious message retrieval: matrix x vector under BFV, by instructions on single limbs."""
