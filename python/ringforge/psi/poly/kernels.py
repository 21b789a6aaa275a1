# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The kernel of the polynomial protocol, and how `cpu` and `clear` run it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ringforge import _native
from ringforge.devices import Execution, Implementation, KeySet, Needs, Preparation, Report, register, register_cases
from ringforge.errors import Error, MismatchError, MissingKeyError, ShapeError
from ringforge.psi.clear import unwrap, wrap
from ringforge.psi.poly import clear
from ringforge.psi.poly.table import Arrays, table

if TYPE_CHECKING:
    from ringforge._native.psi_poly import Plan, SessionKeys

_COUNTS = ("product", "relinearization", "row", "reply")


@dataclass(frozen=True)
class PolyKernel:
    """A query on a table of polynomials: the values of all polynomials at the residues that the request holds.

    Operands are a :class:`PolyTable`; keys a client's :class:`PolyKeys`. The input is a request of
    `plan.request_bytes` bytes; the result a reply, `plan.reply_bytes` bytes. A progress that returns False cancels:
    Error "cancelled".

    Attributes:
        plan: what client and server agree on.
    """

    plan: Plan

    def needs(self) -> Needs:
        """What it asks of a device."""
        primes = [*self.plan.q, *self.plan.p]
        return Needs(1 << self.plan.log_n, len(self.plan.q), max(x.bit_length() for x in primes))


class PolyTable:
    """A compiled table, checked by the library; all arrays are shared with it.

    Args:
        plan: the native plan. arrays: of the table.

    Raises:
        ShapeError, FormatError: the arrays are none of a table of the plan.
    """

    def __init__(self, plan: Plan, arrays: Arrays) -> None:
        self.plan, self.arrays = plan, arrays
        self.native = table(plan, arrays)


@dataclass(frozen=True)
class PolyKeys:
    """A client's evaluation key as it sent it."""

    data: bytes = field(repr=False)

    @property
    def bytes(self) -> int:
        """Bytes in memory."""
        return len(self.data)


# ---- cpu -----------------------------------------------------------------------------------------


class _CpuPoly(Implementation):
    def prepare(self, p: Preparation[PolyKernel]) -> tuple[SessionKeys, PolyTable]:
        operands, given = _operands(p.kernel, p.operands), _keys(p.keys)
        return _native.psi_poly.SessionKeys(p.kernel.plan, given.data, p.threads), operands

    def run(self, r: Execution[PolyKernel, tuple[SessionKeys, PolyTable]]) -> tuple[list[Any], Report]:
        request, (keys, operands) = _request(r.inputs), r.state
        start, counts = time.perf_counter(), _native.psi_poly.Counts()
        reply = _native.psi_poly.evaluate(keys, request, operands.native, r.threads, r.progress, counts)
        traffic = {
            "keys": int(keys.bytes),
            "table": operands.arrays.bytes,
            "input": r.kernel.plan.request_bytes,
            "output": r.kernel.plan.reply_bytes,
        }
        operations = {name: int(getattr(counts, name)) for name in _COUNTS}
        return [reply], Report("cpu", time.perf_counter() - start, bytes=traffic, operations=operations)

    def storage(self, state: tuple[SessionKeys, PolyTable]) -> int:
        return int(state[0].bytes)


def _operands(kernel: PolyKernel, operands: PolyTable | None) -> PolyTable:
    if operands is None:
        raise ShapeError("an evaluation of polynomials needs its table")
    if operands.plan.hash != kernel.plan.hash:
        raise MismatchError("kernel and table belong to different plans")
    return operands


def _keys(keys: KeySet) -> PolyKeys:
    found = keys.of(PolyKeys)
    if found is None:
        raise MissingKeyError("a query needs the evaluation key of the client that asks: it sends it first")
    return found


def _request(inputs: Sequence[Any]) -> bytes:
    if len(inputs) != 1 or not isinstance(inputs[0], bytes):
        raise ShapeError(f"{len(inputs)} inputs, where a query takes the bytes of one request")
    return inputs[0]


# ---- clear ---------------------------------------------------------------------------------------


class _ClearPoly(Implementation):
    def prepare(self, p: Preparation[PolyKernel]) -> tuple[int, int, Arrays]:
        arrays, given = _operands(p.kernel, p.operands).arrays, _keys(p.keys)
        number, _ = unwrap(clear.KEYS, p.kernel.plan, given.data, p.kernel.plan.key_bytes)
        return number, given.bytes, arrays

    def run(self, r: Execution[PolyKernel, tuple[int, int, Arrays]]) -> tuple[list[Any], Report]:
        start, plan, (number, _, arrays) = time.perf_counter(), r.kernel.plan, r.state
        asker, body = unwrap(clear.REQUEST, plan, _request(r.inputs), plan.request_bytes)
        if asker != number:
            raise MismatchError("this request is for other keys")
        felts = np.frombuffer(body, "<u4", plan.bins * plan.felts).reshape(plan.bins, plan.felts)

        def report(done: float) -> None:
            if r.progress is not None and r.progress(done) is False:
                raise Error("cancelled")

        values = clear.values(plan, arrays, felts, report)
        reply = wrap(clear.REPLY, plan, number, values.astype("<u4").tobytes(), plan.reply_bytes)
        return [reply], Report(r.device.name, time.perf_counter() - start)

    def storage(self, state: tuple[int, int, Arrays]) -> int:
        """As if the keys were kept."""
        return state[1]


register(PolyKernel, "cpu", _CpuPoly())
register(PolyKernel, "clear", _ClearPoly())
register_cases(PolyKernel, "ringforge.psi.poly.cases")
