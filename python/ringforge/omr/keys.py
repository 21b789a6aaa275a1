# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A receiver's secrets, and the detection key that it gives to detectors.

A detection key is the key of signals under BFV encryption, two rotation keys, a relinearisation key and the keys of
compression. All are public: with them a detector finds messages without learning which. Uniform halves travel as seeds.
docs/formats.md has the bytes of both files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ringforge import _native
from ringforge._native import GaloisKey, GaloisKeys, RelinKey, TestSeed, io
from ringforge._native.bfv import Ciphertext, Client, Context, Parameters
from ringforge.bytes_form import File, Portable, reading, write
from ringforge.errors import FormatError, MismatchError
from ringforge.files import new_file
from ringforge.omr import sets
from ringforge.omr.address import Address
from ringforge.omr.kernels import AffineShape
from ringforge.omr.payload import BoxSecret
from ringforge.omr.progress import Progress, reach
from ringforge.omr.sets import Set
from ringforge.omr.signal import SignalSecret
from ringforge.secrecy import Secret
from ringforge.unique import once_each

if TYPE_CHECKING:
    from ringforge._native import SecretKey

__all__ = ["DetectionKey", "ReceiverSecret", "affine_shape", "bfv_context"]

#: A head's text is at most as long as its record's body.
_MAX_HEAD = 4096


@cache
def _context(name: str, insecure: str) -> Context:
    return Context(Parameters.named(name, insecure))


def bfv_context(s: Set) -> Context:
    """The BFV context of a set; one for each."""
    return _context(s.bfv, s.insecure)


def affine_shape(s: Set, method: str) -> AffineShape:
    """What the affine transform of a set depends on: all limbs of Q."""
    context = bfv_context(s)
    return AffineShape(context, s.n, s.clues, s.babies, method, context.params.max_limbs)


class ReceiverSecret(Secret):
    """Everything a receiver must keep to itself: BFV secret, secret of signals, secret of boxes, secret of digests.

    Args:
        s: the parameter set.
        bfv: opens what detectors compute. signal: finds signals. box: opens payloads.
        compression: opens digests.
    """

    saved_by = "its `save` writes it to a file"

    def __init__(
        self, s: Set, bfv: SecretKey, signal: SignalSecret, box: BoxSecret, compression: _native.omr.CompressionSecret
    ) -> None:
        self.set, self.bfv, self.signal, self.box, self.compression = s, bfv, signal, box, compression

    @classmethod
    def make(cls, s: Set, *, fixed_seed_for_tests: TestSeed | None = None) -> ReceiverSecret:
        """A new one, of the system's randomness."""
        from ringforge.omr.compress import compression_context

        return cls(
            s,
            Client(bfv_context(s), fixed_seed_for_tests).secret_key(),
            SignalSecret.make(s, fixed_seed_for_tests=fixed_seed_for_tests),
            BoxSecret.make(),
            _native.omr.CompressionSecret(compression_context(s), fixed_seed_for_tests),
        )

    def address(self) -> Address:
        """What senders need."""
        return Address(self.set, self.signal.public(), self.box.public())

    def save(self, path: str | Path) -> None:
        """Writes a file that only its owner can read.

        Raises:
            FileExistsError: there is a file with a secret already.
        """
        head = {
            "set": self.set.name,
            "insecure": self.set.insecure,
            "signal": self.signal.secret_bytes().hex(),
            "box": self.box.secret_bytes().hex(),
        }
        with new_file(path, secret=True) as temporary, temporary.open("wb") as f:
            f.write(io.seal(io.RECEIVER_SECRET, self.set.hash, json.dumps(head).encode()))
            f.write(io.to_bytes(bfv_context(self.set), self.bfv))
            f.write(self.compression.to_bytes())

    @classmethod
    def load(cls, path: str | Path) -> ReceiverSecret:
        """Reads what `save` wrote.

        Raises:
            FormatError: it is no such file, or damaged. MismatchError: for other parameters.
        """
        from ringforge.omr.compress import compression_context

        with Path(path).open("rb") as f:
            head, parameters = _read_head(f, io.RECEIVER_SECRET, "secrets of a receiver", ("signal", "box"))
            s = _set(head, parameters)
            try:
                signal = SignalSecret(s, bytes.fromhex(head["signal"]))
                box = BoxSecret(bytes.fromhex(head["box"]))
            except ValueError:  # names no byte of it
                raise FormatError("the file's secrets of signals and boxes are damaged") from None
            context = bfv_context(s)
            key = io.secret_key_from_bytes(_record(f, "BFV secret"), context)
            compression = _native.omr.CompressionSecret.from_bytes(
                _record(f, "secret of digests"), compression_context(s)
            )
            _end(f)
        return cls(s, key, signal, box, compression)

    def __repr__(self) -> str:
        return f"ReceiverSecret({self.set.name}, ...)"


@dataclass(frozen=True, eq=False)
class DetectionKey(Portable):
    """What a detector needs to search bulletins for one receiver. It holds no secret.

    Attributes:
        set: parameters. method: of the affine transform and range check, "ringforge" or "paper".
        signal: the key of signals, encrypted. rotations: keys of one step and of B steps. relin: for products.
        compression: keys of compression.
    """

    set: Set
    method: str
    signal: Ciphertext = field(repr=False)
    rotations: tuple[GaloisKey, ...] = field(repr=False)
    relin: RelinKey = field(repr=False)
    compression: _native.omr.CompressionKeys = field(repr=False)

    def __post_init__(self) -> None:
        shape = affine_shape(self.set, self.method)
        if self.signal.limbs != shape.limbs:
            raise MismatchError(
                f"the encrypted key of signals has {self.signal.limbs} limbs, set {self.set.name} takes {shape.limbs}"
            )
        for what, element in (("one step", shape.native.baby_element), ("B steps", shape.native.giant_element)):
            if element not in self.galois:
                raise MismatchError(
                    f"the detection key lacks the rotation key of {what}: make it anew with `omr keygen`"
                )

    @cached_property
    def galois(self) -> GaloisKeys:
        """The rotation keys as a set."""
        keys = GaloisKeys()
        for key in self.rotations:
            keys.insert(key)
        return keys

    @classmethod
    def make(
        cls,
        secret: ReceiverSecret,
        method: str = "ringforge",
        threads: int = 1,
        *,
        fixed_seed_for_tests: TestSeed | None = None,
    ) -> DetectionKey:
        """A new one for a receiver's secret."""
        s, context = secret.set, bfv_context(secret.set)
        shape, client = affine_shape(s, method), Client(context, fixed_seed_for_tests)
        elements = dict.fromkeys((shape.native.baby_element, shape.native.giant_element))
        residues = np.mod(secret.signal.coefficients(), s.t).astype(np.uint32)
        slots = context.encode(np.asarray(shape.layout.key_slots(residues)).astype(np.int64))
        return cls(
            s,
            method,
            client.encrypt(slots, secret.bfv),
            tuple(client.galois_key(secret.bfv, element, None, threads) for element in elements),
            client.relin_key(secret.bfv, None, threads),
            _native.omr.CompressionKeys(secret.bfv, secret.compression, fixed_seed_for_tests, threads),
        )

    @property
    def bytes(self) -> int:
        """Bytes of its keys in memory."""
        return int(sum(key.bytes for key in self.rotations) + self.relin.bytes + self.compression.memory_bytes)

    def save(self, path: File) -> int:
        """Write the head, then each part as a record, one at a time, to a file's name or to an open binary file.

        Returns:
            bytes written.
        """
        return write(path, self._records())

    def _records(self) -> Iterator[Any]:
        context, head = bfv_context(self.set), {"set": self.set.name, "insecure": self.set.insecure}
        text = json.dumps({**head, "method": self.method}).encode()
        yield io.seal(io.DETECTION_KEY, self.set.hash, text)
        yield io.to_bytes(context, self.signal)
        for key in self.rotations:
            yield io.to_bytes(context, key)
        yield io.to_bytes(context, self.relin)
        yield self.compression.to_bytes()

    def __copy__(self) -> DetectionKey:
        return self

    def __deepcopy__(self, memo: Any) -> DetectionKey:
        return self

    @classmethod
    def load(cls, path: File, s: Set | None = None, threads: int = 1, progress: Progress | None = None) -> DetectionKey:
        """Read what `save` wrote.

        Args:
            path: a file's name, or an open binary file.
            s: the set that it must be for; None: whichever the file names.
            progress: gets the fraction done before each part; False cancels.

        Raises:
            FormatError: it is no such file, cut off or damaged. MismatchError: it is for other parameters, or its parts
            do not belong together. Error "cancelled".
        """
        from ringforge.omr.compress import compression_context

        with reading(path) as (f, _):
            head, parameters = _read_head(f, io.DETECTION_KEY, "a detection key", ("method",))
            found = _set(head, parameters)
            if s is not None and s.hash != found.hash:
                raise MismatchError(
                    f"the detection key is for set {found.name}, {s.name} is searched: "
                    "make one for it with `omr keygen`"
                )
            if head["method"] not in ("ringforge", "paper"):
                raise FormatError(f'the detection key is for method "{head["method"][:32]}", which there is not')
            s = s or found
            context = bfv_context(s)

            def record(what: str) -> bytes:
                reach(progress, f.tell() / size)
                return _record(f, what)

            size = f.tell() + _remaining(f)
            signal = io.ciphertext_from_bytes(record("encrypted key of signals"), context)
            rotations = tuple(
                io.galois_key_from_bytes(record(what), context)
                for what in ("first rotation key", "second rotation key")
            )
            relin = io.relin_key_from_bytes(record("relinearisation key"), context)
            compression = _native.omr.CompressionKeys.from_bytes(
                record("compression keys"), compression_context(s), threads
            )
            _end(f)
        if {compression.from_id, relin.key_id, *(key.key_id for key in rotations)} != {signal.key_id}:
            raise MismatchError("the parts of the detection key are of different receivers: make it anew")
        return cls(s, head["method"], signal, rotations, relin, compression)


# ---- files ---------------------------------------------------------------------------------------


def _record(f: IO[bytes], what: str) -> bytes:
    """The record where an open file stands. Lengths are checked by its type before memory is taken."""
    start = f.tell()
    header = f.read(1 << 12)
    if not header:
        raise FormatError(f"the file ends before its {what}: it is cut off")
    size = io.peek(header).bytes
    f.seek(start)
    data = f.read(size) if size <= _remaining(f) else b""
    if len(data) != size:
        raise FormatError(f"the file ends in its {what}, {size} bytes long: it is cut off")
    return data


def _remaining(f: IO[bytes]) -> int:
    here = f.tell()
    end = f.seek(0, 2)
    f.seek(here)
    return end - here


def _end(f: IO[bytes]) -> None:
    if f.read(1):
        raise FormatError("the file goes on behind its last record")


def _read_head(f: IO[bytes], code: int, what: str, more: tuple[str, ...]) -> tuple[dict[str, str], bytes]:
    """The text before the other records, and the hash of the set."""
    start = f.read(1 << 12)
    try:
        if io.peek(start).code != code:
            raise FormatError(f"the file begins with another record than {what}")
    except FormatError as e:
        raise FormatError(f"this is no file with {what}: {e}") from None
    f.seek(0)
    _, parameters, body = io.unseal(_record(f, "head"), code)
    try:
        head: Any = json.loads(body, object_pairs_hook=once_each)
    except (ValueError, RecursionError):
        head = None
    names = {"set", "insecure", *more}
    if not isinstance(head, dict) or set(head) != names or not all(isinstance(x, str) for x in head.values()):
        raise FormatError(f"the head of the file with {what} is damaged")
    return head, bytes(parameters)


def _set(head: dict[str, str], parameters: bytes) -> Set:
    s = sets.named(head["set"], head["insecure"])
    if s.hash != parameters:
        raise MismatchError(f"the file is of another set {s.name[:32]} than this version has: make keys anew")
    return s
