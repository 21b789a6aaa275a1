# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What an accelerator of LTV leaves to the processor in AES: digits, reduction modulo Phi, modulus switches, sums.

Each part is measured on one ciphertext of a level, with words drawn at random: times do not depend on them, so no keys
are made. Counts are those of the circuits as they are planned, for all sixteen S-boxes and all rounds; times of levels
between those that are measured are interpolated.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ringforge import _native, ltv
from ringforge.aes.engine import BLOCK_BYTES
from ringforge.aes.ltv_engine import BITS, DEPTH, LEVELS, plan
from ringforge.aes.sbox import cipher
from ringforge.errors import ParameterError
from ringforge.lab.tables import Cell, Table, Value
from ringforge.lab.timing import Timing, both_clocks, measure
from ringforge.runs import Record

#: Parts, and what they are of one ciphertext.
PARTS: Final = {
    "digits": "a ciphertext's coefficients put together and cut into windows",
    "reduction": "a product or a relinearised ciphertext, below X^(transform length), modulo Phi",
    "switch": "a prime dropped",
    "addition": "a ciphertext added to a sum",
}

#: Type of a ciphertext's record, docs/formats.md.
_CIPHERTEXT: Final = 0x0603

#: Operands of a sum that is measured.
_TERMS = 8


@dataclass(frozen=True)
class HostCase:
    """What is measured.

    Args:
        params: a set of AES.
        levels: that are measured, of products: 0 ... 39, both ends among them.
        threads: one measurement for each number.
        rounds: medians of at least so many.
    """

    params: ltv.Parameters
    levels: tuple[int, ...] = (0, 8, 16, 24, 32, 36, 39)
    threads: tuple[int, ...] = (1, 2)
    rounds: int = 7
    budget_s: float = 0.2

    def check(self) -> None:
        """Raises: ParameterError for what cannot be measured."""
        if self.params.levels < LEVELS or self.params.ring != "padded":
            raise ParameterError("the host's part is that of AES in a padded ring of 40 levels: take ltv-paper")
        if min(self.levels) != 0 or max(self.levels) != LEVELS - 1 or self.rounds < 1:
            raise ParameterError(f"take at least one round, and levels from 0 to {LEVELS - 1}, both among them")
        if not self.threads or min(self.threads) < 1:
            raise ParameterError("take at least one thread")


def counts() -> dict[str, Counter[int]]:
    """How often AES takes each part on the host, by the level of products at which it does: of a state, encrypting.

    A switch over several primes counts at the levels on its way; an addition at the level of its operands, 40 at the
    end. Relinearisations are `digits`; a product is not reduced but as the result that it is summed to.
    """
    found = {part: Counter[int]() for part in PARTS}
    for i, step in enumerate(cipher("encrypt").rounds):
        first = DEPTH * i
        lies = dict.fromkeys(range(step.box.inputs), first)  # the level whose primes a value has
        for at, level in enumerate(plan(step.box), first):
            for v in level.carried:
                found["switch"].update(dict.fromkeys(range(lies[v], at), BLOCK_BYTES))
                lies[v] = at
            lies.update(dict.fromkeys([v for v, _, _ in level.sums], at))
            lies.update(dict.fromkeys(level.results, at + 1))
            results = BLOCK_BYTES * len(level.results)
            found["digits"][at] += results
            found["reduction"][at] += 2 * results
            found["switch"][at] += results
            rows = [terms for _, terms, _ in level.sums] + list(level.forms)
            rows += [(0, *(k for s in forms for k in level.forms[s])) for forms in level.linear]
            # What the digits' offset adds to a relinearised ciphertext is taken away: one more.
            found["addition"][at] += results + BLOCK_BYTES * sum(len(r) - 1 for r in rows)
        outputs = BLOCK_BYTES * sum(len(s.terms) for s in step.box.outputs)  # and the round key
        found["addition"][first + DEPTH] += outputs
    found["addition"][0] += BITS
    return found


def ciphertext(context: ltv.Context, level: int, rng: np.random.Generator, above: bool = False) -> ltv.Ciphertext:
    """One with random words.

    Args:
        above: with the primes of the level above, to be switched.
    """
    p = context.params
    limbs = p.limbs(level - above)
    head = struct.pack("<IIIIQdII", 32, limbs, level, 1, 1, 20.0, 2, 0)
    words = b"".join(rng.integers(0, q, p.degree, np.uint32).tobytes() for q in p.q[:limbs])
    record = _native.io.seal(_CIPHERTEXT, bytes(p.hash), head + words)
    return _native.io.ciphertext_from_bytes(record, context)


def _calls(context: ltv.Context, level: int, threads: int) -> dict[str, Callable[[], object]]:
    """Each part on one ciphertext of a level; `addition` on as many as a sum has more than one of."""
    p, rng = context.params, np.random.default_rng(level)
    batch, evaluator = ltv.BatchEvaluator(context, threads), ltv.Evaluator(context, threads)
    own = [ciphertext(context, level, rng) for _ in range(_TERMS)]
    above = ciphertext(context, level + 1, rng, above=True)
    words = np.stack([rng.integers(0, q, p.transform_length, np.uint32) for q in p.q[: p.limbs(level)]])[None]
    row, one = [list(range(_TERMS))], [[(0, 0)]]
    return {
        "digits": lambda: ltv.digits(context, own[0], threads),
        "reduction": lambda: batch.assemble(own[:1], [[0]], one, [], words),
        "switch": lambda: evaluator.mod_switch(above),
        "addition": lambda: batch.sums(own, row),
    }


def run(case: HostCase) -> Iterator[Record]:
    """A record for each part, level and number of threads: seconds of one ciphertext, and how often AES takes it at
    that level; then one for all of AES with each number of threads.

    Raises:
        ParameterError: as `HostCase.check`.
    """
    case.check()
    context, often = ltv.Context(case.params), counts()
    taken: dict[int, dict[str, dict[int, Timing]]] = {t: {part: {} for part in PARTS} for t in case.threads}
    for level in case.levels:
        for threads in case.threads:
            for part, call in _calls(context, level, threads).items():
                timing = measure(call, case.budget_s, at_least=case.rounds)
                timing = timing.times(1 / (_TERMS - 1) if part == "addition" else 1.0)
                taken[threads][part][level] = timing
                yield _record(case, f"host, {part}", level, threads, timing, {"count": often[part][level]})
    for threads in case.threads:
        walls = {part: _whole(often[part], taken[threads][part], "wall") for part in PARTS}
        cpus = {part: _whole(often[part], taken[threads][part], "cpu") for part in PARTS}
        whole = Timing(sum(walls.values()), sum(cpus.values()), 0)
        extra = {"parts": walls, "parts_cpu": cpus, "counts": {part: sum(often[part].values()) for part in PARTS}}
        yield _record(case, "host", None, threads, whole, extra)


def _whole(often: Mapping[int, int], taken: Mapping[int, Timing], clock: str) -> float:
    """Seconds of all levels; those between are interpolated, the last holds beyond."""
    levels = sorted(taken)
    known = [getattr(taken[level], clock) for level in levels]
    return float(sum(n * np.interp(level, levels, known) for level, n in often.items()))


def _record(
    case: HostCase, name: str, level: int | None, threads: int, timing: Timing, extra: Mapping[str, Any]
) -> Record:
    limbs = {} if level is None else {"limbs": case.params.limbs(level)}
    return Record(
        system="aes",
        case=name,
        params=case.params.name,
        algorithm=case.params.gadget,
        level=level,
        threads=threads,
        extra={
            "kernels": _native.kernels.active(),
            "samples": timing.iterations,
            **limbs,
            **extra,
        },
        **both_clocks(timing, threads=threads),
    )


def tables(records: Sequence[Record]) -> list[Table]:
    """Parts by level, and all of AES."""
    made = []
    for threads in dict.fromkeys(r.threads for r in records):
        own = [r for r in records if r.threads == threads]
        whole = next(r for r in own if r.case == "host")
        levels = sorted({r.level for r in own if r.level is not None})
        parts = {(r.case, r.level): r for r in own}
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (
                part,
                *(Value(1e3 * parts[f"host, {part}", level].seconds, "ms", "measured") for level in levels),
                Value(whole.extra["counts"][part], "", "derived"),
                Value(whole.extra["parts"][part], "s", "model"),
                Value(whole.extra["parts_cpu"][part], "s", "model"),
            )
            for part in PARTS
        )
        both = (Value(t or 0.0, "s", "model") for t in (whole.wall_seconds, whole.cpu_seconds))
        rows += (("all", *(None,) * (len(levels) + 1), *both),)
        limbs = [parts["host, digits", level].extra["limbs"] for level in levels]
        note = (
            "; ".join(f"{part}: {what}" for part, what in PARTS.items())
            + ". "
            + ("Processor" if threads == 1 else "Wall")
            + " time of one ciphertext with so many primes, medians; AES: times counts at all 40 levels. Wall times of "
            "a machine that does other things too are too long; processor time is of all threads together. Not "
            "counted: evaluation keys, read and summed once for each level (`KeyParts`), reordered for the published "
            "engine; copies of products' operands that are no sums."
        )
        made.append(
            Table(
                f"The host's part of AES, {whole.params}, {threads} thread(s)",
                ("", *(f"{n} primes" for n in limbs), "in AES", "AES, wall", "AES, CPU"),
                rows,
                (note,),
            )
        )
    return made
