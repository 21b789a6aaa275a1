# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""rf_alu computes all modes at the stated latency, with another mode and another modulus in every cycle."""

import random

import cocotb
import pytest
from modular import BARRETT, BUTTERFLY_LATENCY, MONTGOMERY, Modulus, check_pipeline, moduli, parameter, start_clock
from runner import run

MUL_ADD, FORWARD, INVERSE, SUB_MUL = range(4)


def lift(x: int, p: Modulus, q: Modulus) -> int:
    """The centred lift of a shifted residue, as a definition: through the signed number."""
    value = x >> p.shift
    return ((value if value <= p.q // 2 else value - p.q) % q.q) << q.shift


def row(rng: random.Random, mode: int, q: Modulus, p: Modulus | None, lanes: int) -> tuple[dict, dict]:
    """Operands and settings of one row, and what must come out; a modulus `p` says that the row is lifted."""
    m, half = q.shifted, (q.q + 1) // 2
    a = [(p if p and mode == MUL_ADD else q).residue(rng) for _ in range(lanes)]
    c = [(p if p and mode == SUB_MUL else q).residue(rng) for _ in range(lanes)]
    b = [q.operand(rng) for _ in range(lanes)]
    lifted_a = [lift(x, p, q) for x in a] if p and mode == MUL_ADD else a
    lifted_c = [lift(x, p, q) for x in c] if p and mode == SUB_MUL else c
    expected: list[int] = []
    for e in range(0, lanes, 2):
        o = e + 1
        if mode == FORWARD:
            product = q.multiply(a[o], b[o])
            expected += [(a[e] + product) % m, (a[e] - product) % m]
        elif mode == INVERSE:
            expected += [(a[e] + a[o]) * half % m, q.multiply((a[o] - a[e]) * half % m, b[o])]
        elif mode == MUL_ADD:
            expected += [(c[i] + q.multiply(lifted_a[i], b[i])) % m for i in (e, o)]
        else:
            expected += [q.multiply((a[i] - lifted_c[i]) % m, b[i]) for i in (e, o)]
    settings = {"mode_i": mode, "lift_i": int(p is not None), "shift_i": q.shift, "q_i": m, "k_i": q.k}
    # What is not lifted must not depend on p.
    return {**settings, "p_i": p.shifted if p else rng.getrandbits(q.width), "a_i": a, "b_i": b, "c_i": c}, {
        "r_o": expected
    }


@cocotb.test()
async def rows_of_any_mode_and_modulus(dut):
    width, lanes, kind = parameter("W", 54), parameter("Lanes", 2), parameter("Kind", 0)
    rng = random.Random(1)
    drawn = list(moduli(width, kind))
    start_clock(dut)

    def sample():
        mode, q = rng.randrange(4), rng.choice(drawn)
        # Lifts are between moduli of one length; the transforms' own settings must not be touched by them.
        p = rng.choice([x for x in drawn if x.shift == q.shift]) if rng.random() < 0.6 else None
        return row(rng, mode, q, p, lanes)

    await check_pipeline(dut, rng, {}, 1200, BUTTERFLY_LATENCY, sample)


@pytest.mark.parametrize(
    ("kind", "twin"), [(BARRETT, 0), (MONTGOMERY, 0), (BARRETT, 1), pytest.param(MONTGOMERY, 1, marks=pytest.mark.long)]
)
def test_rf_alu(kind, twin):
    run("rf_alu", {"W": 54, "Lanes": 4 if twin else 2, "Kind": kind, "Twin": twin}, __file__)


def test_rf_alu_short_in_luts():
    run("rf_alu", {"W": 54, "Lanes": 2, "Kind": MONTGOMERY, "ShortInLuts": 1}, __file__)
