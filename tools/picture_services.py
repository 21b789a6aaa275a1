#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The picture of the page of services: real ones at work, by headless Chromium.

    .venv/bin/python tools/picture_services.py docs/images/services.png

Starts a service of PSI and asks it, the demo of message retrieval with its board and detector, a service of AES that is
killed, and the page; takes the picture while the detector computes. Needs what tools/screenshot.py needs.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

COMMAND = [sys.executable, "-m", "ringforge.cli"]


@contextlib.contextmanager
def running(folder: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A command, until the block ends; what it complains of goes into a file."""
    with (folder / "complaints").open("a") as complaints:
        process = subprocess.Popen(
            [*COMMAND, *words],
            cwd=folder,
            text=True,
            stdout=subprocess.PIPE,
            stderr=complaints,
            stdin=subprocess.DEVNULL,
        )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(60)


def ready(process: subprocess.Popen[str]) -> dict[str, Any]:
    """What a service says when it is."""
    assert process.stdout is not None
    found: dict[str, Any] = json.loads(process.stdout.readline())
    return found


def done(folder: Path, *words: str) -> None:
    """Runs a command to its end."""
    subprocess.run([*COMMAND, *words], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def computing(address: str) -> int:
    """The detector's process, when it is in the midst of a request; else 0."""
    with urllib.request.urlopen(f"http://{address}/services.json", timeout=10) as answer:
        services = json.load(answer)["services"]
    for s in services:
        work = s["work"] if s["service"] == "omr detect" else []
        if any(0.25 < t["fraction"] < 0.95 for t in work):
            return int(s["pid"])
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("picture", type=Path, help="the PNG to write")
    parser.add_argument("--dark", action="store_true", help="ask for dark colours")
    asked = parser.parse_args()
    picture = asked.picture.resolve()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        os.environ["RINGFORGE_RUNTIME_DIR"] = str(folder / "run")
        (folder / "customers.txt").write_text("".join(f"customer{i}@example.org\n" for i in range(20_000)))
        (folder / "ours.txt").write_text("".join(f"customer{i}@example.org\n" for i in range(19_900, 20_100)))
        done(folder, "psi", "build", "table", "--set", "customers.txt", "--client-size", "256")
        psi = ready(stack.enter_context(running(folder, "psi", "serve", "table", "--listen", "127.0.0.1:8760")))
        for _ in range(3):
            done(folder, "psi", "query", "--server", psi["listening"], "--set", "ours.txt", "--out", "matched.txt")
        aes = stack.enter_context(running(folder, "aes", "serve", "--listen", "127.0.0.1:8780"))
        ready(aes)
        aes.kill()
        page = ready(stack.enter_context(running(folder, "serve", "--http", "127.0.0.1:0")))["listening"]
        stack.enter_context(running(folder, "omr", "demo", "--small", "--threads", "1", "--out", "omr"))
        until = time.monotonic() + 300
        while not (detector := computing(page)):
            if time.monotonic() > until:
                print("the demo's detector did not compute: run it by itself", file=sys.stderr)
                return 1
            time.sleep(0.1)
        os.kill(detector, signal.SIGSTOP)  # a browser takes longer to begin than this computation to end
        stack.callback(os.kill, detector, signal.SIGCONT)
        words = ["--height", "0", "--width", "1280", "--wait", "1.5", *(["--dark"] if asked.dark else [])]
        shot = Path(__file__).with_name("screenshot.py")
        return subprocess.run([sys.executable, shot, f"http://{page}/", picture, *words], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
