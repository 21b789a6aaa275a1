# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What goes into AES, from files, and what comes out, to bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

from ringforge.aes import files, transcipher
from ringforge.aes.computing import Computation, Computing
from ringforge.aes.engine import BLOCK_BYTES, ROUNDS, AesClient, AesServer
from ringforge.aes.ledger import Ledger
from ringforge.aes.runner import Computed, Encrypted, Source, StoppedError
from ringforge.errors import FormatError, MismatchError, ParameterError
from ringforge.files import naming

#: Of counters of streams that a directory of round keys was used for.
LEDGER = "counters.sqlite"


def read_stream(path: Path) -> transcipher.Stream:
    """A stream's file.

    Raises:
        FormatError: it is none, or empty. OSError: it cannot be read.
    """
    with naming(path):
        stream = transcipher.Stream.from_bytes(path.read_bytes())
        if not stream.data:
            raise FormatError("the stream is empty")
    return stream


def source_of(
    server: AesServer,
    round_keys: Path,
    blocks: Path | None,
    stream: Path | None,
    compute: str = "",
    ledger: Path | None = None,
) -> Source:
    """What files hold, as something to be evaluated: encrypted blocks, or else a stream.

    A stream's tag is checked, and its counters written down.

    Args:
        ledger: where to; default: beside the round keys.

    Raises:
        FormatError, MismatchError: damaged, or for other keys. CounterReuseError: another stream used its counters.
        ParameterError: no such computation, or none under this scheme. OSError, StorageError: files of the system's.
    """
    computation = Computation.parse(compute) if compute else None
    if computation is not None and not isinstance(server, Computing):
        raise ParameterError(f"under {server.scheme} nothing is computed after AES: leave --compute away")
    source: Source
    if stream is not None:
        found = read_stream(stream)
        with naming(stream):
            transcipher.accept(found, files.read_tag_key(round_keys), Ledger(ledger or round_keys / LEDGER))
        source = transcipher.Checked(found, server.slots)
    else:
        assert blocks is not None
        source = Encrypted(files.File(blocks, server))
    return source if computation is None else Computed(source, computation)


def compute_on(
    server: AesServer, path: Path, computation: Computation, out: Path, told: Callable[[float], bool | None]
) -> None:
    """Computes on a result of AES that is there, and writes what comes of it.

    Args:
        told: takes the fraction done; False ends it.

    Raises:
        MismatchError: the file holds no blocks after the last round. ParameterError: the scheme or the ciphertexts do
        not bear it. FormatError: it is damaged. StoppedError: `told` returned False.
    """
    file = files.File(path, server)
    head = file.head
    if head.kind != "blocks" or head.round != ROUNDS or head.computed:
        raise MismatchError(f"{path.name} holds no blocks that AES is done with: compute on the result of `evaluate`")
    made = []
    for i in range(head.states):
        made.append(computation.on(server, file.state(i)))
        if told((i + 1) / head.states) is False:
            raise StoppedError("stopped; run again to go on")
    budget = min(server.predicted_budget(s) for s in made)
    name = hashlib.sha256(f"{file.digest} {computation.text}".encode()).hexdigest()
    about = head.model_copy(update={"made": name, "computed": computation.text, "budget": budget})
    files.write_states(out, server, about, made)


def decrypted(
    client: AesClient, file: files.File, made: tuple[transcipher.StreamKey, transcipher.Stream] | None
) -> Iterator[tuple[bytes, float]]:
    """A result's bytes, state by state, and the measured noise budget of each.

    Args:
        made: of a stream: the client's key, and the stream.

    Raises:
        MismatchError: it is of another stream, or of another key or counters than the client thinks. NoiseError: the
        noise may have been too much. FormatError: it is damaged.
    """
    computed = Computation.parse(file.head.computed) if file.head.computed else None
    if made is None:
        for i in range(file.head.states):
            state = file.state(i)
            yield client.decrypt_blocks(state).tobytes(), client.measured_budget(state)
        return
    key, stream = made
    batches = transcipher.batches(stream, client.slots)
    sizes = [len(r) + 1 for r in batches]
    if [file.head.blocks_of(i) for i in range(file.head.states)] != sizes:
        raise MismatchError(
            f"{file.path.name} has {file.head.blocks} blocks, where the stream's result has {sum(sizes)}: it is of "
            "another stream, or of blocks"
        )
    for i, batch in enumerate(batches):
        state = file.state(i)
        check = transcipher.check_block(key, stream, client.slots, i)
        if computed is not None:
            check = computed.of_block(check)
        values = transcipher.checked(client.decrypt_blocks(state), check)
        size = len(stream.data) - batch.start * BLOCK_BYTES
        if computed is not None and not computed.limit:  # sums are of blocks, which have no end in the middle
            size = values.size
        yield values.tobytes()[:size], client.measured_budget(state)
