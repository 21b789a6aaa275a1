# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Transciphering: streams of ordinary AES-CTR bytes become homomorphic ciphertexts (Naehrig, Lauter, Vaikuntanathan,
CCSW 2011).

A client sends its AES key once, homomorphically encrypted as eleven round keys, and from then on AES-128-CTR bytes, as
long as its data. The server runs AES on the counters, which are public, under the encrypted key, and adds the stream:
what it gets are homomorphic ciphertexts of the data, on which it computes.

Counters are 128 bits, the greatest byte first, and wrap to 0, as in NIST SP 800-38A and libraries. A *batch* has as
many blocks as slots less one; in the slot after its last block is the *check*, AES of the counter that follows, which
the client knows: a key or counter that is not what the client thinks shows there, but for 1 in 2^128, and in everything
computed from it slot by slot.

AES-CTR has no integrity: a flipped bit of the stream is a flipped bit of the data. Each stream has a tag, HMAC-SHA256
under a second key that client and server share. It says when a stream was damaged or changed on its way. It says
nothing against the server, which has that key; the server is trusted to compute what it is asked, and learns nothing of
the data all the same.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from ringforge.aes import clear
from ringforge.aes.engine import (
    BLOCK_BYTES,
    KEY_BYTES,
    ROUNDS,
    AesClient,
    AesServer,
    Blocks,
    Direction,
    RoundKeySource,
    State,
)
from ringforge.aes.ledger import COUNTERS, Ledger
from ringforge.bytes_form import Bytes, File, Portable, content, reading, write
from ringforge.errors import FormatError, MismatchError, ParameterError, ShapeError
from ringforge.secrecy import RawSecret

_MAGIC: Final = b"RGFCTR1\n"
_TAG_BYTES: Final = 32
_ID_BYTES: Final = 16
_HEAD: Final = len(_MAGIC) + _ID_BYTES + BLOCK_BYTES + 8

#: Told round and blocks of the batch, as engines tell bytes within rounds.
Progress = Callable[[int, int, int], None]


class TagKey(RawSecret):
    """What client and server share to see damage: 32 bytes."""

    saved_by = "its `value` is what a file for its owner only may hold"

    def __init__(self, value: bytes) -> None:
        if len(value) != 32:
            raise ShapeError("a key for tags is 32 bytes")
        self._value = value

    @property
    def value(self) -> bytes:
        """The 32 bytes."""
        return self._value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TagKey) and hmac.compare_digest(self._value, other._value)

    def __hash__(self) -> int:
        return hash(self.key_id)

    @property
    def key_id(self) -> bytes:
        """16 bytes that name it and the AES key it came with."""
        return hashlib.sha256(b"ringforge aes stream" + self.value).digest()[:_ID_BYTES]

    def tag(self, head: bytes, data: bytes) -> bytes:
        """HMAC-SHA256 of a stream."""
        mac = hmac.new(self.value, head, hashlib.sha256)
        mac.update(data)
        return mac.digest()


class StreamKey(RawSecret):
    """The client's secrets: an AES-128 key, and the key for tags, which the server gets too."""

    saved_by = "its `aes` and the `value` of its `tags` are what a file for its owner only may hold"

    def __init__(self, aes: bytes, tags: TagKey) -> None:
        if len(aes) != KEY_BYTES:
            raise ShapeError(f"an AES-128 key is {KEY_BYTES} bytes")
        self._aes, self._tags = aes, tags

    @property
    def aes(self) -> bytes:
        """The AES-128 key, 16 bytes."""
        return self._aes

    @property
    def tags(self) -> TagKey:
        """The key for tags."""
        return self._tags

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StreamKey) and hmac.compare_digest(self._aes, other._aes) and self._tags == other._tags

    def __hash__(self) -> int:
        return hash(self._tags)

    @classmethod
    def new(cls) -> StreamKey:
        """From the system's randomness."""
        return cls(secrets.token_bytes(KEY_BYTES), TagKey(secrets.token_bytes(32)))


@dataclass(frozen=True)
class Stream(Portable):
    """AES-CTR bytes.

    Attributes:
        key_id: of the key they are under. counter: the first. data: ciphertext, as long as the plaintext. tag: of all.
    """

    key_id: bytes
    counter: int
    data: bytes = field(repr=False)
    tag: bytes

    @property
    def blocks(self) -> int:
        """Counters that it takes; the last block may be partial."""
        return -(-len(self.data) // BLOCK_BYTES)

    @property
    def head(self) -> bytes:
        """What is before the data."""
        counter, size = self.counter.to_bytes(BLOCK_BYTES, "big"), len(self.data).to_bytes(8, "little")
        return _MAGIC + self.key_id + counter + size

    def to_bytes(self) -> bytes:
        """Mark, key id, counter (big endian, as in AES-CTR), size (8 bytes, little endian), data, tag."""
        return self.head + self.data + self.tag

    def save(self, path: File) -> int:
        """Write what `to_bytes` gives to a file's name or to an open binary file; return the number of bytes."""
        return write(path, [self.to_bytes()])

    @classmethod
    def load(cls, path: File) -> Stream:
        """Read what `save` wrote. Raises as `from_bytes`."""
        with reading(path) as (f, _):
            return cls.from_bytes(f.read())

    @classmethod
    def from_bytes(cls, data: Bytes) -> Stream:
        """Read what `to_bytes` gave. The tag is not looked at: `Transcipher.accept` does.

        Raises:
            FormatError: no stream, or not all of it. ParameterError: no bytes.
        """
        b = content(data).read()
        if b[: len(_MAGIC)] != _MAGIC or len(b) < _HEAD + _TAG_BYTES:
            raise FormatError("these bytes are no stream of AES-CTR, or its beginning is cut off")
        rest = b[len(_MAGIC) :]
        size = int.from_bytes(rest[_ID_BYTES + BLOCK_BYTES : _ID_BYTES + BLOCK_BYTES + 8], "little")
        if len(b) != _HEAD + size + _TAG_BYTES:
            raise FormatError(
                f"the stream says {size:,} bytes and there are {len(b) - _HEAD - _TAG_BYTES:,}: send it again"
            )
        counter = int.from_bytes(rest[_ID_BYTES : _ID_BYTES + BLOCK_BYTES], "big")
        return cls(rest[:_ID_BYTES], counter, bytes(b[_HEAD : _HEAD + size]), bytes(b[_HEAD + size :]))


def library_ctr(key: bytes, counter: int, data: bytes) -> bytes:
    """AES-128-CTR by `cryptography`."""
    encryptor = Cipher(algorithms.AES(key), modes.CTR(counter.to_bytes(BLOCK_BYTES, "big"))).encryptor()
    return bytes(encryptor.update(data) + encryptor.finalize())


# ---- the client ----------------------------------------------------------------------------------


def encrypt(key: StreamKey, data: bytes, ledger: Ledger, counter: int | None = None) -> Stream:
    """A stream of any length.

    Args:
        ledger: of the counters that this key was used with: one file for a key, wherever it is used.
        counter: the first; by default 96 random bits and 32 zeros.

    Raises:
        CounterReuseError: a counter was used for other data under this key; no stream is made. ParameterError: no
        counter of 128 bits. StorageError: the ledger cannot be written.
    """
    if counter is None:
        counter = secrets.randbits(96) << 32
    if not 0 <= counter < COUNTERS:
        raise ParameterError(f"counter {counter}: 0 to 2^128 - 1 are possible")
    stream = Stream(key.tags.key_id, counter, library_ctr(key.aes, counter, data), b"")
    tagged = Stream(stream.key_id, counter, stream.data, key.tags.tag(stream.head, stream.data))
    ledger.claim(tagged.key_id, counter, tagged.blocks, tagged.tag)
    return tagged


def check_block(key: StreamKey, stream: Stream, slots: int, number: int) -> bytes:
    """The 16 bytes in the check slot of a batch, which follows its blocks: what is computed slot by slot on the batch
    has in that slot what is computed on these."""
    batch = batches(stream, slots)[number]
    return library_ctr(key.aes, (stream.counter + batch.stop) % COUNTERS, bytes(BLOCK_BYTES))


def checked(values: Blocks, expected: bytes | Sequence[int]) -> Blocks:
    """What was computed on a batch, without its check.

    Args:
        values: (n + 1, ...), slot by slot, the check last. expected: what the check slot holds.

    Raises:
        MismatchError: it holds something else, so nothing of the result can be relied on.
    """
    if not np.array_equal(np.ravel(values[-1]), np.asarray(list(expected), np.uint8)):
        raise MismatchError(
            "the check after the batch's last block is wrong: it was decrypted under another AES key or with other "
            "counters, or is of another stream. Encrypt the round keys again from the key of this stream"
        )
    return values[:-1]


def decrypt(key: StreamKey, stream: Stream, client: AesClient, states: Sequence[State]) -> bytes:
    """The data, from the homomorphic ciphertexts of all batches.

    Raises:
        MismatchError: the check of a batch is wrong: another AES key, counter, or order of batches. ShapeError: not
        all batches, or others. Whatever `AesClient.decrypt_blocks` raises.
    """
    ranges = batches(stream, client.slots)
    if [s.blocks for s in states] != [len(r) + 1 for r in ranges]:
        raise ShapeError(f"the stream has {len(ranges)} batches; these are {len(states)}, or of other blocks")
    parts = [
        checked(client.decrypt_blocks(s), check_block(key, stream, client.slots, n)).tobytes()
        for n, s in enumerate(states)
    ]
    return b"".join(parts)[: len(stream.data)]


# ---- the server ----------------------------------------------------------------------------------


def batches(stream: Stream, slots: int) -> list[range]:
    """Blocks of the stream in each batch: one slot is for the check.

    Raises:
        ParameterError: fewer than two slots.
    """
    if slots < 2:
        raise ParameterError(f"{slots} slots leave none beside the check")
    return [range(a, min(a + slots - 1, stream.blocks)) for a in range(0, stream.blocks, slots - 1)]


class Checked:
    """A stream as what AES is run on: blocks of each batch with the check after them (`runner.Source`).

    Args:
        slots: of the server.
    """

    direction: Direction = "encrypt"

    def __init__(self, stream: Stream, slots: int) -> None:
        self._stream, self._batches = stream, batches(stream, slots)
        #: Blocks in all batches, checks included.
        self.blocks = stream.blocks + len(self._batches)
        #: What it is known by.
        self.digest = hashlib.sha256(stream.head + stream.tag).hexdigest()

    def _range(self, number: int) -> range:
        if not 0 <= number < len(self._batches):
            raise ParameterError(f"batch {number}: the stream has {len(self._batches)}")
        return self._batches[number]

    def start(self, server: AesServer, number: int, key: list[Any]) -> State:
        """Counters of a batch, which are public, and of its check, after AddRoundKey 0.

        Raises:
            ParameterError: no such batch.
        """
        blocks = self._range(number)
        return server.start_clear(clear.counter_blocks(self._stream.counter + blocks.start, len(blocks) + 1), key)

    def finish(self, server: AesServer, number: int, state: State) -> State:
        """The stream added; nothing to the check, and to what is beyond the stream's end."""
        blocks = self._range(number)
        out = np.zeros((len(blocks) + 1, BLOCK_BYTES), np.uint8)
        data = self._stream.data[blocks.start * BLOCK_BYTES : blocks.stop * BLOCK_BYTES]
        out.reshape(-1)[: len(data)] = np.frombuffer(data, np.uint8)
        return server.add_clear(state, out)


def accept(stream: Stream, tags: TagKey, ledger: Ledger) -> bool:
    """Looks at a stream before anything is computed.

    Args:
        tags: the key that tags are under. ledger: of counters that were used.

    Returns:
        Whether it is new. One that was accepted before may come again, after a crash.

    Raises:
        MismatchError: of another key. FormatError: damaged. CounterReuseError: another stream of this key used a
        counter of this one. StorageError: the ledger cannot be written.
    """
    if stream.key_id != tags.key_id:
        raise MismatchError(
            f"the stream is under key {stream.key_id.hex()}, and the round keys here are of {tags.key_id.hex()}: send "
            "the round keys of its key first"
        )
    if not hmac.compare_digest(tags.tag(stream.head, stream.data), stream.tag):
        raise FormatError("the stream's tag is wrong: bytes were damaged or changed on their way; send it again")
    return ledger.claim(stream.key_id, stream.counter, stream.blocks, stream.tag)


class Transcipher:
    """The server's side, for one client's key. Any threads may share one.

    Args:
        server: of any scheme. keys: the client's encrypted round keys. tags: the key that tags are under. ledger: of
            counters that were used.
    """

    def __init__(self, server: AesServer, keys: RoundKeySource, tags: TagKey, ledger: Ledger) -> None:
        self._server, self._keys, self._tags, self._ledger = server, keys, tags, ledger

    def accept(self, stream: Stream) -> bool:
        """As the function `accept`."""
        return accept(stream, self._tags, self._ledger)

    def batch(self, stream: Stream, number: int, progress: Progress | None = None) -> State:
        """Homomorphic ciphertexts of a batch's blocks, and of its check in the slot after them. In the last block of a
        stream, bytes beyond its end are of no meaning.

        Args:
            number: 0 and up. progress: told round, bytes done and 16; what it raises ends the run.

        Raises:
            ParameterError: no such batch; as `accept`, whatever the server and the source of keys raise.
        """
        self.accept(stream)
        source = Checked(stream, self._server.slots)
        state = source.start(self._server, number, self._keys.round(0))
        for i in range(1, ROUNDS + 1):

            def told(done: int, total: int, i: int = i) -> None:
                if progress is not None:
                    progress(i, done, total)

            state = self._server.round(state, i, self._keys.round(i), told)
        return source.finish(self._server, number, state)

    def run(self, stream: Stream, progress: Progress | None = None) -> Iterator[State]:
        """All batches, one after another."""
        for number in range(len(batches(stream, self._server.slots))):
            yield self.batch(stream, number, progress)
