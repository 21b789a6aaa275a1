# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""omr_conv against the sum of integers, reduced by Python; twin and hardware give it in the same cycles."""

import cocotb
import pytest
from instructions import CONV
from modular import BARRETT, MONTGOMERY
from runner import run
from units import Bench


def expected(bench: Bench, way: int, fields: dict[str, int]) -> list[int]:
    modulus, constants = bench.modulus(way), bench.constants[way]
    bank, k, count = fields["bank"], fields["k"], fields["count"]
    out = []
    for i in range(bench.n):
        quotient = (bench.v[fields["src"]][i] + (1 << bench.width - 1)) >> bench.width
        total = sum(bench.d[bank + s][i] * constants[k + s] for s in range(count)) + quotient * constants[k + count]
        out.append(total * modulus.radix_inverse % modulus.q << modulus.shift)
    return out


@cocotb.test()
async def conversions(dut):
    bench = Bench(dut, 1)
    share = 2 if bench.sources > 1 else min(bench.lanes, 8)
    levels = (bench.sources - 1).bit_length()
    extra = bench.banks.bit_length()
    await bench.reset()
    counts = [1, bench.sources, bench.sources + 1, 2 * bench.sources, bench.banks, bench.rng.randrange(1, bench.banks)]
    for number, count in enumerate(counts * 2):
        bench.extreme = number == 4
        log_n = bench.rng.randrange(bench.lanes.bit_length() - 1, bench.max_log_n + 1)
        mod = bench.rng.randrange(64)
        bench.fill(mod, log_n)
        ways = bench.rng.randrange(1, 1 << bench.ways)
        fields = {"op": CONV, "dst": bench.rng.randrange(bench.buffers), "src": bench.rng.randrange(4), "mod": mod}
        fields |= {"bank": bench.rng.randrange(bench.banks - count + 1), "count": count, "ways": ways}
        fields |= {"k": bench.rng.choice([0, 2047 - count, bench.rng.randrange(2000 - count)])}
        if number == 8:
            await bench.run(fields, log_n, stop=bench.rng.randrange(1, 60))
            bench.fill(mod, log_n)
        want = [list(limb) for limb in bench.x[fields["dst"]]]
        for v in range(bench.ways):
            if ways >> v & 1:
                want[v] = expected(bench, v, fields)
        cycles = await bench.run(fields, log_n)
        assert bench.x[fields["dst"]] == want, f"{fields}"
        rows = bench.n // bench.lanes
        assert bench.written == rows * ways.bit_count()
        row = max(-(-count // bench.sources), share)
        assert cycles == count + 5 + row * rows + 18 + levels + extra + share, f"{fields}: {cycles} cycles"


@pytest.mark.parametrize(
    ("kind", "width", "lanes", "ways", "sources", "twin"),
    [
        (BARRETT, 54, 4, 1, 1, 0),
        (MONTGOMERY, 54, 4, 2, 3, 1),
        pytest.param(BARRETT, 54, 4, 1, 1, 1, marks=pytest.mark.long),
        pytest.param(MONTGOMERY, 54, 4, 2, 3, 0, marks=pytest.mark.long),
        pytest.param(MONTGOMERY, 54, 4, 2, 4, 1, marks=pytest.mark.long),
        pytest.param(MONTGOMERY, 54, 2, 2, 6, 0, marks=pytest.mark.long),
        pytest.param(BARRETT, 60, 2, 2, 3, 0, marks=pytest.mark.long),
        pytest.param(BARRETT, 60, 16, 1, 1, 1, marks=pytest.mark.long),
        pytest.param(MONTGOMERY, 60, 2, 1, 1, 0, marks=pytest.mark.long),
        pytest.param(MONTGOMERY, 60, 2, 1, 1, 1, marks=pytest.mark.long),
        pytest.param(BARRETT, 27, 4, 1, 1, 0, marks=pytest.mark.long),
        pytest.param(MONTGOMERY, 27, 4, 4, 6, 1, marks=pytest.mark.long),
    ],
)
def test_omr_conv(kind, width, lanes, ways, sources, twin):
    parameters = {"W": width, "Lanes": lanes, "Ways": ways, "Sources": sources, "Banks": 13, "MaxLogN": 5}
    run(
        "omr_conv",
        parameters | {"Kind": kind, "Twin": twin},
        __file__,
        build_args=["--no-public-flat-rw", "--public-depth", "1"],
    )
