# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""`ringforge aes` on files: from keys to plaintext, killed on the way, every refusal."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

import tests.aes.clear_scheme as scheme
from ringforge.aes import files
from ringforge.aes.transcipher import Stream
from ringforge.cli import main
from ringforge.search import Search
from tests.aes.clear_engine import ClearClient, expand
from tests.aes.test_clear_engine import library
from tests.answers import parted, printed, result_of
from tests.psi.processes import environment

KEY = bytes.fromhex("2b7e151628aed2a6abf7158809cf4f3c")
WORDS = ("--secret", "s", "--keys", "k")


def run(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> tuple[str, str]:
    """What a command prints, and its errors and warnings."""
    assert main(["aes", *map(str, words)]) == code, capsys.readouterr()
    return parted(*capsys.readouterr())


def refused(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """What a command that fails says, on one line."""
    out, err = run(capsys, *words, code=1)
    assert out == ""
    assert err.count("error:") == 1, err
    return " ".join(err.split())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """Keys `s` and `k`, round keys `r`, plain blocks `p`, encrypted blocks `b`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLEAR_SMALL", "1")
    run(capsys, "keygen", *WORDS, "--scheme", "clear", "--insecure", "a test", "--json")
    Path("key").touch(mode=0o600)
    Path("key").write_bytes(KEY)
    Path("p").write_bytes(np.random.default_rng(3).bytes(40 * 16))
    run(capsys, "encrypt", *WORDS, "--aes-key-file", "key", "--round-keys", "r", "--in", "p", "--out", "b")
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_from_blocks_to_blocks(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = run(capsys, "evaluate", "--keys", "k", "--round-keys", "r", "--in", "b", "--overwrite", "--out", "e")
    assert err == ""
    assert out.count("bits of noise budget left") == 22
    assert "state 2 of 2, round 10" in out
    out, _ = run(capsys, "decrypt", *WORDS, "--in", "e", "--overwrite", "--out", "d")
    assert "11.5 bits were left, measured; 10.0 by prediction" in out
    plain = np.frombuffer(Path("p").read_bytes(), np.uint8).reshape(-1, 16)
    assert Path("d").read_bytes() == library(KEY, plain, "encrypt").tobytes()
    # And back, with the circuit of decryption.
    run(
        capsys,
        *("encrypt", *WORDS, "--aes-key-file", "key", "--round-keys", "back"),
        *("--in", "d", "--out", "b2", "--direction", "decrypt"),
    )
    words = ("evaluate", "--keys", "k", "--round-keys", "back", "--in", "b2", "--out", "e2", "--json")
    found = result_of(run(capsys, *words)[0])
    assert (found["blocks"], found["direction"], found["scheme"], found["budget"]) == (40, "decrypt", "clear", 10.0)
    assert [r["round"] for r in found["rounds"]] == [*range(11), *range(11)]
    found = result_of(run(capsys, "decrypt", *WORDS, "--in", "e2", "--out", "d2", "--json")[0])
    assert found == {"bytes": 640, "measured_budget": 11.5}
    assert Path("d2").read_bytes() == Path("p").read_bytes()


@pytest.mark.usefixtures("folder")
def test_a_stream(capsys: pytest.CaptureFixture[str]) -> None:
    """1,001 bytes as AES-CTR; a key in digits is the same key; the stream is what a library decrypts."""
    text = (b"It is a truth universally acknowledged " * 26)[:1001]
    Path("text").write_bytes(text)
    Path("hex").touch(mode=0o600)
    Path("hex").write_text(KEY.hex() + "\n")
    run(capsys, "stream", "--aes-key-file", "hex", "--in", "text", "--out", "c")
    sent = Stream.from_bytes(Path("c").read_bytes())
    library_made = Cipher(algorithms.AES(KEY), modes.CTR(sent.counter.to_bytes(16, "big"))).decryptor()
    assert library_made.update(sent.data) == text
    evaluate = ("evaluate", "--keys", "k", "--round-keys", "r", "--stream", "c")
    run(capsys, *evaluate, "--overwrite", "--out", "e")
    words = ("decrypt", *WORDS, "--stream", "c", "--aes-key-file", "key")
    run(capsys, *words, "--in", "e", "--overwrite", "--out", "d")
    assert Path("d").read_bytes() == text
    assert main(["info", "e"]) == 0
    out = printed(capsys)
    assert "66 encrypted blocks, encrypted; in 3 states" in out  # 63, and a check for each of 3 batches
    # Computed on, with each batch's check.
    run(capsys, *evaluate, "--compute", "below:97", "--out", "below")
    run(capsys, *words, "--in", "below", "--overwrite", "--out", "d")
    assert Path("d").read_bytes() == bytes(b < 97 for b in text)
    run(capsys, *evaluate, "--compute", "sums", "--out", "sums")
    run(capsys, *words, "--in", "sums", "--overwrite", "--out", "d")
    x = np.frombuffer(text[:992], np.uint8).reshape(-1, 16).astype(int)
    sums = np.frombuffer(Path("d").read_bytes(), np.uint8).reshape(-1, 16)[: len(x)].astype(int)
    assert np.array_equal(sums[:, :8] + 256 * sums[:, 8:], x[:, ::2] + x[:, 1::2])


@pytest.mark.usefixtures("folder")
def test_streams_that_are_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    """Damaged, of another key, of used counters, of another result: said, by whoever can know."""
    Path("text").write_bytes(b"a text of 27 bytes, no more")
    Path("key2").touch(mode=0o600)
    Path("key2").write_bytes(bytes(16))
    make = ("stream", "--in", "text", "--aes-key-file")
    run(capsys, *make, "key", "--out", "c")
    run(capsys, *make, "key2", "--out", "c2")
    evaluate = ("evaluate", "--keys", "k", "--round-keys", "r", "--overwrite", "--out", "e", "--stream")
    good = Path("c").read_bytes()
    Path("bad").write_bytes(good[:60] + bytes([good[60] ^ 1]) + good[61:])
    assert "tag is wrong" in refused(capsys, *evaluate, "bad")
    Path("bad").write_bytes(good[:-1])
    assert "send it again" in refused(capsys, *evaluate, "bad")
    assert "send the round keys of its key first" in refused(capsys, *evaluate, "c2")
    run(capsys, *evaluate, "c")
    run(capsys, *evaluate, "c")  # the same one may come again
    sent = Stream.from_bytes(good)
    tags = files.tag_key(KEY)
    other = Stream(sent.key_id, sent.counter + 1, bytes(27), b"")
    other = replace(other, tag=tags.tag(other.head, other.data))
    Path("again").write_bytes(other.to_bytes())
    assert "overlap with what this key was used for" in refused(capsys, *evaluate, "again")
    decrypt = ("decrypt", *WORDS, "--in", "e", "--overwrite", "--out", "d")
    assert "another AES key" in refused(capsys, *decrypt, "--stream", "c2", "--aes-key-file", "key2")
    assert "another AES key" in refused(capsys, *decrypt, "--stream", "again", "--aes-key-file", "key")
    run(capsys, "evaluate", "--keys", "k", "--round-keys", "r", "--in", "b", "--out", "e2")
    decrypt = ("decrypt", *WORDS, "--in", "e2", "--overwrite", "--out", "d", "--stream", "c", "--aes-key-file", "key")
    assert "it is of another stream, or of blocks" in refused(capsys, *decrypt)
    assert not Path("d").exists()


def process(*words: object, **more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.aes.command", "aes", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(**more),
        text=True,
    )


def test_killed_and_run_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A process that gets SIGKILL goes on with the round that it was in; the result is the same."""
    words = ("evaluate", "--keys", "k", "--round-keys", "r", "--in", "b", "--overwrite", "--out", "e")
    for at in ("state-00000-02.aes", "state-00001-04.aes"):
        one = process(*words, CLEAR_SECONDS="0.05")
        until = time.monotonic() + 60
        while not (folder / "e.run" / at).exists():
            assert time.monotonic() < until
            assert one.poll() is None, one.communicate()
            time.sleep(0.01)
        one.send_signal(signal.SIGKILL)
        one.communicate()
        assert one.returncode == -signal.SIGKILL
        assert not (folder / "e").exists()
    out, _ = run(capsys, *words)
    assert "round  2" not in out  # only what was left was computed
    assert out.count("bits of noise budget left") in (5, 6)
    log = files.File(folder / "e", ClearClient()).head
    assert log.budget == 10.0
    first = (folder / "e").read_bytes()
    run(capsys, *words)
    assert (folder / "e").read_bytes() == first
    plain = np.frombuffer(Path("p").read_bytes(), np.uint8).reshape(-1, 16)
    run(capsys, "decrypt", *WORDS, "--in", "e", "--overwrite", "--out", "d")
    assert Path("d").read_bytes() == library(KEY, plain, "encrypt").tobytes()


def test_two_evaluators(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("evaluate", "--keys", "k", "--round-keys", "r", "--in", "b", "--overwrite", "--out", "e")
    one = process(*words, CLEAR_SECONDS="5")
    try:
        while not (folder / "e.run" / "task.json").exists():
            assert one.poll() is None, one.communicate()
            time.sleep(0.01)
        assert "another evaluation works in e.run" in refused(capsys, *words)
    finally:
        one.kill()
        one.communicate()


@pytest.mark.usefixtures("folder")
def test_refusals(capsys: pytest.CaptureFixture[str]) -> None:
    evaluate = ("evaluate", "--keys", "k", "--round-keys", "r", "--overwrite", "--out", "e")
    Path("odd").write_bytes(bytes(17))
    Path("empty").touch()
    for words, text in {
        (*evaluate,): "say what to evaluate on",
        (*evaluate, "--in", "b", "--stream", "p"): "say what to evaluate on",
        (*evaluate, "--stream", "p"): "no stream of AES-CTR",
        (*evaluate, "--in", "b", "--compute", "primes"): "nothing that servers compute",
        ("stream", "--aes-key-file", "-", "--in", "p", "--out", "c"): "needs --ledger",
        ("stream", "--aes-key-file", "key", "--in", "empty", "--out", "c"): "empty is empty",
        (
            "decrypt",
            *WORDS,
            "--in",
            "p",
            "--overwrite",
            "--out",
            "d",
            "--stream",
            "p",
        ): "both --stream and --aes-key-file",
        (*evaluate, "--in", "p"): "no file of encrypted blocks",
        (*evaluate, "--in", "nothing"): "nothing: No such file",
        (
            "evaluate",
            "--keys",
            "r",
            "--round-keys",
            "r",
            "--in",
            "b",
            "--overwrite",
            "--out",
            "e",
        ): "there are no keys in r",
        (
            "evaluate",
            "--keys",
            "k",
            "--round-keys",
            "k",
            "--in",
            "b",
            "--overwrite",
            "--out",
            "e",
        ): "round key 0 is not in k",
        ("encrypt", *WORDS, "--aes-key-file", "key"): "--round-keys, where to write",
        ("encrypt", *WORDS, "--in", "p"): "--out, where to write",
        ("encrypt", *WORDS): "say what to encrypt",
        ("encrypt", *WORDS, "--in", "odd", "--out", "x"): "no whole blocks of 16",
        ("encrypt", *WORDS, "--aes-key-file", "key", "--round-keys", "r"): "r is not empty",
        ("encrypt", *WORDS, "--aes-key-file", "p", "--round-keys", "n"): "chmod 600",
        ("encrypt", *WORDS, "--aes-key-file", "s", "--round-keys", "n"): "holds no AES-128 key",
        ("encrypt", *WORDS, "--in", "p", "--out", "x", "--direction", "up"): '"up" is no direction',
        ("decrypt", *WORDS, "--in", "p", "--overwrite", "--out", "d"): "no file of encrypted blocks",
        ("decrypt", *WORDS, "--in", "r/round-00.aes", "--overwrite", "--out", "d"): "holds a round key",
        ("keygen", "--secret", "s", "--keys", "n", "--scheme", "clear"): "s: exists",
        ("keygen", "--secret", "n", "--keys", "k", "--scheme", "clear", "--insecure", "x"): "k is not empty",
        ("keygen", "--secret", "n", "--keys", "n2", "--scheme", "clear"): "--insecure",
        ("keygen", "--secret", "n", "--keys", "n2", "--scheme", "rot13"): "AES runs under",
    }.items():
        said = refused(capsys, *words)
        assert text in said, said
        assert KEY.hex() not in said
        assert not Path("d").exists()


def test_the_evaluator_has_no_secret(folder: Path) -> None:
    """Its files, and what its process was started with: neither key, nor a round key, nor the plaintext's digits.

    (The engine here encrypts nothing, so that its states and round keys are left out: those of real schemes are
    searched by the demo.)
    """
    words = ("evaluate", "--keys", "k", "--round-keys", "r", "--in", "b", "--overwrite", "--out", "e")
    one = process(*words, CLEAR_SECONDS="5")
    try:
        while not (folder / "e.run" / "state-00000-00.aes").exists():
            assert one.poll() is None, one.communicate()
            time.sleep(0.01)
        needles = [scheme.SECRET, KEY, KEY.hex().encode(), *(k.tobytes() for k in expand(KEY))]
        search = Search(needles)
        root = Path(f"/proc/{one.pid}")
        assert not search.data((root / "cmdline").read_bytes() + (root / "environ").read_bytes())
        opened = set()
        for link in (root / "fd").iterdir():
            with contextlib.suppress(OSError):
                opened.add(os.readlink(link))
        assert not {p for p in opened if p.endswith(("/s", "/key", "/p"))}
        for path in ("k/evaluation.rgfg", "k/parameters.rgfg", "e.run/task.json"):
            assert not search.file(folder / path)
        assert search.file(folder / "s")  # the search finds what is there
    finally:
        one.kill()
        one.communicate()


def test_the_secret_is_its_owners(folder: Path) -> None:
    assert (folder / "s").stat().st_mode & 0o777 == 0o600


def object_of(text: str) -> dict[str, Any]:
    found: dict[str, Any] = result_of(text)
    return found


def test_keygen_says_what_it_made(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("keygen", *WORDS, "--scheme", "clear", "--insecure", "a test", "--reuse", "--json")
    found = object_of(run(capsys, *words)[0])
    assert (found["scheme"], found["set"], found["slots"]) == ("clear", "clear-test", 32)
    assert found["key_bytes"] == sum(p.stat().st_size for p in (folder / "k").iterdir())
