# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What the parties of all systems do alike: make keys for a program, and put keys and ciphertexts into files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from ringforge import _native
from ringforge._native import Ciphertext, Context, GaloisKey, GaloisKeys, PublicKey, RelinKey, SecretKey
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
    path: str | Path, program: NeedsKeys, threads: int = 1, progress: Progress | None = None
) -> tuple[GaloisKeys, RelinKey | None]:
    """Reads a file of evaluation keys, one at a time.

    Raises:
        FormatError, MismatchError: the file is damaged, or for other parameters.
    """

    def found() -> Iterator[RelinKey | GaloisKey]:
        reader = _native.io.Reader(str(path))
        wanted, count = max(len(program.key_levels), 1), 0
        while not reader.at_end():
            if reader.peek().code == _native.io.RELIN_KEY:
                relin = reader.next_relin_key(program.context, threads)
                assert relin is not None
                yield relin
            else:
                key = reader.next_galois_key(program.context, threads)
                assert key is not None
                count += 1
                yield key
            if progress:
                progress(min(1.0, count / wanted))

    return collect(found())


def read_ciphertexts(
    path: str | Path,
    context: Context,
    threads: int = 1,
    start: int = 0,
    keep: Callable[[Ciphertext], Any] | None = None,
) -> list[Any]:
    """All ciphertexts of a file from byte `start` on, or what `keep` makes of each as it comes.

    Raises:
        FormatError, MismatchError: the file is damaged, or for other parameters.
    """
    reader, found = _native.io.Reader(str(path)), []
    reader.seek(start)
    while (c := reader.next_ciphertext(context, threads)) is not None:
        found.append(c if keep is None else keep(c))
    return found


def write_records(path: str | Path, context: Context, records: Iterable[Record], *, secret: bool = False) -> int:
    """Writes records to one file, each as it comes, so that memory holds a single one; returns bytes.

    With `secret`, the file can be read by its owner only.
    """
    with new_file(path, secret=secret) as temporary:
        writer = _native.io.Writer(str(temporary))
        for record in records:
            writer.write(context, record)
        writer.close()
    return Path(path).stat().st_size
