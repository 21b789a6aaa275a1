# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Measuring: timing, records of results, and the same work done by other libraries."""
