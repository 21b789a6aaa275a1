# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What an operation takes in a full stream of the published pipeline: two lengths of it, in RTL or by the replica."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ringforge import runs
from ringforge.hw.core.build import library
from ringforge.hw.core.simulator import Simulation
from ringforge.hw.machines.psi.closed_form import Timing
from ringforge.hw.machines.psi.config import PsiConfig
from ringforge.hw.machines.psi.draws import Draw, Kind, simulate
from ringforge.hw.machines.psi.replica import run

#: What records of it are called.
SYSTEM: Final = "hw-psi-stream"
#: Gates in turns, as the published times are amortised over.
TURNS: Final = 12
#: Digits of a product at the published gate sets, and at the parameters of private set intersection.
GATE_DIGITS: Final = 3
LOOKUP_DIGITS: Final = 6


@dataclass(frozen=True)
class Stream:
    """A stream of operations.

    Attributes:
        machine, kind, log_n: gates in turns, or products or substitutions of inputs, on a configuration.
        digits: of a polynomial.
        short, long: products of a chain, or operations.
    """

    machine: str
    kind: Kind
    log_n: int
    digits: int
    short: int
    long: int

    def case(self, length: int) -> Draw:
        """The stream at a length, with the machine's own memory."""
        config = PsiConfig.named(self.machine)
        count, products = (TURNS, length) if self.kind == "gates" else (length, 1)
        rate = config.dram_bytes_per_cycle / config.port_bytes
        digits = (self.digits,) * 3
        return Draw(0, config.name, self.kind, self.log_n, count, products, digits, config.dram_latency, rate, False)

    @property
    def operations(self) -> int:
        """That the longer one has more."""
        return (self.long - self.short) * (TURNS if self.kind == "gates" else 1)

    @property
    def polynomials(self) -> int:
        """That an operation transforms."""
        return self.digits + 1 if self.kind == "substitutions" else 2 * self.digits

    @property
    def name(self) -> str:
        """What the stream is called in results."""
        what = f"gates, {TURNS} in turns" if self.kind == "gates" else self.kind
        return f"{what}, {self.digits} digits, 2^{self.log_n}"

    def modelled(self) -> float:
        """Cycles of an operation by the replica."""
        return (run(self.case(self.long).job).cycles - run(self.case(self.short).job).cycles) / self.operations

    def closed_form(self) -> float:
        """The same in closed form."""
        rows = self.polynomials - (self.kind == "substitutions")
        return Timing(PsiConfig.named(self.machine), self.log_n).operation(self.polynomials, rows)

    def measured(self) -> runs.Record:
        """The same in RTL."""
        config = PsiConfig.named(self.machine)
        library(config, optimise="-O1")
        with Simulation[PsiConfig](config, optimise="-O1") as sim:
            short, _ = simulate(sim, self.case(self.short).job)
            long, traffic = simulate(sim, self.case(self.long).job)
        each = (long - short) / self.operations
        return runs.Record(
            SYSTEM,
            self.name,
            "zeros",
            self.kind,
            each / config.clock_hz,
            device=f"rtl:{config.name}",
            cycles=long,
            extra={
                "kind": self.kind,
                "log_n": self.log_n,
                "digits": self.digits,
                "operation_cycles": each,
                "polynomial_cycles": each / self.polynomials,
                "short": short,
                "long": long,
                "replica": [run(self.case(n).job).cycles for n in (self.short, self.long)],
                "key_bytes": traffic["keys"].read,
            },
        )


def streams(machine: str) -> list[Stream]:
    """Those that a configuration is for: gates at the published sets, operations of the look-up."""
    config = PsiConfig.named(machine)
    if config.word_bits < 54:
        return [Stream(machine, "gates", 11 if config.word_bits == 37 else 10, GATE_DIGITS, 8, 16)]
    kinds: tuple[Kind, ...] = ("substitutions", "products")
    return [Stream(machine, kind, 11, LOOKUP_DIGITS, 12, 24) for kind in kinds]
