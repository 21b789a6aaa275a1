# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Kernels of detection and integer products on the omr machine: by the interpreter, by its model, in RTL."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from ringforge.bfv import cases as matvec_cases
from ringforge.bfv.kernels import IntegerMatvecKernel
from ringforge.devices import conformance, open_device
from ringforge.errors import Error, HardwareError, LevelError, MissingKeyError, ParameterError
from ringforge.hw.core.device import RtlDevice
from ringforge.hw.machines.omr import measure, replica, validation
from ringforge.hw.machines.omr.affine import babies
from ringforge.hw.machines.omr.config import OmrConfig
from ringforge.hw.machines.omr.cost import Sum
from ringforge.hw.machines.omr.runner import Simulated
from ringforge.omr import cases
from ringforge.omr.kernels import AffineKernel, BabiesKernel
from tests.hw import omr_devices

_SILENCE = 100_000
_KERNELS = (BabiesKernel, AffineKernel, IntegerMatvecKernel)


def checks(device: str, *, all_cases: bool = True) -> list[Any]:
    """Those of the suite for the machine's kernels; of integer products one case, or all."""
    names = tuple(kernel.__name__ for kernel in _KERNELS)
    found = [(name, check) for name, check in conformance.checks(device) if name.startswith(names)]
    return [x for x in found if all_cases or "IntegerMatvec" not in x[0] or "compact" in x[0]]


@pytest.mark.parametrize("device", [f"omrisa:{name}" for name in omr_devices.NAMES])
def test_kernels_conform(device):
    found = checks(device, all_cases=False)
    assert {name.split()[0] for name, _ in found} == {kernel.__name__ for kernel in _KERNELS}
    for _, check in found:
        check()


@pytest.mark.long
@pytest.mark.parametrize("device", [f"omrisa:{name}" for name in omr_devices.NAMES])
def test_all_cases_conform(device):
    for _, check in checks(device):
        check()


def test_the_model_conforms_and_counts():
    device = open_device("model:omr-small")
    case = cases.cases(BabiesKernel)[0]
    handle = device.prepare(case.kernel, case.given.keys, None)
    outputs, report = device.run(handle, case.given.inputs())
    want, _ = open_device("cpu").run(
        open_device("cpu").prepare(case.kernel, case.given.keys, None), case.given.inputs()
    )
    for got, wanted in zip(case.words(outputs[0]), case.words(want[0]), strict=True):
        np.testing.assert_array_equal(got, wanted)
    turns = case.kernel.shape.layout.rotations - 1
    limbs, special, n = case.kernel.shape.limbs, 2, 1 << 10
    assert report.operations["rotation"] == turns
    assert report.operations["intt"] == turns * (limbs + 2 * special)
    assert report.operations["ntt"] == turns * (2 * special + 3 * limbs)
    # Every key once a rotation; a rotation reads and writes its ciphertext once in `output`, but the first's input.
    assert report.bytes["keys"] == turns * 2 * 2 * (limbs + special) * n * 8
    assert report.cycles is not None
    assert report.cycles / report.seconds == pytest.approx(report.clock_hz)


def test_progress_and_cancelling():
    device = open_device("omrisa:omr-small")
    case = cases.cases(BabiesKernel)[0]
    handle, told = device.prepare(case.kernel, case.given.keys, None), []
    device.run(handle, case.given.inputs(), progress=lambda done: told.append(done) or True)
    assert told == sorted(told)
    assert told[-1] == 1.0
    # Evenly, and not all at the end.
    count = len(told)
    for tenth in range(1, 10):
        assert told[count * tenth // 10] == pytest.approx(tenth / 10, abs=0.05)
    # A run that is cancelled half-way does no more.
    part: list[float] = []
    with pytest.raises(Error, match="cancelled"):
        device.run(handle, case.given.inputs(), progress=lambda done: part.append(done) or done < 0.5)
    assert part[-1] == pytest.approx(0.5, abs=0.01)
    assert len(part) == pytest.approx(count / 2, abs=3)
    device.run(handle, case.given.inputs())


@pytest.mark.parametrize("kernel", _KERNELS)
def test_memory_is_held_against_what_a_kernel_needs_before_it_runs(kernel, monkeypatch):
    """To the byte: what `check` lays out is where the run's memory ends."""
    device = omr_devices.InterpretedDevice("omr-small")
    ends: list[int] = []

    class StoppedError(Exception):
        """The run's memory is known."""

    def stop(*given):
        ends.append(given[2].end)
        raise StoppedError

    monkeypatch.setattr(omr_devices.Interpreted, "run", stop)
    whole = device.config
    for case in (matvec_cases if kernel is IntegerMatvecKernel else cases).cases(kernel):
        device.config = whole
        handle = device.prepare(case.kernel, case.given.keys, case.given.operands)
        with pytest.raises(StoppedError):
            device.run(handle, case.given.inputs())
        device.config = whole.model_copy(update={"dram_bytes": ends[-1]})
        device.check(case.kernel)
        device.config = whole.model_copy(update={"dram_bytes": ends[-1] - 1})
        remedy = {AffineKernel: "more --shards", BabiesKernel: "fewer limbs", IntegerMatvecKernel: "a smaller matrix"}
        with pytest.raises(ParameterError, match=remedy[kernel]):
            device.check(case.kernel)


def test_threads_share_a_handle():
    device = open_device("omrisa:omr-small")
    case = cases.cases(BabiesKernel)[0]
    handle, found = device.prepare(case.kernel, case.given.keys, None), []
    threads = [
        threading.Thread(target=lambda: found.append(device.run(handle, case.given.inputs())[0][0])) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3
    for other in found[1:]:
        for a, b in zip(case.words(found[0]), case.words(other), strict=True):
            np.testing.assert_array_equal(a, b)


def test_keys_that_are_missing():
    """Keys that are missing."""
    small, wide = open_device("omrisa:omr-small"), open_device("omrisa:omr-small-wide")
    world = cases._world("ringforge")
    shape = world.shape
    other = matvec_cases.cases(IntegerMatvecKernel)[0]
    assert other.kernel.limbs == 3
    with pytest.raises(MissingKeyError, match="the key set has no Galois key"):
        small.prepare(other.kernel, type(other.given.keys)(), other.given.operands)
    with pytest.raises((LevelError, MissingKeyError)):
        wide.prepare(BabiesKernel(shape), type(other.given.keys)(), None)


# ---- RTL -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["omr-small", "omr-small-wide"])
def test_rotations_and_sums_in_rtl(machines, name):
    simulation = machines(name)
    executor = Simulated(simulation, silence=_SILENCE)
    size = measure.Size(10, 3, 2, 2)
    for method in ("ringforge", "paper"):
        found = measure.matmul(simulation.config, executor, size, Sum(3, 3, 8, 2), method)
        planned = measure.planned(simulation.config, size, Sum(3, 3, 8, 2), method)
        for run, plan in zip(found, planned, strict=True):
            assert run.words > 0
            assert plan.cycles == pytest.approx(run.cycles, rel=0.02)


@pytest.mark.parametrize(
    ("name", "kernel"), [("omr-small", "IntegerMatvecKernel compact"), ("omr-small-wide", "AffineKernel paper")]
)
def test_results_in_rtl(name, kernel):
    """Of a case of a kernel each; all others are in the long tests."""
    found = [check for title, check in checks(f"rtl:{name}") if title.startswith(kernel) and "those of cpu" in title]
    assert len(found) == 1
    found[0]()


@pytest.mark.long
@pytest.mark.parametrize("name", ["omr-small", "omr-small-wide"])
def test_all_cases_in_rtl(name):
    for _, check in checks(f"rtl:{name}"):
        check()


def test_cancelled_runs_leave_the_machine_ready():
    device = RtlDevice("omr-small")
    case = cases.cases(BabiesKernel)[0]
    handle = device.prepare(case.kernel, case.given.keys, None)
    with pytest.raises(Error, match="cancelled"):
        device.run(handle, case.given.inputs(), progress=lambda _: False)
    want, _ = open_device("cpu").run(
        open_device("cpu").prepare(case.kernel, case.given.keys, None), case.given.inputs()
    )
    got, report = device.run(handle, case.given.inputs())
    assert report.cycles
    for a, b in zip(case.words(got[0]), case.words(want[0]), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("number", [0, 1, 7])
def test_the_replica_keeps_within_two_percent(number):
    entry, record = validation.validate_draw(validation.cases()[number])
    assert abs(entry.replica_error) <= 0.02, record
    assert entry.traffic_equal


@pytest.mark.long
def test_the_replica_keeps_within_two_percent_everywhere():
    for draw in validation.cases():
        entry, record = validation.validate_draw(draw)
        assert abs(entry.replica_error) <= 0.02, record
        assert entry.traffic_equal


def test_drawn_cases_are_of_many_kinds():
    drawn = validation.cases()
    assert len(drawn) >= 8
    assert {(d.machine, d.rotations > 0) for d in drawn} == {(m, r) for m in validation.MACHINES for r in (False, True)}
    # Rows with and without registers in their networks, bursts of several lengths.
    assert {d.config.wide >= 32 for d in drawn} == {False, True}
    assert len({d.config.burst_rows for d in drawn}) > 1
    assert len({d.log_n for d in drawn}) >= 3
    assert len({d.latency for d in drawn}) >= 6
    assert any(d.rotations for d in drawn)
    assert any(not d.rotations for d in drawn)


@pytest.mark.long
def test_whole_products_by_the_model():
    """The machine's targets: a product of full size, one output and two."""
    config = OmrConfig.named("omr-u55c")
    size = measure.size_of(config)
    for outputs, goal in ((1, 0.250), (2, 0.400)):
        found = measure.planned(config, size, Sum(outputs=outputs), "ringforge")
        assert sum(m.cycles for m in found) / config.clock_hz < goal


def test_replicas_see_what_waits():
    """A run whose memory answers later takes longer, never shorter."""
    size, last = measure.Size(10, 4, 2, 2), 0
    for latency in (1, 20, 60, 200):
        config = OmrConfig.named("omr-small").model_copy(update={"dram_latency": latency})
        now = measure.planned_rotation(config, size, 2).cycles
        assert now > last
        last = now


def test_replicas_take_no_less_than_memory_does():
    """A run's bytes at memory's rate, where that is longer than units take."""
    size, config = measure.Size(10, 4, 2, 2), OmrConfig.named("omr-small")
    fast = measure.planned_rotation(config, size, 2).cycles
    job = babies(measure.target_of(config, size.context(config)), None, None, 2)
    moved = sum(replica.traffic(job.program, job.memory).values())
    slow = config.model_copy(update={"dram_bytes_per_second": 1e9})
    assert measure.planned_rotation(slow, size, 2).cycles == -(-moved * slow.clock_hz // 1e9) > fast
    enough = config.model_copy(update={"dram_bytes_per_second": 1.01 * moved * config.clock_hz / fast})
    assert measure.planned_rotation(enough, size, 2).cycles == fast


@pytest.mark.parametrize("name", OmrConfig.names())
def test_reads_of_all_ports_ask_for_no_more_than_memory_gives(name):
    config = OmrConfig.named(name)
    read, written = replica.asked(config)
    assert read <= config.dram_bytes_per_second
    assert written < read


def test_words_that_differ_are_found():
    class Wrong(omr_devices.Interpreted):
        def run(self, program, memory, progress=None):
            made = super().run(program, memory, progress)
            at = next(a for a, e in memory.entities.items() if e == 6)
            memory.view(at, 4)[3] ^= np.uint64(1)
            return made

    with pytest.raises(HardwareError, match="result 0, part 0, limb 0: 1 words differ from the library's"):
        measure.rotation(OmrConfig.named("omr-small"), Wrong(), measure.Size(10, 2, 2, 2))
