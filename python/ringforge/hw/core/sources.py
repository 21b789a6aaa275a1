# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Where the hardware's sources are."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from ringforge.errors import FormatError


@cache
def sources() -> Path:
    """Folder of the hardware's sources: beside the package's modules where it is installed, `hw/` in a checkout.

    Raises:
        FormatError: neither is there; the message names both places.
    """
    installed, checkout = Path(__file__).parents[1] / "sources", Path(__file__).parents[4] / "hw"
    for place in (installed, checkout):
        if (place / "common" / "rtl" / "rf_pkg.sv").is_file():
            return place
    raise FormatError(
        f"the hardware's sources are neither in {installed} nor in {checkout}: run `make build` in a checkout again"
    )
