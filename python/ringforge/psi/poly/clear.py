# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Keys, requests and replies of the polynomial protocol without encryption, for the clear device.

As in `ringforge.psi.clear`: records of the same types and lengths as the real ones, which say that they are none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge._native import io
from ringforge.errors import MismatchError, ShapeError
from ringforge.psi.clear import StandIn, unwrap, wrap
from ringforge.psi.hashing import U32, U64

KEYS, REQUEST, REPLY = io.PSI_POLY_KEYS, io.PSI_POLY_REQUEST, io.PSI_POLY_REPLY


class ClearKey(StandIn):
    """The client's secret of the polynomial protocol."""

    keys = KEYS

    def query(self, felts: U32, threads: int = 1) -> bytes:  # noqa: ARG002
        """The residues (bins, felts) themselves: the plan's `request_bytes`.

        Raises:
            ShapeError: another number of residues, or one that is none.
        """
        if felts.shape != (self._plan.bins, self._plan.felts) or int(felts.max(initial=0)) >= self._plan.t:
            raise ShapeError(f"residues {felts.shape} for {self._plan.bins} bins of {self._plan.felts}")
        return wrap(REQUEST, self._plan, self._number, felts.astype("<u4").tobytes(), self._plan.request_bytes)

    def decode(self, reply: bytes, threads: int = 1) -> U32:  # noqa: ARG002
        """Values (bundles, 1 + label words, bins, felts).

        Raises:
            FormatError, MismatchError: damaged, or of another plan or client.
        """
        plan = self._plan
        number, body = unwrap(REPLY, plan, reply, plan.reply_bytes)
        if number != self._number:
            raise MismatchError("the reply is for another client's request")
        shape = (plan.bundles, 1 + plan.label_words, plan.bins, plan.felts)
        return np.frombuffer(body, "<u4", int(np.prod(shape))).reshape(shape).astype(np.uint32)


def values(plan: Any, arrays: Any, felts: U32, report: Callable[[float], None]) -> U32:
    """Values (bundles, 1 + label words, bins, felts) of a table's polynomials at the residues (bins, felts)."""
    out = np.empty((plan.bundles, 1 + plan.label_words, plan.bins, plan.felts), np.uint32)
    columns = felts.reshape(plan.columns, plan.column_bins, plan.felts).astype(np.uint64)
    for c in range(plan.columns):
        at = slice(c * plan.column_bins, (c + 1) * plan.column_bins)
        for b in range(plan.bundles):
            counts = arrays.counts[c, b].astype(np.int64)
            used = int(counts.max(initial=0))
            there = np.arange(used) < counts[:, None]
            roots = _completed(arrays.roots[c, b, :, :used].astype(np.uint64), there)
            labels = arrays.labels[c, b, :, :used].astype(np.uint64)
            out[b, :, at] = _column(plan.t, there, roots, labels, columns[c])
            report((c * plan.bundles + b + 1) / (plan.columns * plan.bundles))
    return out


def _completed(roots: U64, there: npt.NDArray[np.bool_]) -> U64:
    """Roots (bins, d, felts), where there is none the smallest residue that is none of the slot's."""
    other = np.zeros((roots.shape[0], roots.shape[2]), np.uint64)
    while (taken := ((roots == other[:, None]) & there[:, :, None]).any(axis=1)).any():
        other += taken
    return np.where(there[:, :, None], roots, other[:, None])


def _column(t: int, there: npt.NDArray[np.bool_], roots: U64, labels: U64, x: U64) -> U64:
    """Values (1 + words, bins, felts) by Lagrange's formula, of roots (bins, d, felts) and labels (bins, d, words,
    felts)."""
    mod = np.uint64(t)
    apart = (x[:, None] + mod - roots) % mod
    product = np.ones_like(x)
    for k in range(roots.shape[1]):
        product = product * apart[:, k] % mod
    out = np.zeros((1 + labels.shape[2], *x.shape), np.uint64)
    out[0] = product
    if not labels.shape[2]:
        return out
    for i in range(roots.shape[1]):
        numerator, denominator = np.ones_like(x), np.ones_like(x)
        for j in range(roots.shape[1]):
            if i != j:
                numerator = numerator * apart[:, j] % mod
                denominator = denominator * ((roots[:, i] + mod - roots[:, j]) % mod) % mod
        weight = np.where(there[:, i, None], numerator * _power(denominator, t - 2, mod) % mod, np.uint64(0))
        out[1:] = (out[1:] + weight * labels[:, i].transpose(1, 0, 2)) % mod
    return out


def _power(x: U64, e: int, mod: np.uint64) -> U64:
    r = np.ones_like(x)
    while e:
        if e & 1:
            r = r * x % mod
        x = x * x % mod
        e >>= 1
    return r
