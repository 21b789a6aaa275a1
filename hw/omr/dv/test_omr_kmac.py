# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""omr_kmac against Python integers: all sources and targets, with and without pauses of the streams."""

from itertools import product

import cocotb
import pytest
from instructions import KMAC
from modular import BARRETT, MONTGOMERY
from runner import run
from units import Bench

ADDR0, ADDR1, STRIDE0, STRIDE1 = 0x40000, 0x123450000, 0x10000, 0x7000000


def expected(bench: Bench, way: int, fields: dict[str, int]) -> list[list[int]]:
    """Both parts of the sum."""
    modulus, n, lanes = bench.modulus(way), bench.n, bench.lanes
    q = modulus.shifted
    before = [[0] * n if fields["init"] else bench.acc[fields["bank"]][p][way] for p in range(2)]
    operand = bench.x[fields["src"]][way]
    if fields["from_memory"]:
        words = bench.streams["rd"].memory[way].rows(ADDR0 + way * STRIDE0, n // lanes, lanes)
        operand = [x << modulus.shift for row in words for x in row]
    if fields["add"]:
        part = fields["part"]
        return [[(b + (a if p == part else 0)) % q for a, b in zip(operand, before[p], strict=True)] for p in range(2)]
    keys = bench.streams["key"].memory[way].rows(ADDR1 + way * STRIDE1, 2 * n // lanes, lanes)
    out = []
    for p in range(2):
        key = [x for row in keys[p::2] for x in row]
        out.append([(modulus.multiply(a, k) + b) % q for a, k, b in zip(operand, key, before[p], strict=True)])
    return out


@cocotb.test()
async def products(dut):
    bench = Bench(dut, 1)
    rng = bench.rng
    await bench.reset()
    cases = list(product((0, 1), (0, 1), (0, 1), (0, 1)))
    rng.shuffle(cases)
    for number, (init, from_memory, to_x, add) in enumerate(cases):
        bench.extreme = number == 4
        stall = (0.0, 0.3, 0.8)[number % 3]
        for streams in bench.streams.values():
            streams.stall = stall
        log_n = rng.randrange(bench.lanes.bit_length() - 1, bench.max_log_n + 1)
        mod, ways = rng.randrange(64), rng.randrange(1, 1 << bench.ways)
        fields = {"op": KMAC, "dst": rng.randrange(bench.buffers - 1), "src": rng.randrange(bench.buffers), "mod": mod}
        fields |= {"bank": rng.randrange(2), "part": rng.randrange(2), "ways": ways, "addr0": ADDR0, "addr1": ADDR1}
        fields |= {"stride0": STRIDE0, "stride1": STRIDE1}
        fields |= {"init": init, "from_memory": from_memory, "to_x": to_x, "add": add}
        bench.fill(mod, log_n)
        if number == 7:
            await bench.run(fields, log_n, stop=rng.randrange(1, 20))
            bench.fill(mod, log_n)
        x = [[list(limb) for limb in buffer] for buffer in bench.x]
        acc = [[[list(limb) for limb in part] for part in pair] for pair in bench.acc]
        for v in range(bench.ways):
            if ways >> v & 1:
                for p, limb in enumerate(expected(bench, v, fields)):
                    if to_x:
                        x[fields["dst"] + p][v] = limb
                    else:
                        acc[fields["bank"]][p][v] = limb
        cycles = await bench.run(fields, log_n)
        assert bench.x == x, f"{fields}"
        assert bench.acc == acc, f"{fields}"
        rows = bench.n // bench.lanes
        assert bench.written == 2 * rows * ways.bit_count()
        for name, wanted in (("rd", from_memory), ("key", not add)):
            assert bench.streams[name].asked == [int(wanted and ways >> v & 1) for v in range(bench.ways)]
        if stall == 0.0:
            assert cycles == 3 + 2 * rows + 16, f"{fields}: {cycles} cycles"


@pytest.mark.parametrize(
    ("kind", "width", "lanes", "ways", "twin"),
    [
        (BARRETT, 54, 4, 2, 1),
        (MONTGOMERY, 54, 2, 1, 0),
        pytest.param(BARRETT, 54, 4, 2, 0, marks=pytest.mark.long),
        pytest.param(MONTGOMERY, 54, 2, 1, 1, marks=pytest.mark.long),
        pytest.param(BARRETT, 60, 2, 1, 0, marks=pytest.mark.long),
        pytest.param(BARRETT, 60, 16, 1, 1, marks=pytest.mark.long),
        pytest.param(MONTGOMERY, 27, 4, 4, 1, marks=pytest.mark.long),
    ],
)
def test_omr_kmac(kind, width, lanes, ways, twin):
    run(
        "omr_kmac",
        {"W": width, "Lanes": lanes, "Ways": ways, "MaxLogN": 6, "Kind": kind, "Twin": twin},
        __file__,
        build_args=["--no-public-flat-rw", "--public-depth", "1"],
    )
