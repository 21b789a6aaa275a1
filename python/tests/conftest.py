# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Settings shared by all tests."""

import os

from hypothesis import HealthCheck, settings

# Lines of progress depend on time; test_output.py has a clock of its own.
os.environ["RINGFORGE_PROGRESS"] = "0"

settings.register_profile(
    "ringforge",
    deadline=None,  # a test never depends on time
    max_examples=25,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("ringforge")
