# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Replica of the matvec accelerator's timing: the machine's own programs, cycle for cycle, without data.

>>> report = run(VectorConfig.named("matvec-b"), compiled.programs, entity_of=layout.entity)  # doctest: +SKIP
>>> report.cycles, report.traffic["keys"].read  # doctest: +SKIP

`run` takes the arrays of instruction words that the elements execute, and follows every instruction, every DRAM burst
and every transfer as events:

* `replica_element`: fetch and in-order issue under the sequencer's scoreboard (units, slots, ports of banks);
* `replica_clients`: loads, stores, the stream with its queue and buffer, instruction fetch;
* `replica_memory`: DRAM ports that grant bursts in turn, latency, and the bandwidth that all ports share;
* `replica_exchange`: buses, the reduction unit, barriers;
* `replica_primitives` tells which primitive an instruction belongs to, `replica_layers` prices whole layers.

What it leaves out. Data: programs are taken to be legal, and whatever the machine would stop at is not found here.
Rows: a unit that works at one row per cycle is a duration; only where ports together want more than the memory gives
are cycles looked at one by one. The host: cycles count from the start write to done, as in the machine's register.

How it was checked. Its constants are counted in the RTL. Against the Verilated machine with its own memory
parameters, cycles and traffic of every entity are equal, without exception, for: 32 programs of a few instructions on
each of four machines and several degrees; a thousand random programs of all elements; random programs that saturate
the memory; compiled products by all schedules, with passes on and off and with less bandwidth, among them the whole
512 x 1344 layer with Set-B (bsgs: 3,000,027 cycles; the paper's schedule: 47,952,481).
That holds for a machine that has just been opened or reset. The arbiters of the ports keep their state between runs,
and the memory's turn goes on, so that other runs of the same program may differ from each other, and from the replica,
by a fraction of a percent (1 to 2 % in programs of a few thousand cycles).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from ringforge.errors import IllegalInstructionError, ParameterError
from ringforge.hw.core.memory import FIRST_TURN, Timing
from ringforge.hw.core.simulator import Traffic
from ringforge.hw.vector.config import VectorConfig
from ringforge.hw.vector.isa import BFrom, Opcode, field_table
from ringforge.hw.vector.replica_clients import FIRST_FETCH
from ringforge.hw.vector.replica_dram import Dram, DramReads, DramWrites
from ringforge.hw.vector.replica_element import UNITS, WAITS, Element, Step
from ringforge.hw.vector.replica_exchange import Barrier, Bus, Reduction
from ringforge.hw.vector.replica_memory import Bandwidth, Events, Mover, ReadPort, WritePort, Writes

Words = npt.NDArray[np.uint64]

#: Entity of the instructions.
PROGRAM: Final = "program"


@dataclass(frozen=True)
class ReplicaReport:
    """What a run of programs takes.

    Attributes:
        config: the machine.
        cycles: from the start write to done.
        traffic: bytes by entity; instructions are the entity "program", whatever else has no `entity_of` is "data".
        busy: cycles from issue to idle by unit ("spn", "mac", "in", "out"), summed over elements, and of the "bus"
            (over groups) and the "reduction" unit.
        waits: cycles that instructions waited, by what they waited for last, summed over elements.
        primitives: cycles by primitive, mean over elements. Waiting for a unit, or a slot or port that it holds, is
            the primitive's that runs there. The sum is the mean of the cycles in which elements end.
        executed: instructions by operation.
        ended: cycle in which each element is done.
        events: events handled, a measure of the replica's own work.
    """

    config: VectorConfig
    cycles: int
    traffic: Mapping[str, Traffic]
    busy: Mapping[str, int]
    waits: Mapping[str, int]
    primitives: Mapping[str, float]
    executed: Mapping[str, int]
    ended: tuple[int, ...]
    events: int

    @property
    def seconds(self) -> float:
        """Time at the machine's clock."""
        return self.cycles / self.config.clock_hz

    @property
    def utilisation(self) -> dict[str, float]:
        """Share of the time in which units are busy, over all of their kind."""
        count = {"bus": self.config.groups, "reduction": 1}
        return {u: b / (self.cycles * count.get(u, self.config.elements)) for u, b in self.busy.items()}


def _columns(words: Words) -> dict[str, npt.NDArray[np.int64]]:
    """Fields as signed numbers; of the long ones the lower bits, which is all that matters here."""
    out = {}
    for f in field_table().values():
        bits = np.uint64((1 << min(f.width, 62)) - 1)
        out[f.name] = (words[:, f.word] >> np.uint64(f.lsb) & bits).astype(np.int64)
    return out


def _decode(program: npt.ArrayLike, entity: Callable[[int], int]) -> list[Step]:
    """Steps from instruction words.

    Args:
        program: words (n, 4).
        entity: number of the entity of an address.
    """
    words = np.asarray(program, np.uint64)
    if words.ndim != 2 or words.shape[1] != 4:
        raise IllegalInstructionError(f"a program is an array (n, 4) of 64-bit words, not {words.shape}")
    c = _columns(words)
    op = c["op"]

    def is_one_of(*operations: Opcode) -> npt.NDArray[np.bool_]:
        return np.isin(op, [int(o) for o in operations])

    known = is_one_of(*Opcode)
    if not known.all():
        at = int(np.argmin(known))
        raise IllegalInstructionError(f"instruction {at} has operation {op[at]}, which does not exist")
    transform, mac = is_one_of(Opcode.NTT, Opcode.INTT), is_one_of(Opcode.MAC)
    reads_a = transform | mac | is_one_of(Opcode.AUTO, Opcode.STORE, Opcode.SEND, Opcode.REDUCE)
    reads_b = mac & (c["b_from"] == BFrom.SLOT)
    reads_c = mac & ((c["pre_sub"] | c["post_add"]) != 0)
    writes = transform | mac | is_one_of(Opcode.AUTO, Opcode.LOAD, Opcode.RECV, Opcode.REDUCE)

    argument = np.zeros_like(op)
    for where, values in (
        (transform, c["tw"]),
        (mac, c["b_from"]),
        (is_one_of(Opcode.SEND), c["mask"]),
        (is_one_of(Opcode.RECV), c["src_pe"]),
        (is_one_of(Opcode.SYNC), c["scope"]),
        (is_one_of(Opcode.CONF), c["imm"] & 31),
    ):
        argument[where] = values[where]

    memory = is_one_of(Opcode.LOAD, Opcode.STORE, Opcode.STREAM)
    entities = np.zeros_like(op)
    if memory.any():
        addresses, back = np.unique(c["addr"][memory], return_inverse=True)
        entities[memory] = np.array([entity(int(x)) for x in addresses], np.int64)[back]

    operands = zip(
        *(np.where(used, c[name], -1).tolist() for name, used in (("a", reads_a), ("b", reads_b), ("c", reads_c))),
        strict=True,
    )
    reads = [tuple(s for s in slots if s >= 0) for slots in operands]
    dst = np.where(writes, c["dst"], -1).tolist()
    return list(zip(op.tolist(), reads, dst, argument.tolist(), entities.tolist(), c["addr"].tolist(), strict=True))


def _ports(config: VectorConfig, events: Events, turn: int) -> tuple[list[ReadPort], list[WritePort]]:
    """The ports, before memory of the configuration's kind."""
    ports, latency, row = config.ports, config.dram_latency, config.row_bytes
    readers: Sequence[Mover]
    writers: Sequence[Writes]
    timing = Timing.of(config)
    if timing is None:
        shared = Bandwidth(events, ports, config.dram_bytes_per_cycle / row, latency, turn).channels
        readers, writers = shared[:ports], shared[ports:]
    else:
        dram = Dram(events, timing, row)
        readers = [DramReads(dram, port, latency) for port in range(ports)]
        writers = [DramWrites(dram, port, latency) for port in range(ports)]
    return [ReadPort(events, r, latency, row) for r in readers], [WritePort(events, w, row) for w in writers]


def run(
    config: VectorConfig,
    programs: Sequence[npt.ArrayLike],
    *,
    entity_of: Callable[[int], str] | None = None,
    tags: Sequence[Sequence[int]] | None = None,
    primitives: Sequence[str] = ("all",),
    base: int = 0,
    stride: int = 0,
    turn: int = FIRST_TURN,
) -> ReplicaReport:
    """Times programs of all elements.

    Args:
        config: the machine, with its memory.
        programs: words (n, 4) of element 0, 1, ..., group by group.
        entity_of: the entity of an address, under which its traffic is counted.
        tags: of every element, an index into `primitives` for each instruction.
        primitives: names for `ReplicaReport.primitives`.
        base, stride: element k's program is at base + k * stride; matters where memory has banks.
        turn: which channel simple memory asks first in cycle 0, where ports want more than it gives: reads of port 0,
            1, ..., then writes.

    Raises:
        ParameterError: not one program per element.
        IllegalInstructionError: an operation that does not exist, no END, or elements that wait for each other for
            ever.
    """
    if len(programs) != config.elements:
        raise ParameterError(f"machine {config.name} runs {config.elements} programs, not {len(programs)}")
    names: dict[str, int] = {}

    def entity(address: int) -> int:
        return names.setdefault(entity_of(address) if entity_of else "data", len(names))

    events = Events()
    reads, writes = _ports(config, events, turn)
    buses = [Bus(events, config.pes) for _ in range(config.groups)]
    reduction = Reduction(events, config.groups, config.pes)
    gates = [Barrier(events, config.pes) for _ in range(config.groups)]
    gate = Barrier(events, config.elements)
    elements: list[Element] = []
    executed: Counter[int] = Counter()
    for number, program in enumerate(programs):
        steps = _decode(program, entity)
        executed.update(s[0] for s in steps)
        e = Element(
            number,
            config,
            steps,
            bytes(len(steps)) if tags is None else tags[number],
            len(primitives),
            base + number * stride,
        )
        elements.append(e)
        port = config.port_of(e.group, e.pe)
        for client in (e.fetch, e.load, e.stream):
            reads[port].attach(client)
        writes[port].attach(e.store)
        e.bus = buses[e.group]
        e.bus.attach(e)
        e.reduction = reduction
        e.barriers = (None, gates[e.group], gate)
    for e in elements:
        e.fetch.ask(FIRST_FETCH)
    events.run()

    stuck = [e for e in elements if e.ended_at < 0]
    if stuck:
        where = ", ".join(f"element {e.number} at {e.pc}" for e in stuck[:8])
        raise IllegalInstructionError(f"elements wait for each other for ever: {where}")
    # Done: ended, and no fetch on its way.
    ended = tuple(max(e.ended_at + 1, e.fetch.idle_from) for e in elements)
    read: Counter[str] = Counter({PROGRAM: sum(e.fetched for e in elements) * config.fetch_beats * config.row_bytes})
    written: Counter[str] = Counter()
    for name, n in names.items():
        read[name] += sum(e.read.get(n, 0) for e in elements)
        written[name] += sum(e.written.get(n, 0) for e in elements)
    busy = {unit: sum(e.busy[i] for e in elements) for i, unit in enumerate(UNITS)}
    return ReplicaReport(
        config=config,
        cycles=max(ended),
        traffic={n: Traffic(read[n], written[n]) for n in {**names, PROGRAM: 0}},
        busy={**busy, "bus": sum(b.busy for b in buses), "reduction": reduction.busy},
        waits={cause: sum(e.waits[i] for e in elements) for i, cause in enumerate(WAITS)},
        primitives={p: sum(e.spent[i] for e in elements) / len(elements) for i, p in enumerate(primitives)},
        executed={Opcode(o).name: n for o, n in sorted(executed.items())},
        ended=ended,
        events=events.handled,
    )
