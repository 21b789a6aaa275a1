# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Compiles a server's set into the arrays that answers are computed from."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge.errors import ParameterError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.parties import Progress
from ringforge.psi.hashing import SALTS, U16, U32, U64, Bytes, DirectHash, PrfHash, find_salts

#: Entries that are worked on at once: a few MiB of temporary arrays.
CHUNK = 1 << 18

#: Cells that are packed at once: they stay in the cache.
BLOCK = 4096

#: First salts of a new table are random below this, so that they do not tell how many had conflicts.
FIRST_SALTS = 1 << 15

#: Bytes of the longest label of a look-up table. One that a cell has no room for lies in several parts.
LONGEST_LABEL = 1 << 16

#: Bits that are spread into words, or put together, at once.
_BITS = 1 << 25

Allocate = Callable[[str, tuple[int, ...], Any], npt.NDArray[Any]]


class SaltsExhaustedError(ParameterError):
    """A bin has been through all its salts: the table must be built again, with a new seed."""


@dataclass(frozen=True)
class Shape:
    """What the arrays of a table depend on beside its elements; fields as in `TableInfo` and its plan."""

    mode: str
    element_bits: int
    log_bins: int
    hashes: int
    cell_bits: int
    log_cell: int
    log_t: int
    tag_bits: int
    label_bytes: int
    seed: bytes
    nonce: bytes = b""
    parts: int = 1

    @classmethod
    def of(cls, info: Any) -> Shape:
        """That of a `TableInfo`, whose plan is one of the look-up."""
        p = info.plan
        return cls(
            info.mode,
            info.element_bits,
            p.log_bins,
            info.hashes,
            p.cell_bits,
            p.log_cell,
            p.log_t,
            info.tag_bits,
            info.label_bytes,
            info.seed_bytes,
            bytes.fromhex(info.nonce),
            info.parts,
        )

    @property
    def bins(self) -> int:
        return 1 << self.log_bins

    @property
    def words(self) -> int:
        """Words of a cell, those of all parts."""
        return self.parts << self.log_cell

    def stored(self, entries: int) -> tuple[int, ...]:
        """Form of the words of so many entries: (m, s), or with several parts (parts, m, s)."""
        whole = (self.parts, entries, 1 << self.log_cell)
        return whole if self.parts > 1 else whole[1:]

    def direct(self) -> DirectHash:
        return DirectHash(self.seed, self.element_bits, self.log_bins, self.hashes)

    def prf(self) -> PrfHash:
        return PrfHash(self.seed, self.log_bins, self.hashes, self.cell_bits, self.tag_bits, self.nonce)

    def renewed(self) -> Shape:
        """This one with a new nonce for the seals of labels, which every state of a table needs for itself."""
        return replace(self, nonce=secrets.token_bytes(8) if self.label_bytes else b"")


@dataclass(frozen=True)
class Arrays:
    """A compiled table.

    Args:
        offsets: (bins + 1,): the cells of bin i are cells[offsets[i]:offsets[i + 1]], ascending.
        cells: (m,) indices below 2^w.
        words: (m, s), each below 2^log_t; (parts, m, s) where labels lie in several parts.
        salts: (bins,) in mode oprf, otherwise empty.
    """

    offsets: U64 = field(repr=False)
    cells: U32 = field(repr=False)
    words: U16 = field(repr=False)
    salts: U16 = field(repr=False)

    @property
    def bytes(self) -> int:
        return self.offsets.nbytes + self.cells.nbytes + self.words.nbytes + self.salts.nbytes

    def each(self) -> list[Arrays]:
        """Return the tables that are asked one after the other: one for each part of the labels."""
        return [self] if self.words.ndim == 2 else [replace(self, words=words) for words in self.words]


def in_memory(_name: str, shape: tuple[int, ...], dtype: Any) -> npt.NDArray[Any]:
    """The usual place of the arrays."""
    return np.empty(shape, dtype)


# ---- values of cells ----


def pad_labels(labels: Sequence[bytes], length: int) -> Bytes:
    """Labels as rows (n, length): a byte 0x80 after the label, then zeros, so that sealed labels hide their length.

    Raises:
        ParameterError: a label has `length` bytes or more.
    """
    rows = bytearray()
    for label in labels:
        if len(label) >= max(length, 1):
            again = (
                f"shorten it, or build the table again with room for it: label_bytes={len(label)} (psi build "
                f"--label-bytes {len(label)})"
                if len(label) <= LONGEST_LABEL
                else f"shorten it, {LONGEST_LABEL:,} bytes are the most; a number can stand for what is longer"
            )
            raise ParameterError(
                f"a label of {len(label)} bytes, where the table has room for {max(length - 1, 0)}: {again}"
            )
        rows += (label + b"\x80").ljust(length, b"\0")
    return np.frombuffer(bytes(rows), dtype=np.uint8).reshape(len(labels), length)


def label_lengths(rows: Bytes) -> npt.NDArray[np.int64]:
    """Bytes of each label that `pad_labels` made rows (m, L) of; -1 for a row that it cannot have made."""
    last = rows.shape[1] - 1 - np.argmax(rows[:, ::-1] != 0, axis=1)
    return np.where(rows[np.arange(len(rows)), last] == 0x80, last, -1)


def _block(shape: Shape) -> int:
    """Cells whose bits are spread at once."""
    return max(1, min(BLOCK, _BITS // (shape.words * shape.log_t)))


def _pack_parts(tags: U64, labels: Bytes, shape: Shape, out: U16) -> None:
    """Like `pack`, into words (parts, m, s)."""
    tag_bytes, size = shape.tag_bits // 8, shape.words * shape.log_t
    powers = (1 << np.arange(shape.log_t, dtype=np.uint16)).astype(np.uint16)
    step = _block(shape)
    for first in range(0, len(tags), step):
        part = slice(first, first + step)
        count = len(tags[part])
        raw = np.zeros((count, -(-size // 8)), dtype=np.uint8)
        raw[:, :tag_bytes] = tags[part].astype("<u8").view(np.uint8).reshape(count, 8)[:, :tag_bytes]
        raw[:, tag_bytes : tag_bytes + shape.label_bytes] = labels[part]
        bits = np.unpackbits(raw, axis=1, count=size, bitorder="little").reshape(-1, shape.log_t)
        words = (bits @ powers).reshape(count, shape.parts, -1)
        out[:, part] = words.transpose(1, 0, 2)


def pack(tags: U64, labels: Bytes, shape: Shape, out: U16) -> None:
    """Writes words (m, s) of `log_t` bits: the bits of the tag (m,), then of the label (m, L), lowest bits first."""
    if shape.parts > 1:
        _pack_parts(tags, labels, shape, out)
        return
    tag_bytes, log_t = shape.tag_bits // 8, shape.log_t
    used = -(-(shape.tag_bits + 8 * shape.label_bytes) // log_t)
    for first in range(0, len(tags), BLOCK):
        part = slice(first, first + BLOCK)
        count = len(tags[part])
        raw = np.zeros((tag_bytes + shape.label_bytes + 3, count), dtype=np.uint32)
        raw[:tag_bytes] = tags[part].astype("<u8").view(np.uint8).reshape(count, 8)[:, :tag_bytes].T
        raw[tag_bytes : tag_bytes + shape.label_bytes] = labels[part].T
        # Each row gets the two bytes after it as well: a word has at most 16 bits, and begins anywhere in a byte.
        raw[:-2] |= raw[1:-1] << np.uint32(8) | raw[2:] << np.uint32(16)
        words = np.zeros((shape.words, count), dtype=np.uint16)
        for j in range(used):
            byte, shift = divmod(j * log_t, 8)
            words[j] = (raw[byte] >> np.uint32(shift)) & np.uint32((1 << log_t) - 1)
        out[part] = words.T


def unpack(words: U16, shape: Shape) -> tuple[U64, Bytes]:
    """Tags (m,) and labels (m, L) of words (m, s), of several parts beside each other."""
    m, tag_bytes, step = len(words), shape.tag_bits // 8, _block(shape)
    if m > step:
        some = [unpack(words[first : first + step], shape) for first in range(0, m, step)]
        return np.concatenate([t for t, _ in some]), np.concatenate([label for _, label in some])
    bits = (words[:, :, None] >> np.arange(shape.log_t, dtype=np.uint16)) & np.uint16(1)
    raw = np.packbits(bits.reshape(m, words.shape[1] * shape.log_t).astype(np.uint8), axis=1, bitorder="little")
    tags = np.zeros((m, 8), dtype=np.uint8)
    tags[:, :tag_bytes] = raw[:, :tag_bytes]
    return tags.view("<u8")[:, 0].astype(np.uint64), raw[:, tag_bytes : tag_bytes + shape.label_bytes]


# ---- compiling ----


def check_integers(elements: Iterable[Any] | npt.NDArray[Any], bits: int) -> U64:
    """Different elements of mode direct, ascending.

    Raises:
        ringforge.ValueError: one is no integer in [0, 2^bits).
    """
    values = elements if isinstance(elements, np.ndarray) else list(elements)
    if isinstance(values, list):
        for x in values:
            if not isinstance(x, int | np.integer) or isinstance(x, bool) or not 0 <= x < 1 << bits:
                raise RingforgeValueError(f"elements must be integers from 0 to 2^{bits} - 1 in mode direct")
        return np.unique(np.array(values, dtype=np.uint64))
    if values.dtype.kind not in "ui":
        raise RingforgeValueError(f"elements of type {values.dtype}; mode direct takes integers")
    if len(values) and (int(values.min()) < 0 or int(values.max()) >= 1 << bits):
        raise RingforgeValueError(f"elements must be integers from 0 to 2^{bits} - 1 in mode direct")
    return np.unique(values.astype(np.uint64))


def compile_direct(
    shape: Shape, elements: U64, *, allocate: Allocate = in_memory, progress: Progress | None = None
) -> Arrays:
    """The table of different integers (n,): every element in all its h bins, all words 1."""
    m = len(elements) * shape.hashes
    places_of = np.empty((len(elements), shape.hashes), dtype=np.uint64)
    hashing = shape.direct()
    for first in range(0, len(elements), CHUNK):
        bins, places = hashing.places(elements[first : first + CHUNK])
        places_of[first : first + CHUNK] = bins.astype(np.uint64) << np.uint64(32) | places
        _tell(progress, 0.5 * min(first + CHUNK, len(elements)) / len(elements))
    key: U64 = places_of.reshape(m)
    key.sort()
    offsets = allocate("offsets", (shape.bins + 1,), np.uint64)
    offsets[:] = np.searchsorted(key, np.arange(shape.bins + 1, dtype=np.uint64) << np.uint64(32))
    cells = allocate("cells", (m,), np.uint32)
    words = allocate("words", (m, 1), np.uint16)
    cells[:] = key & np.uint64(0xFFFFFFFF)
    words[:] = 1
    _tell(progress, 1.0)
    return Arrays(offsets, cells, words, np.empty(0, dtype=np.uint16))


def compile_prf(
    shape: Shape,
    prf: Bytes,
    labels: Bytes,
    *,
    old: Arrays | None = None,
    touched: npt.NDArray[np.bool_] | None = None,
    allocate: Allocate = in_memory,
    progress: Progress | None = None,
) -> Arrays:
    """The table of PRF outputs, with salts under which the entries of a bin have different cells.

    Args:
        prf: different outputs (n, 64). labels: padded, (n, L).
        old, touched: an earlier state, and the bins (2^k,) whose entries are not those of then: without labels only
            these are made anew; labels are all sealed again, under the shape's nonce. Salts stay where they serve.

    Raises:
        SaltsExhaustedError: a bin has no salt left.
    """
    n, h, bins = len(prf), shape.hashes, shape.bins
    hashing = shape.prf()
    where, cell_words, tag_words = hashing.words(prf)
    entries = np.empty((n, h), dtype=np.uint64)
    sizes = np.zeros(bins, dtype=np.int64)
    for first in range(0, n, CHUNK):
        some = hashing.bins(where[first : first + CHUNK])
        entry = np.arange(first, first + len(some), dtype=np.uint64) << np.uint64(2)
        entries[first : first + CHUNK] = some.astype(np.uint64) << np.uint64(40) | entry[:, None]
        sizes += np.bincount(some.reshape(-1), minlength=bins)
    entries |= np.arange(h, dtype=np.uint64)
    key: U64 = entries.reshape(n * h)
    del where
    key.sort()

    offsets = allocate("offsets", (bins + 1,), np.uint64)
    offsets[0] = 0
    offsets[1:] = np.cumsum(sizes)
    cells = allocate("cells", (n * h,), np.uint32)
    words = allocate("words", shape.stored(n * h), np.uint16)
    if old is None or shape.label_bytes:
        touched = np.ones(bins, dtype=bool)
    assert touched is not None
    if old is None:
        random = np.frombuffer(secrets.token_bytes(2 * bins), dtype="<u2").astype(np.int64)
        salts = random % FIRST_SALTS
    else:
        salts = old.salts.astype(np.int64)
    for a, b, fresh in _runs(touched, offsets):
        low, high = int(offsets[a]), int(offsets[b])
        if not fresh:
            assert old is not None
            source = slice(int(old.offsets[a]), int(old.offsets[b]))
            cells[low:high], words[low:high] = old.cells[source], old.words[source]
            continue
        entry = key[low:high]
        element = ((entry >> np.uint64(2)) & np.uint64((1 << 38) - 1)).astype(np.int64)
        index = (entry & np.uint64(3)).astype(np.uint8)
        word = cell_words[element]
        salts[a:b] = find_salts(hashing, word, index, (offsets[a : b + 1] - offsets[a]).astype(np.int64), salts[a:b])
        if salts[a:b].max() >= SALTS:
            raise SaltsExhaustedError(
                f"a bin of {int(sizes[a:b].max())} entries in {1 << shape.cell_bits} cells has no salt left: build the "
                "table again, or with more bins"
            )
        rank = np.repeat(np.arange(b - a, dtype=np.uint64), sizes[a:b])
        salt = np.repeat(salts[a:b], sizes[a:b])
        cell = hashing.cells(word, index, salt)
        order = np.argsort(rank << np.uint64(shape.cell_bits) | cell)
        element, index, salt = element[order], index[order], salt[order]
        label = labels[element]
        if shape.label_bytes:
            label = hashing.seal(label, prf[element], index, salt)
        cells[low:high] = cell[order]
        pack(hashing.tags(tag_words[element], index), label, shape, words[..., low:high, :])
        _tell(progress, high / max(n * h, 1))
    _tell(progress, 1.0)
    return Arrays(offsets, cells, words, salts.astype(np.uint16))


def touched_bins(shape: Shape, prf: Bytes) -> npt.NDArray[np.bool_]:
    """The bins (2^k,) of some elements' outputs (n, 24 or more)."""
    hashing = shape.prf()
    out = np.zeros(shape.bins, dtype=bool)
    out[hashing.bins(hashing.words(prf)[0]).reshape(-1)] = True
    return out


def _runs(touched: npt.NDArray[np.bool_], offsets: U64) -> Iterator[tuple[int, int, bool]]:
    """Consecutive bins [a, b) that are all touched or all not; touched ones of CHUNK entries at most, or one bin."""
    edges = [0, *(np.flatnonzero(np.diff(touched)) + 1).tolist(), len(touched)]
    for a, end in pairwise(edges):
        if not touched[a]:
            yield a, end, False
            continue
        while a < end:
            b = int(np.searchsorted(offsets, offsets[a] + np.uint64(CHUNK), side="right")) - 1
            b = min(max(b, a + 1), end)
            yield a, b, True
            a = b


def _tell(progress: Progress | None, fraction: float) -> None:
    if progress:
        progress(fraction)
