# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""psi_digits, psi_subs and psi_source: digits of both rules, maps, accumulators, and the order of polynomials."""

import random

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly
from modular import parameter
from psi_reference import Gadget, Ring, primes
from runner import run
from stage_bench import Downstream
from test_psi_pipe import INIT, PRODUCT, SUBSTITUTE

DIGIT_LATENCY, SOURCE_LATENCY = 4, 6


@cocotb.test(skip=parameter("Block", 0) != 0)
async def digits(dut):
    """Every digit of random and extreme residues, fields changing from cycle to cycle, all shifts."""
    width = parameter("W", 27)
    rng = random.Random(1)
    Clock(dut.clk_i, 2, "ns").start(start_high=False)
    for shift in range(0, 16, 3):
        ring = Ring(primes(width - shift, 16)[0], 3, width)
        q, bits = ring.q, width - shift
        dut.shift_i.value, dut.q_i.value = shift, ring.shifted
        waiting = []
        for _ in range(250):
            base = rng.randrange(1, min(bits, 30) + 1)
            balanced = base > 1 and rng.random() < 0.6
            drop = rng.randrange(bits - 1) if balanced else 0
            gadget = Gadget(base, min(-(-(bits - drop) // base), 15), drop, balanced)
            if base * gadget.count + drop > bits + 2:
                continue
            j, passed = rng.randrange(gadget.count), rng.random() < 0.1
            x = [rng.choice([0, 1, q - 1, q // 2, q // 2 + 1, rng.randrange(q)]) for _ in range(4)]
            dut.pass_i.value, dut.balanced_i.value = passed, balanced
            dut.last_i.value, dut.log_base_i.value = j == gadget.count - 1, base
            dut.right_i.value, dut.offset_i.value = drop + j * base, gadget.offset << shift
            dut.x_i.value = [v << shift for v in x]
            # A last digit that holds more than the gadget covers is left open; so are uncovered moduli.
            covered = gadget.log_base * gadget.count + drop >= bits
            waiting.append([(v if passed else gadget.cut(v, q)[j]) << shift for v in x] if covered else None)
            await FallingEdge(dut.clk_i)
            if len(waiting) == DIGIT_LATENCY:
                want = waiting.pop(0)
                assert want is None or [int(v) for v in dut.x_o.value] == want


@cocotb.test(skip=parameter("Block", 0) != 1)
async def maps(dut):
    """Places and signs of every word, with pauses, for random and extreme elements at both lengths."""
    width, log_n = parameter("W", 27), parameter("LogN", 8)
    rng = random.Random(1)
    Clock(dut.clk_i, 2, "ns").start(start_high=False)
    for long in (1, 0):
        ring = Ring(primes(width, 2 << log_n)[0], log_n - 1 + long, width)
        n, q = ring.n, ring.q
        dut.long_i.value, dut.q_i.value = long, q
        dut.rst_ni.value, dut.valid_i.value = 0, 0
        await FallingEdge(dut.clk_i)
        dut.rst_ni.value = 1
        for element in [1, 3, 2 * n - 1, n + 1, n - 1, *(rng.randrange(1, 2 * n, 2) for _ in range(6))]:
            dut.element_i.value = element >> 1
            poly, got, at, valid = ring.random(rng), [None] * n, 0, False
            while None in got:
                if valid:
                    assert int(dut.we_o.value)
                    rows = [int(r) for r in dut.row_o.value]
                    for parity, pair in enumerate((dut.even_o, dut.odd_o)):
                        for high, x in enumerate(pair.value):
                            place = 2 * rows[parity] + parity + high * n // 2
                            assert got[place] is None
                            got[place] = int(x)
                else:
                    assert not int(dut.we_o.value)
                valid = at < n // 4 and rng.random() < 0.8
                dut.valid_i.value = int(valid)
                if valid:
                    dut.first_i.value = int(at == 0)
                    dut.x_i.value = [poly[i] for i in (2 * at, 2 * at + 1, 2 * at + n // 2, 2 * at + 1 + n // 2)]
                    at += 1
                await FallingEdge(dut.clk_i)
            assert got == ring.automorphism(poly, element)


@cocotb.test(skip=parameter("Block", 0) != 2)
async def polynomials(dut):
    """Operations of all kinds through the buffers; polynomials in order, with what is told of each; resets."""
    width, log_n = parameter("W", 27), parameter("LogN", 8)
    rng = random.Random(1)
    Clock(dut.clk_i, 2, "ns").start(start_high=False)
    gadgets = Gadget(9, 3, 0, True), Gadget(width, 1), Gadget(7, 3, width - 20, True)
    for long, stop in ((1, None), (0, 500), (0, None), (0, 900), (0, None)):
        ring = Ring(primes(width, 2 << log_n)[0], log_n - 1 + long, width)
        n, lwe_log = ring.n, rng.choice((4, ring.log_n, ring.log_n + 1))
        for name in ("rst_ni", "op_valid_i", "valid_i", "start_i", "re_i", "done_i"):
            getattr(dut, name).value = 0
        dut.long_i.value, dut.shift_i.value, dut.q_i.value, dut.lwe_log_i.value = long, 0, ring.q, lwe_log
        dut.gadget_i.value = [g.bits for g in gadgets]
        dut.offset_i.value = [g.offset for g in gadgets]
        for _ in range(2):
            await FallingEdge(dut.clk_i)
        dut.rst_ni.value = 1

        ops, expected = [], []
        for _ in range(8):
            kind, loop = rng.choice((PRODUCT, SUBSTITUTE, INIT)), rng.getrandbits(1)
            element, at = rng.randrange(1, 2 * n, 2), rng.randrange(1 << lwe_log)
            rlwe = ring.random(rng), ring.random(rng)
            ops.append((kind, loop, element, at, rlwe))
            if kind == INIT:
                rlwe = ring.accumulator(at, lwe_log)
            if kind == SUBSTITUTE:
                rlwe = ring.automorphism(rlwe[0], element), ring.automorphism(rlwe[1], element)
                polys = [(p, 0) for p in ring.digits(rlwe[0], gadgets[2])] + [(rlwe[1], 1)]
            else:
                polys = [(p, 0) for p, g in zip(rlwe, gadgets, strict=False) for p in ring.digits(p, g)]
            for i, (poly, passed) in enumerate(polys):
                told = loop << 4 | (kind == SUBSTITUTE) << 3 | passed << 2 | (i == 0) << 1 | (i == len(polys) - 1)
                expected.append((told, poly))

        down = Downstream(dut, rng, SOURCE_LATENCY, n // 4, None)
        chance, words = rng.choice((1.0, 0.2)), []
        for cycle in range(400 * n):
            if cycle == stop:
                break
            down.drive(chance)
            op = bool(ops) and not words
            dut.op_valid_i.value = int(op)
            if op:
                kind, loop, element, at, rlwe = ops[0]
                dut.op_i.value = kind << 23 | loop << 22 | element << 10 | at
            # The words come some time after the operation has been taken.
            coming = bool(words) and words[0] is not None and rng.random() < 0.7
            dut.valid_i.value = int(coming)
            if coming:
                dut.x_i.value = words.pop(0)
            elif words and words[0] is None:
                words.pop(0)
            await ReadOnly()
            down.sample()
            if op and int(dut.op_ready_o.value):
                ops.pop(0)
                if kind != INIT:
                    words = [None] * 17
                    for poly in rlwe:
                        for c in range(n // 4):
                            words.append([poly[i] for i in (2 * c, 2 * c + 1, 2 * c + n // 2, 2 * c + 1 + n // 2)])
            await FallingEdge(dut.clk_i)
            if len(down.polys()) == len(expected):
                break
        if stop is None:
            assert len(down.polys()) == len(expected), "the source stands still"
            assert int(dut.busy_o.value) == 0
        for (told, words_read), (said, poly) in zip(down.polys(), expected, strict=False):
            want = [[poly[i] for i in (2 * r, 2 * r + 1, 2 * r + n // 2, 2 * r + 1 + n // 2)] for r in range(n // 4)]
            assert told == said
            assert words_read == want


@pytest.mark.long
@pytest.mark.parametrize("width", [27, 54])
def test_psi_digits(width):
    run("psi_digits", {"W": width}, __file__, env={"PARAM_Block": "0"})


@pytest.mark.long
def test_psi_subs():
    run("psi_subs", {"W": 27, "LogN": 8}, __file__, env={"PARAM_Block": "1"})


@pytest.mark.long
def test_psi_source():
    run("psi_source", {"W": 27, "LogN": 8}, __file__, env={"PARAM_Block": "2"}, optimise="-O1")
