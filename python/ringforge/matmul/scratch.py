# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Ciphertexts that stay on disk where memory ends.

The file has no name: the system frees it when the process ends, however it ends.
"""

from __future__ import annotations

import os
import tempfile
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from typing import Any
from weakref import finalize

from ringforge import _native
from ringforge._native import Ciphertext, Context
from ringforge.errors import FormatError, MemoryLimitError, StorageError
from ringforge.files import NO_ROOM
from ringforge.matmul.store import GIVE_BACK


class Block:
    """A ciphertext that is in memory or on disk. What is public of it is always at hand."""

    __slots__ = ("__weakref__", "_number", "_scratch", "bound", "error_bound", "key_id", "level", "scale", "variance")

    def __init__(self, scratch: Scratch, number: int, c: Ciphertext) -> None:
        self._scratch, self._number = scratch, number
        self.level, self.scale, self.key_id = c.level, c.scale, c.key_id
        self.bound, self.error_bound, self.variance = c.bound, c.error_bound, c.variance

    def load(self) -> Ciphertext:
        """The ciphertext, which is now what was used last.

        Raises:
            StorageError: the disk fails.
        """
        return self._scratch.load(self._number)


class Scratch:
    """A file of ciphertexts, of which the last used are in memory too. For one thread at a time.

    Args:
        folder: where the file is; its contents are ciphertexts, and no secret.
        context: of the ciphertexts.
        limit: bytes of ciphertexts that stay in memory; at least four of the highest level.

    Raises:
        StorageError: nothing can be written there. MemoryLimitError: the limit holds too few.
    """

    def __init__(self, folder: str | Path, context: Context, limit: int) -> None:
        one = 16 * context.params.degree * (context.params.max_level + 1)
        if limit < 4 * one:
            raise MemoryLimitError(
                f"{limit} bytes are less than four ciphertexts of {one} bytes: allow {4 * one} for blocks at least"
            )
        self.limit = limit
        #: Bytes written and read so far, the most in memory and on disk at once.
        self.written = self.read = self.peak = self.size = 0
        self._context = context
        try:
            self._file = tempfile.TemporaryFile(dir=folder, prefix=".ringforge-")  # noqa: SIM115
        except OSError as e:
            raise StorageError(f"no file can be made in {folder}: {e.strerror}; name another folder") from None
        self._process = os.getpid()
        self._resident: OrderedDict[int, tuple[Ciphertext, int]] = OrderedDict()
        self._bytes = self._next = self._owed = 0
        self._places: dict[int, tuple[int, int]] = {}
        self._free: dict[int, list[int]] = {}

    def keep(self, c: Ciphertext) -> Block:
        """A ciphertext as a block; older ones go to the disk where there are too many.

        Raises:
            StorageError: the disk is full, or fails, or the file is closed or another process's.
        """
        self._check_open()
        number, self._next = self._next, self._next + 1
        self._hold(number, c)
        block = Block(self, number, c)
        finalize(block, self._forget, number).atexit = False
        return block

    def load(self, number: int) -> Ciphertext:
        """The ciphertext of a block.

        Raises:
            StorageError: the file is closed, another process's, or cannot be read.
        """
        self._check_open()
        known = self._resident.get(number)
        if known is not None:
            self._resident.move_to_end(number)
            return known[0]
        self._check_process()
        start, length = self._places[number]
        try:
            data = os.pread(self._file.fileno(), length, start)
            c = _native.io.ciphertext_from_bytes(data, self._context)
        except (OSError, FormatError) as e:
            raise StorageError(f"a block of the scratch file cannot be read again: {e}; name another folder") from None
        self.read += length
        with suppress(StorageError):  # where nothing more can be written, what there is can be read still
            self._hold(number, c)
        return c

    def _check_open(self) -> None:
        if self._file.closed:
            raise StorageError("the scratch file is closed, and its ciphertexts are gone: decrypt or save them before")

    def _check_process(self) -> None:
        """Refuses a forked process: the file is shared, what is known of its places is not."""
        if os.getpid() != self._process:
            raise StorageError(
                "the scratch file belongs to the process that this one was forked from: open a session of its own here"
            )

    def close(self) -> None:
        """Frees memory and disk; blocks cannot be loaded any more."""
        self._resident.clear()
        self._places.clear()
        self._file.close()

    def _hold(self, number: int, c: Ciphertext) -> None:
        taken = 16 * self._context.params.degree * (c.level + 1)
        # Room first: what is new comes beside what there is.
        while self._resident and self._bytes + taken > self.limit:
            oldest, (old, size) = next(iter(self._resident.items()))
            if oldest not in self._places:
                self._write(oldest, old)
            del self._resident[oldest]
            self._bytes -= size
            self._owed += size
        if self._owed >= GIVE_BACK:
            self._owed = 0
            _native.trim_memory()
        self._resident[number] = (c, taken)
        self._bytes += taken
        self.peak = max(self.peak, self._bytes)

    def _write(self, number: int, c: Ciphertext) -> None:
        self._check_process()
        data = _native.io.to_bytes(self._context, c)
        free = self._free.get(len(data))
        start = free.pop() if free else self.size
        try:
            done = 0
            while done < len(data):
                done += os.pwrite(self._file.fileno(), data[done:], start + done)
        except OSError as e:
            if free is not None:
                free.append(start)
            remedy = "make room, or name another folder" if e.errno in NO_ROOM else "name another folder"
            raise StorageError(
                f"the scratch file took {self.size / 2**20:.0f} MiB and no more: {e.strerror}; {remedy}, or allow more "
                "memory for blocks"
            ) from None
        self.size = max(self.size, start + len(data))
        self.written += len(data)
        self._places[number] = (start, len(data))

    def _forget(self, number: int) -> None:
        known = self._resident.pop(number, None)
        if known is not None:
            self._bytes -= known[1]
        place = self._places.pop(number, None)
        if place is not None:
            self._free.setdefault(place[1], []).append(place[0])


def loaded(x: Any) -> Any:
    """The ciphertext itself, where x is a block."""
    return x.load() if isinstance(x, Block) else x


__all__ = ["Block", "Scratch", "loaded"]
