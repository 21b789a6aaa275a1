# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Evaluation keys of a program of CKKS: what a server gets, in memory, in files, as bytes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Self

from ringforge._native import GaloisKey, RelinKey
from ringforge.bytes_form import Bytes, File, content, saved
from ringforge.devices import KeySet
from ringforge.errors import ParameterError
from ringforge.parties import Progress, collect, read_keys, write_records


@dataclass(frozen=True)
class ProgramKeys(KeySet):
    """Evaluation keys that know the program they were made for.

    Attributes:
        stored: the keys one by one, in the order of files.
        agreed: the program; None for keys that were put together by hand, which cannot be saved.
    """

    stored: tuple[RelinKey | GaloisKey, ...] = field(default=(), repr=False, compare=False)
    agreed: Any = field(default=None, repr=False, compare=False)

    @classmethod
    def collected(cls, program: Any, keys: Iterable[RelinKey | GaloisKey]) -> Self:
        """Return keys of a program that come one by one, together."""
        stored = tuple(keys)
        return cls(*collect(stored), stored=stored, agreed=program)

    def save(self, path: File) -> int:
        """Write the keys to a file's name or to an open binary file, as a client's `save_evaluation_keys`.

        Returns:
            bytes written.

        Raises:
            ParameterError: the keys were put together by hand, so that nothing tells their parameters.
        """
        if self.agreed is None:
            raise ParameterError(
                "these keys were put together by hand and do not know their parameters: save those that "
                "evaluation_keys() gives, or have save_evaluation_keys write them"
            )
        return write_records(path, self.agreed.context, self.stored)

    @classmethod
    def load(cls, path: File, program: Any, threads: int = 1, progress: Progress | None = None) -> Self:
        """Read keys that were saved, from a file's name or an open binary file, one key at a time.

        Raises:
            FormatError, MismatchError: the file is damaged, or for other parameters.
        """
        return cls.collected(program, read_keys(path, program, threads, progress))

    def to_bytes(self) -> bytes:
        """Return what `save` writes. Raises as `save`."""
        return saved(self.save)

    @classmethod
    def from_bytes(cls, data: Bytes, program: Any, threads: int = 1) -> Self:
        """Read what `to_bytes` gave. Raises as `load`; ParameterError: no bytes."""
        return cls.load(content(data), program, threads)

    def __reduce__(self) -> Any:
        if self.agreed is None:
            raise TypeError(
                "keys that were put together by hand are not pickled: those of evaluation_keys() are, and have "
                "to_bytes and save"
            )
        return type(self).from_bytes, (self.to_bytes(), self.agreed)

    def __copy__(self) -> Self:
        return self if self.agreed is None else self.collected(self.agreed, self.stored)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.__copy__()
