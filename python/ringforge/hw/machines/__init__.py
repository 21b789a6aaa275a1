# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The machines: one room each, found by its name."""
