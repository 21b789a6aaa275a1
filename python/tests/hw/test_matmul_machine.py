# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The simulated matmul accelerator against the interpreter: every operation, random programs, refusals, ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest

from ringforge.errors import HardwareError, IllegalInstructionError
from ringforge.hw.core.registers import Register, field
from ringforge.hw.core.simulator import Simulation
from ringforge.hw.machines.matmul.config import FameConfig
from ringforge.hw.vector.interpreter import Interpreter
from ringforge.hw.vector.isa import BFrom, Instruction, Opcode, Scope, decode, description, encode, field_table
from tests.hw.local_bench import PROGRAMS, STRIDE, LocalBench, hold, place
from tests.hw.shared_coverage import LENGTH, SEEDS
from tests.hw.shared_programs import SharedPrograms, chain, kinds

Machines = Callable[[str], Simulation[FameConfig]]
KINDS = ["fame-small", pytest.param("fame-small-montgomery", marks=pytest.mark.long)]


@pytest.fixture
def sim(machines: Machines) -> Simulation[FameConfig]:
    """The small machine, freshly reset."""
    sim = machines("fame-small")
    sim.reset()
    return sim


# ---- results ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize(("log_n", "bits"), [(7, 54), (8, 50), (11, 50)])
def test_every_operation_is_bit_exact(machines: Machines, name: str, log_n: int, bits: int) -> None:
    sim = machines(name)
    sim.reset()
    bench = LocalBench(sim.config, log_n, bits)
    bench.run(sim, bench.everything())


def random_programs(sim: Simulation[FameConfig], seeds: Iterable[int], length: int = LENGTH) -> None:
    """Runs random programs, and holds that among them was every kind of instruction."""
    met: set[str] = set()
    for seed in seeds:
        case = SharedPrograms(sim.config, seed, length)
        programs, memory, expected = case.encoded(), case.image(), case.image()
        Interpreter(sim.config, expected).run(programs)
        hold(sim, programs, memory, expected)
        met |= {k for p in programs for k in kinds(decode(p))}
    missing = {o.name for o in Opcode} - {"REDUCE"} - ({"SEND", "RECV"} if sim.config.pes == 1 else set()) - met
    assert missing | ({"pair of NTT", "pair of INTT", "MAC with lift", "NTT with lift"} - met) == set()


@pytest.mark.parametrize(
    ("name", "first", "count"),
    [
        ("fame-small", SEEDS.start, len(SEEDS)),
        pytest.param("fame-small", 100, 400, marks=pytest.mark.long),
        pytest.param("fame-small-montgomery", 500, 300, marks=pytest.mark.long),
    ],
)
def test_random_programs(machines: Machines, name: str, first: int, count: int) -> None:
    sim = machines(name)
    sim.reset()
    random_programs(sim, range(first, first + count))


@pytest.mark.parametrize("seeds", [range(4000, 4001), pytest.param(range(4010, 4050), marks=pytest.mark.long)])
def test_degrees_follow_each_other(sim: Simulation[FameConfig], seeds: range) -> None:
    """CONF in mid-program: short polynomials after long ones and the other way round, copies and stores before it."""
    for seed in seeds:
        degrees = [int(x) for x in np.random.default_rng(seed).permutation([7, 7, 8, 9, 10])]
        programs, memory = chain(sim.config, 10 * seed, 40, degrees)
        expected = deepcopy(memory)
        Interpreter(sim.config, expected).run(programs)
        hold(sim, programs, memory, expected)


def meaning(i: Instruction) -> set[str]:
    """The fields of an instruction that it depends on."""
    used = {"op", *description()["instructions"][i.op.name]["uses"]}
    if i.op is Opcode.MAC:
        used -= {"imm"} if i.b_from != BFrom.IMM else set()
        used -= {"b"} if i.b_from != BFrom.SLOT else set()
        used -= {"c"} if not i.pre_sub and not i.post_add else set()
    if i.op in (Opcode.NTT, Opcode.INTT) and not i.pair:
        used -= {"pair_dst", "pair_a", "pair_tw", "pair_mod"}
    return used - (set() if i.lift else {"src_mod", "src_mod_high"})


def littered(words: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The same instructions with bits at random wherever they do not matter."""
    out = rng.integers(0, 1 << 64, words.shape, np.uint64)
    for n, i in enumerate(decode(words)):
        for name in meaning(i):
            f = field_table()[name]
            mask = np.uint64(((1 << f.width) - 1) << f.lsb)
            out[n, f.word] = out[n, f.word] & ~mask | words[n, f.word] & mask
    return out


def test_bits_without_a_meaning_have_no_effect(sim: Simulation[FameConfig]) -> None:
    """Instructions bit by bit: whatever stands in fields that an operation does not use, or not with these others."""
    rng = np.random.default_rng(1)
    for seed in range(3000, 3002):
        case = SharedPrograms(sim.config, seed, LENGTH)
        expected = case.image()
        Interpreter(sim.config, expected).run(case.encoded())
        programs = [littered(p, rng) for p in case.encoded()]
        again = case.image()
        Interpreter(sim.config, again).run(programs)
        assert np.array_equal(again.near, expected.near)
        hold(sim, programs, case.image(), expected)


# ---- refusals -----------------------------------------------------------------------------------------

OPERATION, SLOT, CONF, ADDRESS, OPERAND, BUS = (
    "unknown operation", "a slot outside", "CONF", "not aligned", "out of range", "bus error",
)  # fmt: skip


def refused(b: LocalBench) -> dict[str, tuple[list[Instruction], str]]:
    """Programs whose last instruction is refused, and a word of the message."""
    i, s, c, t = Instruction, b.slot, b.config, b.table
    z, o, w, h = s(0, 0), s(1, 0), s(2, 0), s(3, 0)
    line, lost = c.line_bytes, c.element_bytes
    pair = i.ntt(w, z, t(0), 0).beside(i.ntt(h, z, t(0), 0))
    one = b.setup()[0]
    prime = b.primes[0] << b.shift
    body: dict[str, tuple[Instruction, str]] = {
        "operation": (i(99), OPERATION),  # type: ignore[arg-type]
        "zeros": (i(0), OPERATION),  # type: ignore[arg-type]
        "reduce": (i.reduce(o, z, 0), OPERATION),
        "bank": (i.load(s(4, 0), b.input(2)), SLOT),
        "row": (i.load(s(2, 0) + 1, b.input(2)), SLOT),
        **{f"end of bank {n}": (i.load(s(n, c.bank_slots(b.log_n, n)), b.input(2)), SLOT) for n in range(c.banks)},
        "end of the tables": (i.load(s(7, c.twiddle_slots(b.log_n)), b.input(0)), SLOT),
        "table in a bank": (i.ntt(w, z, z, 0), SLOT),
        "slot in the tables": (i.ntt(w, t(0), t(0), 0), SLOT),
        "row of a table": (i.ntt(w, z, t(0) + 1, 0), SLOT),
        "a and c in a bank": (i.mac(o, z, 0, imm=1, c=s(0, 1), post_add=True), SLOT),
        "a and b in a bank": (i.mac(o, z, 0, b=s(0, 1)), SLOT),
        "b and c in a bank": (i.mac(o, z, 0, b=s(1, 1), c=o, post_add=True), SLOT),
        "automorphism in place": (i.auto(z, z, 5), SLOT),
        "pair's destination": (replace(pair, pair_dst=s(4, 0)), SLOT),
        "pair's source": (replace(pair, pair_a=s(0, c.bank_slots(b.log_n, 0))), SLOT),
        "pair's row": (replace(pair, pair_a=pair.pair_a + 1), SLOT),
        "pair's table": (replace(pair, pair_tw=z), SLOT),
        "pair in one slot": (replace(pair, pair_dst=w), SLOT),
        "pair over the second source": (replace(pair, dst=o, pair_a=o), SLOT),
        "pair over the first source": (replace(pair, pair_dst=z, a=z, pair_a=o), SLOT),
        "subtract and add": (i.mac(w, z, 0, imm=1, c=o, pre_sub=True, post_add=True), OPERAND),
        "no such multiplier": (replace(i.mac(w, z, 0, imm=1), b_from=3), OPERAND),
        "even element": (i.auto(w, z, 4), OPERAND),
        "large element": (i.auto(w, z, 2 * b.degree + 1), OPERAND),
        "send to itself": (i.send(z, 1), OPERAND),
        "send to nobody": (i.send(z, 0), OPERAND),
        "send beyond": (i.send(z, 1 << c.pes), OPERAND),
        "receive from itself": (i.recv(z, 0), OPERAND),
        "receive from nobody": (i.recv(z, c.pes), OPERAND),
        "scope": (i.sync(3), OPERAND),
        "load between lines": (i.load(w, b.input(2) + line // 2), ADDRESS),
        "load between beats": (i.load(w, b.input(2) + 32), ADDRESS),
        "stream between lines": (i.stream(b.input(4) + 64), ADDRESS),
        "store between lines": (i.store(z, b.output(0) + 64), ADDRESS),
        "copy between lines": (i.copy(b.output(0) + 64, b.input(2)), ADDRESS),
        "copy from between lines": (i.copy(b.output(0), b.input(2) + 64), ADDRESS),
        "load behind the segment": (i.load(w, lost), ADDRESS),
        "load over the segment's end": (i.load(w, lost - line), ADDRESS),
        "stream behind the segment": (i.stream(lost), ADDRESS),
        "store behind the segment": (i.store(z, lost), ADDRESS),
        "store over the segment's end": (i.store(z, lost - line), ADDRESS),
        "copy behind the segment": (i.copy(lost, b.input(2)), ADDRESS),
        "copy from behind the segment": (i.copy(b.output(0), c.element_far_bytes), ADDRESS),
        "address of 49 bits": (i.load(w, 1 << 48), ADDRESS),
        "far address of 49 bits": (i.copy(b.output(0), 1 << 48), ADDRESS),
        "load where nothing is": (i.load(w, lost // 2), BUS),
        "store where nothing is": (i.store(z, lost // 2), BUS),
        "stream where nothing is": (i.stream(lost // 2), BUS),
        "copy where nothing is": (i.copy(lost // 2, b.input(2)), BUS),
        "copy from where nothing is": (i.copy(b.output(0), c.element_far_bytes // 2), BUS),
    }
    first: dict[str, tuple[list[Instruction], str]] = {
        "no degree": ([i.load(z, b.input(2))], CONF),
        "no degree, copy": ([i.copy(b.output(0), b.input(2))], CONF),
        "small degree": ([i.conf(c.min_log_n - 1, 0)], CONF),
        "large degree": ([i.conf(c.max_log_n + 1, 0)], CONF),
        "shift": ([i(Opcode.CONF, imm=b.log_n | 8 << 8)], CONF),
        "stray bit of CONF": ([i(Opcode.CONF, imm=b.log_n | 32 | b.shift << 8)], CONF),
        "modulus without its shift": ([one, i.modulus(40, b.primes[0], 1)], CONF),
        "modulus of too many bits": ([one, i.modulus(40, prime << 1, 1)], CONF),
    }
    return first | {name: ([*b.setup(), step], word) for name, (step, word) in body.items()}


def raw(program: list[Instruction]) -> np.ndarray:
    """Words of a program, of instructions too whose operations do not exist."""
    known = {int(o) for o in Opcode}
    rows = [encode([i])[0] if int(i.op) in known else np.array([i.op, 0, 0, 0], np.uint64) for i in program]
    return np.stack(rows)


def test_refused_instructions_stop_the_machine(sim: Simulation[FameConfig]) -> None:
    """Each with its code, its element and its place; the next program runs and is right without a reset."""
    b = LocalBench(sim.config, 8)
    wrong = []
    good = [*b.setup(), Instruction.mac(b.slot(2, 0), b.slot(0, 0), 0, imm=7)]
    good = [*good, Instruction.store(b.slot(2, 0), b.output(0)), Instruction.end()]
    for n, (case, (program, word)) in enumerate(refused(b).items()):
        at = n % sim.config.pes
        programs = [encode([Instruction.end()])] * sim.config.pes
        if "itself" in case or "beyond" in case:
            at = 0
        programs[at] = raw([*program, Instruction.end()])
        sim.unmap_all()
        b.memory().map(sim)
        place(sim, programs)
        try:
            sim.run(PROGRAMS, STRIDE, limit=50_000)
        except HardwareError as error:
            text = str(error)
            where = "" if word == BUS else f"element {at}, after {len(program) - 1} instructions"
            if word not in text or where not in text:
                wrong.append(f"{case}: {text}")
            if n % 8 == 0:
                b.run(sim, good)
        else:
            wrong.append(f"{case}: runs")
    assert not wrong, "\n".join(wrong)
    b.run(sim, b.everything())


# ---- ends of runs -------------------------------------------------------------------------------------

ABORT = field("COMMAND", "ABORT").mask
DONE, ERROR, ABORTED = (field("STATUS", n).mask for n in ("DONE", "ERROR", "ABORTED"))


class Job:
    """Random programs of all elements, what they must leave in memory, and their cycles."""

    def __init__(self, sim: Simulation[FameConfig], seed: int) -> None:
        self.sim, case = sim, SharedPrograms(sim.config, seed, 80)
        self.programs, self.before, self.after = case.encoded(), case.image(), case.image()
        Interpreter(sim.config, self.after).run(self.programs)
        self.cycles = self.run()

    def run(self) -> int:
        return hold(self.sim, self.programs, self.before, self.after)

    def start(self) -> None:
        self.sim.unmap_all()
        self.arrays = self.before.map(self.sim)
        place(self.sim, self.programs)
        self.sim.start(PROGRAMS, STRIDE)


def end_anywhere(sim: Simulation[FameConfig], seed: int, times: int) -> None:
    """Ends runs by the host, by the watchdog and by the reset line, and runs the job again after each."""
    job = Job(sim, seed)
    rng = np.random.default_rng(seed)
    for n, at in enumerate(int(x) for x in [*range(1, 9, 3), *rng.integers(1, job.cycles - 30, times)]):
        if n % 3 == 0:
            job.start()
            assert not sim.advance(at)
            sim.write(Register.COMMAND, ABORT)
            assert sim.advance(20_000), "an abort ends"
            assert sim.read(Register.STATUS) == DONE | ERROR | ABORTED
        elif n % 3 == 1:
            sim.watch(at)
            job.start()
            assert sim.advance(at + 20_000)
            assert sim.read(Register.STATUS) == DONE | ERROR
            sim.watch(0)
        else:
            job.start()
            sim.advance(at)
            sim.reset()
        left = [a.copy() for a in job.arrays]
        sim.advance(500)
        assert all(np.array_equal(a, b) for a, b in zip(left, job.arrays, strict=True)), "written after the end"
        job.run()


def test_runs_end_at_any_moment(sim: Simulation[FameConfig]) -> None:
    end_anywhere(sim, 5, 9)


@pytest.mark.long
@pytest.mark.parametrize("name", ["fame-small", "fame-small-montgomery"])
def test_runs_end_at_any_moment_under_stalls(machines: Machines, name: str) -> None:
    config = machines(name).config
    for seed, stall in ((1, 0), (2, 30), (3, 70)):
        with Simulation(config, optimise="-O1", stall_percent=stall, seed=seed) as slow:
            end_anywhere(slow, seed, 60)


@pytest.mark.parametrize("stall", [20, pytest.param(70, marks=pytest.mark.long)])
def test_stalls_of_memory_change_nothing_but_time(machines: Machines, stall: int) -> None:
    config = machines("fame-small").config
    with Simulation(config, optimise="-O1", stall_percent=stall, seed=stall) as slow:
        random_programs(slow, range(1000, 1005))


def waiting(b: LocalBench) -> dict[str, list[list[Instruction]]]:
    """Programs that wait for ever: for a partner, for the other element, for data."""
    i, s, setup = Instruction, b.slot, b.setup()
    return {
        "receive": [[*setup, i.recv(s(0, 0), 1), i.end()], [i.end()]],
        "send": [[*setup, i.send(s(0, 0), 2), i.end()], [i.end()]],
        "sync": [[*setup, i.copy(b.output(0), b.input(2)), i.sync(Scope.GROUP), i.end()], [i.end()]],
        "stream": [[*setup, i.mac(s(0, 0), s(0, 0), 0, stream=True), i.end()], [i.end()]],
    }


def test_programs_that_wait_for_ever_are_ended(sim: Simulation[FameConfig]) -> None:
    b = LocalBench(sim.config, 8)
    for what, programs in waiting(b).items():
        sim.unmap_all()
        b.memory().map(sim)
        place(sim, [encode(p) for p in programs])
        sim.watch(4000)
        with pytest.raises(HardwareError, match=r"element 0.*watchdog"):
            sim.run(PROGRAMS, STRIDE, limit=50_000)
        sim.watch(0)
        sim.start(PROGRAMS, STRIDE)
        assert not sim.advance(8000), what
        sim.write(Register.COMMAND, ABORT)
        assert sim.advance(20_000), what
    b.run(sim, b.everything())


def test_changing_one_word_changes_the_result(sim: Simulation[FameConfig]) -> None:
    """The comparison is sharp: one wrong bit of a table, a key, a far polynomial or an instruction is seen."""
    b = LocalBench(sim.config, 8)
    programs = b.all(b.everything())
    expected = b.expected(programs)
    for case in range(4):
        memory, other = b.memory(), [p.copy() for p in programs]
        if case < 2:
            memory.near[0, b.input((1, 3)[case]) + 100] ^= 1
        elif case == 2:
            memory.far[0, b.input(4) + 100] ^= 1
        else:
            other[0][next(n for n, i in enumerate(decode(programs[0])) if i.imm == 5), 2] ^= np.uint64(2)
        with pytest.raises(AssertionError, match="memory differs"):
            hold(sim, other, memory, expected)


def test_entries_that_were_not_written_do_no_harm(sim: Simulation[FameConfig]) -> None:
    """The interpreter refuses them; the machine computes something, comes to its end, and the next run is right."""
    b, i = LocalBench(sim.config, 8), Instruction
    s, t = b.slot, b.table
    steps = [
        i.mac(s(2, 0), s(0, 0), 50, imm=3, c=s(1, 0), pre_sub=True, lift_from=51),
        i.ntt(s(3, 0), s(0, 0), t(0), 52, lift_from=53).beside(i.ntt(s(3, 1), s(1, 0), t(1), 54, lift_from=53)),
        i.intt(s(3, 0), s(0, 0), t(0), 55),
    ]
    for step in steps:
        program = b.all([*b.setup(), step, i.store(step.dst, b.output(0)), i.end()])
        with pytest.raises(IllegalInstructionError, match="was not set"):
            b.expected(program)
        sim.unmap_all()
        arrays = b.memory().map(sim)
        place(sim, program)
        sim.run(PROGRAMS, STRIDE, limit=50_000)
        # Nothing but the result has changed.
        inputs = b.output(0) // sim.config.near_ports // 8
        for a, (_, was) in zip(arrays, b.memory().segments(), strict=True):
            assert np.array_equal(a[:inputs], was.view(np.uint64)[:inputs])
    b.run(sim, b.everything())


@pytest.mark.parametrize("seeds", [range(5000, 5006), pytest.param(range(5006, 5400), marks=pytest.mark.long)])
def test_hostile_programs_harm_nobody_else(sim: Simulation[FameConfig], seeds: range) -> None:
    """Random bits of an element's program are turned over. It comes to an end (done, refused, by the watchdog), the
    other element's memory and all far memory stay as they were, and the next run is right."""
    b = LocalBench(sim.config, 7)
    good = [*b.setup(), Instruction.mac(b.slot(2, 0), b.slot(0, 0), 0, imm=7)]
    good += [Instruction.store(b.slot(2, 0), b.output(0)), Instruction.end()]
    for seed in seeds:
        case, rng = SharedPrograms(sim.config, seed, 40), np.random.default_rng(seed)
        bad = case.encoded()[0]
        for _ in range(int(rng.integers(1, 12))):
            n, word = int(rng.integers(len(bad))), int(rng.integers(4))
            bad[n, word] ^= np.uint64(1 << int(rng.integers(48 if word == 3 else 64)))
        sim.unmap_all()
        arrays = case.image().map(sim)
        place(sim, [bad, encode([Instruction.end()])])
        sim.watch(6000)
        sim.start(PROGRAMS, STRIDE)
        assert sim.advance(30_000), f"programs number {seed} do not end"
        sim.watch(0)
        near = sim.config.near_ports
        for n, (a, (_, was)) in enumerate(zip(arrays, case.image().segments(), strict=True)):
            assert n < near or np.array_equal(a, was.view(np.uint64)), f"programs number {seed} write to port {n}"
        b.run(sim, good)


# ---- other shapes -------------------------------------------------------------------------------------


def shaped(name: str, **sizes: object) -> FameConfig:
    """A configuration with other sizes."""
    return FameConfig.model_validate(FameConfig.named(name).model_dump() | {"name": f"{name}-shaped"} | sizes)


@pytest.mark.long
@pytest.mark.parametrize("name", ["fame-small", "fame-small-montgomery"])
def test_real_multipliers(name: str) -> None:
    """The tiled multipliers that are synthesised, not their twins; a port each to near and far memory, odd banks."""
    config = shaped(
        name, lanes=8, near_ports=1, ports=4, dram_bytes=1 << 29, min_log_n=6, max_log_n=8, bank_rows=(64, 96, 32, 128),
        twiddle_rows=64, stream_rows=32,
    )  # fmt: skip
    with Simulation(config, twin=False, optimise="-O1") as sim:
        random_programs(sim, range(2000, 2030), length=200)
        for log_n in (6, 7):
            b = LocalBench(sim.config, log_n)
            b.run(sim, b.everything())


@pytest.mark.long
@pytest.mark.parametrize("name", ["fame-small", "fame-small-montgomery"])
def test_one_wide_element(name: str) -> None:
    """32 lanes, from which on twiddles take another way to them; four near ports and two far ones, few moduli."""
    config = shaped(
        name, pes=1, lanes=32, near_ports=4, far_ports=2, ports=6, dram_bytes=1 << 30, min_log_n=8, max_log_n=11,
        bank_rows=(64, 192, 256, 128), twiddle_rows=128, stream_rows=64,
    )  # fmt: skip
    with Simulation(config, optimise="-O1", stall_percent=10) as sim:
        random_programs(sim, range(2100, 2140))
