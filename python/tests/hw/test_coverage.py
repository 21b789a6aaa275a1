# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The tests' programs meet every class of the instruction set; `coverage.py` says what the classes are."""

from __future__ import annotations

import pytest

from ringforge.hw.machines.matvec.config import MatvecConfig
from ringforge.hw.vector.isa import Instruction, slot
from tests.hw import coverage


@pytest.mark.parametrize("name", coverage.SMALL)
def test_every_class_is_met(name: str) -> None:
    found, classes = coverage.count(name), coverage.expected(MatvecConfig.named(name))
    assert [c for c in classes if not found[c]] == [], "no program meets these"
    assert sorted(set(found) - set(classes)) == [], "classes that are not in the list"


def test_classes_of_a_program() -> None:
    config = MatvecConfig.named("matvec-small")
    i, q = Instruction, 1073479681 << 24  # 54 bits
    conf, modulus, stream = i.conf(10, 3), i.modulus(31, q, 0), i.stream(0)
    last = slot(0, config.bank_rows - config.rows(10))
    mac = i.mac(last, last, 31, stream=True, c=slot(1, 0), pre_sub=True)
    assert list(coverage.classes_of(config, 0, [conf, modulus, stream, stream, mac])) == [
        *("CONF", "CONF: first", "CONF: N = 2^10", "CONF: shift 3", "MODULUS", "MODULUS: entry 31, new"),
        *("STREAM", "STREAM: 1 wait", "STREAM", "STREAM: 2 wait"),
        *("MAC", "MAC: B from stream, a - c", "MAC: B from stream, in place", "MAC: c a slot of its own"),
        "MAC: modulus in entry 31",
    ]
