# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A session keeps keys, plans and transformed operands within its limit, and gives memory back."""

from __future__ import annotations

import gc
import json
import subprocess
import sys

import numpy as np
import pytest

from ringforge import _native, matmul
from tests.matmul.test_matrix import small, uniform

#: A process of its own: what others have allocated before would hide growth. Prints MiB: after the first products,
#: after the others, after forget; then the session's own account.
GROWTH = """
import gc, json, numpy as np
from ringforge import _native, matmul, params
p = params.named("set-c")
small = params.Parameters("small", 12, p.q[:5], p.p, 1, 40.0, "tests")
def uniform(*shape):
    return np.random.default_rng((1, *shape)).uniform(-1, 1, shape)
def resident():
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * 4096 / 2**20
s = matmul.Session(small, memory=48 << 20)
start, seen = resident(), []
for m in (3, 4, 5, 6):
    for n in (2, 7, 9):
        A, B = s.encrypt(uniform(m, n)), s.encrypt(uniform(n, m))
        C = A @ B
        assert np.abs(C.decrypt() - uniform(m, n) @ uniform(n, m)).max() <= C.error_bound
    seen.append(resident() - start)
account = s.memory
s.forget()
print(json.dumps([seen, resident() - start, account, s.memory]))
"""


def test_a_session_stays_within_its_limit_over_many_shapes() -> None:
    done = subprocess.run([sys.executable, "-c", GROWTH], capture_output=True, text=True, check=True)
    seen, after, account, forgotten = json.loads(done.stdout)
    kept = account["keys"] + account["diagonals and masks"] + account["operands"]
    assert kept <= account["limit"] == 48 << 20
    assert account["freed"] > 20
    # Beside what is kept there are the temporaries of one product, the planner's plans, and freed buffers that wait.
    assert max(seen) < 48 + 112
    assert seen[-1] - seen[0] < 64
    assert after < 32
    assert [forgotten[k] for k in ("keys", "diagonals and masks", "operands")] == [0, 0, 0]


def test_what_was_freed_is_made_again() -> None:
    """With room for one product at a time, shapes that come again are right again, and operands keep their use."""
    tight = matmul.Session(small(), memory=40 << 20)
    first, second = (uniform(6, 6), uniform(6, 5)), (uniform(9, 4), uniform(4, 8))
    pairs = [(tight.encrypt(a), tight.encrypt(b), a @ b) for a, b in (first, second)]
    for _ in range(3):
        for a, b, exact in pairs:
            c = a @ b
            assert np.abs(c.decrypt() - exact).max() <= c.error_bound
    assert tight.memory["freed"] > 0
    assert str(tight.memory["freed"]) in repr(tight)


def test_operands_that_go_are_not_counted_on() -> None:
    s = matmul.Session(small(), memory=1 << 30)
    a, b = s.encrypt(uniform(6, 6)), s.encrypt(uniform(6, 5))
    _ = a @ b
    held = s.memory["operands"]
    assert held > 0
    a.forget()
    assert 0 < s.memory["operands"] < held
    del a, b, _
    gc.collect()
    assert s.memory["operands"] == 0


def test_kernels_are_told_apart_by_themselves() -> None:
    """Maps with values are freed after use; another one may get the address, and is another one all the same."""
    program = matmul.trace(small(), lambda A: A @ np.ones((5, 5)) + A @ np.eye(5)[::-1], level=2, A=(5, 5))
    tracer = program.traced.tracer
    gadget = program.context.gadget
    assert tracer.storage == 0  # nothing of this is kept
    assert tracer.passing == 9 * gadget.extended(3) * 8 * gadget.degree  # the larger one, of nine diagonals
    kept = matmul.trace(small(), lambda A: A[:2] @ np.ones((5, 5)) + A[1:3].T.T @ np.eye(5), level=4, A=(5, 5))
    again = matmul.Program.model_validate(kept.model_dump())
    assert kept.memory == again.memory
    assert kept.traced.tracer.storage > 0


@pytest.mark.parametrize("method", ["ringforge", "fame", "e2dm-s"])
def test_the_program_foresees_what_ciphertexts_state(method: str) -> None:
    """Metadata of a traced program and of the ciphertexts of its run are the same numbers: the rules exist once."""
    program = matmul.trace(small(), lambda A, B: (A @ B) + A @ B, method=method, level=4, A=(6, 6), B=(6, 6))
    holder = matmul.KeyHolder(program, accept_insecure="tests")
    contributor = matmul.Contributor(program, holder.public_key(), accept_insecure="tests")
    inputs = [contributor.encrypt(name, uniform(6, 6)) for name in "AB"]
    outputs, _ = matmul.Server(program, holder.evaluation_keys()).run(inputs)
    (made,) = outputs["result"].ciphertexts
    (tile,) = program.traced.results["result"].every_tile()
    for name in ("scale", "variance", "spread", "bound", "float_error"):
        assert getattr(tile.value.known, name) == pytest.approx(getattr(made, name), rel=1e-9), name
    assert tile.value.error_bound == pytest.approx(_native.error_bound(made, program.context.params.degree))
