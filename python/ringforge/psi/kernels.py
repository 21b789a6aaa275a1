# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The kernels of private set intersection, and how `cpu` and `clear` run them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ringforge import _native
from ringforge.arrays import Residues, aligned_copy
from ringforge.devices import Execution, Implementation, KeySet, Needs, Preparation, Report, register, register_cases
from ringforge.errors import Error, MismatchError, MissingKeyError, ShapeError
from ringforge.psi import clear
from ringforge.psi.table import Arrays

if TYPE_CHECKING:
    from ringforge._native.fhew import Cut, SubstitutionKey
    from ringforge._native.psi import Plan, SessionKeys

_COUNTS = ("ntt", "intt", "substitution", "external_product", "reconstruction", "row")


@dataclass(frozen=True)
class LookupKernel:
    """A query on a table: of every bin, the words of the cell that the request asks for in secret.

    Operands are a :class:`LookupTable`; keys a client's :class:`LookupKeys`. The input is a request of
    `plan.request_bytes` bytes; the result a reply, `plan.reply_bytes` bytes. A progress that returns False cancels:
    Error "cancelled".

    Attributes:
        plan: what client and server agree on.
        most: as of the table to come, for what `Device.check` says of memory; None: that is left to `prepare`.
    """

    plan: Plan
    most: int | None = None

    def needs(self) -> Needs:
        """What it asks of a device."""
        return Needs(1 << self.plan.log_n, 1, self.plan.modulus.bit_length())


class LookupTable:
    """A compiled table, checked by the library; all arrays are shared with it.

    Args:
        plan: the native plan. arrays: of the table.
        most: cells of a bin, at most, by what everybody is told of the table: how long a device takes may depend on it.
            None: nothing of the kind is known.

    Raises:
        ShapeError, ringforge.ValueError: the arrays are none of a table of the plan.
    """

    def __init__(self, plan: Plan, arrays: Arrays, most: int | None = None) -> None:
        self.plan, self.arrays, self.most = plan, arrays, most
        self.native = _native.psi.Table(plan, arrays.offsets, arrays.cells, arrays.words)


@dataclass(frozen=True)
class LookupKeys:
    """A client's evaluation keys as it sent them."""

    data: bytes = field(repr=False)

    @property
    def bytes(self) -> int:
        """Bytes in memory."""
        return len(self.data)


@dataclass(frozen=True)
class SubstitutionKernel:
    """RLWE substitution X -> X^element of a batch of ciphertexts: the map, then a key switch of the a-parts.

    Keys: the substitution key of the element. The input is the ciphertexts, (batch, 2, N), a then b, coefficients
    modulo Q, in words of 32 bits for Q below 2^31, else 64; so is the result.

    Attributes:
        log_n: log2 N.
        modulus: the prime Q.
        element: odd, below 2N.
        cut: the key's gadget.
        batch: ciphertexts.
    """

    log_n: int
    modulus: int
    element: int
    cut: Cut
    batch: int

    def needs(self) -> Needs:
        """What it asks of a device."""
        return Needs(self.degree, 1, self.modulus.bit_length())

    @property
    def degree(self) -> int:
        """N."""
        return 1 << self.log_n

    def checked(self, inputs: Sequence[Any]) -> Residues:
        """A copy of the ciphertexts.

        Raises:
            ShapeError: they are of another form.
        """
        if len(inputs) != 1:
            raise ShapeError(f"{len(inputs)} inputs, where the kernel takes one array of ciphertexts")
        return aligned_copy(inputs[0], (self.batch, 2, self.degree), self.modulus)


# ---- cpu -----------------------------------------------------------------------------------------


class _CpuLookup(Implementation):
    def prepare(self, p: Preparation[LookupKernel]) -> tuple[SessionKeys, LookupTable]:
        table, given = _table(p.kernel, p.operands), _keys(p.keys)
        return _native.psi.SessionKeys(p.kernel.plan, given.data, p.threads), table

    def run(self, r: Execution[LookupKernel, tuple[SessionKeys, LookupTable]]) -> tuple[list[Any], Report]:
        request, (keys, table) = _request(r.inputs), r.state
        start, counts = time.perf_counter(), _native.psi.Counts()
        reply = _native.psi.evaluate(keys, request, table.native, r.threads, r.progress, counts)
        traffic = {
            "keys": int(keys.bytes),
            "table": table.arrays.bytes,
            "input": r.kernel.plan.request_bytes,
            "output": r.kernel.plan.reply_bytes,
        }
        operations = {name: int(getattr(counts, name)) for name in _COUNTS}
        return [reply], Report("cpu", time.perf_counter() - start, bytes=traffic, operations=operations)

    def storage(self, state: tuple[SessionKeys, LookupTable]) -> int:
        return int(state[0].bytes)


class _CpuSubstitution(Implementation):
    def prepare(self, p: Preparation[SubstitutionKernel]) -> SubstitutionKey:
        key = p.keys.of(_native.fhew.SubstitutionKey)
        if key is None:
            raise MissingKeyError(
                f"a substitution needs the key of element {p.kernel.element}, which this key set lacks"
            )
        have = (key.log_n, key.modulus, key.element, key.cut)
        want = (p.kernel.log_n, p.kernel.modulus, p.kernel.element, p.kernel.cut)
        if have != want:
            raise MismatchError(f"the substitution key is of {have}, the kernel needs {want}")
        return key

    def run(self, r: Execution[SubstitutionKernel, SubstitutionKey]) -> tuple[list[Any], Report]:
        start = time.perf_counter()
        out = r.kernel.checked(r.inputs)
        r.state.substitute(out, r.threads)
        rows, batch = r.kernel.cut.count, r.kernel.batch
        traffic = {
            "input": out.nbytes,
            "output": out.nbytes,
            "keys": batch * rows * 2 * r.kernel.degree * out.itemsize,
        }
        operations = {"substitution": batch, "ntt": rows * batch, "intt": 2 * batch}
        return [out], Report("cpu", time.perf_counter() - start, bytes=traffic, operations=operations)


def _table(kernel: LookupKernel, operands: LookupTable | None) -> LookupTable:
    if operands is None:
        raise ShapeError("a lookup needs its table")
    if operands.plan.hash != kernel.plan.hash:
        raise MismatchError("keys and table belong to different plans")
    return operands


def _keys(keys: KeySet) -> LookupKeys:
    found = keys.of(LookupKeys)
    if found is None:
        raise MissingKeyError("a lookup needs the evaluation keys of the client that asks: it sends them first")
    return found


def _request(inputs: Sequence[Any]) -> bytes:
    if len(inputs) != 1 or not isinstance(inputs[0], bytes):
        raise ShapeError(f"{len(inputs)} inputs, where a lookup takes the bytes of one request")
    return inputs[0]


# ---- clear ---------------------------------------------------------------------------------------


class _ClearLookup(Implementation):
    def prepare(self, p: Preparation[LookupKernel]) -> tuple[int, int, Arrays]:
        arrays, given = _table(p.kernel, p.operands).arrays, _keys(p.keys)
        number, _ = clear.unwrap(clear.KEYS, p.kernel.plan, given.data, p.kernel.plan.key_bytes)
        return number, given.bytes, arrays

    def run(self, r: Execution[LookupKernel, tuple[int, int, Arrays]]) -> tuple[list[Any], Report]:
        start, plan, (number, _, arrays) = time.perf_counter(), r.kernel.plan, r.state
        asker, body = clear.unwrap(clear.REQUEST, plan, _request(r.inputs), plan.request_bytes)
        if asker != number:
            raise MismatchError("this request is for other keys")
        cells = np.frombuffer(body, "<u4", plan.bins)
        words = np.zeros((plan.bins, plan.cell_words), clear.word(plan))
        for i, (first, last, cell) in enumerate(zip(arrays.offsets, arrays.offsets[1:], cells, strict=False)):
            if r.progress is not None and i % 64 == 0 and r.progress(i / plan.bins) is False:
                raise Error("cancelled")
            at = int(first) + int(np.searchsorted(arrays.cells[first:last], cell))
            if at < last and arrays.cells[at] == cell:
                words[i] = arrays.words[at]
        if r.progress is not None:
            r.progress(1.0)
        reply = clear.wrap(clear.REPLY, plan, number, words.tobytes(), plan.reply_bytes)
        return [reply], Report(r.device.name, time.perf_counter() - start)

    def storage(self, state: tuple[int, int, Arrays]) -> int:
        """As if the keys were kept."""
        return state[1]


class _ClearSubstitution(Implementation):
    def run(self, r: Execution[SubstitutionKernel, None]) -> tuple[list[Any], Report]:
        """The map of each b, as the message."""
        start = time.perf_counter()
        out = r.kernel.checked(r.inputs)
        if out[:, 0].any():
            raise MismatchError("the clear device maps ciphertexts that are not encrypted: their a is 0")
        n = r.kernel.degree
        index = np.arange(n) * r.kernel.element % (2 * n)
        b = out[:, 1].copy()
        out[:, 1, index % n] = np.where((index < n) | (b == 0), b, r.kernel.modulus - b).astype(out.dtype)
        report = Report(r.device.name, time.perf_counter() - start, operations={"substitution": r.kernel.batch})
        return [out], report


register(LookupKernel, "cpu", _CpuLookup())
register(SubstitutionKernel, "cpu", _CpuSubstitution())
register(LookupKernel, "clear", _ClearLookup())
register(SubstitutionKernel, "clear", _ClearSubstitution())
register_cases(LookupKernel, "ringforge.psi.cases")
register_cases(SubstitutionKernel, "ringforge.psi.cases")
