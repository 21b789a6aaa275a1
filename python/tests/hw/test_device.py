# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The rtl device: same bits as the cpu device, honest traffic, refusals before anything runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ringforge import _native
from ringforge._native import Algorithm, Packing, Plan, Span, kernels
from ringforge.devices import KeySet, conformance, names, open_device
from ringforge.errors import HardwareError, LevelError, ParameterError
from ringforge.hw.core.device import RtlDevice
from ringforge.hw.core.simulator import Simulation
from ringforge.hw.machines.matvec import Options
from ringforge.hw.machines.matvec.measure import primitive_cycles, rotation_rates
from ringforge.hw.machines.matvec.rotations import butterfly_bound
from ringforge.matvec.kernels import MatvecKernel, MatvecOperands, SquareKernel


def toy(log_n: int, bits: int, limbs: int, special: int = 1) -> _native.Parameters:
    """An insecure set whose primes hardware can run."""
    primes = kernels.primes_below(bits, limbs + special, 1 << 18)
    return _native.Parameters("toy", log_n, primes[:limbs], primes[limbs:], 1, 40.0, "hardware tests")


class Case:
    """A product with its keys, matrix and encrypted vector."""

    def __init__(
        self, params: _native.Parameters, rows: int, cols: int, algorithm: str, span: str, baby: int = 1, seed: int = 1
    ) -> None:
        self.context = _native.Context(params)
        level = params.max_level
        plan = Plan(Packing(rows, cols, params.slots, getattr(Span, span)), getattr(Algorithm, algorithm), baby)
        scale = 2.0**params.log_scale
        self.kernel = MatvecKernel(self.context, plan, level, 1, scale, scale, 1.0, True)
        client = _native.Client(self.context, _native.TestSeed(seed.to_bytes(32, "little")))
        secret = client.secret_key()
        galois = _native.GaloisKeys()
        for element, at in _native.Matvec(self.context, plan, level).required_keys:
            galois.insert(client.galois_key(secret, element, at))
        rng = np.random.default_rng(seed)
        self.keys = KeySet(galois)
        self.operands = MatvecOperands(rng.uniform(-1, 1, (rows, cols)), rng.uniform(-1, 1, rows))
        vector = rng.uniform(-1, 1, cols)
        self.inputs = []
        for block in range(len(plan.packing.blocks)):
            columns = plan.packing.columns(block)
            slots = np.where(columns < cols, vector[np.minimum(columns, cols - 1)], 0.0).astype(complex)
            self.inputs.append(client.encrypt(self.context.encode(slots, scale, level), secret))

    def on(self, device: RtlDevice | str) -> tuple[list, object, object]:
        target = open_device(device) if isinstance(device, str) else device
        target.check(self.kernel)
        handle = target.prepare(self.kernel, self.keys, self.operands)
        outputs, report = target.run(handle, self.inputs)
        return outputs, report, handle


def residues(outputs: list) -> list[np.ndarray]:
    return [c.limb(part, limb) for c in outputs for part in (0, 1) for limb in range(c.level + 1)]


@pytest.fixture
def device(machines: Callable[[str], Simulation]) -> Callable[..., RtlDevice]:
    """A device on the session's machine of that name."""

    def make(name: str, **options: object) -> RtlDevice:
        made = RtlDevice(name, **options)  # type: ignore[arg-type]
        made._simulation = machines(name)
        made._simulation.reset()
        return made

    return make


CASES = [
    ("matvec-small", 10, 50, 3, 64, 128, "bsgs", "spread", 4),
    ("matvec-small", 10, 54, 2, 12, 20, "bsgs", "compact", 4),
    ("matvec-small", 11, 50, 4, 40, 600, "bsgs", "spread", 4),
    ("matvec-small", 10, 54, 3, 16, 16, "diagonal", "compact", 1),
    ("matvec-small", 10, 50, 5, 5, 9, "diagonal", "compact", 1),
    ("matvec-small", 10, 50, 2, 8, 600, "diagonal", "compact", 1),
    ("matvec-small", 10, 50, 3, 8, 8, "horner", "compact", 1),
    ("matvec-small-montgomery", 10, 54, 3, 64, 128, "bsgs", "spread", 4),
    ("matvec-small-montgomery", 10, 50, 3, 9, 16, "diagonal", "compact", 1),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: "-".join(map(str, c)))
def test_same_bits_as_the_cpu(device: Callable[..., RtlDevice], case: tuple) -> None:
    machine, log_n, bits, limbs, rows, cols, algorithm, span, baby = case
    c = Case(toy(log_n, bits, limbs), rows, cols, algorithm, span, baby)
    expected, _, _ = c.on("cpu")
    outputs, report, handle = c.on(device(machine))
    assert all(np.array_equal(a, b) for a, b in zip(residues(outputs), residues(expected), strict=True))
    for got, want in zip(outputs, expected, strict=True):
        assert (got.scale, got.bound, got.variance, got.key_id) == (want.scale, want.bound, want.variance, want.key_id)
    assert report.cycles > 0
    assert report.seconds == report.cycles / report.clock_hz
    counted = handle.state.compiled.traffic
    for entity in ("keys", "matrix", "bias", "input", "output", "partial sums", "twiddles"):
        assert report.bytes[entity] == counted[entity].read + counted[entity].written, entity


def test_the_small_machine_passes_the_suite(device: Callable[..., RtlDevice]) -> None:
    """With the cases that fit it; of two runs at once one waits for the machine."""
    count = 0
    for name, check in conformance.checks(device("matvec-small")):
        check()
        count += name.startswith("MatvecKernel")
    assert count >= 22


def test_machines_with_either_multiplier_take_the_same_cycles(device: Callable[..., RtlDevice]) -> None:
    c = Case(toy(10, 50, 3), 8, 16, "bsgs", "spread", 1)
    cycles = [c.on(device(name))[1].cycles for name in ("matvec-small", "matvec-small-montgomery")]
    assert cycles[0] == cycles[1]


@pytest.mark.parametrize("options", [Options(fusion=False), Options(tiling=False), Options(False, False)], ids=repr)
def test_passes_change_traffic_and_nothing_else(device: Callable[..., RtlDevice], options: Options) -> None:
    c = Case(toy(10, 50, 3), 8, 16, "diagonal", "compact")
    plain, fast, _ = c.on(device("matvec-small"))
    slow, report, _ = c.on(device("matvec-small", options=options))
    assert all(np.array_equal(a, b) for a, b in zip(residues(plain), residues(slow), strict=True))
    assert sum(report.bytes.values()) > sum(fast.bytes.values())
    assert report.cycles > fast.cycles


def test_rotations_are_exact_and_within_the_bound(machines: Callable[[str], Simulation]) -> None:
    params = toy(11, 50, 2)
    rates = list(rotation_rates(machines("matvec-small"), params, 1, (1, 4)))
    assert all(r.exact for r in rates)
    assert all(r.bound == butterfly_bound(machines("matvec-small").config, 11, 2) for r in rates)
    assert 0.5 < rates[0].utilisation < 1
    assert rates[1].utilisation > rates[0].utilisation


def test_primitives_take_a_row_per_cycle(machines: Callable[[str], Simulation]) -> None:
    sim = machines("matvec-small")
    rows = sim.config.rows(11)
    cycles = primitive_cycles(sim, 11)
    assert 11 * rows < cycles["NTT"] == cycles["INTT"] < 11 * rows + 60
    assert rows < cycles["automorphism"] < rows + 40
    assert rows < cycles["element-wise"] < rows + 40


def _refused(c: Case, device: RtlDevice) -> str:
    with pytest.raises(ParameterError) as e:
        device.check(c.kernel)
    return str(e.value)


def test_what_does_not_fit_is_refused(device: Callable[..., RtlDevice]) -> None:
    small = device("matvec-small")
    assert "2048" in _refused(Case(toy(12, 50, 2), 4, 4, "bsgs", "spread"), small)
    assert "60" in _refused(Case(toy(10, 60, 2), 4, 4, "bsgs", "spread"), small)
    wide, narrow = kernels.primes_below(50, 2, 1 << 18), kernels.primes_below(49, 1, 1 << 18)
    mixed = _native.Parameters("mixed", 10, [wide[0], narrow[0]], [wide[1]], 1, 40.0, "hardware tests")
    with pytest.raises(ParameterError, match="49 and 50 bits"):
        small.check(Case(mixed, 4, 4, "bsgs", "spread").kernel)


def test_too_little_memory_is_refused(device: Callable[..., RtlDevice]) -> None:
    small = device("matvec-small")
    small.config = small.config.model_copy(update={"dram_bytes": 1 << 20})
    message = _refused(Case(toy(10, 50, 3), 16, 16, "diagonal", "compact"), small)
    assert "DRAM" in message
    assert "keys" in message


def test_squares_are_refused(device: Callable[..., RtlDevice]) -> None:
    context = _native.Context(toy(10, 50, 2))
    with pytest.raises(ParameterError, match="SquareKernel"):
        device("matvec-small").check(SquareKernel(context, 1))


def test_inputs_of_another_level_are_refused(device: Callable[..., RtlDevice]) -> None:
    c = Case(toy(10, 50, 3), 4, 4, "bsgs", "spread")
    rtl = device("matvec-small")
    handle = rtl.prepare(c.kernel, c.keys, c.operands)
    lower = _native.Evaluator(c.context).drop_to_level(c.inputs[0], 1)
    with pytest.raises(LevelError):
        rtl.run(handle, [lower])


def test_a_bus_error_reaches_the_caller(device: Callable[..., RtlDevice]) -> None:
    """Memory that lacks a key answers with an error, the machine stops, and the device raises."""
    c = Case(toy(10, 50, 3), 8, 16, "bsgs", "spread")
    rtl = device("matvec-small")
    handle = rtl.prepare(c.kernel, c.keys, c.operands)
    state = handle.state
    key = min(region.address for region in state.compiled.job.keys.values())
    broken = replace(handle, state=replace(state, memory=[(a, w) for a, w in state.memory if a != key]))
    with pytest.raises(HardwareError, match="bus error"):
        rtl.run(broken, c.inputs)
    outputs, _ = rtl.run(handle, c.inputs)
    assert all(np.array_equal(a, b) for a, b in zip(residues(outputs), residues(c.on("cpu")[0]), strict=True))


def test_device_names() -> None:
    assert "rtl:matvec-b" in names()
    assert open_device("rtl:matvec-a").capabilities().name == "rtl:matvec-a"
    with pytest.raises(ParameterError, match="rtl:matvec-b"):
        open_device("rtl:nothing")


@pytest.mark.long
def test_waveforms(tmp_path: Path) -> None:
    c = Case(toy(10, 50, 2), 4, 4, "bsgs", "spread")
    c.on(RtlDevice("matvec-small", waves=tmp_path / "run.vcd"))
    assert (tmp_path / "run.vcd").stat().st_size > 100_000
