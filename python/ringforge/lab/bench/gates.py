# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Gates on encrypted bits beside tfhe-rs, in turn, and beside the third-generation paper's Table 2.

Single gates are timed on one thread, and their ratios are of processor time; batches are levels of independent NAND
gates, whose ratios are of wall time where there are several threads. The paper states wall time, so it stands beside
ours. Both clocks of both sides are kept.
Every result is decrypted and compared. Where the peer has two parameter sets of the same promise, it is given the
faster one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import numpy as np
from rich.table import Table

from ringforge import _native, gates, security
from ringforge.errors import Error, ParameterError
from ringforge.gates import GateKind, noise, sets
from ringforge.lab.papers.psi.figures import GATE_ROWS
from ringforge.lab.peers import tfhe
from ringforge.lab.timing import Timing, alternate, both_clocks, measure, median, total
from ringforge.runs import Record, duration

#: Sets of tfhe-rs that promise as much as ours.
PEER_SETS: Final = {
    "gates-128": ("default", "default-ks-pbs"),
    "gates-128-f128": ("2^-165", "2^-165-ks-pbs"),
}

#: Table 2 of the paper by our names of its sets: an accumulation on its accelerator, amortised over 12 at a time and
#: without the transfer of the result, and in software.
PAPER: Final = {row.ours: row for row in GATE_ROWS}


@dataclass(frozen=True)
class GatesCase:
    """What is measured at one set. `method` "" is ap for the paper's sets, ginx for others.

    `budget_s` is the time of each gate, and of each batch, in a round; `batch` gates are a level, 0 measures none.
    """

    params: str = "gates-128"
    method: str = ""
    gates: tuple[str, ...] = ("NAND", "XOR", "MUX")
    threads: tuple[int, ...] = (1, 2)
    batch: int = 64
    rounds: int = 5
    budget_s: float = 1.0
    insecure: str = ""

    @property
    def accumulator(self) -> str:
        """The method that is used."""
        return self.method or ("ap" if self.params in PAPER else "ginx")

    def check(self) -> None:
        """Raises: ParameterError for what cannot be measured, before keys are made."""
        sets.named(self.params, self.insecure)
        for gate in self.gates:
            if gate not in tfhe.GATES:
                raise ParameterError(f'no gate "{gate}" to measure: take one of {", ".join(tfhe.GATES)}')
        if self.accumulator not in noise.METHODS:
            raise ParameterError(f'unknown method "{self.method}": take one of {", ".join(noise.METHODS)}')
        if self.batch < 0 or min(self.threads, default=1) < 1 or self.rounds < 1:
            raise ParameterError(
                f"batch {self.batch}, threads {self.threads}, rounds {self.rounds}: a batch has no fewer than 0 "
                "gates, the others are at least 1"
            )


@dataclass
class Samples:
    """One side's rounds: of each gate, and of a gate of a batch by number of threads; wall and processor seconds."""

    gates: dict[str, list[Timing]] = field(default_factory=dict)
    batches: dict[int, list[Timing]] = field(default_factory=dict)

    def add_gate(self, gate: str, wall: float, cpu: float, runs: int) -> None:
        self.gates.setdefault(gate, []).append(Timing(wall, cpu, runs))

    def add_batch(self, threads: int, wall: float, cpu: float, runs: int) -> None:
        self.batches.setdefault(threads, []).append(Timing(wall, cpu, runs))


class Ours:
    """Our side: keys of one set, and rounds with them.

    Raises:
        ParameterError: a case that cannot be measured.
    """

    def __init__(self, case: GatesCase) -> None:
        case.check()
        self.case = case
        self.samples = Samples()
        method: Any = case.accumulator
        threads = max(case.threads, default=1)
        self._secret, self.key = gates.keygen(case.params, method=method, threads=threads, insecure=case.insecure)
        # A ciphertext of its own for each port: gates of equal inputs are replaced by less.
        self._bits = [[gates.encrypt(self._secret, np.array([bit])) for bit in (0, 1)] for _ in range(3)]
        self._level = [
            gates.encrypt(self._secret, np.arange(case.batch) >> shift & 1 if case.batch else np.zeros(1, np.uint8))
            for shift in (0, 1)
        ]

    def round(self) -> Timing:
        """One round; returns the sum of its medians."""
        case = self.case
        parts: list[Timing] = []
        for gate in case.gates:
            timing = self._gate(GateKind[gate])
            self.samples.add_gate(gate, timing.wall, timing.cpu, timing.iterations)
            parts.append(timing)
        for threads in case.threads if case.batch else ():
            timing = self._batch(threads)
            self.samples.add_batch(threads, timing.wall / case.batch, timing.cpu / case.batch, timing.iterations)
            parts.append(timing)
        return total(parts)

    def _gate(self, kind: GateKind) -> Timing:
        evaluator = gates.Evaluator(self.key)
        table = itertools.cycle(itertools.product((0, 1), repeat=kind.arity))
        results: list[tuple[tuple[int, ...], gates.Bits]] = []

        def once() -> None:
            bits = next(table)
            results.append((bits, evaluator.gate(kind, *(port[b] for port, b in zip(self._bits, bits, strict=False)))))

        timing = measure(once, self.case.budget_s, at_least=1 << kind.arity)
        for bits, result in results:
            if int(gates.decrypt(self._secret, result)[0]) != kind.of(bits):
                raise Error(f"{kind.name} of {bits} is wrong at {self.case.params}: a gate failed, or the build is bad")
        return timing

    def _batch(self, threads: int) -> Timing:
        evaluator = gates.Evaluator(self.key, threads)
        results: list[gates.Bits] = []
        timing = measure(lambda: results.append(evaluator.nand(*self._level)), self.case.budget_s, at_least=1)
        plain = [gates.decrypt(self._secret, level) for level in self._level]
        if any((gates.decrypt(self._secret, r) == (plain[0] & plain[1])).any() for r in results):
            raise Error(f"a NAND of a batch is wrong at {self.case.params}: a gate failed, or the build is bad")
        return timing


def _peer_round(params: str, case: GatesCase, samples: Samples, results: list[tfhe.Result]) -> Timing:
    result = tfhe.run(tfhe.Request(params, case.gates, case.budget_s, case.batch, case.threads))
    results.append(result)
    for gate, g in result.gates.items():
        samples.add_gate(gate, g.seconds, g.cpu_seconds, g.iterations)
    for b in result.batches:
        samples.add_batch(b.threads, b.seconds, b.cpu_seconds, b.gates)
    return total(Timing(g.seconds, g.cpu_seconds, g.iterations) for g in result.gates.values())


def compare(case: GatesCase, *, peer: bool = True) -> Iterator[Record]:
    """A record for each gate, then one for each number of threads of a batch.

    The peer takes part at sets that it has a match for (:data:`PEER_SETS`); the paper's sets by AP stand beside the
    paper's own times, which are wall time. Times of a batch are those of one of its gates.

    Raises:
        ParameterError: a case that cannot be measured. PeerMissingError: no Rust. Error: a gate's result is wrong.
    """
    case.check()
    peers: dict[str, tuple[Samples, list[tfhe.Result]]] = {}
    if peer:
        peers = {name: (Samples(), []) for name in PEER_SETS.get(case.params, ())}
        if peers:
            tfhe.program()
    ours = Ours(case)
    sides: dict[str, Callable[[], Timing]] = {"ours": ours.round}
    sides |= {name: partial(_peer_round, name, case, *state) for name, state in peers.items()}
    alternate(sides, case.rounds)
    common = _common(case, ours.key)
    s = sets.named(case.params, case.insecure)
    for gate in case.gates:
        rounds = ours.samples.gates[gate]
        extra = common | {
            "runs": median(rounds).iterations,
            "rounds_seconds": [[t.wall, t.cpu] for t in rounds],
            "failure_log2": noise.log2_failure(s, gate, "mux", case.accumulator),
            "failure_log2_of_gate_outputs": noise.log2_failure(s, gate, "gate", case.accumulator),
        }
        theirs = {name: median(state.gates[gate]) for name, (state, _) in peers.items()}
        yield _record(case, gate, 1, median(rounds), theirs, extra, peers)
    for threads in case.threads if case.batch else ():
        rounds = ours.samples.batches[threads]
        extra = common | {
            "gates_per_second": 1 / median(rounds).wall,
            "runs": median(rounds).iterations,
            "rounds_seconds": [[t.wall, t.cpu] for t in rounds],
            "batch": case.batch,
        }
        theirs = {name: median(state.batches[threads]) for name, (state, _) in peers.items()}
        yield _record(case, f"NAND x {case.batch}", threads, median(rounds), theirs, extra, peers)


def _common(case: GatesCase, key: Any) -> dict[str, Any]:
    s = sets.named(case.params, case.insecure)
    return {
        "rounds": case.rounds,
        "kernels": _native.kernels.active(),
        "key_bytes": key.bytes,
        "insecure": s.insecure,
        "worst_gate_failure_log2": noise.worst_gate(s, case.accumulator)[1],
        "security_bits": min(security.estimate(i).bits for i in s.instances().values()),
    }


def _record(
    case: GatesCase,
    name: str,
    threads: int,
    timing: Timing,
    theirs: dict[str, Timing],
    extra: dict[str, Any],
    peers: dict[str, tuple[Samples, list[tfhe.Result]]],
) -> Record:
    """A record beside the faster set of the peer, else beside the paper, where there is either."""
    paper = PAPER.get(case.params)
    about: dict[str, Any] = {}
    if theirs:
        times = both_clocks(timing, threads=threads)
        best = min(theirs, key=lambda name: theirs[name].by(times["clock"]))
        times = both_clocks(timing, theirs[best], threads=threads)
        result = peers[best][1][-1]
        about = {"peer": result.peer, "peer_version": result.peer_version}
        extra = extra | {
            "peer_params": best,
            "peer_seconds_by_params": {name: t.by(times["clock"]) for name, t in theirs.items()},
            "peer_failure_log2": result.failure_log2,
            "peer_security_bits": result.security_bits(),
            "peer_security_published": tfhe.PUBLISHED_SECURITY if best == "default" else None,
        }
    # The paper times one accumulation; MUX has two.
    elif paper is not None and case.accumulator == "ap" and name != "MUX":
        accelerator, software = paper.processing_us * 1e-6, paper.software_us * 1e-6
        times = both_clocks(timing, stated=accelerator)
        about = {"peer": "paper", "peer_version": "accelerator, 12 at a time"}
        extra = extra | {"paper_software_seconds": software, "software_ratio": software / times["seconds"]}
    else:
        times = both_clocks(timing, threads=threads)
    return Record(
        system="gates", case=name, params=case.params, algorithm=case.accumulator, threads=threads, extra=extra,
        **about, **times,
    )  # fmt: skip


def details(records: Sequence[Record]) -> Table:
    """What the times are worth: failures and security of both sides, gates per second, the paper's software."""
    made = Table(title="time, failures and security (bits)")
    made.add_column("params")
    made.add_column("case")
    for name in (
        "threads", "wall", "processor", "gates/s", "fails", "security", "peer's time, by its set", "ratio",
        "peer fails", "peer's security", "paper's software", "ratio to it",
    ):  # fmt: skip
        made.add_column(name, justify="right")
    for r in records:
        x = r.extra
        by_set = x.get("peer_seconds_by_params", {})
        theirs = ", ".join(f"{name} {duration(s)}" for name, s in by_set.items()) or (
            duration(r.peer_seconds) if r.peer else "-"
        )
        made.add_row(
            r.params,
            r.case,
            str(r.threads),
            duration(r.wall_seconds),
            duration(r.cpu_seconds),
            f"{x['gates_per_second']:.1f}" if "gates_per_second" in x else "-",
            _power(x.get("failure_log2")),
            f"{x['security_bits']:.0f}",
            theirs,
            "-" if r.ratio is None else f"{r.ratio:.2f}",
            _power(x.get("peer_failure_log2")),
            f"{x['peer_security_bits']:.0f}" if "peer_security_bits" in x else "-",
            duration(x.get("paper_software_seconds")),
            f"{x['software_ratio']:.1f}" if "software_ratio" in x else "-",
        )
    return made


def _power(log2: float | None) -> str:
    return "-" if log2 is None else f"2^{log2:.0f}"
