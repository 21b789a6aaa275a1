# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Public objects in files, in open files, in memory and in pickles: one form of bytes for all.

A type has `save` and `load`, which take a file's name or any binary file that is open. Whatever else there is follows
from these two: `to_bytes` saves into memory, `from_bytes` loads from memory, with the checks of files, and pickles hold
the bytes. Secrets have none of it (:mod:`ringforge.secrecy`).
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, ClassVar, NoReturn, Self

from ringforge import _native, files
from ringforge.errors import FormatError, ParameterError

if TYPE_CHECKING:
    from typing_extensions import TypeIs

#: A file's name, or a binary file that is open.
File = str | os.PathLike[str] | IO[bytes]

#: Bytes in memory.
Bytes = bytes | bytearray | memoryview

#: Bytes of an open file that are read at a time.
_PIECE = 1 << 20


class Portable:
    """Mixin of public types that stand alone as bytes: `save` and `load` give it all other forms."""

    def save(self, path: File) -> Any:
        """Write the object to a file's name, or to an open binary file."""
        raise NotImplementedError

    @classmethod
    def load(cls, path: File) -> Self:
        """Read and check what `save` wrote, from a file's name or an open binary file."""
        raise NotImplementedError

    def to_bytes(self) -> bytes:
        """Return what `save` writes; `from_bytes` reads it, here or elsewhere."""
        return saved(self.save)

    @classmethod
    def from_bytes(cls, data: Bytes) -> Self:
        """Read and check what `to_bytes` gave, as `load` does with files.

        Raises:
            ParameterError: the data is not bytes. Others as `load`.
        """
        return cls.load(content(data))

    def __reduce__(self) -> Any:
        return restored, (type(self), self.to_bytes())


class Remade:
    """Mixin of public types that are made anew in each process: neither copied nor pickled."""

    #: What to do instead, for the message.
    remade_by: ClassVar[str]

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{type(self).__name__} is neither copied nor pickled: {self.remade_by}")


def restored(kind: type[Portable], data: bytes) -> Portable:
    """Return the object of a pickle."""
    return kind.from_bytes(data)


class Shared(Portable):
    """Mixin of those that never change and take time to read: one for all pickles of the same bytes."""

    def __reduce__(self) -> Any:
        return restored_once, (type(self), self.to_bytes())


@lru_cache(maxsize=16)
def restored_once(kind: type[Portable], data: bytes) -> Portable:
    """Return the object of a pickle, which is read once in each process."""
    return kind.from_bytes(data)


def saved(save: Any) -> bytes:
    """Return what a function that saves to a file writes."""
    f = io.BytesIO()
    save(f)
    return f.getvalue()


class _Content(io.BytesIO):
    """Bytes as an open file, with a name for messages."""

    name = "the data"


def content(data: Bytes) -> IO[bytes]:
    """Return bytes as an open file for functions that load.

    Raises:
        ParameterError: they are no bytes.
    """
    if not isinstance(data, bytes | bytearray | memoryview):
        raise ParameterError(
            f"{type(data).__name__} is no bytes: from_bytes takes what to_bytes gives; load takes files and their names"
        )
    return _Content(data)


def is_name(source: File) -> TypeIs[str | os.PathLike[str]]:
    """Whether this is a file's name, not an open file."""
    return isinstance(source, str | os.PathLike)


@contextlib.contextmanager
def reading(source: File, limit: int | None = None) -> Iterator[tuple[IO[bytes], str]]:
    """Yield a binary file at which one can seek, and its name for messages.

    Of an open file all is read that is left.

    Args:
        limit: the most bytes that are of use: of an open file one more is read at most.

    Raises:
        ParameterError: neither a file's name nor an open binary file. FormatError: an open file is read already.
        OSError: it cannot be read.
    """
    if is_name(source):
        path = Path(source)
        with path.open("rb") as f:
            yield f, path.name
    elif isinstance(source, _Content):
        yield source, source.name
    else:
        _check(source, "read", "readable")
        data, most = bytearray(), sys.maxsize if limit is None else limit + 1
        while len(data) < most and (piece := source.read(min(_PIECE, most - len(data)))):
            if not isinstance(piece, bytes | bytearray | memoryview):
                raise ParameterError(_TEXT.format(mode="rb"))
            data += piece
        made, name = _Content(data), getattr(source, "name", None)
        shown = Path(name).name if isinstance(name, str) else made.name
        if not data and (where := _place(source)):
            raise FormatError(f"{shown} is read to its end already, byte {where}: f.seek(0) goes back to its beginning")
        yield made, shown


def _place(source: Any) -> int:
    """Return the byte where an open file stands; 0 where it does not know."""
    with contextlib.suppress(OSError, AttributeError, TypeError):
        return int(source.tell())
    return 0


_TEXT = 'a text file cannot hold bytes: open it with "{mode}", or take io.BytesIO'


def _check(file: Any, method: str, able: str) -> None:
    """Refuse what is no open binary file.

    Raises:
        ParameterError: it is something else, or closed, or opened for something else.
    """
    mode = "rb" if method == "read" else "wb"
    if isinstance(file, io.TextIOBase):
        raise ParameterError(_TEXT.format(mode=mode))
    if isinstance(file, bytes | bytearray | memoryview):
        raise ParameterError("bytes where a file or its name is needed: from_bytes reads bytes, to_bytes gives them")
    if not callable(getattr(file, method, None)):
        raise ParameterError(
            f"{type(file).__name__} is neither a file's name nor an open binary file: give a path, open(path, "
            f'"{mode}"), or io.BytesIO'
        )
    if getattr(file, "closed", False) is True:
        raise ParameterError("this file is closed: open it again")
    if callable(getattr(file, able, None)) and not getattr(file, able)():
        raise ParameterError(f'this file cannot be {"read" if method == "read" else "written"}: open it with "{mode}"')


def write(target: File, pieces: Iterable[bytes]) -> int:
    """Write pieces to a new file, or to an open binary file where it stands; return the number of bytes.

    Raises:
        ParameterError: neither a file's name nor an open binary file. OSError: as `files.writing`.
    """
    if is_name(target):
        with files.writing(Path(target)) as f:
            return _put(f, pieces)
    _check(target, "write", "writable")
    return _put(target, pieces)


def _put(f: Any, pieces: Iterable[bytes]) -> int:
    total = 0
    for piece in pieces:
        rest: Any = piece
        # Unbuffered files may take a part; other objects may not say how much they took: all.
        while (taken := f.write(rest)) is not None and taken < len(rest):
            rest = memoryview(rest)[taken:]
        total += len(piece)
    return total


@contextlib.contextmanager
def as_path(source: File) -> Iterator[Path]:
    """Yield a file's name for readers that know nothing else; of an open file, that of a copy.

    Raises:
        as `reading`.
    """
    if is_name(source):
        yield Path(source)
        return
    with reading(source) as (f, name), tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / (name if name.isprintable() else "data")
        path.write_bytes(f.read())
        yield path


def from_writer(save: Any) -> bytes:
    """Return what a function writes that takes a file's name and nothing else."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data"
        save(path)
        return path.read_bytes()


#: Enough of a record for what it says of itself.
_HEAD = _native.io.HEADER_BYTES + _native.io.HEAD_BYTES


def records(f: IO[bytes]) -> Iterator[tuple[_native.io.RecordInfo, bytes]]:
    """Yield the records from where a file in memory stands, each with what it says of itself.

    Raises:
        FormatError: something else is there, or a record is cut off.
    """
    while True:
        start = f.tell()
        head = f.read(_HEAD)
        if not head:
            return
        info = _native.io.peek(head)
        f.seek(start)
        data = f.read(min(info.bytes, sys.maxsize))
        if len(data) != info.bytes:
            raise FormatError(
                f"a {info.type} of {info.bytes} bytes ends after {len(data)}: it is cut off, copy it again"
            )
        yield info, data
