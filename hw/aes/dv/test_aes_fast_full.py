# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The fast engine at full size: every command on 65,536 words in rows of 256, all words and cycles."""

import cocotb
import pytest
from fast_engine import MUL, NTT, SCALE, begin
from modular import parameter
from runner import run
from transform_model import Field, R, primes, product

BUILD = ["--no-public-flat-rw", "--public-depth", "1"]


@cocotb.test()
async def every_command(dut):
    """A product of padded polynomials, while the other set is written; then that set, and sums."""
    bench = await begin(dut, 3)
    bench.log_n = parameter("MaxLogN", 16)
    bench.n = 1 << bench.log_n
    dut.log_n_i.value = bench.log_n
    q, other = primes()[-1], primes()[0]
    await bench.load(1, Field(q, bench.log_n, 1), R * R % q)
    await bench.fill(q)
    a, b = bench.s[2], bench.s[0]
    loading = cocotb.start_soon(bench.load(0, Field(other, bench.log_n), bench.scale(other)))
    await bench.program(
        [
            bench.command(op=NTT, dst=0, src=2, half=1, set=1),
            bench.command(op=NTT, dst=1, src=0, half=1, set=1),
            bench.command(op=SCALE, dst=0, src=0, set=1),
            bench.command(op=MUL, dst=0, src=0, src2=1, init=1, set=1),
            bench.command(op=NTT, dst=3, src=0, inverse=1, set=1),
        ]
    )
    await loading
    await bench.compare("product")
    assert (bench.x[3] == product(a, b, q)).all()
    await bench.fill(other)
    await bench.program(
        [
            bench.command(op=MUL, dst=2, src=1, src2=1, key=1),
            bench.command(op=MUL, dst=3, src=1, src2=0),
            bench.command(op=NTT, dst=1, src=2),
            bench.command(op=NTT, dst=0, src=0, inverse=1),
        ]
    )
    await bench.compare("sums")
    cycles = {name: bench.cycles(bench.command(op=op, half=half)) for name, op, half in KINDS}
    dut._log.info("cycles from command to done: %s", cycles)
    assert cycles == {"transform": 4128, "padded": 3872, "element-wise": 532}


KINDS = (("transform", NTT, 0), ("padded", NTT, 1), ("element-wise", MUL, 0))


@pytest.mark.long
@pytest.mark.parametrize("twin", [0, 1])
def test_aes_fast_full(twin):
    parameters = {"Lanes": 256, "MinLogN": 10, "MaxLogN": 16, "Twin": twin}
    run("fast_bench", parameters, __file__, build_args=BUILD, optimise="-O1")
