# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Clocks that are set: no quota is refilled, nothing grows old, nothing is late; real time does all of it.

Every clock here is the code that services use; wall clock, uptime and name of the boot are given to it.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ringforge.aes.depot import Depot as AesDepot
from ringforge.aes.depot import FileSet, Part
from ringforge.errors import FormatError, MissingKeyError
from ringforge.omr.board import Board
from ringforge.omr.depot import Depot as DetectorDepot
from ringforge.omr.depot import Job
from ringforge.omr.detector_service import Kept
from ringforge.omr.steps import Request
from ringforge.serving.calls import Deadlines
from ringforge.serving.clock import Clock, boot, uptime
from ringforge.serving.quota import Quota, QuotaError
from ringforge.serving.sessions import Sessions
from tests.omr import boards, detecting

DAY = 86_400.0
YEARS = 3652.5 * DAY
STEPS = [2 * DAY, -2 * DAY, YEARS, -YEARS]
CLIENT = "ab" * 16


@dataclass
class Machine:
    """A machine whose wall clock somebody sets."""

    wall: float = 20_000 * DAY + 3600
    up: float = 1000.0
    boot: str = "first"

    def clock(self) -> Clock:
        return Clock(lambda: self.wall, lambda: self.up, lambda: self.boot)

    def pass_(self, seconds: float) -> None:
        """Real time, in which the machine runs or sleeps."""
        self.wall += seconds
        self.up += seconds

    def reboot(self, seconds: float, step: float = 0.0) -> None:
        """It is off for so long; its wall clock is wrong by `step` afterwards."""
        self.wall += seconds + step
        self.up, self.boot = 10.0, self.boot + "+"

    def quota(self, path: Path) -> Quota:
        return Quota(path, {"prf": 10}, self.clock())


def spend(quota: Quota, count: int = 10) -> None:
    quota.charge(quota.client("one"), "prf", count)


def left(quota: Quota) -> int:
    return quota.left(quota.client("one"))["prf"]


# ---- the system's ----


def test_the_systems_uptime_goes_on_and_boots_have_names() -> None:
    before = uptime()
    time.sleep(0.01)
    assert 0.01 <= uptime() - before < 60
    assert boot() == boot()
    assert abs(Clock()() - time.time()) < 60


def test_the_wall_clock_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    now = clock()
    for step in STEPS:
        monkeypatch.setattr(time, "time", lambda step=step: now + step)
        assert 0 <= clock() - now < 60


# ---- quotas ----


@pytest.mark.parametrize("step", STEPS)
def test_a_step_refills_no_quota_of_a_running_service(tmp_path: Path, step: float) -> None:
    machine = Machine()
    quota = machine.quota(tmp_path / "q")
    spend(quota)
    machine.wall += step
    assert left(quota) == 0
    with pytest.raises(QuotaError, match=r"wait 23\.0 hours"):
        spend(quota, 1)
    machine.wall -= step
    assert left(quota) == 0
    machine.pass_(2 * DAY)
    assert left(quota) == 10, "two real days"
    quota.close()


@pytest.mark.parametrize("step", STEPS)
def test_a_step_refills_no_quota_of_a_service_that_is_started_again(tmp_path: Path, step: float) -> None:
    machine = Machine()
    quota = machine.quota(tmp_path / "q")
    spend(quota, 7)
    quota.close()
    machine.wall += step
    quota = machine.quota(tmp_path / "q")
    assert left(quota) == 3
    other = machine.quota(tmp_path / "q")
    spend(other, 3)
    assert left(quota) == left(other) == 0
    other.close()
    quota.close()


@pytest.mark.parametrize("step", [0.0, *STEPS])
def test_days_of_a_stopped_service_count_whatever_the_wall_clock_says(tmp_path: Path, step: float) -> None:
    machine = Machine()
    quota = machine.quota(tmp_path / "q")
    spend(quota)
    quota.close()
    machine.pass_(2 * DAY)
    machine.wall += step
    quota = machine.quota(tmp_path / "q")
    assert left(quota) == 10
    quota.close()


@pytest.mark.parametrize("off", [60.0, 2 * DAY])
@pytest.mark.parametrize("step", [0.0, *STEPS])
def test_after_another_boot_the_last_day_goes_on_until_midnight(tmp_path: Path, step: float, off: float) -> None:
    """Nobody can tell days in which the machine was off from a clock that was set."""
    machine = Machine()
    quota = machine.quota(tmp_path / "q")
    spend(quota)
    quota.close()
    machine.reboot(off, step)
    quota = machine.quota(tmp_path / "q")
    assert left(quota) == 0
    quota.close()
    quota = machine.quota(tmp_path / "q")
    assert left(quota) == 0, "nor does a further start"
    machine.pass_(DAY)
    assert left(quota) == 10
    quota.close()


@pytest.mark.parametrize("wrong", [0.0, YEARS, -YEARS])
def test_a_machine_that_is_off_at_midnight_refuses_nobody_for_ever(tmp_path: Path, wrong: float) -> None:
    """Also where its clock was wrong at one start. The first boot on another day gives nothing back, the next does."""
    machine = Machine()
    machine.wall += wrong
    quota = machine.quota(tmp_path / "q")
    spend(quota)
    quota.close()
    found = []
    for step in (-wrong, 0.0, 0.0, 0.0):
        machine.reboot(DAY, step)
        for _ in range(2):  # a further start on the same day changes nothing
            quota = machine.quota(tmp_path / "q")
            found.append(left(quota))
            quota.close()
        quota = machine.quota(tmp_path / "q")
        if found[-1]:
            spend(quota)
        quota.close()
    assert found == [0, 0, 10, 10, 0, 0, 10, 10]


@pytest.mark.parametrize("up", [10.0, 400 * DAY])
@pytest.mark.parametrize("name", ["another", ""])
def test_a_store_on_another_machine_goes_on_from_its_mark(up: float, name: str) -> None:
    """Its uptime is not the time for which the store was away; where boots have no names, none is known."""
    mark = Clock(lambda: 1e9, lambda: 3600.0, lambda: "this").mark()
    for _ in range(3):
        clock = Clock(lambda: 1e9 + 60, lambda: up, lambda: name)
        clock.resume(mark, believe_wall=False)
        assert clock() == 1e9
        mark = clock.mark()


def test_files_without_a_time_never_refill(tmp_path: Path) -> None:
    """Those of earlier releases, which also let the new table be."""
    machine = Machine()
    quota = machine.quota(tmp_path / "q")
    spend(quota)
    quota.close()
    database = sqlite3.connect(tmp_path / "q")
    database.execute("DROP TABLE clock")
    database.close()
    machine.wall -= YEARS
    quota = machine.quota(tmp_path / "q")
    assert left(quota) == 0
    quota.close()


@pytest.mark.parametrize("values", ["'b', 'text', 1.0", "'b', 1e999, 1.0", "'b', 1.0, -5.0", "'b', 1.0, 1e300"])
def test_damaged_times_are_refused(tmp_path: Path, values: str) -> None:
    Machine().quota(tmp_path / "q").close()
    database = sqlite3.connect(tmp_path / "q")
    database.execute(f"INSERT OR REPLACE INTO clock VALUES ({values})")
    database.commit()
    database.close()
    with pytest.raises(FormatError, match="its days are damaged"):
        Machine().quota(tmp_path / "q")


# ---- sessions and deadlines ----


@pytest.mark.parametrize("step", STEPS)
def test_a_step_ends_no_session_and_no_deadline(monkeypatch: pytest.MonkeyPatch, step: float) -> None:
    sessions, late = Sessions(2, 2, 300.0), threading.Event()
    with sessions.opening(b"a") as keep:
        name = keep("keys", lambda: None)
    real = time.time
    with Deadlines().within(60.0, late.set):
        monkeypatch.setattr(time, "time", lambda: real() + step)
        assert sessions.sweep() == 0
        with sessions.using(name, b"a") as keys:
            assert keys == "keys"
        assert not late.wait(0.05)


# ---- keys ----


def aes_set(depot: AesDepot, machine: Machine) -> str:
    del machine
    made = FileSet("evaluation", (Part("a", "0" * 64, 3),))
    depot.announce(CLIENT, made)
    with depot.arriving() as path:
        path.write_bytes(b"key")
        depot.keep_file(CLIENT, made.name, "a", path)
    return made.name


def detector_key(depot: DetectorDepot, machine: Machine) -> str:
    del machine
    with depot.arriving() as path:
        path.write_bytes(b"key")
        depot.keep_key(CLIENT, "1" * 64, path, {"capacity": 1})
    return "1" * 64


def there(depot: Any, name: str) -> bool:
    said = ""
    try:
        depot.complete(CLIENT, name, "evaluation") if isinstance(depot, AesDepot) else depot.key(CLIENT, name)
    except MissingKeyError as e:
        said = str(e)
    assert not said or ("was not used for as long as" in said and "send it again" in said)
    return not said


DEPOTS: list[Any] = [(AesDepot, aes_set), (DetectorDepot, detector_key)]


def sweep(depot: Any, keep: float = DAY, busy: frozenset[str] = frozenset()) -> int:
    before = depot.clock() - keep
    depot.sweep(before)
    return int(depot.expire(before, busy))


@pytest.mark.parametrize(("kind", "put"), DEPOTS)
def test_keys_expire_when_nobody_uses_them(tmp_path: Path, kind: Any, put: Callable[..., str]) -> None:
    machine = Machine()
    depot = kind(tmp_path, machine.clock())
    name = put(depot, machine)
    machine.pass_(DAY - 1)
    assert sweep(depot) == 0
    depot.used(CLIENT, name)
    machine.pass_(DAY - 1)
    assert sweep(depot) == 0, "it was used in between"
    assert there(depot, name)
    machine.pass_(2)
    assert sweep(depot, busy=frozenset({CLIENT})) == 0, "its client has something under way"
    assert sweep(depot) == 1
    assert not there(depot, name)
    assert [p.name for p in tmp_path.rglob("*") if p.is_file()] in ([".lock", ".clock"], [".clock", ".lock"])
    put(depot, machine)
    assert there(depot, name)
    depot.close()


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(("kind", "put"), DEPOTS)
def test_a_step_makes_no_key_old(tmp_path: Path, kind: Any, put: Callable[..., str], step: float) -> None:
    machine = Machine()
    depot = kind(tmp_path, machine.clock())
    name = put(depot, machine)
    machine.wall += step
    assert sweep(depot) == 0
    for restart in range(2):
        depot.close()
        if restart:  # the machine itself, too: nobody knows for how long it was off
            machine.reboot(0, step)
        depot = kind(tmp_path, machine.clock())
        assert sweep(depot) == 0
        assert there(depot, name)
    machine.pass_(DAY + 1)
    assert sweep(depot) == 1, "a real day"
    assert not there(depot, name)
    depot.close()


def test_keys_of_requests_that_wait_stay_and_of_results_that_are_kept(tmp_path: Path) -> None:
    """Also where the process that took the request has ended."""
    machine = Machine()
    depot = DetectorDepot(tmp_path, machine.clock())
    name = detector_key(depot, machine)
    asked = Request(name, *detecting.BULLETINS[0], "messages", 50, 0, 9)
    job = Job(CLIENT, asked)
    depot.keep_job(job)
    machine.pass_(10 * DAY)
    assert sweep(depot) == 0
    assert there(depot, name)
    depot.keep_job(Job(CLIENT, asked, state="done"))
    machine.pass_(DAY - 1)
    assert sweep(depot) == 0
    machine.pass_(2)
    assert sweep(depot) == 1
    assert depot.jobs() == []
    depot.close()


def test_a_service_lets_keys_expire_and_says_so(tmp_path: Path) -> None:
    """Housekeeping of a running service; its client hears of it, sends the key again, and is served."""
    key = detecting.key_file(tmp_path)
    with detecting.loop(tmp_path, kept=Kept(keep_seconds=1)) as found, found.connect() as c:
        machine = Machine()
        found.depot.clock = machine.clock()
        c.put_key(key)
        found.worker.gate.clear()
        job = c.submit(detecting.request(key))
        assert found.worker.begun.acquire(timeout=30)
        for _ in range(3):  # in the middle of a request
            machine.pass_(DAY)
            found.service._swept = -1e9
            found.service.housekeeping()
        found.worker.gate.set()
        c.watch(job)
        assert c.fetch(job) == detecting.expected(detecting.request(key), key)
        machine.pass_(DAY)
        found.service._swept = -1e9
        found.service.housekeeping()
        assert found.events("expired")[-1]["keys"] == 1
        with pytest.raises(MissingKeyError, match=r"was not used for as long as .* send it again"):
            c.submit(detecting.request(key))
        c.put_key(key)
        assert detecting.digest(c, detecting.request(key)) == detecting.expected(detecting.request(key), key)


# ---- the board ----


@pytest.mark.parametrize("step", STEPS)
def test_a_step_gives_posters_no_second_quota(tmp_path: Path, step: float) -> None:
    """While a board is served, when it is opened again, and after another boot, until midnight."""
    machine = Machine()

    def posted(restart: bool = False) -> int:
        nonlocal board
        if restart:
            board.close()
            board = Board.open(tmp_path / "board.sqlite", boards.SET, clock=machine.clock())
        return board.posted_today(b"p" * 16)

    board = Board.open(tmp_path / "board.sqlite", boards.SET, clock=machine.clock())
    board.post(*boards.fresh(3), poster=b"p" * 16, posts_per_day=3)
    machine.wall += step
    assert posted() == posted(restart=True) == 3
    with pytest.raises(QuotaError, match="0 of 3 a day are left"):
        board.post(*boards.fresh(1), poster=b"p" * 16, posts_per_day=3)
    machine.reboot(60.0, step)
    assert posted(restart=True) == posted(restart=True) == 3
    machine.pass_(DAY)
    assert posted() == posted(restart=True) == 0
    board.close()


def test_a_board_of_an_earlier_release_goes_on(tmp_path: Path) -> None:
    machine = Machine()
    with Board.open(tmp_path / "board.sqlite", boards.SET, clock=machine.clock()) as board:
        board.post(*boards.fresh(3), poster=b"p" * 16, posts_per_day=3)
    database = sqlite3.connect(tmp_path / "board.sqlite")
    database.execute("DROP TABLE clocks")
    database.close()
    machine.wall -= YEARS
    with Board.open(tmp_path / "board.sqlite", boards.SET, clock=machine.clock()) as board:
        assert board.posted_today(b"p" * 16) == 3
