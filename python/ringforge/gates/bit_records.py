# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Records of keys and encrypted bits: how they begin, and what is in those of bits (docs/formats.md)."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ringforge import _native
from ringforge.errors import FormatError, MismatchError, ParameterError

if TYPE_CHECKING:
    from ringforge._native.fhew import GateParameters

Words = npt.NDArray[np.uint32]

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

#: Bytes of a file of bits.
MAX_BITS_FILE = 1 << 32
_MAX_AXES = 8


def parameters(name: str, insecure: str = "") -> GateParameters:
    """A set by name.

    Raises:
        ParameterError: there is none, or it is below 128 bits and `insecure` states no reason.
    """
    return _native.fhew.parameters(name, insecure)


def parameter_names() -> list[str]:
    """Names of the sets."""
    return list(_native.fhew.parameter_names())


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


# ---- bits ----------------------------------------------------------------------------------------


def key_text(key_id: int) -> str:
    """A key in messages."""
    return f"key {key_id:016x}" if key_id else "a key without an id (format 1)"


def _word(params: GateParameters) -> np.dtype[np.unsignedinteger]:
    """Words of ciphertexts in files."""
    return np.dtype("<u2" if params.log_q <= 16 else "<u4")


def pack(items: Mapping[str, Words], params: GateParameters, key_id: int) -> bytes:
    """Return named arrays of ciphertexts of one key, (..., n + 1), as a record; see docs/formats.md.

    Raises:
        ParameterError: a name is longer than 255 bytes, or an array has too many axes.
    """
    parts = [struct.pack("<QH", key_id, len(items))]
    for name, words in items.items():
        label, shape = name.encode(), words.shape[:-1]
        if not 0 < len(label) < 256 or len(shape) > _MAX_AXES:
            raise ParameterError(f'"{name}": names have 1 to 255 bytes, arrays up to {_MAX_AXES} axes')
        parts.append(struct.pack(f"<B{len(label)}sB{len(shape)}I", len(label), label, len(shape), *shape))
        parts.append(np.ascontiguousarray(words).astype(_word(params)).tobytes())
    return _native.io.seal(BITS, params.hash, b"".join(parts))


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


def unpack(data: bytes, owner: Any) -> tuple[dict[str, Words], GateParameters, int]:
    """Read what `pack` gave: the words by name, their parameters, and the id of their key.

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
    found: dict[str, Words] = {}
    for _ in range(reader.number("H")):
        name, words = _entry(reader, params)
        if name in found:
            raise FormatError(f'encrypted bits have "{name}" twice: the file is damaged')
        found[name] = words
    if reader.at != len(reader.data):
        raise FormatError("bytes follow the encrypted bits: the file is damaged")
    return found, params, header.key_id


def _entry(reader: _Reader, params: GateParameters) -> tuple[str, Words]:
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
    return name, words.reshape(*shape, params.n + 1)
