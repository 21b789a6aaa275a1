# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The server's side: a table, the OPRF key, and answers to encrypted queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ringforge.devices import Device, Handle, KeySet, open_device
from ringforge.errors import FormatError, MismatchError, ParameterError
from ringforge.parties import Progress
from ringforge.psi import poly
from ringforge.psi import shards as _shards  # noqa: F401  # registers how pools run look-ups
from ringforge.psi.build import BuildSpec, Elements, build
from ringforge.psi.hashing import fullest_bin
from ringforge.psi.info import Limits, TableInfo
from ringforge.psi.kernels import LookupKernel, LookupKeys, LookupTable
from ringforge.psi.store import Store
from ringforge.psi.table import Arrays

#: Bytes of a blinded element.
ELEMENT_BYTES = 32


class State:
    """A table as it is at one time, ready to be asked."""

    def __init__(self, info: TableInfo, arrays: Arrays | poly.Arrays, key: Any) -> None:
        self.info, self.key = info, key
        self.digest = info.digest()
        self.plan = info.native()
        self.kernel: Any
        self.table: Any
        self.keys: Any
        #: Tables of further parts of the labels; each answers every request, too.
        self.more: list[LookupTable] = []
        if isinstance(arrays, poly.Arrays):
            self.kernel, self.keys = poly.PolyKernel(self.plan), poly.PolyKeys
            self.table = poly.PolyTable(self.plan, arrays)
        else:
            most = min(fullest_bin(info.capacity, info.bins, info.hashes), self.plan.cells)
            self.kernel, self.keys = LookupKernel(self.plan, most), LookupKeys
            self.table, *self.more = [LookupTable(self.plan, each, most) for each in arrays.each()]


@dataclass(frozen=True)
class Session:
    """A client's evaluation keys, with the state of the table that the client was told of.

    Holds no secrets. Stays usable while the table is updated: it is answered from the state it was opened with.
    """

    handle: Handle = field(repr=False)
    state: State = field(repr=False)
    keys: bytes = field(default=b"", repr=False)

    @property
    def info(self) -> TableInfo:
        return self.state.info

    @property
    def plan(self) -> Any:
        """The native plan."""
        return self.state.plan

    @property
    def bytes(self) -> int:
        """Memory of the keys. What a device prepares of the table is shared by all sessions."""
        return int(self.state.plan.session_bytes) + len(self.keys)


class Server:
    """Answers queries; thread-safe: all state is read-only, and `reload` puts another in its place.

    Args:
        table: directory of a store, or a `Store`.
        threads: for PRF evaluations and answers.
        limits: replace the table's own limits in `info`, for this state of the table and all later ones.
        daily: what each client may ask for in a day, in place of the table's; sizes stay the table's own.
        device: name of a device, or a device: where queries are answered.

    Raises:
        FormatError: the store is damaged, incomplete or of another version.
        MismatchError, ParameterError: its plan is one of another release.
        ParameterError: its requests are larger than its limits allow, or the device does not run its plan.
    """

    def __init__(
        self,
        table: str | Path | Store,
        threads: int = 1,
        *,
        limits: Limits | None = None,
        daily: Mapping[Literal["prf_per_day", "bins_per_day"], int] | None = None,
        device: str | Device = "cpu",
    ) -> None:
        store = table if isinstance(table, Store) else Store(table)
        self._start(State(store.info, store.arrays, store.key()), store, threads, limits, device, daily)

    @classmethod
    def build(
        cls,
        elements: Elements,
        spec: BuildSpec | None = None,
        *,
        threads: int = 1,
        device: str | Device = "cpu",
        progress: Progress | None = None,
        **fields: Any,
    ) -> Server:
        """A server with a table in memory only (elements, spec, fields and progress as for `Store.build`)."""
        built = build(elements, replace(spec or BuildSpec(), **fields), threads=threads, progress=progress)
        server = cls.__new__(cls)
        server._start(State(built.info, built.arrays, built.key), None, threads, None, device)
        return server

    def _start(
        self,
        state: State,
        store: Store | None,
        threads: int,
        limits: Limits | None,
        device: str | Device,
        daily: Mapping[Literal["prf_per_day", "bins_per_day"], int] | None = None,
    ) -> None:
        self.device = open_device(device) if isinstance(device, str) else device
        self._store, self.threads, self._limits, self._daily = store, threads, limits, dict(daily or {})
        self._check(state)
        self._state = state

    def _check(self, state: State) -> None:
        """Refuses a table that this server cannot answer from."""
        self.device.check(state.kernel)
        allowed = self._info(state).limits
        if not allowed.allow(state.plan.request_bytes):
            raise ParameterError(
                f"requests to this table have {state.plan.request_bytes} bytes, its limit is {allowed.request_bytes}: "
                "raise Limits.request_bytes, or build with fewer bins"
            )

    def _info(self, state: State) -> TableInfo:
        limits = self._limits or state.info.limits
        return state.info.with_limits(Limits.model_validate({**limits.model_dump(), **self._daily}))

    @property
    def info(self) -> TableInfo:
        """What clients are told: public."""
        return self._info(self._state)

    @property
    def plan(self) -> Any:
        """The native plan: exact sizes of keys, requests and replies."""
        return self._state.plan

    def reload(self, check: Callable[[TableInfo], None] | None = None) -> bool:
        """Takes a newer state of the store, if there is one; open sessions keep theirs. Returns whether.

        Args:
            check: told the newer table's description before it is taken; what it raises leaves the old one.

        Raises:
            FormatError: the newer state is damaged. ParameterError: the device does not run its plan, or its requests
            are larger than its limits allow. The old one stays.
        """
        if self._store is None or self._store.newest():
            return False
        store = Store(self._store.path)
        state = State(store.info, store.arrays, store.key())
        self._check(state)
        if check is not None:
            check(self._info(state))
        self._state, self._store = state, store
        return True

    def evaluate_prf(self, blinded: Sequence[bytes], progress: Progress | None = None) -> list[bytes]:
        """Evaluates the OPRF on blinded elements of 32 bytes each (RFC 9497, BlindEvaluate); all or none.

        Raises:
            FormatError: an element has another length or is no valid encoding.
            MismatchError: the table is of mode direct.
        """
        if not blinded:
            return []
        key = self._state.key
        if key is None:
            raise MismatchError("this table is of mode direct: there is no function to evaluate")
        return to_list(key.evaluate(to_rows(blinded), self.threads, progress))

    def open(self, keys: bytes, digest: str | None = None) -> Session:
        """Validates a client's evaluation keys.

        Args:
            keys: `Client.keys()`; exactly `plan.key_bytes` bytes.
            digest: `TableInfo.digest` of the client, to refuse one that knows an older state of the table.

        Raises:
            FormatError: damaged keys, or of the wrong length. MismatchError: for another plan, or an old digest.
        """
        state = self._state
        if digest is not None and digest != state.digest:
            raise MismatchError("the table has changed since the client asked for its description: ask again")
        _check_length("evaluation keys", len(keys), state.plan.key_bytes)
        given = KeySet(own=(state.keys(keys),))
        handle = self.device.prepare(state.kernel, given, state.table, threads=self.threads)
        return Session(handle, state, keys if state.more else b"")

    def answer(self, session: Session, request: bytes, progress: Callable[[float], bool] | None = None) -> bytes:
        """The encrypted reply to one request: `plan.request_bytes` in, `info.reply_bytes(plan)` out.

        Args:
            progress: called with the fraction done; returning False cancels (Error "cancelled").

        Raises:
            FormatError, MismatchError: a damaged request, of the wrong length, or for another plan.
        """
        state = session.state
        _check_length("a request", len(request), state.plan.request_bytes)
        replies, count = [], 1 + len(state.more)
        for i, table in enumerate([state.table, *state.more]):
            handle = session.handle
            if i:  # made again for each: a session that kept all of them would take their memory
                given = KeySet(own=(state.keys(session.keys),))
                handle = self.device.prepare(state.kernel, given, table, threads=self.threads)
            later = progress if count == 1 or progress is None else partial(_step, progress, i, count)
            (reply,), _ = self.device.run(handle, [request], threads=self.threads, progress=later)
            replies.append(bytes(self.device.download(reply)))
        return b"".join(replies)


def _step(progress: Callable[[float], bool], part: int, parts: int, done: float) -> bool:
    return progress((part + done) / parts)


def to_rows(elements: Sequence[bytes]) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Elements of 32 bytes as rows (n, 32).

    Raises:
        FormatError: one has another length.
    """
    for element in elements:
        if len(element) != ELEMENT_BYTES:
            raise FormatError(f"a group element has {len(element)} bytes instead of {ELEMENT_BYTES}")
    return np.frombuffer(b"".join(elements), dtype=np.uint8).reshape(-1, ELEMENT_BYTES)


def to_list(rows: np.ndarray[Any, np.dtype[np.uint8]]) -> list[bytes]:
    """Rows (n, 32) as elements."""
    raw = rows.tobytes()
    return [raw[i : i + ELEMENT_BYTES] for i in range(0, len(raw), ELEMENT_BYTES)]


def _check_length(what: str, have: int, need: int) -> None:
    if have != need:
        raise FormatError(f"{what} of {have} bytes, where the plan has {need}: they are cut off, or for another plan")
