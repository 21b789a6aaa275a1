# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Replica of the matmul accelerator's timing: the machine's own programs, without data.

>>> report = run(FameConfig.named("fame-l"), programs, entity_of=layout.entity)  # doctest: +SKIP
>>> report.cycles, report.traffic["keys"].read  # doctest: +SKIP

As `ringforge.hw.vector.replica` for elements with shared ALUs and near memory of their own: `replica_element` issues
instructions, `replica_units` knows when MACs read their rows beside transforms, `replica_memory` serves polynomials
line by line. Whole polynomials are one event each, so that a million instructions take a fraction of a minute.

What it leaves out: data; that rows of a polynomial come in lines (they are taken to come evenly between the first and
the last); that reads and writes of a port take turns line by line (they do so polynomial by polynomial).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from ringforge.errors import IllegalInstructionError, ParameterError
from ringforge.hw.core.memory import FIRST_TURN
from ringforge.hw.core.simulator import Traffic
from ringforge.hw.machines.matmul.config import PORT_BYTES, FameConfig
from ringforge.hw.machines.matmul.replica_element import UNITS, WAITS, Element, Step
from ringforge.hw.machines.matmul.replica_memory import FAR_AHEAD, FAR_BURST, LineReads, LineWrites, Memory
from ringforge.hw.vector.isa import BFrom, Opcode, field_table
from ringforge.hw.vector.replica import PROGRAM, ReplicaReport
from ringforge.hw.vector.replica_exchange import Barrier, Bus
from ringforge.hw.vector.replica_memory import Events

Words = npt.NDArray[np.uint64]

_TRANSFORMS: Final = (Opcode.NTT, Opcode.INTT)


def decode(program: npt.ArrayLike, line_bytes: int, entity: Callable[[int], int]) -> list[Step]:
    """Steps from instruction words.

    Args:
        program: words (n, 4).
        line_bytes: bytes of a line.
        entity: number of the entity of an address.

    Raises:
        IllegalInstructionError: an operation that does not exist, or that such machines do not have.
    """
    words = np.asarray(program, np.uint64)
    if words.ndim != 2 or words.shape[1] != 4:
        raise IllegalInstructionError(f"a program is an array (n, 4) of 64-bit words, not {words.shape}")
    c = {}
    for f in field_table().values():
        bits = np.uint64((1 << min(f.width, 62)) - 1)
        c[f.name] = (words[:, f.word] >> np.uint64(f.lsb) & bits).astype(np.int64)
    op = c["op"]

    def is_one_of(*operations: Opcode) -> npt.NDArray[np.bool_]:
        return np.isin(op, [int(o) for o in operations])

    known = is_one_of(*Opcode) & ~is_one_of(Opcode.REDUCE)
    if not known.all():
        at = int(np.argmin(known))
        raise IllegalInstructionError(f"instruction {at} has operation {op[at]}, which elements of this machine lack")
    transform, mac = is_one_of(*_TRANSFORMS), is_one_of(Opcode.MAC)
    pair = transform & (c["pair"] != 0)

    def columns(*used: tuple[str, npt.NDArray[np.bool_]]) -> list[tuple[int, ...]]:
        rows = zip(*(np.where(where, c[name], -1).tolist() for name, where in used), strict=True)
        return [tuple(s for s in row if s >= 0) for row in rows]

    reads = columns(
        ("a", transform | mac | is_one_of(Opcode.AUTO, Opcode.STORE, Opcode.SEND)),
        ("b", mac & (c["b_from"] == BFrom.SLOT)),
        ("c", mac & ((c["pre_sub"] | c["post_add"]) != 0)),
        ("pair_a", pair),
    )
    writes = columns(("dst", transform | mac | is_one_of(Opcode.AUTO, Opcode.LOAD, Opcode.RECV)), ("pair_dst", pair))
    tables = columns(("tw", transform), ("pair_tw", pair))
    argument = np.zeros_like(op)
    for where, values in (
        (mac, c["b_from"]),
        (is_one_of(Opcode.SEND), c["mask"]),
        (is_one_of(Opcode.RECV), c["src_pe"]),
        (is_one_of(Opcode.SYNC), c["scope"]),
        (is_one_of(Opcode.CONF), c["imm"] & 31),
    ):
        argument[where] = values[where]
    memory = is_one_of(Opcode.LOAD, Opcode.STORE, Opcode.STREAM, Opcode.COPY)
    entities = np.zeros_like(op)
    if memory.any():
        addresses, back = np.unique(c["addr"][memory], return_inverse=True)
        entities[memory] = np.array([entity(int(x)) for x in addresses], np.int64)[back]
    lines = (c["addr"] // line_bytes).tolist()
    return list(zip(op.tolist(), reads, writes, tables, argument.tolist(), entities.tolist(), lines, strict=True))


def run(
    config: FameConfig,
    programs: Sequence[npt.ArrayLike],
    *,
    entity_of: Callable[[int, int], str] | None = None,
    tags: Sequence[Sequence[int]] | None = None,
    primitives: Sequence[str] = ("all",),
) -> ReplicaReport:
    """Times programs of all elements.

    Args:
        config: the machine, with its memory.
        programs: words (n, 4) of element 0, 1, ...
        entity_of: the entity of an element's address, under which its traffic is counted.
        tags: of every element, an index into `primitives` for each instruction.
        primitives: names for `ReplicaReport.primitives`.

    Raises:
        ParameterError: not one program per element, or a kind of memory that it does not have.
        IllegalInstructionError: an operation that does not exist, no END, or elements that wait for each other for
            ever.
    """
    if len(programs) != config.pes:
        raise ParameterError(f"machine {config.name} runs {config.pes} programs, not {len(programs)}")
    if config.memory != "simple":
        raise ParameterError(f"the replica of {config.name} has simple memory, not {config.memory}")
    names: dict[str, int] = {}
    events = Events()
    near = config.dram_bytes_per_cycle / (config.pes * config.near_ports) / PORT_BYTES
    # All ports of an element to far memory, which read in lockstep, are one.
    far_lines = config.far_bytes_per_second / config.clock_hz / PORT_BYTES / config.far_ports
    far = Memory(events, config.pes, far_lines, config.far_latency, FIRST_TURN)
    bus = Bus(events, config.pes)
    gates = Barrier(events, config.pes), Barrier(events, config.pes)
    elements: list[Element] = []
    executed: Counter[int] = Counter()
    for number, program in enumerate(programs):

        def entity(address: int, element: int = number) -> int:
            return names.setdefault(entity_of(element, address) if entity_of else "data", len(names))

        steps = decode(program, config.line_bytes, entity)
        executed.update(s[0] for s in steps)
        reads, writes = Memory(events, 1, near, config.dram_latency, FIRST_TURN).channels
        e = Element(
            number,
            config,
            steps,
            bytes(len(steps)) if tags is None else tags[number],
            len(primitives),
            events,
            LineReads(events, reads, config.dram_latency, 3, config.burst_rows, config.read_lines),
            LineWrites(events, writes, config.burst_rows),
            LineReads(events, far.channels[number], config.far_latency, 1, FAR_BURST, FAR_AHEAD),
        )
        elements.append(e)
        e.bus = bus
        bus.attach(e)
        e.barriers = (None, *gates)
    for e in elements:
        e.begin()
    events.run()

    stuck = [e for e in elements if e.ended_at < 0]
    if stuck:
        where = ", ".join(f"element {e.number} at {e.pc}" for e in stuck[:8])
        raise IllegalInstructionError(f"elements wait for each other for ever: {where}")
    ended = tuple(max(e.ended_at + 1, e.fetch_idle) for e in elements)
    read: Counter[str] = Counter({PROGRAM: sum(e.fetched for e in elements) * config.line_bytes})
    written: Counter[str] = Counter()
    for name, n in names.items():
        read[name] += sum(e.read.get(n, 0) for e in elements)
        written[name] += sum(e.written.get(n, 0) for e in elements)
    return ReplicaReport(
        config=config,
        cycles=max(ended),
        traffic={n: Traffic(read[n], written[n]) for n in {**names, PROGRAM: 0}},
        busy={**{unit: sum(e.busy[i] for e in elements) for i, unit in enumerate(UNITS)}, "bus": bus.busy},
        waits={cause: sum(e.waits[i] for e in elements) for i, cause in enumerate(WAITS)},
        primitives={p: sum(e.spent[i] for e in elements) / len(elements) for i, p in enumerate(primitives)},
        executed={Opcode(o).name: n for o, n in sorted(executed.items())},
        ended=ended,
        events=events.handled,
    )
