# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What packages register with Ringforge: entry points, by group and name. Nothing is imported before it is asked for.

Groups, of which pyproject.toml holds our own:

- `ringforge.commands`: Typer apps, commands of the command line by their names.
- `ringforge.demos`: pairs of a command's function and about how many seconds it takes, by the system's name.
- `ringforge.workloads`: functions of a set's name and a size that give work in shards
  (`ringforge.devices.scaling.Workload`), for `ringforge explain`, by the system's name.
- `ringforge.doctor`: functions that say which tools a room uses (`ringforge.cli.findings.Tool`).
- `ringforge.files.record`, `ringforge.files.begin`, `ringforge.files.format`, `ringforge.files.suffix`: functions that
  say for `ringforge info` what a file holds, by the type of its first record ("0x0201"), by its first bytes, by the
  format that it states as JSON, or by the suffix of its name. Records of other types are shown as a table.
- `ringforge.devices`: modules that register devices, by their kinds.
- `ringforge.kernels`: modules that register kernels.
- `ringforge.machines`: descriptors of accelerators (`ringforge.hw.core.machine.Machine`), by their names.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, PackageNotFoundError, distribution, entry_points
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ringforge import DISTRIBUTION
from ringforge.errors import Error

_PROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"


@cache
def registered(group: str) -> Mapping[str, EntryPoint]:
    """The entry points of a group by name: ours in their order, then those of other packages, which replace none.

    They are looked for once in a process.
    """
    found = {entry.name: entry for entry in _ours(group)}
    for entry in sorted(entry_points(group=group), key=lambda e: e.name):
        found.setdefault(entry.name, entry)
    return MappingProxyType(found)


def load(entry: EntryPoint) -> Any:
    """What an entry point names, imported now.

    Raises:
        Error: its package cannot be imported, or lacks it.
    """
    try:
        return entry.load()
    except (ImportError, AttributeError) as e:
        raise Error(
            f"{entry.value}, which is registered as {entry.name} of {entry.group}, cannot be imported ({e}): "
            "install its package anew, or remove it"
        ) from e


def _ours(group: str) -> list[EntryPoint]:
    """Ours: of the source tree that this module lies in, or of the installed package.

    The tree is asked first: what an editable install has noted of it may be older, and a tree on the path of a program
    has no notes at all.
    """
    try:
        project = tomllib.loads(_PROJECT.read_text(encoding="utf-8"))["project"]
    except (OSError, ValueError, KeyError):
        project = {}
    if project.get("name") == DISTRIBUTION:
        return [EntryPoint(name, value, group) for name, value in project["entry-points"].get(group, {}).items()]
    try:
        return list(distribution(DISTRIBUTION).entry_points.select(group=group))
    except PackageNotFoundError:
        return []
