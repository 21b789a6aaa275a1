# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Plans on ciphertexts: results, error bounds, counts, keys and memory."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from ringforge import _native, ckks
from ringforge.devices import KeySet
from ringforge.errors import LevelError, MismatchError, ParameterError, ShapeError
from ringforge.matmul.engine import Options, Product, diagonals
from ringforge.matmul.planner import METHODS, Choice, choose
from ringforge.matmul.slots import SlotMatrix
from ringforge.params import Parameters

PRIMES = _native.kernels.primes_below(50, 7, 1 << 18)


def parameters(log_n: int = 11, alpha: int = 1, levels: int = 4) -> Parameters:
    return Parameters("test", log_n, PRIMES[alpha : alpha + levels + 1], PRIMES[:alpha], alpha, 40.0, "test")


def keys_for(session: ckks.Session, product: Product) -> KeySet:
    for element, level in product.required_keys.items():
        session.galois_keys.insert(session.client.galois_key(session.secret_key, element, level, 2))
    return KeySet(session.galois_keys, session.client.relin_key(session.secret_key, product.relin_level, 2))


def multiply(session: ckks.Session, choice: Choice, seed: int = 0) -> tuple[float, ckks.Ciphertext, _native.OpCounts]:
    """Largest error of a random product, the result, and the counts of the run."""
    plan = choice.plan
    product = Product(session.context, plan, choice.level, options=choice.options, threads=2)
    product.prepare(keys_for(session, product))
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(-1, 1, (plan.m, plan.l)), rng.uniform(-1, 1, (plan.l, plan.n))
    left = session.encrypt(plan.left_layout.pack(a, plan.slots), level=choice.level)
    right = session.encrypt(plan.right_layout.pack(b, plan.slots), level=choice.level)
    with _native.counting() as did:
        c, _ = product(left, right)
    got = plan.out_layout.unpack(session.decrypt(c))
    assert c.level == product.result_level
    assert c.scale == product.scale
    return float(np.abs(got.real - a @ b).max()), c, did.operations


@pytest.mark.parametrize(
    "shape", [(1, 1, 1), (3, 5, 7), (16, 16, 16), (4, 32, 16), (31, 17, 29), (1, 40, 9), (20, 33, 1)]
)
@pytest.mark.parametrize("alpha", [1, 2])
def test_ringforge(shape: tuple[int, int, int], alpha: int) -> None:
    session = ckks.Session(parameters(11, alpha), 2)
    choice = choose(session.context, *shape)
    error, c, ops = multiply(session, choice)
    assert error <= 2**-20
    assert error <= c.error_bound
    assert c.error_bound <= 2**-10
    counted = choice.chosen.cost.ops
    for name in ("ntt", "intt", "mod_up", "mod_down", "key_switch", "rotation", "plain_mul", "key_bytes"):
        assert getattr(ops, name) == getattr(counted, name), name
    assert ops.plaintext_bytes == counted.plaintext_bytes


@pytest.mark.parametrize("method", sorted(set(METHODS) - {"auto", "ringforge", "fold"}))
@pytest.mark.parametrize("shape", [(8, 8, 8), (4, 8, 8), (8, 8, 4), (8, 2, 8), (3, 5, 4)])
def test_published_methods(method: str, shape: tuple[int, int, int]) -> None:
    session = ckks.Session(parameters(10, levels=5), 2)
    error, c, _ = multiply(session, choose(session.context, *shape, method=method))
    assert error <= 2**-18
    assert error <= c.error_bound


@pytest.mark.parametrize("schedule", ["naive", "hoisted", "mo", "bsgs"])
@pytest.mark.parametrize("method", ["fame", "ringforge"])
def test_schedules(schedule: str, method: str) -> None:
    session = ckks.Session(parameters(10), 2)
    choice = choose(session.context, 8, 16, 8, method=method, schedule=schedule)
    error, c, ops = multiply(session, choice)
    assert error <= min(2**-18, c.error_bound)
    assert ops.key_switch == choice.chosen.cost.ops.key_switch
    assert ops.mod_up == choice.chosen.cost.ops.mod_up


def test_few_keys_and_compact_diagonals() -> None:
    session = ckks.Session(parameters(11), 2)
    whole = choose(session.context, 32, 32, 32)
    few = choose(session.context, 32, 32, 32, keys="few", memory=1 << 30)
    assert len(few.chosen.cost.keys) < len(whole.chosen.cost.keys)
    for kept in ("", "masks", "all"):
        made = next(c for c in few.candidates if c.plan is few.plan and c.options == replace(few.options, compact=kept))
        error, c, ops = multiply(session, replace(few, chosen=made))
        assert error <= min(2**-18, c.error_bound)
        assert ops.key_switch == made.cost.ops.key_switch
        assert ops.ntt == made.cost.ops.ntt


def test_operands_are_reused_and_checked() -> None:
    session = ckks.Session(parameters(10), 2)
    choice = choose(session.context, 8, 8, 8)
    product = Product(session.context, choice.plan, choice.level, options=choice.options)
    rng = np.random.default_rng(3)
    a, b, d = (rng.uniform(-1, 1, (8, 8)) for _ in range(3))
    x, y, z = (
        session.encrypt(layout.pack(v, choice.plan.slots), level=choice.level)
        for layout, v in (
            (choice.plan.left_layout, a),
            (choice.plan.right_layout, b),
            (choice.plan.right_layout, d),
        )
    )
    with pytest.raises(ParameterError, match="prepare"):
        product.left(x)
    product.prepare(keys_for(session, product))
    left = product.left(x)
    seen: list[float] = []
    for right, exact in ((product.right(y), a @ b), (product.right(z), a @ d)):
        c, report = product.multiply(left, right, seen.append)
        got = choice.plan.out_layout.unpack(session.decrypt(c)).real
        assert np.abs(got - exact).max() < 2**-18
        assert report.operations["key_switch"] > 0
    assert seen[-1] == 1.0
    with pytest.raises(ShapeError, match="sides"):
        product.multiply(left, left)
    other = ckks.Session(parameters(10))
    foreign = product.left(x)
    foreign.ciphertexts = [other.encrypt(np.zeros(4), level=c.level, scale=c.scale) for c in left.ciphertexts]
    with pytest.raises(MismatchError, match="different keys"):
        product.multiply(foreign, right=product.right(y))


def test_bad_input() -> None:
    session = ckks.Session(parameters(10))
    choice = choose(session.context, 8, 8, 8)
    depth = choice.plan.depth
    with pytest.raises(LevelError, match=f"takes {depth} levels, the\noperands have {depth - 1}|takes {depth} levels"):
        Product(session.context, choice.plan, depth - 1)
    with pytest.raises(ParameterError, match="schedule"):
        Product(session.context, choice.plan, options=Options("quick"))
    with pytest.raises(ShapeError, match="slots"):
        Product(ckks.Session(parameters(11)).context, choice.plan)
    product = Product(session.context, choice.plan, choice.level + 1, options=choice.options)
    product.prepare(keys_for(session, product))
    with pytest.raises(LevelError, match="level"):
        product.left(session.encrypt([1.0], level=choice.level))


MEMORY = """
import json, sys
import numpy as np
from ringforge import ckks, params
from ringforge.devices import KeySet
from ringforge.matmul.engine import Product
from ringforge.matmul.planner import choose

def status(field):
    return next(int(x.split()[1]) * 1024 for x in open("/proc/self/status") if x.startswith(field))

r = json.loads(sys.argv[1])
m, l, n = r["shape"]
s = ckks.Session(params.named(r["params"], "memory"))
choice = choose(s.context, m, l, n, None if r["low"] else s.params.max_level, method=r["method"], keys=r["keys"])
product = Product(s.context, choice.plan, choice.level, options=choice.options)
elements = product.required_keys
before = status("VmRSS")
for element, level in elements.items():
    s.galois_keys.insert(s.client.galois_key(s.secret_key, element, level, 1))
product.prepare(KeySet(s.galois_keys, s.client.relin_key(s.secret_key, product.relin_level, 1)))
rng = np.random.default_rng(1)
a = s.encrypt(choice.plan.left_layout.pack(rng.uniform(-1, 1, (m, l)), s.params.slots), level=choice.level)
b = s.encrypt(choice.plan.right_layout.pack(rng.uniform(-1, 1, (l, n)), s.params.slots), level=choice.level)
product(a, b)
print(json.dumps([before + choice.chosen.cost.memory, status("VmHWM")]))
"""

PLANS = [
    ("matmul-a", (64, 64, 64), "ringforge", "all", False),
    ("matmul-a", (16, 64, 64), "ringforge", "all", False),
    ("matmul-a-128", (64, 64, 64), "ringforge", "few", False),
    ("matmul-a", (64, 64, 64), "fame", "all", False),
    ("matmul-b", (128, 128, 16), "ringforge", "all", True),
    ("matmul-b-128", (128, 16, 128), "ringforge", "all", True),
]


@pytest.mark.parametrize(
    ("name", "shape", "method", "keys", "low"),
    PLANS,
)
def test_memory_is_predicted(name: str, shape: tuple[int, ...], method: str, keys: str, low: bool) -> None:
    """Peak memory of the whole process within 10 %."""
    request = {"params": name, "shape": shape, "method": method, "keys": keys, "low": low}
    out = subprocess.run(
        [sys.executable, "-c", MEMORY, json.dumps(request)], check=True, capture_output=True, text=True
    ).stdout
    predicted, peak = json.loads(out)
    assert 0.9 <= predicted / peak <= 1.1, f"{predicted / 2**20:.0f} MiB predicted, {peak / 2**20:.0f} measured"


@pytest.mark.parametrize("side", ["left", "right"])
def test_sums_of_what_shares_an_error(side: str) -> None:
    """All slots are copies of one number and are folded: their errors are equal and add up, which predictions know."""
    p = parameters(10, levels=3)
    slots, scale, at, errors = p.slots, 2.0**40, float(p.q[2]), []
    every = SlotMatrix(slots, np.arange(slots), np.zeros(slots, np.int64), np.ones(slots))
    for seed in range(6):
        session = ckks.Session(p, fixed_seed_for_tests=ckks.TestSeed(bytes([seed] * 32)))
        copy = _native.Hlt(session.context, diagonals(every), 3, _native.Schedule.bsgs, every.steps % 32)
        plan = _native.PairSumPlan(1, 1, [], False, np.array([1 << i for i in range(9)], np.uint32))
        plan.add_group(0)
        plan.add_pair([(0, 0, 0, -1)], [(0, 0, 0, -1)])
        product = _native.PairSum(session.context, plan, 2)
        steps = {session.context.rotation_element(int(s)) for s in copy.steps if s}
        for element in steps | {e for e, _ in product.required_keys}:
            session.galois_keys.insert(session.client.galois_key(session.secret_key, element, 3, 1))
        relin = session.client.relin_key(session.secret_key, 2, 1)
        copy.encode(scale, at, 1e-3)
        copies = copy.run(session.encrypt(np.zeros(slots), bound=1e-3, level=3), session.galois_keys)
        ones = session.encrypt(np.ones(slots), level=2)
        both, scales, bounds = ([copies], [ones]), (at, scale), (1e-3, 1.0)
        if side == "right":
            both, scales, bounds = both[::-1], scales[::-1], bounds[::-1]
        product.encode(*scales, scale, *bounds, 1.0)
        result = product.run(*both, session.galois_keys, relin)
        errors.append(np.abs(session.decrypt(result)).max())
    deviation = np.sqrt(2 * slots * result.variance) / scale
    assert deviation / 8 < np.sqrt(np.mean(np.square(errors))) < 2 * deviation
