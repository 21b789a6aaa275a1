# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Lint of the matmul accelerator, and of its elements with other lanes than its configurations have."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ringforge.hw.core import lint
from ringforge.hw.machines.matmul.machine import MACHINE

#: Elements come without what is around them.
ELEMENT = replace(MACHINE, room=MACHINE.room.parent / "vector", libraries=("common", "shell"), top="vector_shared_pe")


def element(lanes: int, kind: int) -> lint.Subject:
    """An element with real multipliers, of polynomials of 8 to 256 rows."""
    log = lanes.bit_length() - 1
    parameters = {"Lanes": lanes, "MinLogN": log + 3, "MaxLogN": log + 8, "TwiddleRows": 512, "Kind": kind}
    return lint.Subject(f"{lanes} lanes, kind {kind}", ELEMENT.top, tuple(parameters.items()), ELEMENT)


def clean(subjects: list[lint.Subject]) -> None:
    assert [(f.subject.name, f.messages) for f in lint.lint(subjects) if f.messages] == []


def test_the_small_machine_is_clean() -> None:
    clean([s for s in lint.configurations(MACHINE) if s.name == "fame-small, real multipliers"])


@pytest.mark.long
def test_every_configuration_is_clean() -> None:
    clean(lint.configurations(MACHINE))


@pytest.mark.long
@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize("lanes", [4, 16, 128, 256])
def test_elements_of_other_lanes_are_clean(lanes: int, kind: int) -> None:
    clean([element(lanes, kind)])
