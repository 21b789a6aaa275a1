# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Ctrl-C, and a notebook's stop button, end long native work: in a child process, by a real signal.

Each child makes one native call that would take many minutes, and is sent SIGINT in the middle. A child that nothing
ends is killed after a time that is far below its work's, and far above what it takes to look for a signal.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

#: Work of one native call, `run()`; before it, what it needs.
WORK = {
    "gates on arrays of bits": """
from ringforge import gates
secret, key = gates.keygen("gates-128")
evaluator = gates.Evaluator(key)
a, b = (evaluator.bind(gates.encrypt(secret, [0, 1] * 10_000)) for _ in range(2))
def run():
    return a & b
""",
    "rotations of a ciphertext": """
from ringforge import ckks
s = ckks.Session("set-b")
s.add_rotation_keys([1])
x = s.encrypt([0.5])
def run():
    return s.evaluator.replicate(x, [1] * 1_000_000, s.galois_keys)
""",
}

CHILD = """
import os, signal, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background begins by ignoring it
{work}
threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    run()
except KeyboardInterrupt:
    print("stopped")
else:
    print("went on to its end")
"""


@pytest.mark.parametrize("name", WORK)
def test_a_signal_ends_it(name: str) -> None:
    command = [sys.executable, "-c", CHILD.format(work=WORK[name])]
    child = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    assert child.stdout.strip() == "stopped", child.stderr
