# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Bins, cells, salts, tags, seals and placement, against definitions, vectors and probabilities."""

import itertools
import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching

from ringforge.psi import hashing
from ringforge.psi.hashing import DirectHash, PrfHash, chacha20, find_salts, mix, place, place_all

SEED = bytes(range(32))


def prf_rows(count: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (count, 64), dtype=np.uint8)


def chi_square_is_small(counts: np.ndarray) -> bool:
    """Six standard deviations above the mean of the chi-square distribution, whose variance is twice its mean."""
    expected = counts.sum() / len(counts)
    freedom = len(counts) - 1
    return bool(((counts - expected) ** 2 / expected).sum() < freedom + 6 * math.sqrt(2 * freedom))


def test_mix_is_murmurs_finaliser():
    x = np.array([0, 1, 0xFFFFFFFFFFFFFFFF], dtype=np.uint64)

    def one(v: int) -> int:
        v ^= v >> 33
        v = v * 0xFF51AFD7ED558CCD % 2**64
        v ^= v >> 33
        v = v * 0xC4CEB9FE1A85EC53 % 2**64
        return v ^ v >> 33

    assert mix(x).tolist() == [one(v) for v in x.tolist()]
    assert x[1] == 1, "the argument stays"


def test_chacha20_gives_the_block_of_rfc_8439():
    """Section 2.3.2."""
    key = np.frombuffer(bytes(range(32)), dtype="<u4").repeat(3).reshape(8, 3)
    nonce = np.frombuffer(bytes.fromhex("000000090000004a00000000"), dtype="<u4").repeat(3).reshape(3, 3)
    block = chacha20(key, nonce, 1)
    assert block.shape == (3, 64)
    expected = (
        "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
        "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e"
    )
    assert [row.tobytes().hex() for row in block] == [expected] * 3


# ---- mode direct ----


@given(
    st.integers(0, 12),
    st.integers(0, 32),
    st.integers(1, 3),
    st.lists(st.integers(0, 2**44 - 1), min_size=1, max_size=50, unique=True),
)
def test_bin_and_cell_determine_integer_and_function(log_bins, more, hashes, elements):
    bits = log_bins + min(more, 30)
    x = np.unique(np.array(elements, dtype=np.uint64) & np.uint64((1 << bits) - 1))
    bins, cells = DirectHash(SEED, bits, log_bins, hashes).places(x)
    assert bins.shape == cells.shape == (len(x), hashes)
    assert bins.max() < 1 << log_bins
    assert int(cells.max()) < 1 << max(1, bits - log_bins + (hashes - 1).bit_length())
    pairs = list(zip(bins.reshape(-1).tolist(), cells.reshape(-1).tolist(), strict=True))
    assert len(set(pairs)) == len(pairs)
    again = DirectHash(SEED, bits, log_bins, hashes).places(x)
    assert (again[0] == bins).all()


def test_consecutive_integers_fill_bins_evenly():
    x = np.arange(1 << 16, dtype=np.uint64) * np.uint64(1 << 12)
    bins, _ = DirectHash(SEED, 32, 10, 3).places(x)
    for i in range(3):
        assert chi_square_is_small(np.bincount(bins[:, i], minlength=1024))
    assert abs((bins[:, 0] == bins[:, 1]).mean() - 2**-10) < 6 * math.sqrt(2**-10 / len(x))


def test_other_seeds_give_other_bins():
    x = np.arange(1 << 10, dtype=np.uint64) << np.uint64(20)
    bins = [DirectHash(bytes([s]) * 32, 32, 10, 3).places(x)[0] for s in (0, 1)]
    assert (bins[0] == bins[1]).mean() < 0.02


# ---- mode oprf ----


def test_prf_outputs_spread_evenly():
    n = 1 << 16
    h = PrfHash(SEED, 8, 3, 10, 40)
    where, word, tag = h.words(prf_rows(n))
    bins = h.bins(where)
    index = np.ones(n, dtype=np.uint8)
    cells = h.cells(word, index, np.full(n, 7))
    tags = h.tags(tag, index)
    for i in range(3):
        assert chi_square_is_small(np.bincount(bins[:, i], minlength=256))
    assert chi_square_is_small(np.bincount(cells, minlength=1024))
    joint = bins[:, 0].astype(np.int64) << 6 | cells >> 4
    assert chi_square_is_small(np.bincount(joint, minlength=1 << 14))
    assert tags.min() > 0
    assert tags.max() < 1 << 40
    assert chi_square_is_small(np.bincount(tags >> np.uint64(30), minlength=1024))


def test_bins_tags_and_cells_use_bytes_of_their_own():
    a = prf_rows(1)
    h = PrfHash(SEED, 8, 3, 10, 40)
    index = np.zeros(1, dtype=np.uint8)
    for byte, (same_bins, same_tag) in {0: (False, True), 8: (True, True), 16: (True, False), 24: (True, True)}.items():
        b = a.copy()
        b[0, byte : byte + 8] ^= 0x5A
        (wa, _, ta), (wb, _, tb) = h.words(a), h.words(b)
        assert bool((h.bins(wa) == h.bins(wb)).all()) == same_bins
        assert bool(h.tags(ta, index)[0] == h.tags(tb, index)[0]) == same_tag


def test_tags_are_never_zero():
    h = PrfHash(SEED, 8, 3, 10, 8)
    tags = h.tags(np.arange(1 << 14, dtype=np.uint64), np.zeros(1 << 14, dtype=np.uint8))
    assert set(tags.tolist()) == set(range(1, 256))


@given(st.integers(1, 150), st.integers(0, 2), st.integers(0, 65535))
def test_seals_open_and_depend_on_function_salt_and_seed(length, index, salt):
    h, prf = PrfHash(SEED, 8, 3, 10, 40), prf_rows(3)
    labels = np.random.default_rng(2).integers(0, 256, (3, length), dtype=np.uint8)
    i, s = np.full(3, index, dtype=np.uint8), np.full(3, salt)
    sealed = h.seal(labels, prf, i, s)
    assert (h.seal(sealed, prf, i, s) == labels).all()
    if length >= 16:  # below, streams may agree by accident
        others = [
            h.seal(labels, prf, (i + 1) % 3, s),
            h.seal(labels, prf, i, s ^ 1),
            PrfHash(bytes(32), 8, 3, 10, 40).seal(labels, prf, i, s),
            h.seal(labels, prf_rows(3, 5), i, s),
        ]
        assert all((sealed != o).any() for o in others)


@pytest.mark.parametrize("cell_bits", [9, 12])
def test_salts_separate_and_are_found_as_fast_as_predicted(cell_bits):
    """Of 40 entries, a salt separates all with the probability prod (1 - i / 2^w)."""
    bins, each = 400, 40
    h = PrfHash(SEED, 8, 3, cell_bits, 40)
    word = h.words(prf_rows(bins * each))[1]
    index = np.resize(np.arange(3, dtype=np.uint8), bins * each)
    offsets = np.arange(0, bins * each + 1, each, dtype=np.int64)
    first = np.full(bins, 100, dtype=np.int64)
    salts = find_salts(h, word, index, offsets, first)
    for b in range(bins):
        part = slice(b * each, (b + 1) * each)

        def separates(salt: int, part: slice = part) -> bool:
            return len(np.unique(h.cells(word[part], index[part], np.full(each, salt)))) == each

        assert separates(int(salts[b]))
        if b < 10:
            assert not any(separates(s) for s in range(100, int(salts[b])))
    p = math.prod(1 - i / 2**cell_bits for i in range(each))
    tries = (salts - 100 + 1).mean()
    assert abs(tries - 1 / p) < 6 * math.sqrt(1 - p) / p / math.sqrt(bins)


def test_bins_that_cannot_be_separated_say_so():
    h = PrfHash(SEED, 0, 3, 1, 40)
    word = h.words(prf_rows(5))[1]
    salts = find_salts(h, word, np.zeros(5, dtype=np.uint8), np.array([0, 1, 1, 5]), np.array([5, 6, 65500]))
    assert salts.tolist() == [5, 6, hashing.SALTS]


# ---- placement ----


@given(st.integers(1, 3), st.integers(1, 40), st.integers(0, 60), st.integers(0, 2**32))
def test_placement_is_a_maximum_matching(hashes, count, elements, seed):
    bins = np.random.default_rng(seed).integers(0, count, (elements, hashes), dtype=np.uint32)
    choice = place(bins, count)
    placed = np.flatnonzero(choice >= 0)
    taken = bins[placed, choice[placed]]
    assert len(set(taken.tolist())) == len(taken)
    if elements:
        edges = csr_matrix(
            (np.ones(bins.size), bins.reshape(-1), np.arange(0, bins.size + 1, hashes)), (elements, count)
        )
        edges.sum_duplicates()
        assert len(placed) == (maximum_bipartite_matching(edges, perm_type="column") >= 0).sum()
    assert (place(bins, count) == choice).all()


@given(st.integers(1, 3), st.integers(0, 300), st.integers(0, 2**32))
def test_queries_together_take_every_element_once(hashes, elements, seed):
    bins = np.random.default_rng(seed).integers(0, 32, (elements, hashes), dtype=np.uint32)
    planned = -(-elements // 20)
    queries, left = place_all(bins, 32, planned)
    assert len(queries) == planned
    assert sorted(np.concatenate([left, *(q[0] for q in queries)]).tolist()) == list(range(elements))
    for some, choice in queries:
        taken = bins[some, choice]
        assert len(taken) == len(set(taken.tolist()))


def test_what_finds_no_place_goes_into_further_queries_but_not_into_more():
    bins = np.array([[3, 3, 3]] * 4 + [[1, 2, 3]], dtype=np.uint32)
    for planned, sizes, rest in ((1, [2], 3), (2, [1, 2], 2), (4, [1, 1, 1, 2], 0), (6, [1, 1, 1, 1, 1, 0], 0)):
        queries, left = place_all(bins, 8, planned)
        assert [len(q[0]) for q in queries] == sizes
        assert len(left) == rest


def test_three_functions_at_load_one_half_take_all_at_once():
    """The bound is 2^-32.9 for each of the instances."""
    rng = np.random.default_rng(3)
    assert hashing.placement_failure(512, 1024, 3) < 2**-32
    for _ in range(300):
        assert (place(rng.integers(0, 1024, (512, 3), dtype=np.uint32), 1024) >= 0).all()


@pytest.mark.parametrize(
    ("hashes", "count", "elements"), [(1, 256, 20), (2, 64, 16), (2, 256, 64), (3, 16, 8), (3, 12, 9), (3, 32, 24)]
)
def test_failures_stay_below_their_bound(hashes, count, elements):
    """The measured frequency stays below the bound, up to six standard deviations; with one function it equals it."""
    rng, trials = np.random.default_rng(4), 4000
    bound = hashing.placement_failure(elements, count, hashes)
    failed = sum(
        (place(rng.integers(0, count, (elements, hashes), dtype=np.uint32), count) < 0).any() for _ in range(trials)
    )
    slack = 6 * math.sqrt(max(bound, 1 / trials) / trials)
    assert failed / trials < bound + slack
    if hashes == 1:
        assert abs(failed / trials - bound) < slack


@pytest.mark.parametrize(
    ("elements", "count", "hashes"), [(2, 2, 2), (3, 3, 2), (4, 4, 2), (3, 5, 2), (2, 2, 3), (3, 3, 3), (2, 5, 3)]
)
def test_the_bound_holds_for_all_choices_counted_one_by_one(elements, count, hashes):
    """Exact: every way in which few elements can choose among few bins, by the size of the largest matching."""
    failed = 0
    for choices in itertools.product(range(count), repeat=elements * hashes):
        rows = [set(choices[i : i + hashes]) for i in range(0, len(choices), hashes)]
        failed += any(
            len(set().union(*some)) < size
            for size in range(1, elements + 1)
            for some in itertools.combinations(rows, size)
        )
    exact = failed / count ** (elements * hashes)
    assert exact <= hashing.placement_failure(elements, count, hashes) * (1 + 1e-9)


@pytest.mark.parametrize(("count", "elements", "log2"), [(1 << 14, 13926, -43), (1 << 12, 3468, -20), (256, 193, -20)])
def test_the_bound_says_something_at_the_loads_in_use(count, elements, log2):
    """Where simulation finds no failure in thousands of trials; here a hundred, or five of the largest."""
    assert hashing.room(count, 3) == elements
    assert hashing.placement_failure(elements, count, 3) <= 2.0**log2
    rng = np.random.default_rng(6)
    for _ in range(100 if count == 256 else 2):
        assert (place(rng.integers(0, count, (elements, 3), dtype=np.uint32), count) >= 0).all()


@given(st.integers(1, 60), st.integers(0, 60), st.floats(0.001, 1.0))
def test_the_sum_over_elements_beside_a_tight_set_is_bounded(j, more, x):
    m = j + 1 + more
    exact = sum(math.comb(t - 1, j) * x ** (t - 1 - j) for t in range(j + 1, m + 1))
    logs = np.array([math.lgamma(i + 1) for i in range(2 * m)])
    bound = hashing._elements_beside(m, np.array([j]), np.array([x]), logs)[0]
    assert math.log(exact) <= bound + 1e-9


def test_the_bound_is_a_probability_and_grows_with_the_load():
    for h in (1, 2, 3):
        values = [hashing.placement_failure(m, 1024, h) for m in range(0, 1100, 50)]
        assert values[0] == 0
        assert values[-1] == 1
        assert all(a <= b for a, b in pairwise(values))


@pytest.mark.parametrize(("elements", "count", "hashes"), [(1000, 256, 3), (1 << 16, 256, 2), (10, 1, 3)])
def test_no_bin_is_fuller_than_said(elements, count, hashes):
    bound = hashing.fullest_bin(elements, count, hashes)
    mean = hashes * elements / count
    assert mean <= bound <= mean + 12 * math.sqrt(hashes * mean) + 100
    rng = np.random.default_rng(5)
    for _ in range(50):
        assert np.bincount(rng.integers(0, count, elements * hashes), minlength=count).max() <= bound
