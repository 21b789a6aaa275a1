# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The LTV accelerator paper's ring on this machine, beside FLINT and the paper's times.

`product`: two polynomials modulo Phi_65535 and 41 primes of 31 bits, power basis in and out, not reduced, reduced by
binomials, and by Barrett's method. FLINT gets the same residues, and all results are compared. `own`: the ring's own
transform with one prime of 50 bits beside zero padding with the same prime and with a prime of 31 bits. The paper's
times are its own: an FPGA with its transfers, not reduced, and what its factors imply for a CPU and a GPU. `scheme`:
operations of LTV, which is broken, at a set that is named with a reason.

Times are medians over rounds in which all sides take turns: processor time counts on one thread, wall time on more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ringforge import _native, ltv
from ringforge.binary_slots import PAPER_INDEX, BinarySlots
from ringforge.errors import Error, ParameterError
from ringforge.lab.papers.aes import figures, times
from ringforge.lab.peers import flint
from ringforge.lab.tables import Cell, Table, Value
from ringforge.lab.timing import Timing, alternate, both_clocks, measure, median
from ringforge.runs import Record

CASES: Final = ("product", "own", "slots")
#: Ways to multiply in the ring, and what they are called in tables.
METHODS: Final = {
    "unreduced": "not reduced",
    "additions": "reduced by binomials",
    "barrett": "reduced by Barrett's method",
    "own": "own transform, tensor basis",
}
OWN_BITS: Final = 50
#: Operations of LTV in the order they are measured, and the paper's milliseconds, where it has them.
SCHEME: Final[dict[str, float | None]] = {
    "keys": None,
    "evaluation key": None,
    "encrypt": None,
    "multiply": figures.MULTIPLY_MS,
    "relinearise": figures.RELINEARISE_MS,
    "switch": figures.SWITCH_MS,
    "decrypt": None,
}
_SEED: Final = 65_535


@dataclass(frozen=True)
class AesCase:
    """What to measure: index of the ring, primes of 31 bits, threads of ours, rounds in which the sides take turns."""

    index: int = PAPER_INDEX
    primes: int = figures.PRIMES
    threads: tuple[int, ...] = (1, 2)
    rounds: int = 3
    budget_s: float = 0.5

    def check(self) -> None:
        """Raises: ParameterError for what cannot be run."""
        if self.rounds < 1 or not self.threads or min(self.threads) < 1 or self.primes < 1:
            raise ParameterError("take at least one round, one thread and one prime")
        BinarySlots(self.index)

    @property
    def moduli(self) -> list[int]:
        """The largest primes of 31 bits with roots of unity for transforms of twice the paper's length."""
        return list(_native.kernels.primes_below(times.PRIME_BITS, self.primes, 2 * figures.DEGREE))

    @property
    def prime_for_both(self) -> int:
        """The largest prime of 50 bits that the ring's own transform and zero padding both can take."""
        padded = 1 << (2 * BinarySlots(self.index).degree - 2).bit_length()
        return int(_native.kernels.primes_below(OWN_BITS, 1, self.index * padded)[0])

    @property
    def name(self) -> str:
        return f"Phi_{self.index}, {self.primes} primes of {times.PRIME_BITS} bits"


@dataclass
class _Side:
    """One way to multiply polynomials that stay the same; what each turn took."""

    index: int
    primes: Sequence[int]
    a: npt.NDArray[Any]
    b: npt.NDArray[Any]
    method: str
    threads: int
    budget_s: float
    runs: list[Timing] = field(default_factory=list)
    repeat: int = 0

    def _run(self, repeat: int) -> tuple[npt.NDArray[Any], Timing]:
        result, wall, cpu = _native.kernels.ring_product(
            self.index, self.primes, self.a, self.b, self.threads, repeat, self.method
        )
        return np.asarray(result), Timing(float(wall), float(cpu), repeat)

    def first(self) -> npt.NDArray[Any]:
        """The product, rows of residues; not counted."""
        result, taken = self._run(1)
        self.repeat = max(1, int(self.budget_s / max(taken.wall, 1e-6)))
        return result.reshape(len(self.primes), -1)

    def __call__(self) -> Timing:
        self.runs.append(self._run(self.repeat)[1])
        return self.runs[-1]

    def record(self, case: str, params: str, peer: Timing | None, extra: dict[str, Any]) -> Record:
        """A record of all turns."""
        return Record(
            system="aes",
            case=f"{case}, {self.method}",
            params=params,
            algorithm=self.method,
            threads=self.threads,
            peer=None if peer is None else "flint",
            peer_version=None if peer is None else flint.version(),
            extra={"kernels": _native.kernels.active()} | extra,
            **both_clocks(median(self.runs), peer, threads=self.threads),
        )


def _residues(primes: Sequence[int], degree: int, word: type[np.unsignedinteger[Any]]) -> tuple[Any, Any]:
    rng = np.random.default_rng(_SEED)
    a, b = (np.stack([rng.integers(0, p, degree, dtype=word) for p in primes]) for _ in range(2))
    return a, b


def _same(got: npt.NDArray[Any], wanted: npt.NDArray[Any], what: str) -> None:
    if not np.array_equal(got, wanted):
        raise Error(f"product: {what} is another: this build of ringforge is broken")


def _products(case: AesCase, peer: bool) -> Iterator[Record]:
    primes = case.moduli
    a, b = _residues(primes, BinarySlots(case.index).degree, np.uint32)
    ways = [("unreduced", 1), *((method, t) for method in ("additions", "barrett") for t in case.threads)]
    sides = {f"{m} {t}": _Side(case.index, primes, a, b, m, t, case.budget_s) for m, t in ways}
    results = {name: side.first() for name, side in sides.items()}
    reduced = results[f"additions {case.threads[0]}"]
    for name, side in sides.items():
        if side.method != "unreduced":
            _same(results[name], reduced, f"what {METHODS[side.method]} on {side.threads} thread(s) gives")
    found: list[flint.Product] = []

    def theirs() -> Timing:
        found.append(flint.product(case.index, primes, a, b))
        _same(found[-1].whole, results["unreduced 1"][:, : found[-1].whole.shape[1]], "FLINT's product")
        _same(found[-1].residues, reduced, "FLINT's result")
        return _reduced(found[-1])

    alternate({**sides, **({"flint": theirs} if peer else {})}, case.rounds)
    multiply = median(Timing(f.multiply_wall, f.multiply) for f in found) if found else None
    reduce = median(map(_reduced, found)) if found else None
    extra: dict[str, Any] = {"rounds": case.rounds, "words": 32}
    if case.index == PAPER_INDEX and case.primes == figures.PRIMES:
        extra["papers_seconds"] = {name: value.number / 1e3 for name, value in papers_products().items()}
    for side in sides.values():
        yield side.record("product", case.name, multiply if side.method == "unreduced" else reduce, extra)


def _reduced(f: flint.Product) -> Timing:
    return Timing(f.multiply_wall + f.reduce_wall, f.multiply + f.reduce)


def _own(case: AesCase) -> Iterator[Record]:
    degree = BinarySlots(case.index).degree
    prime, small = [case.prime_for_both], case.moduli[:1]
    a, b = _residues(prime, degree, np.uint64)
    sides = {m: _Side(case.index, prime, a, b, m, 1, case.budget_s) for m in ("own", "additions", "barrett")}
    results = {name: side.first() for name, side in sides.items()}
    for name, result in results.items():
        _same(result, results["additions"], f"what {METHODS[name]} gives")
    short = _Side(case.index, small, *_residues(small, degree, np.uint32), "additions", 1, case.budget_s)
    short.first()
    alternate({**sides, "short": short}, case.rounds)
    for side, bits in (*((side, OWN_BITS) for side in sides.values()), (short, times.PRIME_BITS)):
        extra = {"rounds": case.rounds, "words": 32 if side is short else 64, "bits": bits}
        yield side.record("own", f"Phi_{case.index}, a prime of {bits} bits", None, extra)


def papers_products() -> dict[str, Value]:
    """The paper's milliseconds of a product, transfers included and not reduced: printed, and by its factors."""
    return {
        "FPGA": Value(figures.MULTIPLY_MS, "ms", "paper"),
        "CPU": Value(figures.CPU_TIMES * figures.MULTIPLY_MS, "ms", "derived"),
        "GPU": Value(figures.GPU_TIMES * figures.MULTIPLY_MS, "ms", "derived"),
    }


def _slots(case: AesCase) -> Iterator[Record]:
    slots = BinarySlots(case.index)
    values = np.random.default_rng(_SEED).integers(0, 1 << slots.field_degree, slots.size, dtype=np.uint64)
    polynomial = slots.encode(values)
    if not np.array_equal(slots.decode(polynomial), values):
        raise Error("slots: what was encoded is not what comes back: this build of ringforge is broken")
    for name, call in (("encode", lambda: slots.encode(values)), ("decode", lambda: slots.decode(polynomial))):
        yield Record(
            system="aes",
            case=f"slots, {name}",
            params=f"Phi_{case.index}, {slots.size:,} slots of GF(2^{slots.field_degree})",
            algorithm="ringforge",
            **both_clocks(measure(call, case.budget_s, at_least=3)),
        )


def compare(case: AesCase, cases: Sequence[str] = CASES, peer: bool = True) -> Iterator[Record]:
    """Records of the cases; FLINT has one thread.

    Raises:
        ParameterError: an unknown case, or as `AesCase.check`. Error: results differ, or FLINT is not installed.
    """
    case.check()
    for name in cases:
        if name not in CASES:
            raise ParameterError(f'there is no case "{name}": take one of {", ".join(CASES)}')
    if peer and "product" in cases:
        flint.load()
    for name in cases:
        if name == "product":
            yield from _products(case, peer)
        else:
            yield from _own(case) if name == "own" else _slots(case)


def scheme(params: ltv.Parameters, level: int = 0, threads: int = 1, rounds: int = 3) -> Iterator[Record]:
    """Operations of LTV on ciphertexts of a level, bits in slots. The result is held against the clear.

    Keys are made once, all public ones and one evaluation key; medians of `rounds` otherwise.

    Raises:
        LevelError: the last level, below which there is none, or one that there is not. Error: wrong bits.
    """
    slots = BinarySlots(params.m)
    u, v = np.random.default_rng(_SEED).integers(0, 2, (2, slots.size))
    params.digits(level + 1)  # refuses levels before keys are made
    taken: dict[str, Timing] = {}

    def timed(name: str, call: Callable[[], Any], once: bool = False) -> Any:
        results: list[Any] = []

        def run() -> None:
            results[:] = [call()]

        taken[name] = measure(run, 0.0, warmup=0 if once else 1, at_least=1 if once else rounds)
        return results[0]

    context = ltv.Context(params)
    client, evaluator = ltv.Client(context), ltv.Evaluator(context, threads)
    secret, public = timed("keys", lambda: client.keys(threads), once=True)
    key = timed("evaluation key", lambda: client.eval_key(secret, public, level + 1, threads), once=True)
    x = timed("encrypt", lambda: client.encrypt(slots.encode_bits(u), public, level, threads))
    y = client.encrypt(slots.encode_bits(v), public, level, threads)
    product = timed("multiply", lambda: evaluator.mul(x, y))
    below = timed("relinearise", lambda: evaluator.relinearize(product, key))
    switched = timed("switch", lambda: evaluator.mod_switch(below))
    got = slots.decode_bits(timed("decrypt", lambda: client.decrypt(switched, secret, threads)))
    if not np.array_equal(got, u & v):
        raise Error("ltv: a product's bits are wrong: this build of ringforge is broken")
    for name, printed in SCHEME.items():
        extra: dict[str, Any] = {"kernels": _native.kernels.active(), "gadget": params.gadget, "window": params.window}
        if name == "evaluation key":
            extra["bytes"] = key.bytes
            extra["levels_factor"] = sum(map(params.key_bytes, range(1, params.levels + 1))) / key.bytes
        if printed is not None and params.m == PAPER_INDEX and level == 0:
            extra["papers_seconds"] = {"FPGA": printed / 1e3}
        yield Record(
            system="aes",
            case=f"ltv, {name}",
            params=params.name,
            algorithm=params.gadget,
            level=level,
            threads=threads,
            extra=extra | {"insecure": params.insecure},
            **both_clocks(taken[name], threads=threads),
        )


def _neighbours(records: Sequence[Record], first: str, second: str) -> list[tuple[Record, Record]]:
    return [(a, b) for a, b in pairwise(records) if (a.case, b.case) == (first, second)]


def scheme_beside_the_paper(records: Sequence[Record]) -> list[Table]:
    """Operations of LTV, beside the paper's times of those that it prints at the top level; each number marked."""
    rows: list[tuple[Cell, ...]] = []
    for r in (r for r in records if r.case.startswith("ltv, ")):
        printed = r.extra.get("papers_seconds", {}).get("FPGA")
        beside: tuple[Cell, ...] = (None, None)
        if printed is not None:
            beside = Value(1e3 * printed, "ms", "paper"), _over(printed, r.wall_seconds)
        rows.append((r.case, f"{r.level}", f"{r.threads}", *_times_of(r), *beside))
    if not rows:
        return []
    for keys, key in _neighbours(records, "ltv, keys", "ltv, evaluation key"):
        both = [
            Value(1e3 * ((a or 0.0) + key.extra["levels_factor"] * (b or 0.0)), "ms", "derived")
            for a, b in ((keys.wall_seconds, key.wall_seconds), (keys.cpu_seconds, key.cpu_seconds))
        ]
        rows.append(("keys of all levels, by their bytes", None, f"{key.threads}", *both, None, None))
    note = (
        "The paper's times are its own; no such hardware was run. Its product is not reduced, ours is; its "
        "relinearisation has parts that make 472 ms."
    )
    columns = ("", "level", "threads", "wall", "CPU", "the paper's FPGA with its PC", "over ours")
    return [Table("Operations of LTV", columns, tuple(rows), (note,))]


def beside_the_paper(records: Sequence[Record]) -> list[Table]:
    """Products beside FLINT's and the paper's, and the own transform beside padding; each number marked."""
    made: list[Table] = []
    products = [r for r in records if r.case.startswith("product, ") and "papers_seconds" in r.extra]
    if products:
        made.append(_product_table(products))
    own = [r for r in records if r.case.startswith("own, ")]
    return [*made, _own_table(own)] if own else made


def _times_of(r: Record) -> list[Cell]:
    return [None if t is None else Value(1e3 * t, "ms", "measured") for t in (r.wall_seconds, r.cpu_seconds)]


def _over(other: float | None, ours: float | None) -> Cell:
    return None if other is None or not ours else Value(other / ours, "x", "derived")


def _peer_times(r: Record) -> tuple[float | None, float | None]:
    return r.peer_wall_seconds, r.peer_cpu_seconds


def _product_table(products: Sequence[Record]) -> Table:
    papers = papers_products()
    rows: list[tuple[Cell, ...]] = []
    for r in products:
        over = _over(r.peer_cpu_seconds, r.cpu_seconds)
        others = (_over(v.number / 1e3, r.wall_seconds) for v in papers.values())
        rows.append((f"ours, {METHODS[r.algorithm]}", str(r.threads), *_times_of(r), over, *others))
    whole = {r.algorithm: r for r in products if r.peer_seconds is not None}
    for method, r in whole.items():
        if method != "barrett":
            what = "not reduced" if method == "unreduced" else "reduced"
            times = (None if t is None else Value(1e3 * t, "ms", "measured") for t in _peer_times(r))
            rows.append((f"FLINT, {what}", "1", *times, *(None,) * 4))
    rows += [(f"the paper's {name}, not reduced, with transfers", None, v, *(None,) * 5) for name, v in papers.items()]
    return Table(
        f"A product, {products[0].params}",
        ("", "threads", "wall", "CPU", "FLINT over it", *(f"paper's {name} over it" for name in papers)),
        tuple(rows),
        (
            "FLINT over it: processor time, its multiplication alone for what is not reduced. The paper's times are "
            "its own; no such hardware was run. It prints 9.51 ms, and factors of 28 and 17 over CPU and GPU. Reduced "
            "by its method a product takes it 19 ms more.",
        ),
    )


def _own_table(own: Sequence[Record]) -> Table:
    first = own[0].cpu_seconds or 0.0
    rows: list[tuple[Cell, ...]] = []
    for r in own:
        cpu, bits = r.cpu_seconds or 0.0, r.extra["bits"]
        name = METHODS[r.algorithm] if r.algorithm == "own" else f"zero padding, {METHODS[r.algorithm]}"
        a_bit = Value(1e6 * cpu / bits, "us", "derived")
        rows.append((name, f"{bits}", f"{r.extra['words']}", *_times_of(r), a_bit, _over(cpu, first)))
    return Table(
        f"A product modulo Phi_{own[0].params.split('_')[1].split(',')[0]} and one prime, one thread",
        ("", "bits", "word", "wall", "CPU", "CPU a bit of the modulus", "over own"),
        tuple(rows),
        ("Own: input and output in the tensor basis, in which sums and switching are done as well.",),
    )
