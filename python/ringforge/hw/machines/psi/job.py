# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Runs of the FHEW accelerator's published pipeline: settings, commands, and what lies where in its memory.

Memory: the queue at 0, then the table of twiddles, RLWEs that come in, results; keys from `KEYS` on, as in the
published design: key number i at i times the bytes of a key.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from ringforge.errors import ParameterError, ShapeError
from ringforge.hw.core.dram import ALIGNMENT
from ringforge.hw.core.small_ring import Ring, Words, multiplied
from ringforge.hw.machines.psi.config import KEY_UNIT, PsiConfig
from ringforge.hw.machines.psi.layout import image, tables
from ringforge.hw.machines.psi.program import (
    KEY_BITS,
    Code,
    Command,
    Commands,
    init,
    product,
    queue,
    step,
    substitution,
)
from ringforge.hw.machines.psi.settings import Settings, form

#: Where keys begin: above everything else, and their 2^34 bytes end within the configurations' memory.
KEYS: Final = 1 << 35
#: What memory is told apart by, in reports.
ENTITIES: Final = ("program", "input", "output", "keys")


@dataclass(frozen=True)
class Piece:
    """Words at an address, and the entity that they are of."""

    address: int
    words: Words
    entity: str


@dataclass(frozen=True)
class Job:
    """A run.

    Attributes:
        config, settings: of the machine.
        commands: END last.
        pieces: memory, without the queue.
        output: where results go, `stride` bytes from one to the next, and
        results: how many.
    """

    config: PsiConfig
    settings: Settings
    commands: Sequence[Command]
    pieces: Sequence[Piece]
    output: int
    results: int

    @property
    def stride(self) -> int:
        """Bytes from an RLWE to the next: whole pages."""
        return _aligned(self.config.rlwe_bytes(self.settings.log_n))

    @property
    def queue(self) -> Piece:
        """The queue's memory, at address 0."""
        return Piece(0, queue(self.commands), "program")

    @property
    def instructions(self) -> list[int]:
        """All instructions in order."""
        return [c.value for c in self.commands if c.code is Code.EXEC]

    def polled(self) -> Job:
        """The same run, its commands written by the host one by one."""
        return replace(self, settings=replace(self.settings, queued=False))


class KeyMemory:
    """Keys of one size by number: rows (rows, 2, N) in Eval order each.

    Args:
        config, log_n: their machine and ring.
        rows: of each.
        base: number of the first key's unit of addresses, from `KEYS` on.
    """

    def __init__(self, config: PsiConfig, log_n: int, rows: int, base: int = 0) -> None:
        self.rows, self.degree = rows, 1 << log_n
        self.units = config.key_bytes(log_n, rows) // KEY_UNIT
        self.base = base
        self._keys: dict[int, Words] = {}

    def address(self, number: int) -> int:
        """Of a key, in units.

        Raises:
            ParameterError: it is beyond what instructions can name.
        """
        found = self.base + number * self.units
        if found + self.units > 1 << KEY_BITS:
            raise ParameterError(
                f"key {number} lies at {found * KEY_UNIT} bytes; the machine reaches 2^{KEY_BITS} units of {KEY_UNIT}: "
                "take a smaller set of parameters, or device cpu"
            )
        return found

    def put(self, numbers: Sequence[int], rows: npt.NDArray[np.unsignedinteger]) -> None:
        """Keys (count, rows, 2, N).

        Raises:
            ShapeError: other shapes.
        """
        if rows.shape != (len(numbers), self.rows, 2, self.degree):
            raise ShapeError(f"keys of shape {rows.shape}; {(len(numbers), self.rows, 2, self.degree)} is needed")
        words = image(rows).reshape(len(numbers), -1)
        for number, key in zip(numbers, words, strict=True):
            self.address(number)
            self._keys[number] = key

    def pieces(self) -> Iterable[Piece]:
        """Their memory."""
        for number, words in self._keys.items():
            yield Piece(KEYS + self.address(number) * KEY_UNIT, words, "keys")

    @property
    def nbytes(self) -> int:
        """Bytes on the host."""
        return sum(words.nbytes for words in self._keys.values())


class JobWriter:
    """Writes the commands of a run and lays out its memory.

    Args:
        config: the machine. settings: of the run; KEY_BASE is set here.

    Raises:
        ParameterError: the machine does not take the settings.
    """

    def __init__(self, config: PsiConfig, settings: Settings) -> None:
        self.config, self.settings = config, replace(settings, key_base=KEYS)
        self.settings.check(config)
        self._ring = Ring.of(settings.q, settings.log_n)
        # Results are named at most so many instructions late as the reorder buffer holds beside the next one.
        self._commands = Commands(config.reorder - 1)
        self._inputs: list[Words] = []
        self._steps: list[tuple[int | None, int, bool]] = []

    def execute(self, instruction: int, operand: npt.NDArray[np.unsignedinteger] | None, *, leaves: bool) -> None:
        """An instruction; `operand` (2, N) in Eval order comes in for it; its result leaves the machine or not."""
        place = None
        if operand is not None:
            place = len(self._inputs)
            self._inputs.append(image(operand))
        self._steps.append((place, instruction, leaves))

    def job(self, keys: Iterable[Piece]) -> Job:
        """The run."""
        size = _aligned(self.config.rlwe_bytes(self.settings.log_n))
        results = sum(leaves for _, _, leaves in self._steps)
        commands = 2 + len(self._inputs) + len(self._steps) + results
        first = _aligned(8 * (commands + 16))
        factor = np.uint64(form(self.config, self.settings.q))
        table = multiplied(tables(self._ring), factor, self.settings.q)
        inputs = first + _aligned(table.nbytes)
        output = inputs + size * len(self._inputs)
        if output + size * results > KEYS:
            raise ParameterError(
                f"{len(self._inputs)} RLWEs and {results} results do not fit below {KEYS} bytes: run fewer at once"
            )
        written = self._commands
        written.list.append(Command(Code.TABLES, first))
        done = 0
        for place, instruction, leaves in self._steps:
            if place is not None:
                written.load(inputs + size * place)
            written.execute(instruction, output + size * done if leaves else None)
            done += leaves
        pieces = [Piece(first, table, "program")]
        if self._inputs:
            words = np.zeros((len(self._inputs), size // 8), np.uint64)
            words[:, : 2 << self.settings.log_n] = self._inputs
            pieces.append(Piece(inputs, words, "input"))
        # Factors that are held in memory are in the multipliers' form; what they multiply is canonical.
        formed = (replace(k, words=multiplied(k.words, factor, self.settings.q)) for k in keys) if factor != 1 else keys
        return Job(self.config, self.settings, written.end(), [*pieces, *formed], output, results)


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def chains_job(
    config: PsiConfig,
    settings: Settings,
    accumulators: npt.NDArray[np.unsignedinteger],
    numbers: Sequence[Sequence[int]],
    keys: KeyMemory,
) -> Job:
    """Chains of products, interleaved round-robin: one product of each in turn, so that none waits for itself.

    Args:
        settings: with `bootstrap`.
        accumulators: (count, 2, N) in Eval order; at most as many as the loop FIFO holds.
        numbers: of the keys, for each accumulator in order; none of them empty.

    Raises:
        ParameterError: too many accumulators, or a key that is out of reach.
    """
    if len(accumulators) > config.loop_slots:
        raise ParameterError(
            f"{len(accumulators)} accumulators at once; the loop FIFO of {config.name} holds {config.loop_slots}: run "
            "them in groups"
        )
    writer = JobWriter(config, settings)
    for turn in range(max(map(len, numbers))):
        for accumulator, chain in zip(accumulators, numbers, strict=True):
            if turn >= len(chain):
                continue
            last = turn + 1 == len(chain)
            make = product if turn == 0 else step
            writer.execute(make(keys.address(chain[turn]), last=last), accumulator if turn == 0 else None, leaves=last)
    return writer.job(keys.pieces())


def bootstraps_job(
    config: PsiConfig,
    settings: Settings,
    gates: Sequence[int],
    bodies: Sequence[int],
    numbers: Sequence[Sequence[int]],
    keys: KeyMemory,
) -> Job:
    """Chains whose accumulators are made on chip, interleaved as in `chains_job`; each has two products at least.

    Args:
        gates: number of each gate. bodies: b of each LWE ciphertext.

    Raises:
        ParameterError: as `chains_job`; the first key is out of reach of its instruction; a chain of one product.
    """
    if len(gates) > config.loop_slots or min(map(len, numbers)) < 2:
        raise ParameterError(
            f"{len(gates)} chains of {min(map(len, numbers))} products and more: {config.name} interleaves up to "
            f"{config.loop_slots}, of two products at least, when it makes accumulators itself"
        )
    writer = JobWriter(config, settings)
    for gate, body, chain in zip(gates, bodies, numbers, strict=True):
        writer.execute(init(gate, body, keys.address(chain[0])), None, leaves=False)
    for turn in range(1, max(map(len, numbers))):
        for chain in numbers:
            if turn < len(chain):
                last = turn + 1 == len(chain)
                writer.execute(step(keys.address(chain[turn]), last=last), None, leaves=last)
    return writer.job(keys.pieces())


def products_job(
    config: PsiConfig,
    settings: Settings,
    operands: npt.NDArray[np.unsignedinteger],
    numbers: Sequence[int],
    keys: KeyMemory,
) -> Job:
    """One product of each operand (count, 2, N), Eval order, with its key. Raises as `JobWriter`."""
    writer = JobWriter(config, settings)
    for operand, number in zip(operands, numbers, strict=True):
        writer.execute(product(keys.address(number)), operand, leaves=True)
    return writer.job(keys.pieces())


def substitutions_job(
    config: PsiConfig,
    settings: Settings,
    operands: npt.NDArray[np.unsignedinteger],
    elements: Sequence[int],
    keys: Mapping[int, npt.NDArray[np.unsignedinteger]],
) -> Job:
    """X -> X^element of each operand (count, 2, N), Eval order; `keys` are rows by element.

    Raises:
        ParameterError: more elements than the table holds, or as `JobWriter`.
    """
    memory = KeyMemory(config, settings.log_n, settings.s.count)
    order = sorted(set(elements))
    for number, element in enumerate(order):
        memory.put([number], keys[element][None])
    table = [(element, memory.address(number)) for number, element in enumerate(order)]
    writer = JobWriter(config, replace(settings, substitutions=table))
    for operand, element in zip(operands, elements, strict=True):
        writer.execute(substitution(order.index(element)), operand, leaves=True)
    return writer.job(memory.pieces())
