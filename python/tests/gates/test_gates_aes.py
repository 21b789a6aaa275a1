# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""AES by gates: on bits that are not encrypted here, on encrypted ones in test_gates_long.py."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from ringforge import gates
from ringforge.aes.clear import expand_key
from ringforge.cli import main
from ringforge.errors import MismatchError, ShapeError
from ringforge.gates import Bits, ClearKey, Evaluator, aes
from tests.answers import printed, result_of

KEY = bytes(range(16))
BLOCK = bytes.fromhex("00112233445566778899aabbccddeeff")
RESULT = bytes.fromhex("69c4e0d86a7b0430d8cdb78070b4c55a")


def test_fips_197_and_a_library() -> None:
    assert aes.clear(BLOCK, KEY) == RESULT
    assert [k.to_bytes(16, "little") for k in aes.round_keys(KEY)] == [k.tobytes() for k in expand_key(KEY)]
    rng = np.random.default_rng(3)
    key, block = rng.bytes(16), rng.bytes(16)
    assert aes.clear(block, key) == Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(block)


def bits(secret: ClearKey, numbers: list[int]) -> Bits:
    return gates.stack([gates.encrypt(secret, gates.to_bits(n, 128)) for n in numbers])


def test_blocks_side_by_side() -> None:
    secret = ClearKey(gates.parameters("gates-128"))
    evaluator, told = Evaluator(secret, device="clear"), list[float]()
    blocks = [BLOCK, bytes(16), bytes(range(240, 256))]
    found = aes.encrypt_blocks(
        evaluator, bits(secret, [aes.number(b) for b in blocks]), bits(secret, aes.round_keys(KEY)), told.append
    )
    results = [int(n).to_bytes(16, "little") for n in gates.from_bits(gates.decrypt(secret, found))]
    assert results[0] == RESULT
    assert results == [aes.clear(b, KEY) for b in blocks]
    assert told == [i / 10 for i in range(1, 11)]
    # What the figures count is what is done.
    counts = aes.gate_counts()
    assert evaluator.bootstraps == 3 * sum(gates.GateKind[k].bootstraps * n for k, n in counts.items())
    assert evaluator.counts == {gates.GateKind[k]: 3 * n for k, n in counts.items()}


def test_what_does_not_fit_is_refused() -> None:
    secret, other = (ClearKey(gates.parameters("gates-128")) for _ in range(2))
    evaluator = Evaluator(secret, device="clear")
    block, keys = bits(secret, [5])[0], bits(secret, aes.round_keys(KEY))
    with pytest.raises(ShapeError, match=r"\(\.\.\., 128\) and \(11, 128\)"):
        aes.encrypt_blocks(evaluator, block, keys[:10])
    with pytest.raises(ShapeError, match=r"\(\.\.\., 128\) and \(11, 128\)"):
        aes.encrypt_blocks(evaluator, block[:127], keys)
    with pytest.raises(MismatchError, match="key"):
        aes.encrypt_blocks(evaluator, block, bits(other, aes.round_keys(KEY)))
    for key in (b"", bytes(15), bytes(32)):
        with pytest.raises(ShapeError, match="give 16"):
            aes.round_keys(key)


@pytest.mark.parametrize("words", ["--key 00", "--block zz", "--key " + "0" * 31])
def test_what_is_typed_wrong_is_refused(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gates", "aes", *words.split()]) == 1
    assert "takes 16 bytes, 32 hexadecimal digits" in capsys.readouterr().err


def test_the_command_says_what_is_wrong(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The command, on the clear device: a right result, and one that a wrong bit made."""

    def on_the_clear_device(*_: object, **__: object) -> tuple[ClearKey, ClearKey]:
        secret = ClearKey(gates.parameters("gates-128"))
        return secret, secret

    real: Callable[..., Bits] = aes.encrypt_blocks
    monkeypatch.setattr(aes, "keygen", on_the_clear_device)
    monkeypatch.setattr(aes, "Evaluator", lambda key, threads: Evaluator(key, threads, device="clear"))
    words = ["gates", "aes", "--key", KEY.hex(), "--block", BLOCK.hex()]
    assert main([*words, "--json"]) == 0
    found = result_of(capsys.readouterr().out)
    assert found["result"] == RESULT.hex()
    assert (found["bootstraps"], found["levels"], found["good"]) == (18_576, 288, True)
    monkeypatch.setattr(aes, "encrypt_blocks", lambda *a: ~real(*a))
    assert main(words) == 1
    assert "WRONG: " + RESULT.hex() in printed(capsys)
