# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What files and tables of psi are, for `ringforge info` and `ringforge psi info`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.markup import escape

from ringforge.cli.console import SECRET_FILE, properties, size_text
from ringforge.psi.info import TableInfo
from ringforge.psi.store import CURRENT, Store
from ringforge.psi.texts import limit_rows, table_rows


def oprf_key(path: Path) -> Iterator[RenderableType]:
    """A server's key from before records; it is recognised, never shown."""
    yield f"{escape(path.name)}: the key of an OPRF server of psi, {size_text(path.stat().st_size)}"
    yield SECRET_FILE


def table(path: Path) -> Iterator[RenderableType]:
    """A table, by the file CURRENT in its directory."""
    directory = path.parent
    store, found = of_directory(directory)
    yield properties(
        f"{directory.resolve().name}: a table of private set intersection", of_directory_rows(store, found)
    )
    yield "This directory holds the server's key and labels: it belongs to its owner alone."


def of_directory(path: Path) -> tuple[Store, dict[str, Any]]:
    """A table, and what its directory says beside the public info.

    Raises:
        FormatError: no table, or damaged. OSError: it cannot be read.
    """
    store = Store(path, verify=False)
    files = [p for p in path.rglob("*") if p.is_file()]
    changed = (path / CURRENT).stat().st_mtime
    return store, {
        "elements": store.count,
        "state": store.state,
        "digest": store.info.digest(),
        "changed": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(changed)),
        "age_seconds": max(0.0, time.time() - changed),
        "bytes_on_disk": sum(p.stat().st_size for p in files),
    }


def of_directory_rows(store: Store, found: dict[str, Any]) -> dict[str, str]:
    """The same for people."""
    info = store.info
    return {
        "elements": f"{found['elements']:,}; {_seen(info)}",
        **table_rows(info),
        **limit_rows(info),
        "changed": f"{found['changed']}, {_age(found['age_seconds'])} ago; {store.state}",
        "on disk": size_text(found["bytes_on_disk"]),
        "digest": found["digest"][:16],
    }


def _seen(info: TableInfo) -> str:
    """What clients learn of the number of elements."""
    size = f"clients see the size class: up to {info.capacity:,}"
    return f"{size}; those that deviate can count them" if info.plan.algorithm == "poly" else size


def _age(seconds: float) -> str:
    for name, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        count = int(seconds // length)
        if count:
            return f"{count} {name}{'s' * (count != 1)}"
    return "less than a minute"
