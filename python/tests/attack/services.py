# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The services that are attacked, as processes on this machine, and an honest client of each."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ringforge import matmul, matvec
from ringforge.aes import client as aes
from ringforge.errors import Error
from ringforge.files import overwriting
from ringforge.matmul import service as matmul_service
from ringforge.matvec import demo as matvec_demo
from ringforge.matvec.model_files import save_model
from ringforge.omr import sets
from ringforge.omr.board_client import RemoteBoard
from ringforge.omr.detector_client import Connection as Detector
from ringforge.psi.remote import Connection as Psi
from ringforge.psi.remote import intersect
from ringforge.psi.store import Store
from tests.psi.processes import environment

HONEST = "token-of-the-honest-one"
HOSTILE = [f"token-of-hostile-number-{i:03}" for i in range(16)]

#: Seconds of one attempt of an honest client, and within which it must have its answer, trying again.
ATTEMPT, PATIENCE = 20.0, 90.0


class WrongError(Exception):
    """An honest client was answered, and not with what is right."""


@dataclass
class Service:
    """One service. `honest` is a whole call of a client, from connecting to the result held against what is right."""

    name: str
    words: list[str]
    folder: Path
    honest: Callable[[Service], None]
    methods: tuple[str, ...] = ()  # of gRPC, as /SERVICE/METHOD; none: local HTTP
    process: subprocess.Popen[str] | None = None
    port: int = 0
    metrics: str = ""
    restarts: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    calling: threading.Lock = field(default_factory=threading.Lock)
    state: dict[str, Any] = field(default_factory=dict)

    def call(self) -> None:
        """One call of an honest client; those of local HTTP share files, and go one after the other."""
        with self.calling if not self.methods else contextlib.nullcontext():
            self.honest(self)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, on the port that it had before."""
        last = {"--port": [str(self.port)], "--listen": [self.address]}.get(self.words[-1], [])
        words = [*self.words, *last, "--metrics", self.metrics or "127.0.0.1:0"]
        with (self.folder / f"{self.name.replace(' ', '-')}.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", *words],
                cwd=self.folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment(RINGFORGE_RUNTIME_DIR=str(self.folder / "run")),
                text=True,
            )
        assert self.process.stdout is not None
        ready = json.loads(self.process.stdout.readline())
        self.port, self.metrics = int(ready["port"]), str(ready["metrics"])

    def supervise(self) -> bool:
        """Start it again if it has ended; says whether it had."""
        with self.lock:
            if self.process is not None and self.process.poll() is None:
                return False
            self.restarts += 1
            while True:
                try:
                    self.start()
                    return True
                except (ValueError, KeyError):  # its port is still taken
                    time.sleep(0.5)

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def stop(self) -> int | None:
        """SIGTERM; returns the exit code, or None when it did not end within a minute."""
        assert self.process is not None
        self.process.terminate()
        try:
            return self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return None


def _equal(found: object, right: object) -> None:
    if found != right:
        raise WrongError(f"{found} and not {right}"[:200])


def _psi(s: Service) -> None:
    with Psi(s.address, token=HONEST, timeout=ATTEMPT) as c:
        found = intersect(c, s.state["asked"], threads=1).result.matches
    _equal(len(found), s.state["common"])


def _board(s: Service) -> None:
    with RemoteBoard(s.address, sets.named("test", "an attack"), token=HONEST, timeout=ATTEMPT) as c:
        _equal(c.info().bulletins >= 1, True)
        _equal(len(c.bulletins()) >= 1, True)


def _detect(s: Service) -> None:
    with Detector(s.address, token=HONEST, timeout=ATTEMPT) as c:
        c.info()


def _aes(s: Service) -> None:
    with aes.Connection(s.address, token=HONEST, timeout=ATTEMPT) as c:
        _equal(c.info().server["set"], "bgv-test")


@overwriting()
def _matmul(s: Service) -> None:
    folder, program, holder = s.folder, s.state["program"], s.state["holder"]
    c = matmul_service.Connection(s.port)
    try:
        c.report("POST", "/run")
    except Error:  # started anew: it forgets keys
        c.send_keys(folder / "mm.keys")
        for name in "AB":
            c.send_input(name, folder / f"mm.{name}")
        c.run()
    c.fetch("result", folder / "mm.result")
    result = holder.decrypt(matmul.Parcel.load(folder / "mm.result", program, "result"))
    if not np.allclose(result, s.state["product"], atol=1e-3):
        raise WrongError("another product")


@overwriting()
def _matvec(s: Service) -> None:
    c = matvec_demo.Connection(s.port)
    if "client" not in s.state:
        program = c.program("single")
        client = s.state["client"] = matvec.Client(program)
        client.save_evaluation_keys(s.folder / "mv.keys")
        client.encrypt([0.1, 0.2, 0.3]).save(s.folder / "mv.x", program)
        s.state["program"] = program
    try:
        c.evaluate("single", s.folder / "mv.x", s.folder / "mv.y")
    except Error:
        c.send_keys("single", s.folder / "mv.keys")
        c.evaluate("single", s.folder / "mv.x", s.folder / "mv.y")
    found = s.state["client"].decrypt(matvec.EncryptedVectors.load(s.folder / "mv.y", s.state["program"], "output"))
    if not np.allclose(np.ravel(found), [0.3, 0.3], atol=1e-3):
        raise WrongError("another product")


def all_services(folder: Path) -> Iterator[Service]:
    """Services with what they need, and their clients with theirs; not started."""
    tokens = folder / "tokens"
    tokens.write_text("\n".join([HONEST, *HOSTILE]))
    tokens.chmod(0o600)
    guarded = ["--token-file", "tokens", "--listen"]
    first = ["--insecure", "an attack"]
    members = [b"element %d" % i for i in range(400)]
    asked = members[:40] + [b"other %d" % i for i in range(40)]
    Store.build(folder / "table", members, log_bins=6)
    quotas = ["--prf-per-day", str(1 << 30), "--bins-per-day", str(1 << 30)]
    cli = "ringforge.cli"
    yield Service(
        "psi serve",
        [cli, "psi", "serve", "table", "--threads", "1", *quotas, *guarded],
        folder,
        _psi,
        tuple(f"/ringforge.psi.v1.Psi/{m}" for m in ("OpenSession", "Query", "EvaluatePrf")),
        state={"asked": asked, "common": 40},
    )
    board = ["--set", "test", *first, "--threads", "1"]
    yield Service(
        "omr board serve",
        [cli, "omr", "board", "serve", "--database", "board.sqlite", *board, *guarded],
        folder,
        _board,
        tuple(f"/ringforge.omr.board.v1.Board/{m}" for m in ("Post", "Bulletins", "Encoding")),
    )
    yield Service(
        "omr detect serve",
        [cli, "omr", "detect", "serve", "--board", "board.sqlite", "--store", "detector", *board, *guarded],
        folder,
        _detect,
        tuple(f"/ringforge.omr.detector.v1.Detector/{m}" for m in ("PutKey", "Submit", "Watch")),
    )
    yield Service(
        "aes serve",
        [cli, "aes", "serve", "--set", "bgv-test", *first, "--store", "aes", "--threads", "1", *guarded],
        folder,
        _aes,
        tuple(f"/ringforge.aes.v1.Aes/{m}" for m in ("PutFile", "Submit", "Watch")),
    )
    program = matmul.trace("matmul-a-128", lambda A, B: A @ B, {"A": (3, 4), "B": (4, 3)})
    program.save(folder / "program.json")
    holder, a, b = matmul.KeyHolder(program), np.full((3, 4), 0.25), np.full((4, 3), 0.5)
    holder.save_evaluation_keys(folder / "mm.keys")
    holder.encrypt("A", a).save(folder / "mm.A", program)
    holder.encrypt("B", b).save(folder / "mm.B", program)
    yield Service(
        "matmul serve",
        [cli, "matmul", "serve", "--program", "program.json", "--folder", "room", "--threads", "1", "--port"],
        folder,
        _matmul,
        state={"program": program, "holder": holder, "product": a @ b},
    )
    save_model(folder / "model.npz", matvec.Sequential([matvec.Linear(np.full((2, 3), 0.5))]))
    (folder / "mvroom").mkdir()
    words = ["ringforge.matvec.service", "--model", "model.npz", "--params", "set-a", "--batches", "1"]
    yield Service("matvec", [*words, "--folder", "mvroom"], folder, _matvec)


def room() -> Path:
    """A folder for all of it, on the disk for what is temporary."""
    return Path(tempfile.mkdtemp(prefix=f"attack-{os.getpid()}-"))
