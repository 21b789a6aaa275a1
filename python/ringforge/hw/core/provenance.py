# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What saved figures were made from: a digest of a machine's sources and configuration, kept beside them.

A figure whose digest is another than that of the sources at hand was made before or after them, and is to be made anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from ringforge.hw.core import build
from ringforge.hw.core import machine as descriptors
from ringforge.hw.core.config import MachineConfig
from ringforge.hw.core.synthesis import code

#: Keys under which a saved figure names its sources and the command that makes it anew.
SOURCES: Final = "sources"
COMMAND: Final = "command"


def digest(config: MachineConfig, *, simulated: bool) -> str:
    """Digest of a machine's SystemVerilog, comments and blanks apart, and of a configuration: 20 hexadecimal digits.

    Args:
        simulated: the driver and memory of the simulation count too, for figures in cycles.

    Raises:
        ParameterError: no machine has such configurations.
        HardwareError: a file of the machine is missing.
    """
    machine = descriptors.of(config)
    h = hashlib.sha256(json.dumps([machine.top, config.model_dump(mode="json")], sort_keys=True).encode())
    for path in (*machine.files(), *(build.drivers() if simulated else ())):
        h.update(_canonical(path))
    return h.hexdigest()[:20]


def _canonical(path: Path) -> bytes:
    words = code(path.read_text(encoding="utf-8")).split()
    return f"{path.name} {len(words)} {' '.join(words)}\n".encode()


def of_run(config: MachineConfig, command: str) -> dict[str, str]:
    """What a record of a simulated run says of its origin, for its `extra`.

    Args:
        command: that makes it anew, from the machine's name on: `cycles matvec --machine matvec-b`.
    """
    return {SOURCES: digest(config, simulated=True), COMMAND: f"ringforge hw {command}"}


def is_current(extra: Mapping[str, Any], config: MachineConfig) -> bool:
    """Whether a record is of the sources at hand. One that names no sources is not."""
    return extra.get(SOURCES) == digest(config, simulated=True)


def commands(stale: Iterable[Mapping[str, Any]]) -> list[str]:
    """The commands that make records anew, each once, in their order."""
    return list(dict.fromkeys(extra[COMMAND] for extra in stale if COMMAND in extra))
