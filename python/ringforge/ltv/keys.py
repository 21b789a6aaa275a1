# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Evaluation keys as files, one for each level: gigabytes that are never in memory together."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ringforge import _native
from ringforge._native.ltv import Client, Context, EvalKey, Parameters, PublicKey, Relinearizer, SecretKey
from ringforge.errors import FormatError, MismatchError, MissingKeyError
from ringforge.files import naming, new_file

#: What is told after a level was written: the level, its bytes.
Progress = Callable[[int, int], None]


def _other(level: object, lag: object, wanted: int, wanted_lag: int) -> str:
    return (
        f"holds an evaluation key of level {level} with lag {lag}; needed is one of level {wanted} with lag "
        f"{wanted_lag}: keys that were made for AES have it"
    )


class KeyDirectory:
    """A directory of what evaluators need: the parameters, the public key, evaluation keys by level. No secret.

    Files are written whole or not at all. Keys have no seeds: all of an evaluation key is stored (docs/ltv.md).

    Args:
        directory: where the files are.
        context: of what they belong to; None reads the directory's parameters.

    Raises:
        FileNotFoundError: no parameters there. FormatError, MismatchError: foreign or damaged files.
    """

    def __init__(self, directory: str | Path, context: Context | None = None) -> None:
        self.directory = Path(directory)
        if context is None:
            reader = _native.io.Reader(str(self.parameters_path))
            with naming(self.parameters_path):
                parameters = reader.next_ltv_parameters()
                if parameters is None or not reader.at_end():
                    raise FormatError("one LTV parameter set is expected, and nothing behind it")
            context = Context(parameters)
        self.context = context

    @property
    def parameters_path(self) -> Path:
        return self.directory / "parameters.rgfg"

    @property
    def public_path(self) -> Path:
        return self.directory / "public.rgfg"

    def path(self, level: int) -> Path:
        """The file of a level's evaluation key."""
        return self.directory / f"level-{level:02}.rgfg"

    def levels(self) -> list[int]:
        """Levels whose keys are there."""
        return [i for i in range(1, self.context.params.levels + 1) if self.path(i).exists()]

    def write_public(self, public_key: PublicKey) -> None:
        """Writes parameters and public key. Raises OSError: no room, no such directory."""
        for path, objects in (
            (self.parameters_path, (self.context.params,)),
            (self.public_path, (self.context, public_key)),
        ):
            with new_file(path) as temporary:
                writer = _native.io.Writer(str(temporary))
                writer.write(*objects)
                writer.close()

    def public_key(self) -> PublicKey:
        """Raises FileNotFoundError, FormatError, MismatchError."""
        reader = _native.io.Reader(str(self.public_path))
        with naming(self.public_path):
            return reader.public_key(self.context)

    def write(
        self,
        client: Client,
        secret_key: SecretKey,
        public_key: PublicKey,
        levels: Iterable[int] | None = None,
        threads: int = 1,
        progress: Progress | None = None,
        lags: Mapping[int, int] | None = None,
    ) -> int:
        """Makes and writes evaluation keys, one after the other: in memory is one level's, at most `key_bytes(1)`.

        Levels that are there already, of the same secret key, stay as they are, so that an interrupted run goes on.

        Args:
            lags: by level, for products of ciphertexts that are so many levels apart; 0 where there is no entry.

        Returns:
            bytes written.

        Raises:
            MismatchError: keys of another secret key, or with another lag, are there. LevelError: no such level.
            OSError: no room; finished levels stay.
        """
        written = 0
        for level in levels if levels is not None else range(1, self.context.params.levels + 1):
            lag = (lags or {}).get(level, 0)
            if self.path(level).exists():
                self._check_header(level, secret_key.id, lag)
                continue
            key = client.eval_key(secret_key, public_key, level, threads, lag)
            with new_file(self.path(level)) as temporary:
                writer = _native.io.Writer(str(temporary))
                writer.write(self.context, key)
                writer.close()
            written += key.bytes
            if progress is not None:
                progress(level, key.bytes)
        return written

    def _check_header(self, level: int, key_id: int, lag: int) -> None:
        with naming(self.path(level)):
            fields = _native.io.Reader(str(self.path(level))).peek().fields
            if (fields.get("level"), fields.get("key_id"), fields.get("lag")) != (level, key_id, lag):
                raise MismatchError(
                    "holds a key of another secret key, level or lag: name another directory, or remove it"
                )

    def level(self, level: int) -> EvalKey:
        """The evaluation key of a level, read from its file.

        Raises:
            MissingKeyError: it is not there. FormatError: damaged or cut short. MismatchError: of other parameters, or
            the file of another level.
        """
        reader = self._reader(level)
        with naming(self.path(level)):
            key = reader.eval_key(self.context)
            if key.level != level:
                raise MismatchError(f"holds the evaluation key of level {key.level}: files have been exchanged")
        return key

    def stored(self, level: int, lag: int = 0, room: Room | None = None) -> StoredKey:
        """The evaluation key of a level, left in its file until a device wants it. Reads nothing.

        Args:
            lag: that it must have.
            room: for those who prepare one key after the other.
        """
        return StoredKey(self, level, lag, room)

    def read_into(self, relinearizer: Relinearizer, level: int, lag: int = 0) -> None:
        """The evaluation key of a level goes to a relinearizer of this context, a few digits in memory at a time.

        Raises:
            as `level`; MismatchError too for a key with another lag.
        """
        reader = self._reader(level)
        with naming(self.path(level)):
            fields = reader.peek().fields
            if (fields.get("level"), fields.get("lag")) != (level, lag):
                raise MismatchError(_other(fields.get("level"), fields.get("lag"), level, lag))
            reader.eval_key_into(relinearizer)

    def record(self, context: Context, level: int, lag: int = 0) -> Record:
        """The file of a level's evaluation key as it is; as `StoredKey.record`."""
        reader, path = self._reader(level), self.path(level)
        with naming(path):
            head = reader.peek()
            if "digits" not in head.fields:
                raise FormatError(f"holds a {head.type}, not an evaluation key")
            if head.parameter_hash != context.params.hash:
                raise MismatchError("holds an evaluation key of other parameters")
            if (head.fields.get("level"), head.fields.get("lag")) != (level, lag):
                raise MismatchError(_other(head.fields.get("level"), head.fields.get("lag"), level, lag))
        about = path.stat()
        version = about.st_ino, about.st_mtime_ns, about.st_size
        words = np.asarray(np.memmap(path, np.uint8, "r"))
        return Record(words, int(head.fields["key_id"]), path.name, version)

    def _reader(self, level: int) -> _native.io.Reader:
        try:
            return _native.io.Reader(str(self.path(level)))
        except FileNotFoundError:
            raise MissingKeyError(
                f"the evaluation key of level {level} is not in {self.directory}: the holder of the secret key makes "
                f"it with `python -m ringforge.ltv keys SECRET {self.directory} --levels {level}`"
            ) from None


class Room:
    """The memory of a key that is done with, for the next: taking gigabytes anew costs a tenth of reading a key. Any
    threads may share one; whoever finds it empty takes memory of its own."""

    def __init__(self) -> None:
        # A finalizer gives back: a collection may run it in a thread that is in `take` already.
        self._lock = threading.RLock()
        self._free: tuple[Context, int, Relinearizer] | None = None

    def take(self, context: Context, threads: int) -> Relinearizer:
        """A relinearizer that nobody else has."""
        with self._lock:
            found, self._free = self._free, None
        if found is not None and found[0] is context and found[1] == threads:
            return found[2]
        del found  # before there is the next
        return Relinearizer(context, threads)

    def give_back(self, context: Context, threads: int, relinearizer: Relinearizer) -> None:
        """Keeps the memory of one that was taken with these."""
        with self._lock:
            self._free = (context, threads, relinearizer)


@dataclass(frozen=True, eq=False)
class Record:
    """The record of an evaluation key.

    Attributes:
        words: its bytes, those of the file. key_id: of the secret key. name: of the file.
        version: differs where the file was written anew.
    """

    words: npt.NDArray[np.uint8]
    key_id: int
    name: str
    version: tuple[int, ...]


@dataclass(frozen=True)
class StoredKey:
    """An evaluation key in its file: what a `RelinearizeKernel` takes in place of an `EvalKey` in memory.

    Attributes:
        directory: of the file. level, lag: of the key.
        room: memory that may be used for it.
    """

    directory: KeyDirectory
    level: int
    lag: int = 0
    room: Room | None = None

    @property
    def bytes(self) -> int:
        """Bytes in memory: none."""
        return 0

    def read_into(self, relinearizer: Relinearizer) -> None:
        """Raises as `KeyDirectory.read_into`."""
        self.directory.read_into(relinearizer, self.level, self.lag)

    def record(self, context: Context) -> Record:
        """The file as it is, for whoever gives it to another process. Reads what stands before the key.

        Raises:
            MissingKeyError: it is not there. FormatError: it holds no evaluation key. MismatchError: of another level,
            lag, or of other parameters than the context's.
        """
        return self.directory.record(context, self.level, self.lag)

    def load(self) -> EvalKey:
        """The key in memory.

        Raises:
            as `KeyDirectory.level`; MismatchError too for a key with another lag.
        """
        key = self.directory.level(self.level)
        if key.lag != self.lag:
            with naming(self.directory.path(self.level)):
                raise MismatchError(_other(key.level, key.lag, self.level, self.lag))
        return key


def save_secret(path: str | Path, context: Context, key: SecretKey) -> None:
    """Writes a secret key that only its owner may read. Raises FileExistsError: there is one already."""
    with new_file(path, secret=True) as temporary:
        writer = _native.io.Writer(str(temporary))
        writer.write(context, key)
        writer.close()


def load_secret(path: str | Path, context: Context) -> SecretKey:
    """Raises FileNotFoundError, FormatError, MismatchError."""
    reader = _native.io.Reader(str(path))
    with naming(path):
        return reader.secret_key(context)


def open_or_make(
    secret: str | Path,
    directory: str | Path,
    parameters: Parameters | None,
    threads: int = 1,
    *,
    reuse: bool = True,
) -> tuple[KeyDirectory, Client, SecretKey, PublicKey]:
    """Return the keys of a secret file and a directory, made where there are none yet.

    Args:
        reuse: whether a secret file that is there is read.

    Raises:
        FileExistsError: there is a secret file, and it is not to be read.
        MissingKeyError: there are none, and no parameters were given to make them.
    """
    if reuse and Path(secret).exists():
        keys = KeyDirectory(directory)
        return keys, Client(keys.context), load_secret(secret, keys.context), keys.public_key()
    if parameters is None:
        raise MissingKeyError(
            f"there is no secret key {Path(secret).name}: name a parameter set with --set to make a new one"
        )
    keys = KeyDirectory(directory, Context(parameters))
    client = Client(keys.context)
    secret_key, public_key = client.keys(threads)
    save_secret(secret, keys.context, secret_key)
    keys.write_public(public_key)
    return keys, client, secret_key, public_key
