# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Encrypted matrix-vector products against numpy."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ringforge as rf
from ringforge import ckks, matvec
from ringforge._native import Algorithm
from ringforge.hw.machines.matvec.published import LAYERS
from ringforge.matvec.roles import exact_error

SEED = ckks.TestSeed(bytes(range(32)))
RNG = np.random.default_rng(2026)


def run(model, parameters="set-a", x=None, **options):
    """Compiles and runs a model; returns program, exact and decrypted results, report, and the bound."""
    program = matvec.compile_model(model, parameters, **options).program
    client = matvec.Client(program, accept_insecure="test", fixed_seed_for_tests=SEED)
    server = matvec.Server(model, program, client.evaluation_keys(threads=2), threads=2)
    x = RNG.uniform(-1, 1, (1, program.inputs)) if x is None else x
    result, report = server.evaluate(client.encrypt(x))
    got = client.decrypt(result, len(x))
    seq = model if isinstance(model, matvec.Sequential) else matvec.Sequential([model])
    return program, seq(x), got, report, client.error_bound(result)


def linear(m: int, n: int, bias: bool = True) -> matvec.Linear:
    return matvec.Linear(RNG.uniform(-1, 1, (m, n)), RNG.uniform(-1, 1, m) if bias else None)


@settings(max_examples=12)
@given(
    st.integers(1, 300),
    st.integers(1, 300),
    st.sampled_from(["auto", "bsgs", "diagonal", "horner"]),
    st.sampled_from([1, 2, 8]),
    st.booleans(),
)
def test_any_shape(m: int, n: int, algorithm: str, batch: int, bias: bool) -> None:
    model = linear(m, n, bias)
    x = RNG.uniform(-1, 1, (batch + 1, n))  # one more than a batch: two groups
    _, exact, got, _, bound = run(model, x=x, batch=batch, algorithm=algorithm)
    assert np.abs(exact - got).max() <= bound


@settings(max_examples=40)
@given(
    st.integers(1, 200),
    st.integers(1, 200),
    st.sampled_from(["bsgs", "diagonal", "horner"]),
    st.sampled_from([1, 64, 2048]),
)
def test_clear_backend_performs_the_same_plan(m: int, n: int, algorithm: str, batch: int) -> None:
    model = linear(m, n)
    x = RNG.uniform(-1, 1, (3, n))
    _, exact, got, _, _ = run(model, x=x, batch=batch, algorithm=algorithm, backend="clear")
    assert np.allclose(exact, got, atol=1e-9)


@pytest.mark.parametrize("shape", [(31, 5000), (5000, 31), (4097, 3), (3, 4097), (4500, 5)])
def test_more_rows_or_columns_than_slots(shape: tuple[int, int]) -> None:
    program, exact, got, _, bound = run(linear(*shape))
    assert np.abs(exact - got).max() <= bound
    assert len(program.plans[0].packing.blocks) == -(-shape[1] // 4096)


@pytest.mark.parametrize("algorithm", ["bsgs", "diagonal"])
@pytest.mark.parametrize("level", [None, 2])
def test_a_real_layer_at_set_a(algorithm: str, level: int | None) -> None:
    layer = next(x for x in LAYERS if x.name == "rnnt-fc0")
    _, exact, got, _, bound = run(linear(layer.m, layer.n, bias=False), "set-a", algorithm=algorithm, level=level)
    assert exact_error(exact, got) < 2**-20
    assert np.abs(exact - got).max() <= bound


@pytest.mark.parametrize("name", ["rnnt-fc0", "ds2-gru"])
def test_real_layers_at_set_b(name: str) -> None:
    layer = next(x for x in LAYERS if x.name == name)
    program, exact, got, report, bound = run(linear(layer.m, layer.n, bias=False), "set-b")
    assert program.linear_steps[0].algorithm == "bsgs"
    assert program.input_level == 1
    assert exact_error(exact, got) < 2**-20
    assert np.abs(exact - got).max() <= bound
    assert report.operations["rotation"] < 60


def test_the_planner_counts_exactly_what_runs() -> None:
    for algorithm in ("bsgs", "diagonal", "horner"):
        model = linear(40, 100)
        compiled = matvec.compile_model(model, "set-a", algorithm=algorithm)
        client = matvec.Client(compiled.program)
        server = matvec.Server(model, compiled.program, client.evaluation_keys())
        _, report = server.evaluate(client.encrypt(np.zeros(100)))
        cost = compiled.choices[0].chosen.cost
        for name, number in report.operations.items():
            assert number == getattr(cost.ops, name), name
        assert report.bytes["keys"] == cost.ops.key_bytes
        assert report.bytes["matrix"] == cost.ops.plaintext_bytes
        assert cost.key_storage == client.evaluation_keys().galois.bytes


def test_a_network_with_squares() -> None:
    net = matvec.Sequential(
        [
            matvec.Linear(RNG.normal(0, 0.2, (32, 64)), RNG.normal(size=32)),
            matvec.Square(),
            matvec.Linear(RNG.normal(0, 0.2, (10, 32)), RNG.normal(size=10)),
        ]
    )
    x = RNG.uniform(0, 1, (70, 64))
    for parameters in (None, "set-b"):
        program, exact, got, _, bound = run(net, parameters, x=x, batch=64)
        assert program.context.params.secure
        error = np.abs(exact - got).max()
        assert error <= bound
        assert error >= bound / 256
        assert error < 2**-13
    _, exact, got, _, _ = run(net, "set-b", x=x, batch=64, backend="clear")
    assert np.allclose(exact, got)


def test_chained_layers_reuse_the_layout_an_earlier_one_left() -> None:
    for widths in ([50, 7, 90, 3], [3, 200, 5], [4096, 16, 5000]):
        layers = [linear(b, a) for a, b in itertools.pairwise(widths)]
        scaled = [matvec.Linear(x.weights / x.cols, x.bias) for x in layers]
        net = matvec.Sequential(scaled)
        _, exact, got, _, bound = run(net, "set-b")
        assert np.abs(exact - got).max() <= bound


def test_memory_limit_changes_the_plan_or_refuses() -> None:
    model = linear(300, 300)
    free = matvec.compile_model(model, "set-b", level=6, batch=16).choices[0].chosen
    tight = matvec.compile_model(model, "set-b", level=6, batch=16, memory=free.memory // 2 + 2**28).choices[0].chosen
    assert (free.algorithm, tight.algorithm) == ("bsgs", "horner")
    assert tight.memory < free.memory
    with pytest.raises(rf.MemoryLimitError, match="raise the limit"):
        matvec.compile_model(model, "set-b", memory=1 << 20)
    compiled = matvec.compile_model(model, "set-b")
    assert any(c.algorithm == "horner" for c in compiled.choices[0].candidates)
    assert compiled.choices[0].chosen.plan.algorithm == Algorithm.bsgs


def test_errors_name_numbers_and_remedy() -> None:
    model = linear(8, 8)
    program = matvec.compile_model(model, "set-a").program
    client = matvec.Client(program, fixed_seed_for_tests=SEED)
    keys = client.evaluation_keys()
    server = matvec.Server(model, program, keys)
    with pytest.raises(rf.ShapeError, match="length 8"):
        client.encrypt(np.zeros(9))
    with pytest.raises(rf.ValueError, match="NaN"):
        client.encrypt([float("nan")] * 8)
    with pytest.raises(rf.ValueError, match="declared bound"):
        client.encrypt([2.0] * 8)
    with pytest.raises(rf.ShapeError, match="8 x 8"):
        matvec.Server(linear(8, 9), program, keys)
    with pytest.raises(rf.MissingKeyError, match="generate keys for this plan"):
        matvec.Server(model, program, matvec.EvaluationKeys()).evaluate(client.encrypt(np.zeros(8)))
    stranger = matvec.Client(program)
    with pytest.raises(rf.MismatchError, match="another"):
        server.evaluate(stranger.encrypt(np.zeros(8)))
    with pytest.raises(rf.MismatchError, match="another key"):
        stranger.decrypt(server.evaluate(client.encrypt(np.zeros(8)))[0])
    clear = matvec.compile_model(model, "set-a", backend="clear").program
    with pytest.raises(rf.ParameterError, match="does not encrypt"):
        matvec.Client(clear)
    weak = matvec.compile_model(model, rf.params.named("set-b-54", "width test")).program
    with pytest.raises(rf.ParameterError, match="less than 128 bits"):
        matvec.Client(weak)
    result, _ = server.evaluate(client.encrypt(np.zeros(8)))
    with pytest.raises(rf.LevelError, match="nothing would be left"):
        client.decrypt(result, share_bits=40)
    assert client.error_bound(result, 4) > client.error_bound(result)
    deep = matvec.Sequential([model, matvec.Square(), model, matvec.Square()])
    with pytest.raises(rf.LevelError, match="rescales 4 times"):
        matvec.compile_model(deep, "set-a")
    with pytest.raises(rf.LevelError, match="level 9"):
        matvec.compile_model(model, "set-a", level=9)
    with pytest.raises(rf.LevelError, match="does not fit"):
        matvec.compile_model(matvec.Linear(np.full((2, 2), 1e40)), "set-a")
    with pytest.raises(rf.ParameterError, match="batch"):
        matvec.compile_model(model, "set-a", batch=0)
    with pytest.raises(rf.ShapeError):
        matvec.Sequential([matvec.Square()])
    with pytest.raises(rf.ValueError, match="NaN"):
        matvec.Linear([[float("inf")]])
    with pytest.raises(rf.ParameterError, match="no device"):
        matvec.Server(model, program, keys, device="tpu")


def test_programs_survive_files_and_refuse_damage(tmp_path: Path) -> None:
    model = linear(20, 30)
    program = matvec.compile_model(model, "set-a", batch=4).program
    path = tmp_path / "program.json"
    program.save(path)
    assert matvec.Program.load(path) == program
    good = json.loads(path.read_text())
    for damage in (
        lambda d: d.update(version=3),
        lambda d: d.update(version=1),
        lambda d: d["steps"][0].pop("norm"),
        lambda d: d.update(batch=3),
        lambda d: d.update(extra=1),
        lambda d: d["steps"][0].update(level=3),
        lambda d: d["steps"][0].update(rows=1 << 40),
        lambda d: d["steps"][0].update(baby=1 << 15),
        lambda d: d["steps"][0].update(rows=1 << 20, cols=1 << 20),
        lambda d: d["steps"].clear(),
        lambda d: d["parameters"].update(q=[17]),
        lambda d: d["parameters"].update(log_n=60),
        lambda d: d["parameters"].update(log_n=11),
    ):
        bad = json.loads(json.dumps(good))
        damage(bad)
        path.write_text(json.dumps(bad))
        with pytest.raises(rf.Error):
            matvec.Program.load(path)
    for text in ("", "{", "[]", "null", '{"format": 1}', "[" * 100000):
        path.write_text(text)
        with pytest.raises(rf.FormatError):
            matvec.Program.load(path)


def test_models_survive_files(tmp_path: Path) -> None:
    net = matvec.Sequential([linear(5, 4), matvec.Square(), linear(2, 5, bias=False)])
    matvec.save_model(tmp_path / "m.npz", net)
    again = matvec.load_model(tmp_path / "m.npz")
    x = RNG.uniform(-1, 1, (3, 4))
    assert np.array_equal(net(x), again(x))
    (tmp_path / "broken.npz").write_bytes((tmp_path / "m.npz").read_bytes()[:100])
    with pytest.raises(rf.FormatError):
        matvec.load_model(tmp_path / "broken.npz")
    with pytest.raises(rf.Error, match="models are"):
        matvec.load_model(tmp_path / "m.txt")


@pytest.mark.parametrize("kind", ["constant", "random"])
def test_errors_that_slots_share_are_predicted(kind: str) -> None:
    """Results of a matrix share its input's errors; rank-one matrices add them up instead of averaging them."""
    sign = np.ones((64, 64)) if kind == "constant" else RNG.choice([-1.0, 1.0], (64, 64))
    net = matvec.Sequential([matvec.Linear(sign / 8) for _ in range(5)])
    _, exact, got, _, bound = run(net, "set-b", x=RNG.uniform(-1, 1, (1, 64)) / 64)
    assert np.abs(exact - got).max() <= bound


@pytest.mark.parametrize("threads", [1, 2])
def test_preparation_reports_progress(threads: int) -> None:
    model = linear(64, 256)
    program = matvec.compile_model(model, "set-a", algorithm="horner").program
    seen: list[float] = []
    matvec.Server(model, program, matvec.EvaluationKeys(), threads=threads, progress=seen.append)
    assert len(seen) > 2
    assert seen[-1] == 1.0
    assert all(0 < f <= 1 for f in seen)


@pytest.mark.parametrize("log_size", [12, 80, 160])
def test_parameters_are_found_for_results_of_any_size(log_size: int) -> None:
    """Results that no prime holds end at a higher level; a suggestion has as many as it takes."""
    weights = np.full((4, 4), 2.0**log_size)
    compiled = matvec.compile_model(matvec.Linear(weights))
    assert compiled.program.context.params.secure
    client = matvec.Client(compiled.program, fixed_seed_for_tests=SEED)
    result, _ = matvec.Server(matvec.Linear(weights), compiled.program, client.evaluation_keys()).evaluate(
        client.encrypt(np.full(4, 0.5))
    )
    y = client.decrypt(result, 1)
    assert np.abs(y - 2.0 ** (log_size + 1)).max() <= client.error_bound(result) < 2.0 ** (log_size - 16)
