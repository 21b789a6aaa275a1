# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Runs programs on one simulated element with shared ALUs, and holds its memory against the interpreter's."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from runner import BUILD, run_bench

from ringforge._native import kernels
from ringforge.hw.machines.matmul.config import FameConfig
from ringforge.hw.machines.matmul.memory import ElementMemory, Words
from ringforge.hw.machines.matmul.packing import pack, unpack
from ringforge.hw.vector import constants
from ringforge.hw.vector.interpreter import Interpreter
from ringforge.hw.vector.isa import Instruction, encode, slot

BITS = 50
PRIMES = kernels.primes_below(BITS, 4, 1 << 18)
#: Entries of the modulus table that the primes have, some beyond 31.
ENTRIES = (0, 5, 33, 63)


@dataclass
class Program:
    """A program, and how many of 256 cycles the memory is quiet."""

    code: list[Instruction]
    quiet: int = 0
    cycles: int = field(default=0, init=False)
    error: int = field(default=0, init=False)


class Element:
    """Near memory with data, and programs that run on it one after the other.

    Data: `inputs` polynomials modulo each prime, twiddle tables of each prime at each degree, all at addresses that
    `data` and `table` tell; `place` gives new addresses for results.
    """

    def __init__(self, name: str, log_ns: Sequence[int], inputs: int = 4, seed: int = 1) -> None:
        self.config = FameConfig.named(name)
        self.memory = ElementMemory(self.config)
        self.log_ns, self.inputs = tuple(log_ns), inputs
        self.programs: list[Program] = []
        self._end = 0
        rng = np.random.default_rng(seed)
        self._data: dict[tuple[int, int, int], int] = {}
        self._tables: dict[tuple[int, int], int] = {}
        self._far: dict[int, int] = {}
        for log_n in self.log_ns:
            for p, q in enumerate(PRIMES):
                self._tables[log_n, p] = self.place(log_n)
                self.memory.near[0].put(self._tables[log_n, p], constants.twiddles(self.config, q, log_n))
                for k in range(inputs):
                    self._data[log_n, p, k] = self.place(log_n)
                    words = rng.integers(0, q, 1 << log_n, dtype=np.uint64)
                    words[:4] = 0, 1, q - 1, q // 2
                    self.memory.near[0].put(self._data[log_n, p, k], words)
            self._far[log_n] = sum(self.config.polynomial_bytes(n) for n in self.log_ns[: len(self._far)])
            self.memory.far[0].put(self._far[log_n], rng.integers(0, PRIMES[0], 1 << log_n, dtype=np.uint64))
        self._inputs = self.memory.near[0].items()

    def place(self, log_n: int) -> int:
        """A new address for a polynomial."""
        address, self._end = self._end, self._end + self.config.polynomial_bytes(log_n)
        return address

    def data(self, log_n: int, prime: int, k: int) -> int:
        """Address of input k modulo a prime, by its number."""
        return self._data[log_n, prime, k]

    def table(self, log_n: int, prime: int) -> int:
        """Address of a prime's twiddle table."""
        return self._tables[log_n, prime]

    def far(self, log_n: int) -> int:
        """Far address of a polynomial modulo the first prime."""
        return self._far[log_n]

    def s(self, log_n: int, bank: int, place: int = 0) -> int:
        """A slot."""
        return slot(bank, place * self.config.rows(log_n))

    def add(self, log_n: int, body: Sequence[Instruction], quiet: int = 0, *, valid: bool = True) -> Program:
        """Another program: settings, the body, END. One that is not valid is not interpreted."""
        i, shift = Instruction, self.config.shift(BITS)
        settings = [
            i.modulus(entry, q << shift, constants.multiplier_constant(self.config, q))
            for entry, q in zip(ENTRIES, PRIMES, strict=True)
        ]
        program = Program([i.conf(log_n, shift), *settings, *body, i.end()], quiet)
        self.programs.append(program)
        if valid:
            others = [encode([i.end()])] * (self.config.pes - 1)
            Interpreter(self.config, self.memory, kernels.active()).run([encode(program.code), *others])
        return program

    def run(self, test: str, *, latency: int = 20) -> None:
        """Runs all programs in RTL; their cycles and errors afterwards.

        Raises:
            AssertionError: near memory differs from the interpreter's.
        """
        config, line = self.config, self.config.line_bytes
        expected = self.memory.near[0]
        start = -(-self._end // line) * line
        places, at = [], start
        for program in self.programs:
            places.append(at)
            at += -(-32 * len(program.code) // line) * line
        size = at + 4096
        image = self._image(self._inputs, size)
        for address, program in zip(places, self.programs, strict=True):
            code = encode(program.code).reshape(-1)
            image[address // 8 :][: code.size] = code
        folder = BUILD / "images"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / test
        far = self._image(self.memory.far[0].items(), sum(config.polynomial_bytes(n) for n in self.log_ns))
        listed = [x for a, p in zip(places, self.programs, strict=True) for x in (a, p.quiet)]
        for suffix, words in (("", image), (".far", far), (".programs", [*listed, 0, 0])):
            Path(f"{path}{suffix}").write_text("\n".join(f"{int(w):x}" for w in words))
        parameters = {
            "Image": f'"{path}"', "Words": 1 << (size // 8 - 1).bit_length(), "FarWords": far.size,
            "Lanes": config.lanes, "Latency": latency, "BankRows": config.rows_of(0), "LastBankRows": config.rows_of(3),
            "TwiddleRows": config.twiddle_rows, "MinLogN": config.min_log_n, "MaxLogN": config.max_log_n,
            "StreamRows": config.stream_rows, "Kind": int(config.montgomery), "Most": 128,
        }  # fmt: skip
        run_bench("vector_shared_pe_bench", parameters, __file__, optimise="-O0")
        for program, word in zip(self.programs, _numbers(Path(f"{path}.cycles")), strict=False):
            program.cycles, program.error = word & (1 << 60) - 1, word >> 60
        got = np.array(_numbers(Path(f"{path}.out")), np.uint64)
        for address, words in expected.items():
            count = config.polynomial_bytes(words.size.bit_length() - 1) // 8
            found = unpack(config, got[address // 8 :][:count], words.size.bit_length() - 1)
            assert np.array_equal(found, words), f"polynomial at {address:#x}"

    def _image(self, polynomials: Sequence[tuple[int, Words]], size: int) -> Words:
        image = np.zeros(size // 8, np.uint64)
        for address, words in polynomials:
            packed = pack(self.config, words)
            image[address // 8 :][: packed.size] = packed
        return image


def _numbers(path: Path) -> list[int]:
    return [int(x, 16) for x in path.read_text().split() if not x.startswith(("/", "@"))]
