# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What the demo of omr uses of others, for `ringforge doctor`."""

from __future__ import annotations

from ringforge.cli.findings import Tool
from ringforge.errors import Error
from ringforge.omr import quotes
from ringforge.omr.demo_postgres import program


def _postgres() -> str:
    try:
        return program("postgres")
    except Error:
        return ""


def tools() -> list[Tool]:
    """Texts, and a database."""
    texts = str(quotes.FORTUNES) if quotes.installed() else ""
    return [
        Tool("fortunes", texts, "texts of `demo omr`, which has a few of its own", quotes.PACKAGE),
        Tool("PostgreSQL", _postgres(), "`omr demo --postgres`; boards of many readers", "postgresql"),
    ]
