# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge params` and `ringforge info` know BFV's sets and files."""

from __future__ import annotations

from pathlib import Path

import pytest

from ringforge import bfv, params
from ringforge._native import io
from ringforge.cli import main
from ringforge.files import secret_in
from tests.answers import parted
from tests.bfv.test_scheme import SEED, session


def run(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> str:
    assert main([str(w) for w in words]) == code
    out, err = parted(*capsys.readouterr())
    assert "Traceback" not in err
    return out if code == 0 else err


def test_sets_are_listed_shown_and_suggested(capsys: pytest.CaptureFixture[str]) -> None:
    listed = run(capsys, "params", "list")
    for name in params.names_bfv():
        assert name in listed
    assert "786433" in listed
    shown = run(capsys, "params", "show", "omr")
    assert "2 x 32768" in shown
    assert "1747 allowed" in shown
    assert str(params.named_bfv("omr").q[-1]) in shown
    assert "insecure" in run(capsys, "params", "show", "omr-test", code=1)
    assert "below 128 bits" in run(capsys, "params", "show", "omr-test", "--insecure", "looking")
    assert "set-a" in (said := run(capsys, "params", "show", "omr-x", code=1))
    assert "bfv-13" in said
    suggested = run(capsys, "params", "suggest", "--depth", 3, "-t", 65537)
    assert "65537" in suggested
    assert "depth 3" in suggested
    assert "prime" in run(capsys, "params", "suggest", "--depth", 3, "-t", 65536, code=1)
    run(capsys, "params", "suggest", "--depth", 3, "-t", 1, code=1)
    for name in params.names_bfv():
        assert name in run(capsys, "info")


def test_files_say_what_they_hold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    s = bfv.Session("bfv-13", fixed_seed_for_tests=SEED)
    path = str(tmp_path / "things")
    writer = io.Writer(path)
    writer.write(s.params)
    encrypted = s.encrypt([1])
    for thing in (encrypted, bfv.encode(s.context, [2]), s.public_key, s.client.galois_key(s.secret_key, 5)):
        writer.write(s.context, thing)
    writer.close()
    text = run(capsys, "info", path)
    for words in (
        "BFV parameter set",
        "BFV ciphertext",
        "BFV plaintext",
        "BFV public key",
        "BFV Galois key",
        "(bfv-13)",
    ):
        assert words in text
    assert "2 polynomials, half as seed" in text
    assert f"2^{encrypted.log_deviation:.4g}" in text
    assert 1.7 < encrypted.log_deviation < 2  # at least sqrt(10.5 + 1/12)
    reader = io.Reader(path)
    assert reader.next_bfv_parameters() == s.params
    read = reader.next_ciphertext(s.context)
    assert read is not None
    assert s.decrypt(read)[0] == 1


def test_secret_keys_are_known_as_such(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    s = session()
    path = tmp_path / "key"
    path.write_bytes(io.to_bytes(s.context, s.secret_key))
    assert secret_in(path) == "a BFV secret key"
    text = run(capsys, "info", path)
    assert "belongs to its owner" in text
    assert "no shipped set" in text
