# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Tables that can be printed by `print`, and not by a rich console only."""

from __future__ import annotations

import os

from rich.console import Console, Group, RenderableType
from rich.table import Table

#: Least width, so that tables keep all their columns.
MIN_WIDTH = 120


def shown(what: RenderableType) -> str:
    """A table or group as text without colours."""
    columns = os.environ.get("COLUMNS", "")
    target = Console(highlight=False, no_color=True, width=max(MIN_WIDTH, int(columns) if columns.isdigit() else 0))
    with target.capture() as text:
        target.print(what)
    return "\n".join(line.rstrip() for line in text.get().splitlines())


class ShownTable(Table):
    """A table whose text is the table."""

    def __str__(self) -> str:
        return shown(self)


class ShownGroup(Group):
    """Several tables and texts, one below the other."""

    def __str__(self) -> str:
        return shown(self)
