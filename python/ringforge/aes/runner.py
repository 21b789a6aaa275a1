# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""AES on encrypted blocks, round by round, with a checkpoint after each: work that was interrupted goes on.

A task is a pure function of its inputs: blocks or a stream, round keys, direction. Its digest is in every checkpoint,
so that no other task goes on with it. A directory has the checkpoints of one task:

    task.json                  what the task is
    state-BBBBB-RR.aes         state B after round R; the one before is removed when it is there
    rounds.jsonl               a line for each round: seconds, and the noise budget that is left
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Protocol

from ringforge.aes import files
from ringforge.aes.computing import Computation
from ringforge.aes.engine import FRESH, ROUNDS, AesServer, Direction, State
from ringforge.errors import Error, FormatError, MismatchError
from ringforge.files import make_folder, naming, writing

_TASK, _LOG = "task.json", "rounds.jsonl"
_MAX_JSON = 1 << 16


class StoppedError(Error):
    """A run was told to stop. What was finished before its last round is kept."""


class Source(Protocol):
    """What AES is to be applied to."""

    blocks: int
    direction: Direction
    #: What it is known by, in hexadecimal.
    digest: str

    def start(self, server: AesServer, number: int, key: list[Any]) -> State:
        """State `number` after AddRoundKey 0."""

    def finish(self, server: AesServer, number: int, state: State) -> State:
        """What becomes of it after the last round."""


class Encrypted:
    """Blocks that a client encrypted, in a file.

    Raises:
        MismatchError: no blocks, or no fresh ones.
    """

    def __init__(self, file: files.File) -> None:
        head = file.head
        if head.kind != "blocks" or head.round != FRESH:
            what = head.kind if head.kind != "blocks" else f"blocks after round {head.round}"
            raise MismatchError(f"{file.path.name} holds a {what}; fresh blocks of `ringforge aes encrypt` are needed")
        self._file, self.blocks, self.direction, self.digest = file, head.blocks, head.direction, file.digest

    def start(self, server: AesServer, number: int, key: list[Any]) -> State:
        return server.start(self._file.state(number), key)

    def finish(self, server: AesServer, number: int, state: State) -> State:
        del server, number
        return state


class Computed:
    """What a computation makes of another source's blocks."""

    def __init__(self, source: Source, computation: Computation) -> None:
        self._source, self.computation = source, computation
        self.blocks, self.direction = source.blocks, source.direction
        self.digest = hashlib.sha256(f"{source.digest} {computation.text}".encode()).hexdigest()

    def start(self, server: AesServer, number: int, key: list[Any]) -> State:
        return self._source.start(server, number, key)

    def finish(self, server: AesServer, number: int, state: State) -> State:
        return self.computation.on(server, self._source.finish(server, number, state))


@dataclass(frozen=True)
class Round:
    """A round that was finished.

    Attributes:
        state, round: which. seconds: it took. budget: bits of noise budget that are left, by prediction.
    """

    state: int
    round: int
    seconds: float
    budget: float


@dataclass(frozen=True)
class Reached:
    """How far a run is.

    Attributes:
        state, states: that is under way, from 0, of how many. round: that is under way, 0 to 10.
        fraction: of the whole. seconds_left: as far as it can be told, else -1.
        finished: the round that has just been finished, if one has.
    """

    state: int
    states: int
    round: int
    fraction: float
    seconds_left: float
    finished: Round | None = None


#: Takes how far a run is, several times a round; False stops it.
Report = Callable[[Reached], bool | None]


class Course:
    """How much of a run is done, and how long the rest will take: rounds take what the engine says of their shares."""

    def __init__(self, shares: list[float], states: int, state: int, done: int) -> None:
        self._shares, self._states = shares, states
        self._whole = states * sum(shares)
        self._found = self._before(state, done)
        self._begun = time.monotonic()

    def _before(self, state: int, rounds: int) -> float:
        return state * sum(self._shares) + sum(self._shares[:rounds])

    def at(self, state: int, i: int, part: float, finished: Round | None = None) -> Reached:
        """Within round i of a state, which begins after round i - 1."""
        done = self._before(state, i - 1 if i else 0) + (self._shares[i - 1] * part if i else 0.0)
        computed, took = done - self._found, time.monotonic() - self._begun
        left = (self._whole - done) * took / computed if computed > 0 else -1.0
        return Reached(state, self._states, i, min(1.0, done / self._whole), left, finished)


class Run:
    """One task in a directory. One process at a time has the directory.

    Args:
        server: computes. keys: encrypted round keys. source: what AES is applied to.
        directory: of checkpoints, made if there is none.

    Raises:
        MismatchError: source and keys are for different directions; the directory belongs to another task, or to
        something else. Error: another process has it. OSError: it cannot be written.
    """

    def __init__(self, server: AesServer, keys: files.RoundKeys, source: Source, directory: Path) -> None:
        if keys.direction != source.direction:
            raise MismatchError(
                f"the round keys are for the circuit that does {keys.direction}, the blocks for {source.direction}: "
                "make both with the same --direction"
            )
        self._server, self._keys, self._source, self.directory = server, keys, source, directory
        self.states = -(-source.blocks // server.slots)
        about = {
            "format": "ringforge-aes-task",
            "scheme": server.scheme,
            "parameters": server.parameter_hash.hex(),
            "direction": source.direction,
            "blocks": source.blocks,
            "source": source.digest,
            "round_keys": keys.digest,
        }
        self._about = json.dumps(about, sort_keys=True).encode()
        #: What the task is known by, in hexadecimal.
        self.digest = hashlib.sha256(self._about).hexdigest()

    # ---- the directory ----

    @contextlib.contextmanager
    def _having(self) -> Iterator[None]:
        make_folder(self.directory, 0o700)
        lock: IO[bytes]
        with (self.directory / ".lock").open("ab") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise Error(
                    f"another evaluation works in {self.directory}: wait for it, or name another --checkpoint"
                ) from None
            for part in self.directory.glob(".*.part"):  # of a process that was killed while it wrote
                part.unlink()
            self._claim()
            yield

    def _claim(self) -> None:
        """Takes a directory that is empty, or of this task."""
        path = self.directory / _TASK
        if not path.exists():
            if any(p.name != ".lock" for p in self.directory.iterdir()):
                raise MismatchError(
                    f"{self.directory} holds something else than checkpoints: name another directory with --checkpoint"
                )
            with writing(path) as f:
                f.write(self._about)
            return
        if path.read_bytes()[:_MAX_JSON] != self._about:
            raise MismatchError(
                f"{self.directory} has the checkpoints of another task: of other blocks, keys or another direction; "
                "name another directory with --checkpoint, or remove it"
            )

    def _path(self, state: int, i: int) -> Path:
        return self.directory / f"state-{state:05}-{i:02}.aes"

    def _load(self, path: Path, state: int, i: int) -> State:
        file = files.File(path, self._server)
        head = file.head
        if (head.made, head.round, head.states) != (self.digest, i, 1):
            raise MismatchError(
                f"{path.name} in {self.directory} is the checkpoint of another task: remove it to begin anew"
            )
        with naming(path):
            found = file.state()
        if found.blocks != min(self._server.slots, self._source.blocks - state * self._server.slots):
            raise FormatError(f"{path.name} in {self.directory} has {found.blocks} blocks: remove it to begin anew")
        return found

    def _reached(self) -> tuple[int, int]:
        """The state that comes next, and the round that it has, -1 for none."""
        for state in range(self.states):
            rounds = [i for i in range(ROUNDS + 1) if self._path(state, i).exists()]
            last = max(rounds, default=-1)
            for i in rounds[:-1]:  # of a process that was killed before it removed them
                self._path(state, i).unlink()
            if last < ROUNDS:
                return state, last
        return self.states, -1

    @property
    def rounds(self) -> list[Round]:
        """What was finished, in order, by this process or one before."""
        path = self.directory / _LOG
        found = []
        for line in path.read_bytes().splitlines() if path.exists() else ():
            with contextlib.suppress(ValueError, TypeError, KeyError, OverflowError):  # the last one may be cut off
                one = json.loads(line)
                found.append(Round(int(one["state"]), int(one["round"]), float(one["seconds"]), float(one["budget"])))
        return found

    # ---- work ----

    def __call__(self, out: Path, report: Report | None = None) -> list[Round]:
        """Computes what is not there yet, writes the result, and removes the checkpoints; returns all rounds.

        Raises:
            StoppedError: `report` returned False. NoiseError: noise would ruin the result. FormatError, MismatchError:
            a file is damaged, or another's. OSError: no room. What was finished stays, in all cases.
        """
        with self._having():
            state, done = self._reached()
            course = Course(list(self._server.shares), self.states, state, max(0, done))

            def tell(number: int, i: int, part: float, finished: Round | None = None) -> None:
                if report is not None and report(course.at(number, i, part, finished)) is False:
                    raise StoppedError("stopped; run again to go on")

            for number in range(state, self.states):
                self._state(number, done if number == state else FRESH, tell)
            rounds = self.rounds
            self._assemble(out)
            self._clear()
        return rounds

    def _state(self, number: int, done: int, tell: Callable[..., None]) -> None:
        server, keys = self._server, self._keys
        current = None if done == FRESH else self._load(self._path(number, done), number, done)
        for i in range(done + 1, ROUNDS + 1):
            tell(number, i, 0.0)
            start = time.monotonic()
            if current is None:
                current = self._source.start(server, number, keys.round(0))
            else:
                current = server.round(
                    current,
                    i,
                    keys.round(i),
                    lambda a, b, i=i: tell(number, i, a / b),  # type: ignore[misc]
                )
            if i == ROUNDS:
                current = self._source.finish(server, number, current)
            finished = Round(number, i, time.monotonic() - start, server.predicted_budget(current))
            self._keep(number, i, current, finished)
            tell(number, i, 1.0, finished)

    def _keep(self, number: int, i: int, state: State, finished: Round) -> None:
        head = files.head_of(self._server, state, self.digest, budget=finished.budget)
        files.write_states(self._path(number, i), self._server, head, [state])
        if i:
            self._path(number, i - 1).unlink(missing_ok=True)
        with (self.directory / _LOG).open("ab") as f:
            f.write(json.dumps(asdict(finished)).encode() + b"\n")

    def _assemble(self, out: Path) -> None:
        parts = [files.File(self._path(b, ROUNDS), self._server) for b in range(self.states)]
        for b, part in enumerate(parts):
            if (part.head.made, part.head.round) != (self.digest, ROUNDS):
                raise MismatchError(f"{self._path(b, ROUNDS).name} is the checkpoint of another task: remove it")
        budgets = [p.head.budget for p in parts if p.head.budget is not None]
        head = parts[0].head.model_copy(
            update={
                "blocks": self._source.blocks,
                "computed": self._source.computation.text if isinstance(self._source, Computed) else "",
                "budget": min(budgets) if budgets else None,
            }
        )
        records = (record for part in parts for record in part.records())
        files.write(out, self._server.parameter_hash, head, records)

    def _clear(self) -> None:
        for b in range(self.states):
            self._path(b, ROUNDS).unlink(missing_ok=True)
        (self.directory / _LOG).unlink(missing_ok=True)
        (self.directory / _TASK).unlink(missing_ok=True)
