# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Compiled tables against their definition: every element in all its bins, cells free of conflicts, words that open."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringforge.errors import ParameterError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.psi import table
from ringforge.psi.build import different
from ringforge.psi.table import (
    Arrays,
    SaltsExhaustedError,
    Shape,
    check_integers,
    compile_direct,
    compile_prf,
    label_lengths,
    pack,
    pad_labels,
    touched_bins,
    unpack,
)

SEED = bytes(range(32))


def prf_rows(count: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (count, 64), dtype=np.uint8)


def shape_of(
    log_bins: int, hashes: int, cell_bits: int, label_bytes: int = 0, log_t: int = 5, tag_bits: int = 40
) -> Shape:
    words = -(-(tag_bits + 8 * label_bytes) // log_t)
    return Shape("oprf", 0, log_bins, hashes, cell_bits, (words - 1).bit_length(), log_t, tag_bits, label_bytes, SEED)


def looked_up(shape: Shape, arrays: Arrays, prf: np.ndarray) -> list[list[bytes | None]]:
    """For each output and hash function the padded label, or None without a match: what clients do."""
    h = shape.prf()
    where, word, tag = h.words(prf)
    bins = h.bins(where)
    out: list[list[bytes | None]] = [[None] * shape.hashes for _ in range(len(prf))]
    for i in range(shape.hashes):
        index = np.full(len(prf), i, dtype=np.uint8)
        salt = arrays.salts[bins[:, i]]
        cells, tags = h.cells(word, index, salt), h.tags(tag, index)
        for j in range(len(prf)):
            low, high = (int(v) for v in arrays.offsets[bins[j, i] : bins[j, i] + 2])
            at = low + int(np.searchsorted(arrays.cells[low:high], cells[j]))
            if at < high and arrays.cells[at] == cells[j]:
                got, label = unpack(arrays.words[at : at + 1], shape)
                if got[0] == tags[j]:
                    one = slice(j, j + 1)
                    out[j][i] = h.seal(label, prf[one], index[one], salt[one])[0].tobytes()
    return out


def check_arrays(shape: Shape, arrays: Arrays, entries: int) -> None:
    assert arrays.offsets[0] == 0
    assert arrays.offsets[-1] == len(arrays.cells) == len(arrays.words) == entries
    for low, high in zip(arrays.offsets[:-1].tolist(), arrays.offsets[1:].tolist(), strict=True):
        assert (np.diff(arrays.cells[low:high].astype(np.int64)) > 0).all(), "ascending, none twice"
    if entries:
        assert arrays.cells.max() < 1 << shape.cell_bits
        assert arrays.words.max() < 1 << shape.log_t
        assert arrays.words.any(axis=1).all(), "no value looks like an empty cell"


# ---- values ----


@given(
    st.integers(1, 16),
    st.sampled_from([32, 40, 48, 56, 64]),
    st.integers(0, 40),
    st.integers(1, 20),
    st.integers(0, 2**32),
)
def test_packing_is_undone(log_t, tag_bits, label_bytes, count, seed):
    shape = shape_of(4, 3, 8, label_bytes, log_t, tag_bits)
    rng = np.random.default_rng(seed)
    tags = rng.integers(0, 1 << tag_bits, count, dtype=np.uint64)
    labels = rng.integers(0, 256, (count, label_bytes), dtype=np.uint8)
    words = np.full((count, shape.words), 0xFFFF, dtype=np.uint16)
    pack(tags, labels, shape, words)
    assert int(words.max()) < 1 << log_t
    whole = [
        sum(int(w) << log_t * j for j, w in enumerate(row)) for row in words
    ]  # the definition: bits in order, lowest first
    assert whole == [
        int(t) | int.from_bytes(label.tobytes(), "little") << tag_bits for t, label in zip(tags, labels, strict=True)
    ]
    back = unpack(words, shape)
    assert (back[0] == tags).all()
    assert (back[1] == labels).all()


@given(st.lists(st.binary(max_size=9), max_size=10))
def test_labels_of_all_lengths_come_back(labels):
    rows = pad_labels(labels, 10)
    assert rows.shape == (len(labels), 10)
    lengths = label_lengths(rows)
    assert [row.tobytes()[:length] for row, length in zip(rows, lengths, strict=True)] == labels


def test_wrong_labels_are_refused():
    with pytest.raises(ParameterError, match="--label-bytes 10"):
        pad_labels([b"0123456789"], 10)
    with pytest.raises(ParameterError, match="--label-bytes 65536"):
        pad_labels([bytes(65536)], 10)
    with pytest.raises(ParameterError, match=r"shorten it, 65,536 bytes are the most") as refused:
        pad_labels([bytes(65537)], 10)
    assert "label_bytes" not in str(refused.value), "no option makes room for it"
    rows = np.frombuffer(bytes(4) + b"abcd" + b"abc\x01" + b"\x80abc" + b"abc\x80" + b"\x80\0\0\0", np.uint8)
    assert label_lengths(rows.reshape(-1, 4)).tolist() == [-1, -1, -1, -1, 3, 0]


# ---- mode oprf ----


@given(
    st.integers(0, 6),
    st.integers(1, 3),
    st.integers(0, 60),
    st.sampled_from([0, 1, 5, 70]),
    st.integers(0, 2**32),
)
def test_every_element_is_found_by_every_function(log_bins, hashes, count, label_bytes, seed):
    shape = shape_of(log_bins, hashes, 14, label_bytes)
    prf = prf_rows(count + 20, seed)
    labels = np.random.default_rng(seed).integers(0, 256, (count, label_bytes), dtype=np.uint8)
    arrays = compile_prf(shape, prf[:count], labels)
    check_arrays(shape, arrays, count * hashes)
    found = looked_up(shape, arrays, prf)
    assert found == [[row.tobytes()] * hashes for row in labels] + [[None] * hashes] * 20


def test_chunks_make_no_difference(monkeypatch):
    shape, prf = shape_of(6, 3, 14, 5), prf_rows(500)
    labels = np.random.default_rng(1).integers(0, 256, (500, 5), dtype=np.uint8)
    expected = looked_up(shape, compile_prf(shape, prf, labels), prf)
    for chunk in (1, 37, 300):
        monkeypatch.setattr(table, "CHUNK", chunk)
        monkeypatch.setattr(table, "BLOCK", max(1, chunk // 3))
        arrays = compile_prf(shape, prf, labels)
        check_arrays(shape, arrays, 1500)
        assert looked_up(shape, arrays, prf) == expected
        x = np.arange(0, 1 << 16, 99, dtype=np.uint64)
        direct = Shape("direct", 16, 6, 3, 12, 0, 5, 0, 0, SEED)
        assert len(compile_direct(direct, x).cells) == 3 * len(x)


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 30), st.sampled_from([0, 6]), st.integers(0, 2**32))
def test_updated_tables_answer_like_fresh_ones(kept, removed, added, label_bytes, seed):
    shape = shape_of(5, 3, 13, label_bytes)
    prf = prf_rows(kept + removed + added + 10, seed)
    labels = np.random.default_rng(seed).integers(0, 256, (len(prf), label_bytes), dtype=np.uint8)
    old = compile_prf(shape, prf[: kept + removed], labels[: kept + removed])
    now = np.r_[0:kept, kept + removed : kept + removed + added]
    touched = touched_bins(shape, prf[kept : kept + removed + added])
    shape = shape.renewed()
    new = compile_prf(shape, prf[now], labels[now], old=old, touched=touched)
    check_arrays(shape, new, 3 * len(now))
    fresh = compile_prf(shape, prf[now], labels[now])
    assert looked_up(shape, new, prf) == looked_up(shape, fresh, prf)
    assert (new.salts[~touched] == old.salts[~touched]).all()
    assert (new.salts >= old.salts).all()


def test_a_crowded_bin_is_refused_in_the_end():
    with pytest.raises(SaltsExhaustedError, match="no salt left"):
        compile_prf(shape_of(0, 3, 4), prf_rows(6), np.zeros((6, 0), dtype=np.uint8))


def test_first_salts_are_random():
    shape, prf = shape_of(8, 3, 14), prf_rows(10)
    salts = [compile_prf(shape, prf, np.zeros((10, 0), dtype=np.uint8)).salts for _ in range(2)]
    assert (salts[0] != salts[1]).mean() > 0.9
    assert salts[0].max() < 1 << 16


@given(st.lists(st.tuples(st.integers(0, 15), st.binary(max_size=2)), max_size=40))
def test_of_equal_elements_the_last_label_stays(pairs):
    """Rows that begin alike and differ later are different elements."""
    rows = [bytes(32) + bytes([v % 4]) * 32 if v < 8 else bytes([v]) * 64 for v, _ in pairs]
    prf = np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(-1, 64)
    members = different(prf, [label for _, label in pairs])
    got = {v.tobytes(): label for v, label in zip(members.values, members.labels, strict=True)}
    assert len(got) == len(members)
    assert got == dict(zip(rows, (label for _, label in pairs), strict=True))


# ---- mode direct ----


@given(st.integers(0, 8), st.integers(1, 3), st.lists(st.integers(0, 2**12 - 1), max_size=60))
def test_integers_are_in_exactly_their_cells(log_bins, hashes, elements):
    shape = Shape("direct", 12, log_bins, hashes, 12 - log_bins + (hashes - 1).bit_length(), 0, 5, 0, 0, SEED)
    x = check_integers(elements, 12)
    arrays = compile_direct(shape, x)
    check_arrays(shape, arrays, len(x) * hashes)
    assert (arrays.words == 1).all()
    bins = np.repeat(np.arange(1 << log_bins), np.diff(arrays.offsets.astype(np.int64)))
    have = set(zip(bins.tolist(), arrays.cells.tolist(), strict=True))
    everything = np.arange(1 << 12, dtype=np.uint64)
    b, c = shape.direct().places(everything)
    for i in range(hashes):
        inside = [pair in have for pair in zip(b[:, i].tolist(), c[:, i].tolist(), strict=True)]
        assert everything[inside].tolist() == sorted(set(elements))


def test_integers_are_checked():
    assert check_integers([3, 1, 3, np.uint64(2)], 2).tolist() == [1, 2, 3]
    assert check_integers(np.array([7, 7, 0], dtype=np.int32), 3).tolist() == [0, 7]
    assert check_integers([], 3).tolist() == []
    assert check_integers([2**64 - 1], 64).tolist() == [2**64 - 1]
    for bad in ([4], [-1], [True], [1.0], [b"1"], np.array([4]), np.array([-1]), np.array([1.5])):
        with pytest.raises(RingforgeValueError, match="integers"):
            check_integers(bad, 2)


# ---- size ----


@pytest.mark.long
def test_four_million_elements_take_less_than_two_gibibytes():
    """A process of its own builds 2^22 elements in 2^14 bins, three functions, from an iterator."""
    code = """
        import resource, sys
        import numpy as np
        from ringforge.psi import build, table
        class Key:
            def prf(self, batch, threads):
                return np.random.default_rng(int(batch[0])).integers(0, 256, (len(batch), 64), dtype=np.uint8)
        members = build.prf_members(Key(), (b"%d" % i for i in range(1 << 22)), 1)
        shape = table.Shape("oprf", 0, 14, 3, 17, 3, 5, 40, 0, bytes(32))
        arrays = build.compile_members(shape, members)[1]
        assert len(arrays.cells) == 3 << 22
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10)
    """
    root = Path(table.__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        check=True,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(root)},
    )
    assert int(done.stdout) < 2 << 30
