# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The toy machine's host: operands into memory, registers, start, the sum out of memory."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from ringforge.cli.console import say
from ringforge.errors import HardwareError, ParameterError
from ringforge.hw.core import registers
from ringforge.hw.core.simulator import Simulation
from toy_machine.machine import ROOM, ToyConfig

LEFT, RIGHT, RESULT = 0x1000_0000, 0x2000_0000, 0x3000_0000
ADDRESS = {entry.name: entry.address for entry in registers.own(Path(ROOM) / "registers.json").entries}


def add(sim, left, right, modulus, **limits):
    """left + right modulo `modulus`, and the cycles it took; arrays of as many 64-bit words as fill whole beats.

    Raises:
        ParameterError: other arrays. HardwareError: as `Simulation.run`.
    """
    lanes = sim.config.lanes
    if left.shape != right.shape or left.ndim != 1 or left.size % lanes:
        raise ParameterError(f"operands must be two arrays of one length, a multiple of {lanes}")
    result = np.zeros_like(left)
    sim.unmap_all()
    for address, words in ((LEFT, left), (RIGHT, right), (RESULT, result)):
        if words.size:
            sim.map(address, words)
    values = {"LEFT": LEFT, "RIGHT": RIGHT, "RESULT": RESULT, "MODULUS": modulus}
    for name, value in values.items():
        sim.write(ADDRESS[name], value)
        sim.write(ADDRESS[name] + 4, value >> 32)
    sim.write(ADDRESS["BEATS"], left.size // lanes)
    return result, sim.run(**limits)


def run_command(
    config: Annotated[str, typer.Option(help="Configuration; `ringforge hw list` shows them.")] = "toy-8",
    log_n: Annotated[int, typer.Option(min=4, max=16, help="log2 of the polynomials' degree.")] = 12,
) -> None:
    """Adds two random polynomials on the simulated machine and compares with numpy.

    Example: `ringforge hw run toy --log-n 13`
    """
    modulus, rng = (1 << 50) - 27, np.random.default_rng(1)
    left, right = (rng.integers(0, modulus, 1 << log_n, np.uint64) for _ in range(2))
    with Simulation(ToyConfig.named(config), optimise="-O1") as sim:
        result, cycles = add(sim, left, right, modulus)
    if not np.array_equal(result, (left + right) % np.uint64(modulus)):
        raise HardwareError("the machine's sum differs from numpy's")
    say(f"N = 2^{log_n}: {cycles:,} cycles, the same words as numpy")
