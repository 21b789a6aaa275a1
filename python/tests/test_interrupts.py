# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Ctrl-C, and a notebook's stop button, end long native work: in a child process, by a real signal.

Each child computes for about a minute if nobody stops it. It says when it is in the middle, is sent SIGINT, and must have
ended by KeyboardInterrupt well before its end: by the parts of the work that are done, not by the clock.
"""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

SETUP = """
import os, signal, sys, threading, time
import numpy as np
def stop():
    os.kill(os.getpid(), signal.SIGINT)
"""

#: Work of one native call, `run()`, of at least some ten seconds.
WORK = {
    "gates on arrays of bits": """
from ringforge import gates
secret, key = gates.keygen("gates-128")
evaluator = gates.Evaluator(key)
a, b = (evaluator.bind(gates.encrypt(secret, [0, 1] * 2000)) for _ in range(2))
def run():
    return a & b
""",
    "rotations of a ciphertext": """
from ringforge import ckks
s = ckks.Session("set-c")
s.add_rotation_keys([1])
x = s.encrypt([0.5])
def run():
    return s.evaluator.rotate_hoisted(x, [1] * 2000, s.galois_keys)
""",
    "encoding of a matrix": """
from ringforge import bfv
s = bfv.Session("bfv-14" if "bfv-14" in __import__("ringforge").params.names_bfv() else "bfv-13")
layer = bfv.Linear(np.ones((4096, 4096), int))
plan = layer.plan(s.context)
def run():
    return layer.prepare(plan, s.galois_keys)
""",
}

END = """
threading.Timer(0.5, stop).start()
try:
    run()
except KeyboardInterrupt:
    print("stopped")
else:
    print("went on to its end")
"""


@pytest.mark.parametrize("name", WORK)
def test_a_signal_ends_it(name: str) -> None:
    child = subprocess.run(
        [sys.executable, "-c", SETUP + WORK[name] + END], capture_output=True, text=True, timeout=300, check=False
    )
    assert child.stdout.strip() == "stopped", child.stderr
    assert child.returncode in (0, -signal.SIGINT)
