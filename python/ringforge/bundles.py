# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Files of ciphertexts: a label that says which program and which of its matrices they are, then the ciphertexts.

docs/formats.md has the bytes. Whoever reads a file says what is wanted; a file of something else is refused. The
label is checksummed, not authenticated: it finds mix-ups, not forgeries. Files without a label, as the first release
wrote them, are read with a warning: nothing is known of them, and nothing is guessed.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import IO, Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, Field, ValidationError

from ringforge import _native
from ringforge._native import Ciphertext, Context
from ringforge.bytes_form import File, is_name, reading, write
from ringforge.errors import FormatError, MismatchError, UnidentifiedWarning
from ringforge.parties import read_ciphertexts
from ringforge.programs import Frozen, first_problem
from ringforge.unique import once_each

#: Most bytes of a label's text.
MAX_LABEL = 4096

#: What labels from before records start with. The length of the text follows, the text, and the SHA-256 of all.
_OLD_MAGIC = b"RGLABEL1"
_CHECKSUM = 32

Role = Literal["input", "output"]

Kind = TypeVar("Kind", bound=BaseModel)


class Label(Frozen):
    """What a file of ciphertexts says of itself.

    Args:
        program: digest of the program it belongs to.
        role, name: input or output of the program, and which.
        shape: of the matrix, or of one vector.
        count: matrices or vectors in the file; None: what was computed from a file that did not say it.
        ciphertexts: that follow.
    """

    program: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    role: Role
    name: Annotated[str, Field(pattern="^[A-Za-z_][A-Za-z0-9_]{0,63}$")]
    shape: Annotated[tuple[Annotated[int, Field(ge=1, le=1 << 20)], ...], Field(max_length=2)]
    count: Annotated[int, Field(ge=0, le=1 << 40)] | None = None
    ciphertexts: Annotated[int, Field(ge=0, le=1 << 40)]

    @property
    def title(self) -> str:
        """For messages and people."""
        return f"{self.role} {self.name}"

    def bytes(self) -> bytes:
        """A record of the program's digest."""
        text = self.model_dump_json(exclude_none=True).encode()
        return _native.io.seal(_native.io.LABEL, bytes.fromhex(self.program), text)


Side = Annotated[int, Field(ge=1, le=1 << 18)]
Stride = Annotated[int, Field(ge=0, le=1 << 18)]

#: Characters of what a matrix says of its other slots.
MAX_OUTSIDE = 256


class MatrixLabel(Frozen):
    """What the bytes of a matrix of a session say of it: a label under the hash of its parameters.

    Args:
        shape: () for a number, (n,) or (m, n).
        sides: rows and columns, as it is kept: a vector is a column.
        places: rows, columns, and the strides of both, of the slots of each ciphertext's entries, row by row of the
            grid; one for all where they are the same.
        outside: what the other slots hold.
    """

    format: Literal["ringforge-matmul-matrix"] = "ringforge-matmul-matrix"
    version: Literal[1] = 1
    shape: Annotated[tuple[Side, ...], Field(max_length=2)]
    sides: tuple[Side, Side]
    places: Annotated[list[tuple[Side, Side, Stride, Stride]], Field(min_length=1, max_length=MAX_LABEL)]
    outside: Annotated[str, Field(max_length=MAX_OUTSIDE)] = ""

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of the grid of ciphertexts."""
        rows, cols, *_ = self.places[0]
        return -(-self.sides[0] // rows), -(-self.sides[1] // cols)


@dataclass(frozen=True)
class Wanted:
    """What a reader is to find: a label without what only the file can know.

    Args:
        program: digest of the reader's program.
        role, name, shape: as of the label.
    """

    program: str
    role: Role
    name: str
    shape: tuple[int, ...]

    def check(self, label: Label) -> None:
        """Holds a label against this.

        Raises:
            MismatchError: it belongs to another program, or to another matrix of this one. FormatError: it says that
                the matrix has another shape than the program says.
        """
        if label.program != self.program:
            raise MismatchError(
                f"these ciphertexts belong to another program (digest {label.program[:8]}, this one has "
                f"{self.program[:8]}): take the program that they were made for, or make them again for this one"
            )
        if (label.role, label.name) != (self.role, self.name):
            raise MismatchError(f"these ciphertexts are {label.title}, where {self.role} {self.name} is needed")
        if label.shape != self.shape:
            raise FormatError(f"{label.title} has shape {label.shape}, the program says {self.shape}")

    def label(self, count: int | None, ciphertexts: int) -> Label:
        """The label of a file that holds this."""
        return Label(
            program=self.program,
            role=self.role,
            name=self.name,
            shape=self.shape,
            count=count,
            ciphertexts=ciphertexts,
        )


def digest(program: BaseModel) -> str:
    """SHA-256 of a program: of its JSON with sorted fields, without spaces and without fields that are null."""
    document = program.model_dump(mode="json", exclude_none=True)
    return hashlib.sha256(json.dumps(document, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def read_label(f: IO[bytes]) -> Label | None:
    """Return the label that an open file starts with, or None if it has none; the file is left behind it.

    Raises:
        FormatError: it is damaged, of another version, or that of a matrix of a session.
    """
    label = read_any_label(f)
    if isinstance(label, MatrixLabel):
        raise FormatError("this is a matrix of a session, which knows no program: session.load reads it")
    return label


def read_any_label(f: IO[bytes]) -> Label | MatrixLabel | None:
    """Return the label of either kind that an open file starts with; as `read_label`."""
    start = f.read(_native.io.HEADER_BYTES)
    old = start.startswith(_OLD_MAGIC)
    if not old and not start.startswith(_native.io.MAGIC):
        f.seek(0)
        return None
    if old:
        f.seek(len(_OLD_MAGIC))
        return _valid(Label, _old_text(f))
    info = _native.io.peek(start + f.read(_native.io.HEAD_BYTES))
    f.seek(0)
    if info.code != _native.io.LABEL:
        return None
    return parsed_label(f.read(info.bytes))


def parsed_label(record: bytes) -> Label | MatrixLabel:
    """Return what the record of a label says.

    Raises:
        FormatError: it is damaged, or no label of ours.
    """
    _, digest, text = _native.io.unseal(record, _native.io.LABEL)
    if b'"ringforge-matmul-matrix"' in text:
        return _valid(MatrixLabel, text)
    label = _valid(Label, text)
    if bytes.fromhex(label.program) != digest:
        raise FormatError("the label names another program than its record: it is not one of ours")
    return label


def _old_text(f: IO[bytes]) -> bytes:
    size = f.read(4)
    length = int.from_bytes(size, "little")
    if len(size) != 4 or not 0 < length <= MAX_LABEL:
        raise FormatError(f"a label has 1 to {MAX_LABEL} bytes, this one says {length}")
    text, checksum = f.read(length), f.read(_CHECKSUM)
    if hashlib.sha256(_OLD_MAGIC + size + text).digest() != checksum:
        raise FormatError("the label is damaged: its checksum does not match")
    return text


def _valid(kind: type[Kind], text: bytes) -> Kind:
    try:
        return kind.model_validate(json.loads(text, object_pairs_hook=once_each))
    except ValidationError as e:
        raise FormatError(f"the label is not one of ours: {first_problem(e)}") from None
    except (ValueError, RecursionError) as e:
        raise FormatError(f"the label is not one of ours: {e}") from None


def wanted_label(f: IO[bytes], wanted: Wanted) -> Label | None:
    """The checked label of an open file, or None if it has none; the file is left behind it.

    Raises:
        FormatError, MismatchError: as `read_label` and `Wanted.check`.
    """
    label = read_label(f)
    if label is not None:
        wanted.check(label)
    return label


def warn_unlabelled(name: str, wanted: Wanted) -> None:
    """Says that a file which was read does not say what it holds."""
    warnings.warn(
        f"{name} does not say what it holds, as files of the first release did not: that it is {wanted.role} "
        f"{wanted.name} of this program cannot be checked",
        UnidentifiedWarning,
        stacklevel=4,
    )


def save_ciphertexts(path: File, label: Label, context: Context, ciphertexts: Iterable[Ciphertext]) -> int:
    """Write a label and ciphertexts, one after the other, to a file's name or an open file; return bytes."""
    return write(path, itertools.chain([label.bytes()], (_native.io.to_bytes(context, c) for c in ciphertexts)))


def load_ciphertexts(
    path: File,
    wanted: Wanted,
    context: Context,
    threads: int = 1,
    keep: Callable[[Ciphertext], Any] | None = None,
) -> tuple[list[Any], Label | None]:
    """The ciphertexts of a file, or what `keep` makes of each, and its label, or None for a file without one.

    Raises:
        FormatError, MismatchError: it is damaged, incomplete, or holds something else.
    """
    with reading(path) as (f, name):
        label = wanted_label(f, wanted)
        found = read_ciphertexts(path if is_name(path) else f, context, threads, f.tell(), keep)
    if label is None:
        warn_unlabelled(name, wanted)
    elif len(found) != label.ciphertexts:
        raise FormatError(f"{len(found)} ciphertexts, where the label says {label.ciphertexts}: the file is incomplete")
    return found, label


__all__ = [
    "MAX_LABEL",
    "MAX_OUTSIDE",
    "Label",
    "MatrixLabel",
    "Role",
    "Wanted",
    "digest",
    "load_ciphertexts",
    "parsed_label",
    "read_any_label",
    "read_label",
    "save_ciphertexts",
    "wanted_label",
    "warn_unlabelled",
]
