# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Lets the tests of this folder import its helpers and those of the common cells' benches by name."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "common" / "dv")]
