# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A look-up of private set intersection by the published algorithm, around products and substitutions of the machine.

The steps are those of `cpp/circuits/psi_server.cpp` and docs/psi-algorithm.md, many bins side by side, with everything
in Eval order: arithmetic modulo a prime is exact, so that results before masking are the processor's, word for word. On
the machine: every substitution and every product. On the host: additions, powers of X, plain rows, the reply.

The first level of the tree multiplies small numbers by RLWE(bit g) alone, g the largest gadget element: on the machine,
products of one digit each, which is the number itself.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ringforge import _native
from ringforge.devices import Progress
from ringforge.errors import Error, ParameterError
from ringforge.hw.core.small_ring import Gadget, Words, added, multiplied, subtracted
from ringforge.hw.machines.psi.config import PsiConfig
from ringforge.hw.machines.psi.pipeline import Pipeline, gadget
from ringforge.hw.machines.psi.runtime import expanded, rebuilt
from ringforge.hw.machines.psi.settings import Settings
from ringforge.psi.kernels import LookupTable

#: Ciphertexts of an expansion that are kept at once, and leaves of trees.
_MOST: Final = 1024


def lookup_settings(config: PsiConfig, plan: _native.psi.Plan) -> Settings:
    """Settings for a plan's products and substitutions.

    Raises:
        ParameterError: the machine cannot run the plan.
    """
    if plan.algorithm != "paper":
        raise ParameterError(
            f"{config.name} answers queries by the algorithm paper, not {plan.algorithm}: compile the table with "
            "--algorithm paper, or take device cpu"
        )
    if plan.gadget.drop:
        raise ParameterError("the published look-up takes gadgets that leave no bits out: set drop to 0")
    cut = gadget(plan.gadget)
    for expansion in plan.expansion:
        settings = Settings(plan.log_n, plan.modulus, cut, cut, gadget(expansion))
        settings.check(config)
    _leaf_step(plan)
    return settings


def _delta(plan: _native.psi.Plan) -> int:
    """What a plain word is multiplied by: a power of two next to Q/T."""
    return 1 << (round(math.log2(plan.modulus)) - int(plan.log_t))


def _leaf_step(plan: _native.psi.Plan) -> int:
    """What a plain word is in units of the gadget's largest element.

    Raises:
        ParameterError: less than one.
    """
    step, rest = divmod(_delta(plan), 1 << plan.gadget.log_base * (plan.gadget.count - 1))
    if rest:
        raise ParameterError(
            f"words of {plan.log_t} bits leave no room above the gadget's last digit: take smaller words or digits"
        )
    return step


class Lookup:
    """A session's keys and a table. Any number of threads may ask it.

    Args:
        keys: of the client. table: of the same plan.
    """

    def __init__(self, keys: _native.psi.SessionKeys, table: LookupTable) -> None:
        self.keys, self.table, self.plan = keys, table, keys.plan

    def answer(
        self,
        pipeline: Pipeline,
        request: bytes,
        progress: Progress | None = None,
        seed: _native.TestSeed | None = None,
    ) -> tuple[bytes, dict[str, int]]:
        """The reply, and the operations it took, as `Plan.counts` counts them.

        Args:
            pipeline: with `lookup_settings`. seed: of the mask, for tests.

        Raises:
            FormatError: the request is none. Error: "cancelled". HardwareError: the machine stops with an error.
        """
        made = _Answer(self, pipeline, progress).results(_native.psi.open_request(self.plan, request))
        counts = {name: made[1][name] for name in ("substitution", "external_product", "row")}
        return _native.psi.seal_reply(self.keys, made[0], seed), counts


class _Answer:
    """One query's way through the machine."""

    def __init__(self, lookup: Lookup, pipeline: Pipeline, progress: Progress | None) -> None:
        plan = self.plan = lookup.plan
        self.keys, self.arrays = lookup.keys, lookup.table.arrays
        self.pipeline, self.ring, self.q, self.progress = pipeline, pipeline.ring, plan.modulus, progress
        self.stages = min(plan.log_bins, plan.log_n)
        self.packed = min(self.stages, plan.rotation_bits)
        self.stride = (1 << plan.log_n) // plan.cell_words
        self.counts: Counter[str] = Counter()
        self.done = 0

    def results(self, request: Words) -> tuple[Words, Counter[str]]:
        """Packed results (replies, 2, N) in coefficients, and counts of operations."""
        skipped, found = self.stages - self.packed, []
        for group, node in enumerate(request):
            self.group = group
            self.found = np.zeros((1 << self.stages, 2, self.ring.degree), np.uint64)
            self._descend(node, 0, 0)
            x = self.found
            for stage in reversed(range(skipped, self.stages)):
                x = self._joined(x[: 1 << stage], x[1 << stage :], stage - skipped)
            found.append(self.ring.inverse(x))
        return np.concatenate(found), self.counts

    # ---- expansion ----

    def _descend(self, node: Words, stage: int, prefix: int) -> None:
        """Answers all bins below a node (outputs, 2, N): breadth first where memory allows."""
        if stage < self.stages and len(node) << (self.stages - stage) > _MOST:
            for child, below in enumerate(self._expanded(node[None], stage)):
                self._descend(below[0], stage + 1, prefix | child << stage)
            return
        nodes = node[None]
        for s in range(stage, self.stages):
            nodes = np.concatenate(self._expanded(nodes, s))
        bins = prefix + (np.arange(len(nodes)) << stage)
        room = max(1, _MOST >> self.plan.row_bits)
        for first in range(0, len(bins), room):
            some = bins[first : first + room]
            self.found[some] = self._looked_up(nodes[first : first + room], (self.group << self.stages) + some)
            self.done += len(some)
            if self.progress is not None and self.progress(self.done / self.plan.bins) is False:
                raise Error("cancelled")

    def _expanded(self, nodes: Words, stage: int) -> tuple[Words, Words]:
        """Both children of nodes (m, outputs, 2, N)."""
        self.counts["substitution"] += nodes.shape[0] * nodes.shape[1]
        rows, cut = self.keys.substitution_rows(stage), gadget(self.plan.expansion[stage])
        return expanded(self.pipeline, nodes, stage, rows, cut)

    def _substituted(self, x: Words, stage: int) -> Words:
        self.counts["substitution"] += len(x)
        element = (self.ring.degree >> stage) + 1
        rows = self.keys.substitution_rows(stage)
        return self.pipeline.substitutions(x, element, rows, gadget(self.plan.expansion[stage]))

    def _joined(self, r0: Words, r1: Words, stage: int) -> Words:
        """Two halves of replies packed into one: r0 + X^(2^stage) r1, and the image of the difference."""
        shifted = multiplied(r1, self.ring.monomial(1 << stage), self.q)
        image = self._substituted(subtracted(r0, shifted, self.q), stage)
        return added(added(r0, shifted, self.q), image, self.q)

    # ---- look-up ----

    def _looked_up(self, nodes: Words, bins: npt.NDArray[np.intp]) -> Words:
        """The cells of bins, (m, 2, N), of their expanded ciphertexts (m, outputs, 2, N)."""
        plan, n = self.plan, self.ring.degree
        m, bits, d = len(bins), plan.rgsw_bits, plan.gadget.count
        rows = nodes.reshape(m, bits, d, 2, n)
        keys = rebuilt(self.pipeline, rows, self.keys.reconstruction_rows()).reshape(m * bits, 2 * d, 2, n)
        self.counts["external_product"] += m * bits * d
        x = self._tree(bins, keys)
        for bit in range(plan.rotation_bits):
            factor = subtracted(self.ring.monomial(2 * n - (1 << bit)), np.ones(n, np.uint64), self.q)
            x = added(x, self._product(multiplied(x, factor, self.q), keys, plan.tree_bits + bit), self.q)
        x = multiplied(x, np.uint64(pow(2, -plan.rotation_bits, self.q)), self.q)
        for stage in reversed(range(self.packed, plan.rotation_bits)):
            x = added(x, self._substituted(x, stage), self.q)
        return x

    def _product(self, x: Words, keys: Words, bit: int) -> Words:
        """Products (m, ..., 2, N) with bit number `bit` of each bin."""
        flat = x.reshape(-1, 2, self.ring.degree)
        each = len(flat) // len(x)
        numbers = [i // each * self.plan.rgsw_bits + bit for i in range(len(flat))]
        self.counts["external_product"] += len(flat)
        return self.pipeline.products(flat, numbers, keys).reshape(x.shape)

    def _tree(self, bins: npt.NDArray[np.intp], keys: Words) -> Words:
        """The asked row of each bin, (m, 2, N)."""
        plan, n = self.plan, self.ring.degree
        plain = np.stack([self._rows(int(i)) for i in bins])
        self.counts["row"] += plain.shape[0] * plain.shape[1]
        if plan.tree_bits == 0:
            return self._plain(plain[:, 0] * _delta(plan))
        left, right = plain[:, 0::2], plain[:, 1::2]
        x = added(self._plain(left * _delta(plan)), self._leaves((right - left) * _leaf_step(plan), keys), self.q)
        for level in range(1, plan.tree_bits):
            low, high = x[:, 0::2], x[:, 1::2]
            x = added(low, self._product(subtracted(high, low, self.q), keys, level), self.q)
        return x.reshape(-1, 2, n)

    def _leaves(self, numbers: npt.NDArray[np.int64], keys: Words) -> Words:
        """Products (m, pairs, 2, N) of small polynomials and the last row of bit 0 of each bin: RLWE(bit g).

        The machine takes the pair of zero and the polynomial, one digit each, and the last two rows."""
        digit = Gadget(self.plan.gadget.log_base, 1)
        settings = replace(self.pipeline.settings, a=digit, b=digit, small=True)
        last = keys[:: self.plan.rgsw_bits, -2:]
        self.counts["external_product"] += numbers.shape[0] * numbers.shape[1]
        bins = np.repeat(np.arange(len(last)), numbers.shape[1]).tolist()
        operands = self._plain(numbers)
        made = self.pipeline.products(operands.reshape(-1, 2, self.ring.degree), bins, last, settings)
        return made.reshape(operands.shape)

    def _plain(self, coefficients: npt.NDArray[np.int64]) -> Words:
        """Ciphertexts (0, x) of signed polynomials x."""
        b = self.ring.forward(np.mod(coefficients, self.q).astype(np.uint64))
        return np.stack([np.zeros_like(b), b], -2)

    def _rows(self, number: int) -> npt.NDArray[np.int64]:
        """A bin's plain rows, (2^row_bits, N)."""
        first, last = (int(x) for x in self.arrays.offsets[number : number + 2])
        cells: Any = self.arrays.cells[first:last].astype(np.intp)
        rows = np.zeros((1 << self.plan.row_bits, self.ring.degree), np.int64)
        for j in range(self.plan.cell_words):
            rows[cells // self.stride, cells % self.stride + j * self.stride] = self.arrays.words[first:last, j]
        return rows
