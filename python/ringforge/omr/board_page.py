# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The open bulletin of a board within one transaction, and what is done to it: posts, seals."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from ringforge.errors import DuplicateError, ParameterError
from ringforge.omr import board_schema as schema
from ringforge.omr.bulletin import Bulletin, Receipt, extend, hashes, next_start, pads
from ringforge.omr.sets import Set
from ringforge.serving.quota import QuotaError

Bytes = npt.NDArray[np.uint8]

_DAY = schema.DAY


@dataclass
class Post:
    """Entries to be posted together, checked; None for `most`: any number a day."""

    signals: Bytes
    payloads: Bytes
    signal_hashes: list[bytes]
    payload_hashes: list[bytes]
    poster: bytes
    most: int | None
    done: Future[Receipt] = field(default_factory=Future)


@dataclass
class Seal:
    """The open bulletin is to be sealed."""

    pad: bool
    done: Future[Bulletin] = field(default_factory=Future)


class Page:
    """The open bulletin within a transaction that writes."""

    def __init__(self, c: sa.Connection, s: Set, now: int) -> None:
        self._c, self._set, self._now = c, s, now
        c.execute(sa.select(schema.board.c.id).with_for_update())  # one writer at a time; SQLite sees to that itself
        t = schema.bulletins
        row = c.execute(sa.select(t).where(t.c.sealed.is_(None))).one()
        self._number, self._entries, self._chain = row.number, row.entries, bytes(row.chain)
        self._rows: list[tuple[Any, ...]] = []
        self._new: tuple[dict[bytes, int], dict[bytes, int]] = ({}, {})
        self._posts: dict[bytes, int] = {}
        self._changed = False

    def post(self, job: Post) -> Receipt:
        """Takes the entries of one post, or raises and takes none."""
        count, size = len(job.signals), self._set.entries
        self._refuse_known(job)
        self._charge(job.poster, count, job.most)
        first, at, self._changed = self._number * size + self._entries, 0, True
        while at < count:
            part = slice(at, min(at + size - self._entries, count))
            self._add(job, part, first)
            at = part.stop
            if self._entries == size:
                self._close(self._chain)
                chain = self._sealed_chain
            else:
                chain = self._chain
        return Receipt(first, count, chain)

    def _add(self, job: Post, part: slice, first: int) -> None:
        signals, payloads = job.signal_hashes[part], job.payload_hashes[part]
        self._chain = extend(self._chain, signals, payloads)
        for i, signal, payload in zip(range(part.start, part.stop), signals, payloads, strict=True):
            number = first + i
            self._new[0][signal] = self._new[1][payload] = number
            values = number, job.signals[i].tobytes(), job.payloads[i].tobytes(), signal, payload, job.poster, self._now
            self._rows.append(values)
        self._entries += part.stop - part.start

    def _refuse_known(self, job: Post) -> None:
        for what, given, new in (
            ("signal", job.signal_hashes, self._new[0]),
            ("payload", job.payload_hashes, self._new[1]),
        ):
            if len(set(given)) != len(given):
                raise DuplicateError(f"two of these entries have one {what}: each is posted once; nothing was posted")
            known = schema.numbers_of(self._c, f"{what}_hash", given)
            known.update((h, new[h]) for h in given if h in new)
            if not known:
                continue
            for i, h in enumerate(given):
                if h in known:
                    bulletin, position = divmod(known[h], self._set.entries)
                    raise DuplicateError(
                        f"the {what} of entry {i} is on the board already, at position {position} of bulletin "
                        f"{bulletin}: nothing of this was posted; leave it out"
                    )

    def _charge(self, poster: bytes, count: int, most: int | None) -> None:
        t, today = schema.posters, self._now // _DAY
        if poster not in self._posts:
            query = sa.select(t.c.posts).where(t.c.poster == poster, t.c.day == today)
            self._posts[poster] = self._c.execute(query).scalar_one_or_none() or 0
        used = self._posts[poster]
        check_quota(used, count, most, self._now)
        self._posts[poster] = used + count

    def seal(self, pad: bool) -> Bulletin:
        """Seals what is there, filled up with pads."""
        number, have, size = self._number, self._entries, self._set.entries
        if not have:
            raise ParameterError(f"bulletin {number} has no entry yet: there is nothing to seal")
        if not pad:
            raise ParameterError(
                f"bulletin {number} has {have} of {size} entries: post more, or fill it up with random ones (--pad)"
            )
        digest = self._chain
        for signals, payloads in pads(self._set, self._chain, have, size):
            digest = extend(digest, hashes(signals), hashes(payloads))
        self._close(digest)
        self._changed = True
        return Bulletin(number, size, size - have, True, digest)

    def _close(self, digest: bytes) -> None:
        """Seals the bulletin, and opens the next one."""
        self._write_bulletin({"digest": digest, "sealed": self._now})
        self._sealed_chain = digest
        start = next_start(digest)
        self._number, self._entries, self._chain = self._number + 1, 0, start
        new_bulletin(self._c, self._number, start)

    def _write_bulletin(self, more: dict[str, Any]) -> None:
        t = schema.bulletins
        values = {"entries": self._entries, "chain": self._chain, **more}
        self._c.execute(sa.update(t).where(t.c.number == self._number).values(values))

    def write(self) -> None:
        """Writes everything that was taken."""
        if not self._changed:
            return
        if self._rows:
            schema.insert_entries(self._c, self._rows)
        self._write_bulletin({})
        t, today = schema.posters, self._now // _DAY
        self._c.execute(sa.delete(t).where(t.c.day < today - 1))
        for poster, posts in self._posts.items():
            where = (t.c.poster == poster, t.c.day == today)
            if not self._c.execute(sa.update(t).where(*where).values(posts=posts)).rowcount:
                self._c.execute(sa.insert(t), {"poster": poster, "day": today, "posts": posts})


def new_bulletin(c: sa.Connection, number: int, start: bytes) -> None:
    """Opens a bulletin."""
    c.execute(sa.insert(schema.bulletins), {"number": number, "entries": 0, "start": start, "chain": start})


def check_quota(used: int, count: int, most: int | None, now: float) -> None:
    """Refuses posts beyond what a poster may post in a day.

    Raises:
        QuotaError: `used` and `count` are more than `most` together.
    """
    if most is not None and used + count > most:
        hours = (int(now // _DAY) + 1) * 24 - now / 3600
        raise QuotaError(
            f"{count} posts are asked for, {max(0, most - used)} of {most} a day are left for this poster: post less, "
            f"wait {hours:.1f} hours (until midnight UTC), or agree on more with the board's operator"
        )
