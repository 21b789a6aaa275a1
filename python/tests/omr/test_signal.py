# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Signals, addresses and payloads: the protocol's ends, against Python's integers, and what is refused."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from ringforge._native import TestSeed
from ringforge.errors import Error, FormatError, MismatchError, ParameterError, ShapeError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.omr import payload, sets
from ringforge.omr.address import PREFIX, Address
from ringforge.omr.payload import BoxKey, BoxSecret
from ringforge.omr.sets import Set
from ringforge.omr.signal import SCREEN_TRIALS, SignalKey, Signals, SignalSecret, degenerate, screen_limit

WHY = "tests"
TEST, OURS, PAPER = (sets.named(name, WHY) for name in ("test", "ringforge", "paper"))


def seed(tag: int) -> TestSeed:
    return TestSeed(bytes([tag]) * 32)


# ---- sets ----------------------------------------------------------------------------------------


def test_sets() -> None:
    assert sets.names() == ["paper", "ringforge", "test"]
    assert sets.named("ringforge").secure
    for name in ("paper", "test"):
        with pytest.raises(ParameterError, match="state with insecure why"):
            sets.named(name)
        assert sets.named(name, WHY).insecure == WHY
    with pytest.raises(ParameterError, match="take one of paper, ringforge, test"):
        sets.named("best")
    assert (OURS.entries, OURS.signal_bytes, OURS.payload_words, OURS.text_bytes) == (65536, 2565, 252, 562)
    assert len({s.hash for s in (TEST, OURS, PAPER, replace(OURS, range=48), replace(OURS, bfv="omr-test"))}) == 5
    assert replace(OURS, name="other", insecure="x", security=3).hash == OURS.hash


@pytest.mark.parametrize(
    "change",
    [
        {"log_n": 17}, {"n": 1000}, {"n": 4096, "log_n": 12}, {"t": 65537}, {"t": 786435}, {"clues": 0}, {"weight": 0},
        {"weight": 2000}, {"deviation": 0.0}, {"sampler": "uniform"}, {"range": 400_000}, {"payload_bytes": 50},
        {"babies": 0},
    ],
)  # fmt: skip
def test_sets_that_cannot_be(change: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match="OMR parameter set ringforge"):
        replace(OURS, **change)  # type: ignore[arg-type]


# ---- signals -------------------------------------------------------------------------------------


def exact_errors(s: Set, coefficients: npt.NDArray[np.int64], signals: Signals) -> npt.NDArray[np.int64]:
    """a s - b by Python's integers."""
    c = [int(x) for x in coefficients]
    rows = []
    for a, b in zip(signals.a.tolist(), signals.b.tolist(), strict=True):
        values = [
            sum(c[k] * (a[i - k] if k <= i else -a[s.n + i - k]) for k in range(s.n)) - b[i] for i in range(s.clues)
        ]
        rows.append([(x + s.t // 2) % s.t - s.t // 2 for x in values])
    return np.array(rows)


@pytest.mark.parametrize("s", [TEST, PAPER, OURS, replace(TEST, clues=5)], ids=lambda s: f"{s.name}-{s.clues}")
def test_signals_are_found_by_their_receiver_alone(s: Set) -> None:
    secret, other = SignalSecret.make(s), SignalSecret.make(s)
    signals = secret.public().signals(60, threads=2)
    assert signals.a.shape == (60, s.n)
    assert signals.b.shape == (60, s.clues)
    assert secret.pertinent(signals).all()
    assert not other.pertinent(signals).any()  # false positives: 60 of 2^-26 at most
    some = Signals(s, signals.a[:3], signals.b[:3])
    for who in (secret, other):
        assert (who.errors(some) == exact_errors(s, who.coefficients(), some)).all()
        assert np.abs(who.coefficients()).sum() == s.weight


def test_a_secret_is_its_32_bytes() -> None:
    secret = SignalSecret.make(TEST, fixed_seed_for_tests=seed(1))
    again = SignalSecret(TEST, secret.secret_bytes())
    assert (again.coefficients() == secret.coefficients()).all()
    assert again.public().pack() == secret.public().pack()
    assert secret.secret_bytes() not in secret.public().pack()
    assert SignalSecret.make(TEST).secret_bytes() != SignalSecret.make(TEST).secret_bytes()
    assert secret.secret_bytes().hex() not in repr(secret)
    with pytest.raises(FormatError, match="32 bytes, not 31"):
        SignalSecret(TEST, bytes(31))


def test_packed_signals() -> None:
    secret = SignalSecret.make(OURS)
    signals = secret.public().signals(9)
    packed = signals.pack()
    assert packed.shape == (9, 2565)
    number = int.from_bytes(packed[4].tobytes(), "little")
    words = [number >> 20 * i & 0xFFFFF for i in range(1026)]
    assert words == [*signals.a[4].tolist(), *signals.b[4].tolist()]
    for data in (packed, packed.tobytes()):
        back = Signals.unpack(data, OURS, threads=2)
        assert (back.a == signals.a).all()
        assert (back.b == signals.b).all()
    packed[7, -3:] = 255
    with pytest.raises(FormatError, match="signal 7 of 9"):
        Signals.unpack(packed, OURS)
    with pytest.raises(FormatError, match="cut off"):
        Signals.unpack(packed.tobytes()[:-1], OURS)
    with pytest.raises(FormatError, match="325 bytes"):
        Signals.unpack(packed, TEST)
    assert len(Signals.unpack(b"", OURS)) == 0


def test_objects_of_two_sets_are_told_apart() -> None:
    secret, signals = SignalSecret.make(TEST), SignalSecret.make(PAPER).public().signals(1)
    with pytest.raises(MismatchError, match="one is of set test, the other of set paper"):
        secret.errors(signals)
    with pytest.raises(ShapeError):
        SignalKey(TEST, bytes(32), np.zeros(64, np.uint32))
    with pytest.raises(FormatError, match="modulus"):
        SignalKey(TEST, bytes(32), np.full(128, TEST.t, np.uint32))
    with pytest.raises(ParameterError, match=r"2\^20"):
        secret.public().signals((1 << 20) + 1)
    with pytest.raises(FormatError, match="modulus"):
        secret.errors(Signals(TEST, np.full((1, 128), TEST.t, np.uint32), np.zeros((1, 2), np.uint32)))


# ---- degenerate signals --------------------------------------------------------------------------


def test_limits_of_the_screen() -> None:
    """A sound signal is refused with less than 2^-60; one hit less would not do."""
    for s in (OURS, PAPER, TEST, replace(OURS, clues=1, range=30_000)):
        p = ((2 * s.range + 1) / s.t) ** s.clues
        limit = screen_limit(s)

        def union(hits: int, p: float = p) -> float:
            from math import comb, log2

            return log2(comb(SCREEN_TRIALS, hits)) + hits * log2(p)

        assert union(limit) < -60 <= union(limit - 1)
    assert screen_limit(OURS) == 4


def forms(rng: np.random.Generator) -> dict[str, Signals]:
    """Signals that a large share of receivers would take for theirs."""

    def signals(a: npt.NDArray[np.int64], b: npt.NDArray[np.int64]) -> Signals:
        return Signals(OURS, (a % OURS.t).astype(np.uint32), (b % OURS.t).astype(np.uint32))

    def few(count: int, size: int) -> npt.NDArray[np.int64]:
        a = np.zeros((8, OURS.n), np.int64)
        for row in a:
            row[rng.choice(OURS.n, count, replace=False)] = rng.integers(-size, size + 1, count)
        return a

    n, half = OURS.n, OURS.t // 2
    none = np.zeros((8, 2), np.int64)
    return {
        "zeros": signals(np.zeros((8, n), np.int64), none),
        "a clue at the end of the range": signals(np.zeros((8, n), np.int64), none + OURS.range),
        "four coefficients": signals(few(4, half), none),
        "ten coefficients": signals(few(10, half), none),
        "small": signals(rng.integers(-1, 2, (8, n)), none),
        "multiples of small ones": signals(rng.integers(-1, 2, (8, n)) * (rng.random((8, n)) < 0.15) * 123_457, none),
        "one value": signals(np.full((8, n), 54_321), none),
        "one coefficient": signals(few(1, half), none),
    }


@pytest.mark.parametrize("form", forms(np.random.default_rng(1)))
def test_degenerate_signals_are_refused(form: str) -> None:
    """Each is taken by at least 1 % of receivers: at most three of 4,096 take it with less than 2^-40."""
    signals = forms(np.random.default_rng(2))[form]
    shares = [SignalSecret.make(OURS, fixed_seed_for_tests=seed(i)).pertinent(signals) for i in range(200)]
    assert np.mean(shares) > 0.003
    assert degenerate(signals, threads=2).all()


def test_sound_signals_pass() -> None:
    """Those of senders, for anybody, and uniform words: refused with 2^-60 each."""
    secret = SignalSecret.make(OURS)
    rng = np.random.default_rng(3)
    uniform = Signals(
        OURS, rng.integers(0, OURS.t, (40, OURS.n), np.uint32), rng.integers(0, OURS.t, (40, 2), np.uint32)
    )
    assert not degenerate(secret.public().signals(40)).any()
    assert not degenerate(uniform).any()
    sparse = uniform.a.copy()
    sparse[:, 400:] = 0  # 400 coefficients are as good as all: no secret misses them, but for 2^-100
    assert not degenerate(Signals(OURS, sparse, uniform.b)).any()


def test_the_screen_counts_as_the_secrets_do() -> None:
    """A signal with k coefficients that are not 0 is taken by those whose secrets miss them: hypergeometric."""
    k, s = 3, TEST
    a = np.zeros((1, s.n), np.uint32)
    a[0, [10, 50, 90]] = 300_000, 200_000, 100_001
    from math import comb

    from ringforge._native import omr
    from ringforge.omr.signal import parameters

    missed = comb(s.n - 2 * k, s.weight) / comb(s.n, s.weight)  # two coefficients of b: six of s
    hits = omr.count_hits(parameters(s), a, np.zeros((1, 2), np.uint32), s.range, 1 << 16, 2, seed(4))
    assert abs(int(hits[0]) - missed * 65536) < 6 * (65536 * missed * (1 - missed)) ** 0.5


# ---- payloads ------------------------------------------------------------------------------------


@pytest.mark.parametrize("s", [TEST, OURS, replace(TEST, payload_bytes=51), replace(TEST, payload_bytes=1000)])
def test_words_of_payloads(s: Set) -> None:
    rng = np.random.default_rng(5)
    payloads = rng.integers(0, 256, (40, s.payload_bytes), np.uint8)
    payloads[0], payloads[1] = 0, 255
    words = payload.words(payloads, s)
    assert words.shape == (40, s.payload_words)
    for row, digits in zip(payloads, words.tolist(), strict=True):
        value = int.from_bytes(row.tobytes(), "little")
        pairs = [value >> i * s.pair_bits & (1 << s.pair_bits) - 1 for i in range(s.payload_words // 2)]
        assert digits == [digit for pair in pairs for digit in (pair % s.t, pair // s.t)]
    back, sound = payload.from_words(words.astype(np.int64), s)
    assert sound.all()
    assert (back == payloads).all()


def test_words_that_no_payload_has() -> None:
    words = payload.words(np.zeros((4, OURS.payload_bytes), np.uint8), OURS).astype(np.int64)
    words[1, 5] = OURS.t - 1  # high half: the pair is beyond 2^39
    words[2, -1] = 1000  # beyond the last byte
    words[3, 0] = OURS.t - 1
    back, sound = payload.from_words(words, OURS)
    assert sound.tolist() == [True, False, False, True]
    assert not back[:3].any()
    with pytest.raises(RingforgeValueError, match="786432"):
        payload.from_words(words + OURS.t, OURS)
    with pytest.raises(ShapeError):
        payload.from_words(words[:, :-1], OURS)
    with pytest.raises(ShapeError):
        payload.words(np.zeros((2, 611), np.uint8), OURS)


def test_boxes() -> None:
    secret = BoxSecret.make()
    key = secret.public()
    for text in (b"", b"x", bytes(range(200)), b"y" * OURS.text_bytes):
        sealed = key.seal(text, OURS)
        assert len(sealed) == OURS.payload_bytes
        assert secret.open(sealed) == text
    assert key.seal(b"x", OURS) != key.seal(b"x", OURS)
    with pytest.raises(RingforgeValueError, match="563 bytes: payloads of set ringforge take 562"):
        key.seal(bytes(563), OURS)
    sealed = key.seal(b"text", OURS)
    again = BoxSecret(secret.secret_bytes())
    assert again.open(sealed) == b"text"
    assert secret.secret_bytes().hex() not in repr(secret)


def test_boxes_that_do_not_open() -> None:
    """None, whatever is wrong: a false positive is no error."""
    import nacl.public

    secret = BoxSecret.make()
    sealed = secret.public().seal(b"text", OURS)
    assert BoxSecret.make().open(sealed) is None
    for wrong in (b"", bytes(47), bytes(612), sealed[:-1], sealed + b"\0", bytes([sealed[0] ^ 1]) + sealed[1:]):
        assert secret.open(wrong) is None
    box = nacl.public.SealedBox(nacl.public.PublicKey(secret.public().data))
    for padded in (b"", b"\x01", b"\x05\x00text", b"\x00\x00\x01", b"\xff\xff" + bytes(100)):
        assert secret.open(box.encrypt(padded)) is None, padded


@pytest.mark.parametrize("data", [bytes(32), b"\x01" + bytes(31), bytes(31), bytes(33)])
def test_box_keys_that_protect_nothing(data: bytes) -> None:
    with pytest.raises(FormatError):
        BoxKey(data)
    if len(data) != 32:
        with pytest.raises(FormatError):
            BoxSecret(data)


# ---- addresses -----------------------------------------------------------------------------------


def an_address(s: Set = TEST) -> Address:
    return Address(s, SignalSecret.make(s).public(), BoxSecret.make().public())


@pytest.mark.parametrize("s", [TEST, PAPER, OURS], ids=lambda s: s.name)
def test_an_address_is_one_line(s: Set, tmp_path: Path) -> None:
    address = an_address(s)
    text = str(address)
    assert text.isascii()
    assert text.isprintable()
    assert len(text) <= 3582
    back = Address.parse(f"  {text}\n", WHY)
    assert back == address
    assert back.set.hash == s.hash
    assert back.box == address.box
    assert back.fingerprint == address.fingerprint
    address.save(tmp_path / "address")
    assert (tmp_path / "address").read_text() == text + "\n"
    assert Address.load(tmp_path / "address", WHY) == address
    assert an_address(s) != address


def test_what_is_posted_to_a_parsed_address_arrives() -> None:
    secret, box = SignalSecret.make(TEST), BoxSecret.make()
    address = Address.parse(str(Address(TEST, secret.public(), box.public())), WHY)
    assert secret.pertinent(address.signal.signals(20)).all()
    assert box.open(address.box.seal(b"hello", address.set)) == b"hello"


def test_damaged_addresses() -> None:
    text = str(an_address())
    rng = np.random.default_rng(6)
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    wrong = ["", "hello", text[1:], text[:-1], text[: len(text) // 2], text + "A", text + "=", text * 100, PREFIX]
    for _ in range(200):
        at = int(rng.integers(len(PREFIX), len(text)))
        wrong.append(text[:at] + rng.choice([c for c in alphabet if c != text[at]]) + text[at + 1 :])
        wrong.append(text[:at] + "é" + text[at + 1 :])
    for bad in wrong:
        with pytest.raises(FormatError):
            Address.parse(bad, WHY)


def forged(change: dict[str, bytes]) -> str:
    """An address with other fields and a right checksum."""
    address = an_address()
    fields = {"name": b"test", "hash": TEST.hash, "signal": address.signal.pack(), "box": address.box.data} | change
    data = bytes([len(fields["name"])]) + b"".join(fields.values())
    data += hashlib.sha256(data).digest()[:8]
    return PREFIX + base64.urlsafe_b64encode(data).decode().rstrip("=")


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({}, None),
        ({"name": b"best"}, ParameterError),
        ({"name": b""}, FormatError),
        ({"name": b"\xff\xff"}, FormatError),
        ({"name": b"ringforge"}, MismatchError),
        ({"hash": bytes(32)}, MismatchError),
        ({"signal": b""}, FormatError),
        ({"signal": b"\xff" * 352}, FormatError),
        ({"box": bytes(32)}, FormatError),
        ({"box": bytes(33)}, FormatError),
    ],
)
def test_forged_addresses(change: dict[str, bytes], error: type[Error] | None) -> None:
    if error is None:
        Address.parse(forged(change), WHY)
        return
    with pytest.raises(error):
        Address.parse(forged(change), WHY)


def test_addresses_of_insecure_sets_need_a_reason(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="less than 128 bits"):
        Address.parse(str(an_address()))
    (tmp_path / "a").write_bytes(b"\xff" * 100)
    with pytest.raises(FormatError, match=r"^a: no address"):
        Address.load(tmp_path / "a")
    with pytest.raises(MismatchError):
        Address(PAPER, an_address().signal, BoxSecret.make().public())
