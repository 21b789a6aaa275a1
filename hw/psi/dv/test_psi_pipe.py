# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""psi_pipe: streams of products, accumulators and substitutions against Python integers, with stalls on every stream,
resets at random moments, and the cycles of full streams."""

import random
from collections import deque
from dataclasses import dataclass
from itertools import pairwise

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly
from modular import parameter
from psi_reference import Gadget, Ring, Rlwe, primes
from runner import run

STEP, SUBSTITUTE, INIT, PRODUCT = range(4)
UNITS = 4


@dataclass
class Op:
    kind: int
    to_loop: bool = False
    element: int = 1
    start: int = 0
    rows: tuple[Rlwe, ...] = ()
    rlwe: Rlwe | None = None  # in Eval form; None for STEP and INIT


@dataclass
class Settings:
    ring: Ring
    gadgets: tuple[Gadget, Gadget, Gadget]
    drain: int = 0
    lwe_log: int = 9

    def expected(self, ops: list[Op]) -> list[tuple[Rlwe, bool]]:
        """Results in order, and whether each goes to the loop."""
        loop, out = deque[Rlwe](), []
        done: dict[int, Rlwe] = {}  # of operations on inputs, which may come again
        for op in ops:
            result = done.get(id(op)) or self.result(op, loop.popleft() if op.kind == STEP else op.rlwe)
            if op.kind != STEP:
                done[id(op)] = result
            if op.to_loop:
                loop.append(result)
            out.append((result, op.to_loop))
        return out

    def result(self, op: Op, rlwe: Rlwe | None) -> Rlwe:
        ring, (cut_a, cut_b, cut_s) = self.ring, self.gadgets
        if rlwe is None:
            rlwe = ring.accumulator(op.start, self.lwe_log)
        else:
            rlwe = ring.inverse(rlwe[0]), ring.inverse(rlwe[1])
        if op.kind == SUBSTITUTE:
            return ring.substitution(rlwe, op.element, op.rows, cut_s)
        return ring.product(rlwe, op.rows, cut_a, cut_b)

    def rows(self, kind: int) -> int:
        cut_a, cut_b, cut_s = self.gadgets
        return cut_s.count if kind == SUBSTITUTE else cut_a.count + cut_b.count


class Bench:
    """Drives all streams of the pipeline, one cycle after the other."""

    def __init__(self, dut, seed: int):
        self.dut, self.rng, self.values = dut, random.Random(seed), {}
        self.cycle = 0
        Clock(dut.clk_i, 2, "ns").start(start_high=False)

    def set(self, name: str, value: int) -> None:
        if self.values.get(name) != value:
            self.values[name] = value
            getattr(self.dut, name).value = value

    async def reset(self, cycles: int = 2) -> None:
        for name in ("load_valid_i", "in_valid_i", "send_valid_i", "key_valid_i", "out_ready_i", "tw_we_i"):
            self.set(name, 0)
        self.set("rst_ni", 0)
        for _ in range(cycles):
            await FallingEdge(self.dut.clk_i)
        self.set("rst_ni", 1)
        await FallingEdge(self.dut.clk_i)
        assert int(self.dut.busy_o.value) == 0

    async def setup(self, s: Settings) -> None:
        ring = s.ring
        for name, value in {
            "log_n_i": ring.log_n,
            "shift_i": ring.shift,
            "q_i": ring.shifted,
            "k_i": ring.k,
            "drain_i": s.drain,
            "lwe_log_i": s.lwe_log,
        }.items():
            self.set(name, value)
        self.dut.gadget_i.value = [g.bits for g in s.gadgets]
        self.dut.offset_i.value = [g.offset for g in s.gadgets]
        for i in range(1, ring.n):
            self.set("tw_we_i", 1)
            self.set("tw_addr_i", i)
            self.set("tw_data_i", ring.table[i] * ring.factor % ring.q)
            await FallingEdge(self.dut.clk_i)
        self.set("tw_we_i", 0)

    async def stream(
        self, s: Settings, ops: list[Op], p: dict[str, float] | None = None, stop: tuple[int, int] | None = None
    ) -> list[int]:
        """Runs operations with a chance for each stream to move in a cycle; checks results; gives the cycles in which
        their last words came. `stop` (k, c) leaves c cycles after k beats of keys have been taken."""
        dut, rng, ring = self.dut, self.rng, s.ring
        p = p or {}
        groups = ring.n // 4
        expected = s.expected(ops)
        want = deque(
            (beat, loop, g == groups - 1) for rlwe, loop in expected for g, beat in enumerate(ring.beats(rlwe))
        )
        keys = deque(beat for op in ops for row in op.rows for beat in ring.beats(row, ring.factor))
        inputs = [deque(beat for op in ops if op.rlwe for beat in ring.beats(op.rlwe)), deque[int]()]
        loads = deque((i, op) for i, op in enumerate(ops) if op.kind != INIT)
        sends = deque(enumerate(ops))
        beats = len(keys)
        units: dict[int, int] = {}  # operation: its inverse transform
        next_unit, ends, begin = 0, [], self.cycle
        offered = dict.fromkeys(("load", "in0", "in1", "send", "key"), False)

        def offer(name: str, can: bool) -> bool:
            # What is offered stays until it is taken.
            offered[name] = can and (offered[name] or rng.random() < p.get(name, 1.0))
            return offered[name]

        while want:
            if stop is not None and beats - len(keys) >= stop[0]:
                if stop[1] == 0:
                    return ends
                stop = stop[0], stop[1] - 1
            load = offer("load", bool(loads) and next_unit not in units.values())
            if load:
                self.set("load_unit_i", next_unit)
                self.set("load_loop_i", int(loads[0][1].kind == STEP))
            valid = [offer(f"in{i}", bool(inputs[i])) for i in range(2)]
            for i in range(2):
                if valid[i] and self.values.get(f"in{i}") != inputs[i][0]:
                    self.values[f"in{i}"] = inputs[i][0]
                    dut.in_i[i].value = inputs[i][0]
            send = offer("send", bool(sends) and (sends[0][1].kind == INIT or sends[0][0] in units))
            if send:
                op = sends[0][1]
                self.set("send_unit_i", units.get(sends[0][0], 0))
                self.set("op_i", op.kind)
                self.set("to_loop_i", int(op.to_loop))
                self.set("element_i", op.element)
                self.set("start_i", op.start)
            key = offer("key", bool(keys))
            if key:
                self.set("key_i", keys[0])
            ready = rng.random() < p.get("out", 1.0)
            self.set("load_valid_i", int(load))
            self.set("in_valid_i", valid[0] | valid[1] << 1)
            self.set("send_valid_i", int(send))
            self.set("key_valid_i", int(key))
            self.set("out_ready_i", int(ready))
            await ReadOnly()
            if load and int(dut.load_ready_o.value):
                units[loads.popleft()[0]] = next_unit
                next_unit = (next_unit + 1) % UNITS
                offered["load"] = False
            taken = int(dut.in_ready_o.value)
            for i in range(2):
                if valid[i] and taken >> i & 1:
                    inputs[i].popleft()
                    offered[f"in{i}"] = False
            if send and int(dut.send_ready_o.value):
                units.pop(sends.popleft()[0], None)
                offered["send"] = False
            if key and int(dut.key_ready_o.value):
                keys.popleft()
                offered["key"] = False
            if ready and int(dut.out_valid_o.value):
                beat, loop, last = want.popleft()
                got = int(dut.out_o.value), bool(int(dut.out_loop_o.value)), bool(int(dut.out_last_o.value))
                assert got == (beat, loop, last), f"{len(want)} beats before the end: {got[0]:x}, expected {beat:x}"
                if loop:
                    inputs[1].append(beat)
                if last:
                    ends.append(self.cycle)
            await FallingEdge(dut.clk_i)
            self.cycle += 1
            assert self.cycle - begin < 2000 + 200 * groups * len(ops), "the pipeline stands still"
        assert not keys
        assert not inputs[0]
        assert not sends
        assert not loads
        for _ in range(2):
            await FallingEdge(dut.clk_i)
        assert int(dut.busy_o.value) == 0
        return ends


def rows(ring: Ring, count: int, rng: random.Random) -> tuple[Rlwe, ...]:
    return tuple((ring.random(rng), ring.random(rng)) for _ in range(count))


def mixed(s: Settings, count: int, rng: random.Random) -> list[Op]:
    """Operations of all kinds; those of the loop take what earlier ones put there."""
    ops, held = [], 0
    for i in range(count):
        kinds = [SUBSTITUTE, INIT, PRODUCT] + [STEP, STEP] * (held > 0)
        kind = STEP if held == count - i else rng.choice(kinds)
        held -= kind == STEP
        to_loop = held < count - i - 1 and rng.random() < 0.4
        held += to_loop
        ops.append(
            Op(
                kind,
                to_loop,
                element=rng.randrange(1, 2 * s.ring.n, 2) if kind == SUBSTITUTE else 1,
                start=rng.randrange(1 << s.lwe_log),
                rows=rows(s.ring, s.rows(kind), rng),
                rlwe=(s.ring.random(rng), s.ring.random(rng)) if kind in (SUBSTITUTE, PRODUCT) else None,
            )
        )
    return ops


def settings(rng: random.Random, width: int, log_n: int, montgomery: int) -> list[Settings]:
    """Both digit rules, gadgets of all three kinds apart, the shortest and the longest primes."""

    def ring(bits: int) -> Ring:
        step = max(2 << log_n, 1 << montgomery)
        return Ring(primes(bits, step)[0], log_n, width, montgomery)

    full = ring(width)
    most = [
        Settings(full, (Gadget(9, 3), Gadget(14, 2), Gadget(7, 4)), lwe_log=min(log_n + 1, 9)),
        Settings(
            full, (Gadget(6, 3, 9, True), Gadget(11, 2, 5, True), Gadget(4, 5, 7, True)), drain=13, lwe_log=log_n - 1
        ),
    ]
    if not montgomery:
        short = ring(width - 15) if log_n < 8 else ring(width - 13)
        bits = short.q.bit_length()
        most.append(
            Settings(
                short, (Gadget(bits, 1, 0, True), Gadget(bits // 2, 2, bits % 2, True), Gadget(4, 4)), lwe_log=log_n + 1
            )
        )
    rng.shuffle(most)
    return most


STALLS = (
    {},
    {"load": 0.1, "in0": 0.5, "in1": 0.6, "send": 0.1, "key": 0.6, "out": 0.5},
    {"in0": 0.3, "key": 0.9},
    {"out": 0.05},  # longer than an operation takes
)


@cocotb.test()
async def streams(dut):
    """All kinds of operations mixed, at both lengths, with all digit rules, stalled in all places."""
    width, log_n, montgomery = parameter("W", 27), parameter("LogN", 8), parameter("Kind", 0) * parameter("Word", 11)
    bench = Bench(dut, 1)
    await bench.reset()
    for length in (log_n, log_n - 1):
        for i, s in enumerate(settings(bench.rng, width, length, montgomery)):
            await bench.setup(s)
            await bench.stream(s, mixed(s, 6 if length < log_n else 4, bench.rng), STALLS[(i + length) % len(STALLS)])


@cocotb.test()
async def resets(dut):
    """Whatever was under way when a reset came leaves no trace in what follows."""
    width, log_n, montgomery = parameter("W", 27), parameter("LogN", 8), parameter("Kind", 0) * parameter("Word", 11)
    bench = Bench(dut, 2)
    await bench.reset()
    s = settings(bench.rng, width, log_n - 1, montgomery)[0]
    await bench.setup(s)
    for i in range(6):
        ops = mixed(s, 4, bench.rng)
        # Somewhere, or when the last words of a result are between the keys and the sums.
        later = bench.rng.randrange(14)
        row = s.ring.n // 4
        stop = ((row * len(ops[0].rows), later), (row * bench.rng.randrange(1, 8), later), (0, 100 * later))[i % 3]
        await bench.stream(s, ops, bench.rng.choice(STALLS[:2]), stop)
        await bench.reset(1)
        await bench.stream(s, mixed(s, 2, bench.rng), STALLS[2])


@cocotb.test()
async def cycles(dut):
    """In a full stream a polynomial takes N/4 + 13 cycles with drain, at most N/4 + 8 without, and inverse transforms
    keep up: also with substitutions, of one polynomial more than their rows."""
    width, log_n, montgomery = parameter("W", 27), parameter("LogN", 8), parameter("Kind", 0) * parameter("Word", 11)
    bench, measured = Bench(dut, 3), []
    await bench.reset()
    count = -(-width // 3)
    digits = Gadget(count, 3), Gadget(count, 3), Gadget(-(-width // 6), 6)
    for length in (log_n, log_n - 1)[parameter("Short", 0) :]:
        ring = Ring(primes(width, max(2 << length, 1 << montgomery))[0], length, width, montgomery)
        for drain in (13, 0):
            s = Settings(ring, digits, drain, length + 1)
            await bench.setup(s)
            for kind, polys in ((PRODUCT, 6), (SUBSTITUTE, 7)):
                # The same RLWE and key again and again: what matters here is time.
                op = Op(kind, False, 5, 0, rows(ring, 6, bench.rng), (ring.random(bench.rng), ring.random(bench.rng)))
                ends = await bench.stream(s, [op] * parameter("Operations", 13))
                # The first ones pass an empty pipeline; from there on each takes as long as the last.
                gaps = {y - x for x, y in pairwise(ends[6:])}
                dut._log.info(f"N = {ring.n}, drain {drain}, kind {kind}: {gaps} cycles for {polys} polynomials")
                measured.append((drain, gaps, polys, ring.n))
    for drain, gaps, polys, n in measured:
        if drain:
            assert gaps == {polys * (n // 4 + drain)}, (n, drain, gaps)
        else:
            assert max(gaps) <= polys * (n // 4 + 8), (n, drain, gaps)


def test_psi_pipe():
    """At both lengths; cycles at the shorter one."""
    run("psi_pipe_bench", {"W": 27, "LogN": 8, "Twin": 1}, __file__, optimise="-O1", env={"PARAM_Short": "1"})


@pytest.mark.long
@pytest.mark.parametrize(("width", "kind", "word"), [(27, 1, 11), (54, 0, 18)])
def test_psi_pipe_as_hardware(width, kind, word):
    """Without twins, Montgomery's multiplier among them."""
    run("psi_pipe_bench", {"W": width, "LogN": 8, "Kind": kind, "Word": word, "Twin": 0}, __file__, optimise="-O1")


@pytest.mark.long
@pytest.mark.parametrize("testcase", ["streams", "cycles"])
def test_psi_pipe_at_full_length(testcase):
    """N = 2,048 and 1,024, 54 bits."""
    parameters = {"W": 54, "LogN": 11, "Twin": 1}
    env = {"PARAM_Operations": "9"}
    run("psi_pipe_bench", parameters, __file__, optimise="-O1", testcase=testcase, env=env)
