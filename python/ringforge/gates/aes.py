# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""AES-128 by gates, on encrypted bits of blocks and of the round keys that the key's holder expanded.

Three circuits that come with the library (designs/aes128.v): a round, the last round, and a step of the key expansion,
which the key's holder runs in the clear.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass
from functools import cache
from typing import Any

from ringforge.cli.console import progress as progress_bar
from ringforge.devices import Progress
from ringforge.errors import ShapeError
from ringforge.gates import noise, sets
from ringforge.gates.bits import Bits, Evaluator, decrypt, encrypt, from_bits, stack, to_bits
from ringforge.gates.circuit import Circuit
from ringforge.gates.kinds import GateKind
from ringforge.gates.storage import Method, keygen

ROUNDS = 10

#: The round constants of the key expansion (FIPS-197, table 5).
_CONSTANTS = (0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x1B, 0x36)


def number(block: bytes) -> int:
    """A block as the circuits take it: byte j is bits 8 j to 8 j + 7.

    Raises:
        ShapeError: not 16 bytes.
    """
    if len(block) != 16:
        raise ShapeError(f"{len(block)} bytes are no block or key of AES-128: give 16")
    return int.from_bytes(block, "little")


def round_keys(key: bytes) -> list[int]:
    """The eleven round keys of a key of 16 bytes, as numbers.

    Raises:
        ShapeError: not 16 bytes.
    """
    circuit, keys = Circuit("aes128_next_key", optimise=False), [number(key)]
    for constant in _CONSTANTS:
        keys.append(circuit.clear({"key": keys[-1], "constant": constant})["out"])
    return keys


@cache
def _circuits() -> tuple[Circuit, ...]:
    """The circuit of each round."""
    return (*[Circuit("aes128_round")] * (ROUNDS - 1), Circuit("aes128_last_round"))


def clear(block: bytes, key: bytes) -> bytes:
    """A block encrypted by the same circuits in the clear.

    Raises:
        ShapeError: block or key has not 16 bytes.
    """
    first, *keys = round_keys(key)
    state = number(block) ^ first
    for circuit, round_key in zip(_circuits(), keys, strict=True):
        state = circuit.clear({"state": state, "key": round_key})["out"]
    return state.to_bytes(16, "little")


def encrypt_blocks(evaluator: Evaluator, blocks: Bits, keys: Bits, progress: Progress | None = None) -> Bits:
    """Blocks encrypted by AES-128, on encrypted bits.

    Args:
        evaluator: with the evaluation key.
        blocks: bits (..., 128) of :func:`number`; leading axes are blocks side by side.
        keys: bits (11, 128) of :func:`round_keys`.
        progress: takes the fraction done.

    Raises:
        ShapeError: other shapes. MismatchError: bits of other parameters than the evaluator's, or of another key.
    """
    if blocks.ndim < 1 or blocks.shape[-1] != 128 or keys.shape != (ROUNDS + 1, 128):
        raise ShapeError(
            f"blocks have shape {blocks.shape}, round keys {keys.shape}; (..., 128) and ({ROUNDS + 1}, 128) are needed"
        )
    state = evaluator.gate(GateKind.XOR, blocks, keys[0])
    for i, circuit in enumerate(_circuits(), 1):
        state = circuit.evaluate(evaluator, {"state": state, "key": keys[i]})["out"]
        if progress:
            progress(i / ROUNDS)
    return state


def gate_counts() -> dict[str, int]:
    """Gates of a block, by kind."""
    counts = {"XOR": 128}
    for circuit in _circuits():
        for kind, count in circuit.report().gates.items():
            counts[kind] = counts.get(kind, 0) + count
    return counts


@dataclass(frozen=True)
class AesRun:
    """What a run took and gave.

    Attributes:
        result: of the decrypted bits.
        exact: of the circuits in the clear.
        figures: for programs.
    """

    result: bytes
    exact: bytes
    figures: dict[str, Any]

    @property
    def good(self) -> bool:
        """The result is right."""
        return self.result == self.exact


def run_block(
    block: bytes | None = None,
    key: bytes | None = None,
    *,
    parameters: str = "gates-128",
    method: Method = "ginx",
    insecure: str = "",
    threads: int = 1,
) -> AesRun:
    """Makes keys, encrypts a block and the round keys bit by bit, runs AES on them, decrypts, and compares.

    Args:
        block: 16 bytes; random ones by default.
        key: 16 bytes; random ones by default.
        parameters: a set by name.
        method: the accumulator.
        insecure: why a set below 128 bits may be used.
        threads: of the evaluator.

    Raises:
        ShapeError: block or key has not 16 bytes. ParameterError: unknown or insecure parameters.
    """
    block = secrets.token_bytes(16) if block is None else block
    key = secrets.token_bytes(16) if key is None else key
    exact, keys = clear(block, key), round_keys(key)
    with progress_bar("evaluation key") as update:
        secret, evaluation_key = keygen(parameters, method=method, threads=threads, insecure=insecure, progress=update)
    start = time.perf_counter()
    encrypted = encrypt(secret, to_bits(number(block), 128))
    encrypted_keys = stack([encrypt(secret, to_bits(k, 128)) for k in keys])
    encrypting = time.perf_counter() - start
    evaluator = Evaluator(evaluation_key, threads)
    start, cpu = time.perf_counter(), time.process_time()
    with progress_bar("AES") as update:
        found = encrypt_blocks(evaluator, encrypted, encrypted_keys, update)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    result = int(from_bits(decrypt(secret, found))).to_bytes(16, "little")
    counts = gate_counts()
    failure = noise.circuit_failure(
        sets.named(parameters, insecure), {k: n for k, n in counts.items() if k in noise.GATES}, "mux", method
    )
    return AesRun(
        result,
        exact,
        {
            "system": "gates",
            "case": "AES-128, one block",
            "params": parameters,
            "method": method,
            "threads": threads,
            "seconds": seconds,
            "cpu_seconds": cpu,
            "encrypt_seconds": encrypting,
            "bootstraps": evaluator.bootstraps,
            "levels": 1 + sum(c.report().depth for c in _circuits()),
            "bootstraps_per_second": evaluator.bootstraps / seconds,
            "gates": counts,
            "failure_log2": failure,
            "good": result == exact,
        },
    )
