# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Helpers of the protocol tests: servers and clients of the clear device, and whole runs in one process."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from ringforge import psi

build = partial(psi.Server.build, device="clear")
Client = partial(psi.Client, device="clear")


def run(server: psi.Server, elements: Iterable[bytes | int], client: Any = Client) -> psi.Result:
    """All of a client's run."""
    asking = client(server.info, elements)
    asking.finish_prf(server.evaluate_prf(asking.blinded()))
    session = server.open(asking.keys(), asking.info.digest())
    sizes = set()
    while (request := asking.next_request()) is not None:
        reply = server.answer(session, request)
        sizes.add((len(request), len(reply)))
        asking.accept(reply)
    assert sizes <= {(server.plan.request_bytes, server.plan.reply_bytes)}
    result: psi.Result = asking.result()
    return result


encrypted = partial(run, client=psi.Client)
