# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Private set intersection by polynomials under BFV, after the oblivious PRF. docs/psi-poly.md has the protocol.

>>> import numpy as np
>>> from ringforge.psi import oprf, poly
>>> key = oprf.ServerKey.random()
>>> plan = poly.suggest(server_size=1000, client_size=10).fields
>>> arrays = poly.compile_table(plan, key.prf([b"alice", b"bob"]))          # the server's set
>>> client = poly.Client(plan, key.prf([b"bob", b"carol"]))                 # by oprf.Request, of who has no key
>>> session = poly.SessionKeys(client.plan, client.keys())
>>> table = poly.table(session.plan, arrays)
>>> while (request := client.next_request()) is not None:
...     client.accept(poly.evaluate(session, request, table))
>>> client.result().found
array([0])
"""

from ringforge._native.psi_poly import ClientKey, Counts, Plan, SessionKeys, Table, evaluate
from ringforge.psi.poly import shards as _shards  # noqa: F401  # registers how pools run queries
from ringforge.psi.poly.clear import ClearKey
from ringforge.psi.poly.client import Client, Opened, Result, open_values
from ringforge.psi.poly.kernels import PolyKernel, PolyKeys, PolyTable
from ringforge.psi.poly.pace import pace
from ringforge.psi.poly.plan import HASHES, PlanFields, felts, fill, outputs, placement_log2, places, room, seal
from ringforge.psi.poly.search import Estimate, Objective, Suggestion, estimate, suggest
from ringforge.psi.poly.table import ARRAYS, Arrays, check_arrays, compile_table, shapes, table, update_table

__all__ = [
    "ARRAYS",
    "HASHES",
    "Arrays",
    "ClearKey",
    "Client",
    "ClientKey",
    "Counts",
    "Estimate",
    "Objective",
    "Opened",
    "Plan",
    "PlanFields",
    "PolyKernel",
    "PolyKeys",
    "PolyTable",
    "Result",
    "SessionKeys",
    "Suggestion",
    "Table",
    "check_arrays",
    "compile_table",
    "estimate",
    "evaluate",
    "felts",
    "fill",
    "open_values",
    "outputs",
    "pace",
    "placement_log2",
    "places",
    "room",
    "seal",
    "shapes",
    "suggest",
    "table",
    "update_table",
]
