# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The LTV accelerator paper's ring on this machine, beside FLINT and the paper's times.

A product is of two polynomials modulo Phi_65535 and 41 primes of 31 bits, power basis in and out, reduced. FLINT gets
the same residues, and both results are compared. The paper's times are its own: an FPGA with its transfers, not
reduced, and what its factors imply for a CPU and a GPU. LTV, which is broken, is measured at a set that is named with
a reason.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ringforge import _native, ltv
from ringforge.binary_slots import PAPER_INDEX, BinarySlots
from ringforge.errors import Error, ParameterError
from ringforge.lab.bench.timing import Timing, alternate, measure
from ringforge.lab.papers.aes import figures, times
from ringforge.lab.peers import flint
from ringforge.lab.tables import Cell, Table, Value
from ringforge.runs import Record

CASES: Final = ("product", "slots")
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
    def name(self) -> str:
        return f"Phi_{self.index}, {self.primes} primes of {times.PRIME_BITS} bits"


def _products(case: AesCase, peer: bool) -> Iterator[Record]:
    primes = case.moduli
    rng = np.random.default_rng(_SEED)
    degree = BinarySlots(case.index).degree
    a, b = (np.stack([rng.integers(0, p, degree, dtype=np.uint32) for p in primes]) for _ in range(2))
    got, first = _native.kernels.ring_product(case.index, primes, a, b)
    repeat = max(1, int(case.budget_s / max(first, 1e-6)))
    results: list[flint.Product] = []

    def mine(threads: int) -> float:
        return float(_native.kernels.ring_product(case.index, primes, a, b, threads, repeat)[1])

    def theirs() -> float:
        results.append(flint.product(case.index, primes, a, b))
        if not np.array_equal(results[-1].residues.reshape(-1), got):
            raise Error("product: FLINT's result is another: this build of ringforge is broken")
        return results[-1].multiply + results[-1].reduce

    sides = {str(t): (lambda t=t: mine(t)) for t in case.threads}
    taken = alternate(sides | ({"flint": theirs} if peer else {}), case.rounds)
    extra: dict[str, Any] = {"kernels": _native.kernels.active(), "rounds": case.rounds, "words": 32}
    if results:
        extra["peer_multiply_seconds"] = statistics.median(r.multiply for r in results)
        extra["peer_reduce_seconds"] = statistics.median(r.reduce for r in results)
    if case.index == PAPER_INDEX and case.primes == figures.PRIMES:
        extra["papers_seconds"] = {name: value.number / 1e3 for name, value in papers_products().items()}
    for threads in case.threads:
        yield Record(
            system="aes",
            case="product",
            params=case.name,
            algorithm="padded",
            threads=threads,
            seconds=taken[str(threads)].reported,
            peer="flint" if results else None,
            peer_version=flint.version() if results else None,
            peer_seconds=taken["flint"].reported if results else None,
            extra=extra,
        )


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
            seconds=measure(call, case.budget_s, at_least=3).wall,
        )


def compare(case: AesCase, cases: Sequence[str] = CASES, peer: bool = True) -> Iterator[Record]:
    """Records of the cases. Our times are wall time on the threads given, FLINT's processor time on one.

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
        yield from _products(case, peer) if name == "product" else _slots(case)


def scheme(params: ltv.Parameters, level: int = 0, threads: int = 1, rounds: int = 3) -> Iterator[Record]:
    """Operations of LTV on ciphertexts of a level, bits in slots; wall time. The result is held against the clear.

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
        if printed is not None and params.m == PAPER_INDEX and level == 0:
            extra["papers_seconds"] = {"FPGA": printed / 1e3}
        yield Record(
            system="aes",
            case=f"ltv, {name}",
            params=params.name,
            algorithm=params.gadget,
            level=level,
            threads=threads,
            seconds=taken[name].wall,
            extra=extra | {"cpu_seconds": taken[name].cpu, "insecure": params.insecure},
        )


def scheme_beside_the_paper(records: Sequence[Record]) -> list[Table]:
    """Operations at the top level beside those that the paper prints, each number marked."""
    rows: list[tuple[Cell, ...]] = []
    for r in records:
        printed = r.extra.get("papers_seconds", {}).get("FPGA") if r.case.startswith("ltv, ") else None
        if printed is not None:
            ratio = Value(printed / r.seconds, "x", "derived")
            rows.append((r.case, Value(1e3 * r.seconds, "ms", "measured"), Value(1e3 * printed, "ms", "paper"), ratio))
    if not rows:
        return []
    note = (
        "The paper's times are its own; no such hardware was run. Its product is not reduced, ours is; its "
        "relinearisation has parts that make 472 ms."
    )
    return [
        Table("LTV at the top level", ("", "ours", "the paper's FPGA with its PC", "over ours"), tuple(rows), (note,))
    ]


def beside_the_paper(records: Sequence[Record]) -> list[Table]:
    """Products beside FLINT's and the paper's, each number marked; nothing when none was measured at its size."""
    products = [r for r in records if r.case == "product" and "papers_seconds" in r.extra]
    if not products:
        return []

    def row(name: str, value: Value, what: str) -> tuple[Cell, ...]:
        ratios = [Value(value.number / (1e3 * r.seconds), "x", "derived") for r in products]
        return name, value, what, *ratios

    rows = [row(f"ours, {r.threads} thread(s)", Value(1e3 * r.seconds, "ms", "measured"), "reduced") for r in products]
    extra = products[0].extra
    if products[0].peer_seconds is not None:
        rows.append(row("FLINT", Value(1e3 * extra["peer_multiply_seconds"], "ms", "measured"), "not reduced"))
        rows.append(row("FLINT", Value(1e3 * products[0].peer_seconds, "ms", "measured"), "reduced"))
    names = {"FPGA": "the paper's FPGA", "CPU": "the paper's CPU", "GPU": "the paper's GPU"}
    rows += [row(names[k], v, "not reduced, with transfers") for k, v in papers_products().items()]
    return [
        Table(
            f"A product, {products[0].params}",
            ("", "time", "what", *(f"over ours, {r.threads} thread(s)" for r in products)),
            tuple(rows),
            (
                "The paper's times are its own; no such hardware was run. It prints 9.51 ms, and factors of 28 and 17 "
                "over CPU and GPU. Reduced by its method a product takes it 19 ms more.",
            ),
        )
    ]
