# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What a worker does with shards, without a cluster."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from ringforge.errors import ClusterError, Error
from ringforge.scale import task
from ringforge.scale.packing import installation, pack, unpack
from ringforge.scale.task import Began, Cache, Call, Result, Run, work
from tests.scale import toys

ROOM = 1 << 40


@pytest.fixture(autouse=True)
def empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task, "_CACHE", Cache())


def called(driver: str, value: str) -> Any:
    """What a worker answers to a shard that keeps what it makes of a stored value; all values have one name."""
    stored = object()
    shard = pack((toys.first, (stored,)), lambda x: "stored-0" if x is stored else None)
    call = Call(shard, ("stored-0",), frozenset({"stored-0"}), 1, ROOM, installation(), driver)
    task._CACHE.keep(call.living_here, ROOM)
    run = Run(call, (pack([value]),))
    run.compute()
    assert run.result is not None
    return unpack(run.result.value)


def test_processes_of_one_program_share_no_names() -> None:
    """Workers belong to a program, whose actors may each have a pool: what one put is not the other's."""
    assert called("one", "key of one") == "key of one"
    assert called("two", "key of two") == "key of two"
    assert called("one", "key of one") == "key of one"


def test_what_is_kept_goes_with_its_value() -> None:
    assert called("one", "first") == "first"
    assert called("one", "the same name is the same value") == "first"
    task._CACHE.keep(frozenset({"stored-1@one"}), ROOM)
    assert called("one", "put anew") == "put anew"


def test_every_process_has_a_name_of_its_own() -> None:
    a, b = (Call(pack(None), (), frozenset(), 1, ROOM, installation()) for _ in range(2))
    assert a.driver == b.driver
    assert len(a.driver) >= 16


def test_another_installation_is_the_cluster_s_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not that of who asked: a service must not blame its client."""
    monkeypatch.setattr("ray.get_runtime_context", lambda: SimpleNamespace(get_node_id=lambda: "node"))
    began, result = work(Call(pack((toys.pid, ())), (), frozenset(), 1, ROOM, ("0", "0", "0")))
    assert isinstance(began, Began)
    assert isinstance(result, Result)
    assert result.raised
    error = unpack(result.value)
    assert type(error) is ClusterError
    assert "install the same on all nodes" in str(error)


def test_no_memory_to_say_what_went_wrong_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread of a shard ends, whatever happens in it: its worker would wait for it until its patience ends."""

    def full(*_: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr("ray.get_runtime_context", lambda: SimpleNamespace(get_node_id=lambda: "node"))
    call = Call(pack((toys.refuse, ())), (), frozenset(), 1, ROOM, installation())
    told = work(call)
    assert isinstance(next(told), Began)
    monkeypatch.setattr(task, "pack", full)
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    (result,) = told
    assert isinstance(result, Result)
    assert result.raised
    assert type(unpack(result.value)) is MemoryError


def test_an_error_that_cannot_travel_is_said() -> None:
    error = unpack(task.packed_error(toys.StrangeError(1, 2)))
    assert type(error) is Error
    assert str(error) == "StrangeError: 1 and 2"
