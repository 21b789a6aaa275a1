# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Reads the units of deploy/systemd, and runs what they start as systemd would: as written, in other places."""

from __future__ import annotations

import contextlib
import json
import os
import re
import selectors
import shlex
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "deploy/systemd"

#: What units start.
PROGRAM = "/opt/ringforge/bin/ringforge"

#: What stands for the instance of a template.
INSTANCE = "here"

#: Seconds for a service to be ready, and to end. Generous: nothing is measured.
PATIENCE = 300


@dataclass(frozen=True)
class Unit:
    """A unit's settings, by name; each with all its values in order."""

    name: str
    settings: Mapping[str, list[str]]
    hardening: str

    def one(self, name: str) -> str:
        """The value of a setting that is there once."""
        (value,) = self.settings[name]
        return value

    @property
    def stem(self) -> str:
        """As its example of an environment file is called."""
        return self.name.removeprefix("ringforge-").removesuffix(".service").removesuffix("@")

    @classmethod
    def read(cls, path: Path) -> Unit:
        """From a file: comments, sections, settings with lines that go on."""
        text = path.read_text()
        settings: dict[str, list[str]] = {}
        for line in re.sub(r"\\\n\s*", "", text).splitlines():
            if line and not line.startswith(("#", "[")):
                name, _, value = line.partition("=")
                settings.setdefault(name, []).append(value)
        hardening = text[text.index("# What the service may do") : text.index("RestrictAddressFamilies")]
        return cls(path.name, settings, hardening)


def units() -> list[Unit]:
    """All of them."""
    return [Unit.read(p) for p in sorted(FOLDER.glob("*.service"))]


def variables(text: str) -> dict[str, str]:
    """What an environment file sets."""
    found = {}
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, value = line.partition("=")
            found[name] = value.strip().strip('"')
    return found


@dataclass
class Place:
    """Where a unit runs instead of /: its directories, credentials, and the address that it tells how it stands."""

    folder: Path
    state: Path = field(init=False)
    run: Path = field(init=False)

    def __post_init__(self) -> None:
        self.state, self.run = self.folder / "state", self.folder / "run"
        for path in (self.state, self.run):
            path.mkdir(exist_ok=True)

    def specifiers(self, unit: Unit, text: str) -> str:
        """The text with systemd's specifiers replaced."""
        found = {"%S": self.state, "%t": self.run, "%d": self.credentials(unit), "%i": INSTANCE, "%%": "%"}
        return re.sub(r"%.", lambda m: str(found[m[0]]), text)

    def credentials(self, unit: Unit) -> Path:
        """The directory of a unit's credentials."""
        return self.folder / "credentials" / unit.stem

    def load(self, unit: Unit, files: Mapping[str, Path]) -> None:
        """Makes credentials of files, by the names that LoadCredential= gives them under /etc/ringforge.

        They get the mode that systemd's have where an access list lets the service read them.
        """
        folder = self.credentials(unit)
        folder.mkdir(parents=True)
        for line in unit.settings.get("LoadCredential", []):
            name, _, path = line.partition(":")
            made = folder / name
            made.write_bytes(files[path.removeprefix("/etc/ringforge/")].read_bytes())
            made.chmod(0o440)
        folder.chmod(0o550)


def command(unit: Unit, place: Place, environment: Mapping[str, str]) -> list[str]:
    """The words of ExecStart=, as systemd makes them: ${NAME} is one word, $NAME as many as it has."""
    words: list[str] = []
    for word in shlex.split(place.specifiers(unit, unit.one("ExecStart"))):
        if word.startswith("$") and not word.startswith("${"):
            words += shlex.split(environment[word[1:]])
        else:
            words.append(re.sub(r"\$\{(\w+)\}", lambda m: environment[m[1]], word))
    assert words[0] == PROGRAM
    return words[1:]


def environment(unit: Unit, place: Place, changes: Mapping[str, str]) -> dict[str, str]:
    """The variables of a unit: its own, those of its example file, and changes of those that it knows."""
    found: dict[str, str] = {}
    for line in unit.settings["Environment"]:
        found.update(variables("\n".join(shlex.split(place.specifiers(unit, line)))))
    example = variables((FOLDER / "env" / f"{unit.stem}.env").read_text())
    assert set(example) <= set(found), "the example sets what the unit does not know"
    found.update(example)
    return {**found, **{k: v for k, v in changes.items() if k in found}}


@dataclass
class Started:
    """A service that runs: what it printed when it was ready, and what it told systemd."""

    process: subprocess.Popen[bytes]
    ready: dict[str, Any]
    told: list[str]

    @property
    def metrics(self) -> str:
        """HOST:PORT of its --metrics."""
        return str(self.ready["metrics"])


def get(address: str, path: str) -> tuple[int, str]:
    """Status and body of an answer by HTTP."""
    with urllib.request.urlopen(f"http://{address}{path}", timeout=PATIENCE) as response:
        return response.status, response.read().decode()


@contextlib.contextmanager
def started(unit: Unit, place: Place, **changes: str) -> Iterator[Started]:
    """Runs what a unit starts until the block ends; it must end well when it is told to.

    Args:
        changes: of variables, such as addresses to listen at.
    """
    given = environment(unit, place, changes)
    runtime = place.run / unit.one("RuntimeDirectory").replace("%i", INSTANCE)
    runtime.mkdir(parents=True, mode=0o700, exist_ok=True)
    for name in unit.settings.get("StateDirectory", []):
        (place.state / name).mkdir(mode=0o700, exist_ok=True)
    notify = place.folder / f"notify-{unit.stem}"
    paths = os.pathsep.join(os.path.abspath(p) for p in sys.path if p)
    # As systemd: nothing of ours but the search path of the tests' own installation.
    variables = {
        **given,
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": paths,
        "LANG": "C.UTF-8",
        "NOTIFY_SOCKET": str(notify),
        "RUNTIME_DIRECTORY": str(runtime),
        "CREDENTIALS_DIRECTORY": str(place.credentials(unit)),
    }
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager,
        (place.folder / f"{unit.stem}.log").open("wb") as log,
    ):
        notify.unlink(missing_ok=True)
        manager.bind(str(notify))
        manager.setblocking(False)
        process = subprocess.Popen(
            [sys.executable, "-m", "ringforge.cli", *command(unit, place, given)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            env=variables,
            cwd="/",
        )
        assert process.stdout is not None
        try:
            line = _first_line(process)
            assert line, Path(log.name).read_text()
            told: list[str] = []
            yield Started(process, json.loads(line), told)
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 0, Path(log.name).read_text()
            with contextlib.suppress(BlockingIOError):
                while True:
                    told.append(manager.recv(4096).decode())
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


def _first_line(process: subprocess.Popen[bytes]) -> bytes:
    """The line that a service prints when it is ready; nothing if it ends or is silent."""
    assert process.stdout is not None
    with selectors.DefaultSelector() as s:
        s.register(process.stdout, selectors.EVENT_READ)
        return process.stdout.readline() if s.select(PATIENCE) else b""
