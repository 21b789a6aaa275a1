# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Real texts for the demo: Debian's fortunes where they are installed, a few old quotations else."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

#: Where the package fortunes-min puts its files: texts, each followed by a line with a percent sign.
FORTUNES = Path("/usr/share/games/fortunes")
PACKAGE = "fortunes-min"

_FILES = ("fortunes", "literature", "riddles")

#: Sayings in the public domain, for machines where the package cannot be installed.
QUOTATIONS = (
    "A penny saved is a penny earned. - Benjamin Franklin",
    "All that glisters is not gold. - William Shakespeare",
    "Brevity is the soul of wit. - William Shakespeare",
    "Cowards die many times before their deaths. - William Shakespeare",
    "Knowledge is power. - Francis Bacon",
    "No man is an island, entire of itself. - John Donne",
    "The unexamined life is not worth living. - Socrates",
    "Three may keep a secret, if two of them are dead. - Benjamin Franklin",
    "To err is human; to forgive, divine. - Alexander Pope",
    "What's in a name? - William Shakespeare",
    "When I was a child, I spake as a child. - 1 Corinthians 13",
    "Well done is better than well said. - Benjamin Franklin",
)


def install() -> bool:
    """Installs the package with the project's own script, where that may; says whether it is there now."""
    script = Path(__file__).resolve().parents[3] / "tools" / "bootstrap.sh"
    if not installed() and script.exists():
        subprocess.run(
            [script, sys.executable, PACKAGE],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=os.environ,
            timeout=120,
            check=False,
        )
    return installed()


def installed() -> bool:
    """Whether the package is there."""
    return all((FORTUNES / name).is_file() for name in _FILES)


def _fortunes() -> Iterator[str]:
    for name in _FILES:
        for text in (FORTUNES / name).read_text(encoding="utf-8", errors="replace").split("\n%\n"):
            yield text.strip("\n").expandtabs()


def texts(count: int, longest: int) -> tuple[list[bytes], str]:
    """Different texts in UTF-8 of at most so many bytes, and where they come from.

    Where there are not as many, they are numbered and come again.
    """
    found, source = list(_fortunes()) if installed() else [], f"Debian's {PACKAGE}"
    fit = list(dict.fromkeys(t for text in found if 8 <= len(t := text.encode()) <= longest))
    if not fit:
        fit, source = [q.encode() for q in QUOTATIONS if len(q) <= longest], "quotations (fortunes are not installed)"
    numbered = (b"%d: %s" % (i, t) for i in itertools.count(2) for t in fit)
    more = (t for t in numbered if len(t) <= longest)
    return list(itertools.islice(itertools.chain(fit, more), count)), source
