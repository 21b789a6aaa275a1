# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Replica of the published pipeline's timing: the machine's own queue programs, without data.

>>> run(chains_job(config, settings, accumulators, numbers, keys)).cycles  # doctest: +SKIP

`replica_units` has inverse transforms, source buffers, stages, keys and sums; here are the queue, the reorder buffer,
FIFOs of RLWEs, and the port that brings and takes them. Left out: data, what the host does in a polled run, and that
ports wait for each other, where memory moves less than all of them ask for: the replica is then short by what
others move while the first keys come. Memory is of the kind `simple`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from ringforge.errors import IllegalInstructionError, ParameterError
from ringforge.hw.machines.psi.config import KEY_BURST, PORT_BYTES, PsiConfig
from ringforge.hw.machines.psi.job import Job
from ringforge.hw.machines.psi.program import Code, Command, Instruction, Op
from ringforge.hw.machines.psi.replica_units import (
    BANK,
    DIGIT,
    OUT,
    STAGE,
    Events,
    Keys,
    Operation,
    Source,
    Stage,
    Sums,
)
from ringforge.hw.machines.psi.settings import Settings, addresses

#: Commands in a beat of the queue; addresses of a kind that wait (psi_move); words of the table in a beat.
COMMANDS: Final = 8
WAITING: Final = 8
#: From the start of a run to the queue's first request, from a request's grant to the port, from there to a unit.
START: Final = 1
ASK: Final = 1
GIVE: Final = 2
#: From a setting to the next command.
SETTLE: Final = 4
#: From the last acknowledgement, or the last result, to the end of the run.
END: Final = 1


@dataclass(frozen=True)
class Registers:
    """Those that time depends on.

    Attributes:
        log_n: of the degree.
        bootstrap: results of products go to the loop FIFO, but for the last one.
        digits_a, digits_b, digits_s: of polynomials a and b of a product, and of a of a substitution.
    """

    log_n: int
    bootstrap: bool
    digits_a: int
    digits_b: int
    digits_s: int

    @classmethod
    def of(cls, settings: Settings) -> Registers:
        """Of a run's settings."""
        return cls(settings.log_n, settings.bootstrap, settings.a.count, settings.b.count, settings.s.count)

    def changed(self, register: int, value: int) -> Registers:
        """After a write of one."""
        names = addresses()
        if register == names["MODE"]:
            return replace(self, bootstrap=bool(value & 1))
        if register == names["LOG_N"]:
            return replace(self, log_n=value)
        count = value >> 8 & 15
        if register == names["GADGET_A"]:
            return replace(self, digits_a=count)
        if register == names["GADGET_B"]:
            return replace(self, digits_b=count)
        if register == names["GADGET_S"]:
            return replace(self, digits_s=count)
        return self


@dataclass(frozen=True)
class Report:
    """What a queue program takes.

    Attributes:
        cycles: from start to end.
        operations: instructions.
        polynomials: that the forward transform took.
        key_waits: cycles in which a digit was there and its row of the key was not.
        key_bytes, read_bytes, written_bytes: that the ports moved: keys; queue, tables and RLWEs; results.
        events: that the replica handled.
    """

    cycles: int
    operations: int
    polynomials: int
    key_waits: int
    key_bytes: int
    read_bytes: int
    written_bytes: int
    events: int


def run(job: Job) -> Report:
    """Times a run that works off its queue.

    Raises:
        ParameterError: the machine lacks the degree, or has another kind of memory.
        IllegalInstructionError: no End, or commands that wait for each other for ever.
    """
    return run_queue(job.config, job.commands, Registers.of(job.settings))


def run_queue(config: PsiConfig, commands: Sequence[Command], registers: Registers) -> Report:
    """Times commands of a queue on a machine with these registers. Raises as `run`."""
    if config.memory != "simple":
        raise ParameterError(f"the replica of {config.name} has simple memory, not {config.memory}")
    if not any(c.code is Code.END for c in commands):
        raise IllegalInstructionError("a queue ends with END")
    return _Machine(config, commands, registers).run()


class _Machine:
    def __init__(self, config: PsiConfig, commands: Sequence[Command], registers: Registers) -> None:
        self.config, self.commands = config, commands
        self.last = next(i for i, c in enumerate(commands) if c.code is Code.END)
        self.events = Events()
        self.read_bytes = self.written_bytes = self.key_bytes = 0
        self.operations = self.polynomials = self.waited = 0
        self.ended = -1
        # The queue: the next command, when it may be given, beats that have come, and one that is asked for.
        self.pc, self.ready = 0, 0
        self.beats, self.asking = 0, False
        # The port of RLWEs.
        self.read_grant = self.read_free = 0
        self.inputs_waiting = self.outputs_waiting = 0
        self.unwritten = 0
        self.stepping = False
        self.build(registers)

    def build(self, registers: Registers) -> None:
        """Units for a degree, all of them idle."""
        config, events = self.config, self.events
        config.check_log_n(registers.log_n)
        self.registers = registers
        log_n = registers.log_n
        self.quarter = (1 << log_n) // 4
        self.burst = min(KEY_BURST, self.quarter)
        self.source = Source(events, self.quarter)
        before: Source | Stage = self.source
        self.stages: list[Stage] = []
        for s in reversed(range(log_n)):
            # The two leading stages of the largest degree read through the digits' registers.
            held = BANK + DIGIT if s >= config.max_log_n - 2 else BANK
            before = Stage(events, before, self.quarter, config.drain, held - BANK + STAGE)
            self.stages.append(before)
        self.keys = Keys(events, config, log_n, config.reorder)
        self.sums = Sums(events, self.stages[-1], self.keys, self.quarter, self.finished)
        self.source.freed = self.send
        self.keys.freed = self.step
        # The reorder buffer.
        self.taken: deque[Operation] = deque()  # not loaded
        self.loaded: deque[tuple[Operation, int]] = deque()  # not sent; when their inverse transforms are done
        self.flight = 0
        self.issue_free = self.send_free = 0
        self.idle_units, self.loading = config.intts, 0
        self.loop_held = 0
        # FIFOs, in RLWEs and in beats.
        more = config.max_log_n - log_n
        self.input_whole, self.loop_whole = 0, 0
        self.input_room = (config.input_slots << more) * self.quarter
        self.input_left = 0
        self.output_room = (config.output_slots << more) * self.quarter
        self.output_beats, self.output_left, self.sending = 0, 0, False
        self.pushing = 0  # bursts of the sum that is given which the output FIFO has no room for yet
        self.results: deque[tuple[Operation, int]] = deque()
        self.giving, self.give_free = False, 0
        self.reading = 0

    def run(self) -> Report:
        self.events.once(START, self.fetch)
        self.events.run()
        if self.ended < 0:
            raise IllegalInstructionError(f"command {self.pc} waits for what only later ones would do: reorder them")
        self.collect()
        return Report(
            self.ended, self.operations, self.polynomials, self.waited, self.key_bytes, self.read_bytes,
            self.written_bytes, self.events.handled,
        )  # fmt: skip

    def collect(self) -> None:
        """Takes the counts of units that are built anew."""
        self.polynomials += self.stages[0].started
        self.waited += self.sums.waited
        self.key_bytes += self.keys.read_bytes

    # ---- the queue ----

    def read(self, beats: int, after: int = 0) -> int:
        """Asks the port for a burst; gives the cycle in which its last beat has come."""
        grant = max(self.events.now, self.read_grant, after)
        self.read_grant = grant + 1
        first = max(grant + ASK + self.config.dram_latency, self.read_free)
        self.read_free = first + beats
        self.read_bytes += beats * PORT_BYTES
        return first + beats - 1 + GIVE

    def fetch(self) -> None:
        """Asks for the next beat of commands when there is room for it."""
        if self.asking or self.beats == 2:
            return
        at = self.pc // COMMANDS + self.beats
        if at * COMMANDS > self.last:
            return
        self.asking = True

        def came() -> None:
            self.asking = False
            self.beats += 1
            self.fetch()
            self.step()

        self.events.at(self.read(1), came)

    def step(self) -> None:
        """Gives commands to units, as many as they take."""
        if self.stepping or self.ended >= 0:
            return
        self.stepping = True
        while self.beats and self.ended < 0:
            now = self.events.now
            if now < self.ready:
                self.events.once(self.ready, self.step)
                break
            taken = self.give(self.commands[self.pc])
            if taken == 0:
                break
            self.pc += 1
            self.ready = now + taken
            if self.pc % COMMANDS == 0:
                self.beats -= 1
                self.events.once(now + 1, self.fetch)
        self.stepping = False

    def give(self, command: Command) -> int:
        """Gives a command to its unit; the cycles until the next one can be, 0 if it has to wait."""
        match command.code:
            case Code.EXEC:
                return self.take(Instruction.of(command.value))
            case Code.INPUT:
                if self.inputs_waiting == WAITING:
                    return 0
                self.inputs_waiting += 1
                self.reading += 1
                self.events.once(self.events.now + 1, self.fill)
            case Code.OUTPUT:
                if self.outputs_waiting == WAITING:
                    return 0
                self.outputs_waiting += 1
                self.unwritten += 1
                self.events.once(self.events.now + 1, self.drain)
            case Code.TABLES:
                if not self.idle:
                    return 0
                # Bursts of 16 beats, one after the other, and their words one a cycle.
                at = self.events.now
                for _ in range((1 << self.registers.log_n) // 128):
                    at = self.read(16, at + 1) - 15 + 128
                return at + 1 - self.events.now
            case Code.SET:
                if not self.idle:
                    return 0
                changed = self.registers.changed(command.operand & ~3, command.value)
                if changed != self.registers:
                    self.collect()
                    self.build(changed)
                return SETTLE
            case Code.END:
                if not self.idle:
                    return 0
                self.ended = self.events.now + END
        return 1

    @property
    def idle(self) -> bool:
        """All before has ended."""
        return not (self.flight or self.reading or self.unwritten or self.inputs_waiting or self.outputs_waiting)

    # ---- the reorder buffer ----

    def take(self, instruction: Instruction) -> int:
        """Takes an instruction; 0 if it has to wait."""
        s, op = self.registers, instruction.op
        if len(self.taken) + len(self.loaded) == self.config.reorder or not self.keys.takes():
            return 0
        product = op != Op.SUBSTITUTE
        rows = max(1, s.digits_a) + max(1, s.digits_b) if product else max(1, s.digits_s)
        to_loop = op == Op.INIT or (s.bootstrap and not (product and instruction.last))
        job = Operation(op != Op.INIT, op == Op.STEP, to_loop, rows + (not product), rows)
        self.taken.append(job)
        self.flight += 1
        self.operations += 1
        self.keys.request(rows)
        self.events.once(self.events.now + 1, self.issue)
        return 1

    def issue(self) -> None:
        """Loads the next RLWE, when it, a unit and its result's place are there."""
        now = self.events.now
        if not self.taken:
            return
        job = self.taken[0]
        if now < self.issue_free:
            self.events.once(self.issue_free, self.issue)
            return
        if job.to_loop and not job.loop and self.loop_held == self.config.loop_slots:
            return
        if job.unit:
            if not (self.loop_whole if job.loop else self.input_whole) or not self.idle_units:
                return
            if now < self.loading:
                self.events.once(self.loading, self.issue)
                return
            self.idle_units -= 1
            self.loading = now + self.quarter + 1
            if job.loop:
                self.loop_whole -= 1
            else:
                self.input_whole -= 1
                for k in range(self.quarter // self.burst):
                    self.events.at(now + 1 + self.burst * (k + 1), self.emptied)
        self.loop_held += job.to_loop - job.loop
        self.taken.popleft()
        self.issue_free = now + 1
        stages = self.registers.log_n - 1
        done = now + 1 + (self.quarter + stages * 2 * self.quarter if job.unit else 0)
        self.loaded.append((job, done))
        self.events.once(done, self.send)
        self.events.once(now + 1, self.issue)

    def send(self) -> None:
        """Sends the first RLWE that is loaded on, when its inverse transform has ended and a buffer is free."""
        now = self.events.now
        if not self.loaded or not self.source.takes():
            return
        job, done = self.loaded[0]
        if now < done:
            return  # an event will be there
        if now < self.send_free:
            self.events.once(self.send_free, self.send)
            return
        self.loaded.popleft()
        self.send_free = now + 1
        self.source.fill(job)
        if job.unit:
            self.events.at(now + 2 * self.quarter + 1, self.idle_again)
        self.events.once(now + 1, self.step)

    def idle_again(self) -> None:
        self.idle_units += 1
        self.issue()

    # ---- RLWEs in ----

    def fill(self) -> None:
        """Asks for bursts of RLWEs while there is room."""
        if self.input_left == 0:
            if not self.inputs_waiting:
                return
            self.inputs_waiting -= 1
            self.input_left = self.quarter
            self.events.once(self.events.now + 1, self.fill)
            self.events.once(self.events.now + 1, self.step)
            return
        if self.input_room < self.burst:
            return
        self.input_room -= self.burst
        self.input_left -= self.burst
        come = self.read(self.burst)
        if self.input_left == 0:
            self.events.at(come, self.came)
        self.events.once(self.read_grant, self.fill)

    def came(self) -> None:
        self.reading -= 1
        self.input_whole += 1
        self.issue()

    def emptied(self) -> None:
        """A burst has left the input FIFO."""
        self.input_room += self.burst
        self.fill()

    # ---- results ----

    def finished(self, job: Operation, ready: int) -> None:
        """A sum can be read from a cycle on."""
        self.results.append((job, ready))
        self.events.once(ready, self.results_out)

    def results_out(self) -> None:
        """Gives the first sum to its FIFO."""
        now = self.events.now
        if self.giving or not self.results:
            return
        job, ready = self.results[0]
        if now < max(ready, self.give_free):
            self.events.once(max(ready, self.give_free), self.results_out)
            return
        self.giving = True
        self.results.popleft()
        if job.to_loop:
            self.events.at(now + self.quarter, self.given)

            def whole() -> None:
                self.loop_whole += 1
                self.flight -= 1
                self.issue()
                self.step()

            self.events.at(now + self.quarter + OUT, whole)
        else:
            self.push(self.quarter // self.burst)

    def push(self, left: int) -> None:
        """The rest of a sum goes to the output FIFO, a burst at a time."""
        self.pushing = left
        if self.output_room < self.burst:
            return  # `drained` comes back
        self.pushing = 0
        self.output_room -= self.burst
        now = self.events.now

        def pushed() -> None:
            self.output_beats += self.burst
            if left == 1:
                self.flight -= 1
                self.step()
            self.drain()

        self.events.at(now + self.burst + OUT, pushed)
        if left > 1:
            self.events.at(now + self.burst, lambda: self.push(left - 1))
        else:
            self.events.at(now + self.burst, self.given)

    def given(self) -> None:
        """A sum has been read."""
        self.giving = False
        self.give_free = self.events.now
        self.sums.release()
        self.results_out()

    def drain(self) -> None:
        """Writes bursts of results."""
        now = self.events.now
        if self.output_left == 0:
            if not self.outputs_waiting:
                return
            self.outputs_waiting -= 1
            self.output_left = self.quarter
            self.events.once(now + 1, self.drain)
            self.events.once(now + 1, self.step)
            return
        if self.sending or self.output_beats < self.burst:
            return
        self.sending = True
        self.output_left -= self.burst
        self.output_beats -= self.burst
        last = self.output_left == 0
        self.written_bytes += self.burst * PORT_BYTES

        def sent() -> None:
            self.sending = False
            self.output_room += self.burst
            if self.pushing:
                self.push(self.pushing)
            self.drain()

        self.events.at(now + self.burst + 1, sent)
        if last:
            self.events.at(now + self.burst + ASK + self.config.dram_latency + GIVE, self.written)

    def written(self) -> None:
        self.unwritten -= 1
        self.step()
