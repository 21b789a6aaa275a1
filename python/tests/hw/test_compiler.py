# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Compiled programs, run by the interpreter, against the `cpu` device: bit for bit, metadata included."""

from __future__ import annotations

import copy
import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from ringforge import params
from ringforge._native import (
    Algorithm,
    Ciphertext,
    Client,
    Context,
    GaloisKeys,
    Matvec,
    Packing,
    Parameters,
    Plan,
    Span,
    TestSeed,
    kernels,
)
from ringforge.devices import CpuDevice, KeySet
from ringforge.errors import LevelError, MissingKeyError, ParameterError, ShapeError, ValueError
from ringforge.hw.machines.matvec import Compiled, Options, compile_matvec
from ringforge.hw.machines.matvec.config import MatvecConfig
from ringforge.hw.machines.matvec.layers import layer_kernel
from ringforge.hw.vector import replica
from ringforge.hw.vector.interpreter import Interpreter
from ringforge.hw.vector.isa import Opcode, decode
from ringforge.hw.vector.keyswitch import SpecialHomes
from ringforge.matvec.kernels import MatvecKernel, MatvecOperands

SCALE = 2.0**35
BOTH = [Options(f, t) for f in (True, False) for t in (True, False)]
#: The Set-B machine at N = 2^11 with the slots it has at 2^14, and with those it has at 2^15.
SET_B = {"bank_rows": 512, "twiddle_rows": 512, "max_log_n": 12}
SET_C = {"bank_rows": 256, "twiddle_rows": 256, "max_log_n": 12}


def small_parameters(log_n: int, limbs: int, bits: int = 50) -> Parameters:
    primes = kernels.primes_below(bits, limbs + 1, 1 << 18)
    return Parameters("test", log_n, primes[1:], primes[:1], 1, 35.0, "test")


@dataclass
class Case:
    """A product on a machine."""

    m: int
    n: int
    algorithm: str
    limbs: int = 3
    baby: int = 1
    machine: str = "matvec-small"
    log_n: int = 10
    bits: int = 50
    level: int | None = None
    batch: int = 1
    bias: bool = True
    span: str = "compact"
    changes: dict[str, Any] = field(default_factory=dict)

    def make(self) -> Case:
        """A copy with parameters, keys and inputs."""
        made = copy.copy(self)
        made._make()
        return made

    def _make(self) -> None:
        self.config = MatvecConfig.named(self.machine).model_copy(update=self.changes)
        self.parameters = small_parameters(self.log_n, self.limbs, self.bits)
        self.context = Context(self.parameters)
        slots = self.parameters.slots // self.batch
        packing = Packing(self.m, self.n, slots, getattr(Span, self.span))
        self.plan = Plan(packing, getattr(Algorithm, self.algorithm), self.baby)
        self.kernel = MatvecKernel(
            self.context,
            self.plan,
            self.limbs - 1 if self.level is None else self.level,
            self.batch,
            SCALE,
            SCALE,
            1.0,
            True,
        )
        rng = np.random.default_rng(self.m * self.n + self.limbs)
        bias = rng.uniform(-1, 1, self.m) if self.bias else np.zeros(0)
        self.operands = MatvecOperands(rng.uniform(-1, 1, (self.m, self.n)), bias)
        client = Client(self.context, TestSeed(bytes(range(32))))
        secret = client.secret_key()
        level = self.kernel.level
        self.matvec = Matvec(self.context, self.plan, level, self.batch)
        self.matvec.encode(self.operands.matrix, self.operands.bias, SCALE, SCALE, 1.0, True)
        self.keys = GaloisKeys()
        for element, at in self.matvec.required_keys:
            self.keys.insert(client.galois_key(secret, element, at))
        self.inputs = [
            client.encrypt(self.context.encode(rng.uniform(-1, 1, slots) + 0j, SCALE, level), secret)
            for _ in packing.blocks
        ]

    def compile(self, options: Options | None = None) -> Compiled:
        return compile_matvec(self.config, self.kernel, has_bias=self.bias, options=options)

    def run(self, compiled: Compiled) -> list[Ciphertext]:
        dram = compiled.memory_image(self.matvec, self.keys, self.inputs)
        Interpreter(self.config, dram).run(compiled.programs)
        return self.matvec.assemble(self.inputs, compiled.results(dram.read))

    def expected(self) -> list[Ciphertext]:
        device = CpuDevice()
        handle = device.prepare(self.kernel, KeySet(self.keys), self.operands)
        return device.run(handle, self.inputs)[0]


def assert_same(got: list[Ciphertext], want: list[Ciphertext]) -> None:
    assert len(got) == len(want)
    for g, w in zip(got, want, strict=True):
        assert (g.scale, g.key_id, g.variance, g.bound, g.level) == (w.scale, w.key_id, w.variance, w.bound, w.level)
        assert g.error_bound == w.error_bound
        for part in (0, 1):
            for limb in range(w.level + 1):
                assert np.array_equal(g.limb(part, limb), w.limb(part, limb)), (part, limb)


CASES = {
    "one diagonal": Case(1, 8, "diagonal", limbs=2),
    "fewer diagonals than groups": Case(1, 8, "bsgs", limbs=2, machine="matvec-a"),
    "diagonals": Case(4, 8, "diagonal"),
    "diagonals, many folds, no bias": Case(4, 512, "diagonal", bias=False),
    "horner": Case(4, 64, "horner"),
    "bsgs": Case(8, 16, "bsgs", baby=4, limbs=4, log_n=11),
    "bsgs, one giant step": Case(8, 16, "bsgs", baby=8),
    "bsgs, no baby steps": Case(8, 16, "bsgs", baby=1),
    "bsgs, spread": Case(64, 64, "bsgs", baby=2, span="spread"),
    "several inputs": Case(3, 1200, "diagonal"),
    "several inputs, bsgs": Case(3, 1200, "bsgs", baby=2),
    "several inputs, horner": Case(2, 1200, "horner"),
    "several results": Case(600, 5, "diagonal", bits=54),
    "several results, bsgs": Case(600, 20, "bsgs", baby=4, bits=54),
    "several results, horner": Case(600, 5, "horner"),
    "batch": Case(8, 8, "bsgs", baby=4, batch=4),
    "lower level": Case(4, 8, "diagonal", limbs=4, level=2),
    "five limbs on two elements": Case(4, 8, "diagonal", limbs=5, log_n=11),
    "shortest primes": Case(4, 8, "bsgs", baby=2, bits=47),
    "longest primes": Case(4, 8, "diagonal", bits=54),
    "montgomery": Case(4, 8, "diagonal", machine="matvec-small-montgomery", bits=54),
    "montgomery, bsgs": Case(8, 8, "bsgs", baby=4, machine="matvec-small-montgomery", limbs=4),
    "one element": Case(4, 8, "bsgs", baby=2, machine="matvec-a", changes={"pes": 1}),
    "one group": Case(4, 8, "diagonal", changes={"groups": 1}),
    "set-b shape": Case(4, 16, "diagonal", limbs=7, machine="matvec-b", log_n=11, changes=SET_B),
    "set-b shape, eight limbs": Case(4, 8, "diagonal", limbs=8, machine="matvec-b", log_n=11, changes=SET_B),
    "set-b shape, bsgs": Case(8, 16, "bsgs", baby=2, limbs=7, machine="matvec-b", log_n=11, changes=SET_B),
    "set-b shape, two limbs": Case(8, 16, "bsgs", baby=4, limbs=2, machine="matvec-b", log_n=11, changes=SET_B),
    "set-b shape, montgomery": Case(
        4, 8, "bsgs", baby=2, limbs=6, machine="matvec-b-montgomery", log_n=11, changes=SET_B
    ),
    "set-c shape": Case(4, 8, "diagonal", limbs=14, machine="matvec-b", log_n=11, changes=SET_C),
    "set-c shape, bsgs": Case(4, 8, "bsgs", baby=2, limbs=14, machine="matvec-b", log_n=11, changes=SET_C),
    "one slot per bank and table": Case(
        4, 8, "diagonal", limbs=3, log_n=11, changes={"banks": 4, "bank_rows": 256, "twiddle_rows": 256}
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_the_cpu(name: str) -> None:
    case = CASES[name].make()
    assert_same(case.run(case.compile()), case.expected())


@pytest.mark.parametrize("options", BOTH[1:], ids=str)
@pytest.mark.parametrize("name", ["set-b shape", "bsgs", "several inputs", "horner", "set-c shape, bsgs"])
def test_every_combination_of_passes_gives_the_same_results(name: str, options: Options) -> None:
    case = CASES[name].make()
    assert_same(case.run(case.compile(options)), case.expected())


def test_metadata_of_later_layers_and_of_inputs_that_are_not_fresh() -> None:
    case = CASES["bsgs"].make()
    for fresh in (True, False):
        matvec = Matvec(case.context, case.plan, case.kernel.level, 1)
        matvec.encode(case.operands.matrix, case.operands.bias, SCALE, SCALE, 1.0, fresh)
        want = matvec.run(case.inputs, case.keys)
        parts = [[[w.limb(p, i) for i in range(w.level + 1)] for p in (0, 1)] for w in want]
        assert_same(matvec.assemble(case.inputs, parts), want)


def test_assemble_refuses_what_cannot_be_a_result() -> None:
    case = CASES["bsgs"].make()
    level, n = case.kernel.level, case.parameters.degree
    good = [[[np.zeros(n, np.uint64)] * level] * 2]
    case.matvec.assemble(case.inputs, good)
    for bad, error in (
        (good * 2, ShapeError),
        ([good[0][:1]], ShapeError),
        ([[[np.zeros(n, np.uint64)]] * 2], ShapeError),
        ([[[np.zeros(n // 2, np.uint64)] * level] * 2], ShapeError),
        ([[[np.full(n, case.parameters.q[0], np.uint64)] * level] * 2], ValueError),
    ):
        with pytest.raises(error):
            case.matvec.assemble(case.inputs, bad)
    with pytest.raises(ShapeError, match="no limb 9 of term 0"):
        case.matvec.term_limb(0, 9)


# ---- what programs do ---------------------------------------------------------------------------------


def test_transforms_are_as_many_as_the_cpu_counts() -> None:
    """The schedule adds none; what differs is explained term by term."""
    for name in ("set-b shape", "diagonals", "horner"):
        case = CASES[name].make()
        device = CpuDevice()
        handle = device.prepare(case.kernel, KeySet(case.keys), case.operands)
        counts = device.run(handle, case.inputs)[1].operations
        done = case.compile().instructions
        homes = SpecialHomes.of(case.kernel.level, case.config.pes).accumulate
        # Two idle elements each transform a digit modulo the special prime rather than send it.
        twice = case.kernel.level * counts["key_switch"] if len(set(homes)) == 2 and homes[0] < homes[1] else 0
        # Rotate-and-sum: groups share the digits, and each divides by P.
        shared = 0 if name == "horner" else (case.config.groups - 1) * len(case.plan.packing.folds)
        assert done["NTT"] == counts["ntt"] + twice + 2 * case.kernel.level * shared
        assert done["INTT"] == counts["intt"] + 2 * shared


def test_baby_steps_are_what_the_machine_does_fastest() -> None:
    """The plan's split is chosen by the machine's cycles, and the replica agrees with the choice."""
    config, context = MatvecConfig.named("matvec-b"), Context(params.named("set-a"))

    def cycles(baby: int) -> int:
        kernel, _ = layer_kernel(context, 64, 512, 2, "bsgs", baby, config)
        return replica.run(config, compile_matvec(config, kernel, has_bias=True).programs).cycles

    chosen = layer_kernel(context, 64, 512, 2, "bsgs", machine=config)[0].plan.baby
    usual = layer_kernel(context, 64, 512, 2, "bsgs")[0].plan.baby
    assert chosen != usual
    assert cycles(chosen) < min(cycles(b) for b in (1, 2, usual, 8))
    with pytest.raises(ParameterError, match="no plan has 5 baby steps"):
        layer_kernel(context, 64, 512, 2, "bsgs", 5)


def test_traffic_is_what_the_plan_needs() -> None:
    case = CASES["set-b shape"].make()
    compiled, size = case.compile(), 8 * case.parameters.degree
    traffic, limbs = compiled.traffic, case.limbs
    rotations = case.plan.packing.diagonals - 1 + len(case.plan.packing.folds)
    assert traffic["keys"].read == rotations * 2 * (limbs - 1) * limbs * size
    assert traffic["matrix"].read == case.plan.packing.diagonals * limbs * size
    assert traffic["input"].read == case.config.groups * 2 * limbs * size
    assert traffic["output"].written == 2 * (limbs - 1) * size
    assert traffic["bias"].read == (limbs - 1) * size
    assert traffic["partial sums"].read == traffic["partial sums"].written == 0  # nothing is spilled
    assert traffic["program"].read == 32 * sum(compiled.instructions.values())


def test_passes_save_traffic() -> None:
    case = CASES["set-b shape"].make()
    both, fused, tiled, neither = (case.compile(o).traffic for o in BOTH)
    # Fusion keeps results on chip, tiling sums, inputs and tables.
    assert both["partial sums"].read == 0 < fused["partial sums"].read < neither["partial sums"].read
    assert 0 < tiled["partial sums"].read < neither["partial sums"].read
    assert both["twiddles"].read == tiled["twiddles"].read < fused["twiddles"].read
    assert both["keys"].read == neither["keys"].read
    total = [sum(t.read + t.written for t in x.values()) for x in (both, fused, tiled, neither)]
    assert total[0] == min(total)
    assert total[3] == max(total)


def test_small_scratchpads_spill() -> None:
    traffic = CASES["set-c shape"].make().compile().traffic
    assert 0 < traffic["partial sums"].written <= traffic["partial sums"].read


def test_without_tiling_one_group_works() -> None:
    compiled = CASES["diagonals"].make().compile(Options(tiling=False))
    assert all(p.shape[0] == 2 for p in compiled.programs[2:])
    assert compiled.instructions.get("REDUCE", 0) == 0


def test_programs_are_repeatable_and_in_the_described_form() -> None:
    case = CASES["bsgs"].make()
    first, second = case.compile(), case.compile()
    assert all(np.array_equal(a, b) for a, b in zip(first.programs, second.programs, strict=True))
    image = first.image()
    for k, program in enumerate(first.programs):
        decoded = decode(program)
        assert decoded[0].op is Opcode.CONF
        assert decoded[-1].op is Opcode.END
        at = k * first.stride // 8
        assert np.array_equal(image[at : at + program.size], program.reshape(-1))
    assert first.base % 4096 == first.stride % 4096 == 0
    places = sorted((r.address, r.end) for r in first.job.layout.regions)
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(places))
    assert places[-1][1] <= first.memory


def test_keys_are_held_against_the_plan() -> None:
    case = CASES["diagonals"].make()
    compiled = case.compile()
    with pytest.raises(MissingKeyError):
        list(compiled.prepared(case.matvec, GaloisKeys()))
    client = Client(case.context, TestSeed(bytes(range(32))))
    secret, low = client.secret_key(), GaloisKeys()
    for element, _ in case.matvec.required_keys:
        low.insert(client.galois_key(secret, element, 0))
    with pytest.raises(LevelError, match="covers 1 limbs, the plan uses 2"):
        list(compiled.prepared(case.matvec, low))


# ---- refusals -----------------------------------------------------------------------------------------


def kernel(parameters: Parameters, level: int | None = None, m: int = 4, n: int = 8) -> MatvecKernel:
    plan = Plan(Packing(m, n, parameters.slots, Span.compact), Algorithm.diagonal)
    level = parameters.max_level if level is None else level
    return MatvecKernel(Context(parameters), plan, level, 1, SCALE, SCALE, 1.0, True)


def test_what_does_not_fit_is_refused() -> None:
    small = MatvecConfig.named("matvec-small")
    p = kernels.primes_below(50, 5, 1 << 18)
    short = kernels.primes_below(48, 2, 1 << 18)
    p46 = kernels.primes_below(46, 3, 1 << 18)

    def parameters(q: list[int], special: list[int], digit: int = 1, log_n: int = 10) -> Parameters:
        return Parameters("test", log_n, q, special, digit, 35.0, "test")

    for params_, config, why in (
        (parameters(p[1:3], p[:1], log_n=12), small, r"needs degree 2\^12; there is 2\^7 ... 2\^11"),
        (parameters(p[2:], p[:2]), small, "needs 2 special primes; there is exactly one"),
        (parameters([*p[1:3], short[0]], p[:1]), small, "primes of 48 and 50 bits"),
        (parameters(p46[1:], p46[:1]), small, "47 to 54 bits, these have 46"),
        (parameters(p[1:3], p[:1]), small.model_copy(update={"banks": 2}), "needs 3 banks"),
        (
            parameters(p[1:3], p[:1], log_n=11),
            small.model_copy(update={"bank_rows": 256}),
            "needs 4 polynomials in the scratchpad of an element; there is room for 3",
        ),
        (parameters(p[1:3], p[:1]), small.model_copy(update={"dram_bytes": 1 << 18}), "0.00 GiB of DRAM, the program"),
    ):
        with pytest.raises(ParameterError, match=why):
            compile_matvec(config, kernel(params_), has_bias=False)


def test_hybrid_digits_and_foreign_primes_are_refused() -> None:
    q = kernels.primes_below(60, 4, 1 << 18)
    hybrid = Parameters("test", 10, q[:2], q[2:], 2, 35.0, "test")
    with pytest.raises(ParameterError, match="special primes"):
        compile_matvec(MatvecConfig.named("matvec-small"), kernel(hybrid), has_bias=False)
    ordinary = kernels.primes_below(50, 3, 1 << 12)
    ordinary = [x for x in kernels.primes_below(50, 60, 1 << 12) if x % (1 << 18) != 1][:3]
    plain = Parameters("test", 10, ordinary[1:], ordinary[:1], 1, 35.0, "test")
    compile_matvec(MatvecConfig.named("matvec-small"), kernel(plain), has_bias=False)
    with pytest.raises(ParameterError, match=r"need primes = 1 mod 2\^18"):
        compile_matvec(MatvecConfig.named("matvec-small-montgomery"), kernel(plain), has_bias=False)


def test_keys_that_exceed_the_memory_are_refused() -> None:
    """All keys of the paper's largest layers do not fit in the machine's 64 GiB."""
    with pytest.raises(ParameterError, match=r"64.00 GiB of DRAM, the program needs \d+\.\d+ GiB \(.*keys \d+"):
        compile_matvec(MatvecConfig.named("matvec-b"), kernel(params.named("set-c"), m=4096, n=9216), has_bias=False)
