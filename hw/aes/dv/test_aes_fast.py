# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The fast engine against sums over all coefficients: programs drawn at random, both sets of tables in turns.

All of X is compared after each program, the cycles of every command are checked, and ports are watched by the bench.
"""

import cocotb
import pytest
from fast_engine import MUL, NTT, SCALE, begin
from modular import parameter
from runner import run
from transform_model import Field, R, primes, product

BUILD = ["--no-public-flat-rw", "--public-depth", "1"]


@cocotb.test()
async def programs(dut):
    """One set is at work while the other one is written; then both, with one prime and two roots."""
    bench = await begin(dut, 5)
    rng = bench.rng
    choice = [primes()[0], primes()[-1]]
    for log_n in range(parameter("MinLogN", 6), parameter("MaxLogN", 9) + 1):
        bench.log_n, bench.n = log_n, 1 << log_n
        dut.log_n_i.value = log_n
        at = rng.randrange(2)
        field = Field(rng.choice(choice), log_n, rng.randrange(4))
        await bench.load(at, field, bench.scale(field.q))
        for turn in range(3):
            field = bench.fields[at]
            await bench.fill(field.q)
            other = Field(field.q if turn == 1 else rng.choice([*choice, *primes()]), log_n, rng.randrange(4))
            loading = cocotb.start_soon(bench.load(1 - at, other, bench.scale(other.q)))
            await bench.program(bench.draw((at,), 5), pauses=turn == 1)
            await loading
            if turn == 1:
                await bench.program(bench.draw((0, 1), 4))
            await bench.compare(f"N = {bench.n}, turn {turn}")
            at = 1 - at


@cocotb.test()
async def product_of_polynomials(dut):
    """Two polynomials of N/2 words, padded: the product that a host asks for, and sums of products with keys."""
    bench = await begin(dut, 9)
    bench.log_n = parameter("MaxLogN", 9)
    bench.n = 1 << bench.log_n
    dut.log_n_i.value = bench.log_n
    for q in (primes()[-1], bench.rng.choice(primes())):
        await bench.load(0, Field(q, bench.log_n), R * R % q)
        await bench.fill(q)
        a, b = (bench.s[i] for i in (3, 1))
        await bench.program(
            [
                bench.command(op=NTT, dst=0, src=3, half=1),
                bench.command(op=NTT, dst=1, src=1, half=1),
                bench.command(op=SCALE, dst=0, src=0),
                bench.command(op=MUL, dst=0, src=0, src2=1, init=1),
                bench.command(op=NTT, dst=2, src=0, inverse=1),
            ]
        )
        await bench.compare("product")
        assert (bench.x[2] == product(a, b, q)).all()


@cocotb.test()
async def stopped_in_the_middle(dut):
    """A reset in any cycle of any command leaves nothing behind."""
    bench = await begin(dut, 7)
    bench.log_n = parameter("MinLogN", 6)
    bench.n = 1 << bench.log_n
    dut.log_n_i.value = bench.log_n
    q = bench.rng.choice(primes())
    await bench.load(1, Field(q, bench.log_n), bench.scale(q))
    for c in bench.draw((1,), 6):
        await bench.start(c)
        await bench.tick(bench.rng.randrange(bench.cycles(c)))
        await bench.reset()
        assert (int(dut.busy_o.value), int(dut.cmd_ready_o.value)) == (0, 1)
        await bench.fill(q)
        await bench.program(bench.draw((1,), 1))
        await bench.compare(f"after {c}")


@pytest.mark.parametrize(("lanes", "low", "high", "twin"), [(8, 5, 8, 0), (16, 7, 9, 0), (16, 7, 9, 1), (32, 7, 9, 0)])
def test_aes_fast(lanes, low, high, twin):
    parameters = {"Lanes": lanes, "MinLogN": low, "MaxLogN": high, "Twin": twin}
    run("fast_bench", parameters, __file__, build_args=BUILD)
