# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Kernels of LTV on the aes machine: by the interpreter, by its model, in RTL."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ringforge import ltv
from ringforge.devices import KeySet, conformance, open_device
from ringforge.errors import Error, MismatchError, ParameterError
from ringforge.hw.core.device import RtlDevice
from ringforge.hw.machines.aes import measure, validation
from ringforge.hw.machines.aes.config import AesConfig
from ringforge.hw.machines.aes.runner import Simulated
from ringforge.ltv import cases
from ringforge.ltv.kernels import ProductSumsKernel, RelinearizeKernel
from tests.hw import aes_devices

_KERNELS = (ProductSumsKernel, RelinearizeKernel)
_WHY = "tests"
_SILENCE = 100_000


def checks(device: str) -> list[Any]:
    """Those of the suite for LTV's kernels."""
    names = tuple(kernel.__name__ for kernel in _KERNELS)
    return [(name, check) for name, check in conformance.checks(device) if name.startswith(names)]


def prepared(device: Any, kernel: type) -> tuple[Any, Any]:
    """A case of a kernel, and its handle on a device."""
    case = cases.cases(kernel)[0]
    return case, device.prepare(case.kernel, case.given.keys, None)


def test_kernels_conform_by_the_interpreter():
    for name in aes_devices.NAMES:
        found = checks(f"aesisa:{name}")
        assert {title.split()[0] for title, _ in found} == {kernel.__name__ for kernel in _KERNELS}
        for _, check in found:
            check()


@pytest.mark.parametrize("name", ["aes-small", "aes-paper-small"])
def test_results_in_rtl(machines, name):
    machines(name)
    found = [check for title, check in checks(f"rtl:{name}") if "those of cpu" in title]
    assert len(found) == 5  # two of sums of products, three of relinearisation
    for check in found:
        check()


@pytest.mark.long
@pytest.mark.parametrize("name", aes_devices.NAMES)
def test_kernels_conform_in_rtl(name):
    for _, check in checks(f"rtl:{name}"):
        check()


def test_models_count():
    """Reports have what the programs move and do."""
    device = open_device("model:aes-small")
    case, handle = prepared(device, RelinearizeKernel)
    outputs, report = device.run(handle, case.given.inputs())
    want, _ = open_device("cpu").run(prepared(open_device("cpu"), RelinearizeKernel)[1], case.given.inputs())
    for a, b in zip(outputs, want, strict=True):
        np.testing.assert_array_equal(a.words, b.words)
    p = case.kernel.context.params
    limbs, digits, n, count = p.limbs(0), p.digits(1), p.transform_length, len(outputs)
    assert report.operations == {"key_switch": count, "ntt": count * limbs * digits, "intt": count * limbs}
    # Two ciphertexts share a reading of the key.
    assert report.bytes["keys"] == -(-count // 2) * limbs * digits * n * 4
    assert report.bytes["digits"] == count * limbs * digits * n
    assert report.bytes["output"] == count * limbs * n * 4
    assert report.cycles is not None
    assert report.cycles / report.seconds == pytest.approx(report.clock_hz)
    assert handle.storage == 0


def test_the_published_engine_takes_keys_in_another_order():
    device = open_device("model:aes-paper-small")
    case, handle = prepared(device, RelinearizeKernel)
    p = case.kernel.context.params
    assert handle.storage == p.key_bytes(1)
    assert device.run(handle, case.given.inputs())[1].bytes["keys"] == 3 * p.key_bytes(1)


def test_nothing_to_do():
    device = open_device("model:aes-small")
    _, handle = prepared(device, RelinearizeKernel)
    assert device.run(handle, [])[0] == []
    products = replace(cases.cases(ProductSumsKernel)[0].kernel, outputs=())
    inputs = cases.cases(ProductSumsKernel)[0].given.inputs()
    assert device.run(device.prepare(products, KeySet()), inputs)[0] == []


@pytest.mark.parametrize("kernel", _KERNELS)
def test_progress_and_cancelling(kernel):
    device = open_device("aesisa:aes-paper-small")
    case, handle = prepared(device, kernel)
    told: list[float] = []
    device.run(handle, case.given.inputs(), progress=lambda done: told.append(done) or True)
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert sum(0.1 < done < 0.9 for done in told) > 10
    seen: list[float] = []
    with pytest.raises(Error, match="cancelled"):
        device.run(handle, case.given.inputs(), progress=lambda done: seen.append(done) or len(seen) < 20)
    assert len(seen) == 20
    assert seen[-1] < 0.9
    device.run(handle, case.given.inputs())


def test_cancelled_runs_leave_the_machine_ready(machines):
    machines("aes-small")
    device = RtlDevice("aes-small")
    case, handle = prepared(device, RelinearizeKernel)
    with pytest.raises(Error, match="cancelled"):
        device.run(handle, case.given.inputs(), progress=lambda _: False)
    want, _ = open_device("cpu").run(prepared(open_device("cpu"), RelinearizeKernel)[1], case.given.inputs())
    got, report = device.run(handle, case.given.inputs())
    assert report.cycles
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a.words, b.words)


@pytest.mark.parametrize("device", ["aesisa:aes-small", "rtl:aes-small"])
def test_threads_share_a_device(device):
    """Handles of two kernels on one device, and one handle by two threads."""
    opened = open_device(device)
    work = [prepared(opened, kernel) for kernel in (*_KERNELS, RelinearizeKernel)]
    found: list[Any] = [None] * len(work)
    key = work[1][0].given.keys.own[0]
    before = [key.digit(d).copy() for d in range(key.digits)]

    def run(number: int) -> None:
        case, handle = work[number]
        found[number] = opened.run(handle, case.given.inputs())[0]

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(work))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # Its words were the machine's memory.
    for d, words in enumerate(before):
        np.testing.assert_array_equal(key.digit(d), words)
    cpu = open_device("cpu")
    for (case, _), made in zip(work, found, strict=True):
        want = cpu.run(cpu.prepare(case.kernel, case.given.keys, None), case.given.inputs())[0]
        for a, b in zip(made, want, strict=True):
            np.testing.assert_array_equal(a.words, b.words)


# ---- what is refused -----------------------------------------------------------------------------------


def refused(device: str, name: str) -> str:
    """What a device says to relinearisation of a parameter set."""
    params = ltv.Parameters.named(name, insecure=_WHY)
    with pytest.raises(ParameterError) as e:
        open_device(device).check(RelinearizeKernel(ltv.Context(params), 1))
    return str(e.value)


def test_what_does_not_fit():
    assert "takes ring degree up to 4096" in refused("model:aes-small", "ltv-paper")
    assert "takes transforms of 2^12 to 2^16 words, not 2^8: take another conf" in refused("model:aes-fast", "ltv-test")
    assert "ltv-test-tensor has a tensor ring: take a set with a padded one" in refused(
        "model:aes-small", "ltv-test-tensor"
    )
    assert "digits of 16 bits, ltv-test-digit has windows of 31" in refused("model:aes-small", "ltv-test-digit")


def test_last_digits_that_do_not_fit():
    """Two windows of 16 bits for one prime of 31 have 15 bits for the last; the library refuses alike."""
    q = [int(q) for q in ltv.Parameters.named("ltv-test-aes", insecure=_WHY).q[:16]]
    for count in range(2, 17):
        context = ltv.Context(ltv.Parameters(255, q[:count], insecure=_WHY))
        client = ltv.Client(context)
        kernel = RelinearizeKernel(context, 1)
        refusals = []
        for attempt in (
            lambda kernel=kernel: open_device("model:aes-small").check(kernel),
            lambda kernel=kernel, client=client: kernel.parts(client.eval_key(*client.keys(), 1)),
        ):
            try:
                attempt()
                refusals.append(False)
            except ParameterError:
                refusals.append(True)
        assert refusals[0] == refusals[1], count


def test_inputs_that_are_no_ciphertexts():
    device = open_device("aesisa:aes-small")
    for kernel in _KERNELS:
        _, handle = prepared(device, kernel)
        for given in ("x", None, 3):
            with pytest.raises(MismatchError, match="takes ciphertexts of LTV, not"):
                device.run(handle, [given])


def test_primes_that_do_not_fit():
    q = [int(q) for q in ltv.Parameters.named("ltv-test-aes", insecure=_WHY).q[:2]]
    short = next(p for p in range((1 << 29) + 1, 1 << 30, 1 << 16) if all(pow(a, p - 1, p) == 1 for a in (2, 3, 5, 7)))
    context = ltv.Context(ltv.Parameters(255, [q[0], short], insecure=_WHY))
    with pytest.raises(ParameterError, match=r"takes primes of 31 bits that are 1 modulo 2\^16, not"):
        open_device("model:aes-small").check(ProductSumsKernel(context, 0, ((0,),), (((0, 0),),)))


def test_memory_is_refused_before_anything_is_done():
    device = open_device("model:aes-small")
    device.config = device.config.model_copy(update={"dram_bytes": 1 << 14})
    for kernel in _KERNELS:
        with pytest.raises(ParameterError, match="0 MiB of memory"):
            device.check(cases.cases(kernel)[0].kernel)


# ---- RTL -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", aes_devices.NAMES)
def test_instructions_and_operations_in_rtl(machines, name):
    """Of each kind, all words compared with those computed another way; time as the model has it."""
    simulation = machines(name)
    config, executor = simulation.config, Simulated(simulation, silence=_SILENCE)
    size = measure.Size(config.min_log_n + 1, primes=2, count=2, terms=2, digits=3, ciphertexts=2)
    for case in measure.singles(config):
        made, planned = measure.single(config, executor, size, case), measure.single(config, None, size, case)
        assert made.words == 2 << size.log_n
        assert planned.each == made.each
    for run in measure.WHOLE.values():
        made, planned = run(config, executor, size), run(config, None, size)
        assert made.words
        assert planned.cycles == pytest.approx(made.cycles, rel=0.02)


@pytest.mark.parametrize("number", range(6))
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


def test_link_and_memory_are_apart(machines):
    """A slower link takes longer, and so does a slower memory of the card: the simulation knows both."""
    del machines
    for update in ({"link_latency": 300}, {"dram_latency": 300}):
        config = AesConfig.named("aes-small").model_copy(update=update)
        draw = next(d for d in validation.cases() if d.machine == "aes-small" and d.kind == "relinearisation")
        slow = replace(draw, link=config.link_latency, card=config.dram_latency)
        fast = replace(draw, link=20, card=20)
        entries = [validation.validate_draw(d)[0] for d in (fast, slow)]
        assert entries[0].cycles < entries[1].cycles
