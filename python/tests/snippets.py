# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Reads the blocks of code of a document and runs them as a reader would who pastes them one after the other.

What stands on the line before a block's fence says how it is run; docs/testing.md lists the marks.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

CODE = frozenset({"sh", "python", "pycon"})
"""What is run: commands, Python, and sessions of Python with what they print."""

LANGUAGES = CODE | {"text", "json", "yaml", "toml", "ini", "cmake", "cpp", "verilog", "mermaid", "proto", ""}
"""What a fence may say. `bash` or `console` would be code that nothing runs."""

MARKS = frozenset({"long", "server", "fails", "output", "output all"})

_LONGEST = {False: 300, True: 3600}
"""Seconds after which a block of commands is taken for one that does not end, without and with long blocks."""

_FENCE = re.compile(r"^( *)```([\w-]*)\s*$")
_MARK = re.compile(r"^ *<!-- (snippet|not run): (.+?) -->\s*$")
_ADDRESS = re.compile(r"(127\.0\.0\.1|localhost):(\d{4,5})\b")
_READY = re.compile(r"\S:\d{2,5}\b|\.sock\b")

_INTERPRETER = """
import contextlib, doctest, io, json, sys, traceback
scope = {"__name__": "__main__"}
answers, sys.stdout = sys.stdout, io.StringIO()
for line in sys.stdin:
    text, name, language = json.loads(line)
    out, fault = io.StringIO(), ""
    with contextlib.redirect_stdout(out):
        try:
            if language == "pycon":
                session = doctest.DocTestParser().get_doctest(text, scope, name, None, 0)
                runner = doctest.DocTestRunner(verbose=False)
                runner.run(session, clear_globs=False)
                scope = session.globs
                if runner.failures:
                    fault = out.getvalue()
            else:
                exec(compile(text, name, "exec"), scope)
        except BaseException:
            fault = traceback.format_exc()
    print(json.dumps([out.getvalue(), fault]), file=answers, flush=True)
"""


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, text, the line of its fence (from 1), and what the mark before it says."""

    language: str
    text: str
    line: int
    mark: str = ""
    not_run: str = ""

    @property
    def first(self) -> str:
        """The first line, by which a list can name it."""
        return self.text.split("\n", 1)[0].strip()


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a document, in order.

    Raises:
        ValueError: a fence that does not end, an unknown mark, or a mark without a block.
    """
    found: list[Block] = []
    lines = text.split("\n")
    i, mark, why = 0, "", ""
    while i < len(lines):
        if fence := _FENCE.match(lines[i]):
            indent, begin = fence[1], i
            i += 1
            body: list[str] = []
            while i < len(lines) and lines[i].rstrip() != f"{indent}```":
                body.append(lines[i].removeprefix(indent))
                i += 1
            if i == len(lines):
                raise ValueError(f"line {begin + 1}: the block does not end")
            found.append(Block(fence[2], "\n".join(body) + "\n", begin + 1, mark, why))
            mark = why = ""
        elif marked := _MARK.match(lines[i]):
            if mark or why:
                raise ValueError(f"line {i + 1}: two marks")
            if marked[1] == "snippet":
                mark = marked[2]
                if mark not in MARKS:
                    raise ValueError(f"line {i + 1}: no mark is called {mark!r}; there are {sorted(MARKS)}")
            else:
                why = marked[2]
        elif mark or why:
            raise ValueError(f"line {i + 1}: a mark stands directly before its block")
        i += 1
    if mark or why:
        raise ValueError("a mark at the end of the document")
    return found


def matches(wanted: str, printed: str) -> bool:
    """Whether output is as a document shows it: `...` stands for any text of a line, alone for any lines."""
    pattern = ""
    for line in wanted.rstrip("\n").split("\n"):
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += r".*?".join(re.escape(part.rstrip()) for part in line.rstrip().split("...")) + r"[ \t]*\n"
    return re.fullmatch(pattern, printed.rstrip("\n") + "\n") is not None


class SnippetError(AssertionError):
    """A block did not do what its document says."""


@dataclass
class _Server:
    process: subprocess.Popen[str]
    where: str
    lines: list[str] = field(default_factory=list)
    ready: threading.Event = field(default_factory=threading.Event)
    listening: bool = False


class Reader:
    """Runs the blocks of one document in one folder.

    Args:
        name: what the document is called in messages.
        folder: an empty folder that commands start in.
        one_program: whether blocks of Python go on where the one before ended; otherwise each is a program.
        long: whether blocks marked `long` run.
    """

    def __init__(self, name: str, folder: Path, *, one_program: bool = True, long: bool = False) -> None:
        self.name, self.folder, self.one_program, self.long = name, folder, one_program, long
        self._ports: dict[str, str] = {}
        self._servers: list[_Server] = []
        self._python: subprocess.Popen[str] | None = None
        self._printed: tuple[str, str] | None = None
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self._environment = {**os.environ, "PATH": path, "COLUMNS": "120", "LC_ALL": "C.UTF-8", "PYTHONUTF8": "1"}

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self._end_python()
        for server in self._servers:
            _kill(server.process)

    def run(self, block: Block) -> None:
        """Runs one block, or holds it against what the one before has printed.

        Raises:
            SnippetError: it failed, or printed something else.
        """
        where = f"{self.name}:{block.line}"
        if block.mark == "long" and not self.long:
            self._printed = None
            return
        if block.mark.startswith("output"):
            self._compare(block, where)
        elif block.language in CODE and not block.not_run:
            begin = time.monotonic()
            text = _ADDRESS.sub(self._other_port, block.text)
            if block.mark == "server":
                self._serve(text, where)
            elif block.language == "sh":
                self._shell(text, where, fails=block.mark == "fails")
            else:
                self._interpret(text, where, block.language, fails=block.mark == "fails")
            print(f"{where}: {time.monotonic() - begin:.1f} s")

    def finish(self) -> None:
        """Stops the servers, which must end as they do for their operators.

        Raises:
            SnippetError: one had ended before, or ends with an error.
        """
        self._end_python()
        for server in reversed(self._servers):
            if server.process.poll() is not None:
                raise SnippetError(f"{server.where}: the server ended by itself:\n{''.join(server.lines)}")
            os.killpg(server.process.pid, signal.SIGTERM)
            try:
                status = server.process.wait(60)
            except subprocess.TimeoutExpired:
                raise SnippetError(f"{server.where}: the server does not stop at SIGTERM") from None
            if status != 0:
                raise SnippetError(f"{server.where}: the server ended with {status}:\n{''.join(server.lines)}")

    def _other_port(self, found: re.Match[str]) -> str:
        """Each port of a document becomes a free one, so that two runs at once do not meet."""
        port = found[2]
        if port not in self._ports:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                self._ports[port] = str(probe.getsockname()[1])
        return f"{found[1]}:{self._ports[port]}"

    def _as_written(self, text: str) -> str:
        """Output with the document's own ports."""
        for port, other in self._ports.items():
            text = re.sub(rf":{other}\b", f":{port}", text)
        return text

    def _shell(self, text: str, where: str, *, fails: bool) -> None:
        command = ["bash", "-euo", "pipefail", "-c", text]
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
            try:
                status = process.wait(_LONGEST[self.long])
            except subprocess.TimeoutExpired:
                raise SnippetError(f"{where}: not done after {_LONGEST[self.long]} s; a server has a mark") from None
            finally:
                _kill(process)
            printed = [(file.seek(0), file.read())[1] for file in (out, err)]
        self._printed = (printed[0], printed[1])
        if (status != 0) != fails or "Traceback" in printed[1]:
            said = f"{printed[0][-3000:]}{printed[1][-6000:]}"
            raise SnippetError(f"{where}: the commands ended with {status}:\n{text}\n{said}")

    def _interpret(self, text: str, where: str, language: str, *, fails: bool) -> None:
        if self._python is None:
            self._python = subprocess.Popen(
                [sys.executable, "-c", _INTERPRETER],
                cwd=self.folder,
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                encoding="utf-8",
            )
        assert self._python.stdin is not None
        assert self._python.stdout is not None
        self._python.stdin.write(json.dumps([text, where, language]) + "\n")
        self._python.stdin.flush()
        answer = self._python.stdout.readline()
        if not answer:
            raise SnippetError(f"{where}: the interpreter ended with {self._python.wait()}")
        out, fault = json.loads(answer)
        self._printed = (out, fault.strip().rsplit("\n", 1)[-1] + "\n" if fault else "")
        if bool(fault) != fails:
            raise SnippetError(f"{where}: {fault or 'nothing was raised'}\n{text}")
        if not self.one_program:
            self._end_python()

    def _serve(self, text: str, where: str) -> None:
        process = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", f"exec {text.strip()}"],
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            start_new_session=True,
        )
        server = _Server(process, where)
        self._servers.append(server)
        threading.Thread(target=_listen, args=(server,), daemon=True).start()
        if not server.ready.wait(120) or not server.listening:
            raise SnippetError(f"{where}: the server does not say where it listens:\n{text}\n{''.join(server.lines)}")
        self._printed = None

    def _compare(self, block: Block, where: str) -> None:
        if self._printed is None:
            if self.long:
                raise SnippetError(f"{where}: output is shown, but the block before is not run, or a server")
            return
        printed = self._as_written("".join(self._printed) if block.mark == "output all" else self._printed[0])
        if not matches(block.text, printed):
            raise SnippetError(f"{where}: shown is\n{block.text}\nprinted was\n{printed}")

    def _end_python(self) -> None:
        if self._python is not None:
            assert self._python.stdin is not None
            self._python.stdin.close()
            status = self._python.wait(60)
            self._python = None
            if status != 0:
                raise SnippetError(f"{self.name}: the interpreter ended with {status}")


def _listen(server: _Server) -> None:
    """Keeps what a server prints, and notices the address."""
    assert server.process.stdout is not None
    for line in server.process.stdout:
        server.lines.append(line)
        if _READY.search(line):
            server.listening = True
            server.ready.set()
    server.ready.set()


def _kill(process: subprocess.Popen[str]) -> None:
    """Ends a process and its children, whatever they do."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def documents(root: Path) -> Iterator[Path]:
    """The documents whose code is run: the first page, how to contribute, and everything directly in docs/."""
    yield root / "README.md"
    yield root / "CONTRIBUTING.md"
    yield from sorted(root.glob("docs/*.md"))
