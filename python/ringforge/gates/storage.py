# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Keys and encrypted bits: made, written, read.

Files are records (docs/formats.md): they name the parameters by their hash, and their bodies begin with the key's id,
so that readers find the parameters by themselves and what belongs together is known. Files of formats 1 and 2, from
before records, are read; those of format 1 have no id, which is warned of.
"""

from __future__ import annotations

import math
import struct
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from ringforge import _native
from ringforge.devices import Progress
from ringforge.errors import FormatError, MismatchError, ParameterError, UnidentifiedWarning
from ringforge.files import naming, new_file, writing
from ringforge.gates import noise
from ringforge.gates.bits import Bits, Keyed, check_same, key_text

if TYPE_CHECKING:
    from ringforge._native.fhew import EvaluationKey, GateParameters, SecretKey

Method = Literal["ginx", "ap", "automorphism"]

SECRET, EVALUATION, BITS = _native.io.GATE_SECRET_KEY, _native.io.GATE_EVALUATION_KEY, _native.io.GATE_BITS

#: Kinds of files by their type of record: what they are, and which command writes them.
KINDS = {
    SECRET: ("secret key of gates", "`gates keygen --secret`"),
    EVALUATION: ("evaluation key of gates", "`gates keygen --eval-key`"),
    BITS: ("encrypted bits", "`gates encrypt` or `gates run`"),
}
_ID_BYTES = 8

#: Bits from before records, which begin otherwise than all else.
_OLD_BITS = b"RGFBITS"

#: Bytes that are enough for `read_header`: those of a record's header, of the key's id, of a method.
HEADER_BYTES = _native.io.HEADER_BYTES + _ID_BYTES + 1

#: Bytes of a file of bits, of a file of a secret key.
MAX_BITS_FILE, MAX_SECRET_FILE = 1 << 32, 1 << 16
_MAX_AXES = 8


def keygen(
    params: str | GateParameters = "gates-128",
    *,
    method: Method = "ginx",
    threads: int = 1,
    insecure: str = "",
    progress: Progress | None = None,
) -> tuple[SecretKey, EvaluationKey]:
    """Makes a secret key, which encrypts and decrypts, and an evaluation key, which computes.

    Args:
        params: a set, or its name (:func:`parameter_names`).
        method: the accumulator: ginx, fastest on CPUs; ap, the published accelerator's; automorphism, with the
            smallest keys for ternary secrets.
        threads: for the evaluation key.
        insecure: why a set below 128 bits may be used.
        progress: takes the fraction done.

    Raises:
        ParameterError: an unknown set or method, or an insecure set without a reason.
    """
    if method not in noise.METHODS:
        raise ParameterError(f'unknown method "{method}": take one of {", ".join(noise.METHODS)}')
    chosen = parameters(params, insecure) if isinstance(params, str) else params
    secret = _native.fhew.SecretKey(chosen)
    return secret, make_evaluation_key(secret, method, threads, progress)


def make_evaluation_key(
    secret: SecretKey, method: Method = "ginx", threads: int = 1, progress: Progress | None = None
) -> EvaluationKey:
    """An evaluation key for a secret key that there is already."""
    return _native.fhew.EvaluationKey.make(secret, _native.fhew.Method[method.upper()], threads, progress)


def parameters(name: str, insecure: str = "") -> GateParameters:
    """A set by name.

    Raises:
        ParameterError: there is none, or it is below 128 bits and `insecure` states no reason.
    """
    return _native.fhew.parameters(name, insecure)


def parameter_names() -> list[str]:
    """Names of the sets."""
    return list(_native.fhew.parameter_names())


# ---- headers -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Header:
    """How a file of keys or bits begins.

    Attributes:
        kind: of :data:`KINDS`.
        format: 1 to 3.
        parameter_hash: of the parameters.
        key_id: of the secret key that it belongs to, or 0 where nothing says it.
        method: of an evaluation key, by its number.
    """

    kind: int
    format: int
    parameter_hash: bytes
    key_id: int
    method: int = 0


def read_header(data: bytes, wanted: int | None = None) -> Header:
    """Reads the beginning of a file.

    Args:
        data: at least as much as there is of the first :data:`HEADER_BYTES`.
        wanted: the kind that it must be of.

    Raises:
        FormatError: it is no header, or one of another kind or format.
    """
    what, writer = KINDS.get(wanted or 0, ("file of gates", "`gates keygen`, `gates encrypt` or `gates run`"))
    if not data.startswith((_native.io.MAGIC, _OLD_BITS)):
        raise FormatError(f"no {what}: take a file that {writer} wrote")
    info = _native.io.peek(data)
    if wanted is not None and info.code != wanted:
        raise FormatError(f"no {what} but {info.type}: take a file that {writer} wrote")
    if info.code not in KINDS:
        raise FormatError(f"no {what} but {info.type}: take a file that {writer} wrote")
    key_id = int(info.fields["key_id"])
    if info.version == 2 and not key_id:
        raise FormatError(f"{info.type} with the key id 0, which no key has: the file is damaged, copy it again")
    return Header(info.code, info.version, info.parameter_hash, key_id, int(info.fields.get("method", 0)))


def _warn_without_id(path: str | Path, header: Header) -> None:
    if not header.key_id:
        warnings.warn(
            f"{Path(path).name}: format {header.format}, without a key id: nothing tells whether it belongs to the "
            "other files; new keys (`gates keygen`) have ids",
            UnidentifiedWarning,
            stacklevel=3,
        )


def parameters_by_hash(wanted: bytes, accept_insecure: str = "") -> GateParameters:
    """The shipped set with this hash.

    Raises:
        FormatError: there is none. ParameterError: it is below 128 bits and `accept_insecure` states no reason.
    """
    name = set_name(wanted)
    if not name:
        raise FormatError(
            f"its parameters ({wanted.hex()[:8]}...) are no shipped set: take the release of Ringforge that has it"
        )
    return parameters(name, accept_insecure)


def set_name(parameter_hash: bytes) -> str:
    """The name of the shipped set with this hash, or nothing."""
    shown = "compared by its hash, not used"
    return next((n for n in parameter_names() if parameters(n, shown).hash == parameter_hash), "")


# ---- keys ----------------------------------------------------------------------------------------


@contextmanager
def _wiped(data: bytearray) -> Iterator[bytearray]:
    """Overwrites the bytes at the end."""
    try:
        yield data
    finally:
        data[:] = bytes(len(data))


def save_secret_key(path: str | Path, secret: SecretKey) -> None:
    """Writes a secret key into a file that only its owner can read."""
    # Unbuffered: no second copy stays in memory.
    with (
        new_file(path, secret=True) as temporary,
        _wiped(secret.save()) as data,
        temporary.open("wb", buffering=0) as f,
    ):
        view = memoryview(data)
        while view:
            view = view[f.write(view) :]


def load_secret_key(path: str | Path, accept_insecure: str = "") -> SecretKey:
    """Reads a secret key.

    Args:
        path: of :func:`save_secret_key`.
        accept_insecure: why parameters below 128 bits are accepted.

    Raises:
        FormatError: it is damaged, or none. ParameterError: its parameters are insecure.

    Warns:
        UnidentifiedWarning: the key has no id, so that nothing tells what belongs to it.
    """
    with naming(path), _wiped(bytearray(MAX_SECRET_FILE + 1)) as data:
        size = 0
        with Path(path).open("rb", buffering=0) as f, memoryview(data) as view:
            while size < len(data) and (more := f.readinto(view[size:])):
                size += more
        header = read_header(bytes(data[: min(size, HEADER_BYTES)]), SECRET)
        if size > MAX_SECRET_FILE:
            raise FormatError(f"more than {MAX_SECRET_FILE} bytes, which no secret key has: copy the file again")
        params = parameters_by_hash(header.parameter_hash, accept_insecure)
        key = _native.fhew.SecretKey.load(params, memoryview(data)[:size])
    _warn_without_id(path, header)
    return key


def save_evaluation_key(path: str | Path, key: EvaluationKey) -> int:
    """Writes an evaluation key; returns the size of the file in bytes."""
    with new_file(path) as temporary:
        key.save(str(temporary))
    return Path(path).stat().st_size


def load_evaluation_key(path: str | Path, threads: int = 1, accept_insecure: str = "") -> EvaluationKey:
    """Reads an evaluation key.

    Raises:
        FormatError: it is damaged, or none. ParameterError: its parameters are insecure.

    Warns:
        UnidentifiedWarning: the key has no id, so that nothing tells what belongs to it.
    """
    with naming(path):
        with Path(path).open("rb") as f:
            header = read_header(f.read(HEADER_BYTES), EVALUATION)
        params = parameters_by_hash(header.parameter_hash, accept_insecure)
        key = _native.fhew.EvaluationKey.load(str(path), params, threads)
    _warn_without_id(path, header)
    return key


# ---- bits ----------------------------------------------------------------------------------------


def _word(params: GateParameters) -> np.dtype[np.unsignedinteger]:
    """Words of ciphertexts in files."""
    return np.dtype("<u2" if params.log_q <= 16 else "<u4")


def bits_to_bytes(items: Mapping[str, Bits]) -> bytes:
    """Named arrays of bits as one string of bytes; see docs/gates.md for the format.

    Raises:
        ParameterError: there is none, or a name is longer than 255 bytes. MismatchError: parameters or keys differ.
    """
    if not items:
        raise ParameterError("no bits to write: give at least one array")
    first = next(iter(items.values()))
    parts = [struct.pack("<QH", first.key_id, len(items))]
    for name, bits in items.items():
        check_same(first, bits)
        label = name.encode()
        if not 0 < len(label) < 256 or bits.ndim > _MAX_AXES:
            raise ParameterError(f'"{name}": names have 1 to 255 bytes, arrays up to {_MAX_AXES} axes')
        parts.append(struct.pack(f"<B{len(label)}sB{bits.ndim}I", len(label), label, bits.ndim, *bits.shape))
        parts.append(np.ascontiguousarray(bits.words).astype(_word(bits.params)).tobytes())
    return _native.io.seal(BITS, first.params.hash, b"".join(parts))


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, count: int) -> bytes:
        if count > len(self.data) - self.at:
            raise FormatError(f"encrypted bits end early, at byte {self.at}: copy the file again")
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, form: str) -> int:
        return int(struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))[0])


def bits_from_bytes(data: bytes, owner: Keyed | GateParameters) -> dict[str, Bits]:
    """Reads what :func:`bits_to_bytes` wrote.

    Args:
        data: the bytes.
        owner: a key, or an evaluator, that the bits must belong to; or their parameters, whatever the key.

    Raises:
        FormatError: it is damaged, or no encrypted bits. MismatchError: they belong to other parameters or another key.
    """
    header = read_header(data[:HEADER_BYTES], BITS)
    version, _, body = _native.io.unseal(data, BITS)
    params = owner if isinstance(owner, _native.fhew.GateParameters) else owner.params
    if header.parameter_hash != params.hash:
        other = set_name(header.parameter_hash) or "no shipped set"
        raise MismatchError(
            f"encrypted bits belong to other parameters ({other}) than {params.name}: take the keys they were made with"
        )
    key_id = getattr(owner, "key_id", header.key_id)
    if key_id != header.key_id:
        raise MismatchError(
            f"encrypted bits of {key_text(header.key_id)}, but the key given is {key_text(key_id)}: "
            "take the keys and bits of one `gates keygen`"
        )
    reader = _Reader(body)
    if version > 1:
        reader.take(_ID_BYTES)
    # Records say their length themselves.
    if version < 3 and reader.number("Q") != len(reader.data) - reader.at:
        raise FormatError("encrypted bits have another length than they say: the file is damaged")
    found: dict[str, Bits] = {}
    for _ in range(reader.number("H")):
        name, bits = _entry(reader, params, header.key_id)
        if name in found:
            raise FormatError(f'encrypted bits have "{name}" twice: the file is damaged')
        found[name] = bits
    if reader.at != len(reader.data):
        raise FormatError("bytes follow the encrypted bits: the file is damaged")
    return found


def _entry(reader: _Reader, params: GateParameters, key_id: int) -> tuple[str, Bits]:
    try:
        name = reader.take(reader.number("B")).decode()
    except UnicodeDecodeError:
        raise FormatError("encrypted bits have a name that is no UTF-8") from None
    axes = reader.number("B")
    if not name or not name.isprintable() or axes > _MAX_AXES:
        raise FormatError("encrypted bits have an array without a proper name, or of too many axes")
    shape = [reader.number("I") for _ in range(axes)]
    size = _word(params).itemsize * (params.n + 1) * math.prod(shape)
    if math.prod(max(1, length) for length in shape) > MAX_BITS_FILE:
        raise FormatError(f'encrypted bits "{name}" have an impossible shape')
    words = np.frombuffer(reader.take(size), dtype=_word(params)).astype(np.uint32)
    if words.size and int(words.max()) >> params.log_q:
        raise FormatError(f'encrypted bits "{name}" hold a word of more than {params.log_q} bits')
    return name, Bits(words.reshape(*shape, params.n + 1), params, key_id=key_id)


def save_bits(path: str | Path, items: Mapping[str, Bits]) -> int:
    """Writes named arrays of bits; returns the size of the file in bytes."""
    data = bits_to_bytes(items)
    with writing(path) as f:
        f.write(data)
    return len(data)


def load_bits(path: str | Path, owner: Keyed | GateParameters) -> dict[str, Bits]:
    """Reads a file of :func:`save_bits`.

    Args:
        path: the file.
        owner: a key, or an evaluator, that the bits must belong to; or their parameters, whatever the key.

    Raises:
        FormatError: it is damaged, or none. MismatchError: it belongs to other parameters or another key.

    Warns:
        UnidentifiedWarning: the bits have no key id, so that nothing tells whether they belong to the key.
    """
    with naming(path):
        with Path(path).open("rb") as f:
            data = f.read(MAX_BITS_FILE + 1)
        if len(data) > MAX_BITS_FILE:
            raise FormatError(f"more than {MAX_BITS_FILE >> 30} GiB of encrypted bits: split them")
        found = bits_from_bytes(data, owner)
    _warn_without_id(path, read_header(data[:HEADER_BYTES]))
    return found
