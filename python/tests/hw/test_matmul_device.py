# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Programs of matrix products compute what the CPU computes, in every word: on the interpreter, and in RTL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from ringforge import ckks, params
from ringforge._native import Context, Diagonals, Evaluator, Parameters, Schedule
from ringforge.devices import Device, KeySet, Report, conformance, open_device
from ringforge.errors import LevelError, MismatchError, ParameterError, ShapeError
from ringforge.hw.machines.matmul.config import FameConfig
from ringforge.hw.machines.matmul.executors import Executor, Interpreted, Run, Simulated
from ringforge.hw.machines.matmul.measure import run_product
from ringforge.hw.machines.matmul.model_device import ModelDevice
from ringforge.hw.machines.matmul.product import ProductProgram, product_program
from ringforge.hw.vector.isa import Opcode, decode
from ringforge.matmul.engine import Product
from ringforge.matmul.kernels import HltKernel, MultiplyKernel
from ringforge.matmul.planner import choose
from tests.hw.interpreted import InterpretedDevice

Words = npt.NDArray[np.uint64]

REASON = "trials on small machines"


def tiny() -> Parameters:
    """Two digits at the smallest degree, and the levels of a product: RTL is done in a second."""
    known = params.named("fame-small-3", REASON)
    return Parameters("tiny", 10, known.q[:4], known.p, known.limbs_per_digit, known.log_scale, REASON)


@dataclass
class World:
    """Keys and random ciphertexts of a parameter set."""

    name: str

    def __post_init__(self) -> None:
        self.session = ckks.Session(tiny() if self.name == "tiny" else params.named(self.name, REASON), 2)
        self.context: Context = self.session.context
        self.rng = np.random.default_rng(1)

    def keys(self, galois: dict[int, int] | None = None, level: int | None = None) -> KeySet:
        """A relinearisation key, and Galois keys of these elements for these levels."""
        s = self.session
        for element, at in (galois or {}).items():
            s.galois_keys.insert(s.client.galois_key(s.secret_key, element, at, 2))
        top = self.context.params.max_level if level is None else level
        return KeySet(s.galois_keys, s.client.relin_key(s.secret_key, top, 2))

    def encrypt(self, level: int, values: Any = None) -> Any:
        """A ciphertext of values, or of random ones."""
        slots = self.rng.uniform(-1, 1, self.context.params.slots) if values is None else values
        return self.session.encrypt(slots, level=level)


def four_rotations(context: Context, level: int) -> HltKernel:
    """A transform with four rotations and the diagonal 0, memory-optimised."""
    slots, scale = context.params.slots, 2.0**context.params.log_scale
    steps = np.array([0, 1, 3, 8, slots - 5], np.uint32)
    targets = np.tile(np.arange(slots, dtype=np.uint32), len(steps))
    values = np.random.default_rng(3).uniform(-0.25, 0.25, len(targets)).astype(np.complex128)
    offsets = (np.arange(len(steps) + 1) * slots).astype(np.uint64)
    diagonals = Diagonals(slots, steps, offsets, targets, values)
    return HltKernel(context, diagonals, level, Schedule.mo, steps, scale, scale, 1.0)


def words(ciphertext: Any) -> list[list[Words]]:
    """Residues, [part][limb]."""
    return [[ciphertext.limb(part, i) for i in range(ciphertext.level + 1)] for part in (0, 1)]


def same(a: list[list[Words]], b: list[list[Words]]) -> bool:
    return len(a[0]) == len(b[0]) and all(
        np.array_equal(x, y) for p, q in zip(a, b, strict=True) for x, y in zip(p, q, strict=True)
    )


# ---- every kernel, as devices promise --------------------------------------------------------------


CHECKS = dict(conformance.checks("isa:fame-small"))


@pytest.mark.parametrize("name", CHECKS)
def test_kernels_are_those_of_the_cpu(name: str) -> None:
    CHECKS[name]()


# ---- products --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "machine", "level"),
    [
        ("fame-small", "fame-small", 4),
        ("fame-small", "fame-small-montgomery", 0),
        ("fame-small-3", "fame-small", 4),  # digits of 2, 2 and 1 limbs
        ("fame-small-3", "fame-small-montgomery", 2),
        ("fame-a", "fame-s", 2),
    ],
)
def test_multiply(parameters: str, machine: str, level: int) -> None:
    """One digit and several, whole and cut, full and low levels, on both multipliers."""
    world, device = World(parameters), InterpretedDevice(machine)
    keys, x, y = world.keys(), world.encrypt(level), world.encrypt(level)
    handle = device.prepare(MultiplyKernel(world.context, level), keys)
    (got,), _ = device.run(handle, [x, y])
    ev = Evaluator(world.context, 1)
    want = ev.relinearize(ev.mul(x, y), keys.required_relin())
    assert same(words(got), words(want))
    assert (got.scale, got.bound, got.variance) == (want.scale, want.bound, want.variance)
    (square,), _ = device.run(handle, [x, x])
    assert same(words(square), words(ev.relinearize(ev.mul(x, x), keys.required_relin())))


def test_wrong_factors_are_refused() -> None:
    world, other = World("fame-small"), World("fame-small")
    device, keys = InterpretedDevice("fame-small"), world.keys()
    handle = device.prepare(MultiplyKernel(world.context, 2), keys)
    x = world.encrypt(2)
    for wrong, error in ((world.encrypt(3), LevelError), (other.encrypt(2), MismatchError)):
        with pytest.raises(error):
            device.run(handle, [x, wrong])
    with pytest.raises(ShapeError, match="parts"):
        device.run(handle, [x, Evaluator(world.context, 1).mul(x, x)])
    foreign = device.prepare(MultiplyKernel(world.context, 2), other.keys())
    with pytest.raises(MismatchError, match="relinearisation key belongs to another"):
        device.run(foreign, [x, x])


def test_sums_of_reports_begin_with_nothing() -> None:
    """A sum that begins without a clock has that of what is added."""
    nothing, run = Report("a", 0.0), Report("a", 0.5, 10, 20.0, {"keys": 3})
    for total in (nothing + run, run + nothing, nothing + nothing + run):
        assert (total.cycles, total.clock_hz, total.seconds, total.bytes) == (10, 20.0, 0.5, {"keys": 3})
    assert (run + run).cycles == 20
    assert (run + Report("cpu", 1.0)).cycles is None


def test_keys_for_too_few_limbs_are_refused() -> None:
    world = World("fame-small")
    with pytest.raises(LevelError, match="covers 2 limbs"):
        InterpretedDevice("fame-small").prepare(MultiplyKernel(world.context, 2), world.keys(level=1))


def test_what_a_machine_cannot_hold_is_refused() -> None:
    context = Context(params.named("fame-b", "degree 2^15"))
    with pytest.raises(ParameterError, match="ring degree"):
        InterpretedDevice("fame-s").check(MultiplyKernel(context, 1))
    with pytest.raises(ParameterError, match="primes of 42 and 50 bits"):
        InterpretedDevice("fame-s").check(MultiplyKernel(Context(params.named("matmul-a", REASON)), 4))


# ---- whole products --------------------------------------------------------------------------------


@dataclass
class Case:
    """A product of random matrices."""

    world: World
    product: Product
    keys: KeySet
    inputs: list[Any]
    want: Any
    exact: npt.NDArray[np.float64]

    @classmethod
    def of(cls, world: World, shape: tuple[int, int, int]) -> Case:
        context = world.context
        choice = choose(context, *shape, context.params.max_level, method="fame", schedule="mo")
        product = Product(context, choice.plan, choice.level, options=choice.options, threads=2)
        keys = world.keys(dict(product.required_keys))
        a, b = world.rng.uniform(-1, 1, shape[:2]), world.rng.uniform(-1, 1, shape[1:])
        slots = context.params.slots
        inputs = [
            world.encrypt(choice.level, layout.pack(x, slots))
            for layout, x in ((choice.plan.left_layout, a), (choice.plan.right_layout, b))
        ]
        product.prepare(keys)
        want, _ = product(*inputs)
        return cls(world, product, keys, inputs, want, a @ b)

    def program(self, machine: str) -> ProductProgram:
        made = product_program(FameConfig.named(machine), self.product, self.keys)
        made.encode(2)
        return made

    def error(self) -> float:
        """Largest error of the product after decryption."""
        got = self.product.plan.out_layout.unpack(self.world.session.decrypt(self.want)).real
        return float(np.abs(got - self.exact).max())

    def run(self, made: ProductProgram, executor: Executor, device: Device | None = None) -> Run:
        """A run, whose words are those of the CPU."""
        run = executor.run(device, made.program, executor.load(made.program), self.inputs)
        assert same(run.parts, words(self.want))
        return run


@pytest.mark.parametrize(
    ("parameters", "machine", "shape"),
    [
        ("fame-small", "fame-small", (4, 4, 4)),
        ("fame-small-3", "fame-small-montgomery", (3, 5, 4)),
        ("fame-a", "fame-l", (4, 3, 2)),  # one element does both sides
    ],
)
def test_whole_product(parameters: str, machine: str, shape: tuple[int, int, int]) -> None:
    """A program that exchanges factors over the bus, and shares the products."""
    case = Case.of(World(parameters), shape)
    made = case.program(machine)
    case.run(made, Interpreted())
    assert case.error() < 1e-6
    work = [job.work for job in made.program.jobs]
    assert max(work) < 1.25 * min(work)
    sent = sum(i.op is Opcode.SEND for w in made.program.words for i in decode(w))
    assert (sent > 0) == (len(work) > 1)


def test_plans_that_do_not_end_there_are_refused() -> None:
    world = World("fame-small")
    choice = choose(world.context, 4, 4, 4, 4, method="ringforge", schedule="mo")
    product = Product(world.context, choice.plan, choice.level, options=choice.options)
    with pytest.raises(ParameterError, match="take method fame"):
        product_program(FameConfig.named("fame-small"), product, KeySet())


# ---- in RTL ----------------------------------------------------------------------------------------


def run_kernel(device: Device, kernel: Any, keys: KeySet, inputs: list[Any]) -> Report:
    """A run, whose words are those of the CPU."""
    (got,), report = device.run(device.prepare(kernel, keys), inputs)
    cpu = open_device("cpu")
    (want,), _ = cpu.run(cpu.prepare(kernel, keys), inputs)
    assert same(words(got), words(want))
    return report


def check_machine(world: World, machine: str, shape: tuple[int, int, int]) -> dict[str, Report]:
    """A transform, a product and a whole product of matrices in RTL: the CPU's words, and the programs' traffic."""
    device, context, level = open_device(f"rtl:{machine}"), world.context, world.context.params.max_level
    transform = four_rotations(context, level)
    keys = world.keys({int(context.rotation_element(int(s))): level for s in transform.map.steps if s})
    reports = {
        "transform": run_kernel(device, transform, keys, [world.encrypt(level)]),
        "multiply": run_kernel(device, MultiplyKernel(context, level), keys, [world.encrypt(level) for _ in range(2)]),
    }
    case = Case.of(world, shape)
    made = case.program(machine)
    run = case.run(made, Simulated(), device)
    assert run.cycles is not None
    assert max(job.work for job in made.program.jobs) < run.cycles
    expected = {name: t.read + t.written for name, t in made.program.traffic.items()}
    expected.pop("program")  # the fetch reads ahead
    assert {name: run.bytes[name] for name in expected} == expected
    return reports


@pytest.mark.parametrize("machine", ["fame-small", pytest.param("fame-small-montgomery", marks=pytest.mark.long)])
def test_small_machines_in_rtl(machine: str) -> None:
    check_machine(World("tiny"), machine, (3, 2, 2))


def test_model_device() -> None:
    """Results of the processor, with cycles near RTL's and the programs' traffic."""
    world, machine = World("tiny"), "fame-small"
    level = world.context.params.max_level
    kernel = MultiplyKernel(world.context, level)
    keys, inputs = world.keys(), [world.encrypt(level) for _ in range(2)]
    modelled = run_kernel(ModelDevice(machine), kernel, keys, inputs)
    real = run_kernel(open_device(f"rtl:{machine}"), kernel, keys, inputs)
    assert modelled.cycles == pytest.approx(real.cycles, rel=0.02)
    assert {k: v for k, v in modelled.bytes.items() if v and k != "program"} == {
        k: v for k, v in real.bytes.items() if v and k != "program"
    }
    with pytest.raises(ParameterError, match="ring degree"):
        ModelDevice(machine).check(MultiplyKernel(Context(params.named("fame-a", REASON)), 1))
    assert open_device(f"model:{machine}").kind == "model:matmul"


@pytest.mark.long
@pytest.mark.parametrize("parameters", ["fame-small", "fame-small-3"])
def test_largest_degree_of_the_small_machine_in_rtl(parameters: str) -> None:
    check_machine(World(parameters), "fame-small", (4, 4, 4))


@pytest.mark.long
def test_full_lanes_in_rtl() -> None:
    """Set-A's depth on 2 x 128 lanes."""
    check_machine(World("fame-a"), "fame-s", (4, 4, 4))


@pytest.mark.long
def test_whole_product_of_64_in_rtl() -> None:
    """64 x 64 x 64 at Set-A's depth with (k, beta) = (5, 1) on 2 x 128 lanes, as one program: minutes."""
    made = run_product(FameConfig.named("fame-s"), params.named("fame-a", REASON), (64, 64, 64))
    assert made.exact
    assert made.error < made.bound
    assert made.peak <= 16
    assert made.rows < made.cycles < 1.3 * made.rows


@pytest.mark.long
def test_conformance_in_rtl() -> None:
    for _, check in conformance.checks("rtl:fame-small"):
        check()
