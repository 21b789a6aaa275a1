# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What runs a program with its memory: the simulated machine, or the reference interpreter."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge._native import Ciphertext, kernels
from ringforge.hw.core.config import WORD_BYTES
from ringforge.hw.core.simulator import Simulation
from ringforge.hw.machines.matmul.config import PORT_BYTES
from ringforge.hw.machines.matmul.job import Program
from ringforge.hw.machines.matmul.layout import ENTITIES
from ringforge.hw.machines.matmul.memory import ElementMemory
from ringforge.hw.machines.matmul.packing import addresses, join, pack, split, unpack
from ringforge.hw.vector.interpreter import Interpreter
from ringforge.hw.vector.layout import Region

Words = npt.NDArray[np.uint64]

#: Entities that programs write.
_WRITTEN = ("input", "intermediates", "output", "window")


@dataclass(frozen=True)
class Run:
    """What a run gave.

    Attributes:
        parts: residues of the result, [part][limb].
        cycles: from start to end; None where nothing counts them.
        seconds: of the wall clock.
        bytes: read and written, by entity.
    """

    parts: list[list[Words]]
    seconds: float
    cycles: int | None = None
    bytes: Mapping[str, int] = field(default_factory=dict)


class Executor(ABC):
    """Runs programs on one kind of device."""

    @abstractmethod
    def load(self, program: Program) -> Any:
        """Memory with what stays for all runs, in the executor's own form.

        Raises:
            MissingKeyError, LevelError: a key is missing or covers too few limbs.
        """

    @abstractmethod
    def run(self, device: Any, program: Program, memory: Any, inputs: Sequence[Ciphertext]) -> Run:
        """One run; `memory` is what `load` gave.

        Raises:
            HardwareError: the machine cannot be built, or stops with an error.
        """

    @abstractmethod
    def size(self, memory: Any) -> int:
        """Bytes that `memory` takes on the host."""


class Interpreted(Executor):
    """The reference interpreter. It has no time."""

    def __init__(self) -> None:
        self._turn = threading.Lock()

    def load(self, program: Program) -> ElementMemory:
        memory = ElementMemory(program.config)
        for element, address, words in program.prepared():
            memory.near[element].put(address, words)
        for element, address, words in program.prepared(far=True):
            memory.far[element].put(address, words)
        return memory

    def run(
        self,
        device: Any,  # noqa: ARG002
        program: Program,
        memory: ElementMemory,
        inputs: Sequence[Ciphertext],
    ) -> Run:
        start = time.perf_counter()
        with self._turn:
            for element, address, words in program.loaded(inputs):
                memory.near[element].put(address, words)
            Interpreter(program.config, memory, kernels.active()).run(program.words)
            place, degree = program.output, program.target.degree
            near = memory.near[place.element]
            parts = [[near.get(part.at(i), degree) for i in range(place.limbs)] for part in place.parts]
        return Run(parts, time.perf_counter() - start)

    def size(self, memory: ElementMemory) -> int:
        return sum(words.nbytes for part in (*memory.near, *memory.far) for _, words in part.items())


class Image:
    """Regions of the elements' memories as the ports of the simulated machine see them.

    Args:
        program: whose regions.
        written: those that programs write; else the others.
        far: those of far memory, not those of near memory.
    """

    def __init__(self, program: Program, *, written: bool, far: bool = False) -> None:
        self.config, self.far = program.config, far
        self._count = self.config.far_ports if far else self.config.near_ports
        self._starts: list[list[int]] = []
        self._ports: list[list[tuple[Region, Words]]] = []
        for job in program.jobs:
            layout = job.far if far else job.layout
            regions = [r for r in layout.regions if r.size and (r.entity in _WRITTEN) == written]
            self._starts.append([r.address for r in regions])
            self._ports.append([(r, self._empty(r.size)) for r in regions])

    def _empty(self, size: int) -> Words:
        """Words of each port for so many bytes, in whole beats: (ports, words)."""
        return np.zeros((self._count, self._beats(size) * PORT_BYTES // WORD_BYTES), np.uint64)

    def _beats(self, size: int) -> int:
        return -(-size // (self._count * PORT_BYTES))

    def _at(self, element: int, address: int, size: int) -> Words:
        """Where so many bytes at an address are: (ports, words)."""
        region, ports = self._ports[element][bisect_right(self._starts[element], address) - 1]
        first = (address - region.address) // self._count // WORD_BYTES
        return ports[:, first : first + self._beats(size) * PORT_BYTES // WORD_BYTES]

    def put(self, element: int, address: int, words: Words) -> None:
        """Puts consecutive bytes of an element's memory, whole lines."""
        self._at(element, address, words.nbytes)[:] = split(self.config, words, far=self.far)

    def get(self, element: int, address: int, size: int) -> Words:
        """Consecutive bytes of an element's memory, whole lines."""
        return join(self.config, self._at(element, address, size), far=self.far)

    def map(self, sim: Simulation[Any]) -> None:
        """Gives the simulated machine this memory; it writes into it."""
        for element, regions in enumerate(self._ports):
            for region, ports in regions:
                places = addresses(self.config, element, region.address, far=self.far)
                for address, words in zip(places, ports, strict=True):
                    sim.map(address, words, ENTITIES.index(region.entity))

    @property
    def size(self) -> int:
        """Bytes on the host."""
        return sum(ports.nbytes for regions in self._ports for _, ports in regions)


class Simulated(Executor):
    """The machine's SystemVerilog, by a device that has a simulation."""

    def load(self, program: Program) -> tuple[Image, Image]:
        image, afar = Image(program, written=False), Image(program, written=False, far=True)
        for element, address, words in program.prepared(far=True):
            afar.put(element, address, pack(program.config, words))
        for element, address, words in program.prepared():
            image.put(element, address, pack(program.config, words))
        line = program.config.line_bytes // WORD_BYTES
        for element, words in enumerate(program.words):
            padded = np.zeros(-(-words.size // line) * line, np.uint64)
            padded[: words.size] = words.reshape(-1)
            image.put(element, program.base, padded)
        return image, afar

    def run(self, device: Any, program: Program, memory: tuple[Image, Image], inputs: Sequence[Ciphertext]) -> Run:
        start, config, log_n = time.perf_counter(), program.config, program.target.log_n
        image = Image(program, written=True)
        for element, address, words in program.loaded(inputs):
            image.put(element, address, pack(config, words))
        with device.turn():
            sim: Simulation[Any] = device.simulation()
            sim.unmap_all()
            sim.clear_traffic()
            for part in (*memory, image):
                part.map(sim)
            cycles = sim.run(program.base, 0, progress=device.cycles)
            traffic = sim.traffic({name: n for n, name in enumerate(ENTITIES)})
            device.end_waves()
        size = config.polynomial_bytes(log_n)
        parts = [
            [
                unpack(config, image.get(program.output.element, part.at(i), size), log_n)
                for i in range(program.output.limbs)
            ]
            for part in program.output.parts
        ]
        return Run(
            parts, time.perf_counter() - start, cycles, {name: t.read + t.written for name, t in traffic.items()}
        )

    def size(self, memory: tuple[Image, Image]) -> int:
        return sum(image.size for image in memory)
