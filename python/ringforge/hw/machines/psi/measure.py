# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What a device of the FHEW accelerator takes for gates, products, substitutions, expansions and look-ups.

All results are held against the processor's, word by word.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from ringforge import _native
from ringforge._native import fhew
from ringforge.arrays import aligned_copy
from ringforge.gates.kinds import GateKind
from ringforge.hw.core.small_ring import Gadget, Ring, Words
from ringforge.hw.machines.psi.config import PsiConfig
from ringforge.hw.machines.psi.executors import Executor
from ringforge.hw.machines.psi.lookup import Lookup, lookup_settings
from ringforge.hw.machines.psi.pipeline import Pipeline, gate_settings
from ringforge.hw.machines.psi.runtime import (
    BATCHES,
    ap_indices,
    bootstraps,
    expand,
    gate_number,
    homo_expand,
    upload_cycles,
)
from ringforge.hw.machines.psi.settings import Settings, bounds
from ringforge.psi import planner
from ringforge.psi.kernels import LookupTable
from ringforge.psi.table import Arrays

#: Operations of a stream, enough for its ends not to count for much.
STREAM: Final = 24
#: log2 N of the published look-up.
PAPER_LOG_N: Final = 11
_WHY: Final = "measurement on a simulated accelerator"
_SEED: Final = bytes([18]) * 32


@dataclass(frozen=True)
class Timed:
    """What was run and what it took.

    Attributes:
        what: in words.
        device: its name.
        operations: how many; times are for each.
        cycles: of all, and
        clock_hz: of the machine; None where the device has no time.
        exact: results are those of the processor in every word.
        seconds: of the wall clock.
        bytes: that memory moved, by entity.
        facts: further figures by name.
    """

    what: str
    device: str
    operations: int
    cycles: int | None
    clock_hz: float
    exact: bool
    seconds: float
    bytes: Mapping[str, int] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def each_us(self) -> float | None:
        """Microseconds of an operation, by the machine's clock."""
        return None if self.cycles is None else 1e6 * self.cycles / self.clock_hz / self.operations


def timed(what: str, operations: int, pipeline: Pipeline, run: Callable[[], bool], **facts: Any) -> Timed:
    """Runs something, which says whether it is exact, on a new pipeline."""
    start = time.perf_counter()
    exact = run()
    report = pipeline.report({})
    return Timed(
        what,
        pipeline.device.name,
        operations,
        report.cycles,
        pipeline.config.clock_hz,
        exact,
        time.perf_counter() - start,
        dict(report.bytes),
        {
            "instructions": pipeline.instructions,
            "bytes of keys": pipeline.uploaded,
            "cycles of their upload": upload_cycles(pipeline.uploaded),
            **facts,
        },
    )


# ---- gates ---------------------------------------------------------------------------------------


class GateBench:
    """Keys of a set of gates, and levels of one kind on random bits.

    Args:
        params: name of a set. insecure: reason to use it, where it is below 128 bits.

    Raises:
        ParameterError: there is no such set, or it needs a reason.
    """

    def __init__(self, params: str, insecure: str = "") -> None:
        self.secret = fhew.SecretKey(fhew.parameters(params, insecure), _native.TestSeed(_SEED))
        self.params = self.secret.params
        self.key = fhew.EvaluationKey.make(self.secret, fhew.Method.AP)

    def settings(self) -> Settings:
        """Settings for accumulators made on chip."""
        log_lwe = self.params.rotation_modulus.bit_length() - 1
        return replace(gate_settings(self.params), log_lwe=log_lwe, bounds=bounds(log_lwe))

    def gates(
        self,
        device: Any,
        executor: Executor,
        kind: GateKind = GateKind.NAND,
        count: int = 12,
        products: int | None = None,
        *,
        polled: bool = False,
    ) -> Timed:
        """Gates of one kind side by side, accumulators made by the machine.

        All accumulators are held against the processor's; of whole chains, so are the ciphertexts of the gates.

        Args:
            products: of each chain; None: all, n d_r.

        Raises:
            ParameterError: the machine does not take the set or the kind. HardwareError: it stops with an error.
        """
        p, number = self.params, gate_number(kind)
        whole = products is None or products >= p.n * p.ap_digits
        rng = np.random.default_rng(count)
        bits = rng.integers(0, 2, 2 * count).astype(np.uint8)
        wires = np.zeros((3 * count, p.n + 1), np.uint32)
        wires[: 2 * count] = self.secret.encrypt(bits)
        sources = np.full((count, 3), -1, np.int32)
        sources[:, :2] = np.arange(2 * count).reshape(count, 2)
        targets = np.arange(2 * count, 3 * count, dtype=np.int32)
        kinds, expected = np.full(count, kind, np.uint8), wires.copy()
        fhew.evaluate(self.key, kinds, sources, expected, targets)
        pipeline = Pipeline(device, executor, self.settings(), polled=polled)
        exact = True

        def rotate(accumulators: Any, exponents: Any) -> None:
            nonlocal exact
            indices = ap_indices(p, exponents[:, :-1])[:, :products]
            wanted = aligned_copy(accumulators, accumulators.shape, p.modulus)
            fhew.accumulate(self.key, wanted, np.ascontiguousarray(indices))
            made = bootstraps(pipeline, self.key, [number] * len(exponents), exponents, products)
            accumulators[:] = pipeline.ring.inverse(made)
            exact = exact and bool(np.array_equal(accumulators, wanted))

        def run() -> bool:
            fhew.evaluate(self.key, kinds, sources, wires, targets, rotate=rotate)
            return exact and (not whole or bool(np.array_equal(wires, expected)))

        length = p.n * p.ap_digits if products is None else min(products, p.n * p.ap_digits)
        how = "polled" if polled else "queued"
        found = timed(
            f"{kind.name} x {count}, {length} products each, {how}", count * length, pipeline, run, products=length
        )
        if not whole:
            return found
        inputs = bits.reshape(count, 2)
        decoded = self.secret.decrypt(np.ascontiguousarray(wires[2 * count :])).tolist()
        right = sum(kind.of(pair) == bit for pair, bit in zip(inputs.tolist(), decoded, strict=True))
        return replace(found, facts={**found.facts, "decrypted right": f"{right} of {count}"})


# ---- products, substitutions, expansions -----------------------------------------------------------


class RingBench:
    """Random ciphertexts and keys of one ring and gadget; all words are held against the processor's kernels.

    Args:
        config: of the machine: its widest primes, and of these the largest that suits the ring.
        log_n: log2 N, one of 8 ... 11; None: the largest that the machine has.
        gadget: how all is cut.

    Raises:
        ParameterError: the machine does not take the ring.
    """

    def __init__(self, config: Any, log_n: int | None, gadget: Gadget) -> None:
        self.log_n = config.max_log_n if log_n is None else log_n
        config.check_log_n(self.log_n)
        q = int(_native.kernels.primes_below(config.word_bits, 1, 2 << self.log_n)[0])
        self.gadget, self.settings = gadget, Settings(self.log_n, q, gadget, gadget, gadget)
        self.settings.check(config)
        self.ring, self.rng = Ring.of(q, self.log_n), np.random.default_rng(self.log_n)
        self.cut = fhew.Cut(gadget.log_base, gadget.count, gadget.drop, gadget.balanced)
        self.secret = fhew.RingSecret(q, self.log_n, _native.TestSeed(_SEED))

    def random(self, *shape: int) -> Words:
        """Residues."""
        return self.rng.integers(0, self.ring.q, (*shape, self.ring.degree), dtype=np.uint64)

    def native_product(self, operands: Words, keys: Words) -> Words:
        """Products of coefficients (count, 2, N) by keys (count, rows, 2, N) with the processor's kernels."""
        g, q, word = self.gadget, self.ring.q, 32 if self.ring.q < 1 << 31 else 64
        kernels, found = _native.kernels, []
        for operand, key in zip(operands, keys, strict=True):
            parts = kernels.small_gadget_product(
                "ref", list(operand), key.reshape(-1), g.log_base, g.count, g.drop, g.balanced, q, word
            )
            found.append(np.stack(parts))
        return np.stack(found)

    def substitution_keys(self, elements: Sequence[int]) -> dict[int, fhew.SubstitutionKey]:
        """Real keys."""
        return {k: fhew.SubstitutionKey.make(self.secret, k, self.cut) for k in elements}

    def native_substitution(self, operands: Words, key: fhew.SubstitutionKey) -> Words:
        """Images of coefficients (count, 2, N)."""
        dtype: Any = np.uint32 if self.ring.q < 1 << 31 else np.uint64
        out = aligned_copy(operands.astype(dtype), operands.shape, self.ring.q)
        key.substitute(out)
        return out.astype(np.uint64)

    def products(self, pipeline: Pipeline, count: int) -> Timed:
        """Products with one key."""
        operands, key = self.random(count, 2), self.random(1, 2 * self.gadget.count, 2)

        def run() -> bool:
            made = pipeline.products(self.ring.forward(operands), [0] * count, key)
            return bool(np.array_equal(made, self.native_product(operands, np.repeat(key, count, 0))))

        return timed(f"{count} products RLWE x RGSW", count, pipeline, run)

    def substitutions(self, pipeline: Pipeline, count: int) -> Timed:
        """Substitutions X -> X^(N/2 + 1)."""
        operands, element = self.random(count, 2), self.ring.degree // 2 + 1
        key = self.substitution_keys([element])[element]

        def run() -> bool:
            made = pipeline.substitutions(self.ring.forward(operands), element, np.array(key.rows(), np.uint64))
            return bool(np.array_equal(self.ring.inverse(made), self.native_substitution(operands, key)))

        return timed(f"{count} substitutions", count, pipeline, run)

    def expansion(self, pipeline: Pipeline, stages: int, *, to_rgsw: bool) -> Timed:
        """One bit's ciphertexts for 2^stages bins, expanded, and made into RGSW ciphertexts or not."""
        n, d = self.ring.degree, self.gadget.count
        elements = [(n >> s) + 1 for s in range(stages)]
        keys = self.substitution_keys(elements)
        rows = [np.array(keys[k].rows(), np.uint64) for k in elements]
        ciphertexts, minus = self.random(1, d, 2), self.random(2 * d, 2)
        cuts = [self.gadget] * stages

        def run() -> bool:
            operands = self.ring.forward(ciphertexts)
            nodes = self._expanded(ciphertexts[0], [keys[k] for k in elements])
            if not to_rgsw:
                made = expand(pipeline, operands[0], rows, cuts)
                return bool(np.array_equal(made, self.ring.forward(nodes)))
            made = homo_expand(pipeline, operands, rows, cuts, minus)
            flat = nodes.reshape(-1, 2, n)
            built = self.native_product(flat, np.repeat(minus[None], len(flat), 0)).reshape(nodes.shape)
            return bool(np.array_equal(made[:, 0], np.concatenate([built, self.ring.forward(nodes)], 1)))

        what = f"expansion of {d} ciphertexts for {1 << stages} bins" + (" to RGSW" if to_rgsw else "")
        count = d * ((1 << stages) - 1) + (d << stages if to_rgsw else 0)
        return timed(what, count, pipeline, run)

    def _expanded(self, nodes: Words, keys: Sequence[fhew.SubstitutionKey]) -> Words:
        """By the processor, in coefficients: (d, 2, N) to (2^stages, d, 2, N)."""
        found, q = nodes[None], np.uint64(self.ring.q)
        for stage, key in enumerate(keys):
            u = self.native_substitution(found.reshape(-1, 2, self.ring.degree), key).reshape(found.shape)
            left, right = (found + u) % q, (found + (q - u)) % q
            # X^(-2^stage) moves coefficients down; those that fall off come back negated.
            turned = np.roll(right, -(1 << stage), -1)
            turned[..., -(1 << stage) :] = (q - turned[..., -(1 << stage) :]) % q
            found = np.concatenate([left, turned])
        return found


# ---- look-ups --------------------------------------------------------------------------------------


def lookup_plan(config: PsiConfig, log_bins: int, cell_bits: int, log_cell: int = 0) -> _native.psi.Plan:
    """A plan of the published algorithm: with its parameters, or, on machines for tests, in a small ring.

    Raises:
        ParameterError: there is no such plan.
    """
    if config.max_log_n >= PAPER_LOG_N:
        digits = fhew.Cut(9, 6, 0, True)
        shape = (PAPER_LOG_N, planner.PAPER_MODULUS, log_bins, cell_bits, log_cell, 3, 0)
        return _native.psi.Plan("paper", *shape, digits, [digits] * PAPER_LOG_N, None, 12, planner.PAPER_REASON)
    log_n = config.max_log_n
    q = int(_native.kernels.primes_below(config.word_bits, 1, 2 << log_n)[0])
    finer = [fhew.Cut(3, 9, 0, True)] * log_n
    shape = (log_n, q, log_bins, cell_bits, log_cell, 1, 0)
    return _native.psi.Plan("paper", *shape, fhew.Cut(4, 7, 0, True), finer, None, 13, _WHY)


class Query:
    """A client's keys and request, a random table with five cells set in each bin, and the processor's reply.

    Args:
        plan: of all. seed: of the reply's mask.
    """

    def __init__(self, plan: _native.psi.Plan, seed: _native.TestSeed | None = None) -> None:
        self.plan, self.seed = plan, seed or _native.TestSeed(_SEED)
        rng = np.random.default_rng(4)
        cells = np.array([np.sort(rng.choice(plan.cells, 5, replace=False)) for _ in range(plan.bins)], np.uint32)
        words = rng.integers(0, 1 << plan.log_t, (cells.size, plan.cell_words)).astype(np.uint16)
        offsets = np.arange(plan.bins + 1, dtype=np.uint64) * np.uint64(5)
        self.table = LookupTable(plan, Arrays(offsets, cells.reshape(-1), words, np.zeros(0, np.uint16)))
        self.client = _native.psi.ClientKey(plan, _native.TestSeed(_SEED))
        self.keys = _native.psi.SessionKeys(plan, self.client.evaluation_keys())
        # Every other bin is asked for a cell that is set, the rest for one that is not, or is by chance.
        asked = np.where(np.arange(plan.bins) % 2 == 0, cells[:, 2], (cells[:, 2] + 1) % plan.cells)
        self.request = self.client.query(asked.astype(np.uint32))
        self.counts = _native.psi.Counts()
        self.reply = _native.psi.evaluate(
            self.keys, self.request, self.table.native, counts=self.counts, fixed_seed_for_tests=self.seed
        )

    def run(self, device: Any, executor: Executor) -> Timed:
        """The look-up of all bins; the reply is held against the processor's, with one mask.

        Raises:
            ParameterError: the machine cannot run the plan. HardwareError: it stops with an error.
        """
        pipeline = Pipeline(device, executor, lookup_settings(device.config, self.plan))
        counts: dict[str, int] = {}

        def run() -> bool:
            reply, found = Lookup(self.keys, self.table).answer(pipeline, self.request, None, self.seed)
            counts.update(found)
            return reply == self.reply and all(getattr(self.counts, name) == n for name, n in found.items())

        p = self.plan
        made = timed(f"look-up in {p.bins} bins of {p.cells} cells", p.bins, pipeline, run)
        return replace(made, facts={**made.facts, **counts})


def cycles(
    device: Any,
    executor: Executor,
    bench: GateBench | None,
    products: int,
    gadget: Gadget,
    stages: int,
) -> Iterator[Timed]:
    """What `ringforge hw cycles psi` shows: bootstraps side by side, single operations,
    streams, expansions."""
    if bench is not None:
        for count in BATCHES:
            if count <= device.config.loop_slots:
                yield bench.gates(device, executor, count=count, products=products)
        yield bench.gates(device, executor, count=min(12, device.config.loop_slots), products=products, polled=True)
    ring = RingBench(device.config, None, gadget)
    for count in (1, STREAM):
        yield ring.products(Pipeline(device, executor, ring.settings), count)
        yield ring.substitutions(Pipeline(device, executor, ring.settings), count)
    for to_rgsw in (False, True):
        yield ring.expansion(Pipeline(device, executor, ring.settings), stages, to_rgsw=to_rgsw)
