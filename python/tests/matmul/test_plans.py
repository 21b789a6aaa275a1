# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Plans of encrypted matrix products on plain numbers, and what the planner says they take."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringforge import params
from ringforge._native import Context, GadgetShape
from ringforge.errors import LevelError, MemoryLimitError, ParameterError, ShapeError
from ringforge.lab.papers.matmul import Shape, product_counts
from ringforge.matmul import planner
from ringforge.matmul.cost import cost, split_steps
from ringforge.matmul.layout import Layout
from ringforge.matmul.methods import e2dm_r, e2dm_s, fame, hegmm_en, huang, maps, ringforge
from ringforge.matmul.methods.common import transposed
from ringforge.matmul.plan import ProductPlan, Transform, outline, simulate, simulate_slots
from ringforge.matmul.slots import SlotMatrix, period, split

RNG = np.random.default_rng(2026)
BASELINES = (fame, e2dm_s, e2dm_r, huang, hegmm_en)

#: Shapes of the FAME paper's Table III with the slots they are run in; then: exact number of diagonals, rotations
#: modulo the slots, distinct keys.
TABLE_III = {
    "I-A": ((64, 64, 16, 4096), (364, 282, 189)),
    "I-B": ((128, 128, 16, 16384), (684, 538, 381)),
    "I-C": ((160, 160, 16, 32768), (844, 840, 636)),
    "II-A": ((64, 16, 64, 4096), (3244, 3225, 3117)),
    "II-B": ((128, 16, 128, 16384), (14572, 14553, 14381)),
    "II-C": ((160, 16, 160, 32768), (23308, 23304, 23100)),
    "III-A": ((16, 64, 64, 4096), (5341, 5337, 3210)),
    "III-B": ((16, 128, 128, 16384), (18845, 18841, 14598)),
    "III-C": ((16, 160, 160, 32768), (28669, 28665, 23364)),
    "IV-A": ((64, 64, 64, 4096), (508, 378, 189)),
    "IV-B": ((128, 128, 128, 16384), (1020, 762, 381)),
    "IV-C": ((160, 160, 160, 32768), (1276, 1272, 636)),
}


def context() -> Context:
    return Context(params.named("matmul-a", "counts of the paper's set"))


def check(plan: ProductPlan) -> None:
    """The plan computes A B, and where it says so, slots outside of the result are zero or copies."""
    a, b = RNG.uniform(-1, 1, (plan.m, plan.l)), RNG.uniform(-1, 1, (plan.l, plan.n))
    slots = simulate_slots(plan, a, b)
    got = plan.out_layout.unpack(slots)
    assert np.abs(got - a @ b).max() < 1e-11, plan
    if plan.method == "ringforge" or plan.note.endswith("outside of the result are zero"):
        blocks = slots.reshape(1 << len(plan.folds) if plan.method == "ringforge" else 1, -1)
        assert np.abs(blocks - blocks[0]).max() < 1e-11, plan
        rest = np.delete(blocks[0], plan.out_layout.index().ravel())
        assert not rest.any(), plan
    for side in (0, 1):
        masked = {t.support is not None for k in plan.pairs for t in plan.pair(k)[side]}
        assert plan.lazy is False or len(masked) == 1, plan
        assert masked == {True} or all(len(plan.pair(k)[side]) == 1 for k in plan.pairs)


# ---- maps and published counts -------------------------------------------------------------------


@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 12))
def test_maps_and_closed_forms(m: int, l: int, n: int) -> None:  # noqa: E741
    a, b = RNG.uniform(-1, 1, (m, l)), RNG.uniform(-1, 1, (l, n))
    left, right = a.ravel("F")[maps.sigma(m, l)], b.ravel("F")[maps.tau(l, n)]
    total = sum(left[maps.epsilon(m, l, n, k)] * right[maps.omega(m, l, n, k)] for k in range(l))
    assert np.allclose(np.reshape(total, (m, n), order="F"), a @ b)
    assert maps.diagonals(maps.sigma(m, l)) == maps.sigma_diagonals(m, l)
    assert maps.diagonals(maps.tau(l, n)) == maps.tau_diagonals(l, n)
    assert len(maps.sigma_diagonals(m, l)) == maps.equation_12(m, l)
    assert len(maps.tau_diagonals(l, n)) == maps.equation_13(l, n)
    for k in range(l):
        assert maps.diagonals(maps.epsilon(m, l, n, k)) == maps.epsilon_diagonals(m, l, n, k)
        assert maps.diagonals(maps.omega(m, l, n, k)) == maps.omega_diagonals(m, l, n, k)


def test_equations_14_and_15_are_not_exact() -> None:
    assert maps.equation_14(3, 5) == 2
    assert len(maps.epsilon_diagonals(4, 3, 5, 2)) == 3
    assert maps.equation_15(4, 3, 5) == 15
    assert len(maps.omega_diagonals(4, 3, 5, 0)) == 8


@pytest.mark.parametrize("name", TABLE_III)
def test_exact_counts(name: str) -> None:
    shape, counts = TABLE_III[name]
    found = product_counts(Shape(*shape[:3]), shape[3])
    assert (found.diagonals, found.rotations, found.keys) == counts


@pytest.mark.parametrize("name", ["I-A", "II-A", "III-A", "IV-A", "IV-C"])
def test_fame_takes_the_exact_counts(name: str) -> None:
    shape, (_, rotations, keys) = TABLE_III[name]
    plan = fame.plan(*shape)
    found = cost(plan, GadgetShape(2 * plan.slots, 1, 1), plan.depth + 1, schedule="naive")
    assert (found.ops.rotation, len(found.keys)) == (rotations, keys)
    assert found.ops.key_switch == rotations + plan.l  # and a relinearisation for each k
    assert plan.depth == 3


# ---- plans ---------------------------------------------------------------------------------------

SHAPES = [
    (1, 1, 1),
    (3, 5, 7),
    (31, 17, 53),
    (64, 64, 64),
    (64, 16, 64),
    (16, 64, 64),
    (64, 64, 16),
    (5, 9, 1),
    (1, 9, 5),
]


@pytest.mark.parametrize("method", BASELINES, ids=lambda m: m.__name__.rsplit(".")[-1])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_published_methods(method, shape: tuple[int, int, int]) -> None:
    check(method.plan(*shape, 4096))


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 20), st.integers(1, 20), st.integers(1, 20))
def test_published_methods_on_any_shape(m: int, l: int, n: int) -> None:  # noqa: E741
    for method in BASELINES:
        check(method.plan(m, l, n, 1024))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_ringforge(shape: tuple[int, int, int]) -> None:
    plans = ringforge.candidates(*shape, 4096 if max(shape) > 60 else 2048)
    assert {p.real_part for p in plans} == ({True, False} if shape[1] > 1 else {False})
    for plan in plans:
        check(plan)


@pytest.mark.parametrize("name", TABLE_III)
def test_ringforge_on_the_papers_shapes(name: str) -> None:
    """The best plan is right, and takes far fewer key switches than the paper's method."""
    shape, (_, rotations, _) = TABLE_III[name]
    gadget = GadgetShape(2 * shape[3], 1, 1)
    plans = ringforge.candidates(*shape, complex_packing=True, most=6)
    found, best = min(((cost(p, gadget, p.depth + 1), p) for p in plans), key=lambda x: x[0].weight)
    factor = 10 if name.startswith("II") else 4  # II and III
    assert factor * found.ops.key_switch < rotations + shape[1]
    check(best)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from([16, 64, 256]), st.permutations(range(3)), st.data())
def test_ringforge_up_to_full_slots(slots: int, order: list[int], data: st.DataObject) -> None:
    first = data.draw(st.integers(1, slots))
    second = data.draw(st.integers(1, slots // first))
    sides = (first, second, data.draw(st.integers(1, slots // max(first, second))))
    m, k, n = (sides[i] for i in order)
    for plan in ringforge.candidates(m, k, n, slots, most=8):
        check(plan)


def test_remembered_outlines_are_those_of_the_shifts() -> None:
    for plan in ringforge.candidates(16, 24, 20, 1024):
        name: dict[object, object] = {}
        for k in plan.pairs:
            for shift, kept in zip(plan.pair(k), plan.pair.outline(k), strict=True):  # type: ignore[attr-defined]
                for exact, short in zip(outline(shift, plan.slots), kept, strict=True):
                    assert (exact.base, exact.step, exact.period, exact.size) == (
                        short.base,
                        short.step,
                        short.period,
                        short.size,
                    )
                    assert name.setdefault(exact.mask, short.mask) == short.mask


def test_transposition() -> None:
    plan = transposed(hegmm_en.plan(5, 3, 7, 256))
    assert (plan.m, plan.l, plan.n) == (7, 3, 5)
    check(plan)


def test_shapes_that_do_not_fit() -> None:
    for method in (*(m.plan for m in BASELINES), ringforge.candidates):
        with pytest.raises(ShapeError, match=r"takes \d+ slots .* a ciphertext has 64: choose parameters with N"):
            method(9, 8, 9, 64)
        with pytest.raises(ShapeError, match="empty side"):
            method(3, 0, 3, 64)


def test_layouts() -> None:
    layout = Layout(2, 3, 1, 4)
    x = layout.pack([[1, 2, 3], [4, 5, 6]], 16)
    assert x[:10].tolist() == [1, 4, 0, 0, 2, 5, 0, 0, 3, 6]
    assert layout.unpack(x).tolist() == [[1, 2, 3], [4, 5, 6]]
    with pytest.raises(ShapeError, match="reaches slot 9 of 8"):
        layout.pack(np.zeros((2, 3)), 8)
    with pytest.raises(ShapeError, match=r"\(3, 2\)"):
        layout.pack(np.zeros((3, 2)), 16)


# ---- slot matrices and splits --------------------------------------------------------------------


@given(st.integers(0, 5), st.data())
def test_slot_matrices(log_slots: int, data: st.DataObject) -> None:
    slots = 1 << log_slots
    pick = st.lists(st.integers(0, slots - 1), min_size=12, max_size=12)
    dense = np.zeros((slots, slots), dtype=complex)
    target, source = data.draw(pick), data.draw(pick)
    value = RNG.integers(-1, 2, 12) + 1j * RNG.integers(-1, 2, 12)
    np.add.at(dense, (target, source), value)
    matrix = SlotMatrix(slots, target, source, value)
    x = RNG.uniform(-1, 1, slots)
    assert np.allclose(matrix.apply(x), dense @ x)
    assert np.allclose((matrix @ matrix).apply(x), dense @ dense @ x)
    assert matrix.real == (not dense.imag.any())
    total = np.zeros(slots, dtype=complex)
    for d in range(matrix.diagonals):
        at, entries = matrix.diagonal(d)
        total[at] += entries * np.roll(x, -int(matrix.steps[d]))[at]
    assert np.allclose(total, dense @ x)
    assert (np.diff(matrix.steps.astype(int)) > 0).all()


def test_periods() -> None:
    assert period(16, np.arange(16)) == 1
    assert period(16, np.array([1, 5, 9, 13])) == 4
    assert period(16, np.array([1, 5, 9, 13]), np.array([1, 2, 1, 2])) == 8
    assert period(16, np.array([1, 5, 9])) == 16


@settings(max_examples=60)
@given(st.sets(st.integers(0, 255), min_size=1, max_size=60), st.sampled_from([1.0, 1.5, 4.0]))
def test_splits_add_up(steps: set[int], dear: float) -> None:
    z = np.array(sorted(steps))
    found = split(z, 256, ((3, 4), (-7, 5)), 1.0, dear)
    giants = (z - found.baby_of) % 256
    assert set(found.babies) == set(found.baby_of.tolist())
    assert set(found.giants) == set(giants.tolist())
    taken = len(set(found.babies) - {0}) + dear * len(set(found.giants) - {0})
    assert taken <= len(steps - {0})  # at worst all are babies


def test_splits_of_known_maps() -> None:
    tau = np.unique(np.array(maps.tau_diagonals(64, 64)) % 4096)
    found = split(tau, 4096)
    assert len(found.babies) + len(found.giants) <= 23
    two = np.unique([(47 * j + 16 * w) % 4096 for j in range(64) for w in range(4)])
    known, plain = split(two, 4096, ((47, 64), (16, 4))), split(two, 4096)
    assert len(known.babies) + len(known.giants) <= 40 < len(plain.babies) + len(plain.giants)
    moved = split((two + 100) % 4096, 4096, ((47, 64), (16, 4)))
    assert (len(moved.babies), len(moved.giants)) == (len(known.babies), len(known.giants))
    assert split_steps(context(), tau, 3).dtype == np.uint32


# ---- costs and the planner -----------------------------------------------------------------------


def test_counts_of_one_product_by_hand() -> None:
    # 1 x 1 x 1: two transforms with diagonal 0 only, one product, one relinearisation.
    (plan,) = ringforge.candidates(1, 1, 1, 4096)
    found = cost(plan, GadgetShape(8192, 1, 1), 3)
    assert plan.depth == 2
    assert (found.ops.mod_up, found.ops.key_switch, found.ops.rotation) == (1, 1, 0)
    assert found.ops.mod_down == 2 + 2 + 2
    # Transforms drop 1 of 3 limbs; ModUp at 2 limbs, 2 digits of 3; at the end 2 of 3 limbs go.
    assert found.ops.intt == 2 * 2 * 1 + 2 + 2 * 2
    assert found.ops.ntt == 2 * 2 * 2 + (2 * 3 - 2) + 2 * 1
    assert found.ops.key_bytes == 16 * 2 * 3 * 8192
    assert (found.ops.plain_mul, found.ops.plaintext_bytes) == (2, 2 * 3 * 8192 * 8)


def test_phases_add_up_and_keys_are_counted_once() -> None:
    gadget = GadgetShape(8192, 1, 1)
    for plan in ringforge.candidates(16, 64, 64, 4096)[:6]:
        for via in (0, 8):
            found = cost(plan, gadget, plan.depth + 2, via=via)
            assert sum(p.key_switch for p in found.phases.values()) == found.ops.key_switch
            stored = sum(map(gadget.key_bytes, found.keys.values())) + gadget.key_bytes(found.relin_limbs)
            assert found.key_storage == stored
            assert 0 not in found.keys
        assert cost(plan, gadget, plan.depth + 2, compact="all").plaintext_storage < found.plaintext_storage


def test_few_keys() -> None:
    every, few = (planner.choose(context(), 64, 64, 64, keys=k) for k in ("all", "few"))
    assert few.chosen.cost.key_storage < every.chosen.cost.key_storage
    assert few.options.via in planner.VIA
    assert every.options.via == 0


def test_planner() -> None:
    choice = planner.choose(context(), 64, 64, 64)
    assert choice.chosen.cost.weight == min(c.cost.weight for c in choice.candidates)
    assert choice.level == choice.plan.depth
    assert choice.explain().row_count <= choice.explain(everything=True).row_count == len(choice.candidates)
    assert planner.choose(context(), 64, 64, 64, 3).plan.depth <= 3
    for method in set(planner.METHODS) - {"fold"}:
        assert planner.choose(context(), 8, 8, 8, method=method).plan.method == (
            "ringforge" if method == "auto" else method
        )


def test_planner_refuses() -> None:
    with pytest.raises(ParameterError, match='no method "best"; choose one of auto, fold, ringforge'):
        planner.choose(context(), 8, 8, 8, method="best")
    with pytest.raises(ParameterError, match="no schedule"):
        planner.choose(context(), 8, 8, 8, schedule="fast")
    with pytest.raises(ParameterError, match='"all", "few" or "auto"'):
        planner.choose(context(), 8, 8, 8, keys="some")
    with pytest.raises(ShapeError, match="N of at least 16384"):
        planner.choose(context(), 65, 64, 64)
    with pytest.raises(LevelError, match=r"at least 3 levels, the operands have 1: .* at least 4 primes"):
        planner.choose(context(), 64, 64, 64, 1)
    with pytest.raises(LevelError, match="takes 3 levels, the operands have 2"):
        cost(fame.plan(8, 8, 8, 4096), GadgetShape(8192, 1, 1), 3)
    with pytest.raises(MemoryLimitError, match=r"fits in 1.0 MiB; the smallest \(.*\) needs \d+ MiB"):
        planner.choose(context(), 64, 64, 64, memory=1 << 20)
    needed = planner.choose(context(), 64, 64, 64).chosen.cost.memory
    tight = planner.choose(context(), 64, 64, 64, memory=needed - 1)
    assert tight.chosen.cost.memory < needed
    assert any(c.refused for c in tight.candidates)


def test_shapes_that_do_not_chain() -> None:
    assert planner.product_shape((2, 3), (3, 4)) == (2, 3, 4)
    with pytest.raises(ShapeError, match="2 x 3 matrix does not chain with a 4 x 5 one"):
        planner.product_shape((2, 3), (4, 5))
    with pytest.raises(ShapeError, match="not those of two matrices"):
        planner.product_shape((2,), (2, 5))


def test_depth_is_what_the_stages_take() -> None:
    for plan in ringforge.candidates(12, 30, 20, 1024):
        transforms = [sum(isinstance(s, Transform) for s in (*o.prefix, *o.bases[0])) for o in (plan.left, plan.right)]
        assert plan.depth == max(transforms) + int(plan.masked) + 1
    a, b = RNG.uniform(-1, 1, (12, 30)), RNG.uniform(-1, 1, (30, 20))
    assert np.allclose(simulate(plan, a, b), a @ b)
