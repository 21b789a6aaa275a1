# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Fixtures of several files."""

from tests.psi.conftest import certificates  # noqa: F401
