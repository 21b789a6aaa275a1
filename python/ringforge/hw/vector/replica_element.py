# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""One processing element in the replica: in-order issue under the scoreboard of vector_sequencer.

The element runs ahead of the events: whatever follows from times that are known is computed at once, and it stops at
the first instruction that waits for something unknown (a fetch, a load, a partner). The scoreboard becomes, per unit,
the cycle from which the sequencer sees it idle, and the slots it holds till then.

Constants are cycles from the issue of an instruction, counted in the sources and confirmed by runs of the simulated
machine: the instruction register is valid in cycle t and issues, the unit is told in t + 1, its first row is read in
t + 2.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

from ringforge.errors import IllegalInstructionError
from ringforge.hw.vector.config import INSTRUCTION_BYTES, LOAD_QUEUE, VectorConfig
from ringforge.hw.vector.isa import BFrom, Opcode, Scope
from ringforge.hw.vector.replica_clients import (
    IN,
    LOAD,
    MAC,
    MAC_DRAIN,
    OUT,
    SPN,
    STREAM_QUEUE,
    Fetch,
    Load,
    Store,
    Stream,
)
from ringforge.hw.vector.replica_exchange import Barrier, Bus, Reduction
from ringforge.hw.vector.replica_memory import ARRIVE, NEVER

#: From issue to the cycle before the first row is read, where units ask for what they need from outside.
START: Final = 1
#: Cycles of a transform or automorphism, besides a cycle per row (and stage).
NTT_DRAIN: Final = 29
AUTO_DRAIN: Final = 10
#: Wait after each stage but the last of a transform, if a polynomial has fewer than 4 times as many rows.
STAGE_DRAIN: Final = 27
#: From issue, besides the rows of one stage, to the release of a transform's source.
SOURCE_DRAIN: Final = 3
#: From issue to the first beat of a STORE at the memory.
STORE_START: Final = 6

UNITS: Final = ("spn", "mac", "load", "in", "out")
#: What an instruction may wait for: a unit, or a slot or port that it holds; its fetch; the stream queue; stores that
#: are not acknowledged; others at a barrier.
WAITS: Final = (*UNITS, "fetch", "stream", "stores", "barrier")
_FETCH, _STREAM, _STORES, _BARRIER = range(len(UNITS), len(WAITS))

_CONF, _SYNC, _END = int(Opcode.CONF), int(Opcode.SYNC), int(Opcode.END)
_STREAM_OP, _LOAD, _STORE = int(Opcode.STREAM), int(Opcode.LOAD), int(Opcode.STORE)
_SEND, _RECV, _REDUCE = int(Opcode.SEND), int(Opcode.RECV), int(Opcode.REDUCE)
_NTT, _INTT, _AUTO, _MAC = int(Opcode.NTT), int(Opcode.INTT), int(Opcode.AUTO), int(Opcode.MAC)
_ELEMENT, _FROM_STREAM = int(Scope.ELEMENT), int(BFrom.STREAM)
_ROW_BITS: Final = 13

#: A decoded instruction: operation; slots read; slot written, or -1; twiddle slot, b_from, mask, src_pe, scope or
#: log2 N, by operation; entity of the address; address.
Step = tuple[int, tuple[int, ...], int, int, int, int]


class Element:
    """A processing element with its program.

    Args:
        number: group * pes + index in the group.
        config: the machine.
        steps: the program, decoded.
        tags: of each instruction, an index into the primitives' names.
        primitives: how many primitives there are.
        program: address of the program.
    """

    def __init__(
        self,
        number: int,
        config: VectorConfig,
        steps: Sequence[Step],
        tags: Sequence[int],
        primitives: int,
        program: int = 0,
    ) -> None:
        self.number = number
        self.group, self.pe = divmod(number, config.pes)
        self.fetch = Fetch(self, config.fetch_beats, config.fetch_depth // config.fetch_beats, program)
        self.load = Load(self)
        self.stream = Stream(self, config.stream_rows, config.burst_rows)
        self.store = Store(self)
        self.bus: Bus
        self.reduction: Reduction
        self.barriers: tuple[Barrier | None, Barrier, Barrier]
        #: Cycle of the END, or -1.
        self.ended_at = -1
        #: At a barrier.
        self.waiting = False
        self.pc = 0
        self.busy = [0] * len(UNITS)
        self.waits = [0] * len(WAITS)
        #: Cycles by primitive: those that an instruction waits for a unit, or for a slot or port that it holds, are
        #: the primitive's that runs there; others are its own.
        self.spent = [0] * primitives
        #: Bursts of instructions, and bytes by entity.
        self.fetched = 0
        self.read: dict[int, int] = {}
        self.written: dict[int, int] = {}
        self._config = config
        self._steps = steps
        self._tags = tags
        self._per_beat = config.row_bytes // INSTRUCTION_BYTES
        self._per_burst = config.fetch_beats * self._per_beat
        self._next_pop = self._per_burst - 1
        self._last = 0  # issue of the previous instruction
        self._configure(config.min_log_n)
        # Scoreboard: cycle from which a unit is idle, and what it holds until then.
        self._spn_free = self._spn_source = self._mac_free = self._in_free = self._out_free = 0
        self._spn_a = self._spn_dst = self._spn_tw = self._mac_dst = self._in_dst = self._out_a = -1
        self._spn_own = False  # a transform, which reads its destination's bank too
        self._mac_reads: tuple[int, ...] = ()
        #: LOADs: cycle from which each is finished (in order; NEVER while that is not known), slot, issue.
        self._loads: deque[tuple[int, int, int]] = deque()
        self._load_free = 0  # of the last one that is finished
        self._started = [0] * len(UNITS)
        self._running = [0] * len(UNITS)  # primitive in each unit

    def _configure(self, log_n: int) -> None:
        self._log_n = log_n
        self._rows = self._config.rows(log_n)
        self._beats = min(self._rows, self._config.burst_rows)
        self._bursts = self._rows // self._beats

    @property
    def rows(self) -> int:
        """Rows of a polynomial."""
        return self._rows

    def count(self, store: bool, entity: int) -> None:
        """Counts the bytes of a polynomial that is read or written."""
        traffic = self.written if store else self.read
        traffic[entity] = traffic.get(entity, 0) + self._rows * self._config.row_bytes

    def ran(self, unit: int, begin: int, end: int) -> None:
        """Counts the cycles of one instruction in a unit, once its end is known."""
        self.busy[unit] += end - begin

    # ---- what others tell the element -------------------------------------------------------------

    def release(self, unit: int, time: int) -> None:
        """A unit that waited for something will be seen idle from cycle `time` on."""
        self._set_free(unit, time)
        self.resume()

    def _set_free(self, unit: int, time: int) -> None:
        if unit == MAC:
            self._mac_free = time
        elif unit == IN:
            self._in_free = time
        else:
            self._out_free = time
        self.ran(unit, self._started[unit], time)

    def loaded(self, time: int) -> None:
        """The oldest LOAD will be seen finished from cycle `time` on."""
        at = next(k for k, (free, _, _) in enumerate(self._loads) if free == NEVER)
        _, slot, begun = self._loads[at]
        self._loads[at] = time, slot, begun
        self.ran(LOAD, max(begun, self._load_free), time)
        self._load_free = time
        self.resume()

    def exchanged(self, out: int | None, into: int | None) -> None:
        """A transfer was granted: when its units will be idle."""
        if out is not None:
            self._set_free(OUT, out)
        if into is not None:
            self._set_free(IN, into)
        self.resume()

    def met(self, now: int, _: int) -> None:
        """The barrier is open: the SYNC issues in this cycle."""
        self.waiting = False
        self.waits[_BARRIER] += now - self._last - 1
        self.spent[self._tags[self.pc]] += now - self._last
        self._last = now
        self.pc += 1
        self.resume()

    # ---- issue ------------------------------------------------------------------------------------

    def resume(self) -> None:
        """Issues as far as times are known."""
        if self.waiting or self.ended_at >= 0:
            return
        steps, arrivals, waits = self._steps, self.fetch.arrivals, self.waits
        while True:
            pc = self.pc
            beat = pc // self._per_beat
            if beat >= len(arrivals):
                return
            last, available = self._last, arrivals[beat]
            taken = available if available > last else last
            if pc == self._next_pop:
                self._next_pop = pc + self._per_burst
                self.fetch.popped(taken)
            if pc >= len(steps):
                raise IllegalInstructionError(f"element {self.number}: the program has no END")
            op, reads, dst, x, _, _ = step = steps[pc]
            t, why = self._earliest(op, reads, dst, x, taken + 1)
            if t >= NEVER:
                return
            tag = self._tags[pc]
            waits[_FETCH] += taken - last
            waits[why] += t - taken - 1
            self.spent[tag] += taken - last
            self.spent[self._running[why] if why < _FETCH else tag] += t - taken - 1
            self._last = t - 1
            if op == _SYNC and x != _ELEMENT:
                barrier = self.barriers[x]
                assert barrier is not None
                self.waiting = True
                barrier.arrive(self, t)
                return
            self.spent[tag] += 1
            self._last = t
            self.pc = pc + 1
            if op == _END:
                self.ended_at = t
                self.fetch.port.events.at(t + 1, ARRIVE, self.fetch.stop)
                return
            self._start(op, step, t, tag)

    def _earliest(self, op: int, reads: tuple[int, ...], dst: int, x: int, t: int) -> tuple[int, int]:
        """First cycle from t on in which an instruction may issue, and what it waited for last."""
        why = _FETCH
        spn, source, mac = self._spn_free, self._spn_source, self._mac_free
        into, out = self._in_free, self._out_free
        loads = self._loads
        while loads and loads[0][0] <= t:
            loads.popleft()
        # The unit itself.
        if op >= _NTT:
            if op == _MAC:
                if mac > t:
                    t, why = mac, MAC
            elif spn > t:
                t, why = spn, SPN
        elif op >= _LOAD:
            if op == _LOAD:
                if len(loads) >= LOAD_QUEUE and (oldest := loads[len(loads) - LOAD_QUEUE][0]) > t:
                    t, why = oldest, LOAD
            elif op in (_RECV, _REDUCE) and into > t:
                t, why = into, IN
            if op in (_STORE, _SEND, _REDUCE) and out > t:
                t, why = out, OUT
        else:
            return self._earliest_control(op, t)
        # Slots and ports of units that still run.
        if spn > t:
            for s in reads:
                if s == self._spn_dst or (self._spn_own and s >> _ROW_BITS == self._spn_dst >> _ROW_BITS):
                    if spn > t:
                        t, why = spn, SPN
                elif source > t and s >> _ROW_BITS == self._spn_a >> _ROW_BITS:
                    t, why = source, SPN
            if dst >= 0:
                if dst == self._spn_tw or dst >> _ROW_BITS == self._spn_dst >> _ROW_BITS:
                    if spn > t:
                        t, why = spn, SPN
                elif source > t and dst == self._spn_a:
                    t, why = source, SPN
        transform = op in (_NTT, _INTT)
        if mac > t:
            written, bank = self._mac_dst, dst >> _ROW_BITS
            held = dst in self._mac_reads or (dst >= 0 and bank == written >> _ROW_BITS)
            for m in self._mac_reads:
                for s in reads:
                    held = held or s >> _ROW_BITS == m >> _ROW_BITS
                held = held or (transform and m >> _ROW_BITS == bank)
            if held or written in reads:
                t, why = mac, MAC
        if into > t and (
            self._in_dst in reads
            or (dst >= 0 and dst >> _ROW_BITS == self._in_dst >> _ROW_BITS)
            or (transform and x == self._in_dst)
        ):
            t, why = into, IN
        for free, slot, _ in loads:
            if free > t and (
                slot in reads
                or slot == dst
                or (transform and x == slot)
                or (op != _LOAD and dst >= 0 and dst >> _ROW_BITS == slot >> _ROW_BITS)
            ):
                t, why = free, LOAD
        if out > t:
            a = self._out_a
            held = dst == a or (transform and dst >> _ROW_BITS == a >> _ROW_BITS)
            for s in reads:
                held = held or s >> _ROW_BITS == a >> _ROW_BITS
            if held:
                t, why = out, OUT
        return t, why

    def _earliest_control(self, op: int, t: int) -> tuple[int, int]:
        """The same for instructions without a unit."""
        why = _FETCH
        if op == _STREAM_OP:
            full = self.stream.pushed - STREAM_QUEUE
            if full >= 0:
                popped = self.stream.popped
                left = popped[full] + 1 if full < len(popped) else NEVER
                if left > t:
                    t, why = left, _STREAM
            return t, why
        if op in (_SYNC, _END):
            if self._out_free > t:
                t, why = self._out_free, OUT
            if self.store.clear_from > t:
                t, why = self.store.clear_from, _STORES
        if op != _SYNC:
            last_load = self._loads[-1][0] if self._loads else 0
            for unit, free in enumerate((self._spn_free, self._mac_free, last_load, self._in_free, self._out_free)):
                if free > t:
                    t, why = free, unit
        if op in (_CONF, _END) and self.stream.idle_from > t:
            t, why = self.stream.idle_from, _STREAM
        return t, why

    def _start(self, op: int, step: Step, t: int, tag: int) -> None:
        """Issues an instruction in cycle t."""
        _, reads, dst, x, entity, address = step
        rows = self._rows
        if op == _MAC:
            self._mac_dst, self._mac_reads = dst, reads
            self._started[MAC], self._running[MAC] = t, tag
            streamed = x == _FROM_STREAM
            free = self.stream.begin(t + START, self._bursts) if streamed else t + START + rows + MAC_DRAIN
            self._mac_free = free
            if free < NEVER:
                self.ran(MAC, t, free)
        elif op in (_NTT, _INTT, _AUTO):
            if op == _AUTO:
                free = t + rows + AUTO_DRAIN
            else:
                free = t + self._log_n * rows + NTT_DRAIN
                if rows < 4 * STAGE_DRAIN:
                    free += (self._log_n - 1) * STAGE_DRAIN
            self._spn_free, self._spn_source = free, t + rows + SOURCE_DRAIN
            self._spn_own = op != _AUTO
            self._spn_a, self._spn_dst = reads[0], dst
            self._spn_tw = reads[0] if op == _AUTO else x
            self._running[SPN] = tag
            self.ran(SPN, t, free)
        elif op == _STREAM_OP:
            self.count(False, entity)
            self.stream.push(t, self._bursts, self._beats, address)
        elif op == _LOAD:
            self.count(False, entity)
            self._loads.append((NEVER, dst, t))
            self._running[LOAD] = tag
            self.load.begin(t + START + 1, self._bursts, self._beats, address)
        elif op == _STORE:
            self.count(True, entity)
            self._out_free, self._out_a = NEVER, reads[0]
            self._started[OUT], self._running[OUT] = t, tag
            self.store.ask(t + START + 1, self._bursts, self._beats, t + STORE_START, address)
        elif op == _SEND:
            self._out_free, self._out_a = NEVER, reads[0]
            self._started[OUT], self._running[OUT] = t, tag
            self.bus.send(self, t + START + 1, x)
        elif op == _RECV:
            self._in_free, self._in_dst = NEVER, dst
            self._started[IN], self._running[IN] = t, tag
            self.bus.receive(self, t + START + 1, x)
        elif op == _REDUCE:
            self._in_free = self._out_free = NEVER
            self._in_dst, self._out_a = dst, reads[0]
            self._started[IN] = self._started[OUT] = t
            self._running[IN] = self._running[OUT] = tag
            self.reduction.ask(self, t + START + 1)
        elif op == _CONF:
            self._configure(x)
