# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Long: the paper's twelve products, encrypted, and every method on plain slots at full shape."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from ringforge.lab.bench import hlt
from ringforge.lab.papers.matmul import BENCHMARKS
from ringforge.matmul.methods import e2dm_r, e2dm_s, fame, hegmm_en, huang
from ringforge.matmul.plan import simulate
from ringforge.params import named

pytestmark = pytest.mark.long

BASELINES = {"e2dm-s": e2dm_s, "e2dm-r": e2dm_r, "huang": huang, "hegmm-en": hegmm_en, "fame": fame}

# Keys of a plan with a thousand of them stay with the process that made them: each product runs in its own.
CHILD = """
import json, sys
import numpy as np
from ringforge import ckks, params
from ringforge.devices import KeySet
from ringforge.errors import LevelError
from ringforge.matmul.engine import Product
from ringforge.matmul.planner import choose

r = json.loads(sys.argv[1])
m, l, n = r["shape"]
s = ckks.Session(params.named(r["params"], "the published parameters"), 2)
level = s.params.max_level if r["full"] else None
choice = choose(s.context, m, l, n, level, method=r["method"], schedule=r["schedule"])
product = Product(s.context, choice.plan, choice.level, options=choice.options, threads=2)
for element, level in product.required_keys.items():
    s.galois_keys.insert(s.client.galois_key(s.secret_key, element, level, 2))
product.prepare(KeySet(s.galois_keys, s.client.relin_key(s.secret_key, product.relin_level, 2)))
rng = np.random.default_rng(r["seed"])
a, b = rng.uniform(-1, 1, (m, l)), rng.uniform(-1, 1, (l, n))
c, _ = product(
    s.encrypt(choice.plan.left_layout.pack(a, s.params.slots), level=choice.level),
    s.encrypt(choice.plan.right_layout.pack(b, s.params.slots), level=choice.level),
)
got = choice.plan.out_layout.unpack(s.decrypt(c)).real
print(json.dumps([float(np.abs(got - a @ b).max()), c.error_bound]))
"""


def error(params: str, shape: tuple[int, int, int], method: str, *, full: bool, schedule: str = "bsgs") -> float:
    """Largest error of an encrypted product with entries in [-1, 1]; checked against its own bound."""
    request = {"params": params, "shape": shape, "method": method, "full": full, "schedule": schedule, "seed": 11}
    out = subprocess.run([sys.executable, "-c", CHILD, json.dumps(request)], check=True, capture_output=True, text=True)
    worst, bound = json.loads(out.stdout)
    assert worst <= bound
    return float(worst)


def shapes(*sets: str, kinds: str = "I II III IV") -> list[tuple[str, tuple[int, int, int]]]:
    return [
        (b.set_name.lower(), (b.shape.m, b.shape.l, b.shape.n))
        for b in BENCHMARKS
        if b.set_name in sets and b.kind in kinds.split()
    ]


@pytest.mark.parametrize("method", [*BASELINES, "ringforge"])
@pytest.mark.parametrize(("name", "shape"), shapes("A"))
def test_set_a_every_method(name: str, shape: tuple[int, int, int], method: str) -> None:
    assert error(f"matmul-{name}", shape, method, full=True, schedule="mo") <= 2**-12


@pytest.mark.parametrize(("name", "shape"), shapes("B", "C"))
def test_sets_b_and_c(name: str, shape: tuple[int, int, int]) -> None:
    assert error(f"matmul-{name}", shape, "ringforge", full=False) <= 2**-20


@pytest.mark.parametrize(("name", "shape"), shapes("B", "C", kinds="I IV"))
def test_fame_at_sets_b_and_c(name: str, shape: tuple[int, int, int]) -> None:
    assert error(f"matmul-{name}", shape, "fame", full=False, schedule="mo") <= 2**-20


@pytest.mark.parametrize(("name", "shape"), shapes("A", "B", "C"))
def test_secure_sets(name: str, shape: tuple[int, int, int]) -> None:
    assert error(f"matmul-{name}-128", shape, "ringforge", full=name == "a") <= 2**-20


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 5, 7), (31, 17, 53), (1, 100, 40), (60, 50, 1)])
def test_odd_shapes_at_a_secure_set(shape: tuple[int, int, int]) -> None:
    assert error("matmul-a-128", shape, "ringforge", full=True) <= 2**-20


@pytest.mark.parametrize("method", BASELINES)
@pytest.mark.parametrize(("name", "shape"), shapes("B", "C"))
def test_baselines_on_plain_slots(name: str, shape: tuple[int, int, int], method: str) -> None:
    m, l, n = shape  # noqa: E741
    plan = BASELINES[method].plan(m, l, n, named(f"matmul-{name}", "slots").slots)
    rng = np.random.default_rng(5)
    a, b = rng.uniform(-1, 1, (m, l)), rng.uniform(-1, 1, (l, n))
    assert np.abs(simulate(plan, a, b) - a @ b).max() < 1e-9


def test_traffic_at_set_c() -> None:
    """The paper: about a hundred MB for a transform by its datapath, tens or hundreds of GB by rotations."""
    p = named("matmul-c", "the published parameters")
    naive, mo = hlt.measure(p, 24, ["naive", "mo"])
    assert 80e6 <= mo.read + mo.written <= 140e6
    # A transform of 160 x 160 has 319 diagonals, and rotations share nothing.
    assert (naive.read + naive.written) / 24 * 319 >= 20e9
    assert abs(mo.working / mo.equation_24 - 1) <= 0.2
    # Allocated: what is held, but c0, which is the caller's, and thread-local buffers, which stay.
    limb = 8 * p.degree
    assert mo.allocated <= mo.working + mo.held_out
    assert mo.allocated >= mo.held_out + (len(p.q) - 1) * limb
