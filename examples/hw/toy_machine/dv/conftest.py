# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Lets the bench import the runner of the common cells' benches by name."""

import sys

from ringforge.hw.core.sources import sources

sys.path.insert(0, str(sources().resolve() / "common" / "dv"))
