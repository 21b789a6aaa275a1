# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A client of the PSI service as docs/psi-wire.md tells it, with numpy, grpc and Python's integers; nothing of the
library is imported. Slow, and its time depends on secrets: for tests only.

Section numbers are the document's.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from collections.abc import Iterator, Sequence
from typing import Any

import grpc
import numpy as np

from tests.psi import ristretto

SERVICE = "/ringforge.psi.v1.Psi/"
CHUNK = 1 << 20
ERROR_KEY = "ringforge-error"
WORD = (1 << 64) - 1


class RefusedError(Exception):
    """The server's status, the kind of its error, and its words."""

    def __init__(self, status: str, kind: str, words: str) -> None:
        super().__init__(f"{status} {kind}: {words}")
        self.status, self.kind, self.words = status, kind, words


# ---- 2. messages ---------------------------------------------------------------------------------


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def message(**fields: tuple[int, bytes | int]) -> bytes:
    """Protobuf: bytes as length-delimited fields, integers as fixed64; by number."""
    out = b""
    for number, value in sorted(fields.values(), key=lambda f: f[0]):
        if isinstance(value, int):
            out += varint(number << 3 | 1) + value.to_bytes(8, "little")
        else:
            out += varint(number << 3 | 2) + varint(len(value)) + value
    return out


def parsed(data: bytes) -> dict[int, Any]:
    """Fields of a message, by number."""
    found: dict[int, Any] = {}
    at = 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = number()
        if tag & 7 == 2:
            size = number()
            found[tag >> 3] = data[at : at + size]
            at += size
        else:
            size = {1: 8, 5: 4}[tag & 7]
            found[tag >> 3] = int.from_bytes(data[at : at + size], "little")
            at += size
    return found


class Wire:
    """The calls of section 3, on raw messages."""

    def __init__(self, address: str, token: str = "") -> None:
        self.channel = grpc.insecure_channel(address)
        self.metadata = (("authorization", f"Bearer {token}"),) if token else ()

    def call(self, method: str, messages: Sequence[bytes]) -> Iterator[dict[int, Any]]:
        try:
            for reply in self.channel.stream_stream(SERVICE + method, None, None)(
                iter(messages), timeout=60, metadata=self.metadata
            ):
                yield parsed(reply)
        except grpc.RpcError as e:
            status: Any = e
            kinds = [str(v) for k, v in status.trailing_metadata() or () if k == ERROR_KEY]
            raise RefusedError(status.code().name, kinds[0] if kinds else "", status.details()) from None

    @staticmethod
    def body(header: bytes, body: bytes) -> list[bytes]:
        """A header, then chunks; both are parts 1 and 2."""
        chunks = [message(chunk=(2, body[i : i + CHUNK])) for i in range(0, len(body), CHUNK)]
        return [message(header=(1, header)), *chunks]

    def info(self) -> tuple[dict[str, Any], int, int]:
        parts = list(self.call("Info", [b""]))
        header = parsed(parts[0][1])
        data = b"".join(part[2] for part in parts[1:])
        assert len(data) == header[1]
        return json.loads(data), header[2], header[3]

    def evaluate(self, table: bytes, blinded: Sequence[bytes]) -> list[bytes]:
        replies = list(self.call("EvaluatePrf", [message(table=(1, table), blinded=(2, b"".join(blinded)))]))
        data: bytes = replies[-1][1]
        assert not any(replies[:-1])
        return [data[i : i + 32] for i in range(0, len(data), 32)]

    def open(self, table: bytes, keys: bytes) -> bytes:
        header = message(table=(1, table), total=(2, len(keys)))
        replies = list(self.call("OpenSession", self.body(header, keys)))
        session: bytes = replies[-1][1]
        return session

    def query(self, table: bytes, session: bytes, request: bytes) -> bytes:
        header = message(table=(1, table), session=(2, session), total=(3, len(request)))
        parts = [p for p in self.call("Query", self.body(header, request)) if 1 not in p]
        total = parsed(parts[0][2])[1]
        reply = b"".join(part[3] for part in parts[1:])
        assert len(reply) == total
        return reply

    def close(self, session: bytes) -> None:
        list(self.call("CloseSession", [message(session=(1, session))]))


# ---- 4. the description --------------------------------------------------------------------------


def digest(info: dict[str, Any]) -> bytes:
    """SHA-256 of the description as it came, but for the limits."""
    plain = json.dumps({k: v for k, v in info.items() if k != "limits"}, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(plain.encode()).digest()


def cut_words(cut: dict[str, Any]) -> list[int]:
    return [cut["log_base"], cut["count"], cut["drop"], int(cut["balanced"])]


def plan_hash(plan: dict[str, Any]) -> bytes:
    words = [0x7073693031, {"paper": 0, "ringforge": 1}[plan["algorithm"]]]
    names = ("log_n", "modulus", "log_bins", "cell_bits", "log_cell", "log_t", "log_onehot", "log_reply")
    words += [plan[name] for name in names]
    for cut in (plan["gadget"], *plan["expansion"], plan["reconstruction"]):
        words += cut_words(cut)
    return hashlib.sha256(b"".join(w.to_bytes(8, "little") for w in words)).digest()


# ---- 5. the pseudorandom function ----------------------------------------------------------------


class Blinded:
    """Elements on their way, and back."""

    def __init__(self, elements: Sequence[bytes]) -> None:
        self.elements = list(elements)
        self.blinds = [secrets.randbelow(ristretto.ORDER - 1) + 1 for _ in elements]
        self.points = [
            ristretto.encode(ristretto.multiply(r, ristretto.hash_to_group(x)))
            for r, x in zip(self.blinds, self.elements, strict=True)
        ]

    def values(self, evaluated: Sequence[bytes]) -> list[bytes]:
        out = []
        for x, r, answer in zip(self.elements, self.blinds, evaluated, strict=True):
            point = ristretto.decode(answer)
            assert point is not None
            opened = ristretto.encode(ristretto.multiply(pow(r, -1, ristretto.ORDER), point))
            framed = len(x).to_bytes(2, "big") + x + (32).to_bytes(2, "big") + opened
            out.append(hashlib.sha512(framed + b"Finalize").digest())
        return out


# ---- 6. hashing ----------------------------------------------------------------------------------


def mix(x: int) -> int:
    x ^= x >> 33
    x = x * 0xFF51AFD7ED558CCD & WORD
    x ^= x >> 33
    x = x * 0xC4CEB9FE1A85EC53 & WORD
    return x ^ x >> 33


def seed_words(seed: bytes, what: bytes, count: int) -> list[int]:
    raw = hashlib.shake_256(b"ringforge psi v1 " + what + b"\0" + seed).digest(8 * count)
    return [int.from_bytes(raw[8 * i : 8 * i + 8], "little") for i in range(count)]


class Hashing:
    """Bins, cells and tags of mode oprf."""

    def __init__(self, info: dict[str, Any]) -> None:
        self.k, self.w, self.tag_bits = info["plan"]["log_bins"], info["plan"]["cell_bits"], info["tag_bits"]
        self.hashes = info["hashes"]
        self.constants = seed_words(bytes.fromhex(info["seed"]), b"prf", 5)
        salts = base64.b64decode(info["salts"])
        self.salts = [int.from_bytes(salts[i : i + 2], "little") for i in range(0, len(salts), 2)]

    def where(self, prf: bytes) -> int:
        return mix(int.from_bytes(prf[:8], "little") ^ self.constants[0])

    def bins(self, prf: bytes) -> list[int]:
        z = self.where(prf)
        return [(z >> 64 - 21 * (i + 1) & (1 << 21) - 1) >> 21 - self.k for i in range(self.hashes)]

    def cell(self, prf: bytes, i: int) -> int:
        y = int.from_bytes(prf[8:16], "little") + self.where(prf) & WORD
        number = (4 * self.salts[self.bins(prf)[i]] + i + 1) * 0x9E3779B97F4A7C15 & WORD
        return mix(y ^ mix(number ^ self.constants[1])) >> 64 - self.w

    def tag(self, prf: bytes, i: int) -> int:
        v = int.from_bytes(prf[16:24], "little")
        return mix(v ^ self.constants[2 + i]) >> 64 - self.tag_bits or 1


def chacha20(key: bytes, nonce: bytes, counter: int) -> bytes:
    """A block of RFC 8439."""
    start = [int.from_bytes(b"expand 32-byte k"[i : i + 4], "little") for i in range(0, 16, 4)]
    start += [int.from_bytes(key[i : i + 4], "little") for i in range(0, 32, 4)]
    start += [counter, *(int.from_bytes(nonce[i : i + 4], "little") for i in range(0, 12, 4))]
    s = list(start)

    def turn(x: int, by: int) -> int:
        return (x << by | x >> 32 - by) & 0xFFFFFFFF

    def quarter(a: int, b: int, c: int, d: int) -> None:
        for x, y, z, by in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            s[x] = s[x] + s[y] & 0xFFFFFFFF
            s[z] = turn(s[z] ^ s[x], by)

    for _ in range(10):
        for i in range(4):
            quarter(i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    return b"".join((x + y & 0xFFFFFFFF).to_bytes(4, "little") for x, y in zip(s, start, strict=True))


# ---- 7. records ----------------------------------------------------------------------------------


def record(kind: int, version: int, plan: bytes, body: bytes) -> bytes:
    head = b"RGFG" + version.to_bytes(2, "little") + kind.to_bytes(2, "little") + bytes(4) + plan
    whole = head + len(body).to_bytes(8, "little") + body
    return whole + hashlib.sha256(whole).digest()


def opened(kind: int, version: int, plan: bytes, data: bytes) -> bytes:
    assert data == record(kind, version, plan, data[52:-32])
    return data[52:-32]


def packed(values: Any, bits: int) -> bytes:
    shifts = np.arange(bits, dtype=np.uint64)
    flat = (np.asarray(values, dtype=np.uint64)[:, None] >> shifts & np.uint64(1)).astype(np.uint8).reshape(-1)
    return np.packbits(flat, bitorder="little").tobytes()


def unpacked(data: bytes, bits: int, count: int) -> Any:
    flat = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")[: bits * count].reshape(count, bits)
    return (flat.astype(np.uint64) << np.arange(bits, dtype=np.uint64)).sum(axis=1, dtype=np.uint64)


# ---- 8. rings ------------------------------------------------------------------------------------


def sbox() -> Any:
    """Of AES, from its definition."""
    table, p, q = np.zeros(256, np.uint8), 1, 1
    while True:
        p = p ^ p << 1 & 0xFF ^ (0x1B if p & 0x80 else 0)
        for shift in (1, 2, 4):
            q ^= q << shift & 0xFF
        q ^= 0x09 if q & 0x80 else 0
        x = q
        for by in (1, 2, 3, 4):
            x ^= (q << by | q >> 8 - by) & 0xFF
        table[p] = x ^ 0x63
        if p == 1:
            table[0] = 0x63
            return table


SBOX = sbox()


def aes_256_ctr(key: bytes, iv: bytes, blocks: int) -> bytes:
    """The key stream of FIPS 197 and SP 800-38A."""
    words = [list(key[i : i + 4]) for i in range(0, 32, 4)]
    constant = 1
    for i in range(8, 60):
        w = list(words[-1])
        if i % 8 == 0:
            w = [int(SBOX[b]) for b in (*w[1:], w[0])]
            w[0] ^= constant
            constant <<= 1
        elif i % 8 == 4:
            w = [int(SBOX[b]) for b in w]
        words.append([a ^ b for a, b in zip(words[-8], w, strict=True)])
    rounds = np.array(words, np.uint8).reshape(15, 16)
    first = int.from_bytes(iv, "big")
    counters = b"".join(((first + i) % 2**128).to_bytes(16, "big") for i in range(blocks))
    state = np.frombuffer(counters, np.uint8).reshape(-1, 16) ^ rounds[0]
    shifted = [(5 * i) % 16 for i in range(16)]
    for r in range(1, 15):
        state = SBOX[state][:, shifted]
        if r < 14:
            column = state.reshape(-1, 4, 4)
            double = (column << 1) ^ np.where(column & 0x80, 0x1B, 0).astype(np.uint8)
            rest = np.bitwise_xor.reduce(column, axis=2, keepdims=True)
            state = (column ^ double ^ np.roll(double, -1, axis=2) ^ rest).reshape(-1, 16)
        state = state ^ rounds[r]
    return state.tobytes()


class Ring:
    """Z_q[X]/(X^n + 1); Eval form: index i has the value at psi^(2 brv(i) + 1)."""

    def __init__(self, log_n: int, q: int) -> None:
        self.n, self.q, self.bits = 1 << log_n, q, q.bit_length()
        order = 2 * self.n
        root = next(r for g in range(2, 1000) if pow(r := pow(g, (q - 1) // order, q), self.n, q) == q - 1)
        powers = [1]
        for _ in range(order - 1):
            powers.append(powers[-1] * root % q)
        psi = min(powers[i] for i in range(1, order, 2))
        powers = [1]
        for _ in range(order - 1):
            powers.append(powers[-1] * psi % q)
        self.powers = np.array(powers, dtype=object)
        self.brv = np.array([int(f"{i:0{log_n}b}"[::-1], 2) for i in range(self.n)])
        self.spread = -(-self.bits // 8) * 8

    def forward(self, coefficients: Any) -> Any:
        """Eval form, by the transform as it is taught."""
        x = np.array(coefficients, dtype=object) % self.q * self.powers[: self.n] % self.q
        x = x[self.brv]
        length = 1
        while length < self.n:
            twiddles = self.powers[:: self.n // length][:length]  # psi^2 has order n
            y = x.reshape(-1, 2, length)
            odd = y[:, 1] * twiddles % self.q
            x = np.stack([(y[:, 0] + odd) % self.q, (y[:, 0] - odd) % self.q], axis=1).reshape(-1)
            length *= 2
        return x[self.brv]

    def uniform(self, seed: bytes, index: int) -> Any:
        """The a-part of a row, in Eval form: section 8.2."""
        tail = b"".join(v.to_bytes(4, "little") for v in (9, index, 0))
        both = hashlib.shake_256(b"ringforge-xof-1" + seed + tail).digest(48)
        words = np.frombuffer(aes_256_ctr(both[:32], both[32:], 2 * self.n), "<u8") & np.uint64((1 << self.bits) - 1)
        good = words[words < self.q][: self.n]
        assert len(good) == self.n
        return good.astype(object)


# ---- 9. keys, requests, replies ------------------------------------------------------------------


class Asker:
    """A client's key for the plan of the algorithm `ringforge`."""

    def __init__(self, info: dict[str, Any]) -> None:
        p = self.p = info["plan"]
        assert p["algorithm"] == "ringforge"
        self.hash = bytes.fromhex(info["plan_hash"])
        assert plan_hash(p) == self.hash
        self.ring = Ring(p["log_n"], p["modulus"])
        self.n, self.q = self.ring.n, self.ring.q
        self.bins = 1 << p["log_bins"]
        self.stages = min(p["log_bins"], p["log_n"])
        self.turns = p["log_n"] - p["log_cell"]
        room = p["log_t"] << p["log_cell"]
        self.parts = max(1, -(-(info["tag_bits"] + 8 * info["label_bytes"]) // room))
        self.tree = p["cell_bits"] - self.turns - p["log_onehot"]
        rng = np.random.default_rng(secrets.randbits(128))
        self.rng = rng
        self.z = rng.integers(-1, 2, self.n)
        self.z_eval = self.ring.forward(self.z)

    def error(self) -> Any:
        """Centred binomial, variance 10.5."""
        return self.rng.integers(0, 2, (self.n, 42)).sum(axis=1) - 21

    def row(self, seed: bytes, index: int, m_eval: Any) -> bytes:
        b = self.ring.uniform(seed, index) * self.z_eval + self.ring.forward(self.error()) + m_eval
        return packed(b % self.q, self.ring.bits)

    def gadget(self, cut: dict[str, Any]) -> list[int]:
        return [pow(2, cut["drop"] + j * cut["log_base"], self.q) for j in range(cut["count"])]

    def keys(self) -> bytes:
        seed, rows = secrets.token_bytes(32), []
        for s, cut in enumerate(self.p["expansion"]):
            g = self.n // 2**s + 1
            image = np.zeros(self.n, dtype=object)
            for i in range(self.n):
                to = i * g % (2 * self.n)
                image[to % self.n] = int(self.z[i]) * (-1 if to >= self.n else 1)
            image = self.ring.forward(image)
            rows += [image * element for element in self.gadget(cut)]
        square = self.z_eval * self.z_eval
        rows += [square * element for element in self.gadget(self.p["reconstruction"])]
        rows.append(0 * square)
        return record(0x0301, 2, self.hash, seed + b"".join(self.row(seed, i, m) for i, m in enumerate(rows)))

    def request(self, cells: Sequence[int]) -> bytes:
        p, seed = self.p, secrets.token_bytes(32)
        inverse = pow(2**self.stages, -1, self.q)
        selector = round(self.q / 2 ** p["log_t"]) * inverse
        elements = [g * inverse % self.q for g in self.gadget(p["gadget"])]
        every = 1 << self.stages
        rows, index = [], 0
        for first in range(0, self.bins, every):
            some = cells[first : first + every]
            wanted = [
                [selector * (c >> self.turns + self.tree == o) for c in some] for o in range(1 << p["log_onehot"])
            ]
            shifts = [self.turns + i for i in range(self.tree)] + list(range(self.turns))
            wanted += [[element * (c >> shift & 1) for c in some] for shift in shifts for element in elements]
            for coefficients in wanted:
                filled = coefficients + [0] * (self.n - len(coefficients))
                rows.append(self.row(seed, index, self.ring.forward(filled)))
                index += 1
        return record(0x0302, 2, self.hash, seed + b"".join(rows))

    def words(self, reply: bytes) -> Any:
        """Words of every bin (bins, s), those of all parts of the reply."""
        each = len(reply) // self.parts
        return np.concatenate([self.part(reply[i : i + each]) for i in range(0, len(reply), each)], axis=1)

    def part(self, reply: bytes) -> Any:
        """Words of every bin (bins, s) in one part."""
        p = self.p
        body, bits = opened(0x0303, 2, self.hash, reply), p["log_reply"]
        each = -(-self.n * bits // 8)
        stride, s = self.n >> p["log_cell"], 1 << p["log_cell"]
        packs = min(self.stages, self.turns)
        skipped = self.stages - packs
        out = np.zeros((self.bins, s), dtype=np.int64)
        # Row i of the matrix of multiplication by z: coefficient i of the product.
        columns = np.arange(self.n)[:, None] - np.arange(self.n)[None, :]
        matrix = np.where(columns >= 0, 1, -1) * self.z[columns % self.n]
        assert len(body) == 2 * each * (self.bins >> packs)
        for r in range(self.bins >> packs):
            a = unpacked(body[2 * each * r :][:each], bits, self.n).astype(np.int64)
            b = unpacked(body[2 * each * r + each :][:each], bits, self.n).astype(np.int64)
            phase = (b - matrix @ a) % (1 << bits)
            shift = bits - p["log_t"]
            rounded = ((phase + (1 << shift - 1)) >> shift) % (1 << p["log_t"])
            for i in range(1 << packs):
                bin_ = ((r >> skipped) << self.stages) + (i << skipped) + (r & (1 << skipped) - 1)
                out[bin_] = rounded[i + stride * np.arange(s)]
        return out


# ---- 10. what a reply says -----------------------------------------------------------------------


def label_of(info: dict[str, Any], hashing: Hashing, prf: bytes, i: int, words: Any) -> bytes | None:
    """The label in the words of the element's cell; None: the table has it not."""
    log_t, tag_bits, size = info["plan"]["log_t"], info["tag_bits"], info["label_bytes"]
    number = sum(int(w) << log_t * j for j, w in enumerate(words))
    if number & (1 << tag_bits) - 1 != hashing.tag(prf, i):
        return None
    if not size:
        return b""
    sealed = (number >> tag_bits & (1 << 8 * size) - 1).to_bytes(size, "little")
    first = 4 * hashing.salts[hashing.bins(prf)[i]] + i
    nonce = first.to_bytes(4, "little") + bytes.fromhex(info["nonce"])
    stream = b"".join(chacha20(prf[32:64], nonce, c) for c in range(-(-size // 64)))
    row = bytes(a ^ b for a, b in zip(sealed, stream, strict=False))
    label = row.rstrip(b"\0")
    assert label.endswith(b"\x80")
    return label[:-1]


# ---- 13. the polynomial protocol -----------------------------------------------------------------


def poly_hash(p: dict[str, Any]) -> bytes:
    words = [0x70736970, p["log_n"], p["t"], p["degree"], p["felts"], p["columns"], p["bundles"], p["label_words"]]
    words += [p["plain_limbs"], p["reply_bits"], p["reply_drop"], len(p["sources"]), len(p["q"]), len(p["p"])]
    words += [*p["sources"], *p["q"], *p["p"]]
    return hashlib.sha256(b"".join(w.to_bytes(8, "little") for w in words)).digest()


def poly_places(prf: bytes, bins: int) -> list[int]:
    """Three different bins: each choice is scaled to those that earlier ones have left, and counted past these."""
    out: list[int] = []
    for i in range(3):
        place = int.from_bytes(prf[4 * i : 4 * i + 4], "little") * (bins - i) >> 32
        for known in sorted(out):
            place += place >= known
        out.append(place)
    return out


def times_sparse(z: Any, a: Any, modulus: int) -> Any:
    """Product of a polynomial and a ternary one modulo X^n + 1, in words of 64 bits."""
    n, out = len(z), np.zeros(len(z), dtype=np.uint64)
    for i in np.flatnonzero(z).tolist():
        turned = np.concatenate([np.uint64(0) - a[n - i :], a[: n - i]])
        out = out + turned if z[i] > 0 else out - turned
    return out & np.uint64(modulus - 1)


class PolyAsker:
    """A client's key for a plan of the polynomial protocol."""

    def __init__(self, info: dict[str, Any]) -> None:
        p = self.p = info["plan"]
        self.info, self.hash = info, bytes.fromhex(info["plan_hash"])
        assert poly_hash(p) == self.hash
        self.n = 1 << p["log_n"]
        self.column = self.n // p["felts"]
        self.bins = p["columns"] * self.column
        self.rings = [Ring(p["log_n"], q) for q in (*p["q"], *p["p"])]
        self.slots = Ring(p["log_n"], p["t"])
        self.rng = np.random.default_rng(secrets.randbits(128))
        self.s = self.rng.integers(-1, 2, self.n)
        self.s_eval = [ring.forward(self.s) for ring in self.rings]
        self.id = secrets.token_bytes(8)
        powers = [pow(5, i, 2 * self.n) for i in range(self.n // 2)]
        powers += [2 * self.n - x for x in powers]
        self.index = self.slots.brv[(np.array(powers) - 1) // 2]

    def felts(self, prf: bytes) -> list[int]:
        words = [int.from_bytes(prf[12 + 4 * i : 16 + 4 * i], "little") for i in range(self.p["felts"])]
        return [w * self.p["t"] >> 32 for w in words]

    def uniform(self, seed: bytes, what: int, digit: int, limb: int, ring: Ring) -> Any:
        tail = b"".join(v.to_bytes(4, "little") for v in (what, digit, limb))
        both = hashlib.shake_256(b"ringforge-xof-1" + seed + tail).digest(48)
        words = np.frombuffer(aes_256_ctr(both[:32], both[32:], 3 * self.n), "<u8")
        words = words & np.uint64((1 << ring.bits) - 1)
        return words[words < ring.q][: self.n].astype(object)

    def error(self) -> Any:
        return self.rng.integers(0, 2, (self.n, 42)).sum(axis=1) - 21

    def key(self) -> bytes:
        p, seed, body = self.p, secrets.token_bytes(32), b""
        sources, special = p["sources"], p["p"][0]
        shallow = {*sources, *(a + b for a in sources for b in sources)}
        limbs = p["plain_limbs"] if shallow >= set(range(1, p["degree"] + 1)) else len(p["q"])
        basis = [*range(limbs), len(p["q"])]
        for digit in range(limbs):
            error = self.error()
            for limb, of in enumerate(basis):
                ring, s = self.rings[of], self.s_eval[of]
                b = ring.forward(error) - self.uniform(seed, 3, digit, limb, ring) * s
                if limb == digit:
                    b = b + special * (s * s)
                body += packed(b % ring.q, (ring.q - 1).bit_length())
        return record(0x0304, 1, self.hash, self.id + seed + body)

    def coefficients(self, values: Sequence[int]) -> Any:
        """Of the polynomial that has these values in its slots: the inverse of the transform, as a sum."""
        x = np.zeros(self.n, dtype=object)
        x[self.index] = list(values)
        # forward is a matrix of powers; its inverse is the transform of reversed places over n.
        ring, t = self.slots, self.p["t"]
        natural = x[ring.brv]  # at psi^(2 i + 1)
        y = self.transform(natural, t, ring)
        inverse = pow(self.n, -1, t)
        out = y[(-np.arange(self.n)) % self.n] * inverse % t
        return out * ring.powers[(-np.arange(self.n)) % (2 * self.n)] % t

    def transform(self, x: Any, t: int, ring: Ring) -> Any:
        """Sum of x_i psi^(2 i k), for all k."""
        x, length = x[ring.brv], 1
        while length < self.n:
            twiddles = ring.powers[:: self.n // length][:length]
            y = x.reshape(-1, 2, length)
            odd = y[:, 1] * twiddles % t
            x = np.stack([(y[:, 0] + odd) % t, (y[:, 0] - odd) % t], axis=1).reshape(-1)
            length *= 2
        return x

    def request(self, felts: Sequence[Sequence[int]]) -> bytes:
        """Residues of the element of each bin."""
        p, body = self.p, b""
        whole = 1
        for q in p["q"]:
            whole *= q
        for c in range(p["columns"]):
            flat = [v for row in felts[c * self.column : (c + 1) * self.column] for v in row]
            flat += [0] * (self.n - len(flat))
            for source in p["sources"]:
                m = self.coefficients([pow(v, source, p["t"]) for v in flat])
                scaled = (m * whole + p["t"] // 2) // p["t"] + self.error()
                seed = secrets.token_bytes(32)
                body += seed
                for limb in range(len(p["q"])):
                    ring = self.rings[limb]
                    part = ring.forward(scaled) - self.uniform(seed, 1, 0, limb, ring) * self.s_eval[limb]
                    body += packed(part % ring.q, (ring.q - 1).bit_length())
        return record(0x0305, 1, self.hash, self.id + body)

    def values(self, reply: bytes) -> Any:
        """(bundles, 1 + label words, bins, felts)."""
        p = self.p
        body, k, polys = opened(0x0306, 1, self.hash, reply), p["reply_bits"], 1 + p["label_words"]
        assert body[:8] == self.id
        low = k - p["reply_drop"]
        first, second = self.n * low // 8, self.n * k // 8
        out = np.zeros((p["bundles"], polys, self.bins, p["felts"]), dtype=np.int64)
        assert len(body) == 8 + p["columns"] * p["bundles"] * polys * (first + second)
        for r in range(p["columns"] * p["bundles"] * polys):
            at = 8 + r * (first + second)
            y = unpacked(body[at : at + first], low, self.n)
            a = unpacked(body[at + first : at + first + second], k, self.n)
            phase = (y << np.uint64(p["reply_drop"])) + times_sparse(self.s, a, 1 << k) & np.uint64((1 << k) - 1)
            rounded = (phase.astype(object) * p["t"] + (1 << k - 1) >> k) % p["t"]
            slots = self.slots.forward(rounded)[self.index][: self.column * p["felts"]]
            column, bundle, poly = r // polys // p["bundles"], r // polys % p["bundles"], r % polys
            out[bundle, poly, column * self.column : (column + 1) * self.column] = slots.reshape(-1, p["felts"])
        return out

    def label(self, prf: bytes, values: Any, place: int) -> bytes | None:
        """The label of an element asked for in bin `place`; None: the table has it not."""
        zero = [b for b in range(self.p["bundles"]) if not values[b, 0, place].any()]
        if not zero:
            return None
        if not self.info["label_bytes"]:
            return b""
        bits, size = self.p["t"].bit_length() - 1, self.info["label_bytes"]
        number = sum(int(w) << bits * j for j, w in enumerate(values[zero[0], 1:, place].reshape(-1)))
        sealed = (number & (1 << 8 * size) - 1).to_bytes(size, "little")
        nonce = bytes(4) + bytes.fromhex(self.info["nonce"])
        stream = b"".join(chacha20(prf[32:64], nonce, c) for c in range(-(-size // 64)))
        row = bytes(a ^ b for a, b in zip(sealed, stream, strict=False)).rstrip(b"\0")
        assert row.endswith(b"\x80")
        return row[:-1]
