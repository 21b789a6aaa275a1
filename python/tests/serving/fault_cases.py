# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Every service with a client that asks something new each time, and knows what is right; for `test_faults.py`."""

from __future__ import annotations

import abc
import contextlib
import http.client
import urllib.request
from pathlib import Path
from typing import ClassVar

import numpy as np

from ringforge import matmul, matvec, psi
from ringforge.aes import files, wire
from ringforge.aes.client import Connection as AesConnection
from ringforge.errors import DuplicateError, Error, MissingKeyError
from ringforge.matmul.service import Connection as MatmulConnection
from ringforge.matvec.demo import Connection as MatvecConnection
from ringforge.matvec.model_files import save_model
from ringforge.omr.board_client import RemoteBoard
from ringforge.omr.detector_client import Connection as DetectorConnection
from ringforge.omr.detector_client import key_name
from ringforge.psi.remote import Connection as PsiConnection
from ringforge.psi.remote import intersect
from tests.aes import test_aes_service as aes
from tests.aes.test_clear_engine import library
from tests.matmul.test_matrix import small, uniform
from tests.omr import boards, detecting

REASON = {"accept_insecure": "tests"}


class Case(abc.ABC):
    """A service and its client.

    Args:
        folder: the client's; the service works in `disk` below it.

    Attributes:
        module: is run as by `python -m`. imports: what it takes. environment: of its own.
        charged: whether `left` tells exactly what one answer costs.
    """

    module: ClassVar[str] = "ringforge.cli"
    imports: ClassVar[tuple[str, ...]]
    environment: ClassVar[dict[str, str]] = {}
    charged: ClassVar[bool] = False

    def __init__(self, folder: Path) -> None:
        self.folder, self.disk, self.port = folder, folder / "disk", 0
        self.prepare()

    @abc.abstractmethod
    def prepare(self) -> None:
        """Makes what the client has, and what must be there before the service."""

    @abc.abstractmethod
    def words(self) -> list[str]:
        """The service's command line."""

    def renew(self, number: int) -> None:  # noqa: B027, for clients that keep nothing at the service
        """Sees to it that request `number` is asked for from its beginning; needs no room."""

    @abc.abstractmethod
    def ask(self, number: int) -> None:
        """Asks for `number`, and compares the answer."""

    def fresh(self, name: str) -> Path:
        """A name of the client's that no file has."""
        (self.folder / name).unlink(missing_ok=True)
        return self.folder / name

    def left(self) -> int:
        """What is left of the quota."""
        return 0

    def states(self) -> set[str]:
        """How the client's requests stand."""
        return set()


class Aes(Case):
    module = "tests.aes.command"
    imports = ("tests.aes.clear_scheme", "ringforge.aes.serve_cli", "ringforge.aes.service")
    charged = True

    def prepare(self) -> None:
        aes.SCHEMES["clear"].shape("clear-test", "a test")
        (self.folder / "k").mkdir()
        aes.clear.Clear().make("clear-test", "a test", self.folder / "s", self.folder / "k", 1)
        files.write_round_keys(self.folder / "r", aes.CLIENT, aes.KEY, "encrypt")

    def words(self) -> list[str]:
        about = "--scheme clear --set clear-test --insecure tests --listen 127.0.0.1:0 --threads 1"
        return ["aes", "serve", "--store", "disk/store", *about.split(), "--blocks-per-day", "1000000", "--grace", "5"]

    def _connected(self) -> AesConnection:
        return AesConnection(f"127.0.0.1:{self.port}", timeout=60)

    def renew(self, number: int) -> None:
        del number
        with self._connected() as c:
            for name in c.info().sets:
                c.drop(name)

    def ask(self, number: int) -> None:
        rng = np.random.default_rng(number)
        clear = rng.integers(0, 256, (3, 16), dtype=np.uint8)
        if not (self.folder / f"b{number}").exists():
            aes.encrypt(self.folder / f"b{number}", clear)
        with self._connected() as c:
            names = aes.sets(c, self.folder)
            job = c.submit(*names, wire.BLOCKS, self.folder / f"b{number}")
            c.watch(job)
            c.fetch(job, self.fresh("e"))
        assert np.array_equal(aes.opened(self.folder / "e"), library(aes.KEY, clear, "encrypt"))

    def left(self) -> int:
        with self._connected() as c:
            return int(c.info().left["blocks"])

    def states(self) -> set[str]:
        with self._connected() as c:
            return {j["state"] for j in c.info().jobs}


class AesStream(Aes):
    """Streams have a ledger of counters, in SQLite; keys stay."""

    def renew(self, number: int) -> None:
        del number

    def ask(self, number: int) -> None:
        text = b"text %d" % number
        if not (self.folder / f"c{number}").exists():
            aes.stream(self.folder, f"c{number}", text, "ledger", 1 + number)
        with self._connected() as c:
            names = aes.sets(c, self.folder)
            job = c.submit(*names, wire.STREAM, self.folder / f"c{number}")
            c.watch(job)
            c.fetch(job, self.fresh("e"))
        assert aes.opened(self.folder / "e").tobytes()[: len(text)] == text


class Detector(Case):
    module = "tests.omr.detector_process"
    imports = ("tests.omr.detecting", "ringforge.serving.listener", "ringforge.serving.published")
    environment: ClassVar[dict[str, str]] = {"BULLETINS": "1000000"}
    charged = True

    def prepare(self) -> None:
        self.key = detecting.key_file(self.folder)

    def words(self) -> list[str]:
        return ["disk", "0", "0"]

    def _connected(self) -> DetectorConnection:
        return DetectorConnection(f"127.0.0.1:{self.port}", timeout=60)

    def renew(self, number: int) -> None:
        del number
        with self._connected() as c, contextlib.suppress(MissingKeyError):
            c.drop_key(key_name(self.key))

    def ask(self, number: int) -> None:
        asked = detecting.request(self.key, last=1 + number % 4096, capacity=1 + number // 4096)
        with self._connected() as c:
            if key_name(self.key) not in c.info().keys:
                c.put_key(self.key)
            assert detecting.digest(c, asked) == detecting.expected(asked, self.key)

    def left(self) -> int:
        with self._connected() as c:
            return int(c.info().left["bulletins"])

    def states(self) -> set[str]:
        with self._connected() as c:
            return {j["state"] for j in c.info().jobs}


class Board(Case):
    imports = ("ringforge.omr.board_cli", "ringforge.omr.board_service", "ringforge.serving.published")
    charged = True

    def prepare(self) -> None:
        self._posts: dict[int, tuple[boards.Bytes, boards.Bytes]] = {}

    def words(self) -> list[str]:
        about = "--database disk/board.sqlite --set test --insecure tests --listen 127.0.0.1:0 --threads 1 --grace 5"
        return ["omr", "board", "serve", *about.split()]

    def _connected(self) -> RemoteBoard:
        return RemoteBoard(f"127.0.0.1:{self.port}", boards.SET, timeout=60)

    def ask(self, number: int) -> None:
        signals, payloads = self._posts.setdefault(number, boards.fresh(1, seed=(1 << 20) + number))
        with self._connected() as c:
            with contextlib.suppress(DuplicateError):  # what was refused may be there all the same
                list(c.posting(signals, payloads))
            rows = [row.tobytes() for b in c.bulletins() for row in c.payloads(b.number)]
        assert rows.count(payloads[0].tobytes()) == 1, "what was posted is there once"

    def left(self) -> int:
        with self._connected() as c:
            return int(c.info().posts_left)


class Psi(Case):
    imports = ("ringforge.psi.commands.serve", "ringforge.psi.service", "ringforge.serving.published")

    def prepare(self) -> None:
        psi.Store.build(self.disk / "table", {b"one": b"label", b"two": b""}, log_bins=5)

    def words(self) -> list[str]:
        about = "--listen 127.0.0.1:0 --threads 1 --grace 5 --bins-per-day 10000000 --prf-per-day 1000000"
        return ["psi", "serve", "disk/table", "--quota-file", "disk/q.sqlite", *about.split()]

    def ask(self, number: int) -> None:
        with PsiConnection(f"127.0.0.1:{self.port}", timeout=60) as c:
            found = intersect(c, [b"one", b"nobody %d" % number], exact_sizes=True, **REASON)
        assert found.result.matches == {b"one": b"label"}


class Matmul(Case):
    imports = ("ringforge.matmul.cli", "ringforge.matmul.service")

    def prepare(self) -> None:
        self.program = matmul.trace(small(), lambda A, B: A @ B, A=(4, 5), B=(5, 3))
        self.program.save(self.folder / "program.json")
        self.holder = matmul.KeyHolder(self.program, **REASON)
        self.holder.save_evaluation_keys(self.folder / "keys")

    def words(self) -> list[str]:
        return ["matmul", "serve", "--program", "program.json", "--folder", "disk/server", "--threads", "1"]

    def ask(self, number: int) -> None:
        a, b = uniform(4, 5, seed=number + 1), uniform(5, 3, seed=number + 1)
        connection = MatmulConnection(self.port)
        connection._http.timeout = 60
        connection.send_keys(self.folder / "keys")
        for name, values in (("A", a), ("B", b)):
            path = self.fresh(f"{name}.ct")
            self.holder.encrypt(name, values).save(path, self.program)
            connection.send_input(name, path)
        connection.run()
        connection.fetch("result", self.fresh("result.ct"))
        connection.close()
        result = self.holder.decrypt(matmul.Parcel.load(self.folder / "result.ct", self.program, "result"))
        assert np.abs(result - a @ b).max() < 1e-2


class Matvec(Case):
    module = "ringforge.matvec.service"
    imports = ("ringforge.matvec.compiler", "ringforge.matvec.model_files", "ringforge.matvec.roles")

    def prepare(self) -> None:
        self.weights = np.full((2, 3), 0.5)
        model = matvec.Sequential([matvec.Linear(self.weights)])
        self.program = matvec.compile_model(model, "set-a").program
        self.client = matvec.Client(self.program)
        self.client.save_evaluation_keys(self.folder / "keys")
        save_model(self.folder / "model.npz", model)

    def words(self) -> list[str]:
        return ["--model", "model.npz", "--params", "set-a", "--batches", "1", "--folder", "disk"]

    def ask(self, number: int) -> None:
        x = np.random.default_rng(number).uniform(-1, 1, 3)
        connection = MatvecConnection(self.port)
        connection._http.timeout = 60
        connection.send_keys("single", self.folder / "keys")
        self.client.encrypt(x).save(self.fresh("x"), self.program)
        connection.evaluate("single", self.folder / "x", self.fresh("y"))
        connection.close()
        found = self.client.decrypt(matvec.EncryptedVectors.load(self.folder / "y", self.program, "output"))
        assert np.abs(np.ravel(found) - self.weights @ x).max() < 1e-2


class Page(Case):
    """The page of the services, which writes nothing."""

    imports = ("ringforge.serving.page_cli", "ringforge.serving.page", "ringforge.serving.overview")

    def prepare(self) -> None:
        pass

    def words(self) -> list[str]:
        return ["serve", "--http", "127.0.0.1:0", "--runtime", "disk"]

    def ask(self, number: int) -> None:
        del number
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/", timeout=60) as answer:
                assert b"<html" in answer.read().lower()
        except (OSError, http.client.HTTPException) as e:
            raise Error(f"the page does not answer: {e}") from None


CASES = {
    "psi serve": Psi,
    "omr board serve": Board,
    "omr detect serve": Detector,
    "aes serve, blocks": Aes,
    "aes serve, a stream": AesStream,
    "matmul serve": Matmul,
    "matvec.service": Matvec,
    "serve (the page)": Page,
}
