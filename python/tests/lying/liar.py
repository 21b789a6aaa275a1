# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""An adversary that answers with forged ciphertexts, and chooses the next lie by what the client did after the last."""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

#: Lies about what is in a ciphertext. They pass every check that comes before decryption.
CIPHERTEXTS = ("monomial", "key", "probe", "garbage", "replay")

#: Lies that checks of bytes refuse, for every client alike: what was made for another one, a wrong checksum.
FOREIGN = ("stranger", "checksum")

#: Lies that end a run early, whoever the client is: the server itself sent what is refused.
EARLY = ("short", "refused")

#: Two clients: same public sizes, other secrets, other contents.
CLIENTS = 2


@dataclass(frozen=True)
class Lie:
    """Which lie, at which coefficient, how large; `number` of the run, for what is random in it."""

    kind: str
    position: int = 0
    amount: int = 0
    number: int = 0

    @property
    def rng(self) -> random.Random:
        return random.Random(f"{self.kind} {self.number}")


class Attacked(Protocol):
    """One protocol: a client that is real, a server that is the liar's."""

    name: str
    degree: int
    log_modulus: int

    def once(self, client: int, lie: Lie) -> tuple[tuple[Any, ...], Hashable]:
        """A whole run of one client: what the server saw of it (`servers.Seen`), and what the client alone knows."""


@dataclass
class Liar:
    """Bisects, coefficient by coefficient, at which size a lie changes what the client does: that is how a decryption
    oracle gives the key away. In between it tries all else, in an order that follows from what it has seen."""

    degree: int
    log_modulus: int
    kinds: Sequence[str]
    quiet: Hashable = None
    seen: bytes = b""
    at: int = 0
    low: int = 0
    high: int = 0
    found: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.high = self.log_modulus

    def next(self, number: int) -> Lie:
        rng = random.Random(self.seen)
        position = self.at * 37 % self.degree
        if number % 3 == 1:
            return Lie("key", position, 1 << (self.low + self.high) // 2, number)
        kind = rng.choice(self.kinds)
        return Lie(kind, position, 1 << rng.randrange(self.log_modulus), number)

    def saw(self, lie: Lie, transcript: Hashable) -> None:
        """Takes a run of an honest answer as the first, then learns from the others."""
        self.seen = hashlib.sha256(self.seen + repr((lie, transcript)).encode()).digest()
        if self.quiet is None:
            self.quiet = transcript
        if lie.number % 3 != 1 or lie.kind != "key":
            return
        middle = (self.low + self.high) // 2
        self.low, self.high = (middle + 1, self.high) if transcript == self.quiet else (self.low, middle)
        if self.low >= self.high:
            self.found.append((lie.position, self.high))
            self.at, self.low, self.high = self.at + 1, 0, self.log_modulus


@dataclass(frozen=True)
class Row:
    """Account of what a liar got of a protocol over many runs."""

    protocol: str
    runs: int
    lies: int
    transcripts: int
    early: int
    outcomes: int

    @property
    def bits(self) -> float:
        """Bits about the client's secrets, at the most, that all runs together told."""
        return self.runs * math.log2(self.transcripts)

    def __str__(self) -> str:
        return (
            f"{self.protocol:<26}{self.runs:>6}{self.lies:>8}{self.outcomes:>12}{self.transcripts:>14}"
            f"{self.early:>8}{self.bits:>8.1f}"
        )


HEADING = f"{'protocol':<26}{'runs':>6}{'lies':>8}{'client has':>12}{'server sees':>14}{'early':>8}{'bits':>8}"


def attack(protocol: Attacked, runs: int, early: bool = True) -> Row:
    """Lies to two clients in turn, one honest answer each first. What ends early must do so for both alike."""
    liar = Liar(protocol.degree, protocol.log_modulus, (*CIPHERTEXTS, *FOREIGN))
    transcripts: set[Hashable] = set()
    outcomes: set[Hashable] = set()
    lies: set[tuple[str, int, int, int]] = set()
    ends: dict[str, set[Hashable]] = {}
    for number in range(runs):
        if number < CLIENTS:
            lie = Lie("honest", number=number)
        elif early and number % 6 == 5:
            lie = Lie(EARLY[number // 6 % len(EARLY)], number=number)
        else:
            lie = liar.next(number)
        transcript, outcome = protocol.once(number // 2 % CLIENTS if number >= CLIENTS else number, lie)
        assert transcript[-1] == ("open during decryption", 0), "a connection was open when the client decrypted"
        lies.add((lie.kind, lie.position, lie.amount, number if lie.kind == "garbage" else 0))
        outcomes.add(outcome)
        if lie.kind in EARLY:
            ends.setdefault(lie.kind, set()).add(transcript)
        else:
            transcripts.add(transcript)
            liar.saw(lie, transcript)
    assert all(len(found) == 1 for found in ends.values()), ends
    return Row(protocol.name, runs, len(lies), len(transcripts), len(ends), len(outcomes))
