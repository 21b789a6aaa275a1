# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Board, detector and receivers together, with a detection by public operations of BFV in place of the engine."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ringforge import _native
from ringforge.errors import FormatError, TooManyMessagesError
from ringforge.omr.bulletins import Source, open_board, payloads_of
from ringforge.omr.depot import read_result
from ringforge.omr.receiver import Outcome, Run, Wanted
from ringforge.omr.steps import Request, Step

from .detecting import Loop, loop
from .reference import Reference
from .world import SMALL, Person, Post, bulletin, new_board, posts, texts

io = _native.io


@dataclass
class Key:
    """A person's key, as the detector has it."""

    person: Person
    reference: Reference


@dataclass
class ReferenceWorker:
    """Digests are the encrypted vectors of pertinent entries. Key files name a key that is kept here."""

    source: Source
    held: dict[bytes, Key] = field(default_factory=dict)
    gate: threading.Event = field(default_factory=threading.Event)

    def key_file(self, folder: Path, person: Person) -> Path:
        name = b"reference key %d" % len(self.held)
        self.held[name] = Key(person, Reference(SMALL, person.signal.coefficients()))
        path = folder / f"key{len(self.held)}"
        path.write_bytes(name)
        return path

    def describe(self) -> dict[str, Any]:
        return {"set": SMALL.name, "capacity": {"positions": SMALL.entries}}

    def bulletins(self) -> list[tuple[int, str]]:
        return self.source.sealed()

    def check_key(self, path: Path) -> dict[str, Any]:
        if path.read_bytes() not in self.held:
            raise FormatError("no key")
        return {"capacity": SMALL.entries}

    def key_bytes(self) -> tuple[int, int]:
        return 1, 100

    def steps(self, request: Request) -> list[Step]:
        plan, about = "0" * 64, (request.key, request.digest)
        affine = Step("affine", plan, *about, 0, SMALL.n, share=1)
        check = Step("range check", plan, *about, 0, 1, (), (affine.name,), share=2)
        return [affine, check, Step("digest", plan, *about, 0, 1, (("last", request.last),), (check.name,), share=0.1)]

    def open(self, key: Path) -> ReferenceSession:
        return ReferenceSession(self, self.held[key.read_bytes()].reference)


@dataclass
class ReferenceSession:
    worker: ReferenceWorker
    reference: Reference

    def run(self, step: Step, inputs: Sequence[Path]) -> tuple[bytes, dict[str, int]]:
        context = self.reference.session.context
        number = next(n for n, digest in self.worker.source.sealed() if digest == step.bulletin)
        with _native.counting() as counted:
            if step.stage == "affine":
                found = self.reference.affine(self.worker.source.signals(number))
                data = b"".join(io.to_bytes(context, c) for c in found)
            elif step.stage == "range check":
                data = read_result(inputs[0])
                half = len(data) // SMALL.clues
                parts = [io.ciphertext_from_bytes(data[i * half : (i + 1) * half], context) for i in range(SMALL.clues)]
                data = io.to_bytes(context, self.reference.range_check(parts))
            else:
                data = read_result(inputs[0])
        return data, {"ntt": counted.operations.ntt, "switches": counted.operations.key_switch}


@dataclass
class Retrieved:
    indices: Sequence[int]
    payloads: None = None


@dataclass
class Reader:
    key: Key

    def decode(self, digest: bytes, request: Request) -> Retrieved:
        session = self.key.reference.session
        u = session.decrypt(io.ciphertext_from_bytes(digest, session.context))
        assert set(u) <= {0, 1}
        found = np.flatnonzero(u[request.first : request.last]) + request.first
        if len(found) > request.capacity:
            raise TooManyMessagesError("too many", len(found))
        return Retrieved(found.tolist())

    def open(self, payload: bytes) -> bytes | None:
        return self.key.person.box.open(payload)


@dataclass
class World:
    """A board of two bulletins, a detector that runs, two people and their keys."""

    running: Loop
    worker: ReferenceWorker
    source: Source
    people: list[Person]
    keys: list[Path]

    def retrieve(self, who: int, **wanted: Any) -> Outcome:
        key = self.worker.held[self.keys[who].read_bytes()]
        with self.running.connect(who) as c:
            about = Wanted("positions", **wanted)
            return Run(c, Reader(key), self.keys[who], SMALL.entries, about, payloads_of(self.source))()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("world")
    people = [Person.make(), Person.make()]
    cheat = Post(people[0].signal.public(), people[1].box.public(), [b"a signal for one, a box for the other"])
    with new_board(folder) as board:
        bulletin(board, posts(people[0], texts(20, "a")), posts(people[1], texts(3, "b")), cheat)
        bulletin(board, posts(people[1], texts(1, "c")))
    source = open_board(str(folder / "board.sqlite"), SMALL)
    worker = ReferenceWorker(source)
    keys = [worker.key_file(folder, p) for p in people]
    with loop(folder, worker=worker, tokens=True) as found:
        yield World(found, worker, source, people, keys)
    source.close()


def test_each_gets_its_own_and_nothing_else(world: World) -> None:
    first, second = (world.retrieve(who) for who in (0, 1))
    assert [(m.bulletin, m.entry, m.text) for m in first.messages] == [(0, i, t) for i, t in enumerate(texts(20, "a"))]
    assert [m.text for m in second.messages] == [*texts(3, "b"), *texts(1, "c")]
    # A signal for the first whose box is the second's: it costs a place, and neither gets it.
    assert [(b.count, b.dropped) for b in first.bulletins] == [(21, 1), (0, 0)]
    assert [(b.count, b.dropped) for b in second.bulletins] == [(3, 0), (1, 0)]


def test_the_same_work_for_every_receiver(world: World) -> None:
    """21 entries, 3, 1 or none: equal steps, counts and sizes."""
    depot = world.running.depot
    for who in (0, 1):
        world.retrieve(who)
    first, second = ([depot.read_journal(job) for job in depot.jobs(client)] for client in depot.clients())
    assert len(first) == 2
    assert first == second  # a key's first bulletin counts what is made once
    assert [[line["stage"] for line in journal] for journal in first] == [["affine", "range check", "digest"]] * 2
    assert all(line["counts"]["ntt"] > 0 for line in first[0][:2])


def test_too_few_places(world: World) -> None:
    with pytest.raises(TooManyMessagesError):
        world.retrieve(0, capacity=5)
    assert len(world.retrieve(0, capacity=5, auto=True).messages) == 20


def test_nothing_that_the_detector_keeps_or_says_is_secret(world: World) -> None:
    world.retrieve(0)
    kept = b"".join(p.read_bytes() for p in world.running.depot.path.rglob("*") if p.is_file())
    said = world.running.log.getvalue().encode()
    for person in world.people:
        for secret in (person.signal.secret_bytes(), person.box.secret_bytes()):
            assert not any(form in kept + said for form in (secret, secret.hex().encode()))
    for text in texts(20, "a"):
        assert text not in kept + said
    for name in (hashlib.sha256(path.read_bytes()).hexdigest() for path in world.keys):
        assert name.encode() in kept, "the search finds what is there"
