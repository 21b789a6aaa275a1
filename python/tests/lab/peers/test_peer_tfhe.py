# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""tfhe-rs's side with a compiler that only pretends: toolchain, build cache, requests and answers."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from ringforge.lab.peers import PeerError, PeerMissingError, tfhe

ANSWER = {
    "peer": "tfhe",
    "peer_version": "1.8.2",
    "params": "default",
    "n": 805,
    "k": 3,
    "degree": 512,
    "lwe_deviation": 5.8615896642671336e-06,
    "glwe_deviation": 9.315272083503367e-10,
    "keygen_seconds": 1.5,
    "gates": {"NAND": {"seconds": 0.02, "cpu_seconds": 0.019, "iterations": 50}},
    "batches": [{"threads": 2, "seconds": 0.011, "cpu_seconds": 0.021, "gates": 640}],
    "errors": 0,
    "peak_mib": 178.0,
}


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "ringforge"


@pytest.fixture
def cargo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Notes how it is called, and makes a program that answers `ANSWER` and keeps the request."""
    program = f"printf '%s' \"$(cat)\" > '{tmp_path}/request'; echo a warning; cat '{tmp_path}/answer'"
    (tmp_path / "answer").write_text(json.dumps(ANSWER) + "\n")
    script(tmp_path / "program", program)
    path = script(
        tmp_path / "bin" / "cargo",
        f"echo \"$RUSTFLAGS $*\" >> '{tmp_path}/calls'\nfor last; do :; done\n"
        f'mkdir -p "$last/release" && cp \'{tmp_path}/program\' "$last/release/ringforge-tfhe"',
    )
    monkeypatch.setattr(tfhe, "find_cargo", lambda: path)
    return path


def test_cargo_on_path_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = script(tmp_path / "cargo", "echo 'cargo 1.91.1 (ea2d97820 2025-10-10)'")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert tfhe.find_cargo() == path


def test_cargo_of_rustup_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(tmp_path / "old" / "cargo", "echo 'cargo 1.63.0'")
    path = script(tmp_path / "home" / "bin" / "cargo", "echo 'cargo 1.95.0 (f2d3ce0bd 2026-03-21)'")
    monkeypatch.setenv("PATH", str(tmp_path / "old"))
    monkeypatch.setenv("CARGO_HOME", str(tmp_path / "home"))
    assert tfhe.find_cargo() == path


@pytest.mark.parametrize("says", ["cargo 1.90.0 (840b83a10 2025-07-30)", "a ship's load"])
def test_unfit_cargo_is_refused(says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = script(tmp_path / "cargo", f'echo "{says}"')
    monkeypatch.setattr(tfhe, "_candidates", lambda: iter([path]))
    with pytest.raises(PeerMissingError, match=r"needs Rust 1\.91 or newer.*rustup") as refused:
        tfhe.find_cargo()
    assert ("is 1.90" in str(refused.value)) == says.startswith("cargo")


@pytest.mark.usefixtures("cargo")
def test_request_and_answer(tmp_path: Path, cache: Path) -> None:
    result = tfhe.run(tfhe.Request("default", ("NAND",), 0.5, 64, (1, 2)))
    assert result.gates["NAND"] == tfhe.Gate(0.02, 0.019, 50)
    assert result.batches == (tfhe.Batch(2, 0.011, 0.021, 640),)
    assert result.failure_log2 == pytest.approx(-64.344)
    assert result.security_bits() == pytest.approx(128, abs=1)
    assert json.loads((tmp_path / "request").read_text()) == {
        "params": "default",
        "gates": ["NAND"],
        "budget_s": 0.5,
        "batch": 64,
        "threads": [1, 2],
    }
    tfhe.run(tfhe.Request())
    calls = (tmp_path / "calls").read_text().splitlines()
    assert len(calls) == 1, "the second run takes the built program"
    assert calls[0].startswith("-C target-cpu=native build --release --locked")
    assert [p.name for p in cache.rglob("*") if p.is_file()] == ["ringforge-tfhe"]


@pytest.mark.usefixtures("cargo", "cache")
def test_wrong_bits_are_no_result(tmp_path: Path) -> None:
    (tmp_path / "answer").write_text(json.dumps(ANSWER | {"errors": 3}) + "\n")
    with pytest.raises(PeerError, match="3 wrong bits at default"):
        tfhe.run(tfhe.Request())


def test_failed_build_keeps_no_program(tmp_path: Path, cache: Path, cargo: Path) -> None:
    script(cargo, "echo 'error: no matching package' >&2; exit 101")
    with pytest.raises(PeerError, match="no matching package"):
        tfhe.program()
    assert not list(cache.rglob("ringforge-tfhe"))
    assert not (tmp_path / "request").exists()


@pytest.mark.usefixtures("cache")
def test_unknown_set_is_refused_before_building() -> None:
    with pytest.raises(PeerError, match='no parameter set "fast"'):
        tfhe.run(tfhe.Request("fast"))


def test_sources_pin_one_version() -> None:
    manifest, lock = ((tfhe.SOURCES / name).read_text() for name in ("Cargo.toml", "Cargo.lock"))
    assert f'tfhe = {{ version = "={tfhe.VERSION}", features = ["boolean", "integer"] }}' in manifest
    assert f'name = "tfhe"\nversion = "{tfhe.VERSION}"' in lock
    source = (tfhe.SOURCES / "src" / "main.rs").read_text()
    assert f'TFHE_VERSION: &str = "{tfhe.VERSION}"' in source
    assert all(f'"{name}" =>' in source for name in (*tfhe.FAILURE_LOG2, *tfhe.GATES))


@pytest.mark.usefixtures("cache", "cargo")
def test_integers_run_on_what_was_asked_for(tmp_path: Path) -> None:
    gate = {"seconds": 0.5, "cpu_seconds": 0.4, "iterations": 3}
    kept = {k: v for k, v in ANSWER.items() if k not in ("gates", "batches")}
    answer = {**kept, "params": "2^-64", "failure_log2": -64.014, "operations": {"add32": gate}}
    (tmp_path / "answer").write_text(json.dumps(answer) + "\n")
    found = tfhe.run_integers(tfhe.IntegersRequest("2^-64", ("add32",), 0.1))
    assert found.operations["add32"].cpu_seconds == 0.4
    asked = json.loads((tmp_path / "request").read_text())
    assert asked == {"integers": "2^-64", "operations": ["add32"], "budget_s": 0.1}
    (tmp_path / "answer").write_text(json.dumps({**answer, "errors": 2}) + "\n")
    with pytest.raises(PeerError, match="2 wrong numbers"):
        tfhe.run_integers(tfhe.IntegersRequest())
