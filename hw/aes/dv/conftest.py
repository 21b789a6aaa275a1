# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Lets the tests of this folder import the helpers of the common cells' benches by name."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "common" / "dv")]
