# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Bulletins of a board: their chain of hashes, and the entries that fill one up.

A bulletin's digest stands for all its entries in their order, and through its start for all bulletins before it:

    start(0) = H("ringforge-omr-board-1" || hash of the set),  start(b) = H("next" || digest(b - 1))
    chain(0) = start,  chain(i + 1) = H(chain(i) || H(signal i) || H(payload i)),  digest = chain(entries)

with H = SHA-256. Who posts hears the chain after its entries: a board that shows others something else is caught.

Pads are what the last entries of a bulletin are that was sealed before it was full. They are uniformly random words
and bytes, expanded by SHAKE-128 from the chain before them, so that everybody can make them again and the board can
choose none. They match a receiver as seldom as any entry of others, and no box of theirs opens.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ringforge.omr.sets import Set
from ringforge.omr.signal import Signals

#: Bytes of a hash.
HASH_BYTES = 32

#: Entries of pads that are expanded at once, at multiples of this.
_BLOCK = 64


@dataclass(frozen=True)
class Bulletin:
    """What is known of a bulletin.

    Attributes:
        number: from 0.
        entries: it has, pads included.
        pads: of them, the last ones.
        sealed: no entry comes any more.
        digest: chain after its entries, 32 bytes.
    """

    number: int
    entries: int
    pads: int
    sealed: bool
    digest: bytes


@dataclass(frozen=True)
class Receipt:
    """Where entries are that were posted together: one after the other, in the order they were given.

    Attributes:
        number: of the first; entry `position` of bulletin `b` has the number b N + position.
        count: of entries.
        chain: after the last of them, 32 bytes.
    """

    number: int
    count: int
    chain: bytes

    def places(self, s: Set) -> list[tuple[int, int]]:
        """Bulletin and position of each."""
        return [divmod(n, s.entries) for n in range(self.number, self.number + self.count)]


def first_start(s: Set) -> bytes:
    """The chain before the first bulletin's entries."""
    return hashlib.sha256(b"ringforge-omr-board-1" + s.hash).digest()


def next_start(digest: bytes) -> bytes:
    """The chain before the entries of the bulletin after the one with this digest."""
    return hashlib.sha256(b"next" + digest).digest()


def hashes(rows: npt.NDArray[np.uint8]) -> list[bytes]:
    """SHA-256 of each row."""
    data, size = rows.tobytes(), rows.shape[1]
    view = memoryview(data)
    return [hashlib.sha256(view[i : i + size]).digest() for i in range(0, len(data), size)]


def extend(chain: bytes, signals: Iterable[bytes], payloads: Iterable[bytes]) -> bytes:
    """The chain after entries whose signals and payloads have these hashes."""
    for signal, payload in zip(signals, payloads, strict=True):
        chain = hashlib.sha256(chain + signal + payload).digest()
    return chain


# ---- pads ----------------------------------------------------------------------------------------


def pads(s: Set, chain: bytes, start: int, stop: int) -> Iterator[tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]]:
    """Pads at positions start to stop of a bulletin, in pieces.

    Args:
        chain: after the entries before the first pad.

    Yields:
        packed signals uint8[count, signal_bytes], payloads uint8[count, payload_bytes].
    """
    for block in range(start // _BLOCK, -(-stop // _BLOCK)):
        first = block * _BLOCK
        signals, payloads = _block(s, chain, block)
        cut = slice(max(start - first, 0), min(stop - first, _BLOCK))
        yield signals[cut], payloads[cut]


def _block(s: Set, chain: bytes, block: int) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """Words are the stream's numbers of 24 bits that are below the largest multiple of t, modulo t."""
    words, size = _BLOCK * (s.n + s.clues), _BLOCK * s.payload_bytes
    limit = (1 << 24) // s.t * s.t
    draws = int(words * (1 << 24) / limit * 1.02) + 64
    while True:  # a longer stream begins like a shorter one
        stream = hashlib.shake_128(b"pad" + chain + block.to_bytes(4, "little")).digest(size + 3 * draws)
        raw = np.zeros((draws, 4), np.uint8)
        raw[:, :3] = np.frombuffer(stream, np.uint8, offset=size).reshape(-1, 3)
        numbers = raw.view("<u4")[:, 0]
        kept = numbers[numbers < limit]
        if kept.size >= words:
            break
        draws *= 2
    payloads = np.frombuffer(stream, np.uint8, size).reshape(_BLOCK, -1)
    values = (kept[:words] % np.uint32(s.t)).reshape(_BLOCK, -1)
    made = Signals(s, np.ascontiguousarray(values[:, : s.n]), np.ascontiguousarray(values[:, s.n :]))
    return made.pack(), payloads
