# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Files of the three roles: written whole or not at all, secrets readable by their owner only."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def new_file(path: str | Path, *, secret: bool = False) -> Iterator[Path]:
    """A temporary file beside `path`; it takes the name `path` only when the block ends without an error.

    With `secret`, the file can be read by its owner only.
    """
    path = Path(path)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        if not secret:
            umask = os.umask(0)
            os.umask(umask)
            temporary.chmod(0o666 & ~umask)
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def writing(path: str | Path, *, secret: bool = False) -> Iterator[IO[bytes]]:
    """Like `new_file`, as an open binary file."""
    with new_file(path, secret=secret) as temporary, temporary.open("wb") as f:
        yield f
