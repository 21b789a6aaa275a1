# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What the commands of gates print with --json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import RootModel

from ringforge.cli.output import Number, Result


class GateSetAnswer(Result):
    """A parameter set."""

    n: int
    """Dimension of LWE."""
    log_q: int
    """log2 of its modulus."""
    N: int
    """Ring degree."""
    log_modulus: float
    """log2 of the ring's modulus."""
    about: str
    insecure: str
    """Why it is below 128 bits; "" if it is not."""
    security: float
    """Bits, of the weakest key or ciphertext."""
    failure: Mapping[str, tuple[str, Number]]
    """By method: the gate that fails most often, and log2 of its probability."""
    gates: Mapping[str, Mapping[str, Number]]
    """By method and gate: log2 of the probability of a failure."""
    key_bytes: Mapping[str, int]
    """By method: of the evaluation key in memory."""


class GateSets(RootModel[dict[str, GateSetAnswer]]):
    """Sets by name."""


class CircuitAnswer(Result):
    """A circuit, and what it takes."""

    circuit: str
    inputs: Mapping[str, int]
    """Bits of each port."""
    outputs: Mapping[str, int]
    """Bits of each port."""
    gates: Mapping[str, int]
    """Counts by kind."""
    bootstraps: int
    depth: int
    """Bootstraps one after the other."""
    failure_log2: Number
    """log2 of the probability that some bit of one run is wrong, at most."""


class SimulatedRun(Result):
    """Numbers by port."""

    inputs: Mapping[str, int]
    outputs: Mapping[str, int]


class Simulated(Result):
    """A circuit in the clear."""

    circuit: str
    runs: list[SimulatedRun]


class CircuitRun(Result):
    """What a run on encrypted bits took."""

    circuit: str
    seconds: float
    runs: int
    """Sets of inputs that were computed at once."""
    bootstraps: int
    bootstraps_per_second: float
    params: str
    method: str
    failure_log2: Number
    """log2 of the probability that some bit is wrong, at most."""
    threads: int
    bytes: int
    """Of the result's file."""


class Decrypted(RootModel[dict[str, int | list[Any]]]):
    """Numbers by port; where there were several runs, a list of them."""


class AesBlock(Result):
    """A block of AES by gates."""

    system: Literal["gates"]
    case: str
    params: str
    method: str
    threads: int
    seconds: float
    """Of evaluating, by the clock."""
    cpu_seconds: float
    """The same of all processors."""
    encrypt_seconds: float
    """Of encrypting block and round keys."""
    bootstraps: int
    levels: int
    """Bootstraps one after the other."""
    bootstraps_per_second: float
    gates: Mapping[str, int]
    """Counts by kind."""
    failure_log2: Number
    """log2 of the probability that some bit is wrong, at most."""
    good: bool
    """The result is right."""
    result: str
    """16 bytes in hexadecimal."""
