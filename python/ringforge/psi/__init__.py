# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Private set intersection: a client with a small set, a server with a large one; the client learns what is in both.

>>> from ringforge import psi
>>> server = psi.Server.build({b"alice": b"+1 555 0100", b"bob": b""}, log_bins=8)
>>> client = psi.Client(server.info, [b"alice", b"carol"])
>>> client.finish_prf(server.evaluate_prf(client.blinded()))
>>> session = server.open(client.keys())
>>> while (request := client.next_request()) is not None:
...     client.accept(server.answer(session, request))
>>> client.result().matches
{b'alice': b'+1 555 0100'}
"""

from ringforge.psi.build import BuildSpec
from ringforge.psi.client import Client, Probabilities, Result
from ringforge.psi.data import Matched, build_table, match_rows
from ringforge.psi.info import Limits, PlanFields, TableInfo
from ringforge.psi.server import Server, Session
from ringforge.psi.store import Store

__all__ = [
    "BuildSpec",
    "Client",
    "Limits",
    "Matched",
    "PlanFields",
    "Probabilities",
    "Result",
    "Server",
    "Session",
    "Store",
    "TableInfo",
    "build_table",
    "match_rows",
]
