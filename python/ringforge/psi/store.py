# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Tables on disk.

A store is a directory with a file CURRENT, which names one state of the table and the checksum of its manifest. Each
state is a directory of its own, complete, and never changed once it is there:

    elements.sqlite   PRF outputs and labels (mode oprf) or integers (mode direct); never elements of mode oprf
    oprf.key          the OPRF key, mode oprf only, readable by its owner alone
    offsets.npy cells.npy words.npy      the compiled table, which a server reads into memory; those of the polynomial
                                         protocol are counts.npy roots.npy labels.npy plain.npy
    info.json         what clients are told
    manifest.json     length and SHA-256 of each of them

A build or an update writes the next state beside the current one, and CURRENT is replaced at the very end: whatever
stops it, a full disk too, leaves the old table as it was. Older states are removed then; a server that has one open
keeps it, since it works on a copy in memory: nothing that happens to the files reaches it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import io
import math
import os
import secrets
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, ValidationError

from ringforge.bytes_form import Remade
from ringforge.errors import Error, FormatError, ParameterError
from ringforge.files import naming, sync, writing
from ringforge.parties import Progress
from ringforge.programs import Frozen, first_problem
from ringforge.psi import oprf, poly
from ringforge.psi.build import (
    BuildSpec,
    Built,
    Elements,
    Members,
    as_written,
    build,
    check_elements,
    compile_members,
    compile_poly,
    compiled_info,
    part,
    prf_members,
    prf_outputs,
)
from ringforge.psi.info import MAX_INFO, TableInfo
from ringforge.psi.members import Changed, change_members, read_members, write_members
from ringforge.psi.normalise import normalised
from ringforge.psi.table import (
    Allocate,
    Arrays,
    SaltsExhaustedError,
    Shape,
    check_integers,
    compile_prf,
    in_memory,
    touched_bins,
)

__all__ = ["Elements", "Store"]

CURRENT = "CURRENT"
_HEADER = "ringforge-psi-store 1"
_ARRAYS = {"offsets": np.uint64, "cells": np.uint32, "words": np.uint16}

#: What to do when there is no room.
_FULL = "free space, or name a directory where there is more; a table that was here is as it was"


FileName = Annotated[str, Field(pattern=r"^[a-z]{1,32}\.[a-z]{1,8}$")]


class FileEntry(Frozen):
    """A file of a state."""

    bytes: int
    sha256: str


class Manifest(Frozen):
    """The files of a state."""

    format: Literal["ringforge-psi-state"] = "ringforge-psi-state"
    version: Literal[1] = 1
    elements: int = Field(ge=0)
    files: dict[FileName, FileEntry]


class Store(Remade):
    """A table in a directory.

    Args:
        path: the directory.
        verify: compares all files with their checksums.

    Raises:
        FormatError: no store, damaged, incomplete, or of another version. OSError: it cannot be read.
    """

    remade_by = "its folder keeps it: Store(path) opens it again, in another process too"

    def __init__(self, path: str | Path, *, verify: bool = True) -> None:
        self.path = Path(path)
        self._arrays: Arrays | poly.Arrays | None = None
        self._load(verify)

    @classmethod
    def build(
        cls,
        path: str | Path,
        elements: Elements,
        spec: BuildSpec | None = None,
        *,
        threads: int = 1,
        progress: Progress | None = None,
        **fields: Any,
    ) -> Store:
        """Builds a table with a new key, in place of one that is there; that one stays usable until the last moment.

        Args:
            path: the directory, which is made if its parent exists.
            elements: the set; duplicates count once. A mapping gives every element a label.
            spec: what table, by default `BuildSpec()`; fields: of it, by name, in place of the spec's.
            threads: for the PRF.
            progress: called with the fraction done; an exception it raises ends the build.

        Raises:
            ringforge.ValueError: elements of the wrong type, too long or too large.
            ParameterError: no plan for these numbers, or a label that is too long. Error: the store is being changed
            by another process. OSError: the directory cannot be written.
        """
        path = Path(path)
        made = not path.exists()
        if made:
            path.mkdir(mode=0o700)
            sync(path.parent)
        elif not path.is_dir() or (any(path.iterdir()) and not _is_store(path)):
            raise FormatError(f"{path.name} exists and is no table: choose another directory")
        with _removed_unless_done(path if made else None), _locked(path), _new_state(path) as (directory, finish):
            built = build(
                elements,
                replace(spec or BuildSpec(), **fields),
                threads=threads,
                progress=part(progress, 0.0, 0.95),
                allocate=_mapped(directory),
            )
            write_members(directory, built.members)
            finish(built)
        if progress:
            progress(1.0)
        return cls(path, verify=False)

    # ---- what it holds ----

    @property
    def info(self) -> TableInfo:
        return self._info

    @property
    def arrays(self) -> Arrays | poly.Arrays:
        """The compiled table: read into memory at first use, and held against the checksums once more.

        Raises:
            FormatError: a file is damaged. OSError: it cannot be read.
        """
        if self._arrays is None:
            with naming(self.path):
                self._arrays = _read_arrays(self.directory, self._manifest, self._info)
        return self._arrays

    @property
    def count(self) -> int:
        """Number of elements: not public."""
        return self._manifest.elements

    @property
    def directory(self) -> Path:
        """Of the current state."""
        return self.path / self.state

    def key(self) -> Any:
        """The OPRF key (`ringforge.psi.oprf.ServerKey`), or None in mode direct.

        Raises:
            FormatError: it is damaged.
        """
        if self._info.mode == "direct":
            return None
        return oprf.ServerKey.load(self.directory / "oprf.key")

    def newest(self) -> bool:
        """Whether no newer state has been put here since this object was made."""
        return _read_current(self.path) == (self.state, self._checksum)

    def members(self) -> Members:
        """The set as it is kept.

        Raises:
            FormatError: the database is damaged.
        """
        return read_members(self.directory, self._info)

    # ---- changes ----

    def update(
        self,
        add: Elements = (),
        remove: Iterable[bytes | int] = (),
        *,
        reseed: bool = False,
        threads: int = 1,
        progress: Progress | None = None,
    ) -> tuple[int, int, int]:
        """Removes, then adds (an element that is there gets the new label), as one step: all or nothing.

        Without labels only bins whose elements change are made anew; labels are all sealed again, under a new random
        nonce. Salts change where they do not serve any more, which shows that such a bin has changed. Works on the
        newest state, which this object has afterwards.

        Args:
            reseed: makes the whole table anew, under another seed, so that nothing shows which bins changed.
            threads, progress: as for `build`.

        Returns:
            how many elements were added, removed, and got another label.

        Raises:
            ringforge.ValueError: elements of the wrong type, too long or too large.
            ParameterError: more elements than the capacity, or a label longer than the table's: build again.
        """
        with _locked(self.path), _new_state(self.path) as (directory, finish):
            old = Store(self.path)
            info, key = old.info, old.key()
            if info.mode == "direct":
                if isinstance(add, Mapping):
                    raise ParameterError("mode direct has no labels")
                gone = Members(check_integers(list(remove), info.element_bits), [])
                new = Members(check_integers(list(add), info.element_bits), [])
            else:
                add = as_written(add, info.normalise, info.columns, info.forms)
                taken = list(check_elements(normalised(remove, info.normalise, info.columns, info.forms)))
                gone = Members(prf_outputs(key, taken, threads, part(progress, 0.0, 0.4), len(taken)), [])
                new = prf_members(key, add, threads, part(progress, 0.4, 0.8))
                if any(new.labels) and not info.label_bytes:
                    raise ParameterError("the table has no labels: build it again, with labels")
                new.padded(info.label_bytes)
            shutil.copyfile(old.directory / "elements.sqlite", directory / "elements.sqlite")
            changed, counts = change_members(directory, gone, new)
            after = read_members(directory, info)
            if len(after) > info.capacity:
                raise ParameterError(
                    f"{len(after)} elements exceed the table's capacity {info.capacity}: build it again, larger"
                )
            work = part(progress, 0.8, 1.0)
            if isinstance(info.plan, poly.PlanFields):
                nonce, made = _updated_poly(
                    old, after, None if reseed else changed, threads, allocate=_mapped(directory), progress=work
                )
                # The seed says nothing of such a table, but the digest of its state: no run mixes two.
                renewed = TableInfo.model_validate(
                    {**info.model_dump(), "nonce": nonce.hex(), "seed": secrets.token_hex(32)}
                )
                finish(Built(renewed, made, after, key))
                self._load(verify=False)
                return counts
            shape, arrays, before = Shape.of(info).renewed(), None, old.arrays
            assert isinstance(before, Arrays)
            if info.mode == "oprf" and not reseed:
                with contextlib.suppress(SaltsExhaustedError):
                    arrays = compile_prf(
                        shape,
                        after.values,
                        after.padded(info.label_bytes),
                        old=before,
                        touched=touched_bins(shape, changed.rows),
                        allocate=_mapped(directory),
                        progress=work,
                    )
            if arrays is None:
                shape, arrays = compile_members(shape, after, allocate=_mapped(directory), progress=work)
            finish(Built(compiled_info(info, shape, arrays), arrays, after, key))
        self._load(verify=False)
        return counts

    def _load(self, verify: bool) -> None:
        for attempt in range(5):
            self.state, self._checksum = _read_current(self.path)
            try:
                self._open(verify)
                return
            except FileNotFoundError as e:
                # Another process may have put a newer state here and removed this one.
                if attempt == 4 or _read_current(self.path)[0] == self.state:
                    name = Path(e.filename or "a file").name
                    raise FormatError(f"{self.path.name}: {name} is missing: build the table again") from None

    def _open(self, verify: bool) -> None:
        with naming(self.path):
            raw = (self.directory / "manifest.json").read_bytes()
            if hashlib.sha256(raw).hexdigest() != self._checksum:
                raise FormatError(
                    "manifest.json is damaged: its checksum is wrong; use a copy, or build the table again"
                )
            try:
                self._manifest = Manifest.model_validate_json(raw)
            except ValidationError as e:
                raise FormatError(f"manifest.json: {first_problem(e)}") from None
            files = self._manifest.files
            _listed(files, {"elements.sqlite", "info.json"})
            for name, entry in files.items():
                _check_file(self.directory / Path(name).name, entry, verify and not name.endswith(".npy"))
            self._info = TableInfo.from_json((self.directory / "info.json").read_bytes()[: MAX_INFO + 1])
            _listed(files, {f"{name}.npy" for name in _array_names(self._info)})
        self._arrays = None
        if verify:
            _ = self.arrays


# ---- states ----


def _is_store(path: Path) -> bool:
    return (path / CURRENT).exists() or all(p.name == ".lock" or p.name.startswith(".new-") for p in path.iterdir())


def _read_current(path: Path) -> tuple[str, str]:
    """Name of the current state, and SHA-256 of its manifest."""
    try:
        text = (path / CURRENT).read_bytes()[:512].decode("ascii", "replace")
    except (FileNotFoundError, NotADirectoryError):
        raise FormatError(f"{path.name} is no table: make one with `ringforge psi build`") from None
    lines = text.split("\n")
    if lines[0] != _HEADER:
        raise FormatError(f"{path.name}: CURRENT is damaged, or of another version of ringforge")
    state, _, checksum = (lines[1] if len(lines) == 3 and not lines[2] else "").partition(" ")
    if not (state.startswith("state-") and state[6:].isdigit() and len(checksum) == 64):
        raise FormatError(f"{path.name}: CURRENT is damaged: use a copy, or build the table again")
    return state, checksum


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keeps other processes from changing the store."""
    with (path / ".lock").open("ab") as f:
        try:
            fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Error(f"{path.name} is being built or updated by another process: wait for it") from None
        yield


@contextlib.contextmanager
def _new_state(path: Path) -> Iterator[tuple[Path, Any]]:
    """A directory for the next state, and the function that makes it the current one; removed without that call."""
    for leftover in path.glob(".new-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    directory = Path(tempfile.mkdtemp(prefix=".new-", dir=path))

    def finish(built: Built) -> None:
        if built.key is not None:
            built.key.save(directory / "oprf.key")
        (directory / "info.json").write_bytes(built.info.to_json())
        files = {}
        for file in sorted(directory.iterdir()):
            sync(file)
            files[file.name] = FileEntry(bytes=file.stat().st_size, sha256=_sha256(file))
        manifest = Manifest(elements=len(built.members), files=files).model_dump_json(indent=1).encode()
        (directory / "manifest.json").write_bytes(manifest)
        sync(directory / "manifest.json")
        sync(directory)
        numbers = [int(p.name[6:]) for p in path.glob("state-*") if p.name[6:].isdigit()]
        state = path / f"state-{max(numbers, default=0) + 1}"
        directory.rename(state)
        try:
            sync(path)
            with writing(path / CURRENT, replace=True) as f:
                f.write(f"{_HEADER}\n{state.name} {hashlib.sha256(manifest).hexdigest()}\n".encode())
        except BaseException:
            shutil.rmtree(state, ignore_errors=True)
            raise
        for other in path.glob("state-*"):
            if other != state:
                shutil.rmtree(other, ignore_errors=True)

    try:
        yield directory, finish
    except sqlite3.Error as e:
        raise Error(f"{path.name}: its database cannot be written ({e}): {_FULL}") from None
    except OSError as e:
        if e.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise OSError(e.errno, f"{e.strerror}: {_FULL}", str(path)) from None
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@contextlib.contextmanager
def _removed_unless_done(path: Path | None) -> Iterator[None]:
    """Removes a directory that was made for the block, when the block does not end well."""
    try:
        yield
    except BaseException:
        if path is not None:
            shutil.rmtree(path, ignore_errors=True)
        raise


def _sha256(path: Path) -> str:
    with path.open("rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def _check_file(path: Path, entry: FileEntry, verify: bool) -> None:
    _check_length(path.name, path.stat().st_size, entry)
    if verify and _sha256(path) != entry.sha256:
        raise _damaged(path.name)


def _check_length(name: str, size: int, entry: FileEntry) -> None:
    if size != entry.bytes:
        raise FormatError(f"{name} has {size} bytes instead of {entry.bytes}: use a copy, or build the table again")


def _damaged(name: str) -> FormatError:
    return FormatError(f"{name} is damaged: its checksum is wrong; use a copy, or build the table again")


def _listed(files: Mapping[str, FileEntry], needed: set[str]) -> None:
    missing = needed - files.keys()
    if missing:
        raise FormatError(f"manifest.json does not list {', '.join(sorted(missing))}: build the table again")


# ---- arrays ----


def _array_names(info: TableInfo) -> Iterable[str]:
    return poly.ARRAYS if isinstance(info.plan, poly.PlanFields) else _ARRAYS


def _mapped(directory: Path) -> Allocate:
    """Places arrays in files, so that memory need not hold them. Their space is reserved first: a disk that is full
    gives an error then, and not a signal (SIGBUS) when a page is written."""

    def allocate(name: str, shape: tuple[int, ...], dtype: Any) -> npt.NDArray[Any]:
        path, kind = directory / f"{name}.npy", np.dtype(dtype)
        with path.open("wb") as f:
            header = {"descr": np.lib.format.dtype_to_descr(kind), "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(f, header)
            f.flush()
            first, size = f.tell(), math.prod(shape) * kind.itemsize
            if not size:
                return in_memory(name, shape, dtype)
            os.posix_fallocate(f.fileno(), first, size)
        return np.memmap(path, dtype=kind, mode="r+", offset=first, shape=shape)

    return allocate


def _read_arrays(directory: Path, manifest: Manifest, info: TableInfo) -> Arrays | poly.Arrays:
    names = _array_names(info)
    loaded = {name: _read_array(directory / f"{name}.npy", manifest.files[f"{name}.npy"]) for name in names}
    if isinstance(info.plan, poly.PlanFields):
        for name, (shape, dtype) in poly.shapes(info.plan).items():
            if loaded[name].shape != shape or loaded[name].dtype != dtype:
                raise FormatError(
                    f"{name}.npy has {loaded[name].shape} of {loaded[name].dtype}, the plan {shape} of {dtype}: build "
                    "the table again"
                )
        return poly.Arrays(**loaded)
    for name, dtype in _ARRAYS.items():
        if loaded[name].dtype != dtype:
            raise FormatError(f"{name}.npy has entries of type {loaded[name].dtype} instead of {np.dtype(dtype)}")
    offsets, cells, words = loaded["offsets"], loaded["cells"], loaded["words"]
    fits = offsets.shape == (info.bins + 1,) and cells.ndim == 1
    fits = fits and words.shape == Shape.of(info).stored(len(cells))
    if not fits or offsets[0] != 0 or int(offsets[-1]) != len(cells) or (offsets[1:] < offsets[:-1]).any():
        raise FormatError(f"arrays of shapes {offsets.shape}, {cells.shape}, {words.shape} do not go together")
    return Arrays(offsets, cells, words, info.salt_array)


def _read_array(path: Path, entry: FileEntry) -> npt.NDArray[Any]:
    """A file of numpy as a read-only array in memory: what the checksum was made of is what is used."""
    with path.open("rb") as f:
        data = f.read(entry.bytes + 1)
    _check_length(path.name, len(data), entry)
    if hashlib.sha256(data).hexdigest() != entry.sha256:
        raise _damaged(path.name)
    stream = io.BytesIO(data)
    try:
        if np.lib.format.read_magic(stream) != (1, 0):
            raise ValueError("its header is of another version")
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
        if math.prod(shape) == 0:
            return np.empty(shape, dtype)
        return np.frombuffer(data, dtype, offset=stream.tell()).reshape(shape)
    except Exception as e:  # numpy's parser of headers raises whatever Python's own parsers do
        raise FormatError(f"{path.name} is no array of numpy: {type(e).__name__}; build the table again") from None


# ---- the polynomial protocol ----


def _updated_poly(
    old: Store,
    after: Members,
    changed: Changed | None,
    threads: int,
    *,
    allocate: Allocate,
    progress: Progress | None,
) -> tuple[bytes, poly.Arrays]:
    """The next state of a table of the polynomial protocol: the arrays, and the nonce of its labels.

    Args:
        old: the table before. after: all members. changed: None makes everything anew.
    """
    info, before = old.info, old.arrays
    assert isinstance(info.plan, poly.PlanFields)
    assert isinstance(before, poly.Arrays)
    if changed is None or info.label_bytes:  # every seal needs the new nonce
        return compile_poly(info.plan, after, info.label_bytes, threads, allocate=allocate, progress=progress)
    arrays = poly.update_table(
        info.plan,
        before,
        removed=changed.removed,
        added=changed.added,
        threads=threads,
        allocate=allocate,
        progress=progress,
    )
    return b"", arrays
