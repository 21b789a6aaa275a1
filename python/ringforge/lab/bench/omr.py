# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""BFV at the parameters of oblivious message retrieval, beside Lattigo: the same primes, digits and thread, in turn.

Times are medians over rounds that alternate the sides, and ratios are of processor time. Both sides check every slot of
what they measured. A whole affine transform has 1,024 diagonals, whose encodings exceed memory on Lattigo's side: a
slice of 128 is run, with two outputs on both sides.
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
from ringforge.lab.peers import lattigo
from ringforge.lab.timing import Timing, alternate, both_clocks, measure, median, total
from ringforge.omr.kernels import AffineShape
from ringforge.params import named_bfv
from ringforge.runs import Record

Words = npt.NDArray[np.int64]
#: Outputs of an affine transform: clues of a signal.
OUTPUTS: Final = 2

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
WANTED: Final = {"rotation": 4.0, "affine": 6.0, "affine with encoding": 6.0}


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
        rows: Words = np.roll(self.x.reshape(2, -1), -step, axis=1)
        return rows.reshape(-1)

    def _expect(self, name: str, got: bfv.Ciphertext, want: Words) -> None:
        wrong = int((self.session.decrypt(got, signed=False) != want).sum())
        if wrong:
            raise Error(f"{name}: {wrong} slots are wrong: this build of ringforge is broken")

    def run(self, name: str) -> Timing:
        """Median time of one operation of this case, after its result was checked."""
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
                return list(ev.rotate_hoisted(self.a, self.steps, s.galois_keys))

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
        return taken.times(1 / share)


class Slice:
    """The affine transform of a bulletin whose signals have as many words as the slice has diagonals."""

    def __init__(self, ours: Ours) -> None:
        self.session, case = ours.session, ours.case
        columns, t = case.diagonals, ours.t
        self.shape = AffineShape(
            self.session.context, columns, OUTPUTS, case.babies, "ringforge", int(self.session.params.max_limbs)
        )
        rng = np.random.default_rng(6)
        self.signals = rng.integers(0, t, (self.session.params.degree, columns), dtype=np.uint32)
        key = rng.integers(0, t, columns, dtype=np.uint32)
        self.session.add_galois_keys([self.shape.native.baby_element, self.shape.native.giant_element])
        self.v = self.session.encrypt(np.asarray(self.shape.layout.key_slots(key)).astype(np.int64))
        self.diagonals = self.encode()
        wanted = affine_in_clear(self.signals, key, OUTPUTS, t)
        for output, got in enumerate(self.evaluate()):
            wrong = int((self.session.decrypt(got, signed=False) != wanted[:, output]).sum())
            if wrong:
                raise Error(f"affine: {wrong} slots of output {output} are wrong: this build of ringforge is broken")

    def encode(self) -> list[npt.NDArray[np.uint8]]:
        """The packed diagonals, from signals."""
        return [np.asarray(self.shape.layout.encode(self.signals, g)) for g in range(self.shape.layout.giants)]

    def evaluate(self) -> list[bfv.Ciphertext]:
        """Both outputs: rotations of the key, then products and giant steps. Diagonals are transformed on the way."""
        galois = self.session.galois_keys
        babies = self.shape.native.babies(self.v, galois)
        return list(self.shape.native.run(babies, 0, self.diagonals, galois))

    def run(self) -> tuple[Timing, Timing]:
        """Times of evaluating and of encoding, once each."""
        return measure(self.evaluate, 0.0, warmup=0), measure(self.encode, 0.0, warmup=0)


def affine_in_clear(
    signals: npt.NDArray[np.uint32], key: npt.NDArray[np.uint32], outputs: int, t: int
) -> npt.NDArray[np.int64]:
    """The first coefficients of a_m * s modulo X^n + 1 and t, one row for each m."""
    n = len(key)
    a, s = signals.astype(np.int64), key.astype(np.int64)
    columns = []
    for output in range(outputs):
        # Coefficient `output` is the sum over c of a[output - c] s[c], negated where the index wraps around.
        turned = np.array([s[output - i] if i <= output else -s[n + output - i] for i in range(n)], dtype=np.int64)
        columns.append(np.mod(a @ turned, t))
    return np.stack(columns, axis=1)


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
    """A record for each case.

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
            yield from _affine(ours, peer)
            continue
        results: list[lattigo.Result] = []

        def mine(name: str = name) -> Timing:
            return ours.run(name)

        def other(name: str = name, results: list[lattigo.Result] = results) -> Timing:
            results.append(_theirs(PEERS[name], case))
            return _timing(results[-1])

        taken = alternate({"ringforge": mine} | ({"lattigo": other} if peer else {}), case.rounds)
        yield _record(name, case, taken["ringforge"], taken.get("lattigo", []), results)


def _timing(result: lattigo.Result) -> Timing:
    return Timing(result.seconds, result.cpu_seconds, result.iterations)


def _affine(ours: Ours, peer: bool) -> Iterator[Record]:
    """Two records: diagonals as the board stores them, and from signals (Lattigo: from slots)."""
    case, mine = ours.case, Slice(ours)
    own: list[tuple[Timing, Timing]] = []
    results: list[lattigo.Result] = []

    def here() -> Timing:
        own.append(mine.run())
        return own[-1][0]

    def there() -> Timing:
        results.append(_theirs("bfv_affine", case))
        return _timing(results[-1])

    alternate({"ringforge": here} | ({"lattigo": there} if peer else {}), case.rounds)
    layout = mine.shape.layout
    more = {
        "diagonals": case.diagonals,
        "outputs": OUTPUTS,
        "babies": case.babies,
        "giants": int(layout.giants),
        "keys": len({mine.shape.native.baby_element, mine.shape.native.giant_element}),
        "peer_keys": None if not results else (results[0].parts or {}).get("keys"),
        "peer_log_bsgs": case.log_bsgs if results else None,
    }
    encoding = [Timing(r.encode_seconds or 0.0, (r.parts or {})["encode_cpu"]) for r in results]
    yield _record("affine", case, [run for run, _ in own], [_timing(r) for r in results], results, **more)
    yield _record(
        "affine with encoding",
        case,
        [total(both) for both in own],
        [total((_timing(r), e)) for r, e in zip(results, encoding, strict=True)],
        results,
        **more,
    )


def _record(
    name: str,
    case: OmrCase,
    ours: Sequence[Timing],
    theirs: Sequence[Timing],
    results: Sequence[lattigo.Result],
    **more: Any,
) -> Record:
    extra: dict[str, Any] = {"kernels": _native.kernels.active(), "rounds": case.rounds} | more
    if results:
        extra |= {
            "peer_rounds_seconds": [[t.wall, t.cpu] for t in theirs],
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
        peer="lattigo" if results else None,
        peer_version=results[0].peer_version if results else None,
        extra=extra,
        **both_clocks(median(ours), median(theirs) if theirs else None),
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
