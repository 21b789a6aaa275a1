# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What the benches of the units share: structs of the package, rings in Python integers, read ports, the runner."""

import random
import re
from collections import deque
from pathlib import Path

from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from negacyclic import prime, reverse, root
from runner import run as run_top

_PACKAGE = Path(__file__).parents[1] / "rtl" / "psi_wide_pkg.sv"


def run(top: str, parameters: dict[str, object], file: str) -> None:
    """Builds a unit and runs the cocotb tests of a file."""
    arguments = ["--no-public-flat-rw", "--public-depth", "1", "-Wno-UNUSEDPARAM"]
    run_top(top, parameters, file, build_args=arguments)


# ---- structs -------------------------------------------------------------------------------------------


def fields(kind: str) -> list[tuple[str, int]]:
    """Names and widths of a packed struct of the package, from its most significant field on."""
    text = _PACKAGE.read_text()
    sizes = {name: int(value) for name, value in re.findall(r"localparam int unsigned (\w+W) = (\d+);", text)}
    body = re.search(r"typedef struct packed \{([^}]*)\} " + kind + ";", text)
    assert body, f"the package has no struct {kind}"
    found = re.findall(r"logic\s*(?:\[(\w+)(-1)?:0\]\s*)?(\w+);", body[1])
    return [(name, 1 if not high else sizes[high] if less else int(high) + 1) for high, less, name in found]


def pack(kind: str, **values: int) -> int:
    """A struct's bits; fields that are not named are 0."""
    bits = 0
    for name, width in fields(kind):
        value = int(values.pop(name, 0))
        assert 0 <= value < 1 << width, f"{name} of {kind} is {value}"
        bits = bits << width | value
    assert not values, f"{kind} has no {', '.join(values)}"
    return bits


def unpack(kind: str, bits: int) -> dict[str, int]:
    """A struct's fields."""
    found = {}
    for name, width in reversed(fields(kind)):
        found[name] = bits & ((1 << width) - 1)
        bits >>= width
    return found


# ---- arithmetic ----------------------------------------------------------------------------------------


class Ring:
    """A ring's numbers as the units hold them: residues shifted to words of `width` bits."""

    def __init__(self, width: int, max_log_n: int, log_n: int, shift: int):
        self.log_n, self.n, self.shift, self.short = log_n, 1 << log_n, shift, int(log_n < max_log_n)
        self.q = prime(width - shift, max_log_n)
        self.psi = root(self.q, log_n)
        self.powers = [pow(self.psi, x, self.q) for x in range(2 * self.n)]
        self.k = (1 << 2 * width) // (self.q << shift)
        self.exponents = [2 * reverse(p, log_n) + 1 for p in range(self.n)]
        self.positions = {e: p for p, e in enumerate(self.exponents)}

    def random(self, rng: random.Random, count: int | None = None) -> list[int]:
        """Residues, not shifted: an extreme one in two cases of five."""
        edges = (0, 1, self.q - 1, self.q // 2, self.q // 2 + 1)
        return [
            rng.choice(edges) if rng.random() < 0.4 else rng.randrange(self.q) for _ in range(count or self.n)
        ]  # fmt: skip

    def shifted(self, values: list[int]) -> list[int]:
        return [v << self.shift for v in values]

    def factor(self, position: int, power: int) -> int:
        """X^power at a position of the Eval form."""
        return self.powers[self.exponents[position] * power % (2 * self.n)]

    def mapped(self, values: list[int], element: int) -> list[int]:
        """x(X^element) in Eval form."""
        return [values[self.positions[e * element % (2 * self.n)]] for e in self.exponents]

    def apply(self, dut) -> None:
        """Sets what units are told of it, as far as they are."""
        values = {
            "short_i": self.short,
            "shift_i": self.shift,
            "q_i": self.q << self.shift,
            "k_i": self.k & ~(-1 << 64),
        }
        for name, value in values.items():
            if hasattr(dut, name):
                getattr(dut, name).value = value

    async def load_powers(self, dut) -> None:
        """Writes the table of powers of psi."""
        names = (
            ("table_we_i", "table_addr_i", "table_data_i")
            if hasattr(dut, "table_we_i")
            else ("we_i", "waddr_i", "wdata_i")
        )
        for x in range(self.n):
            for name, value in zip(names, (1, x, self.powers[x]), strict=True):
                getattr(dut, name).value = value
            await FallingEdge(dut.clk_i)
        getattr(dut, names[0]).value = 0


# ---- surroundings --------------------------------------------------------------------------------------


async def begin(dut, **inputs: object) -> None:
    """Starts the clock, holds inputs at these values through a reset, and ends it."""
    Clock(dut.clk_i, 2, "ns").start(start_high=False)
    for name, value in inputs.items():
        getattr(dut, name).value = value
    if hasattr(dut, "rst_ni"):
        dut.rst_ni.value = 0
        for _ in range(2):
            await FallingEdge(dut.clk_i)
        dut.rst_ni.value = 1
    await FallingEdge(dut.clk_i)


class Reader:
    """A memory's read port, of latency 2: what was read holds until the next one comes."""

    def __init__(self, dut, port: str, idle: list[int]):
        self.port, self.coming = getattr(dut, port), deque([None])
        self.port.value = idle

    def step(self, line: list[int] | None) -> None:
        """Once in each clock, before the edge that takes the request: what is read in it."""
        self.coming.append(line)

    def show(self) -> None:
        """Behind that edge."""
        line = self.coming.popleft()
        if line is not None:
            self.port.value = line
