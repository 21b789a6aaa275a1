# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What this machine takes for the operations of Table IV at N = 65,536 with 23 + 12 primes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from ringforge import bfv
from ringforge.errors import Error
from ringforge.lab.timing import Timing, total
from ringforge.lab.timing import measure as measured
from ringforge.params import named_bfv

from . import cost

#: The set of both methods: log2 Q and digits as the paper's, in smaller primes.
SET = "omr"


@dataclass(frozen=True, slots=True)
class Measured:
    """Times on one thread, medians.

    Attributes:
        add, multiply, rotate: CCadd; PCmul with a plaintext in Eval form; Rot by one slot.
        encode: a plaintext's way to Eval form.
    """

    add: Timing
    multiply: Timing
    rotate: Timing
    encode: Timing

    @property
    def matmul(self) -> Timing:
        """A MatMul by its counts of these."""
        count = cost.matmul()
        products = total((self.multiply, self.encode)).times(count.multiply)
        return total((products, self.rotate.times(count.rotate), self.add.times(count.add)))


@cache
def measure(name: str = SET, rounds: int = 11, insecure: str = "") -> Measured:
    """Runs each operation `rounds` times, and checks what it gives.

    Raises:
        ParameterError: unknown set, or one below 128 bits without a reason. Error: a result is wrong.
    """
    session = bfv.Session(named_bfv(name, insecure))
    ev, t, slots = session.evaluator, session.params.t, session.params.degree
    rng = np.random.default_rng(11)
    x, y = (rng.integers(0, t, slots, dtype=np.int64) for _ in range(2))
    a, b = session.encrypt(x), session.encrypt(y)
    plaintext = bfv.encode(session.context, y)
    multiplier = session.context.multiplier(plaintext)
    session.add_rotation_keys([1])
    runs: dict[str, Callable[[], bfv.Ciphertext]] = {
        "add": lambda: ev.add(a, b),
        "multiply": lambda: ev.mul_plain(a, multiplier),
        "rotate": lambda: ev.rotate_rows(a, 1, session.galois_keys),
    }
    expected = {
        "add": (x + y) % t,
        "multiply": x * y % t,
        "rotate": np.roll(x.reshape(2, -1), -1, axis=1).reshape(-1),
    }
    for kind, run in runs.items():
        if not np.array_equal(session.decrypt(run(), signed=False), expected[kind]):
            raise Error(f"{kind} gave wrong slots at {name}: this build of ringforge is broken")
    times = {kind: measured(run, 0.0, at_least=rounds) for kind, run in runs.items()}
    encode = measured(lambda: session.context.multiplier(plaintext), 0.0, at_least=rounds)
    return Measured(**times, encode=encode)
