# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What the parties of all systems do alike: make keys for a program, and put keys and ciphertexts into files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Protocol

from ringforge import _native
from ringforge._native import Ciphertext, Context, GaloisKey, GaloisKeys, PublicKey, RelinKey, SecretKey
from ringforge.bytes_form import File, is_name, reading, records, write
from ringforge.errors import ParameterError
from ringforge.files import new_file

Progress = Callable[[float], None]
Record = Ciphertext | SecretKey | PublicKey | RelinKey | GaloisKey


class NeedsKeys(Protocol):
    """A program, as far as its keys go."""

    @property
    def context(self) -> Context: ...

    @property
    def key_levels(self) -> Mapping[int, int]:
        """Galois elements, each with the highest level it is used at."""

    @property
    def relin_level(self) -> int | None:
        """Level of the relinearisation key, or None when there is none."""


def make_keys(
    client: _native.Client, secret: SecretKey, program: NeedsKeys, threads: int = 1, progress: Progress | None = None
) -> Iterator[RelinKey | GaloisKey]:
    """The keys a program needs, one by one, in the order of files: the relinearisation key first."""
    if program.relin_level is not None:
        yield client.relin_key(secret, program.relin_level, threads)
    need = program.key_levels
    for i, (element, level) in enumerate(need.items()):
        yield client.galois_key(secret, element, level, threads)
        if progress:
            progress((i + 1) / len(need))


def collect(keys: Iterable[RelinKey | GaloisKey]) -> tuple[GaloisKeys, RelinKey | None]:
    """Keys that come one by one, together."""
    galois, relin = GaloisKeys(), None
    for key in keys:
        if isinstance(key, RelinKey):
            relin = key
        else:
            galois.insert(key)
    return galois, relin


def key_file_bytes(program: NeedsKeys) -> int:
    """Size of the file of a program's evaluation keys."""
    p = program.context.params
    levels = [*program.key_levels.values(), *([] if program.relin_level is None else [program.relin_level])]
    digits = [-(-(level + 1) // p.limbs_per_digit) for level in levels]
    return sum(
        _RECORD_BYTES + 64 + count * _packed_bytes(p, [*p.q[: level + 1], *p.p])
        for level, count in zip(levels, digits, strict=True)
    )


def ciphertext_file_bytes(context: Context, level: int, count: int) -> int:
    """The most that a file of so many ciphertexts of two parts takes."""
    p = context.params
    return count * (_RECORD_BYTES + 48 + 2 * _packed_bytes(p, p.q[: level + 1]))


#: Header and checksum of a record (docs/formats.md).
_RECORD_BYTES = 52 + 32


def _packed_bytes(p: _native.Parameters, primes: Sequence[int]) -> int:
    return sum(p.degree * q.bit_length() // 8 for q in primes)


def read_keys(
    path: File, program: NeedsKeys, threads: int = 1, progress: Progress | None = None
) -> Iterator[RelinKey | GaloisKey]:
    """Read a file of evaluation keys, by its name or open, one at a time.

    Raises:
        FormatError, MismatchError: the file is damaged, or for other parameters.
    """
    wanted, count = max(len(program.key_levels), 1), 0
    for key in _stored_keys(path, program.context, threads) if is_name(path) else _given_keys(path, program.context):
        yield key
        count += isinstance(key, GaloisKey)
        if progress:
            progress(min(1.0, count / wanted))


def _stored_keys(path: str | os.PathLike[str], context: Context, threads: int) -> Iterator[RelinKey | GaloisKey]:
    reader = _native.io.Reader(os.fspath(path))
    while not reader.at_end():
        if reader.peek().code == _native.io.RELIN_KEY:
            relin = reader.next_relin_key(context, threads)
            assert relin is not None
            yield relin
        else:
            key = reader.next_galois_key(context, threads)
            assert key is not None
            yield key


def _given_keys(file: IO[bytes], context: Context) -> Iterator[RelinKey | GaloisKey]:
    with reading(file) as (f, _):
        for info, record in records(f):
            if info.code == _native.io.RELIN_KEY:
                yield _native.io.relin_key_from_bytes(record, context)
            else:
                yield _native.io.galois_key_from_bytes(record, context)


def read_ciphertexts(
    path: File,
    context: Context,
    threads: int = 1,
    start: int = 0,
    keep: Callable[[Ciphertext], Any] | None = None,
) -> list[Any]:
    """Return all ciphertexts of a file from byte `start` on, or what `keep` makes of each as it comes.

    Args:
        path: the file's name; or a file in memory, which stands at `start`.

    Raises:
        FormatError, MismatchError: the file is damaged, or for other parameters.
    """
    keep = keep or (lambda c: c)
    if not is_name(path):
        return [keep(_native.io.ciphertext_from_bytes(record, context)) for _, record in records(path)]
    reader, found = _native.io.Reader(os.fspath(path)), []
    reader.seek(start)
    while (c := reader.next_ciphertext(context, threads)) is not None:
        found.append(keep(c))
    return found


def write_records(path: File, context: Context, records: Iterable[Record]) -> int:
    """Write records to one file, by its name or open, each as it comes, so that memory holds one; return bytes."""
    if not is_name(path):
        return write(path, (_native.io.to_bytes(context, record) for record in records))
    return _write_file(path, context, records, secret=False)


def _write_file(path: str | os.PathLike[str], context: Any, records: Iterable[Any], *, secret: bool) -> int:
    with new_file(Path(path), secret=secret) as temporary:
        writer = _native.io.Writer(str(temporary))
        for record in records:
            writer.write(context, record)
        writer.close()
    return Path(path).stat().st_size


def save_secret_key(path: str | os.PathLike[str], context: Any, key: Any) -> None:
    """Write a secret key of CKKS, BFV or BGV to a new file that only its owner can read.

    Args:
        path: the file's name. Secrets go to no open file: whoever opened it chose who may read it.
        context: of its parameters.

    Raises:
        ParameterError: no file's name. FileExistsError: the name is taken.
    """
    if not is_name(path):
        raise ParameterError(
            f"a secret key is written to a new file that only its owner can read, by its name, not to {_article(path)}"
        )
    _write_file(path, context, [key], secret=True)


def load_secret_key(path: str | os.PathLike[str], context: Any) -> Any:
    """Read what `save_secret_key` wrote.

    Raises:
        FormatError, MismatchError: the file is damaged, or for other parameters.
    """
    if not is_name(path):
        raise ParameterError(f"a secret key is read from a file, by its name, not from {_article(path)}")
    return _native.io.Reader(os.fspath(path)).secret_key(context)


def _article(thing: object) -> str:
    return f"an object of type {type(thing).__name__}"
