# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Files of all parties: written whole or not at all, never over another file unless that is asked for.

Every writer of this package goes through `new_file` or `writing`. A name that is taken is refused, however it came to
be taken: no list of what secrets look like can be complete, as the 16 bytes of an AES key look like anything. Inside
`overwriting`, which is what the option `--overwrite` of commands means, files are replaced that are not recognised as
secrets. Secrets are written to new names only. What is written is on the disk, and its name in the directory, before
the writer returns.
"""

from __future__ import annotations

import contextlib
import contextvars
import ctypes
import errno
import json
import os
import re
import secrets
import shutil
import stat
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from ringforge import _native, delimited
from ringforge.errors import Error, FormatError, ParameterError, ShapeError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.frames import Named

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

_PRIVATE_KEY = re.compile(rb"-----BEGIN [A-Z0-9 ]{0,64}PRIVATE KEY( BLOCK)?-----")
_TOKEN = re.compile(rb"[A-Za-z0-9._~+/=-]{16,1024}")

#: Bytes of a file that are searched at a time, and how many of them are searched again with the next ones.
_PIECE, _OVERLAP = 1 << 20, 128

#: Bytes of a key without a mark: AES keys, keys of streams, seeds.
_RAW_KEYS = {16, 24, 32}

#: Digits, and 16, 24 or 32 bytes in base64.
_HEX = re.compile(rb"[0-9a-fA-F]+")
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{22}==|[A-Za-z0-9+/_-]{32}|[A-Za-z0-9+/_-]{43}=")


def secret_in(path: str | Path) -> str | None:
    """What secret a file holds, in words; None if it holds none that is known here, or there is no such file.

    The file's whole content decides, not its name: records of secret types (in any place among others), OPRF keys of
    old, private keys in PEM, databases of quotas and tables. Tokens and raw keys have no mark of their own: a text of
    nothing but tokens, or as many bytes as a key has, count when only the owner may read the file, as must be so with
    theirs.

    Raises:
        OSError: there is a file, but it cannot be read.
    """
    try:
        status = Path(path).stat()
        if not stat.S_ISREG(status.st_mode):
            return None
        private = not status.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
        with Path(path).open("rb") as f:
            start = f.read(16)
            if start.startswith(_OLD_OPRF_KEY):
                return "the key of an OPRF server"
            if start == _DATABASE:
                return "a database of a server"
            if start.startswith(_native.io.MAGIC):
                what = _native.io.secret_in(str(path))
                return f"a {what}" if what else None
            f.seek(0)
            if _has_private_key(f):
                return "a private key (PEM)"
            if not private:
                return None
            f.seek(0)
            if _only_tokens(f):
                return "tokens of clients"
            f.seek(0)
            if status.st_size in _RAW_KEYS and not _is_data(f.read()):
                return f"{status.st_size} bytes for its owner alone, as a key"
    except FileNotFoundError:
        pass
    return None


def _like_a_key(path: Path) -> str | None:
    """Return what a file has in common with a raw key, whoever may read it; None if nothing.

    Raises:
        OSError: there is a file, but it cannot be read.
    """
    try:
        if path.stat().st_size > 2 * max(_RAW_KEYS) + 2:
            return None
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    text = data.strip()
    if len(data) in _RAW_KEYS and not _is_data(data):
        return f"{len(data)} bytes, as a key"
    if len(text) / 2 in _RAW_KEYS and _HEX.fullmatch(text) and not _is_number(text):
        return "hexadecimal digits, as many as of a key"
    if _BASE64.fullmatch(text) and not _is_number(text):
        return "base64, as long as of a key"
    return None


def _is_data(text: bytes) -> bool:
    """Whether bytes as many as a key's are numbers, or JSON, which no key is but by a chance that does not happen."""
    if all(map(_is_number, re.split(rb"[\s,]+", text.strip()))):
        return True
    try:
        return isinstance(json.loads(text), dict | list)
    except ValueError:
        return False


def _has_private_key(f: IO[bytes]) -> bool:
    end = b""
    while piece := f.read(_PIECE):
        if _PRIVATE_KEY.search(end + piece):
            return True
        end = (end + piece)[-_OVERLAP:]
    return False


def _only_tokens(f: IO[bytes]) -> bool:
    tokens = numbers = 0
    comment = False  # whether what is read goes on with a comment's line
    while line := f.readline(_PIECE):
        text = line.strip()
        comment = comment or text.startswith(b"#")
        if not comment and text:
            if not _TOKEN.fullmatch(text):
                return False
            tokens += 1
            numbers += _is_number(text)
        comment = comment and not line.endswith(b"\n")
    return tokens > numbers


def _is_number(text: bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


#: Whether files that hold no secret are replaced.
_overwriting = contextvars.ContextVar("overwriting", default=False)


@contextlib.contextmanager
def overwriting(wanted: bool = True) -> Iterator[None]:
    """Let what is written inside the block replace files; those that are recognised as secrets stay all the same.

    Args:
        wanted: False: nothing is replaced, as outside of any such block.
    """
    token = _overwriting.set(wanted)
    try:
        yield
    finally:
        _overwriting.reset(token)


def check_output(path: str | Path, *, replace: bool | None = None) -> None:
    """Refuse a name under which nothing may be written, before any work is done.

    Args:
        replace: whether a file that holds no secret may be replaced; None: inside `overwriting`.

    Raises:
        FileExistsError: the name is taken. FileNotFoundError: there is no such directory.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such directory", str(path.parent))
    if os.path.lexists(path):
        _check_replaceable(path, path)
        if not (_overwriting.get() if replace is None else replace):
            raise FileExistsError(
                errno.EEXIST,
                "exists already: name another file, or have it replaced by --overwrite (in Python: "
                "`with ringforge.files.overwriting():`)",
                str(path),
            )


def _check_replaceable(path: Path, name: Path) -> None:
    """Refuse to lose a file that nobody may replace.

    Args:
        path: where it lies. name: its name for people.

    Raises:
        FileExistsError: it is a secret, or no ordinary file. OSError: it cannot be read.
    """

    def refuse(why: str) -> None:
        raise FileExistsError(errno.EEXIST, why, str(name))

    if path.exists() and not path.is_file():
        refuse("exists and is no ordinary file: name a new file")
    what = secret_in(path) or _like_a_key(path)
    if what:
        refuse(f"holds {what}, which is never replaced: name another file, or move it away")
    if path.is_symlink():
        refuse("is a link, which is neither followed nor replaced: name the file itself")


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
def new_file(
    path: str | Path, *, secret: bool = False, private: bool = False, replace: bool | None = None
) -> Iterator[Path]:
    """Yield a temporary file beside `path`; it takes the name `path` only when the block ends without an error.

    The name is taken in one step, so that of several processes that write one name at once a single one succeeds; and
    the file's content and its name are on the disk when the block has ended.

    Args:
        secret: only its owner can read it, and it replaces nothing at all.
        private: only its owner can read it.
        replace: whether a file that holds no secret is replaced: True where a service or a cache writes its own file
            anew; None: inside `overwriting`.

    Raises:
        FileExistsError: the name is taken, see `check_output`. FileNotFoundError: there is no such directory.
        OSError: no room, or something else of the system's; what was there before is still there.
    """
    path = Path(path)
    if secret:
        replace = False
    check_output(path, replace=replace)
    temporary = path.with_name(f".{path.name[:200]}.{secrets.token_hex(8)}.part")
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600 if secret or private else 0o666))
    mine: os.stat_result | None = None
    named = False
    try:
        try:
            yield temporary
        except (Error, OSError) as e:
            if getattr(e, "errno", None) is None:
                _probe(temporary)  # the system's reason says more than "writing failed"
            raise
        sync(temporary)
        mine = temporary.lstat()  # from here on another's file may lie under the temporary name, see `_check_exchanged`
        _take_name(temporary, mine, path, replace)
        named = True
        sync(path.parent)
    except OSError as e:
        why = os.strerror(e.errno or 0)
        if named:
            raise OSError(
                e.errno,
                f"{why}: written, but whether its name is on the disk is not known; look after the disk, and copy the "
                "file to another one",
                str(path),
            ) from None
        if e.errno not in NO_ROOM:
            raise
        raise OSError(
            e.errno, f"{why}: not written, what was there before still is; make room, or name another place", str(path)
        ) from None
    finally:
        if mine is None or _is_still(temporary, mine):
            temporary.unlink(missing_ok=True)


def _is_still(path: Path, known: os.stat_result) -> bool:
    """Whether a name is still that of the very file that it was."""
    try:
        now = path.lstat()
    except FileNotFoundError:
        return False
    return (now.st_dev, now.st_ino) == (known.st_dev, known.st_ino)


def _take_name(temporary: Path, mine: os.stat_result, path: Path, replace: bool | None) -> None:
    """Give a finished file its name.

    Who may not replace has one way to the name, which fails where it is taken. Who may takes the old file away in one
    step, and looks at that one, so that no file is lost that was not looked at.

    Raises:
        FileExistsError: the name is taken, and what has it is not to be replaced.
    """
    while True:
        try:
            _claim(temporary, path)
            return
        except FileExistsError:
            check_output(path, replace=replace)
        if not (_overwriting.get() if replace is None else replace):
            continue  # what had the name is gone again
        try:
            _rename(temporary, path, _EXCHANGE)
        except FileNotFoundError:
            continue
        except OSError as e:
            if e.errno not in _UNKNOWN:
                raise
            if replace:
                os.replace(temporary, path)  # a service's own file, which may not be missing for a moment
                return
            if _set_aside(temporary, path):
                return
        else:
            _check_exchanged(temporary, path, mine)
            return


def _claim(temporary: Path, path: Path) -> None:
    """Give a file a name that nobody has.

    Raises:
        FileExistsError: somebody has it. OSError: the file system has no way to do this in one step.
    """
    try:
        os.link(temporary, path)
    except OSError as e:
        if e.errno not in _UNKNOWN:
            raise
    else:
        return
    try:
        _rename(temporary, path, _NOREPLACE)
    except OSError as e:
        if e.errno not in _UNKNOWN:
            raise
        raise OSError(
            errno.ENOTSUP,
            "this file system has neither hard links nor renaming that replaces nothing: name a place on another one",
            str(path),
        ) from None


def _check_exchanged(old: Path, path: Path, mine: os.stat_result) -> None:
    """Look at the file that had the name `path` until now, and remove it, or give it its name back.

    Args:
        old: the name that it has now. mine: the file that has been given the name `path`.

    Raises:
        FileExistsError: it is not to be replaced, and has its name again.
    """
    try:
        _check_replaceable(old, path)
    except BaseException:
        try:
            _rename(old, path, _EXCHANGE)
        except FileNotFoundError:
            _put_back(old, path)
        else:
            if not _is_still(old, mine):
                raise FileExistsError(
                    errno.EEXIST, f"was written by another program meanwhile; what it wrote is now {old}", str(path)
                ) from None
        raise
    old.unlink()


def _set_aside(temporary: Path, path: Path) -> bool:
    """Take a file's name where files cannot be exchanged; False if it has to be tried again.

    Raises:
        FileExistsError: the file is not to be replaced, and has its name again.
    """
    aside = temporary.with_suffix(".old")
    try:
        os.rename(path, aside)
    except FileNotFoundError:
        return False
    try:
        _check_replaceable(aside, path)
    except BaseException:
        _put_back(aside, path)
        raise
    taken = False
    try:
        _claim(temporary, path)
        taken = True
    except FileExistsError:
        pass  # another has replaced what was set aside
    except BaseException:
        _put_back(aside, path)
        raise
    aside.unlink()
    return taken


def _put_back(aside: Path, path: Path) -> None:
    """Give a file its name back.

    Raises:
        FileExistsError: another has the name now; the file stays where it is.
    """
    try:
        _claim(aside, path)
    except FileExistsError:
        raise FileExistsError(
            errno.EEXIST, f"was written by another program meanwhile; what was there before is now {aside}", str(path)
        ) from None
    aside.unlink(missing_ok=True)


#: Flags of renameat2, and what systems and file systems say that do not know it, or have no hard links.
_NOREPLACE, _EXCHANGE = 1, 2
_UNKNOWN = {errno.EINVAL, errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}

_LIBC = ctypes.CDLL(None, use_errno=True)
_AT_FDCWD = -100


def _rename(source: Path, target: Path, flag: int) -> None:
    """Rename without replacing anything: to a free name, or by exchanging two files' names.

    Raises:
        OSError: as `os.rename`; one of `_UNKNOWN` where the system cannot do this.
    """
    call = getattr(_LIBC, "renameat2", None)
    if call is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS), str(target))
    call.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    if call(_AT_FDCWD, os.fsencode(source), _AT_FDCWD, os.fsencode(target), flag):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), str(target))


def sync(path: str | Path) -> None:
    """Wait until a file's content, or the names in a directory, are on the disk.

    Raises:
        OSError: the disk failed, or has no room.
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as e:
        if e.errno not in (errno.EINVAL, errno.ENOTSUP):  # of file systems that keep nothing to wait for
            raise
    finally:
        os.close(handle)


def make_folder(path: str | Path, mode: int = 0o777) -> None:
    """Make a directory and those above it that are missing; their names are on the disk when this returns.

    Args:
        mode: of the directory itself, less what the umask takes away.

    Raises:
        OSError: no room, or another file has the name.
    """
    path = Path(path)
    if path.is_dir():
        return
    if not path.parent.is_dir():
        make_folder(path.parent)
    path.mkdir(mode=mode, exist_ok=True)
    sync(path.parent)


#: The file that says what a demo has made in its folder.
_DEMO = ".ringforge-demo"


def clear_demo(out: Path, names: Iterable[str]) -> None:
    """Make a demo's folder, or remove from it what an earlier run of the same demo has made.

    Args:
        out: the folder.
        names: of the files and directories that the demo makes there.

    Raises:
        FileExistsError: something is there that no complete run of this demo has made, or that was changed since.
    """
    mark, names = out / _DEMO, sorted(names)
    made: dict[str, Any] = {}
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        noted = json.loads(mark.read_bytes())
        if noted["names"] == names:
            made = dict(noted["made"])
    if os.path.lexists(out):
        for path in sorted(out.iterdir()):
            for name, identity in _identities(out, path) if path.name != _DEMO else ():
                if path.name not in names or made.get(name) != identity:
                    raise FileExistsError(
                        errno.EEXIST,
                        "is there, and this demo has not made it, or not finished, or it was changed since: name "
                        f"another folder with --out, or remove {out} yourself",
                        str(out / name),
                    )
    for name in names:
        path = out / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    make_folder(out)
    _note_demo(mark, names, {})


def finish_demo(out: Path) -> None:
    """Note what a demo has made, at its end, so that `clear_demo` may remove that and nothing else."""
    mark = out / _DEMO
    names = json.loads(mark.read_bytes())["names"]
    made = {n: i for name in names if os.path.lexists(out / name) for n, i in _identities(out, out / name)}
    _note_demo(mark, names, made)


def _note_demo(mark: Path, names: list[str], made: Mapping[str, list[int]]) -> None:
    with writing(mark, replace=True) as f:
        f.write(json.dumps({"names": names, "made": made}).encode())


def _identities(out: Path, path: Path) -> Iterator[tuple[str, list[int]]]:
    """Yield what lies at or below a path: name within `out`, and what changes whenever a file is replaced or written.

    Of directories only that they are there.
    """
    status = path.lstat()
    if stat.S_ISDIR(status.st_mode):
        yield str(path.relative_to(out)), []
        for inner in sorted(path.iterdir()):
            yield from _identities(out, inner)
    else:
        yield str(path.relative_to(out)), [status.st_ino, status.st_ctime_ns]


class Made:
    """Files that were made, each known by more than its name."""

    def __init__(self) -> None:
        self._files: list[tuple[Path, os.stat_result]] = []

    def append(self, path: Path) -> None:
        """Note a file that is there."""
        self._files.append((path, path.lstat()))

    def remove(self) -> None:
        """Remove those that are still the files that were made."""
        for path, status in self._files:
            if _is_still(path, status):
                path.unlink(missing_ok=True)


@contextlib.contextmanager
def removed_on_failure() -> Iterator[Made]:
    """Yield a list for the files that the block has made, which are removed when it ends with an error.

    A file that another program has put under such a name meanwhile stays.
    """
    made = Made()
    try:
        yield made
    except BaseException:
        made.remove()
        raise


def keep(arrived: Path, path: Path) -> None:
    """Give a complete file of a service's own the name under which it is kept, on the disk, for its owner only.

    Raises:
        OSError: no room, or something else of the system's.
    """
    arrived.chmod(0o600)
    sync(arrived)
    arrived.replace(path)
    sync(path.parent)


def _probe(temporary: Path) -> None:
    """Raises OSError if nothing more can be written to a file that is to be thrown away."""
    if temporary.exists():
        with temporary.open("ab", buffering=0) as f:
            f.write(bytes(1 << 16))


@contextlib.contextmanager
def writing(
    path: str | Path, *, secret: bool = False, private: bool = False, replace: bool | None = None
) -> Iterator[IO[bytes]]:
    """Yield an open binary file that takes the name `path` as with `new_file`."""
    with new_file(path, secret=secret, private=private, replace=replace) as temporary, temporary.open("wb") as f:
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


def load_vectors(path: str | Path, *, header: bool | None = None) -> Array:
    """Return vectors as rows; arguments and errors as of `load_table`."""
    return load_table(path, header=header).rows


def load_table(path: str | Path, *, header: bool | None = None) -> Named:
    """Return vectors as rows, from .npy (of one or two dimensions), .csv or .tsv, with the names of their columns.

    Args:
        header: whether the first line of text names columns, as of `delimited.read_table`; .npy has no names.

    Raises:
        FormatError: none of these, or damaged; of text, with line and column. ShapeError: empty, or of more
        dimensions. ringforge.ValueError: complex numbers or objects.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix in delimited.SUFFIXES:
        return delimited.read_table(path, header=header)
    if suffix != ".npy":
        raise FormatError(f"{path.name}: numbers are read from .npy, .csv and .tsv files")
    with naming(path):
        raw = load_npy(path)
    if raw.dtype.kind not in "fiub":
        raise RingforgeValueError(f"{path.name} holds {raw.dtype} entries; real numbers are needed")
    if raw.ndim not in (1, 2) or not raw.shape[-1]:
        raise ShapeError(f"{path.name} holds an array of shape {raw.shape}; (n,) or (vectors, n) is needed")
    return Named(None, np.atleast_2d(np.array(raw, dtype=np.float64)))


def save_vectors(path: str | Path, rows: Array) -> None:
    """Writes rows as .npy, or as .csv with 17 digits, which lose nothing."""
    check_vectors_name(path)
    with writing(path) as f:
        if Path(path).suffix == ".npy":
            np.save(f, rows, allow_pickle=False)
        else:
            np.savetxt(f, rows, fmt="%#.17g" if _like_header(rows) else "%.17g", delimiter=",")


def _like_header(rows: Array) -> bool:
    """Whether a first row written without decimal points might be taken for a header."""
    if not len(rows):
        return False
    first, whole = np.atleast_1d(rows[0]), rows == np.floor(rows)
    return np.array_equal(first, np.arange(len(first))) or (bool(np.all(whole[0])) and not whole[1:].any())


def check_vectors_name(path: str | Path) -> None:
    """Refuses names that `save_vectors` cannot write, before any work is done.

    Raises:
        FormatError: the name ends neither in .npy nor in .csv.
    """
    if Path(path).suffix not in {".npy", ".csv"}:
        raise FormatError(f"{Path(path).name}: numbers are written to .npy and .csv files")
