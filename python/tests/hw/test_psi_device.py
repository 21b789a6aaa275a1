# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The FHEW accelerator as a device: gates, chains, substitutions, look-ups in RTL and by its model, as on `cpu`."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ringforge import _native, gates, psi
from ringforge._native import fhew
from ringforge.cli import main
from ringforge.devices import Device, KeySet, conformance, open_device
from ringforge.errors import Error, FormatError, MismatchError, MissingKeyError, ParameterError
from ringforge.gates.kernels import AccumulateKernel, GateLevelKernel
from ringforge.gates.kinds import GateKind
from ringforge.hw.core.model import ModelDevice
from ringforge.hw.core.small_ring import Gadget
from ringforge.hw.machines.psi.config import PsiConfig
from ringforge.hw.machines.psi.executors import Executor, Simulated
from ringforge.hw.machines.psi.lookup import Lookup, lookup_settings
from ringforge.hw.machines.psi.measure import GateBench, Query, RingBench, lookup_plan
from ringforge.hw.machines.psi.model_device import Modelled
from ringforge.hw.machines.psi.pipeline import Pipeline
from ringforge.psi import planner
from ringforge.psi.info import CutFields, PlanFields
from ringforge.psi.kernels import LookupKernel, LookupKeys, SubstitutionKernel
from tests.hw.psi_devices import QuickDevice
from tests.psi.running import encrypted

Run = Callable[..., str]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command that must succeed, and returns what it printed."""

    def go(words: str) -> str:
        capsys.readouterr()
        code = main(shlex.split(words))
        out, err = capsys.readouterr()
        assert code == 0, err
        return out

    return go


@functools.cache
def device(kind: str) -> tuple[Device, Executor]:
    return (ModelDevice("psi-small"), Modelled()) if kind == "model" else (QuickDevice("psi-small"), Simulated())


@functools.cache
def bench() -> GateBench:
    return GateBench("gates-toy", "tests")


@pytest.mark.long
@pytest.mark.parametrize("kind", ["model", "rtl"])
def test_conformance(kind: str) -> None:
    conformance.import_kernels()
    checks = list(conformance.checks(device(kind)[0]))
    kernels = {name.partition(" ")[0] for name, _ in checks}
    assert kernels >= {"AccumulateKernel", "GateLevelKernel", "LookupKernel", "SubstitutionKernel"}
    for _, check in checks:
        check()


@pytest.mark.parametrize("kind", ["model", "rtl"])
def test_gates_side_by_side_queued_and_polled(kind: str) -> None:
    target, executor = device(kind)
    queued = bench().gates(target, executor, GateKind.XOR, count=16, products=4)
    polled = bench().gates(target, executor, GateKind.XOR, count=16, products=4, polled=True)
    assert queued.exact
    assert polled.exact
    # A host that answers in some cycles keeps the pipeline as full as a queue does.
    assert abs((queued.cycles or 0) - (polled.cycles or 0)) < 0.01 * (queued.cycles or 0)
    # One at a time waits for itself: side by side each product takes a fraction of that.
    alone = bench().gates(target, executor, GateKind.NAND, count=1, products=4)
    assert alone.exact
    assert 2 * (queued.each_us or 0) < (alone.each_us or 0)


def test_a_whole_gate_in_rtl() -> None:
    found = bench().gates(*device("rtl"), GateKind.NAND, count=2)
    assert found.exact
    assert found.facts["decrypted right"] == "2 of 2"


@pytest.mark.parametrize("kind", ["model", "rtl"])
def test_streams_and_expansions(kind: str) -> None:
    target, executor = device(kind)
    ring = RingBench(target.config, None, Gadget(9, 3))  # type: ignore[attr-defined]
    for made in (
        ring.products(Pipeline(target, executor, ring.settings), 5),
        ring.substitutions(Pipeline(target, executor, ring.settings), 5),
        ring.expansion(Pipeline(target, executor, ring.settings), 2, to_rgsw=False),
        ring.expansion(Pipeline(target, executor, ring.settings), 2, to_rgsw=True),
    ):
        assert made.exact, made.what


def asked(log_bins: int, cell_bits: int, log_cell: int = 0) -> Query:
    """A query in a ring of degree 256."""
    return Query(lookup_plan(PsiConfig.named("psi-small"), log_bins, cell_bits, log_cell))


@pytest.mark.parametrize(
    ("kind", "shape"), [("model", (1, 10, 0)), ("model", (2, 9, 1)), ("model", (0, 8, 0)), ("rtl", (0, 9, 0))]
)
def test_replies_are_the_processors_word_for_word(kind: str, shape: tuple[int, int, int]) -> None:
    query = asked(*shape)
    assert query.run(*device(kind)).exact
    query.client.decode(query.reply)


def test_look_ups_report_and_stop() -> None:
    target, executor = device("model")
    query, seen = asked(1, 8), list[float]()
    pipeline = Pipeline(target, executor, lookup_settings(PsiConfig.named("psi-small"), query.plan))
    lookup = Lookup(query.keys, query.table)
    lookup.answer(pipeline, query.request, seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1
    with pytest.raises(Error, match="cancelled"):
        lookup.answer(pipeline, query.request, lambda _: False)
    with pytest.raises(FormatError):
        lookup.answer(pipeline, query.request[:-1])


def test_an_expansion_that_does_not_fit_goes_depth_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ringforge.hw.machines.psi.lookup._MOST", 100)
    assert asked(2, 9).run(*device("model")).exact


def test_chains_in_parts_and_without_zeros(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys that are too many for one run come in parts; chains end at different times."""
    monkeypatch.setattr("ringforge.hw.machines.psi.pipeline._KEY_ROOM", 1 << 20)
    target, p = device("model")[0], bench().params
    rng = np.random.default_rng(1)
    accumulators = rng.integers(0, p.modulus, (18, 2, 256)).astype(np.uint32)
    indices = rng.integers(0, p.n * p.ap_digits * p.ap_base, (18, 9)).astype(np.uint32)
    indices[3] -= indices[3] % p.ap_base
    kernel, keys = AccumulateKernel(p, 18, 9), KeySet(own=(bench().key,))
    (made,), _ = target.run(target.prepare(kernel, keys), [accumulators, indices])
    cpu = open_device("cpu")
    (wanted,), _ = cpu.run(cpu.prepare(kernel, keys), [accumulators, indices])
    assert np.array_equal(made, wanted)


# ---- refusals ---------------------------------------------------------------------------------------


def test_kernels_that_do_not_fit_are_refused_with_a_remedy() -> None:
    small, large = device("model")[0], ModelDevice("psi-27")
    paper = fhew.parameters("paper-medium", "tests")
    cut = fhew.Cut(9, 3, 0, True)
    for target, kernel, match in (
        (small, AccumulateKernel(paper, 1, 1), "ring degree up to 256"),
        (large, AccumulateKernel(bench().params, 1, 1), "choose another"),
        (large, AccumulateKernel(fhew.parameters("paper-std192", "tests"), 1, 1), "bits of a prime up to 27"),
        (small, GateLevelKernel(bench().params, fhew.Method.GINX), "method ap"),
        (small, SubstitutionKernel(8, 134215681, 5, fhew.Cut(14, 3, 0, True), 1), "just cover"),
        (small, SubstitutionKernel(8, 134215681, 4, cut, 1), "odd number"),
        (large, LookupKernel(_plan("ringforge")), "bits of a prime up to 27"),
        (ModelDevice("psi-54"), LookupKernel(_plan("ringforge")), "--algorithm paper"),
    ):
        with pytest.raises(ParameterError, match=match):
            target.check(kernel)
    ModelDevice("psi-54").check(LookupKernel(_plan("paper")))
    ModelDevice("psi-27").check(AccumulateKernel(paper, 12, 512))
    with pytest.raises(MissingKeyError, match="method ap"):
        small.prepare(
            GateLevelKernel(bench().params),
            KeySet(own=(fhew.EvaluationKey.make(bench().secret, fhew.Method.GINX),)),
        )


def _plan(algorithm: str) -> Any:
    return planner.choose("direct", 64, 2, 0, 0, 3, 16, algorithm).native()


def test_keys_of_others_are_refused() -> None:
    target, p = device("model")[0], bench().params
    cut = fhew.Cut(9, 3, 0, True)
    secret = fhew.RingSecret(p.modulus, 8, _native.TestSeed(bytes(32)))
    other = KeySet(own=(fhew.SubstitutionKey.make(secret, 3, cut),))
    with pytest.raises(MismatchError, match="the kernel needs"):
        target.prepare(SubstitutionKernel(8, p.modulus, 5, cut, 1), other)
    query = asked(0, 8)
    kernel = LookupKernel(lookup_plan(PsiConfig.named("psi-small"), 1, 8))
    with pytest.raises(MismatchError, match="different plans"):
        target.prepare(kernel, KeySet(own=(LookupKeys(query.client.evaluation_keys()),)), query.table)


# ---- as users see it --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["model", "rtl"])
def test_bits_are_evaluated_on_it(kind: str) -> None:
    evaluator = gates.Evaluator(bench().key, device=device(kind)[0])
    cpu = gates.Evaluator(bench().key)
    words = bench().secret.encrypt(np.array([0, 1, 1, 0], np.uint8))
    a, b = (gates.Bits(words[i : i + 2], bench().params, evaluator, key_id=bench().key.key_id) for i in (0, 2))
    made = evaluator.gate(GateKind.NAND, a, b)
    assert np.array_equal(made.words, cpu.gate(GateKind.NAND, cpu.bind(a), cpu.bind(b)).words)
    assert bench().secret.decrypt(made.words).tolist() == [1, 1]
    assert evaluator.bootstraps == 2


@pytest.mark.parametrize("kind", ["model", "rtl"])
def test_an_intersection_is_found_on_it(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Table, client and server as ever, but for a plan in a small ring."""

    def small(mode: str, capacity: int, log_bins: int, *others: Any) -> PlanFields:  # noqa: ARG001
        digits, log_n = CutFields(log_base=4, count=7, drop=0), 8
        return PlanFields(
            algorithm="paper", log_n=log_n, modulus=bench().params.modulus, log_bins=log_bins, cell_bits=8, log_cell=0,
            log_t=1, log_onehot=0, gadget=digits, expansion=[CutFields(log_base=3, count=9, drop=0)] * log_n,
            log_reply=10, insecure="tests",
        )  # fmt: skip

    monkeypatch.setattr("ringforge.psi.planner.choose", small)
    held = range(0, 256, 7)
    server = psi.Server.build(
        held, mode="direct", bits=8, log_bins=0, hashes=1, algorithm="paper", insecure="a test", device=device(kind)[0]
    )
    for element in (7, 8):
        assert set(encrypted(server, [element]).matches) == {element} & set(held)


def test_commands(run: Run) -> None:
    text = run('hw run psi --model --count 2 --products 6 --insecure "tests"')
    assert "same bits as the CPU" in text
    assert "NO" not in text.replace("NOR", "")
    text = run('hw cycles psi --model --products 2 --stages 1 --insecure "tests"')
    assert "NAND x 16" in text
    assert "polled" in text


@pytest.mark.long
def test_a_machine_with_montgomery_multipliers_in_rtl() -> None:
    config = PsiConfig.named("psi-small").model_copy(update={"multiplier": "montgomery", "montgomery_word": 11})
    assert bench().gates(QuickDevice(config), Simulated(), GateKind.NOR, count=3, products=8).exact


@pytest.mark.long
def test_gates_of_a_published_set_in_rtl() -> None:
    """Chains of 64 products with real keys, all twelve accumulators real."""
    found = GateBench("paper-medium", "tests").gates(QuickDevice("psi-27"), Simulated(), count=12, products=64)
    assert found.exact
    assert found.each_us is not None
    # N/4 + 13 cycles a polynomial at 125 MHz, and the chains' beginning and end.
    assert 6 * 269 / 125 <= found.each_us <= 1.02 * 6 * 269 / 125


@pytest.mark.long
def test_a_bin_of_the_published_look_up_in_rtl() -> None:
    """One bin of 2^18 cells, as at 32 bits and 2^14 bins, N = 2,048, 54 bits."""
    made = Query(lookup_plan(PsiConfig.named("psi-54"), 0, 18)).run(QuickDevice("psi-54"), Simulated())
    assert made.exact
    assert made.cycles
