# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Timing: both clocks, medians, turns, and records that divide times of one clock only."""

from __future__ import annotations

import ast
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from ringforge.lab.timing import Machine, Timing, Watch, alternate, both_clocks, cpu_seconds, measure, median, total
from ringforge.runs import Record

LAB = Path(__file__).parents[2] / "ringforge" / "lab"


def spin(seconds: float) -> None:
    """Use the processor for so many seconds of this thread."""
    deadline = time.thread_time() + seconds
    while time.thread_time() < deadline:
        pass


def test_measure_spends_its_budget_and_tells_waiting_from_work() -> None:
    calls: list[float] = []

    def nap() -> None:
        calls.append(time.perf_counter())
        time.sleep(0.002)

    timing = measure(nap, budget_s=0.03, warmup=2)
    assert timing.iterations == len(calls) - 2
    assert timing.wall >= 0.002
    assert timing.cpu < 0.002


def test_measure_runs_at_least_so_often() -> None:
    assert measure(lambda: None, budget_s=0.0).iterations == 1
    assert measure(lambda: None, budget_s=0.0, at_least=5, warmup=0).iterations == 5


def test_processor_time_counts_work_of_threads_and_children() -> None:
    watch = Watch()
    workers = [threading.Thread(target=spin, args=(0.02,)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert watch.read().cpu >= 0.04
    before = cpu_seconds()
    work = "import time\nwhile time.process_time() < 0.05: pass"
    subprocess.run([sys.executable, "-S", "-c", work], check=True)
    assert cpu_seconds() - before >= 0.05


def test_arithmetic_goes_clock_by_clock() -> None:
    one, two = Timing(3.0, 1.0, 4), Timing(2.0, 0.5, 2)
    assert one.less(two) == Timing(1.0, 0.5, 4)
    assert one.times(2) == Timing(6.0, 2.0, 4)
    assert total((one, two)) == Timing(5.0, 1.5, 2)
    assert median((one, two, Timing(9.0, 0.1, 1))) == Timing(3.0, 0.5, 7)
    assert (one.by("wall"), one.by("processor")) == (3.0, 1.0)


def test_sides_take_turns() -> None:
    order = []
    times = {"first": iter([1.0, 9.0, 2.0]), "second": iter([4.0, 4.0, 4.0])}

    def side(name: str) -> Timing:
        order.append(name)
        seconds = next(times[name])
        return Timing(2 * seconds, seconds)

    rounds = alternate({name: lambda name=name: side(name) for name in times}, rounds=3)  # type: ignore[misc]
    assert order == ["first", "second", "second", "first", "first", "second"]
    assert median(rounds["first"]) == Timing(4.0, 2.0, 3)
    with pytest.raises(ValueError, match="rounds"):
        alternate({"only": lambda: Timing(1.0, 1.0)}, rounds=0)


def test_both_sides_are_of_one_clock() -> None:
    """A peer that waited, or was kept waiting, for half of its time is not twice as slow on one thread."""
    ours, peer = Timing(1.0, 0.5), Timing(8.0, 2.0)
    record = Record("s", "c", "p", "a", peer="other", **both_clocks(ours, peer))
    assert (record.clock, record.seconds, record.peer_seconds, record.ratio) == ("processor", 0.5, 2.0, 4.0)
    assert (record.wall_seconds, record.peer_wall_seconds) == (1.0, 8.0)
    record = Record("s", "c", "p", "a", threads=2, peer="other", **both_clocks(ours, peer, threads=2))
    assert (record.clock, record.ratio) == ("wall", 8.0)
    # A publication states wall time.
    record = Record("s", "c", "p", "a", peer="paper", **both_clocks(ours, stated=3.0))
    assert (record.clock, record.ratio, record.peer_cpu_seconds) == ("wall", 3.0, None)


@pytest.mark.parametrize(
    "change",
    [
        {"seconds": 1.0},  # the wall clock's
        {"peer_seconds": 8.0},
        {"clock": "wall"},
        {"peer_seconds": 3.0},
    ],
)
def test_a_record_of_two_clocks_is_refused(change: dict[str, object]) -> None:
    good = Record("s", "c", "p", "a", peer="other", **both_clocks(Timing(1.0, 0.5), Timing(8.0, 2.0)))
    assert Record.from_json(good.to_json()) == good
    with pytest.raises(ValueError, match="not those of the"):
        replace(good, **change)  # type: ignore[arg-type]


def test_the_machine_is_told_with_its_load() -> None:
    machine = Machine()
    told = machine.around()
    assert set(told) == {"cpu", "cores", "usable_cores", "date", "load_before", "load_after"}
    assert len(told["load_before"]) == len(told["load_after"]) == 3
    assert told["load_before"] == machine.environment["load_before"]
    assert machine.around()["load_before"] == told["load_after"]
    text = machine.text()
    assert "load of 1, 5 and 15 minutes" in text
    assert f"{told['load_before'][0]:.2f}" in text


def test_only_one_module_reads_clocks_to_tell_how_long_work_took() -> None:
    """`process_time` in a bench beside the module would measure one clock alone; what remains reads a /proc file, a
    peer's own program, or a budget's end.
    """
    found = {}
    for path in sorted((LAB / "bench").glob("*.py")) + sorted((LAB / "papers").rglob("*.py")):
        names = {n.attr for n in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(n, ast.Attribute)}
        if used := names & {"process_time", "thread_time"}:
            found[path.name] = used
    # Processors of several processes at once, which no clock of this process sees.
    assert set(found) == {"omr_posting.py", "scale.py"}
