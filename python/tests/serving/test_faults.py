# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Every service while its writes fail, one by one: it answers or says why, and with room again it answers."""

from __future__ import annotations

import contextlib
import errno
import itertools
import shutil
import signal
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ringforge.errors import Error
from tests.serving.fault_cases import CASES, Case
from tests.serving.faults import ALWAYS, Faults, Server, Zygote, zygote

#: Seconds within which a client hears something; on a machine that does something else too.
_PATIENCE = 50


@dataclass
class Rig:
    """A service that can be started, with its client."""

    case: Case
    faults: Faults
    zygote: Zygote
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def start(self) -> Server:
        server = self.zygote.start(*self.case.words())
        if server.ready is not None:
            self.case.port = int(server.ready["port"])
        return server

    def attempt(self, number: int) -> str:
        """Asks; returns "answered", or the kind of the one clear error."""
        begun, said, text = time.monotonic(), "answered", "-"
        try:
            self.case.ask(number)
        except Error as e:
            said, text = type(e).__name__, str(e)
        assert time.monotonic() - begun < _PATIENCE, f"it hangs: {text}"
        assert text.count("\n") == 0
        assert text
        assert "its log says where" not in text, f"a fault of ours: {text}"
        return said

    def request(self, server: Server, n: int, count: int, error: int = errno.ENOSPC) -> tuple[bool, str]:
        """Asks while calls fail from the n-th on, then again; returns whether any has failed, and what was said."""
        number = next(self.numbers)
        self.case.renew(number)
        before = self.case.left()
        self.faults.set(n, count, error)
        said = self.attempt(number)
        fired = self.faults.seen >= n
        self.faults.set()
        assert self.zygote.alive(server), server.errors
        self.case.ask(number)
        if self.case.charged:
            assert before - self.case.left() == self.cost, f"n = {n}: charged once"
        assert "Traceback" not in server.errors
        return fired, said

    def begin(self, n: int, count: int) -> tuple[bool, str]:
        """Starts a server on a new disk while calls fail; then, with room, one that answers."""
        for path in self.case.disk.iterdir():
            (shutil.rmtree if path.is_dir() else Path.unlink)(path)
        shutil.copytree(self.case.folder / "fresh", self.case.disk, dirs_exist_ok=True)
        self.faults.set(n, count)
        server = self.start()
        fired, said = self.faults.seen >= n, "started"
        self.faults.set()
        if server.ready is None:
            said = "refused"
            assert server.code == 1, server.errors
            assert "Traceback" not in server.errors
            told = server.errors.strip() or server.out.strip()
            assert len(told.splitlines()) == 1, told
            server = self.start()
        assert server.ready is not None, server.errors
        self.case.ask(next(self.numbers))
        self.zygote.stop(server, signal.SIGKILL)
        return fired, said

    @property
    def cost(self) -> int:
        return self._cost

    def measure(self) -> int:
        """What an answer costs, and takes in calls that write."""
        number = next(self.numbers)
        self.case.renew(number)
        before = self.case.left()
        self.faults.set()
        self.case.ask(number)
        count = self.faults.seen
        self._cost = before - self.case.left()
        return count


@contextlib.contextmanager
def rig(name: str, folder: Path) -> Iterator[Rig]:
    faults = Faults(folder)
    case = CASES[name](folder)
    shutil.copytree(case.disk, folder / "fresh")
    with zygote(folder, faults, case.module, *case.imports, **case.environment) as process:
        yield Rig(case, faults, process)


def run(rig: Rig, numbers: Iterable[int], count: int) -> tuple[int, Counter[str]]:
    """Requests with the n-th call failing, until one needs no more; returns how many failed, and what was said."""
    said: Counter[str] = Counter()
    failed = 0
    server = rig.start()
    assert server.ready is not None, server.errors
    rig.measure()
    for n in numbers:
        fired, what = rig.request(server, n, count)
        if not fired:
            break
        failed += 1
        said[what] += 1
    assert rig.zygote.stop(server) == 0, server.errors
    return failed, said


@pytest.mark.parametrize("end", [False, True])
@pytest.mark.parametrize("name", ["omr detect serve", "aes serve, a stream"])
def test_what_was_asked_for_goes_on_with_room(name: str, end: bool, tmp_path: Path) -> None:
    """By itself, though its client asks no more; `end`: the process gets SIGKILL while there is no room."""
    with rig(name, tmp_path) as found:
        server = found.start()
        found.measure()
        calls = found.measure()
        number = next(found.numbers)
        found.case.renew(number)
        before = found.case.left()
        found.faults.set(calls - 10, ALWAYS)
        assert found.attempt(number) == "StorageError"
        if end:
            found.zygote.stop(server, signal.SIGKILL)
            found.faults.set()
            server = found.start()
        found.faults.set()
        until = time.monotonic() + _PATIENCE
        while found.case.states() != {"done"}:
            assert time.monotonic() < until, found.case.states()
            time.sleep(0.1)
        found.case.ask(number)
        assert before - found.case.left() == found.cost
        assert found.zygote.stop(server) == 0, server.errors


#: Few of the calls of each service, the first and some in the middle, so that this takes seconds.
SOME = {
    "psi serve": (1, 6),
    "omr board serve": (1, 5),
    "omr detect serve": (1, 9, 20, 40),
    "aes serve, a stream": (1, 8, 40),
    "matmul serve": (1, 6, 10),
}


@pytest.mark.parametrize("name", SOME)
def test_some_writes_fail(name: str, tmp_path: Path) -> None:
    with rig(name, tmp_path) as found:
        failed, said = run(found, SOME[name], ALWAYS)
    assert failed, "nothing was tested"
    assert sum(said.values()) == failed


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_every_write_fails(name: str, tmp_path: Path) -> None:
    """Prints lines of the table that is kept as bench/results/faults-at-writes-2026-11-28.txt."""
    with rig(name, tmp_path) as found:
        for which, count in (("only the n-th", 1), ("from the n-th on", ALWAYS)):
            failed, said = run(found, itertools.count(1), count)
            print(f"\nFAULTS {name:<20} a request  {which:<17} {failed:>4}  {_told(said)}", flush=True)
            said.clear()
            for n in itertools.count(1):
                fired, what = found.begin(n, count)
                if not fired:
                    break
                said[what] += 1
            print(f"FAULTS {name:<20} a start    {which:<17} {n - 1:>4}  {_told(said)}", flush=True)


def _told(said: Counter[str]) -> str:
    return ", ".join(f"{count} {what}" for what, count in sorted(said.items())) or "nothing is written"
