# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Products of encrypted matrices: what is chosen to be measured, Lattigo's Algorithm 2 at a tiny size, records."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ringforge.cli import main
from ringforge.devices import Device
from ringforge.errors import LevelError, ParameterError, ShapeError
from ringforge.lab.bench import matmul, matmul_ours, matmul_peer
from ringforge.lab.papers.matmul import Shape, product_counts
from ringforge.lab.peers import PeerError, lattigo
from ringforge.lab.timing import Timing
from ringforge.params import Parameters, named
from ringforge.runs import load
from tests.answers import result_of

SMALL = Shape(4, 3, 5)
TINY = lattigo.Request("matmul_naive", log_n=8, limbs=5, special=1, budget_s=0.02)


@pytest.fixture
def paper_a() -> Parameters:
    return named("matmul-a", "test")


def tiny(request: lattigo.Request) -> lattigo.Result:
    """The request in a small ring; shapes and rotations stay."""
    return lattigo.run(replace(request, log_n=8, q=(), p=(), limbs=5, special=1, budget_s=0.02))


# ---- the Go program ------------------------------------------------------------------------------


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("shape", [(4, 3, 5), (3, 5, 4), (5, 4, 3), (8, 8, 8), (16, 8, 4), (2, 1, 1), (1, 1, 1)])
def test_whole_products_are_right(shape: tuple[int, int, int]) -> None:
    result = lattigo.run(replace(TINY, shape=shape))
    assert result.error < 1e-5
    assert result.parts is not None
    x = product_counts(Shape(*shape), 128)
    assert (result.parts["rotations_1"], result.parts["rotations_2"]) == (x.step1_rotations, x.step2_rotations)
    assert result.seconds == pytest.approx(sum(result.parts[p] for p in ("step_1", "step_2", "products")))


@pytest.mark.usefixtures("built")
def test_hybrid_key_switching_and_lowest_level() -> None:
    assert lattigo.run(replace(TINY, special=2, level=3, shape=(4, 3, 5))).error < 1e-5


@pytest.mark.usefixtures("built")
def test_samples_time_every_operation() -> None:
    result = lattigo.run(replace(TINY, rotations=(1, 2, -3), second_rotations=(5, 6)))
    assert result.error < 1e-5
    assert result.iterations == 3
    assert result.parts is not None
    assert set(result.parts) == {
        *("rotation_1", "rotation_2", "mask_1", "mask_2", "rescale_1", "rescale_2", "rescale_3"),
        *("product", "key", "encode"),
    }
    assert all(seconds > 0 for seconds in result.parts.values())


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({}, "needs a shape"),
        ({"rotations": (1,)}, "needs a shape"),
        ({"rotations": (1, 129), "second_rotations": (1,)}, "listed twice"),
        ({"rotations": (1,), "second_rotations": (128,)}, "is none"),
        ({"shape": (4, 3)}, "three sizes"),
        ({"shape": (4, 0, 3)}, "at least 1"),
        ({"shape": (16, 16, 1)}, "needs 256 slots, there are 128"),
        ({"shape": (4, 3, 5), "level": 2}, "level is 2"),
    ],
)
def test_refusals_say_why(change: dict[str, object], message: str) -> None:
    with pytest.raises(PeerError, match=message):
        lattigo.run(replace(TINY, **change))  # type: ignore[arg-type]


# ---- the peer's product --------------------------------------------------------------------------


@pytest.mark.usefixtures("built")
def test_short_products_are_run_whole(paper_a: Parameters) -> None:
    made = matmul_peer.measure(SMALL, paper_a, run=tiny)
    assert not made.extrapolated
    assert made.measured == made.rotations
    assert made.error < 1e-5
    for t in (made.wall, made.cpu):
        assert t.published >= t.whole > t.products > 0
        assert t.bsgs_step_1 is not None
        assert t.bsgs == pytest.approx(t.bsgs_step_1 + t.step_2 + t.products)


@pytest.mark.usefixtures("built")
def test_long_products_are_extrapolated(paper_a: Parameters) -> None:
    made = matmul_peer.measure(Shape(8, 8, 8), paper_a, limit_s=0, bsgs=False, run=tiny)
    assert made.extrapolated
    assert made.wall.bsgs is None
    assert made.rotations == (28, 28)
    # Every distinct rotation of the first step, and those of the second: p and p - 8, 8p and 8p - 64.
    assert made.measured == (28, 28)
    assert min(made.wall.whole, made.cpu.whole) > 0


def test_a_product_without_rotations_is_run_whole(paper_a: Parameters) -> None:
    asked: list[lattigo.Request] = []

    def run(request: lattigo.Request) -> lattigo.Result:
        asked.append(request)
        parts = dict.fromkeys(("step_1", "step_2", "products", "product", "rotations_1", "rotations_2"), 0.0)
        return lattigo.Result("", 1.0, 1.0, 1, None, None, None, "", "v", "", 13, 5, 1, 0.0, 1.0, parts, parts)

    made = matmul_peer.measure(Shape(1, 1, 1), paper_a, bsgs=False, run=run)
    assert not made.extrapolated
    assert [r.shape for r in asked] == [(1, 1, 1)]


def test_the_sum_of_samples(paper_a: Parameters) -> None:
    """64 x 64 x 64 in 4,096 slots: 189 rotations and 2 masks in each step, 128 rescales in the second, 64 products."""
    parts = {
        **{"rotation_1": 1e6, "mask_1": 1e4, "rescale_1": 1e2, "rotation_2": 1e-2, "mask_2": 1e-4, "rescale_2": 1e-7},
        **{"product": 1e-9, "rescale_3": 1e-12, "key": 0.0, "encode": 0.0},
    }

    def run(request: lattigo.Request) -> lattigo.Result:
        assert len(request.rotations) == len(request.second_rotations) == matmul_peer.SAMPLES
        assert (request.level, len(request.q), len(request.p), request.log_scale) == (4, 5, 1, 40)
        half = {name: seconds / 2 for name, seconds in parts.items()}
        return lattigo.Result("", 1.0, 1.0, 32, None, None, None, "", "v", "", 13, 5, 1, 0.0, 1.0, parts, half)

    made = matmul_peer.measure(Shape(64, 64, 64), paper_a, bsgs=False, run=run)
    for t, share in ((made.wall, 1), (made.cpu, 2)):
        assert t.step_1 * share == pytest.approx(189e6 + 2e4 + 2e2)
        assert t.step_2 * share == pytest.approx(1.89 + 2e-4 + 128e-7)
        assert t.products * share == pytest.approx(64e-9 + 1e-12)


def test_spread_keeps_short_lists_and_thins_long_ones() -> None:
    assert matmul_peer.spread([3, 5], 32) == (3, 5)
    thin = matmul_peer.spread(range(189), 32)
    assert len(set(thin)) == 32
    assert (thin[0], thin[-1]) == (0, 183)


def test_sets_with_too_few_levels_are_refused() -> None:
    with pytest.raises(LevelError, match="takes 3 levels, set-a has 2"):
        matmul_peer.measure(SMALL, named("set-a"))


# ---- the comparison ------------------------------------------------------------------------------


def listed(shapes: list[str] | None, params: str | None) -> list[tuple[str, str]]:
    return [(str(c.shape), c.params) for c in matmul.cases(shapes, params)]


def test_cases() -> None:
    cubes = [("64-64-64", "matmul-a"), ("128-128-128", "matmul-b"), ("160-160-160", "matmul-c")]
    assert listed(None, None) == cubes
    assert len(listed(["all"], None)) == 12
    assert listed(None, "set-b") == [("128-128-128", "matmul-b")]
    assert [shape for shape, _ in listed(["all"], "matmul-a-128")] == ["64-64-16", "64-16-64", "16-64-64", "64-64-64"]
    assert listed(["4x3x5", "160-16-160", "128x128x100"], None) == [
        *(("4-3-5", "matmul-a"), ("160-16-160", "matmul-c"), ("128-128-100", "matmul-b"))
    ]
    assert listed(["4x3x5"], "matmul-b-128") == [("4-3-5", "matmul-b-128")]


@pytest.mark.parametrize("text", ["64x64", "axbxc", "4x-1x3", "1x2x3x4", "", "0x1x1", "¹x1x1"])
def test_bad_shapes_are_refused(text: str) -> None:
    with pytest.raises(ShapeError):
        matmul.parse_shape(text)


def test_cases_that_cannot_be() -> None:
    with pytest.raises(ShapeError, match="needs 16384 slots, matmul-a has 4096"):
        matmul.cases(["128x128x128"], "set-a")
    with pytest.raises(ParameterError, match="none of the paper's sets"):
        matmul.cases(["200x200x200"], None)
    with pytest.raises(ParameterError):
        matmul.cases(["4x4x4"], "set-z")


@pytest.mark.parametrize("algorithm", ["ringforge", "fame", "naive"])
def test_encoding_is_taken_away_clock_by_clock(monkeypatch: pytest.MonkeyPatch, algorithm: str) -> None:
    """On a machine that does other things, encoding takes longer by the clock on the wall than of processors.

    The waiting is put into the work that is measured: its processor time is nothing, and no time gets negative by it.
    """
    real = Device.prepare

    def waiting(*arguments: Any, **named: Any) -> Any:
        time.sleep(0.02)
        handle = real(*arguments, **named)
        return replace(handle, prepare_seconds=handle.prepare_seconds + 0.02)

    monkeypatch.setattr(Device, "prepare", waiting)
    params = named("matmul-a", "test")
    made = matmul_ours.measure(SMALL, params, algorithm=algorithm, threads=1, seed=7, budget_s=0.0)
    assert min(made.time.wall, made.time.cpu) > 0
    assert min(made.extra["cpu_phases"]) >= 0
    assert sum(made.extra["cpu_phases"]) == pytest.approx(made.time.cpu, rel=0.5)
    assert made.max_rel_error is not None
    assert made.max_rel_error < 1e-4


THEIRS = matmul_peer.PeerProduct(
    wall=matmul_peer.Seconds(1.0, 0.75, 0.25, 0.01, 0.01, 0.01, 0.1),
    cpu=matmul_peer.Seconds(0.5, 0.375, 0.125, 0.005, 0.005, 0.005, 0.05),
    rotations=(10, 20),
    measured=(10, 20),
    extrapolated=True,
    error=1e-7,
    version="v6.1.1",
    peak_mib=30.0,
)


def test_ratios_are_of_one_clock() -> None:
    mine = matmul.Ours(Timing(0.5, 0.125), Timing(0.25, 0.2), "square", 4, 1e-7, 12.0, {"keys": 3})
    (case,) = matmul.cases(["4x3x5"], "set-a")
    one = matmul.record(case, mine, THEIRS)
    assert (one.clock, one.ratio, one.encode_seconds) == ("processor", 8.0, 0.2)
    assert one.extra["peer_seconds_bsgs"] == pytest.approx(0.55)
    two = matmul.record(replace(case, threads=2), mine, THEIRS)
    assert (two.clock, two.ratio, two.encode_seconds) == ("wall", 4.0, 0.25)
    assert two.extra["peer_seconds_bsgs"] == pytest.approx(1.1)


@pytest.mark.usefixtures("built")
def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["bench", "matmul", "--shape", "4x3x5", "--params", "set-a", "--json", "--save", str(tmp_path)]
    assert main(words) == 0
    printed = result_of(capsys.readouterr().out)
    assert (printed["system"], printed["case"], printed["params"]) == ("matmul", "4-3-5", "matmul-a")
    for side in ("", "peer_"):
        assert min(printed[f"{side}wall_seconds"], printed[f"{side}cpu_seconds"]) > 0
    assert printed["clock"] == "processor"
    assert printed["ratio"] == pytest.approx(printed["peer_cpu_seconds"] / printed["cpu_seconds"])
    assert len(printed["machine"]["load_before"]) == len(printed["machine"]["load_after"]) == 3
    (saved,) = load(next(tmp_path.glob("matmul-matmul-a-*.jsonl")))
    assert saved.ratio == pytest.approx(printed["ratio"])
    assert saved.extra["peer_extrapolated"] is False
    assert len(saved.extra["rounds_seconds"]) == 2, "before and after the peer"
    assert (saved.extra["m"], saved.extra["l"], saved.extra["n"]) == (4, 3, 5)
    environment = json.loads(next(tmp_path.glob("*.environment.json")).read_text())
    assert {"cpu", "cores", "date", "load_before", "load_after"} <= set(environment)


def test_without_a_peer(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(lattigo, "program", lambda: pytest.fail("no peer was asked for"))
    assert main(["bench", "matmul", "--shape", "4x3x5", "--peer", "none"]) == 0
    shown = capsys.readouterr()
    text = " ".join((shown.out + shown.err).split())
    for part in ("wall", "processor", "load of 1, 5 and 15 minutes before and after"):
        assert part in text
