# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""AES in the clear against FIPS-197's vectors and a library's AES."""

from __future__ import annotations

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given, settings
from hypothesis import strategies as st

from ringforge.aes import clear
from ringforge.errors import ShapeError
from ringforge.errors import ValueError as RingforgeValueError

#: FIPS-197, appendix A.1: the key of appendix B, and some of the words it expands to.
KEY_B = bytes.fromhex("2b7e151628aed2a6abf7158809cf4f3c")
KEYS_B = """
2b7e151628aed2a6abf7158809cf4f3c a0fafe1788542cb123a339392a6c7605 f2c295f27a96b9435935807a7359f67f
3d80477d4716fe3e1e237e446d7a883b ef44a541a8525b7fb671253bdb0bad00 d4d1c6f87c839d87caf2b8bc11f915bc
6d88a37a110b3efddbf98641ca0093fd 4e54f70e5f5fc9f384a64fb24ea6dc4f ead27321b58dbad2312bf5607f8d292f
ac7766f319fadc2128d12941575c006e d014f9a8c9ee2589e13f0cc8b6630ca6
"""

#: Appendix B: the input, and the state at the start of each round and at the end.
STATES_B = """
193de3bea0f4e22b9ac68d2ae9f84808 a49c7ff2689f352b6b5bea43026a5049 aa8f5f0361dde3ef82d24ad26832469a
486c4eee671d9d0d4de3b138d65f58e7 e0927fe8c86363c0d9b1355085b8be01 f1006f55c1924cef7cc88b325db5d50c
260e2e173d41b77de86472a9fdd28b25 5a4142b11949dc1fa3e019657a8c040c ea835cf00445332d655d98ad8596b0c5
eb40f21e592e38848ba113e71bc342d2 3925841d02dc09fbdc118597196a0b32
"""
PLAIN_B = "3243f6a8885a308d313198a2e0370734"

#: Appendix C.1: the start of each round, and the output; and of the inverse cipher.
KEY_C = bytes(range(16))
PLAIN_C = "00112233445566778899aabbccddeeff"
STATES_C = """
00102030405060708090a0b0c0d0e0f0 89d810e8855ace682d1843d8cb128fe4 4915598f55e5d7a0daca94fa1f0a63f7
fa636a2825b339c940668a3157244d17 247240236966b3fa6ed2753288425b6c c81677bc9b7ac93b25027992b0261996
c62fe109f75eedc3cc79395d84f9cf5d d1876c0f79c4300ab45594add66ff41f fde3bad205e5d0d73547964ef1fe37f1
bd6e7c3df2b5779e0b61216e8b10b689 69c4e0d86a7b0430d8cdb78070b4c55a
"""
INVERSE_STATES_C = """
7ad5fda789ef4e272bca100b3d9ff59f 54d990a16ba09ab596bbf40ea111702f 3e1c22c0b6fcbf768da85067f6170495
b458124c68b68a014b99f82e5f15554c e8dab6901477d4653ff7f5e2e747dd4f 36339d50f9b539269f2c092dc4406d23
2d6d7ef03f33e334093602dd5bfb12c7 3bd92268fc74fb735767cbe0c0590e2d a7be1a6997ad739bd8c9ca451f618b61
6353e08c0960e104cd70b751bacad0e7 00112233445566778899aabbccddeeff
"""


def states(text: str) -> clear.Bytes:
    return np.frombuffer(bytes.fromhex(text), np.uint8).reshape(-1, 16)


def library(key: bytes, blocks: clear.Bytes) -> clear.Bytes:
    out = Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(blocks.tobytes())
    return np.frombuffer(out, np.uint8).reshape(-1, 16)


def test_keys_expand_as_in_appendix_a() -> None:
    assert np.array_equal(clear.expand_key(KEY_B), states(KEYS_B))


@pytest.mark.parametrize(("key", "plain", "wanted"), [(KEY_B, PLAIN_B, STATES_B), (KEY_C, PLAIN_C, STATES_C)])
def test_every_round_is_as_in_appendices_b_and_c(key: bytes, plain: str, wanted: str) -> None:
    assert np.array_equal(clear.encryption_states(key, states(plain))[:, 0], states(wanted))


def test_every_round_of_the_inverse_cipher_is_as_in_appendix_c() -> None:
    assert np.array_equal(clear.decryption_states(KEY_C, states(STATES_C)[-1:])[:, 0], states(INVERSE_STATES_C))


@settings(max_examples=30, deadline=None, derandomize=True)
@given(key=st.binary(min_size=16, max_size=16), data=st.binary(min_size=0, max_size=80))
def test_blocks_are_as_a_library_has_them(key: bytes, data: bytes) -> None:
    blocks = states(data[: len(data) // 16 * 16].hex())
    encrypted = clear.encrypt(key, blocks)
    assert np.array_equal(encrypted, library(key, blocks))
    assert np.array_equal(clear.decrypt(key, encrypted), blocks)
    assert np.array_equal(clear.bytes_of(clear.bits_of(blocks)), blocks)


@pytest.mark.parametrize("start", [0, 1, 255, (1 << 64) - 2, (1 << 128) - 2])
def test_the_stream_is_as_a_library_has_it_past_the_end_of_the_counter_too(start: int) -> None:
    wanted = Cipher(algorithms.AES(KEY_B), modes.CTR(start.to_bytes(16, "big"))).encryptor().update(bytes(64))
    assert clear.keystream(KEY_B, start, 4).tobytes() == wanted


def test_what_is_no_key_or_block_is_refused() -> None:
    with pytest.raises(ShapeError, match="15 bytes; AES-128 takes 16"):
        clear.expand_key(bytes(15))
    with pytest.raises(ShapeError, match=r"\(n, 16\) is needed"):
        clear.encrypt(KEY_B, np.zeros(16, np.uint8))
    with pytest.raises(RingforgeValueError, match="int64"):
        clear.encrypt(KEY_B, np.zeros((1, 16), np.int64))
