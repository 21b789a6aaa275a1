# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A stand-in for `ringforge._native.fhew`: the same calls, ciphertexts without noise, and evaluation keys that hold the
secret. Circuits, files and commands are tested with it in milliseconds; it hides nothing.

With :data:`LEVELS` a test sees what was run.
"""

from __future__ import annotations

import enum
import hashlib
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


class SecretKey:
    """A secret s; ciphertexts (a, <a, s> + bit*q/4)."""

    MAGIC = b"FAKESECR"

    def __init__(self, params: GateParameters, secret: Any = None) -> None:
        self.params = params
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

    def save(self) -> bytes:
        return self.MAGIC + self.params.hash + self.secret.astype(np.uint8).tobytes()

    @classmethod
    def load(cls, params: GateParameters, data: bytes) -> SecretKey:
        if data[:8] != cls.MAGIC or len(data) != 40 + params.n:
            raise FormatError("this is no secret key for boolean gates")
        if data[8:40] != params.hash:
            raise MismatchError("the secret key belongs to other parameters")
        return cls(params, np.frombuffer(data[40:], dtype=np.uint8).astype(np.uint32))


class EvaluationKey:
    """Gates by decrypting."""

    MAGIC = b"FAKEEVAL"

    def __init__(self, secret: SecretKey, method: Method) -> None:
        self.secret, self.params, self.method = secret, secret.params, method

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
        Path(path).write_bytes(self.MAGIC + self.params.hash + bytes([self.method.value]) + self.secret.save())

    @classmethod
    def load(cls, path: str, params: GateParameters, threads: int = 1) -> EvaluationKey:
        assert threads >= 1
        data = Path(path).read_bytes()
        if data[:8] != cls.MAGIC:
            raise FormatError("this is no evaluation key for boolean gates")
        return cls(SecretKey.load(params, data[41:]), Method(data[40]))


def evaluate(
    key: EvaluationKey, kinds: Any, inputs: Any, wires: Any, outputs: Any, threads: int = 1, progress: Any = None
) -> None:
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
