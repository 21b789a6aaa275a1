# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""JSON that Python reads and no writer makes, infinite numbers and lists thousands deep, is refused as any other."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from ringforge._native import TestSeed
from ringforge.errors import FormatError
from ringforge.omr.detector_client import Info
from ringforge.omr.keys import ReceiverSecret
from ringforge.omr.sets import named
from ringforge.omr.steps import Step

HEADER = 52


@pytest.mark.parametrize("number", ["Infinity", "-Infinity", "NaN", "1e999"])
def test_infinite_numbers_are_refused(number: str) -> None:
    step = Step("affine", "0" * 64, "1" * 64, "2" * 64, 0, 23, (("babies", 46),), ())
    infinite = step.to_json().replace(b"46", number.encode())
    assert b'"babies"' in infinite
    assert infinite != step.to_json()
    with pytest.raises(FormatError, match="no description of a step"):
        Step.from_json(infinite)
    about = {"detector": {}, "bulletins": [[7, "0"]], "keys": {}, "jobs": [], "left": {}}
    text = json.dumps(about).encode()
    assert Info.from_json(text).bulletins == {7: "0"}
    with pytest.raises(FormatError, match="another program"):
        Info.from_json(text.replace(b"7", number.encode()))


def test_a_head_of_lists_within_lists_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "receiver"
    ReceiverSecret.make(named("test", "tests"), fixed_seed_for_tests=TestSeed(bytes(32))).save(path)
    body = b"[" * 4000
    head = path.read_bytes()[: HEADER - 8] + len(body).to_bytes(8, "little") + body
    path.write_bytes(head + hashlib.sha256(head).digest())
    with pytest.raises(FormatError, match=r"head of the file .* is damaged"):
        ReceiverSecret.load(path)
