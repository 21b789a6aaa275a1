# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The aes machine's instructions, waits, memory and jobs, in the interpreter beside Python integers."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import numpy as np
import pytest

from ringforge.errors import FormatError, HardwareError, ParameterError
from ringforge.hw.machines.aes import measure, replica, validation
from ringforge.hw.machines.aes.config import AesConfig
from ringforge.hw.machines.aes.interpreter import Interpreter, check_waits
from ringforge.hw.machines.aes.jobs import Job, product, relinearise, transform
from ringforge.hw.machines.aes.layout import Memory, Target, constants, reversed_bits, root_of, rows_of, twiddles
from ringforge.hw.machines.aes.program import UNDER_WAY, Builder, Instruction, Op, Program, Unit
from ringforge.hw.machines.aes.runner import Interpreted
from ringforge.hw.machines.aes.timing import Timing
from tests.hw import aes_programs

NAMES = ("aes-small", "aes-paper-small", "aes-paper64-small")
SMALL, PAPER, PAPER64 = (AesConfig.named(name) for name in NAMES)


@pytest.fixture(params=NAMES)
def config(request) -> AesConfig:
    return AesConfig.named(request.param)


def residues(rng, target: Target, count: int, n: int) -> np.ndarray:
    """(count, primes, n)."""
    return np.stack([rng.integers(0, q, (count, n), dtype=np.uint32) for q in target.primes], axis=1)


def polynomial(a: np.ndarray, b: np.ndarray) -> list[int]:
    """A product in Z[x], by Python integers that hold a polynomial each."""
    bits = 80
    x, y = (sum(int(c) << bits * i for i, c in enumerate(p)) for p in (a, b))
    z, mask = x * y, (1 << bits) - 1
    return [z >> bits * i & mask for i in range(len(a) + len(b))]


def value(coefficients: np.ndarray, at: int, q: int) -> int:
    """Horner's rule."""
    found = 0
    for c in coefficients[::-1]:
        found = (found * at + int(c)) % q
    return found


def refuses(program: Program, *, fast: bool) -> bool:
    """Whether a program's waits are found to be too few."""
    try:
        check_waits(program, fast=fast)
    except HardwareError as e:
        return "may start before" in str(e)
    return False


# ---- instructions ---------------------------------------------------------------------------------


def test_instructions_are_what_they_were_before_encoding():
    rng = random.Random(1)
    for _ in range(200):
        given = Instruction(
            rng.choice(list(Op)), rng.randrange(16), rng.randrange(16), rng.randrange(16), rng.randrange(2),
            *(rng.random() < 0.5 for _ in range(4)), rng.randrange(2), rng.randrange(1 << 48), rng.randrange(1 << 32),
            rng.randrange(16), tuple(rng.randrange(1 << 16) for _ in Unit),
        )  # fmt: skip
        assert Instruction.decode(given.encode()) == given
    assert Instruction(Op.MUL, wait=(1 << 16, 65537, 0, 0)).encode() == Instruction(Op.MUL, wait=(0, 1, 0, 0)).encode()


def test_fields_lie_where_the_machine_looks():
    """Bits of the specification of the instruction set, written down once more."""
    code = Instruction(
        Op.LOADT, 1, 2, 3, 1, True, True, True, True, 1, 0xABCDEF012345, 77, 0b1010, (1, 2, 3, 0xFFFF)
    ).encode()
    assert code & 0xFFFFFFFF == 4 | 1 << 4 | 2 << 8 | 3 << 12 | 0x3F << 16 | 0b1010 << 24
    assert code >> 64 & (1 << 64) - 1 == 0xABCDEF012345
    assert code >> 128 & (1 << 64) - 1 == 1 | 2 << 16 | 3 << 32 | 0xFFFF << 48
    assert code >> 192 == 77


def test_instructions_that_are_none():
    with pytest.raises(ParameterError, match="addr of an instruction is 281474976710656, which 48 bits do not hold"):
        Instruction(Op.STORE, addr=1 << 48).encode()
    for op in (0, 12, 15):
        with pytest.raises(FormatError, match=f"there is no operation {op}"):
            Instruction.decode(op)


# ---- waits ----------------------------------------------------------------------------------------


def jobs_of(config: AesConfig) -> list[Job]:
    """Programs of every kind, on no memory."""
    target = aes_programs.target(config, config.min_log_n, 2)
    return [product(target, 4, [[(0, 1), (2, 3)], [(0, 0)]]), relinearise(target, 3, 3), transform(target, 3)]


@pytest.mark.parametrize("config", [SMALL, PAPER], ids=lambda c: c.name)
def test_waits_are_needed(config):
    """One count less, and the checker finds two instructions that may meet, unless other waits imply it."""
    for job in jobs_of(config):
        program, tried, refused = job.program, 0, 0
        check_waits(program, fast=config.fast)
        for number, i in enumerate(program.instructions):
            for unit in Unit:
                if i.need >> unit & 1:
                    wait = list(i.wait)
                    wait[unit] -= 1
                    less = replace(i, need=i.need if wait[unit] else i.need & ~(1 << unit), wait=tuple(wait))
                    spoilt = [*program.instructions]
                    spoilt[number] = less
                    tried += 1
                    refused += refuses(replace(program, instructions=spoilt), fast=config.fast)
        assert refused > 0.4 * tried


def test_loads_over_two_ports_wait_for_each_other():
    """LOAD's ports go on side by side: a slot's second writer waits unless it comes over the same one."""
    for port, needs in ((0, 0), (1, 1 << Unit.LOAD)):
        b = Builder(7, fast=True)
        b.add(Op.LOADX, dst=0, addr=4096)
        b.add(Op.LOADX, dst=0, addr=8192, port=port)
        program = b.program()
        assert program.instructions[1].need == needs
        check_waits(program, fast=True)
        spoilt = [program.instructions[0], replace(program.instructions[1], need=0)]
        assert refuses(Program(7, spoilt), fast=True) == (port == 1)


def test_buffers_have_one_reader_at_a_time_and_tables_many():
    b = Builder(7, fast=True)
    b.add(Op.LOADX, dst=0, addr=4096)
    b.add(Op.SCALE, dst=1, src=0)
    b.add(Op.STORE, src=0, addr=8192)
    assert b.after[2] == [0, 1]
    b.add(Op.LOADK, addr=4096)
    assert b.after[3] == []
    b.add(Op.LOADX, dst=2, addr=8192 + 256)
    assert b.after[4] == [2]


def test_waits_name_earlier_instructions():
    program = jobs_of(SMALL)[0].program
    number = next(n for n, i in enumerate(program.instructions) if i.op == Op.MUL)
    ahead = replace(program.instructions[number], need=1 << Unit.STORE, wait=(0, 0, 0, 1))
    spoilt = [*program.instructions[:number], ahead]
    with pytest.raises(HardwareError, match=f"instruction {number} waits for 1 of STORE: not earlier ones"):
        check_waits(replace(program, instructions=spoilt), fast=True)


def test_counts_that_the_machine_no_longer_knows():
    many = [Instruction(Op.LOADC, addr=4096)] * (1 << 15)
    last = Instruction(Op.LOADC, addr=4096, need=1, wait=(1, 0, 0, 0))
    check_waits(Program(7, [*many, last]), fast=True)
    with pytest.raises(HardwareError, match="waits for 1 of LOAD, which may have done 32769"):
        check_waits(Program(7, [*many, many[0], last]), fast=True)


def test_so_many_are_under_way_as_builders_think():
    """A queue, what LOAD has taken and not told, and the instruction at hand."""
    room = AesConfig.room / "rtl"
    depth = re.search(r"Depth = (\d+)", (room / "aes_issue.sv").read_text())
    most = re.search(r"Most = (\d+)", (room / "aes_load.sv").read_text())
    assert depth
    assert most
    assert int(depth[1]) + int(most[1]) + 1 <= UNDER_WAY


def test_orders_that_break_what_must_come_after_what():
    b = Builder(7, fast=True)
    b.add(Op.LOADX, dst=0, addr=4096)
    b.add(Op.STORE, src=0, addr=8192)
    with pytest.raises(ParameterError, match="instruction 1 comes before 0"):
        b.program([1, 0])


# ---- memory ---------------------------------------------------------------------------------------


def test_tables_are_powers_of_roots(config):
    q, n = aes_programs.primes(1)[0], 1 << 7
    w = root_of(q, n)
    assert pow(w, n // 2, q) == q - 1
    tables = twiddles(config, q, w, 7)
    for direction, base in enumerate((w, pow(w, -1, q))):
        for i in range(n // 2):
            exponent = int(format(i, "06b")[::-1], 2) if config.fast else i
            want = pow(base, exponent, q)
            if config.fast:
                want = want * (-1 if direction else 1) * (1 << 32) % q
            assert tables[direction, i] == want
    row = constants(config, q, 7)
    assert [int(x) for x in row[:3]] == [q, (1 << 62) // q & 0xFFFFFFFF, (1 << 62) // q >> 32]
    assert row[3] == (pow(2, 64, q) if config.fast else pow(n, -1, q))
    with pytest.raises(ParameterError, match="is no root of order 256"):
        twiddles(config, q, w, 8)


def test_arrays_are_mapped_without_a_copy():
    memory, words = Memory(SMALL), np.arange(2 * 3 * 64, dtype=np.uint32).reshape(2, 3, 64)
    assert np.shares_memory(rows_of(words, 64), words)
    at = memory.put("input", rows_of(words, 64))
    assert np.shares_memory(memory.words(at, 6 * 64), words)
    longer = rows_of(words, 128)
    assert longer.shape == (2, 3, 128)
    np.testing.assert_array_equal(longer[..., :64], words)
    assert not longer[..., 64:].any()
    with pytest.raises(ParameterError, match="polynomials of 64 words; this length of transforms takes 32"):
        rows_of(words, 32)


def test_keys_of_our_engine_are_views():
    target = aes_programs.target(SMALL, 7, 2)
    key = np.zeros((2, 128), np.uint32)
    assert np.shares_memory(target.words(key), key)
    published = aes_programs.target(PAPER, 7, 2)
    key[0] = np.arange(128)
    np.testing.assert_array_equal(published.words(published.words(key)), key)
    assert [int(x) for x in published.words(key)[0, :4]] == [0, 64, 32, 96]


def test_what_does_not_fit():
    small = SMALL.model_copy(update={"dram_bytes": 1 << 16})
    with pytest.raises(ParameterError, match="MiB are needed: take fewer ciphertexts at once"):
        relinearise(aes_programs.target(small, 9, 3), 8, 4)
    for log_n in (6, 14):
        with pytest.raises(ParameterError, match=r"aes-small takes transforms of 2\^7 to 2\^13 words"):
            aes_programs.target(SMALL, log_n, 1)
    with pytest.raises(ParameterError, match="takes primes of 31 bits that are 1 modulo"):
        Target(SMALL, 7, (12289,), (1,))
    with pytest.raises(ParameterError, match="a product takes an operand that is not one of 2"):
        product(aes_programs.target(SMALL, 7, 1), 2, [[(0, 2)]])
    with pytest.raises(ParameterError, match="a sum of no products"):
        product(aes_programs.target(SMALL, 7, 1), 2, [[(0, 1)], []])


# ---- what jobs compute ------------------------------------------------------------------------------


def test_sums_of_products_are_those_of_polynomials(config):
    rng = np.random.default_rng(3)
    target, n = aes_programs.target(config, 7, 2), 61
    operands = residues(rng, target, 5, n)
    operands[0] = np.array(target.primes, np.uint32)[:, None] - 1
    outputs = [[(0, 0)], [(1, 2), (3, 4), (0, 1)], [(4, 4), (2, 0)]]
    job = product(target, operands, outputs)
    Interpreted().run(job)
    for made, terms in zip(job.results(), outputs, strict=True):
        for r, q in enumerate(target.primes):
            want = [0] * target.n
            for a, b in terms:
                for i, c in enumerate(polynomial(operands[a, r], operands[b, r])):
                    want[i] = (want[i] + c) % q
            assert [int(c) for c in made[r]] == want


def test_many_operands_pass_through_few_buffers(config):
    """Every output takes all of them, so that none can stay."""
    rng = np.random.default_rng(4)
    target = aes_programs.target(config, 7, 1)
    operands = residues(rng, target, 7, 64)
    outputs = [[(a, (a + o) % 7) for a in range(7)] for o in range(3)]
    job = product(target, operands, outputs)
    Interpreted().run(job)
    for made, terms in zip(job.results(), outputs, strict=True):
        sums = [polynomial(operands[a, 0], operands[b, 0]) for a, b in terms]
        want = [sum(c) % target.primes[0] for c in zip(*sums, strict=True)]
        assert [int(c) for c in made[0]] == want


def test_outputs_that_share_products(config):
    """Side by side, each with its own terms as often as it has them; and fewer transforms than one by one."""
    rng, primes = np.random.default_rng(7), 2
    target = aes_programs.target(config, 7, primes)
    operands = residues(rng, target, 6, 64)
    shared = [(0, 1), (2, 3), (4, 5)]
    outputs = [[*shared, (1, 0), (3, 3)], [(5, 5)], [(1, 0), *shared[1:], (0, 1), (0, 1)], shared, shared[:1]]
    job = product(target, operands, outputs)
    Interpreted().run(job)
    for made, terms in zip(job.results(), outputs, strict=True):
        for r, q in enumerate(target.primes):
            sums = [polynomial(operands[a, r], operands[b, r]) for a, b in terms]
            assert [int(c) for c in made[r]] == [sum(c) % q for c in zip(*sums, strict=True)]
    apart = sum(product(target, 6, [terms]).program.counts()["LOADS"] for terms in outputs)
    assert job.program.counts()["LOADS"] < 0.7 * apart
    assert job.program.counts()["MUL"] == primes * sum(map(len, outputs))


@pytest.mark.parametrize("batch", [None, 1, 2])
def test_relinearisation_sums_digits_times_keys(config, batch):
    rng = np.random.default_rng(5)
    target, n, steps = aes_programs.target(config, 7, 2), 60, 3
    key_polynomials = residues(rng, target, steps, n)
    order, keys = reversed_bits(target.n), []
    for d in range(steps):
        rows = [
            [value(key_polynomials[d, r], pow(w, int(j), q), q) for j in order]
            for r, (q, w) in enumerate(zip(target.primes, target.roots, strict=True))
        ]
        keys.append(target.words(np.array(rows, np.uint32)))
    digits = [rng.integers(0, 1 << 16, (steps, n), dtype=np.uint16) for _ in range(3)]
    digits[0][0] = 0xFFFF
    job = relinearise(target, keys, digits, batch)
    Interpreted().run(job)
    for made, given in zip(job.results(), digits, strict=True):
        for r, q in enumerate(target.primes):
            sums = [polynomial(given[d].astype(np.uint32), key_polynomials[d, r]) for d in range(steps)]
            want = [sum(c) % q for c in zip(*sums, strict=True)]
            assert [int(c) for c in made[r]] == want + [0] * (target.n - len(want))


def test_transforms_are_values_at_powers_of_the_root(config):
    rng = np.random.default_rng(6)
    target = aes_programs.target(config, 7, 2)
    operands = residues(rng, target, 2, 64)
    job = transform(target, operands)
    Interpreted().run(job)
    made = job.results()
    order = reversed_bits(target.n) if config.fast else range(target.n)
    for s in range(2):
        for r, (q, w) in enumerate(zip(target.primes, target.roots, strict=True)):
            assert [int(x) for x in made[s, r]] == [value(operands[s, r], pow(w, int(j), q), q) for j in order]


def test_batches_share_readings_of_keys():
    target = aes_programs.target(SMALL, 7, 2)
    reads = {batch: relinearise(target, 4, 4, batch).program.counts()["LOADK"] for batch in (1, 2)}
    assert reads == {1: 4 * 4 * 2, 2: 2 * 4 * 2}
    with pytest.raises(ParameterError, match="1 to 2, are possible"):
        relinearise(target, 4, 4, 3)


def test_measured_results_are_compared_another_way(config):
    """`measure` holds every word against products of matrices, and finds one that differs."""
    size = measure.Size(config.min_log_n, primes=2, count=2, terms=2, digits=3, ciphertexts=2)
    for case in measure.singles(config):
        assert measure.single(config, Timed(), size, case).words == 2 << size.log_n
    for name, run in measure.WHOLE.items():
        assert run(config, Timed(), size).words == (2 if name == "product" else 4) << size.log_n
        with pytest.raises(HardwareError, match="1 of 128 words differ"):
            run(config, Wrong(), size)
    with pytest.raises(ParameterError, match="to measure alone, not add"):
        measure.single(config, Timed(), size, "add")


class Timed(Interpreted):
    """The interpreter, timed."""

    def run(self, job, progress=None):
        made, timed = super().run(job, progress), replica.run(job.target.config, job.program)
        return replace(made, cycles=timed.cycles, busy={u.name: c for u, c in timed.busy.items()})


class Wrong(Timed):
    """One word is wrong."""

    def run(self, job, progress=None):
        made = super().run(job, progress)
        job.memory.words(job.output, 4)[3] ^= 1
        return made


# ---- what the interpreter refuses ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "given", "why"),
    [
        (SMALL, [(Op.REVX, {"dst": 1})], "does not reverse"),
        (PAPER, [(Op.LOADX, {"addr": 4096}), (Op.REVX, {})], "X 0 is reversed into itself"),
        (SMALL, [(Op.STORE, {"addr": 4096})], "reads what was never written: X 0"),
        (SMALL, [(Op.LOADK, {"addr": 4096, "dst": 2})], "there is no K 2, but 2"),
        (PAPER, [(Op.LOADX, {"addr": 4096, "port": 1})], "there is no port 1, but 1"),
        (SMALL, [(Op.LOADX, {"addr": 4104})], "address 0x1008 is no multiple of 32"),
        (SMALL, [(Op.LOADT, {"addr": 4096})], "a table of 0 rows, of 8"),
        (SMALL, [(Op.LOADT, {"addr": 4096, "rows": 9})], "a table of 9 rows, of 8"),
        (SMALL, [(Op.LOADX, {"addr": 4096}), (Op.MUL, {"src2": 0, "key": 1})], "adds to X 0, which is a factor"),
        (SMALL, [(Op.LOADC, {"addr": 4096}), (Op.SCALE, {})], "the constants of set 0 do not fit together"),
    ],
)
def test_what_the_machine_refuses(config, given, why):
    memory = Memory(config)
    memory.put("input", np.full(1 << 9, 5, np.uint32))
    b = Builder(7, config.fast)
    for op, fields in given:
        b.add(op, **fields)
    with pytest.raises(HardwareError, match=why):
        Interpreter(config, memory.dram).run(b.program())


@pytest.mark.parametrize("number", range(8))
def test_random_programs_say_the_same_in_any_order(config, number):
    """Waits make an order: the program as it was drawn, and another one that waits allow."""
    drawn = aes_programs.case(config, 7, number, 40)
    Interpreter(config, drawn.memory).run(drawn.program)
    again = aes_programs.case(config, 7, number, 40)
    order = random.Random(number)
    left = list(range(len(again.program.instructions)))
    machine, of_unit = Interpreter(config, again.memory), dict.fromkeys(Unit, 0)
    machine._n = 1 << 7
    while left:
        free = []
        for unit in Unit:
            first = next((n for n in left if again.program.instructions[n].unit == unit), None)
            if first is not None:
                i = again.program.instructions[first]
                if all(of_unit[u] >= i.wait[u] for u in Unit if i.need >> u & 1):
                    free.append(first)
        chosen = order.choice(free)
        left.remove(chosen)
        i = again.program.instructions[chosen]
        machine._step(i, 7)
        of_unit[i.unit] += 1
    np.testing.assert_array_equal(again.polynomials, drawn.polynomials)


# ---- time ---------------------------------------------------------------------------------------------


def test_cycles_of_full_size():
    """The machines' targets for one instruction, by their engines' structure."""
    ours, published = Timing(AesConfig.named("aes-fast"), 16), Timing(AesConfig.named("aes-paper"), 16)
    assert ours.exec(Instruction(Op.NTT)) <= 4400
    assert ours.exec(Instruction(Op.NTT, half=True)) <= 3840 + 60
    assert published.exec(Instruction(Op.NTT)) <= 12_720
    for level in range(2, 17):
        assert sum(published.passes(level)) <= 531 + 264


def test_later_memory_takes_longer():
    target, last = aes_programs.target(SMALL, 9, 2), 0
    for latency in (5, 50, 200):
        config = SMALL.model_copy(update={"link_latency": latency, "dram_latency": latency})
        now = replica.run(config, relinearise(replace(target, config=config), 4, 1).program).cycles
        assert now > last
        last = now


def test_relinearisation_at_full_size():
    """Keys over the link are what takes time; computing is hidden behind them."""
    config = AesConfig.named("aes-fast").model_copy(update={"link_gap": 0})
    made = measure.relinearisation(config, None, measure.Size(16, primes=4, digits=20))
    per_key = made.cycles / (4 * 20)
    assert 8192 <= per_key <= 8192 * 1.05
    assert made.busy["EXEC"] / made.cycles < 0.6


def test_drawn_jobs_are_of_many_kinds():
    drawn = validation.cases()
    assert {d.machine for d in drawn} == set(validation.MACHINES)
    assert {d.kind for d in drawn} == {"product", "relinearisation", "transforms"}
    assert len({(d.machine, d.kind) for d in drawn}) == 9
    assert len({d.log_n for d in drawn}) >= 3
    assert max(d.link for d in drawn) > 8 * min(d.link for d in drawn)
