# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The replica: durations counted by hand, equality with the simulated machine, attribution, whole layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from ringforge import _native
from ringforge._native import Algorithm, Packing, Plan, Span, kernels
from ringforge.errors import IllegalInstructionError, ParameterError
from ringforge.hw.core.simulator import Simulation, Traffic, place_programs
from ringforge.hw.machines.matvec import Compiled, Options, compile_matvec
from ringforge.hw.machines.matvec.config import MatvecConfig
from ringforge.hw.machines.matvec.replica_layers import layer_latency
from ringforge.hw.vector import replica
from ringforge.hw.vector.isa import Instruction as I  # noqa: N817
from ringforge.hw.vector.isa import Opcode, Scope, decode, encode, slot
from ringforge.hw.vector.layout import ENTITIES
from ringforge.hw.vector.replica_primitives import PRIMITIVES, attribute
from ringforge.matvec.kernels import MatvecKernel
from tests.hw.random_programs import RandomPrograms

SMALL = MatvecConfig.named("matvec-small")
LOG_N = 10
ROWS = SMALL.rows(LOG_N)  # 128
DATA, PROGRAMS = 0x1000000, 0x40000000
TABLE = slot(7, 0)
#: An element's first instruction issues here: request in cycle 2, on the bus in 3, 64 cycles of latency, response
#: register, buffer, instruction register.
FIRST = 2 + 1 + 64 + 3
#: The first instruction after CONF and MODULUS.
START = FIRST + 2


def s(bank: int, place: int = 0) -> int:
    return slot(bank, place * ROWS)


def address(i: int) -> int:
    return DATA + i * (8 << LOG_N)


def programs(bodies: dict[int, Sequence[I]], config: MatvecConfig = SMALL) -> list[np.ndarray]:
    """Elements with a body are set up first; the others end at once."""
    head = [I.conf(LOG_N, 0), I.modulus(0, (1 << 54) - 33, 3)]
    return [encode([*(head if k in bodies else []), *bodies.get(k, ()), I.end()]) for k in range(config.elements)]


def cycles(*body: I, **others: Sequence[I]) -> int:
    bodies = {0: body, **{int(k[1:]): v for k, v in others.items()}}
    return replica.run(SMALL, programs(bodies)).cycles


# ---- durations, counted in the sources -------------------------------------------------------------------------------

NTT = LOG_N * ROWS + 29
AUTO = ROWS + 10
MAC = ROWS + 19
#: First request 2 cycles after issue, 1 + 64 to the first beat, ROWS beats, 4 to idle (the last beat counts twice).
LOAD = 2 + 1 + 64 + ROWS - 1 + 4


def add(a: int, c: int, dst: int) -> I:
    return I.mac(dst, a, 0, imm=1, c=c, post_add=True)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ([I.ntt(s(0), s(1), TABLE, 0)], NTT),
        ([I.intt(s(0), s(0), TABLE, 0)] * 2, 2 * NTT),
        ([I.auto(s(0), s(1), 5), I.auto(s(1), s(0), 5)], 2 * AUTO),
        ([I.mac(s(0), s(0), 0, imm=3)] * 3, 3 * MAC),
        ([add(s(0), s(1), s(2)), add(s(0), s(1), s(2, 1))], 2 * MAC),
        ([I.load(s(0), address(0))], LOAD),
        # The rows of the next LOAD follow those of the last.
        ([I.load(s(0), address(0)), I.load(s(0, 1), address(1))], LOAD + ROWS),
        ([I.load(s(k), address(k)) for k in range(3)], LOAD + 2 * ROWS),
        # Different units and banks: side by side.
        ([I.ntt(s(0), s(0), TABLE, 0), I.mac(s(1), s(2), 0, imm=3)], NTT),
        # The transform's source is free for writing after its first stage, its bank's port too.
        ([I.ntt(s(0), s(1), TABLE, 0), *[I.mac(s(1), s(1), 0, imm=3)] * 9], ROWS + 3 + 9 * MAC),
        # The destination's bank belongs to the transform throughout.
        ([I.ntt(s(0), s(1), TABLE, 0), I.mac(s(0, 1), s(2), 0, imm=3)], NTT + MAC),
        ([I.ntt(s(0), s(1), TABLE, 0), I.mac(s(2), s(0, 1), 0, imm=3)], NTT + MAC),
        # An automorphism holds only the write port of its destination's bank, but its source till the end.
        ([I.auto(s(0), s(1), 5), I.mac(s(2), s(0, 1), 0, imm=3)], 1 + MAC),
        ([I.auto(s(0), s(1), 5), I.mac(s(1), s(2), 0, imm=3)], AUTO + MAC),
        # One port: the next table waits for the transform that uses the slot.
        ([I.ntt(s(0), s(1), TABLE, 0), I.load(TABLE, address(0)), I.ntt(s(0), s(1), TABLE, 0)], 2 * NTT + LOAD),
        # The stream: request 2 cycles after issue, 1 + 64 to the first beat, 4 to the MAC; ROWS rows; it drains.
        ([I.stream(address(0)), I.mac(s(0), s(1), 0, stream=True)], 2 + 1 + 64 + 4 + ROWS - 1 + 18),
    ],
)
def test_durations(body: list[I], expected: int) -> None:
    """Setting up, the body, and END one cycle after all is idle."""
    assert cycles(*body) == START + expected + 1


def test_short_transforms_drain_after_each_stage() -> None:
    log_n = 7
    body = [I.conf(log_n, 0), I.ntt(slot(0, 0), slot(1, 0), TABLE, 0), I.end()]
    words = [encode(body), *[encode([I.end()])] * (SMALL.elements - 1)]
    assert replica.run(SMALL, words).cycles == FIRST + 1 + log_n * 16 + (log_n - 1) * 27 + 29 + 1


def test_stores_are_acknowledged() -> None:
    # Six cycles to the first beat, ROWS beats, latency, acknowledgement registered and counted.
    assert cycles(I.store(s(0), address(0))) == START + 6 + ROWS - 1 + 64 + 2 + 1
    # The unit is free before that: the second store follows, with two cycles to give its last row away.
    assert cycles(*[I.store(s(0), address(0))] * 2) == START + 2 * (6 + ROWS - 1) + 1 + 64 + 2 + 1
    load_after = cycles(I.store(s(0), address(0)), I.sync(Scope.ELEMENT), I.load(s(1), address(0)))
    assert load_after == START + 6 + ROWS - 1 + 64 + 2 + 1 + LOAD + 1


def test_transfers() -> None:
    """A transfer starts 2 cycles after the later of SEND and RECV; receivers are idle ROWS + 8 cycles later."""
    # Element 1 shares the port: its program comes a burst later.
    second = START + 4
    receive = [I.recv(s(0), 0)]
    assert cycles(I.send(s(0), 2), e1=receive) == second + 2 + ROWS + 8 + 1
    # The bus is free for the next one after ROWS + 5.
    assert cycles(*[I.send(s(0), 2)] * 2, e1=receive * 2) == second + 2 + (ROWS + 8) + 2 + (ROWS + 8) + 1


def test_reduction() -> None:
    """Rows go through 1 level of adders between two groups."""
    reduce = [I.reduce(s(1), s(0), 0)]
    assert cycles(*reduce, e2=reduce) == START + 2 + ROWS + 9 + 1 + 1
    # One element index at a time: both ask, the second starts when the first is through.
    both = cycles(*reduce, e1=reduce, e2=reduce, e3=reduce)
    assert both == START + 2 + (ROWS + 6 + 1) + (ROWS + 9 + 1) + 1


def test_barriers() -> None:
    long = [I.ntt(s(0), s(0), TABLE, 0), I.mac(s(1), s(0), 0, imm=1), I.store(s(1), address(0)), I.sync(Scope.MACHINE)]
    rest = [I.sync(Scope.MACHINE), I.load(s(0), address(0))]
    got = cycles(*long, e1=rest, e2=rest, e3=rest)
    stored = START + NTT + MAC + 6 + ROWS - 1 + 64 + 2
    # Released in the next cycle; two elements of a port load at once, burst by burst.
    assert got == stored + 2 + LOAD + ROWS + 1


def test_programs_are_counted_as_fetched() -> None:
    report = replica.run(SMALL, programs({0: [I.load(s(0), address(0)), I.store(s(0), address(1))]}))
    # Four bursts of four beats each to begin with, for every element.
    assert report.traffic == {
        "data": Traffic(8 << LOG_N, 8 << LOG_N),
        "program": Traffic(SMALL.elements * 16 * SMALL.row_bytes, 0),
    }
    assert report.executed == {"END": 4, "CONF": 1, "MODULUS": 1, "LOAD": 1, "STORE": 1}
    assert report.busy["load"] == LOAD
    assert sum(report.waits.values()) > 0


def test_stuck_programs_are_named() -> None:
    with pytest.raises(IllegalInstructionError, match="element 0 at 3"):
        cycles(I.recv(s(0), 1))
    with pytest.raises(IllegalInstructionError, match="for ever"):
        cycles(I.mac(s(0), s(1), 0, stream=True))
    with pytest.raises(IllegalInstructionError, match="no END"):
        replica.run(SMALL, [encode([I.conf(LOG_N, 0)])] * SMALL.elements)
    with pytest.raises(IllegalInstructionError, match="does not exist"):
        replica.run(SMALL, [np.full((1, 4), 99, np.uint64)] * SMALL.elements)
    with pytest.raises(IllegalInstructionError, match="array"):
        replica.run(SMALL, [np.zeros(4, np.uint64)] * SMALL.elements)
    with pytest.raises(ParameterError, match="runs 4 programs"):
        replica.run(SMALL, [])


# ---- against the simulated machine -----------------------------------------------------------------------------------


def toy(log_n: int, limbs: int) -> _native.Parameters:
    primes = kernels.primes_below(54, limbs + 1, 1 << 18)
    return _native.Parameters("toy", log_n, primes[:limbs], primes[limbs:], 1, 40.0, "test")


def compiled(rows: int, cols: int, algorithm: Algorithm, baby: int = 1, options: Options | None = None) -> Compiled:
    params = toy(LOG_N, 3)
    span = Span.spread if algorithm == Algorithm.bsgs else Span.compact
    plan = Plan(Packing(rows, cols, params.slots, span), algorithm, baby)
    scale = 2.0**40
    kernel = MatvecKernel(_native.Context(params), plan, 2, 1, scale, scale, 1.0, True)
    return compile_matvec(SMALL, kernel, has_bias=True, options=options)


def simulated(sim: Simulation, product: Compiled) -> tuple[int, dict[str, Traffic]]:
    """Cycles and traffic of a compiled product on memory full of zeros."""
    sim.unmap_all()
    sim.clear_traffic()
    for r in product.job.layout.regions:
        if r.size:
            words = np.zeros(-(-r.size // 8), np.uint64)
            if r.entity == "program":
                for k, p in enumerate(product.programs):
                    words[k * product.stride // 8 :][: p.size] = p.reshape(-1)
            sim.map(r.address, words, ENTITIES.index(r.entity))
    return sim.run(product.base, product.stride), sim.traffic({e: n for n, e in enumerate(ENTITIES)})


def test_random_programs_take_the_cycles_of_the_machine(machines: Callable[[str], Simulation]) -> None:
    sim = machines("matvec-small")
    for seed in range(40):
        case = RandomPrograms(sim.config, seed)
        words = case.encoded()
        image, stride = place_programs(words)
        sim.reset()  # the arbiters of the ports remember the last run
        sim.unmap_all()
        sim.map_dram(case.memory())
        sim.map(PROGRAMS, image)
        assert replica.run(sim.config, words).cycles == sim.run(PROGRAMS, stride), f"seed {seed}"


@pytest.mark.parametrize("bandwidth", [77e9, 15e9, 5e9])
def test_products_take_the_cycles_and_bytes_of_the_machine(bandwidth: float) -> None:
    """With less bandwidth, ports have to share it, or wait even alone."""
    config = SMALL.model_copy(update={"dram_bytes_per_second": bandwidth})
    for product in (
        compiled(8, 8, Algorithm.diagonal),
        compiled(64, 128, Algorithm.bsgs, 4),
        compiled(8, 8, Algorithm.diagonal, options=Options(fusion=False)),
    ):
        # A new machine each time: where the memory's turn is matters when ports contend.
        with Simulation(config, optimise="-O1") as sim:
            measured, traffic = simulated(sim, product)
        report = replica.run(config, product.programs, entity_of=product.job.layout.entity)
        assert report.cycles == measured
        assert {e: report.traffic.get(e, Traffic(0, 0)) for e in ENTITIES} == traffic


# ---- primitives and layers -------------------------------------------------------------------------------------------


def test_every_cycle_belongs_to_a_primitive() -> None:
    product = compiled(8, 8, Algorithm.diagonal)
    entity_of = product.job.layout.entity
    tags = attribute(SMALL, product.programs, product.job.target.special, entity_of)
    report = replica.run(SMALL, product.programs, entity_of=entity_of, tags=tags, primitives=PRIMITIVES)
    assert sum(report.primitives.values()) == pytest.approx(sum(report.ended) / SMALL.elements, rel=0.01)
    counts = {p: dict.fromkeys(Opcode, 0) for p in PRIMITIVES}
    for program, tag in zip(product.programs, tags, strict=True):
        for i, t in zip(decode(program), tag, strict=True):
            counts[PRIMITIVES[t]][i.op] += 1
    # 8 products of 2 parts and 3 limbs; rescale: 2 INTTs each, 2 NTTs for each of the 2 limbs that stay.
    assert counts["multiply"][Opcode.MAC] == 8 * 2 * 3
    assert counts["rescale"][Opcode.INTT] == 8 * 2
    assert counts["rescale"][Opcode.NTT] == counts["rescale"][Opcode.MAC] == 8 * 2 * 2
    # Diagonals 1 ... 7 and the folds rotate: 2 digits over 2 + 1 primes but for their own, then 2 parts to divide.
    rotations = 7 + len(list(product.job.folds))
    assert counts["automorphism"][Opcode.AUTO] == rotations * 2 * 2
    assert counts["key switch"][Opcode.INTT] == rotations * (2 + 2)
    assert counts["key switch"][Opcode.NTT] == rotations * (2 * 2 + 2 * 2)
    assert counts["key switch"][Opcode.STREAM] == rotations * 2 * 2 * 3
    assert counts["reduction"][Opcode.REDUCE] == SMALL.groups * 2 * 2
    assert counts["control"][Opcode.MAC] == counts["control"][Opcode.NTT] == counts["control"][Opcode.STREAM] == 0


@pytest.mark.parametrize(("rows", "cols", "schedule"), [(64, 64, "diagonal"), (40, 64, "horner"), (256, 512, "bsgs")])
def test_layers_extrapolate(rows: int, cols: int, schedule: str) -> None:
    def latency(steady: int) -> object:
        return layer_latency((rows, cols), toy(LOG_N, 3), SMALL, schedule, steady=steady)

    short, whole = latency(2), latency(1000)
    assert short.extrapolated or schedule == "bsgs"
    assert not whole.extrapolated
    assert short.cycles == pytest.approx(whole.cycles, rel=0.01)
    assert short.memory == pytest.approx(whole.memory, rel=0.001)
    for entity in ("keys", "matrix", "output"):
        assert short.traffic[entity] == whole.traffic[entity]
    for primitive in PRIMITIVES:
        assert short.shares[primitive] == pytest.approx(whole.shares[primitive], abs=0.01)
    assert short.fits
    assert short.as_dict()["schedule"] == schedule


def test_layers_beyond_the_card() -> None:
    tight = SMALL.model_copy(update={"dram_bytes": 2_000_000})
    latency = layer_latency((32, 32), toy(LOG_N, 3), tight, "diagonal", steady=2)
    assert not latency.fits
    assert latency.horner is not None
    assert latency.horner.schedule == "horner"
    assert latency.horner.memory < latency.memory
    with pytest.raises(ParameterError, match="schedule is"):
        layer_latency((32, 32), toy(LOG_N, 3), SMALL, "fast")
