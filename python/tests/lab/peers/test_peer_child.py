# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Talking to child processes."""

import sys

import pytest

from ringforge.lab.peers.child import PeerError, ask


def test_last_object_answers() -> None:
    script = "import json,sys; r=json.load(sys.stdin); print('note'); print('{}'); print(json.dumps(r))"
    assert ask([sys.executable, "-c", script], {"a": 1}) == {"a": 1}


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("import sys; sys.exit('no such thing')", "status 1: no such thing"),
        ("print('hello')", "printed no result: hello"),
        ("import time; time.sleep(20)", "longer than"),
    ],
)
def test_failures_carry_the_childs_words(script: str, message: str) -> None:
    with pytest.raises(PeerError, match=message):
        ask([sys.executable, "-c", script], {}, timeout_s=2)


def test_absent_program() -> None:
    with pytest.raises(PeerError, match="could not be started"):
        ask(["/nonexistent/program"], {})
