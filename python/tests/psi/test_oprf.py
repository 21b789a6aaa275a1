# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The OPRF against RFC 9497's vectors and an implementation in Python's integers; its files and its refusals."""

from __future__ import annotations

import copy
import pickle
import stat
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringforge import _native
from ringforge._native import oprf as native
from ringforge.errors import FormatError, MismatchError, ShapeError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.psi.oprf import ELEMENT_BYTES, MAX_INPUT_BYTES, OUTPUT_BYTES, Request, ServerKey

from . import ristretto

SEED, INFO = b"\xa3" * 32, b"test key"
SECRET = bytes.fromhex("5ebcea5ee37023ccb9fc2d2019f9d7737be85591ae8652ffa9ef0f4d37063b0e")
BLIND = bytes.fromhex("64d37aed22a27f5191de1c1d69fadb899d8862b58eb4220029e036ec4c1f6706")

#: RFC 9497, appendix A.1.1: input, blinded element, evaluated element, output.
VECTORS = [
    (
        b"\x00",
        "609a0ae68c15a3cf6903766461307e5c8bb2f95e7e6550e1ffa2dc99e412803c",
        "7ec6578ae5120958eb2db1745758ff379e77cb64fe77b0b2d8cc917ea0869c7e",
        "527759c3d9366f277d8c6020418d96bb393ba2afb20ff90df23fb7708264e2f3"
        "ab9135e3bd69955851de4b1f9fe8a0973396719b7912ba9ee8aa7d0b5e24bcf6",
    ),
    (
        b"\x5a" * 17,
        "da27ef466870f5f15296299850aa088629945a17d1f5b7f5ff043f76b3c06418",
        "b4cbf5a4f1eeda5a63ce7b77c7d23f461db3fcab0dd28e4e17cecb5c90d02c25",
        "f4a74c9c592497375e796aa837e907b1a045d34306a749db9f34221f7e750cb4"
        "f2a6413a6bf6fa5e19ba6348eb673934a722a7ede2e7621306d18951e7cf2c73",
    ),
]

GENERATOR = bytes.fromhex("e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d76")

BAD_ELEMENTS = {
    "identity": bytes(32),
    "one, negative": b"\x01" + bytes(31),
    "minus the generator's": (ristretto.P - int.from_bytes(GENERATOR, "little")).to_bytes(32, "little"),
    "p": ristretto.P.to_bytes(32, "little"),
    "p + 1": (ristretto.P + 1).to_bytes(32, "little"),
    "2^255 - 1": (2**255 - 1).to_bytes(32, "little"),
    "bit 255 set": GENERATOR[:31] + bytes([GENERATOR[31] | 0x80]),
    "bit 255 alone": bytes(31) + b"\x80",
}


@pytest.fixture(scope="module")
def key() -> ServerKey:
    return ServerKey.derive(b"\x11" * 32, b"tests")


def row(element: bytes) -> np.ndarray:
    return np.frombuffer(element, np.uint8).reshape(1, -1)


# ---- against the RFC and the oracle --------------------------------------------------------------------


def test_key_of_the_rfc() -> None:
    assert native.ServerKey.derive(SEED, INFO).secret_bytes() == SECRET
    assert ristretto.derive_key(SEED, INFO) == int.from_bytes(SECRET, "little")


@pytest.mark.parametrize(("text", "blinded", "evaluated", "output"), VECTORS)
def test_vectors_of_the_rfc(text: bytes, blinded: str, evaluated: str, output: str) -> None:
    server, blind = native.ServerKey.from_bytes(SECRET), native.Blind.from_bytes(BLIND)
    assert native.blind_with(text, blind).hex() == blinded
    assert server.evaluate(bytes.fromhex(blinded)).hex() == evaluated
    assert native.finalize(text, blind, bytes.fromhex(evaluated)).hex() == output
    assert ServerKey.derive(SEED, INFO).prf([text]).tobytes().hex() == output
    assert ristretto.prf(int.from_bytes(SECRET, "little"), text).hex() == output


def test_oracle_knows_the_group() -> None:
    """The generator is the base point of Ed25519 (RFC 9496, appendix A.1), and its order is the group's."""
    y = 4 * pow(5, -1, ristretto.P) % ristretto.P
    x = ristretto.sqrt_ratio((y * y - 1) % ristretto.P, (ristretto.D * y * y + 1) % ristretto.P)[1]
    base = (x, y, 1, x * y % ristretto.P)
    assert ristretto.encode(base) == GENERATOR
    assert ristretto.encode(ristretto.multiply(ristretto.ORDER, base)) == bytes(32)
    decoded = ristretto.decode(GENERATOR)
    assert decoded is not None
    assert ristretto.encode(decoded) == GENERATOR


@given(st.binary(min_size=32, max_size=32), st.binary(max_size=200))
def test_oracle_agrees(seed: bytes, text: bytes) -> None:
    secret = ristretto.derive_key(seed, b"oracle")
    server = native.ServerKey.derive(seed, b"oracle")
    assert server.secret_bytes() == secret.to_bytes(32, "little")
    assert server.prf(text) == ristretto.prf(secret, text)
    element = ristretto.encode(ristretto.hash_to_group(text))
    point = ristretto.decode(element)
    assert point is not None
    assert server.evaluate(element) == ristretto.encode(ristretto.multiply(secret, point))


@given(st.binary(min_size=32, max_size=32))
def test_random_strings_are_elements_for_both_or_neither(element: bytes) -> None:
    one = native.ServerKey.from_bytes(b"\x01" + bytes(31))
    # Even and below 2^255, so that about one in eight is an element.
    element = bytes([element[0] & 0xFE]) + element[1:31] + bytes([element[31] & 0x7F])
    if ristretto.decode(element) is None or element == bytes(32):
        with pytest.raises(FormatError):
            one.evaluate(element)
    else:
        assert one.evaluate(element) == element


# ---- client and server -----------------------------------------------------------------------------------


@given(st.lists(st.binary(max_size=100), max_size=70))
def test_three_steps_give_the_function(texts: list[bytes]) -> None:
    key = ServerKey.derive(b"\x12" * 32)
    request = Request(texts)
    assert len(request) == len(texts)
    assert request.elements.shape == (len(texts), ELEMENT_BYTES)
    values = request.finalize(key.evaluate(request.elements))
    assert values.shape == (len(texts), OUTPUT_BYTES)
    assert values.dtype == np.uint8
    assert np.array_equal(values, key.prf(texts))


def test_threads_change_nothing(key: ServerKey) -> None:
    texts = [str(i).encode() for i in range(200)]
    request = Request(texts, threads=3)
    answer = key.evaluate(request.elements)
    assert np.array_equal(answer, key.evaluate(request.elements, threads=3))
    assert np.array_equal(request.finalize(answer, threads=3), key.prf(texts))
    assert np.array_equal(key.prf(texts), key.prf(texts, threads=3))


def test_requests_for_the_same_inputs_differ() -> None:
    elements = np.concatenate([Request([b"same"] * 3).elements for _ in range(2)])
    assert len(np.unique(elements, axis=0)) == 6


def test_longest_input(key: ServerKey) -> None:
    text = b"x" * MAX_INPUT_BYTES
    request = Request([text])
    assert np.array_equal(request.finalize(key.evaluate(request.elements)), key.prf([text]))


def test_progress_and_cancelling(key: ServerKey) -> None:
    seen: list[float] = []
    key.prf([b"x"] * 200, threads=2, progress=seen.append)
    assert seen[-1] == 1.0
    assert all(0 < done <= 1 for done in seen)

    def stop(_: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        key.prf([b"x"] * 200, threads=2, progress=stop)


# ---- refusals ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", BAD_ELEMENTS.values(), ids=BAD_ELEMENTS.keys())
def test_bad_elements(key: ServerKey, bad: bytes) -> None:
    assert ristretto.decode(bad) is None or bad == bytes(32)
    with pytest.raises(FormatError, match="element 0 of 1"):
        key.evaluate(row(bad))
    request = Request([b"a", b"b"])
    good = key.evaluate(request.elements)
    with pytest.raises(FormatError, match="element 1 of 2"):
        request.finalize(np.concatenate([good[:1], row(bad)]))
    assert np.array_equal(request.finalize(good), key.prf([b"a", b"b"]))  # a refused answer ends nothing


@pytest.mark.parametrize("shape", [(32,), (1, 31), (1, 33), (2, 16), (0,), (1, 1, 32)])
def test_wrong_shapes(key: ServerKey, shape: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError):
        key.evaluate(np.zeros(shape, np.uint8))


def test_wrong_types(key: ServerKey) -> None:
    with pytest.raises(ShapeError, match="int64"):
        key.evaluate(np.zeros((1, 32), np.int64))
    with pytest.raises(TypeError):
        key.prf(["text"])  # type: ignore[list-item]
    with pytest.raises(TypeError):
        Request([b"a", None])  # type: ignore[list-item]


@pytest.mark.parametrize("size", [0, 31, 33])
def test_wrong_lengths(size: int) -> None:
    with pytest.raises(ShapeError):
        native.ServerKey.from_bytes(bytes(size))
    with pytest.raises(ShapeError):
        native.ServerKey.from_bytes(SECRET).evaluate(bytes(size))
    with pytest.raises(ShapeError):
        ServerKey.derive(bytes(size))


@pytest.mark.parametrize("scalar", [0, ristretto.ORDER, ristretto.ORDER + 1, 2**256 - 1])
def test_bad_scalars(scalar: int) -> None:
    with pytest.raises(FormatError):
        native.ServerKey.from_bytes(scalar.to_bytes(32, "little"))


def test_other_numbers_of_rows(key: ServerKey) -> None:
    request = Request([b"a", b"b"])
    with pytest.raises(ShapeError, match="2 inputs"):
        request.finalize(key.evaluate(request.elements)[:1])


def test_long_inputs(key: ServerKey) -> None:
    text = b"x" * (MAX_INPUT_BYTES + 1)
    with pytest.raises(RingforgeValueError, match="input 1 has 65536 bytes"):
        key.prf([b"", text])
    with pytest.raises(RingforgeValueError):
        Request([text])


def test_a_request_finishes_once(key: ServerKey) -> None:
    request = Request([b"a"])
    answer = key.evaluate(request.elements)
    request.finalize(answer)
    with pytest.raises(MismatchError):
        request.finalize(answer)


# ---- secrets and files -------------------------------------------------------------------------------------


def test_secrets_are_not_shown_or_copied(key: ServerKey) -> None:
    for secret in (key, Request([b"private"])):
        for shown in (repr(secret), str(secret), f"{secret}"):
            assert "secret" in shown
            assert "private" not in shown
        for copying in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="secret"):
                copying(secret)


def test_elements_for_the_server_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        Request([b"a"]).elements[0, 0] = 1


def test_key_file(tmp_path: Path) -> None:
    key, path = ServerKey.random(), tmp_path / "server.key"
    assert key.save(path) == path.stat().st_size == 116
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert np.array_equal(ServerKey.load(path).prf([b"x"]), key.prf([b"x"]))
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match="never replaced"):
        ServerKey.random().save(path)
    assert path.read_bytes() == before


def test_damaged_key_files(tmp_path: Path, key: ServerKey) -> None:
    good, path = tmp_path / "good.key", tmp_path / "bad.key"
    key.save(good)
    data = good.read_bytes()
    sealed = [_native.io.seal(_native.io.OPRF_KEY, bytes(32), x) for x in (bytes(32), b"\xff" * 32, bytes(31), b"")]
    cases = {
        "no key": [b"", b"X" + data[1:]],
        "format version 2": [data[:4] + b"\x02" + data[5:]],
        "expected is a key of an OPRF server": [data[:6] + b"\x01" + data[7:]],
        "scalar": sealed,
        "damaged|altered": [data[:-1], data + b"\0", data[:8], data[:60] + bytes([data[60] ^ 1]) + data[61:]],
    }
    old = (Path(__file__).parents[1] / "old_files" / "3d84ca5" / "psi-oprf" / "state-1" / "oprf.key").read_bytes()
    cases["check value"] = [old[:8] + bytes([old[8] ^ 1]) + old[9:], old[:-1] + bytes([old[-1] ^ 0x80])]
    cases["bytes long"] = [old[:-1], old + b"\0", old[:8]]
    for message, files in cases.items():
        for content in files:
            path.write_bytes(content)
            with pytest.raises(FormatError, match=message) as e:
                ServerKey.load(path)
            assert "bad.key" in str(e.value)
