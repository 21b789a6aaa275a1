# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A client's run against a server, step by step, without any network: what connections that wait and connections of
an event loop have in common.

`Run.steps` is a generator. It yields what is to be done next: work of this side, or a call of a connection's method.
Whoever drives it sends the outcome back, or throws the exception in.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ringforge.errors import Error, MismatchError, ParameterError
from ringforge.psi.client import REQUEST_BYTES, Client, Element, Result
from ringforge.psi.info import AskedMode, TableInfo
from ringforge.serving.quota import QuotaError
from ringforge.serving.remote import Traffic, clean

#: Told the name of a step, and the fraction done; during a query also how many others come first.
Report = Callable[[str, float, int], None]


@dataclass(frozen=True)
class Outcome:
    """A run: what was found, of which table, with how many bytes and seconds by step."""

    result: Result
    info: TableInfo
    traffic: Traffic
    seconds: dict[str, float]


class IncompleteError(Error):
    """A run of several queries ended before the last one; what the others said is kept.

    Attributes:
        outcome: the run so far; `outcome.result.unasked` has the elements of which nothing is known.
        run: asks for the rest as `remote.intersect(connection, resume=run)`, if that can help; otherwise None.
        reason: what the server or the network said.
    """

    def __init__(self, reason: str, outcome: Outcome, run: Run | None) -> None:
        result = outcome.result
        remedy = "; intersect(..., resume=error.run), or a new run for these alone, asks for the rest" if run else ""
        super().__init__(
            f"{reason}; {len(result.unasked)} of {result.elements} elements are not answered for, the others are: "
            f"error.outcome.result has what is known{remedy}"
        )
        self.outcome, self.run, self.reason = outcome, run, reason


@dataclass(frozen=True)
class Step:
    """What is to be done next.

    Attributes:
        name: what users are told.
        work: a function of this side; or None, and
        method, arguments: of a connection. Its progress comes after them.
        quiet: nothing is told.
    """

    name: str
    work: Callable[[], Any] | None = None
    method: str = ""
    arguments: tuple[Any, ...] = field(default=(), repr=False)
    quiet: bool = False


Steps = Generator[Step, Any, Outcome]


def require_secure(info: TableInfo, accept_insecure: str) -> None:
    """Refuses a plan below 128 bits, which the server has chosen, unless this side gives a reason.

    Raises:
        ParameterError: it gives none.
    """
    if info.plan.insecure and not accept_insecure:
        raise ParameterError(
            f"the server's table uses parameters below 128 bits ({clean(info.plan.insecure)}): ask for another table, "
            'or go on with accept_insecure="..." and a reason'
        )


class Run:
    """A client's run with fresh keys.

    Args:
        elements, threads, mode, request_bytes, exact_sizes: as for `Client`.
        accept_insecure: reason to use a plan below 128 bits.
    """

    def __init__(
        self,
        elements: Iterable[Element],
        *,
        threads: int = 1,
        accept_insecure: str = "",
        mode: AskedMode | None = None,
        request_bytes: int = REQUEST_BYTES,
        exact_sizes: bool = False,
    ) -> None:
        self._accept = accept_insecure
        self._elements: Iterable[Element] | None = elements
        self._options: dict[str, Any] = {
            "threads": threads,
            "mode": mode,
            "request_bytes": request_bytes,
            "exact_sizes": exact_sizes,
        }
        self._client: Client | None = None
        self._seconds: dict[str, float] = {}
        self._busy, self._reading = threading.Lock(), threading.Lock()

    def __repr__(self) -> str:
        return "<Run, secret>"

    def steps(
        self, traffic: Traffic, known: tuple[TableInfo, dict[str, int]] | None = None, *, hang_up: bool = False
    ) -> Steps:
        """What is to be done, up to the outcome. A run that ended with `IncompleteError` goes on where it was.

        Args:
            traffic: of the connection, for the outcome.
            known: what `Connection.info` said, if it was asked already.
            hang_up: closes the connection before replies are decrypted.

        Raises:
            IncompleteError, and what the calls raise. MismatchError: the run is under way already.
        """
        if not self._busy.acquire(blocking=False):
            raise MismatchError("this run is under way already: wait for it, or begin another one")
        try:
            return (yield from self._steps(traffic, known, hang_up))
        finally:
            self._busy.release()

    def _steps(self, traffic: Traffic, known: tuple[TableInfo, dict[str, int]] | None, hang_up: bool) -> Steps:
        if known is None:
            known = yield from self._timed(Step("table info", method="info"))
        info, left = known
        require_secure(info, self._accept)
        table = bytes.fromhex(info.digest())
        if self._client is None:
            yield from self._begin(info, left, table)
        client = self._client
        assert client is not None
        if client.info.digest() != info.digest():
            raise MismatchError(
                "the table has changed since this run began: ask for the elements that are left (result.unasked) in a "
                "new run"
            )
        waiting = client.queries - client.answered
        enough("bins", waiting * client.plan.bins, left, f"bins ({waiting} queries)")
        try:
            try:
                yield from self._ask(client, table)
            finally:
                # Nothing that a reply holds may show in what the server sees, be it the time of the connection's end.
                if hang_up:
                    yield Step("hang up", method="close", quiet=True)
        except Error as e:
            if not client.answered:
                raise
            result = yield from self._timed(Step("decrypt", client.partial))
            raise IncompleteError(str(e), Outcome(result, info, traffic, self._seconds), self) from e
        try:
            result = yield from self._timed(Step("decrypt", client.result))
        except Error as e:
            try:
                result = yield from self._timed(Step("decrypt", client.partial))
            except Error:
                raise e from None
            # Asking again would tell the server that something went wrong here, which depends on the elements.
            raise IncompleteError(str(e), Outcome(result, info, traffic, self._seconds), None) from e
        return Outcome(result, info, traffic, self._seconds)

    def _begin(self, info: TableInfo, left: dict[str, int], table: bytes) -> Generator[Step, Any, None]:
        make = Step("prepare", lambda: Client(info, self._given(), **self._options), quiet=True)
        client: Client = yield make
        blinded = yield from self._timed(Step("blind", client.blinded))
        if info.mode == "oprf":
            enough("prf", len(blinded), left, "evaluations of the pseudorandom function")
            evaluated = yield from self._timed(Step("evaluate PRF", method="evaluate_prf", arguments=(table, blinded)))
            yield from self._timed(Step("place", lambda: client.finish_prf(evaluated)))
        self._client, self._elements = client, ()

    def _given(self) -> Iterable[Element]:
        """The elements. An iterator is gone through once, even if who began that no longer waits for it."""
        with self._reading:
            if isinstance(self._elements, Iterator):
                source, self._elements = self._elements, None
                self._elements = list(source)
            if self._elements is None:
                raise Error("the elements could not be read when this run began: make a new run")
            return self._elements

    def _ask(self, client: Client, table: bytes) -> Generator[Step, Any, None]:
        keys = yield from self._timed(Step("make keys", client.keys))
        session = yield from self._timed(Step("send keys", method="open_session", arguments=(table, keys)))
        del keys
        try:
            # A run may have been given up at any place, even while a request was made: what is next follows from the
            # replies alone.
            for query in range(client.answered, client.queries):
                request = yield from self._timed(Step("encrypt", functools.partial(client.request, query)))
                name = "query" if client.queries == 1 else f"query {query + 1} of {client.queries}"
                arguments = (table, session, request, client.reply_bytes)
                reply = yield from self._timed(Step(name, method="query", arguments=arguments), "query")
                client.accept(reply, query)
                del request, arguments, reply
        finally:
            yield Step("close", method="close_session", arguments=(session,), quiet=True)

    def _timed(self, step: Step, kind: str = "") -> Generator[Step, Any, Any]:
        start = time.perf_counter()
        answer = yield step
        kind = kind or step.name
        self._seconds[kind] = self._seconds.get(kind, 0.0) + time.perf_counter() - start
        return answer


def enough(kind: str, need: int, left: dict[str, int], what: str) -> None:
    """Refuses a run that the server's quota would end in the middle.

    Raises:
        QuotaError: more is needed than is left.
    """
    if need > left[kind]:
        raise QuotaError(
            f"{need} {what} are needed, the server's daily quota leaves this client {left[kind]}: ask for fewer "
            "elements, wait until midnight UTC, or agree on a larger quota with the server's operator"
        )
