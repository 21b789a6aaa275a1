# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What is named twice is refused: keys of JSON in every file that people write, and options of commands."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ringforge import matvec
from ringforge.bundles import Label, _valid
from ringforge.cli import main
from ringforge.errors import Error, FormatError, ParameterError
from ringforge.gates.formats import parse_yosys
from ringforge.matvec import Rule
from ringforge.omr.poster import read_texts
from ringforge.psi.sets import read_elements
from ringforge.unique import named_once, once_each


def _repeated(text: str, key: str) -> str:
    """An object of JSON with one more value of a key, before the one that it has."""
    assert f'"{key}"' in text
    return text.replace("{", "{" + f'"{key}": {json.dumps(json.loads(text)[key])}, ', 1)


RULE = Rule.of(kind="values", inputs=2, outputs=1).model_dump_json(exclude_none=True)


def _matvec() -> str:
    return matvec.compile_model(matvec.Linear(np.eye(2)), "set-a").program.model_dump_json(exclude_none=True)


READERS: dict[str, tuple[Callable[[], str], str, Callable[[Path], object]]] = {
    "rule": (lambda: RULE, "outputs", Rule.load),
    "matvec program": (_matvec, "batch", matvec.Program.load),
    "texts of omr": (lambda: '{"text": "a"}', "text", lambda p: read_texts(p, True)),
    "elements of psi": (lambda: '{"element": "a"}', "element", lambda p: read_elements(p, json_lines=True)),
    "label": (lambda: '{"program": "ab"}', "program", lambda p: _valid(Label, p.read_bytes())),
    "netlist": (lambda: '{"creator": "Yosys 0.9"}', "creator", lambda p: parse_yosys(p.read_text())),
}


@pytest.mark.parametrize("name", READERS)
def test_a_repeated_key_is_refused(tmp_path: Path, name: str) -> None:
    """The fault that was: json takes the last value of a key."""
    make, key, read = READERS[name]
    path = tmp_path / "x.json"
    text = make()
    path.write_text(_repeated(text, key))
    with pytest.raises(Error) as caught:
        read(path)
    assert isinstance(caught.value, FormatError)
    if name != "texts of omr":
        assert "twice" in str(caught.value)
    path.write_text(text)
    if name in ("rule", "matvec program", "texts of omr", "elements of psi"):
        read(path)


def test_names_that_occur_once() -> None:
    assert once_each([("a", 1), ("b", 2)]) == {"a": 1, "b": 2}
    assert named_once(iter([("a", 1), ("b", 2)]), "--in") == {"a": 1, "b": 2}
    with pytest.raises(ParameterError, match=r'--in: "a" is given twice'):
        named_once([("a", 1), ("b", 2), ("a", 1)], "--in")
    with pytest.raises(FormatError, match="occurs twice"):
        Rule.from_json('{"kind": "values", "kind": "values"}', "r.json")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("params list --log-n 12 --log-n 13", ""),
        ("matvec encrypt --program a --program b --secret c --in d --out e", "--program is given 2 times"),
        ("matvec encrypt --program a --secret c --in d --in=d2 --in d3 --out e", "--in is given 3 times"),
        ("matvec explain --model a --samples b --header --no-header", "--header or --no-header is given 2 times"),
        ("matmul plan --shape 2x2x2 --shape 3x3x3", "--shape is given 2 times"),
    ],
)
def test_an_option_of_one_value_is_given_once(words: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(words.split())
    assert code == (1 if message else 2)
    assert message in " ".join(capsys.readouterr().err.split())


def test_options_of_several_values_and_flags_may_be_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    words = "matmul plan --input X=2x2 --input Y=2x2 --params matmul-a-128 --json --json"
    assert main([*words.split(), "--expr", "X @ Y"]) == 0
    assert json.loads(capsys.readouterr().out)["result"]["system"] == "matmul"
