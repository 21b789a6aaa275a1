# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The matmul accelerator (FAME): programs, models and commands."""
