# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""omr_scale against Python integers: canonical words, exact fractions, their sum over ways."""

import cocotb
import pytest
from instructions import SCALE
from modular import BARRETT, MONTGOMERY, parameter
from runner import run
from units import Bench


@cocotb.test()
async def sources(dut):
    bench = Bench(dut, 1, scale=True)
    width, rng, twin = bench.width, bench.rng, parameter("Twin", 0)
    await bench.reset()

    def short(way: int) -> int:
        return width - bench.modulus(way).q.bit_length()

    for number in range(10):
        bench.extreme = number == 4
        log_n = rng.randrange(bench.lanes.bit_length() - 1, bench.max_log_n + 1)
        mod, ways = rng.randrange(64), rng.randrange(1, 1 << bench.ways)
        bench.fill(mod, log_n)
        fields = {"op": SCALE, "dst": rng.randrange(4), "src": rng.randrange(bench.buffers), "mod": mod, "ways": ways}
        fields |= {"bank": rng.randrange(bench.banks - bench.ways + 1), "k": rng.choice([0, 2046, rng.randrange(2046)])}
        fields["init"] = rng.randrange(2)
        k = fields["k"]
        for v in range(bench.ways):
            bench.constants[v][k + 1] = (1 << 2 * width) // (bench.modulus(v).q << short(v))
        if number == 7:
            await bench.run(fields, log_n, stop=rng.randrange(1, 30))
            bench.fill(mod, log_n)
            for v in range(bench.ways):
                bench.constants[v][k + 1] = (1 << 2 * width) // (bench.modulus(v).q << short(v))
        d, v_sums = [list(limb) for limb in bench.d], [list(limb) for limb in bench.v]
        total = [0 if fields["init"] else x for x in v_sums[fields["dst"]]]
        for v in range(bench.ways):
            if not ways >> v & 1:
                continue
            modulus, constants = bench.modulus(v), bench.constants[v]
            y = [modulus.multiply(x, constants[k]) for x in bench.x[fields["src"]][v]]
            d[fields["bank"] + v] = [x >> modulus.shift for x in y]
            for i, x in enumerate(d[fields["bank"] + v]):
                fraction = (x << short(v)) * constants[k + 1] >> width
                assert 0 <= (x << width) // modulus.q - fraction <= 1
                total[i] += fraction
        v_sums[fields["dst"]] = [x % (1 << width + 6) for x in total]
        cycles = await bench.run(fields, log_n)
        assert bench.d == d, f"{fields}"
        assert bench.v == v_sums, f"{fields}"
        rows = bench.n // bench.lanes
        assert bench.written == rows * (ways.bit_count() + 1)
        assert cycles == 3 + rows + 20, f"twin {twin}: {cycles} cycles"


@pytest.mark.parametrize(
    ("kind", "width", "lanes", "ways", "twin"),
    [
        (MONTGOMERY, 54, 4, 2, 0),
        (BARRETT, 54, 4, 1, 1),
        pytest.param(BARRETT, 54, 4, 1, 0, marks=pytest.mark.long),
        pytest.param(MONTGOMERY, 54, 4, 2, 1, marks=pytest.mark.long),
        pytest.param(BARRETT, 60, 2, 4, 0, marks=pytest.mark.long),
        pytest.param(BARRETT, 60, 16, 1, 1, marks=pytest.mark.long),
        pytest.param(BARRETT, 27, 4, 2, 0, marks=pytest.mark.long),
        pytest.param(MONTGOMERY, 27, 4, 2, 1, marks=pytest.mark.long),
    ],
)
def test_omr_scale(kind, width, lanes, ways, twin):
    run(
        "omr_scale",
        {"W": width, "Lanes": lanes, "Ways": ways, "Banks": 9, "MaxLogN": 6, "Kind": kind, "Twin": twin},
        __file__,
        build_args=["--no-public-flat-rw", "--public-depth", "1"],
    )
