# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""BFV at the parameters of oblivious message retrieval, beside Lattigo: the same primes, digits and thread, in turn.

Times are processor time, medians over rounds that alternate the sides. Both sides check every slot of what they
measured. A whole affine transform has 1,024 diagonals, whose encodings exceed memory on Lattigo's side: a slice of 128
is run, with two outputs on both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from rich.table import Table

from ringforge import _native, bfv
from ringforge.errors import Error, ParameterError
from ringforge.lab.bench.timing import Timing, alternate, measure
from ringforge.lab.peers import lattigo
from ringforge.params import named_bfv
from ringforge.runs import Record

Words = npt.NDArray[np.int64]

#: Cases on ciphertexts, and what Lattigo calls them.
PEERS: Final[dict[str, lattigo.Case]] = {
    "rotation": "bfv_rotate",
    "hoisted rotation": "bfv_rotate_hoisted",
    "product": "bfv_multiply",
    "plaintext product": "bfv_multiply_plain",
    "encoding": "bfv_encode",
}
CASES: Final = (*PEERS, "affine")
#: How many times faster than Lattigo these have to be.
WANTED: Final = {"rotation": 4.0, "affine": 6.0}


@dataclass(frozen=True)
class OmrCase:
    """What to compare at a BFV set. `diagonals` of the affine slice, `babies` of ours, `log_bsgs` of Lattigo's."""

    params: str = "omr"
    rotations: int = 8
    diagonals: int = 128
    babies: int = 16
    log_bsgs: int = 1
    rounds: int = 3
    budget_s: float = 1.0
    insecure: str = ""

    def check(self) -> None:
        """Raises: ParameterError for what cannot be run."""
        if self.rotations < 1 or self.rounds < 1 or not 1 <= self.babies <= self.diagonals:
            raise ParameterError("take at least one rotation and one round, and 1 to `diagonals` baby steps")
        named_bfv(self.params, self.insecure)


class Ours:
    """Our side, one thread, in this process."""

    def __init__(self, case: OmrCase) -> None:
        self.case = case
        self.session = bfv.Session(named_bfv(case.params, case.insecure))
        self.t = int(self.session.params.t)
        rng = np.random.default_rng(5)
        self.x, self.y = (rng.integers(0, self.t, self.session.params.degree, dtype=np.int64) for _ in range(2))
        self.a, self.b = self.session.encrypt(self.x), self.session.encrypt(self.y)

    @cached_property
    def steps(self) -> list[int]:
        steps = list(range(1, self.case.rotations + 1))
        self.session.add_rotation_keys(steps)
        return steps

    def turned(self, step: int) -> Words:
        """The first message, both rows rotated."""
        return np.roll(self.x.reshape(2, -1), -step, axis=1).reshape(-1)

    def _expect(self, name: str, got: bfv.Ciphertext, want: Words) -> None:
        wrong = int((self.session.decrypt(got, signed=False) != want).sum())
        if wrong:
            raise Error(f"{name}: {wrong} slots are wrong: this build of ringforge is broken")

    def run(self, name: str) -> Timing:
        """Median seconds of one operation of this case, after its result was checked."""
        s, ev = self.session, self.session.evaluator
        budget, share = self.case.budget_s, 1
        call: Callable[[], Any]
        if name == "rotation":
            step = self.steps[0]

            def call() -> bfv.Ciphertext:
                return ev.rotate_rows(self.a, step, s.galois_keys)

            self._expect(name, call(), self.turned(step))
        elif name == "hoisted rotation":
            share = len(self.steps)

            def call() -> list[bfv.Ciphertext]:
                return ev.rotate_hoisted(self.a, self.steps, s.galois_keys)

            for step, got in zip(self.steps, call(), strict=True):
                self._expect(name, got, self.turned(step))
        elif name == "product":

            def call() -> bfv.Ciphertext:
                return ev.relinearize(ev.mul(self.a, self.b), s.relin_key)

            self._expect(name, call(), self.x * self.y % self.t)
        elif name == "plaintext product":
            multiplier = s.context.multiplier(bfv.encode(s.context, self.y))

            def call() -> bfv.Ciphertext:
                return ev.mul_plain(self.a, multiplier)

            self._expect(name, call(), self.x * self.y % self.t)
        elif name == "encoding":

            def call() -> bfv.Multiplier:
                return s.context.multiplier(bfv.encode(s.context, self.y))

            self._expect(name, ev.mul_plain(self.a, call()), self.x * self.y % self.t)
        else:
            raise ParameterError(f'there is no case "{name}": take one of {", ".join(CASES)}')
        taken = measure(call, budget, at_least=3)
        return Timing(taken.wall / share, taken.cpu / share, taken.iterations)


def peer_request(name: lattigo.Case, case: OmrCase) -> lattigo.Request:
    """Lattigo's side: the primes, digits and plaintext modulus of our set."""
    p = named_bfv(case.params, case.insecure)
    return lattigo.Request(
        name,
        log_n=int(p.log_n),
        q=tuple(p.q),
        p=tuple(p.p),
        rotations=tuple(range(1, case.rotations + 1)),
        diagonals=tuple(range(case.diagonals)),
        log_bsgs=case.log_bsgs,
        budget_s=case.budget_s,
        plaintext_modulus=int(p.t),
    )


def _theirs(name: lattigo.Case, case: OmrCase) -> lattigo.Result:
    result = lattigo.run(peer_request(name, case))
    if result.error:
        raise Error(f"{name} by Lattigo: {result.error:.0f} slots are wrong")
    return result


def compare(case: OmrCase, cases: Sequence[str] = CASES, peer: bool = True) -> Iterator[Record]:
    """A record for each case; `seconds` and `peer_seconds` are processor time.

    Raises:
        ParameterError: an unknown case, or as `OmrCase.check`. Error: a side's result is wrong.
    """
    case.check()
    for name in cases:
        if name not in CASES:
            raise ParameterError(f'there is no case "{name}": take one of {", ".join(CASES)}')
    ours = Ours(case)
    for name in cases:
        if name == "affine":
            continue
        results: list[lattigo.Result] = []

        def mine(name: str = name) -> float:
            return ours.run(name).cpu

        def other(name: str = name, results: list[lattigo.Result] = results) -> float:
            results.append(_theirs(PEERS[name], case))
            return results[-1].cpu_seconds

        sides = {"ringforge": mine} | ({"lattigo": other} if peer else {})
        taken = alternate(sides, case.rounds)
        yield _record(name, case, taken["ringforge"].reported, taken["lattigo"].reported if peer else None, results)


def _record(
    name: str, case: OmrCase, seconds: float, theirs: float | None, results: Sequence[lattigo.Result], **more: Any
) -> Record:
    extra: dict[str, Any] = {"kernels": _native.kernels.active(), "time": "processor", "rounds": case.rounds} | more
    if results:
        extra |= {
            "peer_wall_seconds": sorted(r.seconds for r in results)[len(results) // 2],
            "peer_rounds_seconds": [r.cpu_seconds for r in results],
            "peer_peak_mib": max(r.peak_mib for r in results),
            "peer_go": results[0].go_version,
        }
    if name in WANTED:
        extra["wanted_ratio"] = WANTED[name]
    return Record(
        system="omr",
        case=name,
        params=case.params,
        algorithm="ringforge",
        seconds=seconds,
        peer="lattigo" if results else None,
        peer_version=results[0].peer_version if results else None,
        peer_seconds=theirs,
        extra=extra,
    )


def verdict(records: Sequence[Record]) -> Table:
    """What has to be reached, and what was."""
    made = Table(title="beside Lattigo: times faster, by processor time")
    for column in ("case", "ours", "Lattigo", "times faster", "wanted", ""):
        made.add_column(column, justify="left" if column in ("case", "") else "right")
    for r in records:
        wanted = r.extra.get("wanted_ratio")
        made.add_row(
            r.case,
            f"{1e3 * r.seconds:,.1f} ms",
            "-" if r.peer_seconds is None else f"{1e3 * r.peer_seconds:,.1f} ms",
            "-" if r.ratio is None else f"{r.ratio:.1f}",
            "" if wanted is None else f"{wanted:.0f}",
            "" if wanted is None or r.ratio is None else ("reached" if r.ratio >= wanted else "NOT REACHED"),
        )
    return made
