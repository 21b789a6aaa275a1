# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What the FHEW accelerator's published pipeline computes: the reference for its RTL, in exact arithmetic.

It works off instructions one after the other on FIFOs without end; a program that fills the machine's FIFOs in a way
that locks it up (`program.Commands` writes none) ends here as if they were larger. It has no time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

import numpy as np

from ringforge.errors import HardwareError
from ringforge.hw.core.dram import Dram
from ringforge.hw.core.small_ring import Ring, Words, added, multiplied, negated, subtracted
from ringforge.hw.machines.psi.config import KEY_UNIT, PAGE, PsiConfig
from ringforge.hw.machines.psi.layout import ciphertexts, image
from ringforge.hw.machines.psi.program import GATES, Code, Command, Instruction, Op
from ringforge.hw.machines.psi.settings import Settings, form

_QUEUE_BEAT: Final = 8
#: Instructions that are computed together.
_AT_ONCE: Final = 64


def external_products(ring: Ring, settings: Settings, operands: Words, rows: Words) -> Words:
    """(a, b) (x) RGSW: coefficients (count, 2, N) and rows (count, digits, 2, N) in Eval order to Eval order."""
    digits = np.concatenate([settings.a.cut(operands[:, 0], ring.q), settings.b.cut(operands[:, 1], ring.q)])
    return _dot(ring, ring.forward(digits), rows)


def substituted(ring: Ring, settings: Settings, operands: Words, element: int, rows: Words) -> Words:
    """(0, b') - sum_j digit_j(a') key_j, ' the map X -> X^element: coefficients and rows to Eval order."""
    mapped = ring.mapped(operands, element)
    total = _dot(ring, ring.forward(settings.s.cut(mapped[:, 0], ring.q)), rows)
    b = subtracted(ring.forward(mapped[:, 1]), total[:, 1], ring.q)
    return np.stack([negated(total[:, 0], ring.q), b], 1)


def accumulator(ring: Ring, settings: Settings, gate: int, b: int) -> Words:
    """The accumulator of a gate, coefficients (2, N): coefficient i 2N/q of b is -(floor(Q/8) + 1) where
    (b - bound - i) mod q is below q/2, its negative elsewhere, and a is 0."""
    q = 1 << settings.log_lwe
    i = np.arange(q // 2)
    one = ring.q // 8 + 1
    out = np.zeros((2, ring.degree), np.uint64)
    out[1, i * (2 * ring.degree // q)] = np.where((b - settings.bounds[gate] - i) % q < q // 2, ring.q - one, one)
    return out


def _dot(ring: Ring, digits: Words, rows: Words) -> Words:
    """Sums over digits (digits, count, N) of each times its row."""
    total = np.zeros((len(rows), 2, ring.degree), np.uint64)
    for j, digit in enumerate(digits):
        total = added(total, multiplied(rows[:, j], digit[:, None], ring.q), ring.q)
    return total


class Interpreter:
    """One machine with its memory.

    Args:
        config: its sizes.
        settings: of the run; `SET` commands are refused, since they would change them.
        memory: with all that the program reads; results are written there.

    Raises:
        ParameterError: the machine does not take the settings.
    """

    def __init__(self, config: PsiConfig, settings: Settings, memory: Dram) -> None:
        settings.check(config)
        self.config, self.settings, self.memory = config, settings, memory
        self.ring = Ring.of(settings.q, settings.log_n)
        self._form = form(config, settings.q)
        self.inputs: deque[Words] = deque()
        self.loop: deque[Words] = deque()
        self.outputs: deque[Words] = deque()
        self._waiting: deque[Instruction] = deque()
        self._places: deque[int] = deque()
        #: Instructions worked off.
        self.count = 0

    def run(self, program: int) -> None:
        """Works off the queue at an address.

        Raises:
            HardwareError: it stops, as the machine would, with the reason.
            ParameterError: memory is not there, or has not been written.
        """
        at = program
        while True:
            for word in self.memory.read(at, _QUEUE_BEAT).tolist():
                if word >> 60 not in list(Code):
                    raise self._stop("no such command")
                command = Command.of(word)
                if command.code is Code.END:
                    self.finish()
                    return
                self.command(command)
            at += 8 * _QUEUE_BEAT

    def command(self, command: Command) -> None:
        """One command but END. Raises as `run`."""
        if command.code is Code.EXEC:
            self._waiting.append(Instruction.of(command.value))
        elif command.code is Code.INPUT:
            self._aligned(command.operand)
            words = self.memory.read(command.operand, 2 * self.ring.degree)
            self.inputs.append(self._residues(words))
        elif command.code is Code.OUTPUT:
            self._aligned(command.operand)
            self._places.append(command.operand)
        elif command.code is Code.TABLES:
            self._aligned(command.operand)
            wanted = multiplied(self.ring.twiddles, np.uint64(self._form), self.ring.q)
            if not np.array_equal(self.memory.read(command.operand, self.ring.degree), wanted):
                raise self._stop("twiddles of another root of unity, which the reference does not take")
        else:
            raise self._stop("a setting changes, which the reference does not take")

    def finish(self) -> None:
        """END: works off all instructions; results that were asked for are in memory. Raises as `run`."""
        self._move()
        if self._waiting or self._places:
            raise self._stop("the queue cannot go on: a command waits for what only later ones would do")

    def execute(self, instructions: Sequence[Instruction], operands: Words) -> Words:
        """Instructions by themselves, each on its operand: (count, 2, N) to (count, 2, N) in Eval order. Of INIT the
        operand does not count. Raises as `run`."""
        rows = [self._key(instruction) for instruction in instructions]
        coefficients = self.ring.inverse(operands)
        out = np.empty_like(operands)
        alike: dict[int, list[int]] = {}
        for at, instruction in enumerate(instructions):
            if instruction.op is Op.INIT:
                coefficients[at] = accumulator(self.ring, self.settings, instruction.gate, instruction.b)
            alike.setdefault(instruction.entry if instruction.op is Op.SUBSTITUTE else -1, []).append(at)
        for entry, at_all in alike.items():
            keys = np.stack([rows[at] for at in at_all])
            if entry < 0:
                out[at_all] = external_products(self.ring, self.settings, coefficients[at_all], keys)
            else:
                element, _ = self.settings.substitutions[entry]
                out[at_all] = substituted(self.ring, self.settings, coefficients[at_all], element, keys)
        return out

    def _ready(self) -> list[Instruction]:
        """Instructions whose operands are there already, from the first on."""
        found: list[Instruction] = []
        inputs, loop = len(self.inputs), len(self.loop)
        for instruction in self._waiting:
            inputs -= instruction.op in (Op.SUBSTITUTE, Op.PRODUCT)
            loop -= instruction.op is Op.STEP
            if min(inputs, loop) < 0 or len(found) == _AT_ONCE:
                break
            found.append(instruction)
        return found

    def _move(self) -> None:
        """Works off what can be worked off."""
        while batch := self._ready():
            operands = np.zeros((len(batch), 2, self.ring.degree), np.uint64)
            for at, instruction in enumerate(batch):
                if instruction.op is not Op.INIT:
                    operands[at] = (self.loop if instruction.op is Op.STEP else self.inputs).popleft()
            for instruction, result in zip(batch, self.execute(batch, operands), strict=True):
                self._waiting.popleft()
                stays = instruction.op is Op.INIT or (self.settings.bootstrap and not instruction.last)
                (self.loop if stays else self.outputs).append(result)
            self.count += len(batch)
        while self._places and self.outputs:
            self.memory.write(self._places.popleft(), image(self.outputs.popleft()))

    def _key(self, instruction: Instruction) -> Words:
        s = self.settings
        if instruction.op is Op.SUBSTITUTE:
            if instruction.entry >= len(s.substitutions):
                raise self._stop("an instruction names a substitution that does not exist")
            address, count = s.substitutions[instruction.entry][1], s.s.count
        else:
            if instruction.op is Op.INIT and not (
                instruction.gate < GATES and s.log_lwe and instruction.b < 1 << s.log_lwe
            ):
                raise self._stop("an instruction names a gate or number that does not exist")
            address, count = instruction.key, s.a.count + s.b.count
        words = self.memory.read(s.key_base + address * KEY_UNIT, count * 2 * self.ring.degree)
        rows = np.stack([self._residues(row) for row in words.reshape(count, -1)])
        return multiplied(rows, np.uint64(pow(self._form, -1, self.ring.q)), self.ring.q) if self._form != 1 else rows

    def _residues(self, words: Words) -> Words:
        found = ciphertexts(words)
        if found.max(initial=0) >= self.ring.q:
            raise self._stop(f"memory holds {int(found.max())}, which is no residue modulo {self.ring.q}")
        return found

    def _aligned(self, address: int) -> None:
        if address % PAGE:
            raise self._stop(f"the address {address:#x} is not a multiple of {PAGE}")

    def _stop(self, why: str) -> HardwareError:
        return HardwareError(f"machine {self.config.name} stopped after {self.count} instructions: {why}")


def execute_all(interpreter: Interpreter, commands: Sequence[Command]) -> None:
    """Commands as a host writes them one by one, the last of them END. Raises as `Interpreter.run`."""
    for command in commands[:-1]:
        interpreter.command(command)
    interpreter.finish()
