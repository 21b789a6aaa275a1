# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Timing: budgets, medians and turns."""

import time

import pytest

from ringforge.lab.timing import SideTiming, alternate, cpu_seconds, measure


def test_measure_spends_its_budget() -> None:
    calls: list[float] = []

    def nap() -> None:
        calls.append(time.perf_counter())
        time.sleep(0.002)

    timing = measure(nap, budget_s=0.03, warmup=2)
    assert timing.iterations == len(calls) - 2
    assert timing.iterations > 1
    assert timing.wall >= 0.002
    assert timing.cpu < timing.wall


def test_measure_runs_at_least_so_often() -> None:
    assert measure(lambda: None, budget_s=0.0).iterations == 1
    assert measure(lambda: None, budget_s=0.0, at_least=5, warmup=0).iterations == 5


def test_cpu_time_counts_work() -> None:
    before = cpu_seconds()
    deadline = time.process_time() + 0.02
    while time.process_time() < deadline:
        pass
    assert cpu_seconds() - before >= 0.02


def test_sides_take_turns_and_report_medians() -> None:
    order = []
    numbers = iter([1.0, 9.0, 2.0])

    def first() -> float:
        order.append("first")
        return next(numbers)

    def second() -> float:
        order.append("second")
        time.sleep(0.001)
        return 4.0

    medians = alternate({"first": first, "second": second}, rounds=3)
    assert order == ["first", "second", "second", "first", "first", "second"]
    assert medians["first"].reported == 2.0
    assert medians["second"].wall >= 0.001
    assert medians["second"].rounds == 3
    assert medians["first"].speedup_over(medians["second"]) == 2.0


def test_no_rounds_are_refused() -> None:
    with pytest.raises(ValueError, match="rounds"):
        alternate({"only": lambda: 1.0}, rounds=0)


def test_speedup() -> None:
    assert SideTiming(0.5, 1, 1, 1).speedup_over(SideTiming(2.0, 1, 1, 1)) == 4.0
