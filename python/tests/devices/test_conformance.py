# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Every device that needs no simulation passes the suite; the suite finds what is wrong with devices that are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ringforge import devices
from ringforge.devices import base, conformance
from ringforge.errors import ParameterError
from ringforge.matvec.kernels import MatvecKernel, SquareKernel
from tests.devices import resident

KERNELS = 22


def named(device: str, kernel: str = "") -> Iterator[tuple[str, Callable[[], None]]]:
    return ((name, check) for name, check in conformance.checks(device) if name.startswith(kernel))


@pytest.mark.parametrize("device", ["cpu", "clear", "resident"])
def test_devices_pass(device: str) -> None:
    assert len(base.kernels("cpu")) == len(base.kernels("resident")) == KERNELS
    seen = set()
    for name, check in conformance.checks(device):
        check()
        seen.add(name.split()[0])
    # Without encryption chains of random accumulators have no value to compare; those of LTV, bytes of AES,
    # digests' units, products of blocks and of batches do not run.
    assert len(seen - {"unknown"}) == KERNELS - 8 * (device == "clear")


class _Faulty(devices.Implementation):
    """The processor's squares, with one fault."""

    fault = ""

    def prepare(self, p: devices.Preparation[Any]) -> Any:
        if self.fault == "keys":
            p = replace(p, keys=devices.KeySet(p.keys.galois, p.keys.relin or _KEPT[0]))
        _KEPT[:] = [p.keys.relin]
        return _square("cpu").prepare(p)

    def run(self, r: devices.Execution[Any, Any]) -> tuple[list[Any], devices.Report]:
        if self.fault == "buffer":
            r = replace(r, inputs=[x.held if isinstance(x, resident.Resident) else x for x in r.inputs])
        outputs, report = _square("cpu").run(r)
        if self.fault == "word":
            outputs[-1] = outputs[0]
        if self.fault == "report":
            report = devices.Report("cpu", report.seconds, operations=report.operations)
        else:
            operations = {**report.operations, "ntt": report.operations["ntt"] + (self.fault == "count")}
            report = devices.Report("faulty", report.seconds, operations=operations)
        if self.fault == "progress" and r.progress is not None:
            r.progress(0.5)
            r.progress(0.25)
        if self.fault == "buffer":
            outputs = [resident.Resident(x) for x in outputs]
        return outputs, report


_KEPT: list[Any] = []


def _square(device: str) -> devices.Implementation:
    found = base.implementation(SquareKernel, device)
    assert found is not None
    return found


class _FaultyDevice(devices.Device):
    name = "faulty"


devices.register_device("faulty", _FaultyDevice)
devices.register(SquareKernel, "faulty", _Faulty())


@pytest.mark.parametrize(
    ("fault", "check"),
    [
        ("word", "results are those of cpu"),
        ("keys", "what is wrong is refused"),
        ("report", "reports are honest"),
        ("count", "reports are honest"),
        ("progress", "progress grows"),
        ("buffer", "downloads are host objects"),
    ],
)
def test_faults_are_found(fault: str, check: str, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = []
    monkeypatch.setattr(_Faulty, "fault", fault)
    for name, attempt in named("faulty", "SquareKernel"):
        try:
            attempt()
        except Exception:
            failed.append(name)
    assert any(check in name for name in failed), failed
    monkeypatch.setattr(_Faulty, "fault", "")
    for _, attempt in named("faulty", "SquareKernel"):
        attempt()


def test_the_command_says_what_failed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert conformance.main(["faulty", "--import", "tests.devices.resident"]) == 0
    assert "14 of 14 checks passed on device faulty" not in capsys.readouterr().err
    monkeypatch.setattr(_Faulty, "fault", "word")
    assert conformance.main(["faulty"]) == 1
    out = capsys.readouterr().out
    assert "FAILED  SquareKernel of two ciphertexts: results are those of cpu: AssertionError: words of result 1" in out


def test_devices_without_cases_are_told_so() -> None:
    class Empty(devices.Device):
        name = "empty"

    with pytest.raises(ParameterError, match="runs no kernel that has cases"):
        list(conformance.checks(Empty()))

    class Small(_FaultyDevice):
        max_degree = 512

    with pytest.raises(ParameterError, match="faulty refuses all cases of SquareKernel"):
        list(conformance.checks(Small()))


def test_cases_are_the_same_every_time() -> None:
    """Two suites compare the same ciphertexts: seeds are fixed, and the cases of a process are made once."""
    from ringforge.matvec import cases

    again = cases.cases.__wrapped__(SquareKernel)
    for a, b in zip(cases.cases(SquareKernel), again, strict=True):
        for x, y in zip(a.given.inputs(), b.given.inputs(), strict=True):
            assert all(map(np.array_equal, a.words(x), b.words(y)))
    assert cases.cases(MatvecKernel) is cases.cases(MatvecKernel)
