# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Helpers of the protocol tests: stand-ins for the native modules, and whole runs in one process."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

from ringforge.psi import Client, Result, Server, engine, planner


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


fake_native, fake_oprf, fake_planner = _load("fake_native"), _load("fake_oprf"), _load("fake_planner")


@contextlib.contextmanager
def stand_ins() -> Iterator[None]:
    """Protocol without cryptography."""
    engine.use("psi", fake_native)
    engine.use("oprf", fake_oprf)
    choose = planner.choose
    planner.choose = fake_planner.choose
    try:
        yield
    finally:
        planner.choose = choose
        engine.use("psi", None)
        engine.use("oprf", None)


def run(server: Server, elements: Iterable[bytes | int]) -> Result:
    """All of a client's run."""
    client = Client(server.info, elements)
    client.finish_prf(server.evaluate_prf(client.blinded()))
    session = server.open(client.keys(), client.info.digest())
    sizes = set()
    while (request := client.next_request()) is not None:
        reply = server.answer(session, request)
        sizes.add((len(request), len(reply)))
        client.accept(reply)
    assert sizes <= {(server.plan.request_bytes, server.plan.reply_bytes)}
    return client.result()
