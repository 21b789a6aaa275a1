# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Integers while other things go on: threads, forks, interrupts, progress."""

from __future__ import annotations

import _thread
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from ringforge import gates
from ringforge.gates import integers
from ringforge.gates.integers import operations
from ringforge.gates.integers.operations import Operation, compiled

from .test_integers import TOY, WHY, World


@pytest.fixture(scope="module")
def world() -> World:
    return World()


def test_threads_share_an_evaluator_and_its_integers(world: World) -> None:
    """Sums are refreshed by whoever comes first; results are those of one thread."""
    x, y = world.encrypt([1, 200, 77], "uint8"), world.encrypt([5, 6, 250], "uint8")
    total = x + y

    def work(k: int) -> list[int]:
        return list(world.decrypt(total + x + k))

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(work, range(8)))
    assert found == [[(a + b + a + k) % 256 for a, b in ((1, 5), (200, 6), (77, 250))] for k in range(8)]


def test_threads_make_a_circuit_once() -> None:
    op = Operation("add", (21, 21), False, 21, None)
    barrier = threading.Barrier(4)

    def ask(_: int) -> object:
        barrier.wait()
        return compiled(op, "gates-128", "ginx", ())

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(ask, range(4)))
    assert all(f is found[0] for f in found)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_computes(world: World) -> None:
    x = world.encrypt(20, "uint8")
    assert world.decrypt(x + x) == 40
    child = os.fork()
    if not child:
        os._exit(0 if world.decrypt(x + 22) == 42 else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_forked_while_a_circuit_is_made_makes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the thread that makes it, and of one that holds the lock, the child has nothing."""
    op = Operation("add", (22, 22), False, 22, None)
    parent, began, go = os.getpid(), threading.Event(), threading.Event()
    known = operations._compile

    def slow(*key: Any) -> Any:
        if os.getpid() == parent:
            began.set()
            go.wait()
        return known(*key)

    monkeypatch.setattr(operations, "_compile", slow)
    maker = threading.Thread(target=compiled, args=(op, "gates-128", "ginx", ()))
    maker.start()
    began.wait()
    with operations._lock:
        child = os.fork()
        if not child:
            signal.alarm(20)
            os._exit(0 if compiled(op, "gates-128", "ginx", ()) is not None else 1)
    _, status = os.waitpid(child, 0)
    go.set()
    maker.join()
    assert os.waitstatus_to_exitcode(status) == 0


def test_progress_ends_an_operation(world: World) -> None:
    x = world.encrypt(list(range(30)), "uint8")

    class EnoughError(Exception):
        pass

    def stop(fraction: float) -> None:
        if fraction > 0.2:
            raise EnoughError

    with pytest.raises(EnoughError), integers.reporting(stop):
        x * x
    # Nothing is left behind.
    assert world.decrypt((x + 1)[:3]) == [1, 2, 3]


def test_an_interrupt_ends_a_long_operation() -> None:
    # Where the tests run in the background of a shell, interrupts are ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    secret, key = gates.keygen(TOY, insecure=WHY)
    x = gates.Evaluator(key).bind(integers.encrypt(secret, [3] * 500, "uint8"))
    threading.Timer(0.5, _thread.interrupt_main).start()
    start = time.monotonic()

    def work() -> None:
        x * x
        time.sleep(30)

    try:
        with pytest.raises(KeyboardInterrupt):
            work()
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - start < 20
