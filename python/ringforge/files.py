# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Files of all parties: written whole or not at all, never over a secret, secrets readable by their owner only.

Every writer of this package goes through `new_file` or `writing`.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from ringforge import _native, delimited
from ringforge.errors import Error, FormatError, ParameterError, ShapeError
from ringforge.errors import ValueError as RingforgeValueError

Array = npt.NDArray[np.float64]


@contextlib.contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Puts the file's name before the message of an error of ours that arises while it is read."""
    try:
        yield
    except Error as e:
        raise type(e)(f"{Path(path).name}: {e}") from None


# ---- secrets -------------------------------------------------------------------------------------

#: Keys of OPRF servers from before records.
_OLD_OPRF_KEY = b"RGOPRF"

#: Quotas and a table's elements are SQLite files.
_DATABASE = b"SQLite format 3\0"

_PRIVATE_KEY = re.compile(rb"-----BEGIN [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----")
_TOKEN = re.compile(rb"[A-Za-z0-9._~+/=-]{16,1024}")

#: How much of a text is searched for keys and tokens.
_TEXT = 1 << 20


def secret_in(path: str | Path) -> str | None:
    """What secret a file holds, in words; None if it holds none that is known here, or there is no such file.

    The file's content decides, not its name: records of secret types (in any place among others), OPRF keys of old,
    private keys in PEM, databases of quotas and tables. Tokens have no mark of their own: a text of nothing but
    tokens counts when only its owner may read it, as token files must be.

    Raises:
        OSError: there is a file, but it cannot be read.
    """
    try:
        status = Path(path).stat()
        if not stat.S_ISREG(status.st_mode):
            return None
        with Path(path).open("rb") as f:
            start = f.read(16)
            if start.startswith(_OLD_OPRF_KEY):
                return "the key of an OPRF server"
            if start == _DATABASE:
                return "a database of a server"
            if start.startswith(_native.io.MAGIC):
                what = _native.io.secret_in(str(path))
                return f"a {what}" if what else None
            text = start + f.read(_TEXT)
    except FileNotFoundError:
        return None
    if _PRIVATE_KEY.search(text):
        return "a private key (PEM)"
    private = not status.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    return "tokens of clients" if private and len(text) <= _TEXT and _only_tokens(text) else None


def _only_tokens(text: bytes) -> bool:
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith(b"#")]
    return bool(lines) and all(map(_TOKEN.fullmatch, lines)) and not all(map(_is_number, lines))


def _is_number(text: bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def check_output(path: str | Path) -> None:
    """Refuses a name under which nothing may be written, before any work is done.

    Raises:
        FileExistsError: the file holds a secret, or is no ordinary file. FileNotFoundError: there is no such directory.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such directory", str(path.parent))
    if path.exists() and not path.is_file():
        raise FileExistsError(errno.EEXIST, "exists and is no ordinary file", str(path))
    what = secret_in(path)
    if what:
        raise FileExistsError(
            errno.EEXIST, f"holds {what}, which is never replaced: name another file, or move it away", str(path)
        )


def check_different(files: Mapping[str, str | Path | None]) -> None:
    """Refuses one file under two names, however they are spelled: relative, through links.

    Args:
        files: what each is for, and its name, or None for one that is not wanted.

    Raises:
        ParameterError: two of them are the same file.
    """
    seen: list[tuple[str, Path]] = []
    for what, name in files.items():
        if name is None:
            continue
        path = Path(name)
        for other, before in seen:
            if path.resolve() == before.resolve() or (path.exists() and before.exists() and path.samefile(before)):
                raise ParameterError(f"{other} and {what} both name the file {path.name}: give each a file of its own")
        seen.append((what, path))


# ---- writing -------------------------------------------------------------------------------------

#: What a system says when there is no room: the disk, the user's quota, the largest file.
NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextlib.contextmanager
def new_file(path: str | Path, *, secret: bool = False) -> Iterator[Path]:
    """A temporary file beside `path`; it takes the name `path` only when the block ends without an error.

    With `secret`, the file can be read by its owner only.

    Raises:
        FileExistsError: the name belongs to a file that holds a secret, or to no ordinary file.
        FileNotFoundError: there is no such directory. OSError: no room, or something else of the system's; what was
        there before is still there.
    """
    path = Path(path)
    check_output(path)
    handle, name = tempfile.mkstemp(prefix=f".{path.name[:200]}.", suffix=".part", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        if not secret:
            umask = os.umask(0)
            os.umask(umask)
            temporary.chmod(0o666 & ~umask)
        try:
            yield temporary
        except (Error, OSError) as e:
            if getattr(e, "errno", None) is None:
                _probe(temporary)  # the system's reason says more than "writing failed"
            raise
        check_output(path)
        temporary.replace(path)
    except OSError as e:
        if e.errno not in NO_ROOM:
            raise
        raise OSError(
            e.errno,
            f"{os.strerror(e.errno or 0)}: not written, what was there before still is; make room, or name another "
            "place",
            str(path),
        ) from None
    finally:
        temporary.unlink(missing_ok=True)


def _probe(temporary: Path) -> None:
    """Raises OSError if nothing more can be written to a file that is to be thrown away."""
    if temporary.exists():
        with temporary.open("ab", buffering=0) as f:
            f.write(bytes(1 << 16))


@contextlib.contextmanager
def writing(path: str | Path, *, secret: bool = False) -> Iterator[IO[bytes]]:
    """Like `new_file`, as an open binary file."""
    with new_file(path, secret=secret) as temporary, temporary.open("wb") as f:
        yield f


# ---- arrays --------------------------------------------------------------------------------------


#: What an .npy file begins with, and how long its header may be.
_NPY_MAGIC, _NPY_HEADER = b"\x93NUMPY", 1 << 16


def load_npy(source: Path | IO[bytes]) -> npt.NDArray[Any]:
    """One array of an .npy file or stream; never pickles, and takes no memory that the data does not fill.

    Args:
        source: a file's name: the array stays on the disk, mapped; or an open file, which is left after the array.

    Raises:
        FormatError: no .npy, damaged, or of a shape that the file cannot hold. OSError: it cannot be read.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of numpy, about headers of old writers
            if not isinstance(source, Path):
                array = np.lib.format.read_array(source, allow_pickle=False, max_header_size=_NPY_HEADER)
            else:
                with source.open("rb") as f:
                    if f.read(len(_NPY_MAGIC)) != _NPY_MAGIC:
                        raise FormatError("it does not begin as .npy files do")
                array = np.load(source, mmap_mode="r", allow_pickle=False, max_header_size=_NPY_HEADER)
    except Exception as e:
        if isinstance(e, Error) or (isinstance(e, OSError) and e.filename is not None):
            raise
        # A header is Python text; numpy lets through what a parser may raise, from SyntaxError to MemoryError.
        raise FormatError(f"it holds no array of numbers: {first_line(e)}") from None
    return array


def first_line(error: BaseException) -> str:
    """What an error of another library says, cut to one short line."""
    lines = str(error).splitlines()
    return (lines[0][:200] if lines else "") or type(error).__name__


def load_vectors(path: str | Path) -> Array:
    """Vectors as rows, from .npy (of one or two dimensions), .csv or .tsv (`ringforge.delimited`).

    Raises:
        FormatError: none of these, or damaged; of text, with line and column. ShapeError: empty, or of more
        dimensions. ringforge.ValueError: complex numbers or objects.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix in delimited.SUFFIXES:
        return delimited.read_matrix(path)
    if suffix != ".npy":
        raise FormatError(f"{path.name}: numbers are read from .npy, .csv and .tsv files")
    with naming(path):
        raw = load_npy(path)
    if raw.dtype.kind not in "fiub":
        raise RingforgeValueError(f"{path.name} holds {raw.dtype} entries; real numbers are needed")
    if raw.ndim not in (1, 2) or raw.size == 0:
        raise ShapeError(f"{path.name} holds an array of shape {raw.shape}; (n,) or (vectors, n) is needed")
    return np.atleast_2d(np.array(raw, dtype=np.float64))


def save_vectors(path: str | Path, rows: Array) -> None:
    """Writes rows as .npy, or as .csv with 17 digits, which lose nothing."""
    check_vectors_name(path)
    with writing(path) as f:
        if Path(path).suffix == ".npy":
            np.save(f, rows, allow_pickle=False)
        else:
            np.savetxt(f, rows, fmt="%.17g", delimiter=",")


def check_vectors_name(path: str | Path) -> None:
    """Refuses names that `save_vectors` cannot write, before any work is done.

    Raises:
        FormatError: the name ends neither in .npy nor in .csv.
    """
    if Path(path).suffix not in {".npy", ".csv"}:
        raise FormatError(f"{Path(path).name}: numbers are written to .npy and .csv files")
