# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Files of encrypted blocks and of encrypted round keys. docs/formats.md has the bytes.

A file says what it holds, then come the ciphertexts' records, then a digest of what it says and of the records'
checksums, by which the file is also known. So a file whose records are of several files, or in another order, is none.
Files are walked when they are opened; a record is read, and its checksum compared, when it is needed.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Annotated, Any, Literal

from pydantic import Field, ValidationError

from ringforge import _native
from ringforge.aes.engine import FRESH, ROUNDS, AesClient, Codec, Direction, State, as_key
from ringforge.aes.transcipher import TagKey
from ringforge.errors import DuplicateError, FormatError, MismatchError, MissingKeyError
from ringforge.files import first_line, make_folder, naming, writing
from ringforge.programs import Frozen, first_problem
from ringforge.serving.access import read_private
from ringforge.unique import once_each

#: What a file begins with.
MAGIC = b"RGFAES01"

#: Bytes of the digest at the end, of a record's checksum, and the most of a head.
_DIGEST = 32
_MAX_HEAD = 4096

#: Most records of a file.
_MAX_RECORDS = 1 << 24


class Head(Frozen):
    """What a file says of itself.

    Args:
        kind: encrypted blocks, or a round key. scheme: as of its engine.
        direction: of the circuit that it is for. round: as of `State`; of round keys the round in order of use.
        blocks: in all states together; 0 for round keys. slots: blocks of a full state.
        ciphertexts: of a state, or of a round key.
        made: what made it: random for what a client encrypted, the same for all round keys of a set; the task's digest
        for what was computed.
        computed: what was computed on the blocks (`computing.Computation.text`), if anything.
        budget: of noise, bits, predicted, where that is known.
    """

    format: Literal["ringforge-aes"] = "ringforge-aes"
    kind: Literal["blocks", "round key"]
    scheme: Annotated[str, Field(pattern="^[a-z]{1,16}$")]
    direction: Direction
    round: Annotated[int, Field(ge=FRESH, le=ROUNDS)]
    blocks: Annotated[int, Field(ge=0, le=1 << 40)]
    slots: Annotated[int, Field(ge=1, le=1 << 20)]
    ciphertexts: Annotated[int, Field(ge=1, le=1 << 12)]
    made: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    computed: Annotated[str, Field(max_length=32)] = ""
    budget: float | None = None

    @property
    def states(self) -> int:
        """States in the file."""
        return max(1, -(-self.blocks // self.slots))

    @property
    def records(self) -> int:
        return self.states * self.ciphertexts

    def blocks_of(self, state: int) -> int:
        """Blocks of a state."""
        return min(self.slots, self.blocks - state * self.slots)


def new_name() -> str:
    """A random `made`."""
    return secrets.token_hex(32)


# ---- writing -------------------------------------------------------------------------------------


def write(path: Path, parameters: bytes, head: Head, records: Iterable[bytes]) -> str:
    """Writes a file, whole or not at all; it is on the disk before it takes its name. Returns its digest.

    Args:
        parameters: the hash of those that the records belong to.

    Raises:
        OSError: no room, or something else of the system's; what was there before still is.
    """
    text = head.model_dump_json(exclude_none=True).encode()
    label = bytes(_native.io.seal(_native.io.LABEL, parameters, text))
    begin = MAGIC + len(label).to_bytes(4, "little") + label
    digest = hashlib.sha256(begin)
    with writing(path) as f:
        f.write(begin)
        count = 0
        for record in records:
            f.write(record)
            digest.update(record[-_DIGEST:])
            count += 1
        assert count == head.records, (count, head.records)
        f.write(digest.digest())
    return digest.hexdigest()


def write_states(path: Path, codec: Codec, head: Head, states: Iterable[State]) -> str:
    """Writes states, one after the other; as `write`."""
    return write(path, codec.parameter_hash, head, (codec.to_bytes(c) for s in states for c in s.ciphertexts))


def head_of(codec: Codec, state: State, made: str, blocks: int | None = None, budget: float | None = None) -> Head:
    """The head of a file of this state, or of several like it with so many blocks in all."""
    return Head(
        kind="blocks",
        scheme=codec.scheme,
        direction=state.direction,
        round=state.round,
        blocks=state.blocks if blocks is None else blocks,
        slots=codec.slots,
        ciphertexts=codec.ciphertexts,
        made=made,
        budget=budget,
    )


# ---- reading -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Walked:
    """A file that has been walked, not read.

    Attributes:
        head: what it says. parameters: hash of those that it belongs to. digest: it is known by, in hexadecimal.
        spans: offset and bytes of each record.
    """

    head: Head
    parameters: bytes
    digest: str
    spans: list[tuple[int, int]]


def walk(f: IO[bytes], size: int, most: int = 1 << 40) -> Walked:
    """Goes through an open file of `size` bytes, without reading what records hold. Whether a record is what its
    checksum says is seen when it is read.

    Args:
        most: bytes of a record.

    Raises:
        FormatError: it is none of these files, damaged, or cut off.
    """
    start = f.read(len(MAGIC) + 4)
    length = int.from_bytes(start[len(MAGIC) :], "little")
    if not start.startswith(MAGIC) or len(start) != len(MAGIC) + 4:
        raise FormatError("this is no file of encrypted blocks or round keys: `ringforge aes encrypt` makes them")
    if not 0 < length <= _MAX_HEAD + _native.io.FRAME_BYTES:
        raise FormatError(f"its head has {length} bytes: it is damaged, or of another version")
    label = f.read(length)
    digest = hashlib.sha256(start + label)
    _, parameters, text = _native.io.unseal(label, _native.io.LABEL)
    head = _parsed(text)
    if head.records > _MAX_RECORDS:
        raise FormatError(f"it announces {head.records} records; {_MAX_RECORDS} are the most")
    spans: list[tuple[int, int]] = []
    at, end = len(start) + length, size - _DIGEST
    for _ in range(head.records):
        f.seek(at)
        begin = f.read(min(_native.io.HEADER_BYTES + _native.io.HEAD_BYTES, max(0, end - at)))
        count = _native.io.peek(begin).bytes if begin else 0
        if not 0 < count <= end - at:
            raise FormatError(
                f"it ends within record {len(spans) + 1} of {head.records}: it was cut off; copy it again"
            )
        if count > most:
            raise FormatError(f"a record of {count} bytes; those of this parameter set have {most} at the most")
        f.seek(at + count - _DIGEST)
        digest.update(f.read(_DIGEST))
        spans.append((at, count))
        at += count
    f.seek(at)
    if at != end or f.read(_DIGEST + 1) != digest.digest():
        raise FormatError("its records are not those that belong together: it is damaged; make or copy it again")
    return Walked(head, parameters, digest.hexdigest(), spans)


def _parsed(text: bytes) -> Head:
    try:
        return Head.model_validate(json.loads(text, object_pairs_hook=once_each))
    except ValidationError as e:
        raise FormatError(f"its head is none of ours: {first_problem(e)}") from None
    except (ValueError, RecursionError) as e:
        raise FormatError(f"its head is none of ours: {first_line(e)}") from None


def peek(path: Path) -> Walked:
    """Walks a file. Raises as `walk`; OSError: it cannot be read."""
    with path.open("rb") as f, naming(path):
        return walk(f, os.fstat(f.fileno()).st_size)


class File:
    """A file of ciphertexts of an engine.

    Raises:
        FormatError: as `walk`. MismatchError: of another scheme or other parameters. OSError: it cannot be read.
    """

    def __init__(self, path: Path, codec: Codec) -> None:
        self.path, self._codec = path, codec
        with path.open("rb") as f, naming(path):
            walked = walk(f, os.fstat(f.fileno()).st_size, codec.max_record_bytes)
            head = walked.head
            if (head.scheme, walked.parameters) != (codec.scheme, codec.parameter_hash):
                raise MismatchError(
                    f"it holds ciphertexts of {head.scheme} and parameters {walked.parameters.hex()[:8]}; the keys are "
                    f"of {codec.scheme} and {codec.parameter_hash.hex()[:8]}: take the keys it was made with"
                )
            if (head.slots, head.ciphertexts) != (codec.slots, codec.ciphertexts):
                raise FormatError(
                    f"states of {head.slots} blocks in {head.ciphertexts} ciphertexts; these parameters have "
                    f"{codec.slots} in {codec.ciphertexts}"
                )
        self.head, self.digest, self._spans = head, walked.digest, walked.spans

    def records(self, state: int | None = None) -> Iterator[bytes]:
        """The records of a state, or all, as they are."""
        n = self._codec.ciphertexts
        with self.path.open("rb") as f:
            for at, count in self._spans if state is None else self._spans[state * n : (state + 1) * n]:
                f.seek(at)
                record = f.read(count)
                if len(record) != count:
                    raise FormatError(f"{self.path.name} has become shorter while it was read")
                yield record

    def ciphertexts(self, state: int = 0) -> list[Any]:
        """The ciphertexts of a state. Raises FormatError, MismatchError."""
        with naming(self.path):
            return [self._codec.from_bytes(record) for record in self.records(state)]

    def state(self, state: int = 0) -> State:
        """Encrypted blocks. Raises FormatError, MismatchError: damaged; or it is a round key."""
        head = self.head
        if head.kind != "blocks" or not head.blocks:
            raise MismatchError(f"{self.path.name} holds a {head.kind}, where encrypted blocks are needed")
        return State(head.scheme, head.blocks_of(state), head.round, head.direction, self.ciphertexts(state))


# ---- round keys ----------------------------------------------------------------------------------


def round_file(i: int) -> str:
    """The name of a round key's file."""
    return f"round-{i:02}.aes"


#: Names of the files of a directory of round keys.
ROUND_FILES = tuple(round_file(i) for i in range(ROUNDS + 1))

#: Beside them: the key for tags of streams under the same AES key, which client and server share.
TAG_FILE = "stream.key"


def tag_key(aes: bytes) -> TagKey:
    """The key for tags that goes with an AES key, from which that cannot be told."""
    return TagKey(hmac.digest(as_key(aes), b"ringforge aes tags 1", "sha256"))


def read_tag_key(directory: Path) -> TagKey:
    """The key for tags of a directory of round keys.

    Raises:
        MissingKeyError: there is none. FormatError: it is none. ParameterError: others may read it.
    """
    path = directory / TAG_FILE
    if not path.exists():
        raise MissingKeyError(f"{TAG_FILE} is not in {directory}: streams need it; `ringforge aes encrypt` makes it")
    data = read_private(path)
    if len(data) != _DIGEST:
        raise FormatError(f"{path.name} in {directory} is no key for tags: make the round keys again")
    return TagKey(data)


class RoundKeys:
    """A directory of encrypted round keys, a file each; memory holds one at a time. No secret.

    Raises:
        MissingKeyError: one is not there. FormatError, MismatchError: damaged, of other parameters, or not of one set.
    """

    def __init__(self, directory: Path, codec: Codec) -> None:
        self.directory, self._files = directory, list[File]()
        for i, name in enumerate(ROUND_FILES):
            path = directory / name
            if not path.exists():
                raise MissingKeyError(
                    f"round key {i} is not in {directory}: the holder of the AES key makes all with `ringforge aes "
                    "encrypt --aes-key-file`"
                )
            file = File(path, codec)
            if (file.head.kind, file.head.round) != ("round key", i):
                raise MismatchError(f"{name} holds a {file.head.kind} of round {file.head.round}: files were exchanged")
            self._files.append(file)
        first = self._files[0].head
        if any((f.head.made, f.head.direction) != (first.made, first.direction) for f in self._files):
            raise MismatchError(f"the round keys in {directory} are of several sets: make all of them again")
        self.direction: Direction = first.direction
        #: What this set is known by, in hexadecimal.
        self.digest = hashlib.sha256("".join(f.digest for f in self._files).encode()).hexdigest()

    def round(self, i: int) -> list[Any]:
        """As `engine.RoundKeySource`."""
        return self._files[i].ciphertexts()


def write_round_keys(
    directory: Path,
    client: AesClient,
    key: bytes,
    direction: Direction,
    progress: Callable[[float], None] | None = None,
) -> int:
    """Encrypts round keys into a directory, which is made, or empty; returns bytes.

    Raises:
        DuplicateError: there are some already. OSError: no room; what was written is removed.
    """
    good = as_key(key)
    make_folder(directory)
    if any(directory.iterdir()):
        raise DuplicateError(f"{directory} is not empty: name another directory for round keys, or empty it")
    made, count = new_name(), 0
    try:
        for i in range(ROUNDS + 1):
            state = State(client.scheme, 1, i, direction, client.encrypt_round_key(i, good, direction))
            head = head_of(client, state, made).model_copy(update={"kind": "round key", "blocks": 0})
            write_states(directory / round_file(i), client, head, [state])
            count += (directory / round_file(i)).stat().st_size
            if progress is not None:
                progress((i + 1) / (ROUNDS + 1))
        with writing(directory / TAG_FILE, secret=True) as f:
            f.write(tag_key(good).value)
    except BaseException:
        for name in (*ROUND_FILES, TAG_FILE):
            (directory / name).unlink(missing_ok=True)
        raise
    return count
