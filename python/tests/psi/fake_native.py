# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Stands for `ringforge._native.psi` in protocol tests: the same calls, and no encryption at all.

Keys, requests and replies have a header that tells other kinds, other plans and damage, like the real ones.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ringforge.errors import Error, FormatError, MismatchError, ParameterError


class Cut(NamedTuple):
    log_base: int
    count: int
    drop: int = 0
    balanced: bool = True


class Plan:
    def __init__(
        self,
        algorithm: str,
        log_n: int,
        modulus: int,
        log_bins: int,
        cell_bits: int,
        log_cell: int,
        log_t: int,
        log_onehot: int,
        gadget: Cut,
        expansion: list[Cut],
        reconstruction: Cut | None,
        log_reply: int,
        insecure: str = "",
    ) -> None:
        if algorithm not in ("ringforge", "paper"):
            raise ParameterError(f"algorithm {algorithm!r} is none")
        fields = {k: v for k, v in locals().items() if k != "self"}
        self.__dict__.update(fields)
        self.log_bins, self.log_cell, self.log_t, self.cell_bits = log_bins, log_cell, log_t, cell_bits
        self.bins, self.cells, self.cell_words = 1 << log_bins, 1 << cell_bits, 1 << log_cell
        self.algorithm, self.log_n, self.modulus, self.insecure = algorithm, log_n, modulus, insecure
        self.hash = hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).digest()
        self.key_bytes = _HEADER + 4096
        self.request_bytes = _HEADER + 4 * self.bins
        self.reply_bytes = _HEADER + 2 * self.bins * self.cell_words

    def failure_log2(self, entries: int) -> float:
        assert 0 <= entries <= self.cells
        return -80.0


_HEADER = 4 + 32 + 8 + 32
_numbers = itertools.count(int.from_bytes(os.urandom(6), "little"))


def _wrap(kind: bytes, plan: Plan, client: int, body: bytes) -> bytes:
    head = kind + plan.hash + client.to_bytes(8, "little")
    return head + hashlib.sha256(head + body).digest() + body


def _unwrap(kind: bytes, plan: Plan, data: bytes) -> tuple[int, bytes]:
    if data[:4] != kind or len(data) < _HEADER:
        raise FormatError(f"these bytes are no {kind.decode()}")
    if data[4:36] != plan.hash:
        raise MismatchError(f"this {kind.decode()} is for another plan")
    if hashlib.sha256(data[:44] + data[_HEADER:]).digest() != data[44:_HEADER]:
        raise FormatError(f"this {kind.decode()} is damaged")
    return int.from_bytes(data[36:44], "little"), data[_HEADER:]


class ClientKey:
    def __init__(self, plan: Plan) -> None:
        self._plan, self._number = plan, next(_numbers)

    def __repr__(self) -> str:
        return "<ClientKey, secret>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("ClientKey holds a secret")

    def evaluation_keys(self, threads: int = 1) -> bytes:
        assert threads >= 1
        return _wrap(b"EKEY", self._plan, self._number, os.urandom(4096))

    def query(self, cells: np.ndarray[Any, Any], threads: int = 1) -> bytes:
        assert threads >= 1
        cells = np.asarray(cells)
        assert cells.dtype == np.uint32
        assert cells.shape == (self._plan.bins,)
        assert cells.max() < self._plan.cells
        return _wrap(b"QUER", self._plan, self._number, cells.astype("<u4").tobytes())

    def decode(self, reply: bytes) -> np.ndarray[Any, Any]:
        number, body = _unwrap(b"REPL", self._plan, reply)
        if number != self._number:
            raise FormatError("this REPL is for another key")
        return np.frombuffer(body, dtype="<u2").reshape(self._plan.bins, self._plan.cell_words).copy()


class SessionKeys:
    def __init__(self, plan: Plan, data: bytes, threads: int = 1) -> None:
        assert threads >= 1
        self.number, body = _unwrap(b"EKEY", plan, data)
        if len(body) != 4096:
            raise FormatError("these keys are incomplete")
        self.bytes = len(data)


class Table:
    def __init__(self, plan: Plan, offsets: Any, cells: Any, words: Any) -> None:
        assert offsets.dtype == np.uint64
        assert cells.dtype == np.uint32
        assert words.dtype == np.uint16
        assert offsets.shape == (plan.bins + 1,)
        assert words.shape == (len(cells), plan.cell_words)
        assert offsets[0] == 0
        assert offsets[-1] == len(cells)
        assert len(cells) == 0 or cells.max() < plan.cells
        assert len(cells) == 0 or words.max() < 1 << plan.log_t
        key = (
            np.repeat(np.arange(plan.bins, dtype=np.uint64), np.diff(offsets).astype(np.int64)) << np.uint64(32) | cells
        )
        assert (key[1:] > key[:-1]).all(), "cells of a bin must ascend"
        self.plan, self.key, self.words = plan, key, words


def evaluate(
    keys: SessionKeys,
    request: bytes,
    table: Table,
    threads: int = 1,
    progress: Callable[[float], bool] | None = None,
) -> bytes:
    assert threads >= 1
    plan = table.plan
    number, body = _unwrap(b"QUER", plan, request)
    if number != keys.number or len(body) != 4 * plan.bins:
        raise FormatError("this request is for other keys")
    for step in range(4):
        if progress is not None and not progress(step / 4):
            raise Error("cancelled")
    asked = np.arange(plan.bins, dtype=np.uint64) << np.uint64(32) | np.frombuffer(body, dtype="<u4")
    at = np.searchsorted(table.key, asked)
    out = np.zeros((plan.bins, plan.cell_words), dtype="<u2")
    inside = at < len(table.key)
    hit = inside.copy()
    hit[inside] = table.key[at[inside]] == asked[inside]
    out[hit] = table.words[at[hit]]
    if progress is not None:
        progress(1.0)
    return _wrap(b"REPL", plan, number, out.tobytes())
