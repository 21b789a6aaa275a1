# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Names and arguments of functions that save and load models; batches of any size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ringforge import matvec
from ringforge.errors import ParameterError
from ringforge.files import overwriting
from ringforge.matvec.onnx_import import save_onnx

LINEAR = matvec.Linear(np.eye(2))


@pytest.mark.parametrize("name", ["m", "m.npz", "m.v1", "m.NPZ", ".m", "m.npz.old"])
def test_what_is_saved_is_found_by_the_same_name(tmp_path: Path, name: str) -> None:
    matvec.save_model(tmp_path / name, LINEAR)
    assert [p.suffix for p in tmp_path.iterdir()] == [".npz"]
    assert matvec.load_model(tmp_path / name).outputs == 2
    assert matvec.load_model(str(tmp_path / name)).outputs == 2


def test_another_file_of_the_bare_name_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "n").write_text("notes")
    for name in "mn":
        matvec.save_model(tmp_path / name, LINEAR)
        assert matvec.load_model(tmp_path / name).outputs == 2
    with pytest.raises(FileNotFoundError):
        matvec.load_model(tmp_path / "none.npz")


@pytest.mark.parametrize("name", ["m.onnx", "m.npy", "m.pkl", "m.joblib"])
def test_names_of_other_formats_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ParameterError, match=r"save_model writes \.npz files"):
        matvec.save_model(tmp_path / name, LINEAR)
    assert not list(tmp_path.iterdir())


def test_the_file_comes_first_and_the_older_order_is_warned_of(tmp_path: Path) -> None:
    functions: tuple[tuple[Any, str], ...] = ((matvec.save_model, "m.npz"), (save_onnx, "m.onnx"))
    for function, name in functions:
        path = tmp_path / name
        function(path, LINEAR)
        with overwriting(), pytest.warns(DeprecationWarning, match=r"\(path, model\)"):
            function(LINEAR, str(path))
        assert matvec.load_model(path).outputs == 2
        for arguments in ((LINEAR, LINEAR), (path, path), (path, np.eye(2))):
            with pytest.raises(ParameterError, match=r"\(path, model\)"):
                function(*arguments)
        with pytest.raises(ParameterError, match="int is neither a file's name nor"):
            function(3, LINEAR)


@pytest.mark.parametrize(("batch", "places"), [(1, 1), (3, 4), (5, 8), (np.int64(64), 64)])
def test_batches_are_rounded_up(batch: Any, places: int) -> None:
    program = matvec.compile_model(LINEAR, "set-a", batch=batch).program
    assert program.batch == places
    client = matvec.Client(program)
    server = matvec.Server(LINEAR, program, client.evaluation_keys())
    rows = np.linspace(-1, 1, 2 * (int(batch) + 1)).reshape(-1, 2)
    got = client.decrypt(server.evaluate(client.encrypt(rows))[0])
    np.testing.assert_allclose(got, rows, atol=1e-3)


@pytest.mark.parametrize("batch", [0, -1, 1.5, True, "4", None, 1 << 70])
def test_batches_that_cannot_be(batch: Any) -> None:
    for parameters in (None, "set-a"):
        with pytest.raises(ParameterError, match="batch"):
            matvec.compile_model(LINEAR, parameters, batch=batch)


def test_a_model_that_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no such model, nor m\.npz"):
        matvec.load_model(tmp_path / "m")


def test_what_evaluate_returns_is_no_result() -> None:
    """The slip of decrypting the pair of result and report."""
    program = matvec.compile_model(LINEAR).program
    client = matvec.Client(program)
    server = matvec.Server(LINEAR, program, client.evaluation_keys())
    with pytest.raises(ParameterError, match=r"not tuple: Server\.evaluate returns it with a report"):
        client.decrypt(server.evaluate(client.encrypt([0.1, 0.2])))  # type: ignore[arg-type]
