# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Keys and encrypted bits: made, written, read.

Files are records (docs/formats.md): they name the parameters by their hash, and their bodies begin with the key's id,
so that readers find the parameters by themselves and what belongs together is known. Files of formats 1 and 2, from
before records, are read; those of format 1 have no id, which is warned of.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ringforge import _native
from ringforge.bytes_form import File, as_path, reading, write
from ringforge.devices import Progress
from ringforge.errors import FormatError, ParameterError, UnidentifiedWarning
from ringforge.files import naming, new_file
from ringforge.gates import noise
from ringforge.gates.bit_records import (
    EVALUATION,
    HEADER_BYTES,
    MAX_BITS_FILE,
    SECRET,
    Header,
    pack,
    parameters,
    parameters_by_hash,
    read_header,
    unpack,
)
from ringforge.gates.bits import Bits, Keyed, check_same

if TYPE_CHECKING:
    from ringforge._native.fhew import EvaluationKey, GateParameters, SecretKey

Method = Literal["ginx", "ap", "automorphism"]

#: Bytes of a file of a secret key.
MAX_SECRET_FILE = 1 << 16


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


def _warn_without_id(path: str | Path, header: Header) -> None:
    if not header.key_id:
        warnings.warn(
            f"{Path(path).name}: format {header.format}, without a key id: nothing tells whether it belongs to the "
            "other files; new keys (`gates keygen`) have ids",
            UnidentifiedWarning,
            stacklevel=3,
        )


# ---- keys ----------------------------------------------------------------------------------------


@contextmanager
def _wiped(data: bytearray) -> Iterator[bytearray]:
    """Overwrites the bytes at the end."""
    try:
        yield data
    finally:
        data[:] = bytes(len(data))


def save_secret_key(path: str | Path, secret: SecretKey) -> None:
    """Writes a secret key into a file that only its owner can read."""
    # Unbuffered: no second copy stays in memory.
    with (
        new_file(path, secret=True) as temporary,
        _wiped(secret.save()) as data,
        temporary.open("wb", buffering=0) as f,
    ):
        view = memoryview(data)
        while view:
            view = view[f.write(view) :]


def load_secret_key(path: str | Path, accept_insecure: str = "") -> SecretKey:
    """Reads a secret key.

    Args:
        path: of :func:`save_secret_key`.
        accept_insecure: why parameters below 128 bits are accepted.

    Raises:
        FormatError: it is damaged, or none. ParameterError: its parameters are insecure.

    Warns:
        UnidentifiedWarning: the key has no id, so that nothing tells what belongs to it.
    """
    with naming(path), _wiped(bytearray(MAX_SECRET_FILE + 1)) as data:
        size = 0
        with Path(path).open("rb", buffering=0) as f, memoryview(data) as view:
            while size < len(data) and (more := f.readinto(view[size:])):
                size += more
        header = read_header(bytes(data[: min(size, HEADER_BYTES)]), SECRET)
        if size > MAX_SECRET_FILE:
            raise FormatError(f"more than {MAX_SECRET_FILE} bytes, which no secret key has: copy the file again")
        params = parameters_by_hash(header.parameter_hash, accept_insecure)
        key = _native.fhew.SecretKey.load(params, memoryview(data)[:size])
    _warn_without_id(path, header)
    return key


def save_evaluation_key(path: File, key: EvaluationKey) -> int:
    """Write an evaluation key to a file's name or to an open binary file; return the number of bytes."""
    made: Any = key
    return int(made.save(path))


def load_evaluation_key(source: File, threads: int = 1, accept_insecure: str = "") -> EvaluationKey:
    """Read an evaluation key, from a file's name or an open binary file.

    Raises:
        FormatError: it is damaged, or none. ParameterError: its parameters are insecure.

    Warns:
        UnidentifiedWarning: the key has no id, so that nothing tells what belongs to it.
    """
    with as_path(source) as path, naming(path):
        with path.open("rb") as f:
            header = read_header(f.read(HEADER_BYTES), EVALUATION)
        params = parameters_by_hash(header.parameter_hash, accept_insecure)
        key = _native.fhew.EvaluationKey.load(str(path), params, threads)
    _warn_without_id(path, header)
    return key


# ---- bits ----------------------------------------------------------------------------------------


def bits_to_bytes(items: Mapping[str, Bits]) -> bytes:
    """Return named arrays of bits as one string of bytes; see docs/gates.md for the format.

    Raises:
        ParameterError: there is none, or a name is longer than 255 bytes. MismatchError: parameters or keys differ.
    """
    if not items:
        raise ParameterError("no bits to write: give at least one array")
    first = next(iter(items.values()))
    for bits in items.values():
        check_same(first, bits)
    return pack({name: bits.words for name, bits in items.items()}, first.params, first.key_id)


def bits_from_bytes(data: bytes, owner: Keyed | GateParameters) -> dict[str, Bits]:
    """Read what :func:`bits_to_bytes` wrote.

    Args:
        data: the bytes.
        owner: a key, or an evaluator, that the bits must belong to; or their parameters, whatever the key.

    Raises:
        FormatError: it is damaged, or no encrypted bits. MismatchError: they belong to other parameters or another key.
    """
    found, params, key_id = unpack(data, owner)
    return {name: Bits(words, params, key_id=key_id) for name, words in found.items()}


def save_bits(path: File, items: Mapping[str, Bits]) -> int:
    """Write named arrays of bits to a file's name or to an open binary file; return the number of bytes."""
    return write(path, [bits_to_bytes(items)])


def load_bits(path: File, owner: Keyed | GateParameters) -> dict[str, Bits]:
    """Read a file of :func:`save_bits`.

    Args:
        path: the file's name, or an open binary file.
        owner: a key, or an evaluator, that the bits must belong to; or their parameters, whatever the key.

    Raises:
        FormatError: it is damaged, or none. MismatchError: it belongs to other parameters or another key.

    Warns:
        UnidentifiedWarning: the bits have no key id, so that nothing tells whether they belong to the key.
    """
    with reading(path, MAX_BITS_FILE) as (f, name), naming(name):
        data = f.read(MAX_BITS_FILE + 1)
        if len(data) > MAX_BITS_FILE:
            raise FormatError(f"more than {MAX_BITS_FILE >> 30} GiB of encrypted bits: split them")
        found = bits_from_bytes(data, owner)
    _warn_without_id(name, read_header(data[:HEADER_BYTES]))
    return found
