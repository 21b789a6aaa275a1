# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""rf_spn does what its switches say, row by row, with and without the exchange in time, at the stated latency.

With registers between its stages it does the same, later.
"""

import random

import cocotb
import pytest
from cocotb.triggers import FallingEdge
from modular import parameter, start_clock
from permutation import exchange, first_network, second_network
from runner import run


@cocotb.test()
async def switches(dut):
    width, lanes = parameter("W", 54), parameter("Lanes", 16)
    stages = lanes.bit_length() - 1
    latency = 4 + 2 * parameter("Registers", 0)
    rng = random.Random(3)
    start_clock(dut)

    def setting() -> list[int]:
        """A bit for each pair of lanes, the same in both."""
        out = []
        for _ in range(stages):
            out.append(rng.getrandbits(lanes))
        return out

    def paired(settings: list[int], bits) -> list[int]:
        return [
            sum((s >> (lane & ~(1 << b)) & 1) << lane for lane in range(lanes))
            for s, b in zip(settings, bits, strict=True)
        ]

    rows, expected = [], []
    while len(rows) < (300 if lanes <= 16 else 60):
        together = rng.random() < 0.5
        group = []
        for odd in range(2 if together else 1):
            first = paired(setting(), range(stages - 1, -1, -1))
            second = paired(setting(), range(stages))
            data = [rng.getrandbits(width) for _ in range(lanes)]
            group.append((first, second, data, together, odd))
        middle = [first_network(data, first) for first, _, data, _, _ in group]
        if together:
            middle = list(exchange(*middle))
        rows += group
        expected += [second_network(row, g[1]) for row, g in zip(middle, group, strict=True)]

    seen = []
    for first, second, data, pair, odd in [*rows, *[rows[0]] * latency]:
        while rng.random() < 0.1:
            dut.en_i.value = 0
            await FallingEdge(dut.clk_i)
        dut.swap_in_i.value, dut.swap_out_i.value, dut.data_i.value = first, second, data
        dut.pair_i.value, dut.odd_i.value, dut.en_i.value = int(pair), odd, 1
        await FallingEdge(dut.clk_i)
        seen.append([int(x) for x in dut.data_o.value])
    for n, want in enumerate(expected):
        assert seen[n + latency - 1] == want, f"row {n}"


@pytest.mark.parametrize(
    ("width", "lanes", "registers"),
    [
        (27, 8, 1),
        pytest.param(27, 8, 0, marks=pytest.mark.long),
        pytest.param(64, 16, 0, marks=pytest.mark.long),
        pytest.param(13, 16, 3, marks=pytest.mark.long),
        pytest.param(54, 128, 2, marks=pytest.mark.long),
        pytest.param(54, 256, 3, marks=pytest.mark.long),
    ],
)
def test_rf_spn(width, lanes, registers):
    run("rf_spn", {"W": width, "Lanes": lanes, "Registers": registers}, __file__)
