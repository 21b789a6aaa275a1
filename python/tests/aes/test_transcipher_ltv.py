# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Transciphering under LTV: the XOR with the stream, the same as under BGV."""

from __future__ import annotations

from pathlib import Path

import pytest

from ringforge import ltv
from ringforge.aes.ledger import Ledger
from ringforge.aes.ltv_engine import LtvClient, LtvServer, lags
from ringforge.aes.transcipher import StreamKey, TagKey, Transcipher, decrypt, encrypt
from ringforge.errors import MismatchError


class Keys:
    """Round keys in memory."""

    def __init__(self, client: LtvClient, key: bytes) -> None:
        self._keys = [client.encrypt_round_key(i, key) for i in range(11)]

    def round(self, i: int) -> list[ltv.Ciphertext]:
        return self._keys[i]


@pytest.mark.long
def test_a_stream_comes_back_and_a_wrong_key_is_said(tmp_path: Path) -> None:
    context = ltv.Context(ltv.Parameters.named("ltv-test-aes", insecure="tests of AES"))
    maker = ltv.Client(context)
    secret, public = maker.keys()
    (tmp_path / "keys").mkdir()
    keys = ltv.KeyDirectory(tmp_path / "keys", context)
    keys.write_public(public)
    keys.write(maker, secret, public, lags=lags())
    client, server = LtvClient(context, secret, public), LtvServer(context, keys)
    key, data = StreamKey(bytes(range(16)), TagKey(bytes(32))), bytes(range(16 * 9 + 5))
    stream = encrypt(key, data, Ledger(tmp_path / "mine"), (1 << 128) - 3)
    theirs = Ledger(tmp_path / "theirs")
    states = list(Transcipher(server, Keys(client, key.aes), key.tags, theirs).run(stream))
    assert decrypt(key, stream, client, states) == data
    other = list(Transcipher(server, Keys(client, bytes(16)), key.tags, theirs).run(stream))
    with pytest.raises(MismatchError, match="another AES key"):
        decrypt(key, stream, client, other)
