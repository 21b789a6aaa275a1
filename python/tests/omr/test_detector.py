# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Board, detector and receivers together, on the engine: who gets what, what is the same for all, what nobody keeps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ringforge import bfv
from ringforge.errors import Error, FormatError, MismatchError, ParameterError, TooManyMessagesError
from ringforge.omr.bulletins import Source, open_board
from ringforge.omr.demo import secret_pieces
from ringforge.omr.depot import Depot, read_result
from ringforge.omr.detector import Detector, capacities
from ringforge.omr.detector_client import key_name
from ringforge.omr.estimate import estimate
from ringforge.omr.keys import DetectionKey, ReceiverSecret, bfv_context
from ringforge.omr.reading import SecretReader
from ringforge.omr.receiver import Outcome, Run, Wanted
from ringforge.omr.steps import Request, Step

from .detecting import Loop, loop
from .reference import Reference
from .world import SMALL, Person, Post, bulletin, new_board, posts, texts


@dataclass
class World:
    """A board of two bulletins, a detector that runs, two receivers and their keys."""

    running: Loop
    detector: Detector
    source: Source
    database: str
    secrets: list[ReceiverSecret]
    keys: list[Path]

    def retrieve(self, who: int, bulletins: Any = None, mode: str = "messages", **wanted: Any) -> Outcome:
        reader, board = SecretReader(self.secrets[who]), open_board(self.database, SMALL)
        with self.running.connect(who) as c:
            return Run(c, reader, self.keys[who], SMALL.entries, Wanted(mode, **wanted), board)(bulletins)

    def journals(self, who: int) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
        """What was done for one receiver, by bulletin, mode, capacity, window."""
        depot = self.running.depot
        names = {name for client in depot.clients() for name in depot.keys(client)}
        assert key_name(self.keys[who]) in names
        return {
            (r.bulletin, r.mode, r.capacity, r.first, r.last): depot.read_journal(job)
            for job in depot.jobs()
            if (r := job.request).key == key_name(self.keys[who])
        }


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("world")
    secrets = [ReceiverSecret.make(SMALL) for _ in range(2)]
    people = [Person(x.signal, x.box) for x in secrets]
    keys = [folder / f"{who}.detection" for who in range(2)]
    for secret, path in zip(secrets, keys, strict=True):
        DetectionKey.make(secret).save(path)
    cheat = Post(people[0].signal.public(), people[1].box.public(), [b"a signal for one, a box for the other"])
    with new_board(folder) as board:
        bulletin(board, posts(people[0], texts(50, "a")), posts(people[1], texts(3, "b")), cheat)
        bulletin(board, posts(people[1], texts(1, "c")))
    database = str(folder / "board.sqlite")
    source = open_board(database, SMALL)
    detector = Detector(SMALL, source, shards=2)
    with loop(folder, worker=detector, tokens=True) as found:
        yield World(found, detector, source, database, secrets, keys)
    source.close()


def test_too_few_places_are_noticed_and_asked_for(world: World) -> None:
    """51 pertinent entries, of which one is a cheat."""
    with pytest.raises(TooManyMessagesError, match="51 entries are pertinent, the digest holds 50") as e:
        world.retrieve(0, [0])
    assert e.value.count == 51
    outcome = world.retrieve(0, [0], auto=True)
    assert [(m.entry, m.text) for m in outcome.messages] == list(enumerate(texts(50, "a")))
    found = outcome.bulletins[0]
    assert (found.count, found.dropped, found.requests) == (51, 1, 1)
    outcome = world.retrieve(0, [0], auto=True, capacity=300)
    assert [(m.entry, m.text) for m in outcome.messages] == list(enumerate(texts(50, "a")))
    assert (outcome.bulletins[0].count, outcome.bulletins[0].requests) == (51, 4)


def test_each_gets_its_own_and_nothing_else(world: World) -> None:
    assert [m.text for m in world.retrieve(1).messages] == [*texts(3, "b"), *texts(1, "c")]
    empty = world.retrieve(0, [1])
    assert empty.messages == []
    assert empty.bulletins[0].count == 0


def test_the_same_work_for_every_receiver(world: World) -> None:
    """51 messages, 3, 1 or none: equal steps, counts and sizes."""
    for who in (0, 1):
        world.retrieve(who, capacity=100)
    first, second = world.journals(0), world.journals(1)
    for number in (0, 1):
        about = (number, "messages", 100, 0, SMALL.entries)
        assert [(x["stage"], x["bytes_out"]) for x in first[about]] == [
            (x["stage"], x["bytes_out"]) for x in second[about]
        ]
        assert [x["counts"] for x in first[about]] == [x["counts"] for x in second[about]]
    # What came before the digest was computed once for each bulletin, in shards.
    stages = [x["stage"] for journal in first.values() for x in journal]
    assert stages.count("affine") == 2 * 2
    assert stages.count("range check") == 2


def test_positions_and_payloads_from_the_board(world: World) -> None:
    """All payloads are read, also of a bulletin in which nothing is."""
    for who, found in ((1, [*texts(3, "b"), *texts(1, "c")]), (0, texts(50, "a"))):
        outcome = world.retrieve(who, mode="positions", capacity=100)
        assert [m.text for m in outcome.messages] == found
        assert [b.fetched for b in outcome.bulletins] == [SMALL.entries] * 2


def test_windows(world: World) -> None:
    """Entries outside weigh nothing: neither in the count nor in what is found."""
    reader = SecretReader(world.secrets[0])
    digest = dict(world.source.sealed())
    with world.running.connect(0) as c:
        for first, last in ((0, 10), (10, 50), (40, 4096), (51, 53), (2048, 4096)):
            asked = Request(key_name(world.keys[0]), 0, digest[0], "messages", 64, first, last)
            job = c.submit(asked)
            c.watch(job)
            found = reader.decode(c.fetch(job), asked)
            mine = [*range(50), 53]
            assert found.indices == [i for i in mine if first <= i < last]


def test_the_range_check_agrees_with_plain_bfv(world: World) -> None:
    """The engine's vector of pertinent entries, against one of public BFV operations."""
    depot = world.running.depot
    world.retrieve(0, [0], capacity=100)
    request = next(
        j.request for j in depot.jobs() if j.request.key == key_name(world.keys[0]) and not j.request.bulletin
    )
    step = next(s for s in world.detector.steps(request) if s.stage == "range check")
    client = next(c for c in depot.clients() if key_name(world.keys[0]) in depot.keys(c))
    (u,) = world.detector.open(depot.key(client, request.key)).loaded(read_result(depot.result_path(client, step.name)))
    secret = world.secrets[0]
    reference = Reference(SMALL, secret.signal.coefficients())
    theirs = reference.session.decrypt(reference.range_check(reference.affine(world.source.signals(0))))
    context = bfv_context(SMALL)
    mine = bfv.decode(context, bfv.Client(context).decrypt(u, secret.bfv))
    assert (mine == theirs).all()
    assert np.flatnonzero(mine).tolist() == [*range(50), 53]


def test_steps_tell_their_progress_and_can_be_cancelled_anywhere(world: World, tmp_path: Path) -> None:
    """Whoever cancels a step and computes it again has the same bytes."""
    number, digest = world.source.sealed()[1]
    request = Request(key_name(world.keys[1]), number, digest, "messages", 40, 0, SMALL.entries)
    steps = world.detector.steps(request)
    session = world.detector.open(world.keys[1])
    # Calls at the least: two shards of 4 giant steps at 6 limbs and more; operations; rotations and units.
    least = {"affine": 20, "combination": 1, "range check": 100, "compression": 20, "digest": 0}
    depot = Depot(tmp_path)
    for shard in world.detector.shards:
        world.detector.diagonals(number, shard)  # the board encodes them once
    for step in steps:
        inputs = [depot.result_path("me", name) for name in step.inputs]
        told: list[float] = []
        session.engine.forget()
        result, counts = session.run(step, inputs, told.append)
        assert told == sorted(told)
        assert len(told) >= least[step.stage], step.stage
        assert not told or told[-1] <= 1
        for at in {1, len(told) // 3, 2 * len(told) // 3, len(told)} & set(range(1, len(told) + 1)):
            heard: list[float] = []

            def stop(done: float, heard: list[float] = heard, at: int = at) -> bool:
                heard.append(done)
                return len(heard) < at

            session.engine.forget()
            with pytest.raises(Error, match="cancelled"):
                session.run(step, inputs, stop)
            assert heard == told[:at]
        session.engine.forget()
        assert session.run(step, inputs) == (result, counts)
        depot.keep_result("me", step, result)
    for at in range(1, 6):
        calls = iter(range(1, 10))
        with pytest.raises(Error, match="cancelled"):
            world.detector.check_key(world.keys[1], lambda _, calls=calls, at=at: next(calls) < at)  # type: ignore[misc]
    depot.close()


def test_keys_that_are_refused(world: World, tmp_path: Path) -> None:
    data = world.keys[0].read_bytes()
    least, most = world.detector.key_bytes()
    assert least <= len(data) <= most
    for kind, words, changed in [
        (FormatError, "cut off", data[:-100]),
        (FormatError, "checksum|damaged|head", data[:1000] + bytes([data[1000] ^ 1]) + data[1001:]),
        (FormatError, "goes on", data + b"x"),
        (FormatError, "no file with a detection key", bytes(len(data))),
    ]:
        path = tmp_path / "key"
        path.write_bytes(changed)
        with pytest.raises(kind, match=words):
            world.detector.check_key(path)
    DetectionKey.make(world.secrets[0], "paper").save(tmp_path / "other")
    with pytest.raises(MismatchError, match='for method "paper"'):
        world.detector.check_key(tmp_path / "other")
    world.secrets[0].save(tmp_path / "secret")
    with world.running.connect(0) as c, pytest.raises(FormatError):
        c.put_key(tmp_path / "secret")


def test_requests_that_are_refused(world: World) -> None:
    good: dict[str, Any] = {
        "key": "0" * 64,
        "bulletin": 0,
        "digest": "0" * 64,
        "mode": "messages",
        "capacity": capacities(SMALL)["messages"],
        "first": 0,
        "last": SMALL.entries,
    }
    steps = world.detector.steps(Request(**good))
    assert [s.stage for s in steps] == ["affine", "affine", "combination", "range check", "compression", "digest"]
    assert sum(s.share for s in steps) == pytest.approx(1.0)
    assert all(Step.from_json(s.to_json()) == s for s in steps)
    with pytest.raises(ParameterError, match="holds 254 at the most"):
        world.detector.steps(Request(**{**good, "capacity": 255}))
    with pytest.raises(ParameterError, match="a bulletin has 4096"):
        world.detector.steps(Request(**{**good, "last": 4097}))


def test_nothing_that_the_detector_keeps_or_says_is_secret(world: World, tmp_path: Path) -> None:
    world.retrieve(0, capacity=100)
    kept = b"".join(p.read_bytes() for p in world.running.depot.path.rglob("*") if p.is_file())
    said = world.running.log.getvalue().encode()
    for number, secret in enumerate(world.secrets):
        path = tmp_path / f"{number}.secret"
        secret.save(path)
        whole = path.read_bytes()
        pieces = secret_pieces(path)
        assert len(pieces) > 20
        assert all(p in whole for p in pieces)
        assert not any(p in kept or p.hex().encode() in said for p in pieces)
        for own in (secret.signal.secret_bytes(), secret.box.secret_bytes()):
            assert own not in kept + said
            assert own.hex().encode() in whole, "the search finds what is there"
    for text in texts(50, "a"):
        assert text not in kept + said


def test_sizes_are_as_estimated(world: World) -> None:
    found = estimate(SMALL, 2, 50, "messages")
    assert found.key_bytes <= world.keys[0].stat().st_size <= found.key_bytes + 8192
    world.retrieve(1, [1])
    with world.running.connect(1) as c:
        job = c.submit(Request(key_name(world.keys[1]), 1, dict(world.source.sealed())[1], "messages", 50, 0, 4096))
        c.watch(job)
        assert len(c.fetch(job)) == found.digest_bytes
    assert all(took > 0 for took in found.seconds_each.values())


def test_a_key_in_use_is_not_read_a_second_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two copies would each have rotations, a gigabyte at every worker."""
    read: list[Path] = []
    monkeypatch.setattr("ringforge.omr.detector.DetectionKey.load", lambda path, *_: read.append(path))
    monkeypatch.setattr("ringforge.omr.detector.Engine", lambda *_: object())
    source: Any = None
    detector, (a, b, c) = Detector(SMALL, source, at_once=2), map(Path, "abc")
    used = detector.open(a)
    for key in (b, c):
        detector.open(key)
    assert detector.open(a) is used
    del used
    for key in (b, c, a):
        detector.open(key)
    assert read == [a, b, c, b, c, a]
