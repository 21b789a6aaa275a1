# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""One processing element in the timing model: fetch, in-order issue, units, and the clients of its DRAM port.

The element runs ahead of the events: whatever follows from times that are known is computed at once, and it stops at
the first instruction that waits for something unknown (a fetch, a load, a partner). The scoreboard of
matvec_sequencer.sv becomes, per unit, the cycle from which the sequencer sees it idle, and the slots it holds till
then.

Constants are cycles from the issue of an instruction, counted in the sources: the instruction register is valid in
cycle t and issues, the unit is told in t + 1, and its first row is read in t + 2.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ringforge.errors import IllegalInstructionError
from ringforge.hw.config import INSTRUCTION_BYTES, MachineConfig
from ringforge.hw.isa import BFrom, Opcode, Scope
from ringforge.hw.model_memory import ARRIVE, NEVER, ReadClient, WriteClient

if TYPE_CHECKING:
    from ringforge.hw.model_exchange import Barrier, Bus, Reduction

#: From the last row read by a MAC to the unit seen idle: bank and MAC latency (2 + 14), done, scoreboard.
MAC_DRAIN: Final = 18
#: From issue to the cycle before the first row is read.
START: Final = 1
#: NTT: rows of all stages, then so many cycles to idle; AUTO likewise.
NTT_DRAIN: Final = 29
AUTO_DRAIN: Final = 10
#: Wait after each stage but the last one of a transform with fewer than 4 times as many rows.
STAGE_DRAIN: Final = 27
#: From issue, with the rows of one stage, to the release of the source.
SOURCE_DRAIN: Final = 3
#: From the transfer of a LOAD's last beat to the unit seen idle.
LOAD_DRAIN: Final = 4
#: From the transfer of a beat to its row at the stream buffer's output: response register and the memory's stages.
STREAM_DRAIN: Final = 4
#: From the transfer of a beat to its instructions at the fetch buffer's output.
FETCH_DRAIN: Final = 2
#: From issue to the first beat of a STORE at the memory.
STORE_START: Final = 6
#: Beats of an instruction fetch, and how many such bursts the buffer holds.
FETCH_BEATS: Final = 4
FETCH_BURSTS: Final = 4
#: First cycle in which elements ask for instructions, after the start write.
FIRST_FETCH: Final = 2
#: STREAMs that wait, next to the one that is read.
STREAM_QUEUE: Final = 8

UNITS: Final = ("spn", "mac", "in", "out")
SPN, MAC, IN, OUT = range(4)
#: What an instruction may wait for, beyond the units.
WAITS: Final = (*UNITS, "fetch", "stream", "stores", "partners")
_FETCH, _STREAM, _STORES, _PARTNERS = range(4, 8)

_CONF, _MODULUS, _SYNC, _END = int(Opcode.CONF), int(Opcode.MODULUS), int(Opcode.SYNC), int(Opcode.END)
_STREAM_OP, _LOAD, _STORE = int(Opcode.STREAM), int(Opcode.LOAD), int(Opcode.STORE)
_SEND, _RECV, _REDUCE = int(Opcode.SEND), int(Opcode.RECV), int(Opcode.REDUCE)
_NTT, _INTT, _AUTO, _MAC = int(Opcode.NTT), int(Opcode.INTT), int(Opcode.AUTO), int(Opcode.MAC)
_ELEMENT, _GROUP = int(Scope.ELEMENT), int(Scope.GROUP)
_FROM_STREAM = int(BFrom.STREAM)
_ROW_BITS = 13

#: A decoded instruction: operation, slots read, slot written or -1, argument (see `Element.advance`), detail.
Step = tuple[int, tuple[int, ...], int, int, int]


class Fetch(ReadClient):
    """Instruction fetch (matvec_fetch)."""

    __slots__ = ("_asked", "_element", "_popped", "arrivals", "idle_from", "limit", "stop_at")

    def __init__(self, element: Element) -> None:
        super().__init__()
        self._element = element
        self.beats = FETCH_BEATS
        self.pieces = True
        #: Cycle in which each beat is at the buffer's output.
        self.arrivals: list[int] = []
        self._asked = 0  # bursts
        self._popped = [0] * FETCH_BURSTS  # cycles from which burst k may be asked for
        self.idle_from = 0
        self.stop_at = NEVER

    def popped(self, time: int) -> None:
        """The buffer has given the last beat of a burst."""
        self._popped.append(time + 1)
        if self.valid_from == NEVER and self.stop_at == NEVER and self._asked == len(self._popped) - 1:
            self.ask(time + 1)

    def stop(self, now: int, _: int) -> None:
        """No more requests."""
        self.valid_from = NEVER
        self.stop_at = now

    def granted(self, now: int) -> None:
        self._asked += 1
        self.valid_from = max(now + 1, self._popped[self._asked]) if self._asked < len(self._popped) else NEVER
        self._element.fetched += 1

    def arrived(self, now: int) -> None:
        self.arrivals.append(now + FETCH_DRAIN)
        self.idle_from = now + 2
        self._element.resume()


class Load(ReadClient):
    """LOAD's side of the inward mover (matvec_in)."""

    __slots__ = ("_ask", "_element", "_wait")

    def __init__(self, element: Element) -> None:
        super().__init__()
        self._element = element
        self._ask = self._wait = 0

    def begin(self, time: int, bursts: int, beats: int) -> None:
        """Starts a LOAD whose requests are visible from a cycle on."""
        self._ask = self._wait = bursts
        self.beats = beats
        self.ask(time)

    def granted(self, now: int) -> None:
        self._ask -= 1
        self.valid_from = now + 1 if self._ask else NEVER

    def arrived(self, now: int) -> None:
        self._wait -= 1
        if self._wait == 0:
            self._element.release(IN, now + LOAD_DRAIN)


class Stream(ReadClient):
    """Stream of multipliers (matvec_stream) and the MAC that consumes it."""

    __slots__ = (
        "_asked", "_capacity", "_element", "_free", "_from", "_last", "_left", "_pushed", "_ready", "_released", "_rows",
        "_want", "idle_from", "popped", "pushed",
    )  # fmt: skip

    def __init__(self, element: Element, rows: int) -> None:
        super().__init__()
        self._element = element
        self._rows = rows
        self._capacity = 0  # bursts that the buffer holds
        self._asked = 0
        self._left = 0  # bursts of the polynomial that is read now still to be asked for
        self._free = 0  # cycle from which the next polynomial may leave the queue
        self._from = 0  # cycle from which the next burst would be asked for if the buffer had room
        self._pushed: deque[tuple[int, int, int]] = deque()  # cycle in the queue, bursts, beats
        #: Polynomials that came to the queue, and the cycles in which they left it.
        self.pushed = 0
        self.popped: list[int] = []
        self._released: list[int] = []  # cycle from which the room of burst k is free again
        self._ready: deque[tuple[int, int]] = deque()  # arrived bursts: cycle of the last row at the output, beats
        self._want = 0  # bursts that the running MAC waits for
        self._last = 0  # cycle of the last row it has read
        #: Cycle from which nothing is queued, on its way or in the buffer; NEVER while a MAC is to come.
        self.idle_from = 0

    def push(self, time: int, bursts: int, beats: int) -> None:
        """A STREAM, issued in cycle `time`."""
        self.idle_from = NEVER
        self.pushed += 1
        self._pushed.append((time + 1, bursts, beats))
        if self._left == 0:
            self._next()

    def _next(self) -> None:
        """Takes the next polynomial from the queue."""
        time, self._left, self.beats = self._pushed.popleft()
        time = max(time, self._free)
        self.popped.append(time)
        self._capacity = self._rows // self.beats
        self._from = time + 1
        self._request()

    def _request(self) -> None:
        """Asks for a burst as soon as the buffer has room."""
        credit = self._asked - self._capacity
        if credit < 0:
            self.ask(self._from)
        elif credit < len(self._released):
            self.ask(max(self._from, self._released[credit]))

    def granted(self, now: int) -> None:
        self._asked += 1
        self._left -= 1
        self._from = now + 1
        self.valid_from = NEVER
        if self._left:
            self._request()
            return
        self._free = now + 1
        if self._pushed:
            self._next()
            self._element.resume()

    def arrived(self, now: int) -> None:
        self._ready.append((now + STREAM_DRAIN, self.beats))
        if self._want:
            done = self._consume()
            if done < NEVER:
                self._element.release(MAC, done)

    def begin(self, start: int, bursts: int) -> int:
        """A MAC that reads its first row after cycle `start`; when its unit is idle again, or NEVER."""
        self._want = bursts
        self._last = start
        return self._consume()

    def _consume(self) -> int:
        ready, released = self._ready, self._released
        last = self._last
        while self._want and ready:
            visible, beats = ready.popleft()
            last = max(last + beats, visible)
            released.append(last + 1)
            self._want -= 1
        self._last = last
        if self._left and self.valid_from == NEVER:
            self._request()
        if self._want:
            return NEVER
        if not self._left and not self._pushed and len(released) == self._asked:
            self.idle_from = last + 1
        return last + MAC_DRAIN


class Store(WriteClient):
    """STORE's side of the outward mover (matvec_out)."""

    __slots__ = ("_element", "clear_from")

    def __init__(self, element: Element) -> None:
        super().__init__()
        self._element = element
        #: Cycle from which every store is acknowledged; NEVER while one moves.
        self.clear_from = 0

    def written(self, now: int, acknowledged: int) -> None:
        self.clear_from = acknowledged
        self._element.release(OUT, now + 2)


class Element:
    """A processing element with its program.

    Args:
        number: group * pes + index in the group.
        config: the machine.
        steps: the program, decoded.
        tags: of each instruction, an index into the primitives' names.
        primitives: how many primitives there are.
    """

    def __init__(
        self, number: int, config: MachineConfig, steps: Sequence[Step], tags: Sequence[int], primitives: int
    ) -> None:
        self.number = number
        self.group, self.pe = divmod(number, config.pes)
        self.fetch = Fetch(self)
        self.load = Load(self)
        self.stream = Stream(self, config.stream_rows)
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
        #: Cycles from each instruction's issue to the next one's, by primitive.
        self.spent = [0] * primitives
        #: Bursts of instructions, and bytes by entity.
        self.fetched = 0
        self.read: dict[int, int] = {}
        self.written: dict[int, int] = {}
        self._config = config
        self._steps = steps
        self._tags = tags
        self._per_beat = config.row_bytes // INSTRUCTION_BYTES
        self._per_burst = FETCH_BEATS * self._per_beat
        self._next_pop = self._per_burst - 1
        self._last = 0  # issue of the previous instruction
        self._configure(config.min_log_n)
        # Scoreboard: cycle from which a unit is idle, and what it holds until then.
        self._spn_free = self._spn_source = self._mac_free = self._in_free = self._out_free = 0
        self._spn_a = self._spn_dst = self._spn_tw = self._mac_dst = self._in_dst = self._out_a = -1
        self._spn_own = False  # a transform, which reads its destination's bank too
        self._mac_reads: tuple[int, ...] = ()
        self._started = [0] * len(UNITS)

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
        self.busy[unit] += time - self._started[unit]

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
        self.waits[_PARTNERS] += now - self._last - 1
        self._advance_clock(now)
        self.resume()

    def _advance_clock(self, time: int) -> None:
        if self.pc:
            self.spent[self._tags[self.pc - 1]] += time - self._last
        else:
            self.spent[self._tags[0]] += time
        self._last = time
        self.pc += 1

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
            op, reads, dst, x, _ = step = steps[pc]
            t, why = self._earliest(op, reads, dst, x, taken + 1)
            if t >= NEVER:
                return
            if op == _SYNC and x != _ELEMENT:
                barrier = self.barriers[x]
                assert barrier is not None
                self.waiting = True
                waits[why] += t - taken - 1
                waits[_FETCH] += taken - last
                self._last = t - 1
                self.spent[self._tags[pc - 1]] += t - 1 - last
                barrier.arrive(self, t)
                return
            waits[_FETCH] += taken - last
            waits[why] += t - taken - 1
            self._advance_clock(t)
            if op == _END:
                self.ended_at = t
                self.fetch.port.events.at(t + 1, ARRIVE, self.fetch.stop)
                return
            self._start(op, step, t)

    def _earliest(self, op: int, reads: tuple[int, ...], dst: int, x: int, t: int) -> tuple[int, int]:
        """First cycle from t on in which an instruction may issue, and what it waited for last."""
        why = _FETCH
        spn, source, mac = self._spn_free, self._spn_source, self._mac_free
        into, out = self._in_free, self._out_free
        # The unit itself.
        if op >= _NTT:
            if op == _MAC:
                if mac > t:
                    t, why = mac, MAC
            elif spn > t:
                t, why = spn, SPN
        elif op >= _LOAD:
            if (op == _LOAD or op == _RECV or op == _REDUCE) and into > t:
                t, why = into, IN
            if (op == _STORE or op == _SEND or op == _REDUCE) and out > t:
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
        transform = op == _NTT or op == _INTT
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
        if op == _SYNC or op == _END:
            if self._out_free > t:
                t, why = self._out_free, OUT
            if self.store.clear_from > t:
                t, why = self.store.clear_from, _STORES
        if op != _SYNC:
            for unit, free in enumerate((self._spn_free, self._mac_free, self._in_free, self._out_free)):
                if free > t:
                    t, why = free, unit
        if (op == _CONF or op == _END) and self.stream.idle_from > t:
            t, why = self.stream.idle_from, _STREAM
        return t, why

    def _start(self, op: int, step: Step, t: int) -> None:
        """Issues an instruction in cycle t."""
        _, reads, dst, x, entity = step
        rows = self._rows
        if op == _MAC:
            self._mac_dst, self._mac_reads = dst, reads
            self._started[MAC] = t
            if x == _FROM_STREAM:
                free = self.stream.begin(t + START, self._bursts)
            else:
                free = t + START + rows + MAC_DRAIN
            self._mac_free = free
            if free < NEVER:
                self.busy[MAC] += free - t
        elif op == _NTT or op == _INTT or op == _AUTO:
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
            self.busy[SPN] += free - t
        elif op == _STREAM_OP:
            self.count(False, entity)
            self.stream.push(t, self._bursts, self._beats)
        elif op == _LOAD:
            self.count(False, entity)
            self._in_free, self._in_dst = NEVER, dst
            self._started[IN] = t
            self.load.begin(t + START + 1, self._bursts, self._beats)
        elif op == _STORE:
            self.count(True, entity)
            self._out_free, self._out_a = NEVER, reads[0]
            self._started[OUT] = t
            self.store.clear_from = NEVER
            self.store.ask(t + START + 1, self._bursts, self._beats, t + STORE_START)
        elif op == _SEND:
            self._out_free, self._out_a = NEVER, reads[0]
            self._started[OUT] = t
            self.bus.send(self, t + START + 1, x)
        elif op == _RECV:
            self._in_free, self._in_dst = NEVER, dst
            self._started[IN] = t
            self.bus.receive(self, t + START + 1, x)
        elif op == _REDUCE:
            self._in_free = self._out_free = NEVER
            self._in_dst, self._out_a = dst, reads[0]
            self._started[IN] = self._started[OUT] = t
            self.reduction.ask(self, t + START + 1)
        elif op == _CONF:
            self._configure(x)
