# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Cycle and traffic model of the matvec accelerator: the machine's own programs, timed without data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ringforge.errors import IllegalInstructionError, ParameterError
from ringforge.hw.config import INSTRUCTION_BYTES, MachineConfig
from ringforge.hw.isa import BFrom, Opcode, field_table
from ringforge.hw.model_element import FETCH_BEATS, FIRST_FETCH, UNITS, WAITS, Element, Step
from ringforge.hw.model_exchange import Barrier, Bus, Reduction
from ringforge.hw.model_memory import Bandwidth, Events, ReadPort, WritePort
from ringforge.hw.simulator import Traffic

Words = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class ModelReport:
    """What a run of programs takes."""

    config: MachineConfig
    cycles: int
    traffic: Mapping[str, Traffic]
    busy: Mapping[str, int]
    waits: Mapping[str, int]
    primitives: Mapping[str, float]
    executed: Mapping[str, int]
    ended: tuple[int, ...]

    @property
    def seconds(self) -> float:
        """Time at the machine's clock."""
        return self.cycles / self.config.clock_hz


def _columns(words: Words) -> dict[str, npt.NDArray[np.int64]]:
    out = {}
    for f in field_table().values():
        if f.width < 64:
            out[f.name] = (words[:, f.word] >> np.uint64(f.lsb) & np.uint64((1 << f.width) - 1)).astype(np.int64)
    out["imm"] = (words[:, 2] & np.uint64((1 << 62) - 1)).astype(np.int64)
    out["addr"] = (words[:, 3] & np.uint64((1 << 62) - 1)).astype(np.int64)
    return out


def decode(words: npt.ArrayLike, entity: Callable[[int], int]) -> list[Step]:
    array = np.asarray(words, np.uint64)
    c = _columns(array)
    op = c["op"]
    known = np.isin(op, [int(o) for o in Opcode])
    if not known.all():
        at = int(np.argmin(known))
        raise IllegalInstructionError(f"instruction {at} has operation {op[at]}, which does not exist")
    transform = np.isin(op, [Opcode.NTT, Opcode.INTT])
    mac = op == Opcode.MAC
    memory = np.isin(op, [Opcode.LOAD, Opcode.STORE, Opcode.STREAM])
    reads_a = transform | mac | np.isin(op, [Opcode.AUTO, Opcode.STORE, Opcode.SEND, Opcode.REDUCE])
    reads_b = mac & (c["b_from"] == BFrom.SLOT)
    reads_c = mac & ((c["pre_sub"] | c["post_add"]) != 0)
    writes = transform | mac | np.isin(op, [Opcode.AUTO, Opcode.LOAD, Opcode.RECV, Opcode.REDUCE])
    x = np.zeros_like(op)
    for where, column in (
        (transform, "tw"), (mac, "b_from"), (op == Opcode.SEND, "mask"), (op == Opcode.RECV, "src_pe"),
        (op == Opcode.SYNC, "scope"),
    ):  # fmt: skip
        x[where] = c[column][where]
    conf = op == Opcode.CONF
    x[conf] = c["imm"][conf] & 31
    entities = np.zeros_like(op)
    addresses, back = np.unique(c["addr"][memory], return_inverse=True)
    entities[memory] = np.array([entity(int(a)) for a in addresses], np.int64)[back] if addresses.size else 0
    a, b, cc = c["a"].tolist(), c["b"].tolist(), c["c"].tolist()
    kind = (reads_a + 2 * reads_b + 4 * reads_c).tolist()
    reads = [
        ()
        if k == 0
        else (a[i],)
        if k == 1
        else (a[i], cc[i])
        if k == 5
        else (a[i], b[i])
        if k == 3
        else (a[i], b[i], cc[i])
        for i, k in enumerate(kind)
    ]
    dst = np.where(writes, c["dst"], -1)
    return list(zip(op.tolist(), reads, dst.tolist(), x.tolist(), entities.tolist(), strict=True))


def run(
    config: MachineConfig,
    programs: Sequence[npt.ArrayLike],
    *,
    entity_of: Callable[[int], str] | None = None,
    tags: Sequence[Sequence[int]] | None = None,
    primitives: Sequence[str] = ("all",),
    turn: int = 6,
) -> ModelReport:
    if len(programs) != config.elements:
        raise ParameterError(f"machine {config.name} runs {config.elements} programs, not {len(programs)}")
    names: dict[str, int] = {}

    def entity(address: int) -> int:
        return names.setdefault(entity_of(address) if entity_of else "data", len(names))

    events = Events()
    bandwidth = Bandwidth(events, config.ports, config.dram_bytes_per_cycle / config.row_bytes, turn)
    reads = [ReadPort(events, c, config.dram_latency) for c in bandwidth.channels[: config.ports]]
    writes = [WritePort(events, c, config.dram_latency) for c in bandwidth.channels[config.ports :]]
    buses = [Bus(events, config.pes) for _ in range(config.groups)]
    reduction = Reduction(events, config.groups, config.pes)
    gates = [Barrier(events, config.pes) for _ in range(config.groups)]
    gate = Barrier(events, config.elements)
    elements = []
    executed: Counter[int] = Counter()
    for k, program in enumerate(programs):
        words = np.asarray(program, np.uint64)
        steps = decode(words, entity)
        executed.update(s[0] for s in steps)
        e = Element(k, config, steps, tags[k] if tags is not None else bytes(len(steps)), len(primitives))
        elements.append(e)
        port = config.port_of(e.group, e.pe)
        for client in (e.fetch, e.load, e.stream):
            reads[port].attach(client)
        writes[port].attach(e.store)
        buses[e.group].attach(e)
        e.reduction = reduction
        e.barriers = (None, gates[e.group], gate)
    for e in elements:
        e.fetch.ask(FIRST_FETCH)
    events.run()
    stuck = [e for e in elements if e.ended_at < 0]
    if stuck:
        where = ", ".join(f"element {e.number} at {e.pc}" for e in stuck[:8])
        raise IllegalInstructionError(f"elements wait for each other for ever: {where}")
    ends = tuple(max(e.ended_at + 1, e.fetch.idle_from) for e in elements)
    read: Counter[str] = Counter()
    written: Counter[str] = Counter()
    for e in elements:
        for name, n in names.items():
            read[name] += e.read.get(n, 0)
            written[name] += e.written.get(n, 0)
        read["program"] += e.fetched * FETCH_BEATS * config.row_bytes
    return ModelReport(
        config=config,
        cycles=max(ends),
        traffic={n: Traffic(read[n], written[n]) for n in {**names, "program": 0}},
        busy={u: sum(e.busy[i] for e in elements) for i, u in enumerate(UNITS)},
        waits={u: sum(e.waits[i] for e in elements) for i, u in enumerate(WAITS)},
        primitives={p: sum(e.spent[i] for e in elements) / len(elements) for i, p in enumerate(primitives)},
        executed={Opcode(o).name: n for o, n in sorted(executed.items())},
        ended=ends,
    )
