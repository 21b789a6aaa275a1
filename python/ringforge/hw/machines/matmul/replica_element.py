# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""An element with shared ALUs in the replica: in-order issue under the scoreboard of vector_shared_sequencer.

As `ringforge.hw.vector.replica_element`, the element runs ahead of the events. MACs are the exception to "what follows
from known times": one that is being read is delayed by a transform that starts later, so their last rows are worked out
anew whenever a transform starts, an instruction is issued or a streamed polynomial becomes known. Nothing that was
decided on a last row before is wrong then: a transform that starts in cycle t delays rows after t only, and whatever
waits for a MAC is issued when it has ended.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

from ringforge.errors import IllegalInstructionError
from ringforge.hw.machines.matmul.config import FameConfig
from ringforge.hw.machines.matmul.replica_memory import ROW, LineReads, LineWrites
from ringforge.hw.machines.matmul.replica_units import (
    AUTO_WRITE,
    DRAIN,
    MAC_LENGTH,
    MAC_QUEUE,
    MAC_START,
    SPN_START,
    Alu,
    Mac,
)
from ringforge.hw.vector.config import INSTRUCTION_BYTES, LOAD_QUEUE
from ringforge.hw.vector.isa import BFrom, Opcode, Scope
from ringforge.hw.vector.replica_exchange import Barrier, Bus
from ringforge.hw.vector.replica_memory import ARRIVE, NEVER, Events

# Clients of the reader of near lines.
FETCH, LOAD_CLIENT, STREAM_CLIENT = range(3)
#: From an instruction's arrival, or the issue of the one before, to its issue: it is checked first.
CHECKED: Final = 2
#: From issue to a request for memory.
REQUEST: Final = 2
#: From a LOAD's last row to it being seen finished; from a streamed row to the stream buffer's output.
LOAD_DRAIN: Final = 3
STREAM_DRAIN: Final = 3
SMALL_STREAM_DRAIN: Final = 1
#: From a line of instructions to its first one at the fetch buffer's output.
FETCH_DRAIN: Final = 1
#: First cycle in which elements ask for instructions, after the start write.
FIRST_FETCH: Final = 2
#: From a STORE's start to its first row at the writer; from its last row there to the unit seen idle.
STORE_START: Final = 5
STORE_DRAIN: Final = 2
#: From the last far line of a copied burst to the request to write it.
COPY_GATHER: Final = 1
#: STREAMs and COPYs that wait.
STREAM_QUEUE: Final = 8
COPY_QUEUE: Final = 8

UNITS: Final = ("spn", "mac", "load", "in", "out")
SPN, MAC, LOAD, IN, OUT = range(5)
#: What an instruction may wait for, last of all.
WAITS: Final = (*UNITS, "fetch", "stream", "memory", "barrier")
_FETCH, _STREAM, _MEMORY, _BARRIER = range(len(UNITS), len(WAITS))

_CONF, _SYNC, _END, _MODULUS = int(Opcode.CONF), int(Opcode.SYNC), int(Opcode.END), int(Opcode.MODULUS)
_STREAM_OP, _LOAD, _STORE, _COPY = int(Opcode.STREAM), int(Opcode.LOAD), int(Opcode.STORE), int(Opcode.COPY)
_SEND, _RECV = int(Opcode.SEND), int(Opcode.RECV)
_NTT, _INTT, _AUTO, _MAC = int(Opcode.NTT), int(Opcode.INTT), int(Opcode.AUTO), int(Opcode.MAC)
_ELEMENT, _FROM_STREAM = int(Scope.ELEMENT), int(BFrom.STREAM)
_ROW_BITS: Final = 13

#: A decoded instruction: operation; slots read; slots written; twiddle slots; b_from, mask, src_pe, scope or log2 N, by
#: operation; entity of the address; line of the address.
Step = tuple[int, tuple[int, ...], tuple[int, ...], tuple[int, ...], int, int, int]


class Element:
    """An element with its program.

    Args:
        number: of the element.
        config: the machine.
        steps: the program, decoded.
        tags: of each instruction, an index into the primitives' names.
        primitives: how many primitives there are.
        events: the clock.
        reads, writes, far: its memories.
    """

    def __init__(
        self,
        number: int,
        config: FameConfig,
        steps: Sequence[Step],
        tags: Sequence[int],
        primitives: int,
        events: Events,
        reads: LineReads,
        writes: LineWrites,
        far: LineReads,
    ) -> None:
        self.number = self.pe = number
        self.bus: Bus
        self.barriers: tuple[Barrier | None, Barrier, Barrier]
        #: Cycle of the END, or -1.
        self.ended_at = -1
        self.waiting = False
        self.pc = 0
        self.busy = [0] * len(UNITS)
        self.waits = [0] * len(WAITS)
        self.spent = [0] * primitives
        #: Lines of instructions asked for, and bytes by entity.
        self.fetched = 0
        self.read: dict[int, int] = {}
        self.written: dict[int, int] = {}
        self._config = config
        self._events = events
        self._reads, self._writes, self._far = reads, writes, far
        self._steps, self._tags = steps, tags
        self._last = 0
        self._configure(config.min_log_n)
        # Instruction fetch.
        self._per_line = config.line_bytes // INSTRUCTION_BYTES
        self._lines_there: list[int] = []  # cycles in which lines are at the fetch buffer's output
        self._fetch_beats = config.fetch_beats
        self._fetch_bursts = config.fetch_depth // config.fetch_beats
        self._per_burst = self._per_line * self._fetch_beats
        self._next_pop = self._per_burst - 1
        self._asked_bursts = 0
        self._pops: list[int] = []
        self.fetch_idle = 0
        # Transform unit: cycle from which it is seen idle, from which its source is free, slots.
        self._spn_free = self._spn_source = 0
        self._spn_reads: tuple[int, ...] = ()
        self._spn_writes: tuple[int, ...] = ()
        self._spn_tables: tuple[int, ...] = ()
        self._spn_own = False
        self._spn_after: Mac | None = None  # starts when this has ended
        self._spn_step: tuple[int, int, int] = (0, 0, 0)  # operation, transforms, primitive
        # MACs.
        self._alu = Alu()
        self._macs: deque[Mac] = deque()
        self._mac_last = -1  # last row of the last MAC that is forgotten
        self._next_polynomial = 0  # of the MACs' streamed polynomials
        # Stream.
        self._stream_free = 0
        self._stream_there: list[tuple[int, int]] = []  # by polynomial: cycles of first and last row at the output
        self._stream_read: list[int] = []  # by polynomial: cycle of the last row's read; NEVER: not known
        self._stream_pushed: deque[tuple[int, int, int]] = deque()  # cycle, lines, first line
        self._stream_popped: list[int] = []
        self._stream_asked = 0  # polynomials
        self._stream_total = 0
        self._stream_open = False  # one is asked for and not granted
        self._stream_drain = STREAM_DRAIN if config.stream_rows >= 128 else SMALL_STREAM_DRAIN
        # LOADs: cycle from which each is finished, slot, issue.
        self._loads: deque[list[int]] = deque()
        self._load_free = 0
        self._rows_out = -1  # last row that the reader has given
        # Movers.
        self._in_free = self._out_free = 0
        self._in_dst = self._out_a = -1
        self._out_after: Mac | None = None
        self._out_step: Step = (0, (), (), (), 0, 0, 0)
        self._stores_open = self._copies_open = 0
        self._clear_from = self._copied_from = 0
        self._copy_popped: list[int] = []
        self._copies = 0
        self._started = [0] * len(UNITS)
        self._running = [0] * len(UNITS)

    def _configure(self, log_n: int) -> None:
        config = self._config
        self._log_n = log_n
        self._rows = config.rows(log_n)
        self._lines = config.lines(log_n)
        self._far_lines = config.far_lines(log_n)
        self._long = self._rows > MAC_LENGTH
        self._capacity = config.stream_rows // self._rows

    @property
    def rows(self) -> int:
        """Rows of a polynomial."""
        return self._rows

    def begin(self) -> None:
        """The start write: asks for instructions."""
        for k in range(self._fetch_bursts):
            self._fetch(FIRST_FETCH + k)

    # ---- instruction fetch ------------------------------------------------------------------------

    def _fetch(self, time: int) -> None:
        first = self._asked_bursts * self._fetch_beats
        self._asked_bursts += 1
        self._reads.ask(FETCH, time, self._fetch_beats, first, 1.0, self._fetched_lines, self._fetch_granted)

    def _fetch_granted(self, _now: int) -> None:
        self.fetched += self._fetch_beats

    def _fetched_lines(self, first: int, last: int) -> None:
        count = self._fetch_beats
        for k in range(count):
            self._lines_there.append(first + (last - first) * k // max(1, count - 1) + FETCH_DRAIN)
        self.fetch_idle = last + 1
        self._events.at(first, ARRIVE, self._wake)

    def _wake(self, _now: int, _: int) -> None:
        self.resume()

    # ---- stream -----------------------------------------------------------------------------------

    def _stream_ask(self) -> None:
        """Asks for the next polynomial, as soon as the buffer has room for all of it."""
        if self._stream_open or not self._stream_pushed:
            return
        time, lines, first = self._stream_pushed.popleft()
        popped = max(time + 1, self._stream_free)
        self._stream_popped.append(popped)
        self._stream_open = True
        self._stream_from = popped + 1
        self._reads.ask(
            STREAM_CLIENT, self._stream_visible(), lines, first, self._pace, self._streamed, self._stream_granted
        )

    @property
    def _pace(self) -> float:
        """Cycles that a line's rows take."""
        return max(1.0, self._rows / self._lines)

    def _stream_visible(self) -> int:
        need = self._stream_asked - self._capacity
        if need < 0:
            return self._stream_from
        read = self._stream_read[need] if need < len(self._stream_read) else NEVER
        return max(self._stream_from, read + 1) if read < NEVER else NEVER

    def _stream_granted(self, now: int) -> None:
        self._stream_open = False
        self._stream_asked += 1
        self._stream_free = now + 1
        self._stream_ask()
        self.resume()

    def _rows_of(self, first: int, last: int) -> tuple[int, int]:
        """Cycles of the first and the last row of a polynomial whose lines are taken then."""
        begin = max(first + ROW, self._rows_out + 1)
        end = max(last + ROW + 1, begin + self._rows - 1)
        self._rows_out = end
        return begin, end

    def _streamed(self, first: int, last: int) -> None:
        begin, end = self._rows_of(first, last)
        self._stream_there.append((begin + self._stream_drain, end + self._stream_drain))
        self._work_out()
        self.resume()

    # ---- MACs -------------------------------------------------------------------------------------

    def _work_out(self) -> None:
        """Last rows of all MACs under way, and what starts after them."""
        last = self._mac_last
        reads, there = self._stream_read, self._stream_there
        for m in self._macs:
            if last >= NEVER:
                m.start = m.last = NEVER
            else:
                m.start = max(m.issued + MAC_START, last + 1)
                k = m.polynomial
                if k < 0:
                    m.last = self._alu.read(m.start, self._rows, None)
                elif k < len(there):
                    m.last = self._alu.read(m.start, self._rows, there[k])
                else:
                    m.last = NEVER
            if m.polynomial >= 0:
                reads[m.polynomial] = m.last
            last = m.last
            if last < NEVER:
                if m is self._spn_after:
                    self._spn_after = None
                    self._start_spn(m.done)
                if m is self._out_after:
                    self._out_after = None
                    self._start_out(m.done)
        if self._stream_open:
            self._reads.change(STREAM_CLIENT, self._stream_visible())

    def _prune(self, t: int) -> None:
        """Forgets MACs that no instruction from cycle t on can wait for."""
        macs = self._macs
        while macs and macs[0].done < t:
            m = macs.popleft()
            self._mac_last = m.last
            self.busy[MAC] += m.done - m.issued
        self._alu.forget(macs[0].start if macs and macs[0].start < NEVER else self._mac_last)

    # ---- what others tell the element -------------------------------------------------------------

    def exchanged(self, out: int | None, into: int | None) -> None:
        """A transfer was granted: when its units will be idle."""
        if out is not None:
            self._out_free = out
            self.busy[OUT] += out - self._started[OUT]
        if into is not None:
            self._in_free = into
            self.busy[IN] += into - self._started[IN]
        self.resume()

    def met(self, now: int, _: int) -> None:
        """The barrier is open: the SYNC issues in this cycle."""
        self.waiting = False
        self.waits[_BARRIER] += now - self._last - 1
        self.spent[self._tags[self.pc]] += now - self._last
        self._last = now
        self.pc += 1
        self.resume()

    def _loaded(self, first: int, last: int) -> None:
        _, end = self._rows_of(first, last)
        time = end + LOAD_DRAIN
        for load in self._loads:
            if load[0] == NEVER:
                self.busy[LOAD] += time - max(load[2], self._load_free)
                load[0] = self._load_free = time
                break
        self.resume()

    def _stored(self, last: int, acknowledged: int) -> None:
        self._stores_open -= 1
        if self._stores_open == 0:
            self._clear_from = acknowledged
        free = max(self._store_first + self._rows - 1, last - 1) + STORE_DRAIN
        self._out_free = free
        self.busy[OUT] += free - self._started[OUT]
        self.resume()

    # ---- issue ------------------------------------------------------------------------------------

    def resume(self) -> None:
        """Issues as far as times are known."""
        if self.waiting or self.ended_at >= 0:
            return
        steps, there, waits = self._steps, self._lines_there, self.waits
        while True:
            pc = self.pc
            line = pc // self._per_line
            if line >= len(there):
                return
            last, available = self._last, there[line]
            taken = available if available > last else last
            if pc == self._next_pop:
                self._next_pop = pc + self._per_burst
                self._fetch(taken + 1)
            if pc >= len(steps):
                raise IllegalInstructionError(f"element {self.number}: the program has no END")
            step = steps[pc]
            op = step[0]
            t, why, after = self._earliest(step, taken + CHECKED)
            if t >= NEVER:
                return
            tag = self._tags[pc]
            waits[_FETCH] += taken - last
            waits[why] += t - taken - 1
            self.spent[tag] += taken - last
            self.spent[self._running[why] if why < _FETCH else tag] += t - taken - 1
            self._last = t - 1
            if op == _SYNC and step[4] != _ELEMENT:
                barrier = self.barriers[step[4]]
                assert barrier is not None
                self.waiting = True
                barrier.arrive(self, t)
                return
            self.spent[tag] += 1
            self._last = t
            self.pc = pc + 1
            if op == _END:
                self.ended_at = t
                return
            self._issue(step, t, tag, after)

    def _held(self, step: Step, t: int) -> tuple[int, int]:
        """First cycle from t on in which no unit but MACs holds what an instruction needs, and what it waited for."""
        op, reads, writes, tables, _, _, _ = step
        why = _FETCH
        loads = self._loads
        while loads and loads[0][0] <= t:
            loads.popleft()
        transform = op in (_NTT, _INTT)
        # The unit itself.
        if op >= _NTT:
            if op != _MAC and self._spn_free > t:
                t, why = self._spn_free, SPN
        elif op == _LOAD:
            if len(loads) >= LOAD_QUEUE and (oldest := loads[len(loads) - LOAD_QUEUE][0]) > t:
                t, why = oldest, LOAD
        elif op == _RECV:
            if self._in_free > t:
                t, why = self._in_free, IN
        elif self._out_free > t:
            t, why = self._out_free, OUT
        if t >= NEVER:
            return t, why
        read_banks = {s >> _ROW_BITS for s in reads}
        if transform:
            read_banks.update(s >> _ROW_BITS for s in writes)
        if self._spn_free > t:
            held = self._spn_writes
            if (
                any(s in held for s in reads)
                or any(s in self._spn_tables or any(s >> _ROW_BITS == h >> _ROW_BITS for h in held) for s in writes)
                or (self._spn_own and any(h >> _ROW_BITS in read_banks for h in held))
            ):
                t, why = self._spn_free, SPN
            elif self._spn_source > t and (
                any(s >> _ROW_BITS in read_banks for s in self._spn_reads) or any(s in self._spn_reads for s in writes)
            ):
                t, why = self._spn_source, SPN
            if t >= NEVER:
                return t, why
        if self._in_free > t and (
            self._in_dst in reads or any(s >> _ROW_BITS == self._in_dst >> _ROW_BITS for s in writes)
        ):
            t, why = self._in_free, IN
            if t >= NEVER:
                return t, why
        for free, slot, _ in loads:
            if free > t and (
                slot in reads
                or slot in tables
                or slot in writes
                or (op != _LOAD and any(s >> _ROW_BITS == slot >> _ROW_BITS for s in writes))
            ):
                t, why = free, LOAD
                if t >= NEVER:
                    return t, why
        if self._out_free > t and (self._out_a >> _ROW_BITS in read_banks or self._out_a in writes):
            t, why = self._out_free, OUT
        return t, why

    def _earliest(self, step: Step, t: int) -> tuple[int, int, Mac | None]:
        """First cycle from t on in which an instruction may issue, what it waited for, the MAC that it starts after."""
        op, reads, writes = step[0], step[1], step[2]
        if op < _LOAD or op == _COPY:
            t, why = self._earliest_control(op, t)
            return t, why, None
        t, why = self._held(step, t)
        if t >= NEVER:
            return t, why, None
        self._prune(t)
        macs = self._macs
        if not macs:
            return t, why, None
        if op == _MAC:
            start = macs[-1].start
            if start >= NEVER:
                return NEVER, MAC, None
            if start - 1 > t:
                t, why = start - 1, MAC
            if len(macs) >= MAC_QUEUE:
                room = macs[len(macs) - MAC_QUEUE].done + 1
                if room > t:
                    t, why = room, MAC
            if not self._long:
                for m in macs:
                    if m.dst in reads and m.done >= t:
                        t, why = m.done + 1, MAC
            return min(t, NEVER), why, None
        read_banks = {s >> _ROW_BITS for s in reads}
        write_banks = {s >> _ROW_BITS for s in writes}
        if op in (_NTT, _INTT):
            read_banks |= write_banks
        deferred = op != _LOAD and op != _RECV
        behind: Mac | None = None
        for m in macs:
            if m.done < t:
                continue
            reading = m.last >= t
            if (
                m.dst in reads
                or m.dst >> _ROW_BITS in write_banks
                or (
                    reading
                    and (
                        any(s in m.reads for s in writes)
                        or (op not in (_LOAD, _RECV) and any(s >> _ROW_BITS in read_banks for s in m.reads))
                    )
                )
            ):
                behind = m
                if not deferred:
                    # A LOAD or RECV only writes: sources are free once they are read.
                    until = m.done if m.dst >> _ROW_BITS in write_banks else m.last
                    if until >= NEVER:
                        return NEVER, MAC, None
                    t, why = until + 1, MAC
        return t, why, behind if deferred else None

    def _earliest_control(self, op: int, t: int) -> tuple[int, int]:
        """The same for instructions that hold no slot."""
        why = _FETCH
        if op == _STREAM_OP:
            full = self._stream_total - STREAM_QUEUE
            if full >= 0:
                popped = self._stream_popped
                left = popped[full] + 1 if full < len(popped) else NEVER
                if left > t:
                    t, why = left, _STREAM
            return t, why
        if op == _COPY:
            full = self._copies - COPY_QUEUE
            if full >= 0:
                popped = self._copy_popped
                left = popped[full] + 1 if full < len(popped) else NEVER
                if left > t:
                    t, why = left, _MEMORY
            return t, why
        if op in (_SYNC, _END, _CONF):
            for free, reason in ((self._out_free, OUT), (self._clear_from, _MEMORY), (self._copied_from, _MEMORY)):
                if free > t:
                    t, why = free, reason
        if op != _SYNC:
            last_load = self._loads[-1][0] if self._loads else 0
            mac = self._macs[-1].done + 1 if self._macs else 0
            units = (self._spn_free, min(mac, NEVER), last_load, self._in_free, self._out_free)
            for unit, free in enumerate(units):
                if free > t:
                    t, why = free, unit
        if op in (_CONF, _END):
            idle = max(self._stream_read, default=-1) + 1 if self._stream_asked == self._stream_total else NEVER
            if idle > t:
                t, why = idle, _STREAM
        return min(t, NEVER), why

    def _count(self, traffic: dict[int, int], entity: int) -> None:
        traffic[entity] = traffic.get(entity, 0) + self._lines * self._config.line_bytes

    def _issue(self, step: Step, t: int, tag: int, after: Mac | None) -> None:
        """Issues an instruction in cycle t."""
        op, reads, writes, tables, x, entity, line = step
        if op == _MAC:
            polynomial = -1
            if x == _FROM_STREAM:
                polynomial = self._next_polynomial
                self._next_polynomial += 1
                self._stream_read.append(NEVER)
            self._macs.append(Mac(reads, writes[0], polynomial, t, tag))
            self._running[MAC] = tag
            self._work_out()
        elif op in (_NTT, _INTT, _AUTO):
            self._spn_reads, self._spn_writes, self._spn_own = reads, writes, op != _AUTO
            self._spn_tables = tables if op != _AUTO else reads
            self._spn_step = op, len(writes), tag
            self._running[SPN] = tag
            self._spn_free = self._spn_source = NEVER
            if after is None:
                self._start_spn(t)
                if op != _AUTO:
                    self._work_out()
            else:
                self._spn_after = after
                self._work_out()
        elif op == _STREAM_OP:
            self._count(self.read, entity)
            self._stream_total += 1
            self._stream_pushed.append((t, self._lines, line))
            self._stream_ask()
        elif op == _LOAD:
            self._count(self.read, entity)
            self._loads.append([NEVER, writes[0], t])
            self._running[LOAD] = tag
            self._reads.ask(LOAD_CLIENT, t + REQUEST, self._lines, line, self._pace, self._loaded, _nothing)
        elif op in (_STORE, _SEND):
            if op == _STORE:
                self._count(self.written, entity)
                self._stores_open += 1
                self._clear_from = NEVER
            self._out_free, self._out_a = NEVER, reads[0]
            self._started[OUT], self._running[OUT] = t, tag
            self._out_step = step
            if after is None:
                self._start_out(t)
            else:
                self._out_after = after
                self._work_out()
        elif op == _COPY:
            self._count(self.written, entity)
            self._copy(t)
        elif op == _RECV:
            self._in_free, self._in_dst = NEVER, writes[0]
            self._started[IN], self._running[IN] = t, tag
            self.bus.receive(self, t + REQUEST, x)
        elif op == _CONF:
            self._configure(x)

    def _start_spn(self, s: int) -> None:
        """The transform unit starts in cycle s."""
        op, transforms, _ = self._spn_step
        rows = self._rows
        if op == _AUTO:
            free = s + SPN_START + rows + AUTO_WRITE + 1
            self._spn_source = s + SPN_START + rows + 1
        else:
            # Two reads of a row by stages that follow each other are so far apart at least.
            apart = (rows - 1 if transforms > 1 else (rows - 1) // 2) + 2
            gap = max(0, DRAIN - apart)
            rows *= transforms
            first = s + SPN_START
            self._alu.transform(first, self._log_n, rows, gap)
            free = first + self._log_n * rows + (self._log_n - 1) * gap + DRAIN
            self._spn_source = first + rows + 1
        self._spn_free = free
        self.busy[SPN] += free - s

    def _start_out(self, s: int) -> None:
        """The outward mover starts in cycle s."""
        op, _, _, _, x, _, _ = self._out_step
        if op == _SEND:
            self.bus.send(self, s + REQUEST, x)
            return
        self._store_first = s + STORE_START
        self._writes.ask(0, s + REQUEST, self._lines, STORE_START - REQUEST + 2, self._pace, self._stored)

    # ---- copies -----------------------------------------------------------------------------------

    def _copy(self, t: int) -> None:
        self._copies += 1
        self._copies_open += 1
        self._copied_from = NEVER
        self._far.ask(0, t + 1, self._far_lines, 0, 1.0, self._copied, self._copy_taken)

    def _copy_taken(self, now: int) -> None:
        self._copy_popped.append(now)
        self.resume()

    def _copied(self, first: int, last: int) -> None:
        # Bursts of near lines, each when all of it has come.
        left = self._lines
        while left:
            count = min(self._config.burst_rows, left)
            left -= count
            there = last - (last - first) * left // self._lines
            self._copies_open += 1
            self._writes.ask(1, there + COPY_GATHER, count, 1, 1.0, self._copy_written)
        self._copies_open -= 1

    def _copy_written(self, _last: int, acknowledged: int) -> None:
        self._copies_open -= 1
        if self._copies_open == 0:
            self._copied_from = acknowledged
            self.resume()


def _nothing(_now: int) -> None:
    """Nobody asks when a LOAD's request is granted."""
