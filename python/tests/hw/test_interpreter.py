# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The interpreter: what instructions compute, against plain integers, and what it refuses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from ringforge._native import kernels
from ringforge.errors import IllegalInstructionError, ParameterError
from ringforge.hw.core.dram import Dram
from ringforge.hw.machines.matvec.config import MatvecConfig
from ringforge.hw.vector import constants
from ringforge.hw.vector.interpreter import Interpreter
from ringforge.hw.vector.isa import Instruction, Opcode, encode, slot
from tests.hw.random_programs import RandomPrograms

LOG_N, N = 8, 256
IN, OUT = 0x10000, 0x80000
I = Instruction  # noqa: E741


@pytest.fixture(params=["matvec-small", "matvec-small-montgomery"])
def config(request: pytest.FixtureRequest) -> MatvecConfig:
    return MatvecConfig.named(request.param)


class Lab:
    """Two primes, two random polynomials of each, their tables, and a place for results."""

    def __init__(self, config: MatvecConfig) -> None:
        self.config = config
        self.p, self.q = (int(x) for x in kernels.primes_below(50, 2, 1 << 18))
        self.shift = config.shift(50)
        rng = np.random.default_rng(7)
        self.x, self.y = (rng.integers(0, self.q, N, dtype=np.uint64) for _ in range(2))
        self.z = rng.integers(0, self.p, N, dtype=np.uint64)
        self.dram = Dram(1 << 24)
        tables = [constants.twiddles(config, m, LOG_N) for m in (self.q, self.p)]
        for k, words in enumerate([self.x, self.y, self.z, *tables, constants.multiplier(config, self.y, self.q)]):
            self.dram.map(IN + 4096 * k, words)
        self.dram.reserve(OUT, 8 * 4096)
        self.a, self.b, self.c = (slot(k, 0) for k in range(3))
        self.tq, self.tp = (slot(7, k * config.rows(LOG_N)) for k in range(2))

    def setup(self) -> list[Instruction]:
        """x in slot a, y in slot b, z in slot c, both tables."""
        moduli = [
            I.modulus(k, m << self.shift, constants.multiplier_constant(self.config, m))
            for k, m in enumerate((self.q, self.p))
        ]
        loads = zip((self.a, self.b, self.c, self.tq, self.tp), range(5), strict=True)
        return [I.conf(LOG_N, self.shift), *moduli, *(I.load(s, IN + 4096 * k) for s, k in loads)]

    def run(self, *programs: Sequence[Instruction]) -> np.ndarray:
        """Runs programs of the first elements; what was stored at OUT."""
        rest = [[I.end()]] * (self.config.elements - len(programs))
        Interpreter(self.config, self.dram).run([encode(p) for p in (*programs, *rest)])
        return self.dram.read(OUT, N)

    def one(self, *steps: Instruction) -> np.ndarray:
        """Steps after the setup, then slot a to OUT."""
        return self.run([*self.setup(), *steps, I.store(self.a, OUT), I.end()])


def evaluate(x: np.ndarray, q: int, exponent: int) -> int:
    """Value of the polynomial x at psi^exponent, by Horner's rule."""
    point, value = pow(int(kernels.psi(q, LOG_N)), exponent, q), 0
    for c in reversed(x.tolist()):
        value = (value * point + c) % q
    return value


def reverse(i: int) -> int:
    return int(f"{i:0{LOG_N}b}"[::-1], 2)


def test_multiply_and_add(config: MatvecConfig) -> None:
    lab = Lab(config)
    x, y = lab.x.astype(object), lab.y.astype(object)
    seven = constants.scalar(config, 7, lab.q)
    for step, want in (
        (I.mac(lab.a, lab.a, 0, imm=seven), 7 * x),
        (I.mac(lab.a, lab.a, 0, imm=seven, c=lab.b, post_add=True), 7 * x + y),
        (I.mac(lab.a, lab.a, 0, imm=seven, c=lab.b, pre_sub=True), 7 * (x - y)),
        (I.mac(lab.a, lab.a, 0, imm=seven, c=lab.b, pre_sub=True, post_add=True), 7 * (x - y) + y),
    ):
        assert (lab.one(step).astype(object) == want % lab.q).all()
    stream = I.stream(IN + 4096 * 5)
    assert (lab.one(stream, I.mac(lab.a, lab.a, 0, stream=True)).astype(object) == x * y % lab.q).all()
    # A multiplier from a slot is taken as it is; a Montgomery machine divides the product by R.
    load = I.load(lab.c, IN + 4096 * 5)
    assert (lab.one(load, I.mac(lab.a, lab.a, 0, b=lab.c)).astype(object) == x * y % lab.q).all()


def test_transforms(config: MatvecConfig) -> None:
    lab = Lab(config)
    out = lab.one(I.ntt(lab.a, lab.a, lab.tq, 0)).copy()
    for i in (0, 1, 77, N - 1):
        assert int(out[i]) == evaluate(lab.x, lab.q, 2 * reverse(i) + 1)
    assert (lab.one(I.ntt(lab.a, lab.a, lab.tq, 0), I.intt(lab.a, lab.a, lab.tq, 0)) == lab.x).all()
    lifted = np.array([v - lab.p if v > lab.p // 2 else v for v in lab.z.tolist()], object) % lab.q
    out = lab.one(I.ntt(lab.a, lab.c, lab.tq, 0, lift_from=1)).copy()
    for i in (0, 5, N - 1):
        assert int(out[i]) == evaluate(lifted, lab.q, 2 * reverse(i) + 1)


def test_automorphism(config: MatvecConfig) -> None:
    lab = Lab(config)
    g = 5
    out = lab.one(I.ntt(lab.b, lab.a, lab.tq, 0), I.auto(lab.a, lab.b, g)).copy()
    for i in (0, 3, N - 1):
        assert int(out[i]) == evaluate(lab.x, lab.q, (2 * reverse(i) + 1) * g)


def test_meetings_and_spills(config: MatvecConfig) -> None:
    lab = Lab(config)
    setup = lab.setup()
    sender = [*setup, I.send(lab.a, 2), I.recv(lab.b, 1), I.sync(2), I.store(lab.b, OUT), I.end()]
    keeper = [*setup, I.recv(lab.b, 0), I.store(lab.b, OUT + 4096), I.sync(0), I.load(lab.c, OUT + 4096)]
    keeper += [I.send(lab.c, 1), I.sync(2), I.end()]
    idle = [I.conf(LOG_N, lab.shift), I.sync(2), I.end()]
    assert (lab.run(sender, keeper, idle, idle) == lab.x).all()
    adder = [*setup, I.reduce(slot(2, 32), lab.a, 0), I.store(slot(2, 32), OUT), I.end()]
    nothing = [I.end()]
    assert (lab.run(adder, nothing, adder, nothing).astype(object) == 2 * lab.x.astype(object) % lab.q).all()


REFUSED = {
    "the first instruction must be CONF": lambda _: [I.load(0, IN), I.end()],
    "no END": lambda m: m.setup(),
    "never written": lambda m: [*m.setup(), I.store(slot(1, 32), OUT), I.end()],
    "were never written": lambda m: [*m.setup(), I.load(m.a, OUT), I.end()],
    "not mapped": lambda m: [*m.setup(), I.load(m.a, 0x4000), I.end()],
    "only be read": lambda m: [*m.setup(), I.store(m.a, IN), I.end()],
    "no multiple of": lambda m: [*m.setup(), I.load(m.a, IN + 64), I.end()],
    "without a SYNC of scope 0": lambda m: [*m.setup(), I.store(m.a, OUT), I.load(m.a, OUT), I.end()],
    "does not start a slot": lambda m: [*m.setup(), I.intt(slot(0, 8), m.a, m.tq, 0), I.end()],
    "no data bank 3": lambda m: [*m.setup(), I.intt(slot(3, 0), m.a, m.tq, 0), I.end()],
    "no twiddle bank 1": lambda m: [*m.setup(), I.intt(m.a, m.a, m.b, 0), I.end()],
    "another table": lambda m: [*m.setup(), I.intt(m.a, m.a, m.tp, 0), I.end()],
    "holds residues of": lambda m: [*m.setup(), I.intt(m.a, m.a, m.tq, 0), I.intt(m.a, m.a, m.tp, 1), I.end()],
    "entry 9 of the modulus table": lambda m: [*m.setup(), I.intt(m.a, m.a, m.tq, 9), I.end()],
    "slots of one bank": lambda m: [
        *m.setup(),
        I.auto(slot(0, 32), m.a, 5),
        I.mac(m.b, m.a, 0, imm=1, c=slot(0, 32), post_add=True),
        I.end(),
    ],
    "dst different from a": lambda m: [*m.setup(), I.auto(m.a, m.a, 5), I.end()],
    "no odd number": lambda m: [*m.setup(), I.auto(m.b, m.a, 4), I.end()],
    "below 2N": lambda m: [*m.setup(), I.auto(m.b, m.a, 2 * N + 1), I.end()],
    "no streamed polynomial": lambda m: [*m.setup(), I.mac(m.b, m.a, 0, stream=True), I.end()],
    "never used": lambda m: [*m.setup(), I.stream(IN), I.end()],
    "wait to be used already": lambda m: [*m.setup(), *[I.stream(IN)] * 9, I.end()],
    "is not below": lambda m: [*m.setup(), I.mac(m.b, m.a, 0, imm=m.q), I.end()],
    "multiplier source 3": lambda m: [*m.setup(), Instruction(Opcode.MAC, dst=m.b, a=m.a, b_from=3), I.end()],
    "other elements of the group": lambda m: [*m.setup(), I.send(m.a, 1), I.end()],
    "no other element": lambda m: [*m.setup(), I.recv(m.a, 5), I.end()],
    "no scope 3": lambda m: [*m.setup(), I.sync(3), I.end()],
    "shifted by 7 bits at most": lambda _: [Instruction(Opcode.CONF, imm=LOG_N | 8 << 8), I.end()],
    "log2 N is outside": lambda m: [I.conf(12, m.shift), I.end()],
    "constant of": lambda m: [I.conf(LOG_N, m.shift), I.modulus(0, m.q << m.shift, 5), I.end()],
    "prime shifted by": lambda m: (
        [I.conf(LOG_N, m.shift), I.modulus(0, 3, 0), I.end()] if m.shift else [I.conf(LOG_N, 4), I.end()]
    ),
    "for ever": lambda m: [*m.setup(), I.recv(m.b, 1), I.end()],
}


@pytest.mark.parametrize("why", REFUSED)
def test_refusals(why: str) -> None:
    lab = Lab(MatvecConfig.named("matvec-small"))
    with pytest.raises(IllegalInstructionError, match=why):
        lab.run(REFUSED[why](lab))


def test_a_circle_of_sends_is_found() -> None:
    lab = Lab(MatvecConfig.named("matvec-small"))
    first = [*lab.setup(), I.send(lab.a, 2), I.recv(lab.b, 1), I.end()]
    second = [*lab.setup(), I.send(lab.a, 1), I.recv(lab.b, 0), I.end()]
    with pytest.raises(IllegalInstructionError, match=r"for ever: element 0 at 8: SEND.*element 1 at 8: SEND"):
        lab.run(first, second)


def test_a_store_may_not_overtake_a_load() -> None:
    lab = Lab(MatvecConfig.named("matvec-small"))
    back = [I.store(lab.a, OUT), I.sync(0), I.load(lab.b, OUT), I.store(lab.a, OUT), I.end()]
    with pytest.raises(IllegalInstructionError, match="may not have finished"):
        lab.run([*lab.setup(), *back])


def test_loads_finish_in_order() -> None:
    """An instruction that reads what the second LOAD brought proves that the first one has finished; four may run."""
    lab = Lab(MatvecConfig.named("matvec-small"))
    spare = [slot(b, 32) for b in range(3)]
    two = [*lab.setup(), I.store(lab.a, OUT), I.sync(0), I.load(lab.b, OUT), I.load(lab.c, IN)]
    with pytest.raises(IllegalInstructionError, match="may not have finished"):
        lab.run([*two, I.store(lab.a, OUT), I.end()])
    lab.run([*two, I.store(lab.c, OUT), I.end()])
    # The fifth LOAD waits for the first.
    lab.run([*two, *(I.load(s, IN) for s in spare), I.store(lab.a, OUT), I.end()])
    with pytest.raises(IllegalInstructionError, match="may not have finished"):
        lab.run([*two, *(I.load(s, IN) for s in spare[1:]), I.store(lab.a, OUT), I.end()])


def test_one_program_per_element() -> None:
    config = MatvecConfig.named("matvec-small")
    with pytest.raises(ParameterError, match="4 programs, not 1"):
        Interpreter(config, Dram(4096)).run([encode([I.end()])])


def test_memory_refuses_overlaps_and_strange_addresses() -> None:
    dram = Dram(1 << 16)
    dram.reserve(4096, 8192)
    for address, size, why in ((8192, 10, "overlap"), (100, 10, "multiple"), (1 << 16, 8, "outside")):
        with pytest.raises(ParameterError, match=why):
            dram.reserve(address, size)


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_are_valid_and_use_every_operation(seed: int) -> None:
    name = ["matvec-small", "matvec-small-montgomery", "matvec-b"][seed % 3]
    case = RandomPrograms(MatvecConfig.named(name), seed, length=150, log_n=8)
    dram = case.memory()
    interpreter = Interpreter(case.config, dram)
    interpreter.run(case.encoded())
    assert case.results(dram).any()
    if seed == 0:
        assert set(interpreter.executed) == {o.name for o in Opcode} - {"COPY"}  # there is no far memory
