# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Chooses how two encrypted matrices are multiplied: method, variant and what is kept in memory, by counted cost.

A candidate's operation counts are exact: the run-time counters of the CPU device equal them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ringforge._native import GadgetShape
from ringforge.errors import LevelError, MemoryLimitError, ParameterError, ShapeError
from ringforge.matmul.cost import SCHEDULES, Pricing, ProductCost, cost
from ringforge.matmul.engine import Options
from ringforge.matmul.methods import e2dm_r, e2dm_s, fame, fold, hegmm_en, huang, ringforge
from ringforge.matmul.plan import ProductPlan
from ringforge.shown import ShownTable

#: Methods by name; "auto" takes Ringforge's own, "ringforge" and "fold"; the others are the published ones that these
#: are compared with.
METHODS: dict[str, Callable[[int, int, int, int], list[ProductPlan]]] = {
    "auto": lambda m, l, n, slots: [  # noqa: E741
        *ringforge.candidates(m, l, n, slots),
        *(fold.candidates(m, l, n, slots) if 1 in (m, n) else []),
    ],
    "fold": fold.candidates,
    "ringforge": ringforge.candidates,
    "fame": lambda m, l, n, slots: [fame.plan(m, l, n, slots)],  # noqa: E741
    "e2dm-s": lambda m, l, n, slots: [e2dm_s.plan(m, l, n, slots)],  # noqa: E741
    "e2dm-r": lambda m, l, n, slots: [e2dm_r.plan(m, l, n, slots)],  # noqa: E741
    "huang": lambda m, l, n, slots: [huang.plan(m, l, n, slots)],  # noqa: E741
    "hegmm-en": lambda m, l, n, slots: [hegmm_en.plan(m, l, n, slots)],  # noqa: E741
}

#: With few keys, rotations of the products are multiples of so many steps, and a rest.
VIA = (4, 8, 16, 32)


@dataclass(frozen=True)
class Candidate:
    """One way to multiply, with what it costs.

    Args:
        plan: what is computed.
        options: how it is run.
        level: of the inputs.
        cost: exact counts and memory.
        refused: why it may not be used, or empty.
    """

    plan: ProductPlan
    options: Options
    level: int
    cost: ProductCost
    refused: str = ""

    @property
    def name(self) -> str:
        """Variant, with what is unusual about how it is run."""
        kept = {"": "", "masks": " compact masks", "all": " compact"}[self.options.compact]
        extra = kept + (f" via {self.options.via}" if self.options.via else "")
        return (self.plan.label or self.plan.method) + extra


@dataclass(frozen=True)
class Choice:
    """The candidates for one shape and the one taken."""

    m: int
    l: int  # noqa: E741
    n: int
    candidates: tuple[Candidate, ...]
    chosen: Candidate

    @property
    def plan(self) -> ProductPlan:
        return self.chosen.plan

    @property
    def options(self) -> Options:
        return self.chosen.options

    @property
    def level(self) -> int:
        """Level of the inputs."""
        return self.chosen.level

    def explain(self, everything: bool = False) -> ShownTable:
        """The candidates as a table, the chosen one marked; the best of each kind unless `everything`."""
        table = ShownTable(title=f"{self.m} x {self.l} times {self.l} x {self.n}, both encrypted", show_lines=False)
        table.add_column("", no_wrap=True)
        table.add_column("plan", overflow="fold")
        for name in ("level", "rot", "KS", "NTT", "pt·ct", "keys", "key MiB", "pt MiB", "weight"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("", overflow="fold")
        for c in self.candidates if everything else self._best():
            ops = c.cost.ops
            table.add_row(
                "→" if c is self.chosen else "",
                f"{c.plan.method} {c.name}" if c.name != c.plan.method else c.name,
                f"{c.level} → {c.level - c.plan.depth}",
                str(ops.rotation),
                str(ops.key_switch),
                str(ops.ntt + ops.intt),
                str(ops.plain_mul),
                str(len(c.cost.keys) + 1),
                f"{c.cost.key_storage / 2**20:.1f}",
                f"{c.cost.plaintext_storage / 2**20:.1f}",
                f"{c.cost.weight / 1e6:.1f} M",
                "chosen" if c is self.chosen else c.refused,
            )
        return table

    def _best(self) -> list[Candidate]:
        """The chosen one, and the best for each depth, packing, and way of running."""
        best: dict[tuple[Any, ...], Candidate] = {}
        for c in sorted(self.candidates, key=lambda c: c.cost.weight):
            best.setdefault((c.plan.depth, c.plan.real_part, c.options), c)
        kept = {id(c) for c in best.values()} | {id(self.chosen)}
        return [c for c in self.candidates if id(c) in kept]


def product_shape(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, int, int]:
    """m, l, n of a product of matrices with these shapes.

    Raises:
        ShapeError: they do not chain, or one of them is no matrix.
    """
    if len(a) != 2 or len(b) != 2:
        raise ShapeError(f"shapes {a} and {b} are not those of two matrices: give rows and columns")
    if a[1] != b[0]:
        raise ShapeError(
            f"a {a[0]} x {a[1]} matrix does not chain with a {b[0]} x {b[1]} one: the left one needs {b[0]} columns, "
            f"or the right one {a[1]} rows"
        )
    return a[0], a[1], b[1]


def choose(
    context: Any,
    m: int,
    l: int,  # noqa: E741
    n: int,
    level: int | None = None,
    *,
    method: str = "auto",
    memory: int | None = None,
    keys: str = "all",
    schedule: str = "bsgs",
    pricing: Pricing | None = None,
    places: fold.Places | None = None,
) -> Choice:
    """Lists candidates for a product and picks the cheapest that fits.

    Args:
        context: of the ciphertexts.
        m, l, n: A is m x l, B is l x n.
        level: of the inputs; None: each candidate starts as low as it can.
        method: one of METHODS.
        memory: bytes that keys, encoded vectors and temporaries may take together. Where there is such a limit,
            vectors kept by their coefficients only are candidates too.
        keys: "all": each rotation has its own key; "few": rotations of products are composed of two; "auto": few if
            nothing fits with all.
        schedule: of linear transforms, one of naive, hoisted, mo, bsgs.
        pricing: of another machine than the CPU.
        places: where the operands lie, which method fold depends on; None: as they are encrypted.

    Raises:
        ParameterError: unknown method, keys or schedule. ShapeError: the matrices do not fit a ciphertext.
        LevelError: too few levels; the message says how many are needed. MemoryLimitError: nothing fits; the
            message names the smallest.
    """
    if method not in METHODS:
        raise ParameterError(f'there is no method "{method}"; choose one of {", ".join(METHODS)}')
    if keys not in {"all", "few", "auto"}:
        raise ParameterError(f'keys are "all", "few" or "auto", not "{keys}"')
    if schedule not in SCHEDULES:
        raise ParameterError(f'there is no schedule "{schedule}"; choose one of {", ".join(SCHEDULES)}')
    p = context.params
    asked = (context.gadget, p.max_level, m, l, n, level, method, memory)
    if keys == "auto":
        try:
            return _choose(*asked, "all", schedule, pricing, places)
        except MemoryLimitError:
            keys = "few"
    return _choose(*asked, keys, schedule, pricing, places)


def free_memory(share: float = 0.8) -> int:
    """Bytes that plans may take on this machine: a share of what is free."""
    with open("/proc/meminfo", encoding="ascii") as f:
        fields = dict(line.split(":", 1) for line in f)
    return int(share * 1024 * int(fields["MemAvailable"].split()[0]))


@lru_cache(maxsize=64)
def _choose(
    gadget: GadgetShape,
    max_level: int,
    m: int,
    l: int,  # noqa: E741
    n: int,
    level: int | None,
    method: str,
    memory: int | None,
    keys: str,
    schedule: str,
    pricing: Pricing | None = None,
    places: fold.Places | None = None,
) -> Choice:
    plans = _plans(method, m, l, n, gadget.degree // 2, places)
    highest = max_level if level is None else level
    fitting = [p for p in plans if p.depth <= highest]
    if not fitting:
        least = min(p.depth for p in plans)
        raise LevelError(
            f"a {m} x {l} by {l} x {n} product takes at least {least} levels, "
            + (f"the parameters have {max_level}" if level is None else f"the operands have {level}")
            + f": use parameters with at least {least + 1} primes"
            + ("" if level is None else f", or operands of level {least} or higher")
        )
    candidates = []
    for plan in fitting:
        at = plan.depth if level is None else level
        for options in _options(plan, memory, keys, schedule, pricing):
            found = cost(
                plan, gadget, at + 1, schedule=schedule, via=options.via, compact=options.compact, pricing=pricing
            )
            refused = ""
            if memory is not None and found.memory > memory:
                refused = f"needs {found.memory / 2**20:.0f} MiB of {memory / 2**20:.0f}"
            candidates.append(Candidate(plan, options, at, found, refused))
    usable = [c for c in candidates if not c.refused]
    if not usable:
        least_memory = min(candidates, key=lambda c: c.cost.memory)
        raise MemoryLimitError(
            f"no plan for a {m} x {l} by {l} x {n} product fits in {(memory or 0) / 2**20:.1f} MiB; the smallest "
            f"({least_memory.name}) needs {math.ceil(least_memory.cost.memory / 2**20)} MiB: raise the limit"
            + ("" if keys == "few" else ', take keys="few"')
            + ", or multiply at a lower level"
        )
    return Choice(m, l, n, tuple(candidates), min(usable, key=lambda c: c.cost.weight))


@lru_cache(maxsize=32)
def _plans(
    method: str,
    m: int,
    l: int,  # noqa: E741
    n: int,
    slots: int,
    places: fold.Places | None,
) -> tuple[ProductPlan, ...]:
    if places is None or method not in {"auto", "fold"}:
        return tuple(METHODS[method](m, l, n, slots))
    folding = fold.candidates(m, l, n, slots, places)
    if method == "auto":
        return (*_plans("ringforge", m, l, n, slots, None), *folding)
    if not folding:
        raise ShapeError(
            f"the operands of {m} x {l} times {l} x {n} do not lie as method fold needs: choose method auto"
        )
    return tuple(folding)


def _options(plan: ProductPlan, memory: int | None, keys: str, schedule: str, pricing: Pricing | None) -> list[Options]:
    """Ways to run a plan that are worth costing."""
    vias = VIA if keys == "few" and plan.lazy else (0,)
    compact = ("",) if memory is None else ("", "masks", "all") if plan.lazy else ("", "all")
    return [Options(schedule, c, v, pricing) for v in vias for c in compact]
