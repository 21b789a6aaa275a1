# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Simulated machines, built once per session (and kept in the cache between sessions)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from ringforge.hw.core import machine as descriptors
from ringforge.hw.core.simulator import Simulation


@pytest.fixture(scope="session")
def machines() -> Iterator[Callable[[str], Simulation[Any]]]:
    """Opens a machine by name; the same one each time."""
    opened: dict[str, Simulation[Any]] = {}

    def get(name: str) -> Simulation:
        if name not in opened:
            family = descriptors.of_configuration(name).config
            opened[name] = Simulation(family.named(name), optimise="-O1")
        return opened[name]

    yield get
    for sim in opened.values():
        sim.close()


@pytest.fixture(autouse=True)
def one_build(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Devices take the same build as the machines above, which compiles faster; in long tests their own."""
    if request.node.get_closest_marker("long") is None:
        monkeypatch.setattr("ringforge.hw.core.device.Simulation", partial(Simulation, optimise="-O1"))


@pytest.fixture(params=["matvec-small", "matvec-small-montgomery"])
def small(request: pytest.FixtureRequest, machines: Callable[[str], Simulation[Any]]) -> Simulation:
    """The small machine with either multiplier, freshly reset."""
    sim = machines(request.param)
    sim.reset()
    return sim
