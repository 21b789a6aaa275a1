# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Commands of the matmul machine, and `ringforge matmul` on it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ringforge.cli import main
from ringforge.hw.machines.matmul import run_cli
from ringforge.hw.machines.matmul.isa_cli import isa_document
from ringforge.hw.machines.matmul.model_device import ModelDevice
from tests.answers import parted, result_of

ROOT = Path(__file__).parents[3]
Run = Callable[..., str]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command that must succeed, and returns what it printed."""

    def go(words: str) -> str:
        capsys.readouterr()
        code = main(shlex.split(words))
        out, err = parted(*capsys.readouterr())
        assert code == 0, err
        return out

    return go


@pytest.mark.long
def test_products_on_the_simulated_machine(run: Run, tmp_path: Path) -> None:
    """`matmul run --device` encrypts, multiplies in RTL and decrypts; the model's device takes any plan, too."""
    rng = np.random.default_rng(2)
    for name in "ab":
        np.save(tmp_path / f"{name}.npy", rng.uniform(-1, 1, (2, 2)))
    given = f"--in A={tmp_path}/a.npy --in B={tmp_path}/b.npy"
    sets = "--params fame-small --insecure tests"
    figures = result_of(run(f"matmul run {given} {sets} --device rtl:fame-small --json"))
    assert figures["max_error"] < figures["predicted_error"] < 1e-4
    assert figures["cycles"] > 10_000
    assert figures["clock_hz"] == 350e6
    assert figures["bytes"]["keys"] > 0
    text = run(f"matmul run {given} {sets} --device model:fame-small --method fame")
    assert f"on {ModelDevice('fame-small').name}" in text
    assert "memory traffic: " in text


def test_ciphertexts_of_the_machine_are_the_cpu_s(run: Run, tmp_path: Path) -> None:
    """The server's command writes the same file, byte for byte."""
    at = tmp_path
    np.save(at / "a.npy", np.eye(2))
    run(f"matmul plan --shape 2x2x2 --params fame-small --insecure tests --level 2 --out {at}/p.json")
    keys = f"--secret {at}/s --public {at}/p --eval-keys {at}/e"
    run(f"matmul keygen --program {at}/p.json {keys} --accept-insecure tests")
    for name in "AB":
        words = f"--program {at}/p.json --public {at}/p --name {name} --in {at}/a.npy --out {at}/{name}.ct"
        run(f"matmul encrypt {words} --accept-insecure tests")
    files = []
    for device in ("cpu", "rtl:fame-small"):
        words = f"--program {at}/p.json --keys {at}/e --in A={at}/A.ct --in B={at}/B.ct --out {at}/{device}.ct"
        run(f"matmul multiply {words} --device {device}")
        files.append((at / f"{device}.ct").read_bytes())
    assert files[0] == files[1]


@pytest.mark.long
def test_run(run: Run) -> None:
    sets = "--insecure tests --shape 2x2x2"
    record = result_of(run(f"hw run matmul {sets} --json").splitlines()[-1])
    assert record["device"] == "rtl:fame-small"
    assert record["extra"]["exact"] is True
    assert record["extra"]["rows"] < record["cycles"] < 2 * record["extra"]["rows"]
    assert "--shape 2x2x2" in json.dumps(record["extra"])


def test_cycles(run: Run) -> None:
    text = run("hw cycles matmul --insecure tests --rotations 1 2 --level 1")
    for part in ("linear transform, 2 rotations", "product of ciphertexts", "a rotation", "memory traffic"):
        assert part in text


@pytest.mark.parametrize("shape", ["4x4", "4x0x4", "axbxc", ""])
def test_shapes_that_are_none(shape: str) -> None:
    with pytest.raises(run_cli.ParameterError, match="write MxLxN"):
        run_cli.product_shape(shape)


def test_wrong_rotations(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(shlex.split("hw cycles matmul --insecure tests --rotations 4 4")) == 1
    assert "two growing numbers" in capsys.readouterr().err


def test_instruction_set_document() -> None:
    """Made anew by: ringforge hw isa matmul > docs/hw/matmul-isa.md"""
    assert (ROOT / "docs/hw/matmul-isa.md").read_text() == isa_document()
