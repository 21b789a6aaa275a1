# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What descriptors of the vector family's machines have in common."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ringforge.hw.core.machine import COMMON_PARTS

#: Folders of hw/ that they use.
LIBRARIES: Final = ("common", "shell", "vector")
#: The processing element.
ELEMENT: Final = "vector_pe"
#: Modules of an element, and its access to the ports, at which synthesis cuts.
PARTS: Final = COMMON_PARTS | {
    "vector_bus", ELEMENT, "vector_fetch", "vector_sequencer", "vector_stream", "vector_mac", "vector_load",
    "vector_in", "vector_out",
}  # fmt: skip
#: Parts that are only inside elements.
INSIDE: Final = PARTS - {"vector_bus", "rf_axi_read", "rf_axi_write", "rf_axil_regs"}
#: What is meant by a part's own resources.
NOTES: Final[Mapping[str, str]] = MappingProxyType(
    {
        ELEMENT: "settings, bank ports",
        "vector_mac": "control",
        "rf_mac": "a lane",
        "rf_transform": "control, networks",
        "rf_butterfly": "one",
    }
)
#: Codes of vector_pkg's error_e.
ERRORS: Final[Mapping[int, str]] = MappingProxyType(
    {
        1: "unknown operation",
        2: "a slot outside the scratchpad, not aligned, or two sources in one bank",
        3: "no valid CONF: a degree, shift or modulus that this machine does not have",
        4: "a DRAM address that is not aligned to the polynomial",
        5: "a Galois element, element number or mask out of range",
    }
)
