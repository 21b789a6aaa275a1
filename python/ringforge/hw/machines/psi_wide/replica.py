# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Replica of the streaming accelerator's timing: its own programs, without data.

>>> from ringforge.hw.machines.psi_wide.program import Program
>>> run(WideConfig.named("psi-wide"), 10, (2, 2), Program()).cycles
2

Every register of the control is followed, instruction by instruction: fetch, hazards, reserved places, both transforms,
lines that give way to others at the files' ports, bursts. Data do not change time. `replica_units` has what talks to
memory. Memory is of the kind `simple` and gives a beat a cycle; left out is that reads and writes wait for each other
where it moves less than two. Programs that the machine refuses are not for it: the interpreter says which.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ringforge.errors import IllegalInstructionError, ParameterError
from ringforge.hw.machines.psi_wide.config import PLAIN_BITS, PORT_BYTES, WideConfig
from ringforge.hw.machines.psi_wide.program import Beside, Instruction, Op, Program, Take
from ringforge.hw.machines.psi_wide.replica_units import (
    LOADS,
    MULTIPLY,
    PER_BEAT,
    RELEASE,
    STAGE,
    STORES,
    Events,
    Fetch,
    Intervals,
    Linear,
    Load,
    Move,
    ReadPort,
    Store,
)

#: From the start write to fetch's first request (rf_shell_control, psi_wide_fetch).
START: Final = 2
#: Instructions in flight (psi_wide_issue), places for lines of linear ones and for plain rows (psi_wide_core).
ENTRIES: Final = 12
LINEARS: Final = 2
ROWS: Final = 4
#: From an instruction's start to its first half line: walk, eight tokens, operands, factor (psi_wide_gather).
GATHER: Final = 1 + 8 + 1 + MULTIPLY
#: From a pass to the first line into the transform: memory, digits (psi_wide_passes).
DIGITS: Final = 2 + 3
#: From a line out of the transform to its row and slot, and from there to its result (psi_wide_mac).
OPERANDS: Final = 2
SUM: Final = 3 + MULTIPLY + 2
#: Slots are bits 0 ... 255 of a set of places, key rows those above.
_ROW: Final = 256


@dataclass(frozen=True)
class Report:
    """What a program takes.

    Attributes:
        cycles: from the start write to done.
        instructions: that were started.
        transforming: cycles in which a line, or a monomial in its place, goes to the multipliers.
        gathering: cycles in which the gather unit is at work.
        read_bytes, written_bytes: that crossed the port, the program's too.
        events: that the replica handled.
    """

    cycles: int
    instructions: int
    transforming: int
    gathering: int
    read_bytes: int
    written_bytes: int
    events: int


@dataclass
class _Job:
    """A product or a sum: when it is at hand, and the digits of its parts."""

    id: int
    seen: int
    plain: bool
    digits: tuple[int, ...]
    has_init: bool
    beside: bool
    to_row: bool
    part: int = 0


@dataclass(frozen=True)
class _Claim:
    """Places that an instruction writes and reads, as bits."""

    all: bool
    writes: int
    reads: int
    store: bool

    def meets(self, other: _Claim) -> bool:
        """Whether both must not be in flight together."""
        return bool(self.all or other.all or self.writes & (other.writes | other.reads) or self.reads & other.writes)


def check(config: WideConfig, log_n: int) -> None:
    """Whether the replica times a machine at a degree.

    Raises:
        ParameterError: the machine lacks the degree, or has another kind of memory, or a slower one.
    """
    if not config.min_log_n <= log_n <= config.max_log_n:
        raise ParameterError(f"{config.name} takes degrees 2^{config.min_log_n} to 2^{config.max_log_n}, not 2^{log_n}")
    if config.memory != "simple" or config.dram_bytes_per_cycle < PORT_BYTES:
        raise ParameterError(
            f"the replica of {config.name} has simple memory of {PORT_BYTES} bytes a cycle at least: take device "
            f"rtl:{config.name}"
        )


def run(config: WideConfig, log_n: int, digits: Sequence[int], program: Program) -> Report:
    """Times a program.

    Args:
        log_n: of the degree.
        digits: of the entries of the table of gadgets.

    Raises:
        ParameterError: as `check`.
        IllegalInstructionError: an instruction has a count of 0, or names a gadget without digits.
    """
    check(config, log_n)
    return _Machine(config, log_n, digits, program.instructions).run()


def size(config: WideConfig, log_n: int, i: Instruction) -> tuple[int, int]:
    """Units that an instruction moves from or to memory, and beats of each."""
    if i.op == Op.TABLE:
        return 1, (config.word_bytes << log_n) // PORT_BYTES
    if i.op in (Op.PLAIN, Op.CELLS):
        return i.s1 if i.op == Op.PLAIN else 1, (PLAIN_BITS // 8 << log_n) // PORT_BYTES
    return i.s1 if i.op in (Op.LOAD, Op.STORE) else 0, config.rlwe_bytes(log_n) // PORT_BYTES


class _Machine:
    def __init__(
        self, config: WideConfig, log_n: int, digits: Sequence[int], instructions: Sequence[Instruction]
    ) -> None:
        self.config, self.digits, self.instructions = config, digits, instructions
        self.log_n, self.lines = log_n, config.lines(log_n)
        self.line_beats = 2 * config.lanes * config.word_bytes // PORT_BYTES
        self.row_lines = 8 * PORT_BYTES // (PLAIN_BITS * config.lanes)
        self.words = PORT_BYTES // config.word_bytes
        self.latency = config.dram_latency
        self.events = events = Events()
        self.ended = START
        # Issue: the instruction at hand, what stands against it, since when nothing does; entries.
        self.pc = 0
        self.held: Instruction | None = None
        self.claim = _Claim(False, 0, 0, False)
        self.blockers: set[int] = set()
        self.clear: int | None = None
        self.expects = False  # an instruction, which does not come yet
        self.tried = -1
        self.flying: dict[int, _Claim] = {}
        self.polys = self.besides = config.polys
        self.linears = LINEARS
        self.gather_free = 0
        self.gathering = 0
        # Passes.
        self.jobs: deque[_Job] = deque()
        self.queued = 0
        self.whole = [0, 0]  # polynomials, plain rows
        self.next_free = 0
        self.part_end = -1
        self.transforming = 0
        # Ports of the files: results to slots and to key rows, slots read for sums.
        self.results = Intervals(), Intervals()
        self.slot_reads = Intervals()
        depth = LINEARS * self.config.lines(config.max_log_n)
        self.linear = Linear(events, self.lines, 3 if depth >= 128 else 1, self.results, self.linear_done)
        self.port = ReadPort(events, self.latency)
        self.fetch = Fetch(self.port, len(instructions), self.came)
        self.load = Load(
            events, self.port, most=config.load_beats, line_beats=self.line_beats, row_lines=self.row_lines,
            words=self.words, lines=self.lines, rows=ROWS, busy=self.results, linear=self.linear, done=self.finish,
            row=self.row_came, room=self.attempt,
        )  # fmt: skip
        self.port.clients = self.fetch, self.load
        self.store = Store(
            events, most=config.store_beats, line_beats=self.line_beats, lines=self.lines, latency=self.latency,
            busy=self.slot_reads, done=self.finish_now, room=self.attempt,
        )  # fmt: skip

    def run(self) -> Report:
        if self.instructions:
            self.port.poke(START)
            self.expects = True
            self.events.run()
        moved = PORT_BYTES * self.port.beats, PORT_BYTES * self.store.beats
        cycles = max(self.ended, self.load.idle_from)
        return Report(cycles, self.pc, self.transforming, self.gathering, *moved, self.events.handled)

    # ---- instructions come ----

    def came(self, time: int) -> None:
        """Beats of the program can be taken from a cycle on."""
        if self.expects:
            self.events.at(time, self.accept)

    def accept(self, time: int) -> None:
        """Takes the next instruction, if it is there."""
        if self.held is not None or self.pc == len(self.instructions):
            return
        seen = self.fetch.seen()
        self.expects = seen is None
        if seen is None:
            return
        if seen > time:
            self.events.at(seen, self.accept)
            return
        self.held = self.instructions[self.pc]
        self.pc += 1
        if self.pc % PER_BEAT == 0 or self.pc == len(self.instructions):
            self.fetch.pop(time)
        self.claim, self.clear = self.claims(self.held), None
        self.events.at(time + 1, self.look)

    def claims(self, i: Instruction) -> _Claim:
        """What an instruction touches."""

        def places(first: int, count: int, row: bool) -> int:
            return ((1 << count) - 1) << first + (_ROW if row else 0)

        gathers, sums = i.op in (Op.PRODUCT, Op.LINEAR), i.op in (Op.PLAIN, Op.CELLS)
        if (sums or i.op in (Op.LOAD, Op.STORE)) and i.s1 == 0:
            raise IllegalInstructionError(
                f"instruction {self.pc - 1}, {i.op.name}: a count of 0, which no machine takes"
            )
        writes = reads = 0
        if gathers or sums or i.op == Op.LOAD:
            writes = places(i.target, i.s1 if i.op == Op.LOAD else 1, i.to_row)
        if i.op == Op.PRODUCT:
            reads = places(i.row, sum(self.cuts(i)), True)
        elif sums:
            reads = places(i.row, i.s1 if i.op == Op.PLAIN else i.s2, True)
        elif i.op == Op.STORE:
            reads = places(i.target, i.s1, False)
        if gathers:
            reads |= places(i.s1, 1, False) | (places(i.s2, 1, False) if i.take != Take.ONE else 0)
        if i.has_init and i.op in (Op.PRODUCT, Op.PLAIN, Op.CELLS):
            reads |= places(i.init, 1, False)
        return _Claim(i.op == Op.TABLE, writes, reads, i.op == Op.STORE)

    def cuts(self, i: Instruction) -> tuple[int, ...]:
        """Digits of a product's polynomials."""
        chosen = (i.gadget_a, i.gadget_b) if i.both else (i.gadget_a,)
        if max(chosen) >= len(self.digits) or not all(self.digits[g] for g in chosen):
            raise IllegalInstructionError(
                f"instruction {self.pc - 1}, a product, names gadget {max(chosen)} of {len(self.digits)}, or one "
                "without digits"
            )
        return tuple(self.digits[g] for g in chosen)

    # ---- hazards and room ----

    def look(self, time: int) -> None:
        """What in flight stands against the instruction at hand."""
        assert self.held is not None
        fence = self.held.fence
        self.blockers = {
            id_ for id_, claim in self.flying.items() if claim.meets(self.claim) or (fence and claim.store)
        }
        if not self.blockers:
            self.clear = time + 1
            self.events.at(time + 1, self.attempt)

    def finish(self, time: int, id_: int) -> None:
        """An instruction has no entry from a cycle on."""
        self.events.at(time, lambda now: self.finish_now(now, id_), RELEASE)

    def finish_now(self, time: int, id_: int) -> None:
        """As `finish`, in this cycle."""
        del self.flying[id_]
        self.ended = max(self.ended, time)
        if id_ in self.blockers:
            self.blockers.remove(id_)
            if not self.blockers:
                self.clear = time + 1
                self.events.at(time + 1, self.attempt)
        self.attempt(time)

    def attempt(self, time: int) -> None:
        """Looks, when all of this cycle is known, whether the instruction at hand starts."""
        if self.held is not None and self.clear is not None and self.clear <= time != self.tried:
            self.tried = time
            self.events.at(time, self.start)

    def start(self, time: int) -> None:
        """Starts the instruction at hand, if there is room for all of it."""
        i = self.held
        assert i is not None
        if len(self.flying) == ENTRIES:
            return
        need = 2 if i.both else 1
        beside = i.beside != Beside.NONE
        if i.op == Op.PRODUCT:
            ready = self.queued < self.config.polys and self.polys >= need and not (beside and not self.besides)
        elif i.op == Op.LINEAR:
            ready = self.linears > 0
        elif i.op == Op.STORE:
            ready = self.store.waiting < STORES
        else:
            ready = self.load.waiting < LOADS
            if i.op in (Op.PLAIN, Op.CELLS):
                ready = ready and self.queued < self.config.polys
        if not ready:
            return
        gathers = i.op in (Op.PRODUCT, Op.LINEAR)
        if gathers and self.gather_free > time:
            self.events.at(self.gather_free, self.attempt)
            return
        id_ = self.pc
        self.flying[id_] = self.claim
        self.held, self.clear = None, None
        if gathers:
            self.gather(i, id_, time)
        elif i.op in (Op.PLAIN, Op.CELLS):
            cuts = (i.s1,) if i.op == Op.CELLS else (1,) * i.s1
            self.push(_Job(id_, time + 1, True, cuts, i.has_init, False, i.to_row))
            self.load.push(self.move(i, id_, time))
        elif i.op == Op.STORE:
            self.store.push(self.move(i, id_, time))
        else:
            self.load.push(self.move(i, id_, time))
        self.ended = max(self.ended, time + 1)
        self.accept(time)

    def move(self, i: Instruction, id_: int, time: int) -> Move:
        """The transfer of an instruction that starts."""
        plain, table = i.op in (Op.PLAIN, Op.CELLS), i.op == Op.TABLE
        units, beats = size(self.config, self.log_n, i)
        return Move(id_, plain, table, i.to_row, units, beats, i.beat, time + 1)

    def linear_done(self, time: int, id_: int) -> None:
        def done(now: int) -> None:
            self.linears += 1
            self.finish_now(now, id_)

        self.events.at(time, done, RELEASE)

    # ---- gather, inverse transform ----

    def gather(self, i: Instruction, id_: int, time: int) -> None:
        half = 2 * self.lines  # cycles of a polynomial in half lines
        product = i.op == Op.PRODUCT
        passes = 2 if product and i.both else 1
        self.gather_free = time + passes * half
        self.gathering += passes * half
        if not product:
            self.linears -= 1
            # A line is whole with its second half.
            self.linear.push(time + GATHER + 1, id_, i.to_row)
            return
        self.polys -= passes
        beside = i.beside != Beside.NONE
        self.besides -= beside
        self.push(_Job(id_, time + 1, False, self.cuts(i), i.has_init, beside, i.to_row))
        for number in range(passes):
            out = time + GATHER + number * half + STAGE * self.log_n + half - 1
            self.events.at(out + half, self.poly_came, RELEASE)

    def poly_came(self, time: int) -> None:
        self.whole[0] += 1
        self.events.at(time, self.take)

    def row_came(self, time: int) -> None:
        def came(now: int) -> None:
            self.whole[1] += 1
            self.take(now)

        self.events.at(time, came)

    # ---- passes, forward transform, multipliers ----

    def push(self, job: _Job) -> None:
        self.jobs.append(job)
        self.queued += 1
        self.events.at(job.seen, self.take)

    def take(self, time: int) -> None:
        """Takes the next polynomial or row, when it is there and the one before has begun."""
        if not self.jobs or self.jobs[0].seen > time or not self.whole[self.jobs[0].plain]:
            return
        if time < self.next_free:
            self.events.at(self.next_free, self.take)
            return
        job, lines, events = self.jobs[0], self.lines, self.events
        self.whole[job.plain] -= 1
        first, digits = job.part == 0, job.digits[job.part]
        job.part += 1
        last = job.part == len(job.digits)
        begin = max(time + 1, self.part_end)
        size = digits * lines
        self.part_end = begin + size
        self.next_free = begin + 1
        self.transforming += size
        events.at(self.part_end + 1, self.row_freed if job.plain else self.poly_freed, RELEASE)
        # Out of the transform, and its operands.
        read = begin + 1 + DIGITS + STAGE * self.log_n + lines - 1 + OPERANDS
        if first:
            if job.has_init:
                self.slot_reads.add(read, lines)
            if job.beside:
                events.at(read + lines, self.beside_freed, RELEASE)
        if last:
            self.jobs.popleft()
            events.at(time + 1, self.job_taken, RELEASE)
            out = read + size - lines + SUM
            self.results[job.to_row].add(out, lines)
            self.finish(out + lines, job.id)
        events.at(self.next_free, self.take)

    def job_taken(self, time: int) -> None:
        self.queued -= 1
        self.attempt(time)

    def poly_freed(self, time: int) -> None:
        self.polys += 1
        self.attempt(time)

    def beside_freed(self, time: int) -> None:
        self.besides += 1
        self.attempt(time)

    def row_freed(self, time: int) -> None:
        self.load.row_freed(time)
