# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The commands of `ringforge psi`, one in each module."""
