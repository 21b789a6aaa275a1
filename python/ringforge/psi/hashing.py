# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Where elements go: bins, cells, salts, tags, seals of labels, and the client's cuckoo placement.

Everything is a function of public seeds and of the element (mode direct) or its PRF output (mode oprf). What the
choices cost is derived in docs/psi-protocol.md.

The PRF output F of an element has 64 uniform bytes (RFC 9497), which are used apart from each other:

    F[0:8]    bins: 21 bits for each hash function
    F[8:16]   cells
    F[16:24]  tags
    F[32:64]  key of the label's seal
"""

from __future__ import annotations

import functools
import hashlib
import math
from typing import Any

import numpy as np
import numpy.typing as npt

U16 = npt.NDArray[np.uint16]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]

#: log2 of the inverse of the probability that `fullest_bin` is exceeded.
FULLEST_LOG = 64

#: Bytes of a PRF output that bins, cells and tags are made of.
PLACE_BYTES = 24

#: Bits of a 64-bit word that each of up to three hash functions gets.
PIECE = 21

#: Salts a bin can go through: 16 bits.
SALTS = 1 << 16

#: Key streams made at once: their state stays in the cache.
_BLOCKS = 2048

_GOLDEN = 0x9E3779B97F4A7C15


def mix(x: U64) -> U64:
    """The finaliser of MurmurHash3 (A. Appleby): a bijection of 64-bit words whose output bits each depend on all
    input bits. No cryptography: it is applied to words that are uniform already, or with uniform tables."""
    x = (x >> np.uint64(33)) ^ x
    x *= np.uint64(0xFF51AFD7ED558CCD)
    x ^= x >> np.uint64(33)
    x *= np.uint64(0xC4CEB9FE1A85EC53)
    x ^= x >> np.uint64(33)
    return x


def _words(seed: bytes, what: str, count: int) -> U64:
    """`count` pseudo-random words from the seed: SHAKE-256."""
    raw = hashlib.shake_256(b"ringforge psi v1 " + what.encode() + b"\0" + seed).digest(8 * count)
    return np.frombuffer(raw, dtype="<u8").astype(np.uint64)


def chacha20(keys: U32, nonces: U32, counter: int | U32) -> Bytes:
    """One block of the ChaCha20 key stream for each key (RFC 8439, section 2.3), many at once.

    Args:
        keys: (8, m) words. nonces: (3, m) words. counter: below 2^32, one for all or (m,).

    Returns:
        (m, 64) bytes.
    """
    start = np.empty((16, keys.shape[1]), dtype=np.uint32)
    start[:4] = np.frombuffer(b"expand 32-byte k", dtype="<u4")[:, None]
    start[4:12], start[12], start[13:] = keys, counter, nonces
    a, b, c, d = start[:4].copy(), start[4:8].copy(), start[8:12].copy(), start[12:].copy()
    spare = np.empty_like(a)

    def step(x: U32, y: U32, z: U32, left: int) -> None:
        """x += y; z = (z ^ x) <<< left."""
        x += y
        z ^= x
        np.right_shift(z, np.uint32(32 - left), out=spare)
        np.left_shift(z, np.uint32(left), out=z)
        z |= spare

    def rounds() -> None:
        step(a, b, d, 16)
        step(c, d, b, 12)
        step(a, b, d, 8)
        step(c, d, b, 7)

    for _ in range(10):
        rounds()
        b, c, d = b[[1, 2, 3, 0]], c[[2, 3, 0, 1]], d[[3, 0, 1, 2]]
        rounds()
        b, c, d = b[[3, 0, 1, 2]], c[[2, 3, 0, 1]], d[[1, 2, 3, 0]]
    start += np.concatenate([a, b, c, d])
    return np.ascontiguousarray(start.T).astype("<u4", copy=False).view(np.uint8)


def pieces(words: U64, log_bins: int, hashes: int) -> U32:
    """Top `log_bins` bits of each of the first `hashes` pieces of 21 bits: (n, h)."""
    out = np.empty((len(words), hashes), dtype=np.uint32)
    for i in range(hashes):
        piece = (words >> np.uint64(64 - PIECE * (i + 1))) & np.uint64((1 << PIECE) - 1)
        out[:, i] = piece >> np.uint64(PIECE - log_bins)
    return out


class DirectHash:
    """Bins and cells of integers: permutation-based hashing (Arbitman, Naor, Segev, FOCS 2010), exact.

    x = x_H‖x_L with k low bits; bin_i = H_i(x_H) xor x_L, cell_i = x_H‖i. (bin_i, cell_i) determines x and i.
    H is simple tabulation hashing with random tables (Pătraşcu, Thorup, J. ACM 59, 2012): 3-independent, whatever the
    elements are.

    Args:
        seed: 32 bytes, public. element_bits: b >= k. log_bins: k. hashes: h.
    """

    def __init__(self, seed: bytes, element_bits: int, log_bins: int, hashes: int) -> None:
        self._low, self._hashes = log_bins, hashes
        self._characters = -(-(element_bits - log_bins) // 8)
        self._tables = _words(seed, "tabulation", 8 * 256).reshape(8, 256)
        self._index_bits = (hashes - 1).bit_length()

    def places(self, elements: U64) -> tuple[U32, U32]:
        """Bins and cells (n, h) of elements (n,)."""
        low, high = self._low, elements >> np.uint64(self._low)
        word = np.zeros(len(elements), dtype=np.uint64)
        for j in range(self._characters):
            word ^= self._tables[j][((high >> np.uint64(8 * j)) & np.uint64(255)).astype(np.intp)]
        bins = pieces(word, low, self._hashes)
        bins ^= (elements & np.uint64((1 << low) - 1)).astype(np.uint32)[:, None]
        shifted = (high << np.uint64(self._index_bits)).astype(np.uint32)
        return bins, shifted[:, None] | np.arange(self._hashes, dtype=np.uint32)


class PrfHash:
    """Bins, cells, tags and seals of PRF outputs.

    For every fixed seed, hash function and salt: bins are uniform and independent of each other, cells uniform and
    independent of bins, tags independent of both, because each is a bijection of its own bytes of F, cut short.

    Args:
        seed: 32 bytes, public. log_bins: k. hashes: h. cell_bits: w. tag_bits: a multiple of 8, at most 64.
        nonce: 8 bytes, of the seals; empty: made of the seed, as tables of version 1 have it.
    """

    def __init__(
        self, seed: bytes, log_bins: int, hashes: int, cell_bits: int, tag_bits: int, nonce: bytes = b""
    ) -> None:
        self._log_bins, self._hashes, self.cell_bits, self._tag_bits = log_bins, hashes, cell_bits, tag_bits
        constants = _words(seed, "prf", 2 + 3)
        self._nonce = np.frombuffer(nonce, dtype="<u4") if nonce else _words(seed, "seal", 1).view(np.uint32)
        self._bin_key, self._cell_key, self._tag_keys = constants[0], constants[1], constants[2:]

    def words(self, prf: Bytes) -> tuple[U64, U64, U64]:
        """Words for bins, cells and tags (n,), of outputs (n, 24 or more)."""
        raw = np.ascontiguousarray(prf[:, :PLACE_BYTES]).view("<u8")
        where = mix(raw[:, 0] ^ self._bin_key)
        # Elements with the same bytes for the cell would collide under every salt; the bins' word tells them apart.
        return where, raw[:, 1] + where, np.ascontiguousarray(raw[:, 2])

    def bins(self, where: U64) -> U32:
        """Bins (n, h)."""
        return pieces(where, self._log_bins, self._hashes)

    def salted(self, index: npt.NDArray[np.integer], salt: npt.NDArray[np.integer]) -> U64:
        """What is added to the word of a cell, for hash functions `index` and salts `salt`."""
        number = salt.astype(np.uint64) << np.uint64(2) | index.astype(np.uint64)
        number += np.uint64(1)
        number *= np.uint64(_GOLDEN)
        number ^= self._cell_key
        return mix(number)

    def cells(self, word: U64, index: npt.NDArray[np.integer], salt: npt.NDArray[np.integer]) -> U32:
        """Cells in bins that have the given salts; all arguments (m,), or one element for all."""
        mixed = mix(word ^ self.salted(index, salt))
        mixed >>= np.uint64(64 - self.cell_bits)
        return mixed.astype(np.uint32)

    def tags(self, word: U64, index: npt.NDArray[np.integer]) -> U64:
        """Tags: numbers below 2^tag_bits, never 0; 0 means an empty cell."""
        tags = mix(word ^ self._tag_keys[index])
        tags >>= np.uint64(64 - self._tag_bits)
        tags[tags == 0] = 1
        return tags

    def seal(self, labels: Bytes, prf: Bytes, index: npt.NDArray[np.integer], salt: npt.NDArray[np.integer]) -> Bytes:
        """Labels (m, L) xor a key stream of their own: opens what it sealed.

        The stream is ChaCha20 with F[32:64] as the key. Its nonce is that of the table's state, which is random and
        new for each update, beside the hash function and the salt: no stream ever covers two labels, in no copy of the
        table either.

        Args:
            labels: (m, L). prf: F (m, 64). index, salt: (m,).
        """
        out = np.empty_like(labels)
        for first in range(0, len(labels), _BLOCKS):
            part = slice(first, first + _BLOCKS)
            keys = np.ascontiguousarray(np.ascontiguousarray(prf[part, 32:64]).view("<u4").T)
            nonces = np.empty((3, keys.shape[1]), dtype=np.uint32)
            nonces[0] = salt[part].astype(np.uint32) << np.uint32(2) | index[part].astype(np.uint32)
            nonces[1:] = self._nonce[:, None]
            # Of few labels several blocks at once.
            count, length = keys.shape[1], labels.shape[1]
            span = max(1, min(_BLOCKS // max(count, 1), -(-length // 64)))
            keys, nonces = np.tile(keys, span), np.tile(nonces, span)
            for at in range(0, length, 64 * span):
                counters = np.repeat(np.arange(at // 64, at // 64 + span, dtype=np.uint32), count)
                stream = chacha20(keys, nonces, counters).reshape(span, count, 64).transpose(1, 0, 2).reshape(count, -1)
                out[part, at : at + 64 * span] = labels[part, at : at + 64 * span] ^ stream[:, : length - at]
        return out


def find_salts(
    hashing: PrfHash,
    word: U64,
    index: npt.NDArray[np.uint8],
    offsets: npt.NDArray[np.int64],
    first: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]:
    """For each bin the first salt, from `first` on, under which no two entries share a cell.

    Args:
        word, index: of the entries (m,), bin after bin. offsets: (bins + 1,): where bins begin. first: (bins,).

    Returns:
        (bins,); SALTS where none is left.
    """
    salts = first.copy()
    sizes = np.diff(offsets)
    cell_bits = np.uint64(hashing.cell_bits)
    # Bins still without a salt, and their entries; both shrink from round to round.
    crowded = (sizes > 1) & (salts < SALTS)
    open_bins = np.flatnonzero(crowded)
    entries = np.repeat(crowded, sizes)
    word, index = word[entries], index[entries]
    rank = np.repeat(np.arange(len(open_bins)), sizes[open_bins])
    while len(open_bins):
        cells = hashing.cells(word, index, salts[open_bins][rank])
        key = np.sort(rank.astype(np.uint64) << cell_bits | cells)
        bad = np.zeros(len(open_bins), dtype=bool)
        bad[(key[1:][key[1:] == key[:-1]] >> cell_bits).astype(np.intp)] = True
        salts[open_bins[bad]] += 1
        bad &= salts[open_bins] < SALTS
        keep = bad[rank]
        word, index = word[keep], index[keep]
        rank = (np.cumsum(bad) - 1)[rank[keep]]
        open_bins = open_bins[bad]
    return salts


# ---- placement ----

#: Elements per bin that the client asks one query to take, at most: below the thresholds (1/2 and 0.917 for two and
#: three hash functions; Dietzfelbinger et al., ICALP 2010), where a search takes long and some element is left over.
LOAD = {1: 1.0, 2: 0.4, 3: 0.85}


def place(bins: U32, count: int) -> npt.NDArray[np.int64]:
    """Gives each element one of its bins, no bin to two: as many elements as an exact matching can.

    Elements come in order, each by a shortest augmenting path (breadth first), so the result depends on nothing
    but `bins`; an element that is placed stays placed. By Hall's theorem an element is left out only if some set of
    elements has fewer bins than members.

    Args:
        bins: (m, h), below `count`.

    Returns:
        (m,): index of the hash function that each element is placed by; -1: not placed.
    """
    owner = [-1] * count
    choice = [-1] * len(bins)
    rows = bins.tolist()
    for element, row in enumerate(rows):
        for i, b in enumerate(row):
            if owner[b] < 0:
                owner[b], choice[element] = element, i
                break
        else:
            _augment(element, rows, owner, choice)
    return np.array(choice, dtype=np.int64)


def _augment(element: int, rows: list[list[int]], owner: list[int], choice: list[int]) -> bool:
    """Moves elements along a shortest path from `element` to a free bin, if there is one."""
    came: dict[int, tuple[int, int]] = {}  # bin -> the element that would move there, and by which function
    frontier = [element]
    while frontier:
        after: list[int] = []
        for e in frontier:
            for i, b in enumerate(rows[e]):
                if b in came:
                    continue
                came[b] = (e, i)
                if owner[b] < 0:
                    while True:
                        mover, function = came[b]
                        left = choice[mover]
                        owner[b], choice[mover] = mover, function
                        if mover == element:
                            return True
                        b = rows[mover][left]
                after.append(owner[b])
        frontier = after
    return False


def place_all(
    bins: U32, count: int, queries: int
) -> tuple[list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]], npt.NDArray[np.int64]]:
    """Spreads elements evenly over a fixed number of queries; who finds no place goes into the next one.

    Returns:
        for each query the elements' positions and their hash functions, both (elements of the query,); and the
        positions of those that no query took, which is rare (`placement_failure`).
    """
    waiting = np.arange(len(bins))
    out: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]] = []
    for ahead in range(queries, 0, -1):
        some = waiting[: -(-len(waiting) // ahead)]
        choice = place(bins[some], count)
        placed = choice >= 0
        out.append((some[placed], choice[placed]))
        waiting = np.concatenate([some[~placed], waiting[len(some) :]])
    return out, waiting


def fullest_bin(elements: int, count: int, hashes: int) -> int:
    """Entries that a bin exceeds with a probability below 2^-FULLEST_LOG only: Bernstein's inequality for the sum of
    what independent elements put into it, P(X >= mean + t) <= exp(-t^2 / (2 h (mean + t/3)))."""
    mean = hashes * elements / count
    x = FULLEST_LOG * math.log(2) * hashes
    return min(hashes * elements, math.ceil(mean + x / 3 + math.sqrt(x * x / 9 + 2 * mean * x)))


# ---- how many elements a query takes ----

#: log2 of the probability, at most, that a query does not take all elements that `room` says it takes.
PLACEMENT_LOG2 = -20.0

#: Fewest evaluations of the PRF that a client asks for.
LEAST_CLASS = 64


#: Bits above the bin's of elements of mode direct, up to which each of their values gets a query of its own. Elements
#: that share those bits have different bins under each function, so a query takes all of them; while functions of so
#: few values are no random ones, and placement would fail more often than the bound says.
FEW_BITS = 4


@functools.lru_cache(maxsize=256)
def room(count: int, hashes: int) -> int:
    """Elements that one query of `count` bins takes: as many as LOAD allows with a failure below 2^PLACEMENT_LOG2."""
    low, high = 1, max(1, int(LOAD[hashes] * count))
    while low < high:
        middle = high if high == int(LOAD[hashes] * count) else (low + high + 1) // 2
        if placement_failure(middle, count, hashes) <= 2.0**PLACEMENT_LOG2:
            low = middle
        else:
            high = middle - 1
    return low


def size_class(elements: int, each: int, *, exact: bool = False) -> tuple[int, int]:
    """What a client with `elements` elements asks for, when a query takes `each`: a function of the class of the
    number, so that its requests do not tell the number itself.

    Numbers up to `each` are rounded up to a power of two from LEAST_CLASS on, or to `each`; larger ones to as many
    full queries as 1, 2, 3, 4, 6, 8, 12, 16, ...: powers of two, and those times 3/2. No element: nothing is asked.

    Returns:
        queries, and evaluations of the PRF. exact: the fewest queries, and `elements`.
    """
    queries = -(-elements // each)
    if exact or not elements:
        return queries, elements
    if queries == 1:
        return 1, min(each, max(LEAST_CLASS, 1 << (elements - 1).bit_length()))
    power = 1 << (queries - 1).bit_length()
    queries = 3 * power // 4 if queries <= 3 * power // 4 else power
    return queries, queries * each


def placement_failure(elements: int, count: int, hashes: int) -> float:
    """Upper bound of the probability that one query of `count` bins does not take all elements, for uniform bins.

    h = 1: exact (birthdays). Otherwise let the elements come in order, and t be the first that finds no place among
    those before it. Call a set T of j bins tight if j + 1 of these t elements have all their choices in it. Element t
    is one of them and none has more than j + 1, since the t - 1 elements before could be placed; by Hall's theorem
    there is a tight set. Two union bounds over t, T and its elements, with p = j/n and N = h(j + 1) choices in T:

    - a smallest tight set: its bins are each chosen at least twice (without the one element of a bin chosen once, a
      smaller set is tight), and the t - 1 - j other elements do not lie in T;
    - a largest one: its bins are each chosen at least once (without a bin not chosen, j + 1 elements lie in j - 1
      bins), and the others have at least two different bins outside of T (one that lies in T and one more bin makes a
      larger set tight).

    A smallest set that has more than J bins makes the largest have more than J too. So the bound is the least, over J,
    of the first sum up to J plus the second beyond it. The maps from N choices to j bins that meet each at least r
    times number N! [z^N] f_r(z)^j <= N! f_r(z)^j / z^N for every z > 0, f_1 = e^z - 1, f_2 = e^z - 1 - z.
    """
    m, n, h = elements, count, hashes
    if m > n:
        return 1.0
    if h == 1:
        return -math.expm1(sum(math.log1p(-i / n) for i in range(m)))
    if m < 2:
        return 0.0
    j, size, z_once, z_twice, logs = _tight_sets(n, h)
    j, size, z_once, z_twice = j[: m - 1], size[: m - 1], z_once[: m - 1], z_twice[: m - 1]
    p = j / n
    # A choice may repeat another: exactly one bin outside, by i of the h choices.
    beside = sum(math.comb(h, i) * p ** (h - i) * (1 - p) / n ** (i - 1.0) for i in range(1, h + 1))
    sums = []
    for once, f, apart in (
        (False, np.log(np.expm1(z_twice) - z_twice), 1 - p**h),
        (True, np.log(np.expm1(z_once)), 1 - p**h - beside),
    ):
        maps = logs[size] + j * f - size * np.log(z_once if once else z_twice)
        maps = np.minimum(maps, size * np.log(j)) - size * math.log(n)
        sets = logs[n] - logs[j] - logs[n - j]
        sums.append(np.exp(np.minimum(sets + maps + _elements_beside(m, j, apart, logs), 0.0)))
    smallest = np.concatenate([[0.0], np.cumsum(sums[0])])
    largest = np.concatenate([np.cumsum(sums[1][::-1])[::-1], [0.0]])
    return float(min(1.0, (smallest + largest).min()))


@functools.lru_cache(maxsize=4)
def _tight_sets(n: int, h: int) -> tuple[npt.NDArray[Any], ...]:
    """Sizes j of tight sets in n bins, choices h(j + 1), the best z for each kind, and logarithms of factorials."""
    j = np.arange(1, max(n, 2))
    size = h * (j + 1)
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, h * n + h + 1, dtype=np.float64)))])
    return j, size, _covered(size / j, 1), _covered(size / j, 2), logs


def _covered(mean: npt.NDArray[np.float64], least: int) -> npt.NDArray[np.float64]:
    """The z where the bound for maps that meet each bin at least `least` times is tightest, by bisection: where a
    Poisson variable with parameter z, given that it is at least `least`, has this mean."""
    low, high = np.full(len(mean), 1e-6), mean.copy()
    for _ in range(60):
        z = (low + high) / 2
        above = z * np.expm1(z) > mean * (np.expm1(z) - z) if least == 2 else z * np.exp(z) > mean * np.expm1(z)
        high, low = np.where(above, z, high), np.where(above, low, z)
    return high


def _elements_beside(
    m: int, j: npt.NDArray[np.int64], apart: npt.NDArray[np.float64], logs: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Logarithm of a bound of the sum over t = j+1 ... m of C(t-1, j) x^(t-1-j), x = `apart`.

    For x <= 1 it is at most C(m, j+1) and, as a series, (1-x)^-(j+1). Terms grow by the factor (t/(t-j)) x, which
    falls with t; while its last value r is above 1, the sum is at most the last term times r/(r-1).
    """
    x = np.clip(apart, 1e-300, 1.0)
    bounds = [logs[m] - logs[j + 1] - logs[m - j - 1]]
    with np.errstate(divide="ignore", invalid="ignore"):
        bounds.append(-(j + 1) * np.log1p(-x))
        r = np.where(m - 1 > j, (m - 1) / np.maximum(m - 1 - j, 1) * x, np.inf)
        last = logs[m - 1] - logs[j] - logs[m - 1 - j] + (m - 1 - j) * np.log(x)
        bounds.append(np.where(r > 1, last - np.log1p(-1 / r), np.inf))
    least: npt.NDArray[np.float64] = np.minimum.reduce(bounds)
    return least
