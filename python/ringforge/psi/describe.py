# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What files of psi are, for `ringforge info`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.console import RenderableType
from rich.markup import escape

from ringforge.cli.console import SECRET_FILE, size_text


def oprf_key(path: Path) -> Iterator[RenderableType]:
    """A server's key from before records; it is recognised, never shown."""
    yield f"{escape(path.name)}: the key of an OPRF server of psi, {size_text(path.stat().st_size)}"
    yield SECRET_FILE
