# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Programs: what is recorded is what happens; files that say something else are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from ringforge import matmul
from ringforge.errors import FormatError, LevelError, MemoryLimitError, ParameterError, ShapeError
from ringforge.matmul.engine import Product
from ringforge.matmul.program import symbols
from ringforge.matmul.roles import Computer
from ringforge.matmul.tracer import Tracer
from tests.matmul.test_matrix import small, uniform


def gradient(X: Any, y: Any, w: Any) -> Any:
    return w - 0.125 * ((X @ w - y) @ X)


SHAPES = {"X": (7, 4), "y": (7,), "w": (4,)}


@pytest.fixture(scope="module")
def program() -> matmul.Program:
    return matmul.trace(small(8), gradient, SHAPES)


def run(program: matmul.Program, values: dict[str, np.ndarray], plain: dict[str, np.ndarray] | None = None) -> Any:
    """All roles in turn; every input by a contributor."""
    holder = matmul.KeyHolder(program, accept_insecure="tests")
    contributor = matmul.Contributor(program, holder.public_key(), accept_insecure="tests")
    server = matmul.Server(program, holder.evaluation_keys())
    outputs, _ = server.run([contributor.encrypt(k, v) for k, v in values.items()], plain)
    results = {name: holder.decrypt(parcel) for name, parcel in outputs.items()}
    for name, parcel in outputs.items():
        traced = program.traced.results[name]
        assert [c.level for c in parcel.ciphertexts] == [t.value.level for t in traced.every_tile()]
        # What was predicted without data is what the library says of the ciphertexts.
        # (Of plain inputs only bounds are known when tracing.)
        for c, t in zip(parcel.ciphertexts, traced.every_tile(), strict=True):
            assert c.error_bound <= t.value.error_bound * (1 + 1e-3)
            assert c.bound <= t.value.bound * (1 + 1e-9)
            if not plain:
                assert c.error_bound == pytest.approx(t.value.error_bound, rel=1e-3)
    return results


def test_recorded_and_computed(program: matmul.Program) -> None:
    values = {k: uniform(*s) for k, s in SHAPES.items()}
    result = run(program, values)["result"]
    error = np.abs(result - gradient(**values)).max()
    assert error <= program.traced.results["result"].error_bound
    assert error < 1e-4


FUNCTIONS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "chain": (lambda A, B, C: A @ B @ C, {"A": (3, 4), "B": (4, 5), "C": (5, 2)}),
    "tiles": (lambda A, B: A @ B, {"A": matmul.Input(shape=(9, 8), tile=(5, 4)), "B": (8, 3)}),
    "cut anew": (lambda A, B: (A @ B)[1:5] - B[:4] * 2, {"A": (8, 8), "B": matmul.Input(shape=(8, 3), tile=(4, 3))}),
    "transposed": (lambda A: A.T @ A, {"A": (6, 5)}),
    "plain": (
        lambda A, P: (P @ A - np.ones((3, 2))) @ np.eye(2),
        {"A": (4, 2), "P": matmul.Input(shape=(3, 4), plain=True)},
    ),
    "numbers": (lambda v, w: v @ w, {"v": (6,), "w": (6,)}),
    "two": (lambda A, B: {"sum": A + B, "product": A @ B}, {"A": (4, 4), "B": (4, 4)}),
    "tuple": (lambda A: (A[0], -A), {"A": (4, 3)}),
}


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_functions(name: str, tmp_path: Path) -> None:
    """Traced, saved, loaded, run by separate roles, compared with the function on numpy's matrices."""
    function, shapes = FUNCTIONS[name]
    made = matmul.trace(small(7), function, shapes)
    made.save(tmp_path / "p.json")
    program = matmul.Program.load(tmp_path / "p.json")
    assert program == made
    arrays = {x.name: uniform(*x.shape) for x in program.inputs}
    plain = {x.name: arrays[x.name] for x in program.inputs if x.plain}
    got = run(program, {k: v for k, v in arrays.items() if k not in plain}, plain)
    exact = function(**arrays)
    if isinstance(exact, tuple):
        exact = {f"result{i}": v for i, v in enumerate(exact)}
    elif not isinstance(exact, dict):
        exact = {"result": exact}
    assert list(got) == list(exact)
    for key, value in exact.items():
        assert np.shape(got[key]) == np.shape(value)
        assert np.abs(got[key] - value).max() < 1e-4


OUTPUTS: dict[str, Callable[..., Any]] = {
    "product": lambda A, B, D: A @ B + 0 * D,
    "sum": lambda A, B, D: A @ B + D,
    "difference of products": lambda A, B, D: A @ B - (0.5 * D),
    "plain sum": lambda A, B, D: (A @ B - 2 * np.ones((4, 3))) + 0 * D,
    "copies and copies": lambda A, B, D: (A @ B + 3 * (A @ B)) + (D - D),
    "negative": lambda A, B, D: -(A @ B + D),
    "transposed": lambda A, B, D: (A @ B + D).T,
}


@pytest.mark.parametrize("method", ["auto", "hegmm-en", "fame"])
@pytest.mark.parametrize("name", sorted(OUTPUTS))
def test_outputs_hold_the_result_and_nothing_else(name: str, method: str) -> None:
    """No slot of what the key holder gets has partial sums, or products as they were before a sum."""
    program = matmul.trace(small(6), OUTPUTS[name], method=method, A=(4, 40), B=(40, 3), D=(4, 3))
    holder = matmul.KeyHolder(program, accept_insecure="tests")
    values = {x.name: uniform(*x.shape) for x in program.inputs}
    outputs, _ = matmul.Server(program, holder.evaluation_keys()).run(holder.encrypt(k, v) for k, v in values.items())
    parcel = outputs["result"]
    exact = OUTPUTS[name](**values)
    assert np.abs(holder.decrypt(parcel) - exact).max() < 1e-4
    slots = program.context.decode(holder._client.decrypt(parcel.ciphertexts[0], holder._secret))
    known = np.append(exact.ravel(), 0)
    assert np.abs(slots[:, None] - known[None, :]).min(axis=1).max() < 1e-4


def test_programs_whose_outputs_show_more_are_refused(tmp_path: Path) -> None:
    program = matmul.trace(small(6), OUTPUTS["sum"], A=(4, 40), B=(40, 3), D=(4, 3))
    clean = [i for i, s in enumerate(program.steps) if s.kind == "clean"]
    assert clean == [len(program.steps) - 1]
    program.save(tmp_path / "p.json")
    data = json.loads((tmp_path / "p.json").read_text())
    data["steps"].pop()
    data["outputs"]["result"] -= 1
    (tmp_path / "p.json").write_text(json.dumps(data))
    with pytest.raises(FormatError, match="would show more than the result"):
        matmul.Program.load(tmp_path / "p.json")


def test_the_keys_are_just_those_needed(program: matmul.Program) -> None:
    """Without any one of them the server refuses; a session that makes keys when needed makes the same."""
    holder = matmul.KeyHolder(program, accept_insecure="tests")
    keys = holder.evaluation_keys()
    assert sorted(keys.galois.elements) == sorted(program.key_levels)
    assert all(keys.galois.level(e) == level for e, level in program.key_levels.items())
    assert keys.relin is not None
    assert keys.relin.level == program.relin_level
    session = matmul.Session(small(8), level_price=program.settings.level_price)
    level = program.inputs[0].level
    x, y, w = (session.encrypt(uniform(*SHAPES[k]), level=level) for k in ("X", "y", "w"))
    result = gradient(x, y, w)
    assert sorted(session.keys.galois.elements) == sorted(program.key_levels)
    # The same code decides in both.
    traced = program.traced.results["result"].step.ancestors()
    assert [(s.kind, s.level, s.detail) for s in traced] == [
        (s.kind, s.level, "" if s.kind == "input" else s.detail) for s in result.step.ancestors()
    ]


def test_nothing_is_computed_while_tracing(program: matmul.Program) -> None:
    assert isinstance(program.traced.tracer, Tracer)
    assert not isinstance(program.traced.tracer, Computer)
    with pytest.raises(ParameterError, match="nobody here can decrypt"):
        program.traced.results["result"].decrypt()


def test_levels_are_the_fewest_that_serve() -> None:
    made = matmul.trace(small(8), lambda A, B: A @ B, A=(4, 5), B=(5, 3))
    assert made.inputs[0].level < 5
    assert made.traced.results["result"].level == 0
    higher = matmul.trace(small(8), lambda A, B: A @ B, level=6, A=(4, 5), B=(5, 3))
    assert [x.level for x in higher.inputs] == [6, 6]
    big = matmul.Input(shape=(4, 4), bound=1e4)
    assert matmul.trace(small(8), lambda A: A @ A, A=big).traced.results["result"].level == 1


def test_parameters_are_suggested() -> None:
    made = matmul.trace(None, lambda A, B: A @ B @ A, A=(16, 16), B=(16, 16))
    p = made.context.params
    assert p.secure
    assert p.slots >= 256
    assert made.traced.results["result"].level >= 0


def test_precise_parameters_are_found() -> None:
    """Primes up to 61 bits are tried, and a depth without any ends the search, not the program that was found."""
    made = matmul.trace(None, lambda A, B: A @ B, precision=34, A=(4, 4), B=(4, 4))
    p = made.context.params
    assert p.secure
    assert 55 <= p.q[0].bit_length() <= 61
    with pytest.raises(ParameterError, match="the first prime must hold"):
        matmul.trace(None, lambda A, B: A @ B, precision=44, A=(4, 4), B=(4, 4))


def test_refusals() -> None:
    p = small(3)
    for error, make, message in [
        (
            LevelError,
            lambda: matmul.trace(p, lambda A: A @ A @ A @ A, A=(5, 5)),
            r"takes at least \d levels, .* level 3",
        ),
        (LevelError, lambda: matmul.trace(p, lambda A: A @ A, level=4, A=(5, 5)), r"level 4 is outside 0 \.\.\. 3"),
        (ShapeError, lambda: matmul.trace(p, lambda A: A @ A, A=(5, 4)), "do not chain"),
        (ShapeError, lambda: matmul.trace(p, lambda A: A, A=(0, 4)), "input A"),
        (ParameterError, lambda: matmul.trace(p, lambda: 1), "needs inputs"),
        (ParameterError, lambda: matmul.trace(p, lambda A, **_: A, A=(2, 2), B=(2, 2)), "does not use its input B"),
        (ParameterError, lambda: matmul.trace(p, lambda **_: 1, A=(2, 2)), "returned int"),
        (ParameterError, lambda: matmul.trace(None, lambda A: A @ A, level=2, A=(2, 2)), "name a set"),
        (ParameterError, lambda: matmul.trace(p, lambda A: A @ A, method="magic", A=(2, 2)), "no method"),
        (MemoryLimitError, lambda: matmul.trace(p, lambda A: A @ A, memory=1000, A=(9, 9)), "MiB"),
    ]:
        with pytest.raises(error, match=message):
            make()


def test_memory_of_the_whole_program_is_limited() -> None:
    program = matmul.trace(small(8), gradient, SHAPES, method="ringforge")
    total = sum(program.memory.values())
    assert min(program.memory.values()) > 0
    products = [s.choice.chosen.cost.memory for s in program.traced.results["result"].step.ancestors() if s.choice]
    assert max(products) < total
    with pytest.raises(MemoryLimitError, match="the program takes"):
        matmul.trace(
            small(8), gradient, SHAPES, memory=max(products) + 1000, level=program.inputs[0].level, method="ringforge"
        )


# ---- files ----


def test_files_are_for_people_and_machines(program: matmul.Program, tmp_path: Path) -> None:
    program.save(tmp_path / "p.json")
    data = json.loads((tmp_path / "p.json").read_text())
    assert data["format"] == "ringforge-matmul-program"
    assert data["version"] == 2  # the gradient folds
    assert [x["name"] for x in data["inputs"]] == ["X", "y", "w"]
    assert [s["kind"] for s in data["steps"]].count("product") == 2
    screen = Console(width=150, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    screen.print(program.explain())
    text = screen.export_text()
    for word in ("input X", "output result", "INSECURE", "Galois keys", "server's memory", "7 x 4", "chosen"):
        assert word in text, word


def _set(path: str, value: Any) -> Callable[[Any], None]:
    def change(data: Any) -> None:
        *way, last = path.split(".")
        for key in way:
            data = data[int(key)] if isinstance(data, list) else data[key]
        if isinstance(data, list):
            data[int(last)] = value
        else:
            data[last] = value

    return change


CHANGES = {
    "another format": _set("format", "ringforge-matvec-program"),
    "a later version": _set("version", 3),
    "an unknown field": _set("extra", 1),
    "no name": _set("inputs.0.name", "a b"),
    "equal names": _set("inputs.0.name", "w"),
    "another hash": _set("parameter_hash", "0" * 64),
    "hash no hash": _set("parameter_hash", "0"),
    "another prime": _set("parameters.q.1", 1125899906826241),
    "another shape": _set("inputs.0.shape", [4, 7]),
    "an empty side": _set("inputs.0.shape", [0, 4]),
    "three sides": _set("inputs.0.shape", [2, 2, 2]),
    "a large tile": _set("inputs.0.tile", [4096, 4096]),
    "a huge matrix": _set("inputs.0.shape", [1 << 40, 4]),
    "another level": _set("inputs.0.level", 1),
    "a level too high": _set("inputs.0.level", 60),
    "bound nan": _set("inputs.0.bound", "NaN"),
    "bound 0": _set("inputs.0.bound", 0),
    "a larger bound": _set("inputs.0.bound", 1e30),
    "unknown step": _set("steps.2.kind", "inverse"),
    "a step of itself": _set("steps.2.of", [2, 2]),
    "three operands": _set("steps.2.of", [0, 1, 1]),
    "one operand": _set("steps.2.of", [0]),
    "an input from nowhere": _set("steps.0.name", "Z"),
    "a multiple without number": _set("steps.6.by", None),
    "another result level": _set("steps.7.level", 3),
    "an output beyond": _set("outputs", {"result": 99}),
    "an output that is an operand": _set("outputs", {"result": 2}),
    "no outputs": _set("outputs", {}),
    "fewer keys": _set("galois_keys", []),
    "another key level": _set("galois_keys.0", [5, 0]),
    "no relinearisation": _set("relin_level", None),
    "other keys' settings": _set("settings.keys", "many"),
    "another method": _set("settings.method", "fame"),
}


@pytest.mark.parametrize("name", sorted(CHANGES))
def test_changed_files_are_refused(name: str, program: matmul.Program, tmp_path: Path) -> None:
    program.save(tmp_path / "p.json")
    data = json.loads((tmp_path / "p.json").read_text())
    CHANGES[name](data)
    (tmp_path / "p.json").write_text(json.dumps(data))
    with pytest.raises((FormatError, ParameterError)):
        matmul.Program.load(tmp_path / "p.json")


def test_files_that_are_no_programs(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    for content in (b"", b"{}", b"[1]", b"\xff\xfe", b"[" * 100_000, b'{"format": "ringforge-matmul-program"}'):
        path.write_bytes(content)
        with pytest.raises(FormatError, match=r"p\.json is not a program"):
            matmul.Program.load(path)
    path.write_bytes(b" " * ((1 << 22) + 1))
    with pytest.raises(FormatError, match="at most"):
        matmul.Program.load(path)


def test_constants_survive_files(tmp_path: Path) -> None:
    p = uniform(3, 2)
    made = matmul.trace(small(3), lambda A: A @ p, A=(2, 3))
    made.save(tmp_path / "p.json")
    data = json.loads((tmp_path / "p.json").read_text())
    constant = next(s for s in data["steps"] if s["kind"] == "constant")
    for key, value in (("values", "####"), ("values", constant["values"][:-4]), ("shape", [9, 9])):
        changed = json.loads(json.dumps(data))
        next(s for s in changed["steps"] if s["kind"] == "constant")[key] = value
        (tmp_path / "q.json").write_text(json.dumps(changed))
        with pytest.raises(FormatError):
            matmul.Program.load(tmp_path / "q.json")
    a = uniform(2, 3)
    assert np.abs(run(matmul.Program.load(tmp_path / "p.json"), {"A": a})["result"] - a @ p).max() < 1e-6


def test_absurd_amounts_of_work_are_refused(monkeypatch: pytest.MonkeyPatch, program: matmul.Program) -> None:
    monkeypatch.setattr("ringforge.matmul.tracer.MAX_OPERATIONS", 3)
    tracer = Tracer(program.context, program.planning)
    with pytest.raises(FormatError, match="more than 3 operations"):
        program.run(symbols(tracer, program.inputs))


def test_large_grids_are_planned_block_by_block_only_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal blocks are looked at once: 15^3 products take few descriptions, and the figures of all of them."""
    described, shown = 0, []
    describe = Product.describe

    def counted(self: Product, *of: Any) -> Any:
        nonlocal described
        described += 1
        return describe(self, *of)

    monkeypatch.setattr(Product, "describe", counted)
    program = matmul.trace("matmul-a-128", lambda A, B: A @ B, A=(1900, 1900), B=(1900, 1900), progress=shown.append)
    (result,) = program.traced.results.values()
    assert result.step.grid[0] >= 15
    assert described < 100
    assert program.traced.tracer.operations >= 2 * result.step.grid[0] ** 3
    assert shown == sorted(shown)
    assert shown[-1] == 1
    choice = result.step.choice
    assert choice is not None
    assert program.traced.tracer.work == pytest.approx(choice.chosen.cost.weight * result.step.grid[0] ** 3)
