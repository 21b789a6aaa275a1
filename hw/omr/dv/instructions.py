# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Instructions as bits, and which a machine takes, by the words of README.md: independent of the host's package."""

from __future__ import annotations

from dataclasses import dataclass

LOADX, LOADT, LOADC, LOADM, NTT, INTT, AUTO, SCALE, CONV, KMAC, FINAL, STORE, SUM = range(1, 14)
UNIT = {LOADX: 0, LOADT: 0, LOADC: 0, LOADM: 0, NTT: 1, INTT: 1, AUTO: 1}
UNIT |= {SCALE: 2, CONV: 3, KMAC: 4, FINAL: 5, STORE: 6, SUM: 7}
UNITS = 8

#: Field of an instruction: its lowest bit and its width.
FIELDS = {
    "op": (0, 4), "dst": (4, 8), "src": (12, 8), "mod": (20, 8), "k": (28, 16), "bank": (44, 8), "part": (52, 4),
    "ways": (56, 4), "addr0": (64, 48), "addr1": (128, 48), "count": (192, 16), "init": (208, 1),
    "from_memory": (209, 1), "to_x": (210, 1), "add": (211, 1), "element": (224, 17), "need": (248, 8),
    "stride0": (384, 48), "stride1": (448, 48),
}  # fmt: skip
WAIT = 256  # where the first of 8 counts of 16 bits stands
#: Fields of what a unit is told, from the most significant bits on.
COMMAND = (
    "op", "dst", "src", "mod", "k", "bank", "part", "ways", "addr0", "addr1", "count", "init", "from_memory", "to_x",
    "add", "element", "stride0", "stride1",
)  # fmt: skip


def encoded(fields: dict[str, int], waits: dict[int, int]) -> int:
    """The instruction's 512 bits. `waits`: counts by unit."""
    word = 0
    for name, value in (fields | {"need": sum(1 << u for u in waits)}).items():
        first, width = FIELDS[name]
        assert 0 <= value < 1 << width, f"{name} {value}"
        word |= value << first
    for unit, count in waits.items():
        word |= (count & 0xFFFF) << (WAIT + 16 * unit)
    return word


def command(fields: dict[str, int]) -> int:
    """The bits of what its unit is told."""
    word = 0
    for name in COMMAND:
        word = word << FIELDS[name][1] | fields.get(name, 0)
    return word


@dataclass(frozen=True)
class Sizes:
    """What a machine has."""

    ways: int
    rows: int
    buffers: int
    banks: int
    log_n: int


def error(fields: dict[str, int], sizes: Sizes) -> int:
    """The error that an instruction ends the run with; 0: none."""
    f = {name: fields.get(name, 0) for name in COMMAND}
    op = f["op"]
    if op not in range(1, 14):
        return 1
    below = {"dst": sizes.buffers, "src": sizes.buffers, "mod": 64, "bank": 2, "part": 2}
    places = {
        LOADX: ["dst"], LOADT: [], LOADC: [], LOADM: [], NTT: ["dst", "src", "mod", "bank"],
        INTT: ["dst", "src", "mod", "bank"], AUTO: ["dst", "src"], SCALE: ["src", "mod"], CONV: ["dst", "mod"],
        KMAC: ["mod", "bank", "part"], FINAL: ["dst", "src", "mod", "bank", "part"], STORE: ["src"], SUM: ["mod"],
    }[op]  # fmt: skip
    bad = any(f[name] >= below[name] for name in places)
    top = f["ways"].bit_length() - 1
    if op not in (LOADC, LOADM, SUM):
        bad |= f["ways"] == 0 or top >= sizes.ways
    if op in (LOADC, LOADM):
        bad |= f["src"] >= sizes.ways
    if op == LOADT:
        bad |= f["dst"] >= 2
    if op == AUTO:
        bad |= f["dst"] == f["src"]
    if op == SCALE:
        bad |= f["dst"] >= 4 or f["bank"] + top >= sizes.banks
    if op == CONV:
        bad |= f["src"] >= 4 or f["bank"] + f["count"] > sizes.banks
    if op == KMAC:
        bad |= not f["from_memory"] and f["src"] >= sizes.buffers
        bad |= bool(f["to_x"]) and f["dst"] + 1 >= sizes.buffers
        bad |= bool(f["to_x"]) and not f["from_memory"] and f["dst"] == f["src"]
    if op == STORE:
        bad |= bool(f["add"]) and f["mod"] >= 64
    if op == SUM:
        bad |= not 1 <= f["src"] <= sizes.rows
    if bad:
        return 2
    if op == LOADC:
        bad = f["count"] == 0 or f["k"] + f["count"] > 2048
    if op == LOADM:
        bad = f["count"] == 0 or f["mod"] + f["count"] > 64
    if op == AUTO:
        bad = f["element"] % 2 == 0 or f["element"] >= 2 << sizes.log_n
    if op == SCALE:
        bad = f["k"] + 1 >= 2048
    if op == CONV:
        bad = f["count"] == 0 or f["k"] + f["count"] >= 2048
    if op == FINAL:
        bad = f["k"] >= 2048
    if op == SUM:
        bad = f["count"] == 0
    return 3 if bad else 0
