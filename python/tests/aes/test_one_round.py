# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""One round of AES in few primes, on devices; and what refuses them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ringforge.aes.engine import State
from ringforge.aes.keys import SCHEMES
from ringforge.aes.ltv_engine import LtvServer
from ringforge.errors import MismatchError, ParameterError
from tests.aes.one_round import KEY, OneRound, words
from tests.devices import resident


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> OneRound:
    return OneRound.make(tmp_path_factory.mktemp("keys"))


def test_a_round_on_cpu_is_right(world: OneRound) -> None:
    state, report = world.on("cpu", 2)
    assert world.right(state)
    assert 0 < world.client.predicted_budget(state) <= world.client.measured_budget(state)
    assert report.device == "cpu"
    assert report.operations == {"ring_product": 1504, "key_switch": 288}


def test_results_may_stay_on_the_device(world: OneRound) -> None:
    """A device that keeps results in buffers: they are downloaded where this machine computes."""
    assert resident.ROOMS, "imported: it registers the device"
    state, report = world.on("resident")
    assert report.device == "resident"
    assert all(map(np.array_equal, words(state), words(world.on()[0])))


@pytest.mark.parametrize("last", [0, 1])
def test_a_run_of_a_device_is_stopped_within(world: OneRound, last: int) -> None:
    """In the first sums of products; in the first relinearisations, of which none is reported then."""
    told: list[int] = []

    def stop(done: int, _: int) -> None:
        told.append(done)
        if done == last and len(told) > 1:
            raise InterruptedError

    server = LtvServer(world.keys.context, world.keys, device="model:aes-small", rounds=1)
    with pytest.raises(InterruptedError):
        server.round(world.start, 1, world.key, stop)
    assert told == sorted(told)
    assert told.count(last) == (1 if last else 2), "nothing is called after the stop"
    assert "key_switch" not in server.report.operations
    assert ("ring_product" in server.report.operations) == bool(last)


def test_rounds_that_were_not_asked_for_are_refused(world: OneRound) -> None:
    state, _ = world.on()
    server = LtvServer(world.keys.context, world.keys, rounds=1)
    assert len(server.shares) == 1
    with pytest.raises(MismatchError, match="1 to 1"):
        server.round(state, 2, world.key)
    with pytest.raises(ParameterError, match="made for 1 rounds"):
        world.client.encrypt_round_key(2, KEY)
    for rounds in (0, 11):
        with pytest.raises(ParameterError, match="1 to 10"):
            LtvServer(world.keys.context, world.keys, rounds=rounds)
    with pytest.raises(ParameterError, match="take ltv-paper"):
        LtvServer(world.keys.context, world.keys)
    assert isinstance(state, State)


def test_devices_that_do_not_do_it_are_refused_before_anything(world: OneRound, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="does not run ProductSumsKernel; cpu runs it"):
        LtvServer(world.keys.context, world.keys, device="clear", rounds=1)
    with pytest.raises(ParameterError, match="there is no device"):
        LtvServer(world.keys.context, world.keys, device="none", rounds=1)
    with pytest.raises(ParameterError, match="no ProductSumsKernel and no RelinearizeKernel"):
        SCHEMES["ltv"].on("clear")
    with pytest.raises(ParameterError, match="leave --device away"):
        SCHEMES["bgv"].on("clear")
    assert SCHEMES["bgv"].on("cpu") is SCHEMES["bgv"]
    assert SCHEMES["ltv"].on("cpu").shape("ltv-test-aes", "tests").set == "ltv-test-aes"
    assert list(tmp_path.iterdir()) == []
