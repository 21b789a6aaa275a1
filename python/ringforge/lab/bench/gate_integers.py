# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Encrypted integers on gates beside tfhe-rs's unsigned integers, in turn, on one thread.

Each side has keys that promise failures of the same probability for what it bootstraps: a decision of a gate here, a
programmable bootstrap there. Operands are fresh, ratios are of processor time, and every result is decrypted and
compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import numpy as np
from rich.table import Table

from ringforge import _native, gates, security
from ringforge.errors import Error, ParameterError
from ringforge.gates import integers, sets
from ringforge.gates.integers import IntType
from ringforge.gates.sums import limit_log2
from ringforge.lab.peers import tfhe
from ringforge.lab.timing import Timing, alternate, both_clocks, median, timed, total
from ringforge.runs import Record, duration

#: The peer's parameters that promise as much as ours.
PEER_SETS: Final = {"gates-128": "2^-64", "gates-128-f128": "2^-128"}

#: Operations: ours, and what they give.
OPERATIONS: Final[dict[str, tuple[Callable[[Any, Any], Any], Callable[[int, int], int]]]] = {
    "add": (lambda x, y: x + y, lambda a, b: a + b),
    "sub": (lambda x, y: x - y, lambda a, b: a - b),
    "mul": (lambda x, y: x * y, lambda a, b: a * b),
    "min": (integers.minimum, min),
    "max": (integers.maximum, max),
}
#: Measured by default. Products of 32 bits take seconds on both sides.
DEFAULT: Final = ("add8", "min8", "mul8", "add32", "min32", "mul32")
WIDTHS: Final = (8, 16, 32, 64)


@dataclass(frozen=True)
class IntegersCase:
    """What is measured: operations like "add32", each for `budget_s` seconds in a round, and twice at least."""

    params: str = "gates-128"
    operations: tuple[str, ...] = DEFAULT
    rounds: int = 3
    budget_s: float = 1.0
    insecure: str = ""

    def check(self) -> None:
        """Raises: ParameterError for what cannot be measured."""
        sets.named(self.params, self.insecure)
        for name in self.operations:
            split(name)
        if self.rounds < 1:
            raise ParameterError(f"rounds {self.rounds}: at least 1")


def split(name: str) -> tuple[str, int]:
    """An operation and its width.

    Raises:
        ParameterError: there is none of this name.
    """
    found = re.fullmatch(r"([a-z]+)([0-9]+)", name)
    if not found or found[1] not in OPERATIONS or int(found[2]) not in WIDTHS:
        widths = ", ".join(map(str, WIDTHS))
        raise ParameterError(f'no operation "{name}": {", ".join(OPERATIONS)} with a width, {widths}: add32')
    return found[1], int(found[2])


@dataclass
class _Side:
    samples: dict[str, list[Timing]] = field(default_factory=dict)

    def median(self, name: str) -> Timing:
        """Over all rounds."""
        return median(self.samples[name])


class Ours(_Side):
    """Our side: keys of one set, and rounds with them."""

    def __init__(self, case: IntegersCase) -> None:
        super().__init__()
        case.check()
        self.case = case
        self.secret, self.key = gates.keygen(case.params, insecure=case.insecure)
        self.bootstraps: dict[str, int] = {}
        self._random = np.random.default_rng(1)

    def round(self) -> Timing:
        """One round; returns the sum of its medians."""
        for name in self.case.operations:
            self.samples.setdefault(name, []).append(self._time(name))
        return total(self.samples[name][-1] for name in self.case.operations)

    def _time(self, name: str) -> Timing:
        operation, width = split(name)
        ours, exact = OPERATIONS[operation]
        dtype, evaluator = IntType(width), gates.Evaluator(self.key)
        runs: list[Timing] = []
        # The first run makes the circuit and warms up.
        while len(runs) < 3 or total(runs).wall < self.case.budget_s:
            a, b = (int.from_bytes(self._random.bytes(width // 8), "little") for _ in range(2))
            x, y = (evaluator.bind(integers.encrypt(self.secret, v, dtype)) for v in (a, b))
            before = evaluator.bootstraps
            taken, result = timed(lambda x=x, y=y: ours(x, y))  # type: ignore[misc]
            runs.append(taken)
            self.bootstraps[name] = evaluator.bootstraps - before
            if integers.decrypt(self.secret, result) != exact(a, b) % (1 << width):
                raise Error(f"{name} is wrong at {self.case.params}: a gate failed, or the build is bad")
        return median(runs[1:])


class _Peer(_Side):
    def __init__(self, case: IntegersCase, params: str) -> None:
        super().__init__()
        self.case, self.params = case, params
        self.last: tfhe.IntegersResult | None = None

    def round(self) -> Timing:
        self.last = tfhe.run_integers(tfhe.IntegersRequest(self.params, self.case.operations, self.case.budget_s))
        for name, g in self.last.operations.items():
            self.samples.setdefault(name, []).append(Timing(g.seconds, g.cpu_seconds, g.iterations))
        return total(self.samples[name][-1] for name in self.last.operations)


def compare(case: IntegersCase, *, peer: bool = True) -> Iterator[Record]:
    """A record for each operation.

    Raises:
        ParameterError: a case that cannot be measured. PeerMissingError: no Rust. Error: a result is wrong.
    """
    case.check()
    theirs = _Peer(case, PEER_SETS[case.params]) if peer and case.params in PEER_SETS else None
    if theirs is not None:
        tfhe.program()
    ours = Ours(case)
    sides: dict[str, Callable[[], Timing]] = {"ours": partial(ours.round)}
    if theirs is not None:
        sides["tfhe"] = partial(theirs.round)
    alternate(sides, case.rounds)
    s = sets.named(case.params, case.insecure)
    for name in case.operations:
        timing = ours.median(name)
        extra: dict[str, Any] = {
            "runs": timing.iterations,
            "rounds": case.rounds,
            "rounds_seconds": [[t.wall, t.cpu] for t in ours.samples[name]],
            "bootstraps": ours.bootstraps[name],
            "failure_log2": limit_log2(s),
            "security_bits": min(security.estimate(i).bits for i in s.instances().values()),
            "kernels": _native.kernels.active(),
            "insecure": s.insecure,
        }
        beside: dict[str, Any] = both_clocks(timing)
        if theirs is not None and theirs.last is not None:
            other = theirs.median(name)
            beside = {
                "peer": theirs.last.peer,
                "peer_version": theirs.last.peer_version,
                **both_clocks(timing, other),
            }
            extra |= {
                "peer_params": theirs.params,
                "peer_runs": other.iterations,
                "peer_rounds_seconds": [[t.wall, t.cpu] for t in theirs.samples[name]],
                "peer_failure_log2": theirs.last.failure_log2,
                "peer_security_bits": theirs.last.security_bits(),
            }
        yield Record(
            system="gates", case=name, params=case.params, algorithm="ginx", threads=1, extra=extra,
            **beside,
        )  # fmt: skip


def details(records: Sequence[Record]) -> Table:
    """Bootstraps, failures and security of both sides."""
    made = Table(title="encrypted integers, one thread: processor time, failures and security (bits)")
    made.add_column("params")
    made.add_column("case")
    for name in (
        "bootstraps", "time", "a decision fails", "security", "tfhe-rs", "ours / theirs", "a bootstrap fails",
        "security",
    ):  # fmt: skip
        made.add_column(name, justify="right")
    for r in records:
        x = r.extra
        made.add_row(
            r.params,
            r.case,
            str(x["bootstraps"]),
            duration(r.seconds),
            f"2^{x['failure_log2']:.0f}",
            f"{x['security_bits']:.0f}",
            duration(r.peer_seconds) if r.peer else "-",
            f"{r.seconds / r.peer_seconds:.2f}" if r.peer_seconds else "-",
            f"2^{x['peer_failure_log2']:.0f}" if "peer_failure_log2" in x else "-",
            f"{x['peer_security_bits']:.0f}" if "peer_security_bits" in x else "-",
        )
    return made
