# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The omr machine's instructions, waits, rotations and their order, in the interpreter and against the library."""

from __future__ import annotations

import random
from dataclasses import replace
from math import prod

import numpy as np
import pytest

from ringforge._native import kernels
from ringforge.errors import FormatError, HardwareError, ParameterError
from ringforge.hw.machines.omr import measure, replica
from ringforge.hw.machines.omr.affine import babies
from ringforge.hw.machines.omr.config import OmrConfig
from ringforge.hw.machines.omr.interpreter import Interpreter, check_waits
from ringforge.hw.machines.omr.layout import Tables, Target, interleaved, modulus_entry, radix
from ringforge.hw.machines.omr.measure import Size
from ringforge.hw.machines.omr.program import Builder, Instruction, Op, Program, Unit
from ringforge.hw.machines.omr.rotation import Banks, Pool
from ringforge.hw.machines.omr.runner import Interpreted
from ringforge.hw.machines.omr.schedule import schedule
from ringforge.hw.machines.omr.timing import Timing

SMALL, WIDE = OmrConfig.named("omr-small"), OmrConfig.named("omr-small-wide")


def target(config: OmrConfig, size: Size) -> Target:
    return measure.target_of(config, size.context(config))


def rotations(config: OmrConfig, size: Size, count: int) -> Program:
    """A chain, on no memory."""
    return babies(target(config, size), None, None, count).program


def refuses(program: Program) -> bool:
    """Whether a program's waits are found to be too few."""
    try:
        check_waits(program)
    except HardwareError as e:
        return "may start before" in str(e)
    return False


# ---- instructions ---------------------------------------------------------------------------------


def test_instructions_are_what_they_were_before_encoding():
    rng = random.Random(1)
    for _ in range(200):
        given = Instruction(
            rng.choice(list(Op)), rng.randrange(256), rng.randrange(256), rng.randrange(256), rng.randrange(1 << 16),
            rng.randrange(256), rng.randrange(16), rng.randrange(16), rng.randrange(1 << 48), rng.randrange(1 << 48),
            rng.randrange(1 << 16), *(rng.random() < 0.5 for _ in range(4)), rng.randrange(1 << 17),
            rng.randrange(1 << 48), rng.randrange(1 << 48), rng.randrange(256),
            tuple(rng.randrange(1 << 16) for _ in Unit),
        )  # fmt: skip
        assert Instruction.decode(given.encode()) == given
    assert (
        Instruction(Op.LOADX, wait=(1 << 16, 65537, 0, 0, 0, 0, 0, 0)).encode()
        == Instruction(Op.LOADX, wait=(0, 1, 0, 0, 0, 0, 0, 0)).encode()
    )


def test_instructions_that_are_none():
    with pytest.raises(ParameterError, match="element of an instruction is 131072, which 17 bits do not hold"):
        Instruction(Op.AUTO, element=1 << 17).encode()
    for op in (0, 14, 15):
        with pytest.raises(FormatError, match=f"there is no operation {op}"):
            Instruction.decode(op)


# ---- waits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("config", [SMALL, WIDE], ids=lambda c: c.name)
def test_every_wait_that_nothing_else_implies_is_needed(config):
    program, refused = rotations(config, Size(10, 4, 2, 2), 2), 0
    check_waits(program)
    for number, i in enumerate(program.instructions):
        for unit in Unit:
            if not i.need >> unit & 1:
                continue
            wait = list(i.wait)
            wait[unit] -= 1
            less = replace(i, need=i.need if wait[unit] else i.need & ~(1 << unit), wait=tuple(wait))
            spoilt = replace(program, instructions=[*program.instructions])
            spoilt.instructions[number] = less
            refused += refuses(spoilt)
    assert refused > len(program.instructions) // 2


def test_waits_name_earlier_instructions():
    program = rotations(SMALL, Size(10, 4, 2, 2), 1)
    number = next(n for n, i in enumerate(program.instructions) if i.op == Op.KMAC)
    ahead = replace(program.instructions[number], need=1 << Unit.STORE, wait=(0, 0, 0, 0, 0, 0, 1, 0))
    spoilt = replace(program, instructions=[*program.instructions[:number], ahead])
    with pytest.raises(HardwareError, match=f"instruction {number} waits for 1 of STORE: not earlier ones"):
        check_waits(spoilt)


def test_orders_of_a_unit_may_change():
    """Readers of a buffer in another order than they were written: what overwrites it waits for all of them."""
    b = Builder(6)
    b.add(Op.LOADX, dst=0, ways=1)
    first = b.add(Op.STORE, src=0, addr0=4096, ways=1)
    second = b.add(Op.STORE, src=0, addr0=8192, ways=1)
    last = b.add(Op.LOADX, dst=0, ways=1)
    assert b.after[last] == [0, first, second]
    check_waits(b.program([0, second, first, last]))
    with pytest.raises(ParameterError, match=f"instruction {last} comes before {first}"):
        b.program([0, second, last, first])


@pytest.mark.parametrize("seed", range(4))
def test_any_order_that_builders_take_is_safe(seed):
    made, b = random.Random(seed), Builder(6)
    for _ in range(300):
        x, y, bank = made.sample(range(6), 2)[0], made.randrange(6), made.randrange(2)
        at = made.randrange(8) << 9
        match made.choice((Op.LOADX, Op.STORE, Op.NTT, Op.LOADT, Op.SCALE, Op.CONV, Op.KMAC, Op.FINAL)):
            case Op.LOADX:
                b.add(Op.LOADX, dst=x, addr0=at, ways=1)
            case Op.STORE:
                b.add(Op.STORE, src=x, addr0=at, addr1=at + 512, add=made.random() < 0.5, ways=1)
            case Op.NTT:
                b.add(Op.NTT, dst=x, src=y, bank=bank, ways=1)
            case Op.LOADT:
                b.add(Op.LOADT, dst=bank, addr0=at, ways=1)
            case Op.SCALE:
                b.add(Op.SCALE, dst=bank, src=x, bank=y, init=made.random() < 0.5, ways=1)
            case Op.CONV:
                b.add(Op.CONV, dst=x, src=bank, bank=y, count=3, ways=1)
            case Op.KMAC:
                b.add(Op.KMAC, src=x, bank=bank, init=made.random() < 0.5, ways=1)
            case Op.FINAL:
                b.add(Op.FINAL, dst=x, src=y, bank=bank, part=made.randrange(2), ways=1)
    left, order = {n: set(after) for n, after in enumerate(b.after)}, []
    while left:
        number = made.choice([n for n, after in left.items() if not after])
        del left[number]
        order.append(number)
        for after in left.values():
            after.discard(number)
    check_waits(b.program(order))


# ---- buffers --------------------------------------------------------------------------------------


def test_pools_give_what_is_free_longest():
    pool = Pool(4)
    assert [pool.take() for _ in range(3)] == [0, 1, 2]
    pool.give(1, 0)
    assert pool.take() == 3
    assert pool.take(1) == 0
    assert pool.take() == 1
    with pytest.raises(HardwareError, match="more buffers than the machine has"):
        pool.take()
    pool.give(0, 1, 2)
    assert pool.run(2, 1) == [1, 2]
    with pytest.raises(HardwareError, match="more buffers"):
        pool.run(2, 0)


def test_banks_of_uneven_digits_change_places():
    """Each rotation's last digit takes the place of the other one, which is longer: nothing is left in pieces."""
    banks = Banks(0, 19)
    long, short = banks.take(10), banks.take(9)
    for _ in range(5):
        assert long is not None
        assert short is not None
        banks.give(long, 10)
        next_short = banks.take(9)
        assert next_short is not None
        assert banks.take(10) is None
        banks.give(short, 9)
        long, short = banks.take(10), next_short


# ---- rotations ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "size", "count"),
    [
        (SMALL, Size(10, 3, 2, 2, 50), 2),  # a digit of one limb, primes shorter than words
        (SMALL, Size(11, 5, 3, 3, 47), 3),
        (SMALL, Size(10, 2, 2, 2), 2),  # one digit
        (SMALL, Size(10, 2, 1, 1), 2),  # digits and P of one limb
        (WIDE, Size(11, 5, 3, 3), 3),  # groups that are not full
        (WIDE, Size(10, 6, 4, 3, 49), 2),
    ],
    ids=["short digit", "three in a chain", "one digit", "digits of one limb", "groups not full", "short primes"],
)
def test_rotations_are_the_library_s(config, size, count):
    """Every word; `measure` holds them against the library's."""
    assert measure.rotation(config, Interpreted(), size, count).words == 2 * count * size.limbs << size.log_n


def test_rotations_of_other_orders_are_the_same():
    """The order of building, in which units do one thing after the other, gives the same words."""
    size = Size(10, 4, 2, 2)
    context, rng = size.context(WIDE), np.random.default_rng(3)
    t = target(WIDE, size)
    n, shape = 1 << size.log_n, (2, t.limbs)
    given = np.stack([[rng.integers(0, t.q[i], n).astype(np.uint64) for i in range(t.limbs)] for _ in range(2)])
    assert given.shape == (*shape, n)
    assert context.params.degree == n
    key = np.stack(
        [
            interleaved(WIDE, *(rng.integers(0, q, n).astype(np.uint64) for _ in range(2)))
            for _ in t.digits
            for q in t.ext
        ]
    ).reshape(-1)
    found = []
    for reordered in (False, True):
        job = babies(t, key, given, 2)
        if reordered:
            ops = [replace(i, need=0, wait=(0,) * len(Unit)) for i in job.program.instructions]
            b = Builder(t.log_n)
            for i in ops:
                b.add(
                    i.op,
                    **{f: getattr(i, f) for f in Instruction.__dataclass_fields__ if f not in ("op", "need", "wait")},
                )
            s = schedule(b, lambda i: 1000 if i.op == Op.CONV else 1)
            assert s.order != sorted(s.order)
            Interpreter(WIDE, job.memory.dram).run(b.program(s.order))
        else:
            Interpreted().run(job.program, job.memory)
        found.append(job.limbs(t))
    np.testing.assert_array_equal(found[0], found[1])


@pytest.mark.long
def test_a_rotation_of_the_paper_s_size_is_the_library_s():
    config = OmrConfig.named("omr-paper")
    assert measure.rotation(config, Interpreted(), measure.size_of(config)).words == 2 * 19 << 16


def test_conversions_keep_digits_centred():
    """SCALE and CONV on numbers at the edges: the representative nearest to 0, whatever the primes."""
    for config in (SMALL, WIDE):
        t = target(config, Size(10, 3, 3, 3))
        tables, whole = Tables.of(t), prod(t.q)
        group = t.groups[-1][0]
        at = tables.convert[0, group]
        inverse = pow(radix(config), -1, t.p[0])
        held = [c * inverse % t.p[0] for c in tables.constants[0][at : at + 4]]
        for x in (0, 1, whole - 1, whole // 2, whole // 2 + 1, 12345678901234567890123):
            scaled = [x * pow(whole // q, -1, q) % q for q in t.q]
            turns = round(sum(y / q for y, q in zip(scaled, t.q, strict=True)))
            centred = x if x <= whole // 2 else x - whole
            if abs(2 * x - whole) > whole >> 40:
                got = sum(y * c for y, c in zip(scaled, held, strict=False)) + turns * held[3]
                assert got % t.p[0] == centred % t.p[0]


# ---- what the machine does not take ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "size", "message"),
    [
        (SMALL, Size(10, 6, 2, 2), "3 digits of 2 limbs; omr-small has accumulators for the quotients of 2"),
        (SMALL, Size(10, 30, 15, 15), "30 limbs and twice 15 special ones; omr-small holds 48"),
        (SMALL, Size(13, 2, 2, 2), "omr-small takes N = 2"),
        (SMALL, Size(10, 2, 2, 2, 46), "omr-small takes odd moduli of 47 to 54 bits"),
        (SMALL.model_copy(update={"buffers": 4}), Size(10, 2, 2, 2), "omr-small has 4 buffers; rotations take 6"),
    ],
)
def test_rings_that_do_not_fit(config, size, message):
    with pytest.raises(ParameterError, match=message):
        target(config, size)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"banks": 64}, "less than or equal to 63"),
        ({"sources": 8, "banks": 5}, "8 sources of 5 banks: take fewer sources"),
        ({"lanes": 2, "min_log_n": 6, "max_log_n": 7}, "raise max_log_n, or take more lanes"),
        ({"butterflies": 16}, "raise min_log_n"),
        ({"lanes": 16}, "take more butterflies"),
        ({"burst_rows": 32}, "read_rows must be two bursts at least"),
        ({"ways": 2}, "ports must be 8"),
    ],
)
def test_configurations_of_which_there_is_no_machine(change, message):
    given = SMALL.model_dump()
    OmrConfig.model_validate(given)
    with pytest.raises(ValueError, match=message):
        OmrConfig.model_validate(given | change)


def test_primes_of_montgomery_machines():
    q = int(kernels.primes_below(54, 1, 1 << 12)[0])
    assert q % (1 << 18) != 1
    with pytest.raises(ParameterError, match="1 modulo 2"):
        modulus_entry(WIDE, q)


def test_memory_that_does_not_suffice():
    little = SMALL.model_copy(update={"dram_bytes": 1 << 20})
    with pytest.raises(ParameterError, match=r"1 MiB of memory, at least \d+ MiB are needed: take fewer limbs, or"):
        babies(target(little, Size(10, 4, 2, 2)), None, None, 40)


# ---- time -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "size"), [("omr-paper", Size(16, 19, 10, 10)), ("omr-u55c", Size(16, 24, 12, 12, 49))]
)
def test_units_are_busy_at_full_size(name, size):
    """The busiest unit of a rotation: CONV of the paper's mix, transforms of ours; what bounds them is counted here."""
    config = OmrConfig.named(name)
    t, rows = target(config, size), config.limb_rows(16)
    program = rotations(config, size, 3)
    timed = replica.run(config, program)
    each = timed.cycles / 3
    if name == "omr-paper":
        conversions = 10 * 19 + 9 * 20 + 2 * 19 * 10
        assert conversions == 750
        assert conversions * rows <= each <= 1.05 * conversions * rows
    else:
        transforms = (t.limbs + 2 * 12 + 2 * 12 + 3 * t.limbs) // config.ways
        assert transforms * 8192 <= each <= 1.25 * transforms * 8192
    own = Timing(config, 16)
    alone = sum(own.cycles(i) for i in program.instructions)
    assert timed.cycles < alone
