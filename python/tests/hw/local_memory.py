# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Near and far memory of elements, byte by byte, written apart from `matmul.packing` so that each holds the other.

The interpreter reads and writes it (`ringforge.hw.vector.polynomials`); a simulated machine gets it as the segments of
its ports.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ringforge.errors import ParameterError
from ringforge.hw.core.simulator import Simulation
from ringforge.hw.machines.matmul.config import FameConfig

BEAT = 64


def pieces(config: FameConfig, element: int, address: int, data: bytes) -> Iterator[tuple[int, bytes]]:
    """Where whole lines of an element's near memory lie at its ports: an address and what is there, for each port."""
    ports = config.near_ports
    beats = np.frombuffer(data, np.uint8).reshape(-1, ports, BEAT)
    for p in range(ports):
        yield (element * ports + p) * config.segment_bytes + address // ports, beats[:, p].tobytes()


class Memory:
    """The first bytes of every element's near and far memory.

    Args:
        config: the machine.
        near, far: bytes of each; multiples of the line.
        fill: what is there at first: bytes of a generator of this seed, so that reading past an end shows.
    """

    #: An address means another place for each element.
    local = True

    def __init__(self, config: FameConfig, near: int, far: int, fill: int = 1) -> None:
        self.config = config
        rng = np.random.default_rng(fill)
        self.near, self.far = (rng.integers(0, 256, (config.pes, size), np.uint8) for size in (near, far))

    def put(self, element: int, address: int, words: np.ndarray, *, far: bool = False) -> None:
        """A polynomial, residues end to end, its last line filled up with zeros."""
        width = self.config.word_bits
        bits = (words[:, None] >> np.arange(width, dtype=np.uint64) & np.uint64(1)).astype(np.uint8)
        data = np.packbits(bits.reshape(-1), bitorder="little")
        line = self.config.line_bytes
        place = self._place(self.far if far else self.near, element, address, -(-data.size // line) * line)
        place[:] = 0
        place[: data.size] = data

    def get(self, element: int, address: int, log_n: int) -> np.ndarray:
        """The polynomial at an address of near memory."""
        width = self.config.word_bits
        size = -(-(width << log_n) // 8)
        bits = np.unpackbits(self._place(self.near, element, address, size), count=width << log_n, bitorder="little")
        weights = np.uint64(1) << np.arange(width, dtype=np.uint64)
        words: np.ndarray = (bits.reshape(-1, width) * weights).sum(axis=1, dtype=np.uint64)
        return words

    def _place(self, bytes_: np.ndarray, element: int, address: int, size: int) -> np.ndarray:
        if address < 0 or address + size > bytes_.shape[1]:
            raise ParameterError(f"{size} bytes at {address:#x} of element {element} are not there")
        place: np.ndarray = bytes_[element, address : address + size]
        return place

    def _bytes(self, log_n: int) -> int:
        line = 8 * self.config.line_bytes
        return -(-(self.config.word_bits << log_n) // line) * self.config.line_bytes

    # ---- as the interpreter sees it ----

    def alignment(self, log_n: int) -> int:
        """Polynomials begin with a line."""
        del log_n
        return self.config.line_bytes

    def read_polynomial(self, element: int, address: int, log_n: int) -> np.ndarray:
        """As `PolynomialMemory`."""
        return self.get(element, address, log_n)

    def write_polynomial(self, element: int, address: int, words: np.ndarray) -> None:
        """As `PolynomialMemory`."""
        self.put(element, address, words)

    def copy_polynomial(self, element: int, address: int, far: int, log_n: int) -> None:
        """As `PolynomialMemory`: whole lines."""
        if far % self.config.line_bytes:
            raise ParameterError(f"far address {far:#x} is no multiple of {self.config.line_bytes}")
        size = self._bytes(log_n)
        self._place(self.near, element, address, size)[:] = self._place(self.far, element, far, size)

    # ---- as the ports see it ----

    def segments(self) -> Iterator[tuple[int, np.ndarray]]:
        """Address at the ports, and bytes there: one piece for each port that has some."""
        c = self.config
        for ports, size, base, data in (
            (c.near_ports, c.segment_bytes, 0, self.near),
            (c.far_ports, c.far_segment_bytes, c.dram_bytes, self.far),
        ):
            beats = data.reshape(c.pes, -1, ports, BEAT)
            for e in range(c.pes):
                for p in range(ports):
                    yield base + (e * ports + p) * size, np.ascontiguousarray(beats[e, :, p]).reshape(-1)

    def map(self, sim: Simulation[FameConfig]) -> list[np.ndarray]:
        """Puts it behind the ports of a simulated machine; the arrays that the machine then works on."""
        arrays = []
        for address, data in self.segments():
            arrays.append(data.view(np.uint64).copy())
            sim.map(address, arrays[-1])
        return arrays

    def same(self, arrays: list[np.ndarray]) -> bool:
        """Whether what lies behind the ports is this memory."""
        return all(
            np.array_equal(a, data.view(np.uint64)) for a, (_, data) in zip(arrays, self.segments(), strict=True)
        )
