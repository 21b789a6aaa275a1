# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Addresses: what a receiver publishes so that others can post to it, as one line of text.

`ringforge-omr1:` and, in base64 of the URL alphabet without padding:

| bytes | field |
|---:|---|
| 1 | length of the set's name, 1 ... 32 |
| | the name, ASCII |
| 32 | the set's hash |
| 32 + 20 n / 8 | the key of signals: seed, then n words of 20 bits |
| 32 | the box key |
| 8 | the first bytes of the SHA-256 of all before |

At most 3,582 characters for n = 1,024. There is one text for an address. The checksum finds mistakes, not forgers:
who gives somebody else's address a box key of its own can read what is posted to it, so addresses must come from a
source that is trusted.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from dataclasses import dataclass
from typing import Any

from ringforge import files
from ringforge.bytes_form import Bytes, File, content, reading, write
from ringforge.errors import FormatError, MismatchError
from ringforge.omr import sets
from ringforge.omr.payload import KEY_BYTES, BoxKey
from ringforge.omr.sets import Set
from ringforge.omr.signal import SignalKey, require_same

__all__ = ["PREFIX", "Address"]

PREFIX = "ringforge-omr1:"

#: Longer texts are no addresses.
MAX_TEXT = 1 << 15

_SUM = 8


@dataclass(frozen=True, eq=False)
class Address:
    """What senders need: the set, the key of signals, the box key.

    Raises:
        MismatchError: a key of signals of another set.
    """

    set: Set
    signal: SignalKey
    box: BoxKey

    def __post_init__(self) -> None:
        require_same(self.set, self.signal.set, "address and key of signals")

    def __str__(self) -> str:
        name = self.set.name.encode()
        data = bytes([len(name)]) + name + self.set.hash + self.signal.pack() + self.box.data
        data += hashlib.sha256(data).digest()[:_SUM]
        return PREFIX + base64.urlsafe_b64encode(data).decode().rstrip("=")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Address) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that people may compare: of the SHA-256 of the text."""
        return hashlib.sha256(str(self).encode()).hexdigest()[:16]

    @classmethod
    def parse(cls, text: str, insecure: str = "") -> Address:
        """From its text; space around it does not count.

        Args:
            insecure: why an address of a set below 128 bits may be used.

        Raises:
            FormatError: no address, cut off, or mistyped. MismatchError: a set that is another one here.
            ParameterError: a set that is unknown here, or insecure without a reason.
        """
        text = text.strip()
        if not text.startswith(PREFIX):
            raise FormatError(f"no address: addresses begin with {PREFIX}")
        if len(text) > MAX_TEXT:
            raise FormatError(f"an address of {len(text)} characters: none has more than {MAX_TEXT}")
        body = text.removeprefix(PREFIX)
        try:
            data = base64.b64decode(body + "=" * (-len(body) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            raise FormatError("the address has characters that do not belong there, or its end is missing") from None
        if base64.urlsafe_b64encode(data).decode().rstrip("=") != body:
            raise FormatError("the address is not written as addresses are: something was added or changed")
        body_bytes, checksum = data[:-_SUM], data[-_SUM:]
        if len(data) <= _SUM or hashlib.sha256(body_bytes).digest()[:_SUM] != checksum:
            raise FormatError("the address is mistyped or cut off: its checksum does not hold")
        length = body_bytes[0]
        name, rest = body_bytes[1 : 1 + length], body_bytes[1 + length :]
        if not 1 <= length <= 32 or len(name) != length or not name.isascii() or not name.decode().isprintable():
            raise FormatError("the address names no parameter set")
        s = sets.named(name.decode(), insecure)
        if rest[:32] != s.hash:
            raise MismatchError(f'the address is for another set "{s.name}" than the one here: take the same version')
        rest = rest[32:]
        keys = SignalKey.packed_bytes(s)
        if len(rest) != keys + KEY_BYTES:
            raise FormatError(f"the address has {len(rest)} bytes of keys, set {s.name} {keys + KEY_BYTES}")
        return cls(s, SignalKey.unpack(rest[:keys], s), BoxKey(rest[keys:]))

    def save(self, path: File) -> None:
        """Write the line to a file's name or to an open binary file."""
        write(path, [self.to_bytes()])

    def to_bytes(self) -> bytes:
        """Return the line that `save` writes."""
        return f"{self}\n".encode()

    @classmethod
    def from_bytes(cls, data: Bytes, insecure: str = "") -> Address:
        """Read what `to_bytes` gave. Raises as `load`; ParameterError: no bytes."""
        return cls.load(content(data), insecure)

    def __reduce__(self) -> Any:
        return Address.parse, (str(self), self.set.insecure)

    def __copy__(self) -> Address:
        return self

    def __deepcopy__(self, memo: Any) -> Address:
        return self

    @classmethod
    def load(cls, path: File, insecure: str = "") -> Address:
        """Read what `save` wrote, from a file's name or an open binary file.

        Raises:
            As `parse`; FormatError for files that are too long. OSError: it cannot be read.
        """
        with reading(path, MAX_TEXT + 1) as (f, name), files.naming(name):
            data = f.read(MAX_TEXT + 2)
            if len(data) > MAX_TEXT + 1 or not data.isascii():
                raise FormatError("no address: a file has one line of at most 32 KiB")
            return cls.parse(data.decode(), insecure)
