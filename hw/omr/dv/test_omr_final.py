# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""omr_final against Python integers, with and without a limb that is added, with and without pauses of its stream."""

import cocotb
import pytest
from instructions import FINAL
from modular import BARRETT, MONTGOMERY
from runner import run
from units import Bench

ADDR0, STRIDE0 = 0x987650000, 0x20000


@cocotb.test()
async def divisions(dut):
    bench = Bench(dut, 1)
    rng = bench.rng
    await bench.reset()
    for number in range(12):
        bench.extreme = number == 4
        bench.streams["rd"].stall = stall = (0.0, 0.0, 0.3, 0.8)[number % 4]
        log_n = rng.randrange(bench.lanes.bit_length() - 1, bench.max_log_n + 1)
        mod, ways = rng.randrange(64), rng.randrange(1, 1 << bench.ways)
        fields = {"op": FINAL, "dst": rng.randrange(bench.buffers), "src": rng.randrange(bench.buffers), "mod": mod}
        fields |= {"bank": rng.randrange(2), "part": rng.randrange(2), "ways": ways, "addr0": ADDR0, "stride0": STRIDE0}
        fields |= {"k": rng.choice([0, 2047, rng.randrange(2048)]), "add": number % 2}
        bench.fill(mod, log_n)
        if number == 7:
            await bench.run(fields, log_n, stop=rng.randrange(1, 20))
            bench.fill(mod, log_n)
        want = [[list(limb) for limb in buffer] for buffer in bench.x]
        rows = bench.n // bench.lanes
        for v in range(bench.ways):
            if not ways >> v & 1:
                continue
            modulus, q = bench.modulus(v), bench.modulus(v).shifted
            more = [0] * bench.n
            if fields["add"]:
                words = bench.streams["rd"].memory[v].rows(ADDR0 + v * STRIDE0, rows, bench.lanes)
                more = [x << modulus.shift for row in words for x in row]
            constant = bench.constants[v][fields["k"]]
            source = bench.acc[fields["bank"]][fields["part"]][v], bench.x[fields["src"]][v], more
            limb = [(modulus.multiply((a - x) % q, constant) + m) % q for a, x, m in zip(*source, strict=True)]
            want[fields["dst"]][v] = limb
        cycles = await bench.run(fields, log_n)
        assert bench.x == want, f"{fields}"
        assert bench.written == rows * ways.bit_count()
        assert bench.streams["rd"].asked == [fields["add"] & ways >> v & 1 for v in range(bench.ways)]
        if stall == 0.0:
            assert cycles == 3 + rows + 16, f"{fields}: {cycles} cycles"


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
def test_omr_final(kind, width, lanes, ways, twin):
    run(
        "omr_final",
        {"W": width, "Lanes": lanes, "Ways": ways, "MaxLogN": 6, "Kind": kind, "Twin": twin},
        __file__,
        build_args=["--no-public-flat-rw", "--public-depth", "1"],
    )
