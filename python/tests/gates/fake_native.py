# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A stand-in for `ringforge._native.fhew`: the same calls, ciphertexts without noise, and evaluation keys that hold the
secret. Circuits, files and commands are tested with it in milliseconds; it hides nothing.

With :data:`LEVELS` a test sees what was run.
"""

from __future__ import annotations

import enum
import hashlib
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ringforge.errors import FormatError, MismatchError, ShapeError
from ringforge.gates import sets
from ringforge.gates.kinds import GateKind as Kind

#: Kinds of the gates of every call to `evaluate`.
LEVELS: list[list[int]] = []


class Method(enum.Enum):
    """As the native one."""

    AP = 0
    GINX = 1
    AUTOMORPHISM = 2


def kind_names() -> list[str]:
    return [k.name for k in Kind]


@dataclass(frozen=True)
class GateParameters:
    """What the library reads of a set."""

    name: str
    insecure: str
    n: int
    log_q: int
    log_n: int
    modulus: int

    @property
    def hash(self) -> bytes:
        return hashlib.sha256(f"{self.name} {self.n} {self.log_q}".encode()).digest()


def parameters(name: str, insecure: str = "") -> GateParameters:
    s = sets.named(name, insecure)
    return GateParameters(s.name, s.insecure and insecure, s.n, s.log_q, s.log_n, s.modulus)


def parameter_names() -> list[str]:
    return sets.names()


def _header(magic: bytes, params: GateParameters, key_id: int) -> bytes:
    """As of the native keys: format 2 with an id, format 1 without."""
    number = key_id.to_bytes(8, "little") if key_id else b""
    return magic + (b"2" if key_id else b"1") + params.hash + number


def _body(what: str, magic: bytes, params: GateParameters, data: Any) -> tuple[int, bytes]:
    data = bytes(data)
    if data[:7] != magic:
        raise FormatError(f"this is no {what} of gates")
    if data[8:40] != params.hash:
        raise MismatchError(f"the {what} belongs to other parameters")
    return (0, data[40:]) if data[7:8] == b"1" else (int.from_bytes(data[40:48], "little"), data[48:])


class SecretKey:
    """A secret s; ciphertexts (a, <a, s> + bit*q/4)."""

    MAGIC = b"RGFGSEC"

    def __init__(self, params: GateParameters, secret: Any = None, key_id: int | None = None) -> None:
        self.params = params
        self.key_id = secrets.randbits(64) | 1 if key_id is None else key_id
        self.secret = np.random.default_rng().integers(0, 2, params.n, dtype=np.uint32) if secret is None else secret

    def encrypt(self, bits: Any) -> Any:
        assert bits.dtype == np.uint8
        assert bits.ndim == 1
        a = np.random.default_rng().integers(0, 1 << self.params.log_q, (len(bits), self.params.n), dtype=np.uint32)
        body = a @ self.secret + (bits.astype(np.uint32) << (self.params.log_q - 2))
        return np.concatenate([a, (body & self._mask)[:, None]], axis=1)

    def decrypt(self, words: Any) -> Any:
        assert words.dtype == np.uint32
        assert words.shape[1:] == (self.params.n + 1,)
        phase = (words[:, -1] - words[:, :-1] @ self.secret) & self._mask
        bits, rest = np.divmod(phase, 1 << (self.params.log_q - 2))
        assert not rest.any(), "a ciphertext that was never written"
        assert (bits < 2).all()
        return bits.astype(np.uint8)

    @property
    def _mask(self) -> int:
        return (1 << self.params.log_q) - 1

    def save(self) -> bytearray:
        return bytearray(_header(self.MAGIC, self.params, self.key_id) + self.secret.astype(np.uint8).tobytes())

    @classmethod
    def load(cls, params: GateParameters, data: Any) -> SecretKey:
        key_id, body = _body("secret key", cls.MAGIC, params, data)
        if len(body) != params.n:
            raise FormatError("the secret key has another length")
        return cls(params, np.frombuffer(body, dtype=np.uint8).astype(np.uint32), key_id)


class EvaluationKey:
    """Gates by decrypting."""

    MAGIC = b"RGFGATE"

    def __init__(self, secret: SecretKey, method: Method) -> None:
        self.secret, self.params, self.method, self.key_id = secret, secret.params, method, secret.key_id

    @property
    def bytes(self) -> int:
        return self.params.n

    @classmethod
    def make(cls, secret: SecretKey, method: Method, threads: int = 1, progress: Any = None) -> EvaluationKey:
        assert threads >= 1
        if progress:
            progress(1.0)
        return cls(secret, method)

    def save(self, path: str) -> None:
        header = _header(self.MAGIC, self.params, self.key_id)
        Path(path).write_bytes(header + bytes([self.method.value]) + self.secret.save())

    @classmethod
    def load(cls, path: str, params: GateParameters, threads: int = 1) -> EvaluationKey:
        assert threads >= 1
        _, body = _body("evaluation key", cls.MAGIC, params, Path(path).read_bytes())
        return cls(SecretKey.load(params, body[1:]), Method(body[0]))


def evaluate(
    key: EvaluationKey, kinds: Any, inputs: Any, wires: Any, outputs: Any, threads: int = 1, progress: Any = None
) -> int:
    """One level, in place, held to the contract of the native one."""
    assert (kinds.dtype, inputs.dtype, wires.dtype, outputs.dtype) == (np.uint8, np.int32, np.uint32, np.int32)
    assert inputs.shape == (len(kinds), 3)
    assert outputs.shape == (len(kinds),)
    assert wires.shape[1:] == (key.params.n + 1,)
    assert wires.flags.c_contiguous
    assert threads >= 1
    if len(wires) <= max(inputs.max(initial=-1), outputs.max(initial=-1)) or outputs.min(initial=0) < 0:
        raise ShapeError("a wire is out of range")
    assert len(set(outputs.tolist())) == len(outputs)
    assert not set(outputs.tolist()) & set(inputs.reshape(-1).tolist()), "a gate reads what another one writes"
    LEVELS.append(kinds.tolist())
    arity = np.array([Kind(k).arity for k in kinds.tolist()])
    assert ((inputs >= 0) == (np.arange(3)[None, :] < arity[:, None])).all()
    used = np.unique(inputs[inputs >= 0])
    bits = dict(zip(used.tolist(), key.secret.decrypt(np.ascontiguousarray(wires[used])).tolist(), strict=True))
    results = [
        Kind(k).of([bits[i] for i in row if i >= 0]) for k, row in zip(kinds.tolist(), inputs.tolist(), strict=True)
    ]
    wires[outputs] = key.secret.encrypt(np.array(results, dtype=np.uint8))
    if progress:
        progress(1.0)
    return sum(Kind(k).bootstraps for k in kinds.tolist())
