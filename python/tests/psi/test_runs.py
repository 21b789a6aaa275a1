# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Runs of several queries of which one fails: what is known is kept, and the rest can be asked for."""

from __future__ import annotations

from typing import Any

import pytest

from ringforge.errors import Error, FormatError, MismatchError
from ringforge.psi import Server, remote, runs
from ringforge.psi.info import TableInfo
from ringforge.psi.runs import IncompleteError
from tests.psi.running import Client, build

MINE = [b"%d" % i for i in range(500)]


class Failing:
    """A connection to a server in this process whose queries fail where the script says."""

    traffic = None

    def __init__(self, server: Server, script: str) -> None:
        self.server, self.script = server, script
        self.asked: list[str] = []

    def info(self) -> tuple[TableInfo, dict[str, int]]:
        return self.server.info, {"prf": 1 << 30, "bins": 1 << 30}

    def evaluate_prf(self, _: bytes, blinded: list[bytes], _progress: Any) -> list[bytes]:
        self.asked.append(f"evaluate {len(blinded)}")
        return self.server.evaluate_prf(blinded)

    def open_session(self, _: bytes, keys: bytes, _progress: Any) -> Any:
        self.asked.append("open")
        return self.server.open(keys)

    def query(self, _: bytes, session: Any, request: bytes, _size: int, _progress: Any) -> bytes:
        act, self.script = self.script[0], self.script[1:]
        self.asked.append(act)
        if act == "x":
            raise Error("the line is cut")
        if act == "!":
            raise KeyboardInterrupt
        reply = self.server.answer(session, request)
        return bytes(len(reply)) if act == "d" else reply

    def close_session(self, _: Any) -> None:
        self.asked.append("close")


@pytest.fixture(autouse=True)
def clear(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "Client", Client)


@pytest.fixture(scope="module")
def server() -> Server:
    return build({b"%d" % i: b"L%d" % i for i in range(0, 500, 3)}, log_bins=8)


def ask(connection: Failing, elements: Any = MINE, **options: Any) -> Any:
    return remote.intersect(connection, elements, **options)  # type: ignore[arg-type]


def fail(connection: Failing, elements: Any = MINE, **options: Any) -> IncompleteError:
    with pytest.raises(IncompleteError) as failure:
        ask(connection, elements, **options)
    return failure.value


WANTED = {b"%d" % i: b"L%d" % i for i in range(0, 500, 3)}


@pytest.mark.parametrize("answered", [1, 2])
def test_what_is_known_is_kept(server: Server, answered: int) -> None:
    connection = Failing(server, "." * answered + "x")
    error = fail(connection)
    assert connection.asked == ["evaluate 579", "open", *"." * answered, "x", "close"]
    result = error.outcome.result
    unasked = set(result.unasked)
    assert 0 < len(unasked) < 500
    assert len(unasked) == 500 - sum(-(-(500 - 167 * i) // (3 - i)) for i in range(answered))
    assert result.matches == {x: label for x, label in WANTED.items() if x not in unasked}
    assert (result.elements, result.queries) == (500, answered)
    assert "the line is cut" in str(error)
    assert f"{len(unasked)} of 500 elements" in str(error)
    assert error.reason == "the line is cut"
    assert "resume=error.run" in str(error)
    # A new run for the rest.
    rest = ask(Failing(server, "..."), result.unasked)
    assert result.matches | rest.result.matches == WANTED


def test_the_rest_is_asked_for_without_new_evaluations(server: Server) -> None:
    error = fail(Failing(server, ".x"))
    again = Failing(server, ".x")
    error = fail(again, resume=error.run)
    assert again.asked == ["open", ".", "x", "close"]
    last = Failing(server, ".")
    outcome = ask(last, resume=error.run)
    assert last.asked == ["open", ".", "close"]
    assert (outcome.result.matches, outcome.result.unasked, outcome.result.queries) == (WANTED, (), 3)


def test_a_first_query_that_fails_keeps_its_error(server: Server) -> None:
    with pytest.raises(Error, match="the line is cut") as failure:
        ask(Failing(server, "x"))
    assert not isinstance(failure.value, IncompleteError)


def test_an_interrupt_closes_the_session(server: Server) -> None:
    connection = Failing(server, ".!")
    with pytest.raises(KeyboardInterrupt):
        ask(connection)
    assert connection.asked[-2:] == ["!", "close"]


@pytest.mark.parametrize("first", ["!", ".!", "..!", "x"])
def test_a_run_that_was_given_up_anywhere_goes_on_where_it_was(server: Server, first: str) -> None:
    """Replies never belong to another query's elements."""
    run = runs.Run(iter(MINE))
    with pytest.raises((KeyboardInterrupt, Error)):
        ask(Failing(server, first), resume=run)
    last = Failing(server, "...")
    result = ask(last, resume=run).result
    assert (result.matches, result.unasked, result.anomalies) == (WANTED, (), 0)
    assert last.asked.count(".") == 3 - first.count(".")


def test_work_that_nobody_waits_for_any_more_changes_nothing(server: Server) -> None:
    """A task was cancelled while a thread made its request; the thread goes on."""
    connection = Failing(server, "...")
    run = runs.Run(MINE)

    def drive(until: str, first: Any = None) -> Any:
        steps = run.steps(None)  # type: ignore[arg-type]
        step = next(steps)
        try:
            while step.name != until:
                if step.work is not None:
                    answer = step.work()
                else:
                    if step.method == "query" and first:
                        first()
                    more = (lambda *_: None,) if step.method in ("evaluate_prf", "open_session", "query") else ()
                    answer = getattr(connection, step.method)(*step.arguments, *more)
                step = steps.send(answer)
        except StopIteration as end:
            return end.value
        assert steps.throw(KeyboardInterrupt).name == "close"
        with pytest.raises(KeyboardInterrupt):
            steps.send(None)
        return step.work

    late = drive("encrypt")
    outcome = drive("", late)
    assert (outcome.result.matches, outcome.result.unasked) == (WANTED, ())


def test_elements_that_cannot_be_read_are_no_empty_set(server: Server) -> None:
    def given() -> Any:
        yield b"1"
        raise OSError("the disk")

    run = runs.Run(given())
    with pytest.raises(OSError, match="the disk"):
        ask(Failing(server, "..."), resume=run)
    with pytest.raises(Error, match="make a new run"):
        ask(Failing(server, "..."), resume=run)


def test_a_table_that_has_changed_is_not_asked_for_the_rest(server: Server) -> None:
    error = fail(Failing(server, ".x"))
    other = Failing(build({b"a": b"b"}, log_bins=8), "..")
    with pytest.raises(MismatchError, match=r"table has changed.*result\.unasked"):
        ask(other, resume=error.run)
    assert other.asked == []
    assert ask(Failing(server, ".."), resume=error.run).result.matches == WANTED


def test_a_damaged_reply_among_others_is_not_asked_for_again(server: Server) -> None:
    """A server would learn that it could not be read."""
    error = fail(Failing(server, ".d."))
    assert isinstance(error.__cause__, FormatError)
    assert error.run is None
    assert "resume" not in str(error)
    result = error.outcome.result
    assert 0 < len(result.unasked) < 200
    assert result.matches == {x: label for x, label in WANTED.items() if x not in result.unasked}
    with pytest.raises(FormatError):
        ask(Failing(server, "ddd"))


def test_elements_without_a_place_do_not_take_the_others_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server has chosen functions by which all elements share a few bins."""
    monkeypatch.setattr(
        "ringforge.psi.hashing.PrfHash.bins", lambda _, where: (where[:, None] % 40).astype("u4").repeat(3, axis=1)
    )
    server = build([b"%d" % i for i in range(20)], log_bins=8)
    connection = Failing(server, "...")
    error = fail(connection)
    assert error.run is None
    assert "found no place" in str(error)
    assert connection.asked[-1] == "close"
    assert len(error.outcome.result.unasked) >= 500 - 3 * 40


def test_a_run_is_under_way_once(server: Server) -> None:
    error = fail(Failing(server, ".x"))
    run = error.run
    assert run is not None
    steps = run.steps(None)  # type: ignore[arg-type]
    next(steps)
    with pytest.raises(MismatchError, match="under way already"):
        ask(Failing(server, ".."), resume=run)
    steps.close()
    assert ask(Failing(server, ".."), resume=run).result.matches == WANTED
