# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Whole runs of AES-128 on encrypted blocks: times of rounds and their steps, noise, memory; beside the paper's times.

Keys are made once and kept in a directory, the AES key is that of FIPS-197, appendix C.1, and block 0 its plaintext;
other blocks are random. Results are compared with AES in the clear. A step's time is that of the calls of the scheme's
evaluator that it consists of, as long as a round's: what is between them is `other`.
"""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any, Final

import numpy as np

from ringforge import _native, bgv, ltv
from ringforge.aes import clear, files
from ringforge.aes.engine import ROUNDS, AesClient, AesServer, Direction, State, as_direction
from ringforge.aes.keys import SCHEMES, Scheme
from ringforge.errors import Error, ParameterError
from ringforge.lab.papers.aes import figures, times
from ringforge.lab.tables import Cell, Table, Value
from ringforge.lab.timing import Timing, Watch, both_clocks, timed, total
from ringforge.runs import Record

#: FIPS-197, appendix C.1: key, block, and the block encrypted.
KEY: Final = bytes(range(16))
BLOCK: Final = bytes.fromhex("00112233445566778899aabbccddeeff")
ENCRYPTED: Final = bytes.fromhex("69c4e0d86a7b0430d8cdb78070b4c55a")

#: By scheme: parts of a server, and the step that a call of theirs counts as.
_PARTS: Final[Mapping[str, Mapping[str, Mapping[str, str]]]] = {
    "ltv": {
        "_runner._kernels": {
            "read_key": "reading keys",
            "prepare": "products",
            "multiply": "products",
            "relinearize": "key switching",
        },
        "_runner.batch": {
            "sums": "sums",
            "mod_switch": "modulus switching",
            "carry": "modulus switching",
        },
    },
    "bgv": {
        "tools.evaluator": {
            "multiply": "products, relinearised",
            "apply_galois": "Frobenius maps",
            "frobenius_sums": "affine maps",
            "mod_switch_to": "modulus switching",
            "mul_plain": "sums",
            "add": "sums",
            "add_one": "sums",
            "add_plain": "sums",
        },
    },
}
_READING: Final = "reading round keys"


@dataclass(frozen=True)
class RunCase:
    """A run.

    Args:
        set: of parameters; its name tells the scheme.
        directory: of keys; what is not there is made.
        insecure: why a set below 128 bits may be used.
        blocks: how many, 0 for as many as there are slots.
    """

    set: str
    directory: Path
    insecure: str = ""
    blocks: int = 0
    threads: int = 2
    direction: Direction = "encrypt"
    seed: int = 1


def scheme_of(name: str) -> Scheme:
    """The scheme that has a parameter set.

    Raises:
        ParameterError: none has it.
    """
    sets = {"bgv": bgv.Parameters.names(), "ltv": ltv.Parameters.names()}
    for scheme, names in sets.items():
        if name in names:
            return SCHEMES[scheme]
    known = ", ".join(n for names in sets.values() for n in names)
    raise ParameterError(f'AES runs at sets of BGV and LTV, and "{name}" is none: take one of {known}')


# ---- what a run takes -----------------------------------------------------------------------------


@dataclass
class _Steps:
    """Times and calls by step; calls within calls count as the outer one."""

    times: dict[str, Timing] = field(default_factory=dict)
    calls: dict[str, int] = field(default_factory=dict)
    within: bool = False

    def timed(self, step: str, call: Callable[[], Any]) -> Any:
        if self.within:
            return call()
        self.within, watch = True, Watch()
        try:
            return call()
        finally:
            self.within = False
            taken = watch.read()
            self.times[step] = total((self.times[step], taken)) if step in self.times else taken
            self.calls[step] = self.calls.get(step, 0) + 1


class _Watched:
    """An object, some of whose methods are timed. Other watched objects reach it as what they stand for."""

    def __init__(self, inner: Any, methods: Mapping[str, str], steps: _Steps) -> None:
        for method in methods:
            getattr(inner, method)  # an engine that calls others would go unnoticed
        self._inner, self._methods, self._steps = inner, methods, steps

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name not in self._methods:
            return found

        def call(*arguments: Any, **named: Any) -> Any:
            plain = [a._inner if isinstance(a, _Watched) else a for a in arguments]
            return self._steps.timed(self._methods[name], lambda: found(*plain, **named))

        return call


def _watch(server: AesServer) -> _Steps:
    steps = _Steps()
    for path, methods in _PARTS[server.scheme].items():
        *owners, part = path.split(".")
        owner = reduce(getattr, owners, server)
        setattr(owner, part, _Watched(getattr(owner, part), methods, steps))
    return steps


def _peak_mib() -> float:
    """MiB that this process held at the most since the last call; where that cannot be told, since it began."""
    try:
        status = Path("/proc/self/status").read_text()
        most = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:"))
        Path("/proc/self/clear_refs").write_text("5")
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return most / 1024


def _transform_seconds(server: AesServer) -> float | None:
    """Processor seconds of one transform of one prime, a third of a product; None where a scheme has several kinds."""
    if server.scheme != "bgv":
        return None
    params = getattr(server, "context").params  # noqa: B009 - not in the protocol
    rows = np.ones((1, params.degree), np.uint64)
    times_of = [_native.kernels.ring_product(params.m, params.q[-1:], rows, rows, 1, 16, "own")[2] for _ in range(3)]
    return float(min(times_of)) / 3


def _size(directory: Path) -> int:
    return sum(p.stat().st_size for p in directory.iterdir())


# ---- a run ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Sides:
    client: AesClient
    server: AesServer
    keys: files.RoundKeys
    extra: Mapping[str, Any]


def _open(case: RunCase) -> _Sides:
    """Keys from files, which are made where there are none."""
    scheme = scheme_of(case.set)
    directory = case.directory / case.set
    secret, evaluation = directory / "secret.rgfg", directory / "evaluation"
    round_keys = directory / f"round-keys-{case.direction}"
    evaluation.mkdir(parents=True, exist_ok=True)
    made, _ = timed(lambda: scheme.make(case.set, case.insecure, secret, evaluation, case.threads))
    client = scheme.client(secret, evaluation, case.threads)
    server = scheme.server(evaluation, case.threads)
    watch = Watch()
    if not round_keys.exists():
        files.write_round_keys(round_keys, client, KEY, case.direction)
    extra = {
        "keys_seconds": made.wall,
        "round_keys_seconds": watch.read().wall,
        "key_bytes": _size(evaluation),
        "round_key_bytes": _size(round_keys),
    }
    return _Sides(client, server, files.RoundKeys(round_keys, server), extra)


def _blocks(case: RunCase, slots: int) -> tuple[clear.Bytes, clear.Bytes]:
    """Blocks, and what AES makes of them."""
    count = case.blocks or slots
    if not 1 <= count <= slots:
        raise ParameterError(f"{count:,} blocks: {case.set} takes 1 to {slots:,} at a time")
    forward = case.direction == "encrypt"
    blocks = np.random.default_rng(case.seed).integers(0, 256, (count, 16), np.uint8)
    blocks[0] = list(BLOCK if forward else ENCRYPTED)
    wanted = clear.encrypt(KEY, blocks) if forward else clear.decrypt(KEY, blocks)
    if bytes(wanted[0]) != (ENCRYPTED if forward else BLOCK):
        raise Error("AES in the clear is not FIPS-197's: this build of ringforge is broken")
    return blocks, wanted


def run(case: RunCase) -> Iterator[Record]:
    """A record for each round from 0 on, and one for all; the noise budget is predicted, and measured with the secret
    key, whose time is not counted. Keys that are there are taken as they are.

    Raises:
        ParameterError: as `scheme_of`; no such direction; blocks that are no slots; a set below 128 bits without a
        reason. NoiseError: the set is too small. Error: a block is wrong. OSError: no room for keys.
    """
    as_direction(case.direction)
    # What is refused is refused before keys are made.
    blocks, wanted = _blocks(case, scheme_of(case.set).shape(case.set, case.insecure).codec.slots)
    sides = _open(case)
    client, server = sides.client, sides.server
    encrypted, state = timed(lambda: client.encrypt_blocks(blocks, case.direction))
    steps = _watch(server)
    _peak_mib()
    found: list[Record] = []
    for i in range(ROUNDS + 1):
        made: list[State] = []
        record = _round(case, sides, state, i, steps, made)
        state = made[0]
        found.append(record)
        yield record
    decrypted, got = timed(lambda: client.decrypt_blocks(state))
    if not np.array_equal(got, wanted):
        wrong = int(np.count_nonzero((got != wanted).any(axis=1)))
        raise Error(f"{wrong:,} of {len(wanted):,} blocks are wrong: this build of ringforge is broken")
    whole = total(Timing(r.wall_seconds or 0.0, r.cpu_seconds or 0.0) for r in found)
    names = dict.fromkeys(name for r in found for name in r.extra["steps"])
    yield _record(
        case,
        server.scheme,
        "run",
        whole,
        max(r.peak_mib or 0.0 for r in found),
        {
            "blocks": len(blocks),
            "slots": server.slots,
            "block_seconds": whole.wall / len(blocks),
            "steps": {n: sum(r.extra["steps"].get(n, 0.0) for r in found) for n in names},
            "steps_cpu": {n: sum(r.extra["steps_cpu"].get(n, 0.0) for r in found) for n in names},
            "calls": {n: sum(r.extra["calls"].get(n, 0) for r in found) for n in names},
            "transforms": sum(r.extra["transforms"] for r in found),
            "transform_seconds": _transform_seconds(server),
            "predicted_budget": found[-1].extra["predicted_budget"],
            "measured_budget": found[-1].extra["measured_budget"],
            "encrypt_seconds": encrypted.wall,
            "decrypt_seconds": decrypted.wall,
            **sides.extra,
        },
    )


def _round(case: RunCase, sides: _Sides, state: State, i: int, steps: _Steps, made: list[State]) -> Record:
    server = sides.server
    steps.times, steps.calls = {}, {}
    watch = Watch()
    with _native.counting() as did:
        key = steps.timed(_READING, lambda: sides.keys.round(i))
        made.append(server.start(state, key) if i == 0 else server.round(state, i, key))
    taken = watch.read()
    other = taken.less(total(steps.times.values()))
    return _record(
        case,
        server.scheme,
        f"run, round {i}",
        taken,
        _peak_mib(),
        {
            "steps": {**{step: t.wall for step, t in steps.times.items()}, "other": max(0.0, other.wall)},
            "steps_cpu": {**{step: t.cpu for step, t in steps.times.items()}, "other": max(0.0, other.cpu)},
            "calls": dict(steps.calls),
            "transforms": did.operations.ntt + did.operations.intt,
            "predicted_budget": server.predicted_budget(made[0]),
            "measured_budget": sides.client.measured_budget(made[0]),
        },
    )


def _record(case: RunCase, scheme: str, name: str, taken: Timing, peak: float, extra: dict[str, Any]) -> Record:
    return Record(
        system="aes",
        case=name,
        params=case.set,
        algorithm=scheme,
        threads=case.threads,
        peak_mib=peak,
        extra={"kernels": _native.kernels.active(), "direction": case.direction, **extra},
        **both_clocks(taken, clock="wall"),
    )


# ---- tables ---------------------------------------------------------------------------------------


def tables(records: Sequence[Record]) -> list[Table]:
    """Rounds of each run, and all runs beside the paper's; each number marked."""
    whole = [r for r in records if r.case == "run"]
    if not whole:
        return []
    return [t for r in whole for t in _rounds(r, [x for x in records if _of(x, r)])] + [_beside(whole)]


def _of(r: Record, whole: Record) -> bool:
    """Whether a record is of a round of this run."""
    same = (r.params, r.threads, r.extra.get("direction")) == (whole.params, whole.threads, whole.extra["direction"])
    return same and r.case.startswith("run, ")


def _measured(number: float, unit: str) -> Value:
    return Value(number, unit, "measured")


def _clocks(r: Record) -> tuple[float | None, float | None]:
    return r.wall_seconds, r.cpu_seconds


def _rounds(whole: Record, rounds: Sequence[Record]) -> list[Table]:
    names = list(whole.extra["steps"])
    title = f"AES-128 under {whole.algorithm.upper()}, {whole.params}: {whole.extra['blocks']:,} blocks"
    unit = whole.extra["transform_seconds"]
    notes = [
        f"{whole.threads} thread(s); keys, made once, are {whole.extra['key_bytes'] / 1e6:,.0f} MB, and "
        f"{whole.extra['round_key_bytes'] / 1e6:,.0f} MB of round keys. {whole.cpu_seconds or 0.0:.1f} s of "
        "processor time in all."
    ]
    if unit is not None:
        count = whole.extra["transforms"]
        notes.append(f"{count:,} transforms of {1e6 * unit:.0f} us each are {count * unit:.1f} s of processor time.")
    lines = [*((r.case.removeprefix("run, round "), r) for r in rounds), ("all", whole)]
    steps = Table(
        f"{title}: seconds",
        ("round", "wall [s]", "processor [s]", *(f"{n} [s]" for n in names)),
        tuple(
            (name, *(_measured(t or 0.0, "") for t in (*_clocks(r), *(r.extra["steps"].get(n, 0.0) for n in names))))
            for name, r in lines
        ),
        tuple(notes),
    )
    state = Table(
        f"{title}: what else",
        ("round", "transforms of a prime", "budget left, predicted", "budget left, measured", "memory"),
        tuple(
            (
                name,
                _measured(float(r.extra["transforms"]), ""),
                Value(r.extra["predicted_budget"], "bits", "model"),
                _measured(r.extra["measured_budget"], "bits"),
                _measured(r.peak_mib or 0.0, "MiB"),
            )
            for name, r in lines
        ),
        (
            "Budget: noise that a ciphertext can still take, the least of all. Memory: the most that was held in a "
            "round, the client's side included.",
        ),
    )
    return [steps, state]


def _beside(runs: Sequence[Record]) -> Table:
    printed = figures.BLOCK_MS / 1e3
    rows: list[tuple[Cell, ...]] = []
    for r in runs:
        block = r.extra["block_seconds"]
        full = r.extra["blocks"] == r.extra["slots"] == figures.SLOTS
        rows.append(
            (
                f"{r.algorithm.upper()}, {r.params}, {r.threads} thread(s)",
                _measured(float(r.extra["blocks"]), ""),
                _measured(r.seconds / 60, "min"),
                _measured(1e3 * block, "ms"),
                Value(printed / block, "x", "derived") if full else None,
            )
        )
    rows.append(
        (
            "the paper's FPGA with its PC, printed",
            Value(figures.SLOTS, "", "paper"),
            Value(float(figures.AES_MINUTES), "min", "paper"),
            Value(float(figures.BLOCK_MS), "ms", "paper"),
            None,
        )
    )
    rows += [
        (
            f"the same from its parts, {account.name}",
            Value(figures.SLOTS, "", "paper"),
            Value(account.seconds / 60, "min", "derived"),
            Value(account.block_ms, "ms", "derived"),
            None,
        )
        for account in times.accounts()[:4]
    ]
    return Table(
        "Whole runs of AES-128",
        ("", "blocks", "whole", "a block", "paper's printed over it"),
        tuple(rows),
        ("The paper's times are its own; no such hardware was run.",),
    )
