# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Keys and encrypted bits: made, written, read.

Files of keys begin with eight bytes that name their kind and the 32-byte hash of the parameters, so that readers find
the parameters by themselves. Files of bits do too, and end with a SHA-256 of all before.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from ringforge import _native
from ringforge.errors import FormatError, MismatchError, ParameterError
from ringforge.files import naming, new_file, writing
from ringforge.gates import noise
from ringforge.gates.bits import Bits, Progress, check_same

if TYPE_CHECKING:
    from ringforge._native.fhew import EvaluationKey, GateParameters, SecretKey

Method = Literal["ginx", "ap", "automorphism"]

BITS_MAGIC = b"RGFBITS1"
_MAGIC_BYTES, _HASH_BYTES = 8, 32

#: Bytes of a file of bits.
MAX_BITS_FILE = 1 << 32
_MAX_AXES = 8


def keygen(
    params: str | GateParameters = "gates-128",
    *,
    method: Method = "ginx",
    threads: int = 1,
    insecure: str = "",
    progress: Progress | None = None,
) -> tuple[SecretKey, EvaluationKey]:
    """Makes a secret key, which encrypts and decrypts, and an evaluation key, which computes.

    Args:
        params: a set, or its name (:func:`parameter_names`).
        method: the accumulator: ginx, fastest on CPUs; ap, the published accelerator's; automorphism, with the
            smallest keys for ternary secrets.
        threads: for the evaluation key.
        insecure: why a set below 128 bits may be used.
        progress: takes the fraction done.

    Raises:
        ParameterError: an unknown set or method, or an insecure set without a reason.
    """
    if method not in noise.METHODS:
        raise ParameterError(f'unknown method "{method}": take one of {", ".join(noise.METHODS)}')
    chosen = parameters(params, insecure) if isinstance(params, str) else params
    secret = _native.fhew.SecretKey(chosen)
    return secret, make_evaluation_key(secret, method, threads, progress)


def make_evaluation_key(
    secret: SecretKey, method: Method = "ginx", threads: int = 1, progress: Progress | None = None
) -> EvaluationKey:
    """An evaluation key for a secret key that there is already."""
    return _native.fhew.EvaluationKey.make(secret, _native.fhew.Method[method.upper()], threads, progress)


def parameters(name: str, insecure: str = "") -> GateParameters:
    """A set by name.

    Raises:
        ParameterError: there is none, or it is below 128 bits and `insecure` states no reason.
    """
    return _native.fhew.parameters(name, insecure)


def parameter_names() -> list[str]:
    """Names of the sets."""
    return list(_native.fhew.parameter_names())


def save_secret_key(path: str | Path, secret: SecretKey) -> None:
    """Writes a secret key into a file that only its owner can read."""
    with writing(path, secret=True) as f:
        f.write(secret.save())


def load_secret_key(path: str | Path, accept_insecure: str = "") -> SecretKey:
    """Reads a secret key.

    Args:
        path: of :func:`save_secret_key`.
        accept_insecure: why parameters below 128 bits are accepted.

    Raises:
        FormatError: it is damaged, or none. ParameterError: its parameters are insecure.
    """
    with naming(path):
        params = _parameters_of(path, accept_insecure)
        return _native.fhew.SecretKey.load(params, Path(path).read_bytes())


def save_evaluation_key(path: str | Path, key: EvaluationKey) -> int:
    """Writes an evaluation key; returns the size of the file in bytes."""
    with new_file(path) as temporary:
        key.save(str(temporary))
    return Path(path).stat().st_size


def load_evaluation_key(path: str | Path, threads: int = 1, accept_insecure: str = "") -> EvaluationKey:
    """Reads an evaluation key.

    Raises:
        FormatError: it is damaged, or none. ParameterError: its parameters are insecure.
    """
    with naming(path):
        return _native.fhew.EvaluationKey.load(str(path), _parameters_of(path, accept_insecure), threads)


def _parameters_of(path: str | Path, accept_insecure: str) -> GateParameters:
    """The parameters that a file of ours names by their hash."""
    with Path(path).open("rb") as f:
        head = f.read(_MAGIC_BYTES + _HASH_BYTES)
    return parameters_by_hash(head[_MAGIC_BYTES:], accept_insecure)


def parameters_by_hash(wanted: bytes, accept_insecure: str = "") -> GateParameters:
    """The shipped set with this hash.

    Raises:
        FormatError: there is none. ParameterError: it is below 128 bits and `accept_insecure` states no reason.
    """
    for name in parameter_names():
        if parameters(name, "compared by its hash, not used").hash == wanted:
            return parameters(name, accept_insecure)
    raise FormatError("no key or bits of a shipped set of gate parameters")


# ---- bits ----------------------------------------------------------------------------------------


def _word(params: GateParameters) -> np.dtype[np.unsignedinteger]:
    """Words of ciphertexts in files."""
    return np.dtype("<u2" if params.log_q <= 16 else "<u4")


def bits_to_bytes(items: Mapping[str, Bits]) -> bytes:
    """Named arrays of bits as one string of bytes; see docs/gates.md for the format.

    Raises:
        ParameterError: there is none, or a name is longer than 255 bytes. MismatchError: parameters differ.
    """
    if not items:
        raise ParameterError("no bits to write: give at least one array")
    params = next(iter(items.values())).params
    parts = [struct.pack("<H", len(items))]
    for name, bits in items.items():
        check_same(params, bits.params)
        label = name.encode()
        if not 0 < len(label) < 256 or bits.ndim > _MAX_AXES:
            raise ParameterError(f'"{name}": names have 1 to 255 bytes, arrays up to {_MAX_AXES} axes')
        parts.append(struct.pack(f"<B{len(label)}sB{bits.ndim}I", len(label), label, bits.ndim, *bits.shape))
        parts.append(np.ascontiguousarray(bits.words).astype(_word(params)).tobytes())
    body = b"".join(parts)
    record = BITS_MAGIC + params.hash + struct.pack("<Q", len(body)) + body
    return record + hashlib.sha256(record).digest()


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, count: int) -> bytes:
        if count > len(self.data) - self.at:
            raise FormatError(f"encrypted bits end early: {count} bytes are missing at byte {self.at}")
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, form: str) -> int:
        return int(struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))[0])


def bits_from_bytes(data: bytes, params: GateParameters) -> dict[str, Bits]:
    """Reads what :func:`bits_to_bytes` wrote.

    Raises:
        FormatError: it is damaged, or no encrypted bits. MismatchError: they belong to other parameters.
    """
    if data[:_MAGIC_BYTES] != BITS_MAGIC:
        raise FormatError("no encrypted bits of format 1: take a file that `gates encrypt` or `gates run` wrote")
    if hashlib.sha256(data[:-32]).digest() != data[-32:]:
        raise FormatError("encrypted bits are damaged: their checksum differs")
    reader = _Reader(data[:-32])
    reader.take(_MAGIC_BYTES)
    if reader.take(_HASH_BYTES) != params.hash:
        raise MismatchError(f"encrypted bits belong to other parameters than {params.name}")
    if reader.number("Q") != len(reader.data) - reader.at:
        raise FormatError("encrypted bits have another length than they say")
    found: dict[str, Bits] = {}
    for _ in range(reader.number("H")):
        name, bits = _entry(reader, params)
        if name in found:
            raise FormatError(f'encrypted bits have "{name}" twice')
        found[name] = bits
    if reader.at != len(reader.data):
        raise FormatError("bytes follow the encrypted bits")
    return found


def _entry(reader: _Reader, params: GateParameters) -> tuple[str, Bits]:
    try:
        name = reader.take(reader.number("B")).decode()
    except UnicodeDecodeError:
        raise FormatError("encrypted bits have a name that is no UTF-8") from None
    axes = reader.number("B")
    if not name or not name.isprintable() or axes > _MAX_AXES:
        raise FormatError("encrypted bits have an array without a proper name, or of too many axes")
    shape = [reader.number("I") for _ in range(axes)]
    size = _word(params).itemsize * (params.n + 1) * math.prod(shape)
    if math.prod(max(1, length) for length in shape) > MAX_BITS_FILE:
        raise FormatError(f'encrypted bits "{name}" have an impossible shape')
    words = np.frombuffer(reader.take(size), dtype=_word(params)).astype(np.uint32)
    if words.size and int(words.max()) >> params.log_q:
        raise FormatError(f'encrypted bits "{name}" hold a word of more than {params.log_q} bits')
    return name, Bits(words.reshape(*shape, params.n + 1), params)


def save_bits(path: str | Path, items: Mapping[str, Bits]) -> int:
    """Writes named arrays of bits; returns the size of the file in bytes."""
    data = bits_to_bytes(items)
    with writing(path) as f:
        f.write(data)
    return len(data)


def load_bits(path: str | Path, params: GateParameters) -> dict[str, Bits]:
    """Reads a file of :func:`save_bits`.

    Raises:
        FormatError: it is damaged, or none. MismatchError: it belongs to other parameters.
    """
    with naming(path), Path(path).open("rb") as f:
        data = f.read(MAX_BITS_FILE + 1)
        if len(data) > MAX_BITS_FILE:
            raise FormatError(f"more than {MAX_BITS_FILE >> 30} GiB of encrypted bits: split them")
        return bits_from_bytes(data, params)
