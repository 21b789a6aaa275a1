# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Docstrings of this project as the reference reads them.

Ours are Google's style, written tighter: `low, high: of the range. kind: what it is.` tells of three parameters, and
`ShapeError: of x. LevelError, ScaleError: of y.` of three exceptions. Here each gets an entry of its own.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from typing import Any

import griffe

_SECTION = re.compile(r"^(Args|Attributes|Raises):$")
_EXAMPLE = re.compile(r"^>>> .*(?:\n.+)*(?:\n\n>>> .*(?:\n.+)*)*", re.MULTILINE)
_EXCEPTION = r"(?:ringforge\.)?[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Warning|StopIteration)\w*"
_RAISED = re.compile(rf"(?:^|(?<=[.;)`])\s+)(({_EXCEPTION})(?:,?\s+(?:and |or )?{_EXCEPTION})*):\s+")
_NAMED = re.compile(r"(?:^|(?<=[.;)`])\s+|\n)((\**[A-Za-z_]\w*)(?:,\s+\**[A-Za-z_]\w*)*)(?: \([^)]*\))?:\s+")


def respelled(text: str, parameters: set[str], *, fields: bool) -> str:
    """A docstring with one entry for each parameter, attribute and exception.

    Args:
        text: the docstring, without common indentation.
        parameters: names that a section of parameters or attributes may tell of.
        fields: a class's parameters are its attributes: it has no constructor that shows them.
    """
    lines: list[str] = []
    rest = _EXAMPLE.sub(r"```pycon\n\g<0>\n```", text).split("\n")
    while rest:
        line = rest.pop(0)
        found = _SECTION.match(line)
        if found is None:
            lines.append(line)
            continue
        body = []
        while rest and (rest[0].startswith("    ") or (not rest[0] and len(rest) > 1 and rest[1].startswith("    "))):
            body.append(rest.pop(0))
        kind = "Attributes" if fields and found[1] == "Args" else found[1]
        content = textwrap.dedent("\n".join(body))
        entries = _entries(content, _RAISED, None) if kind == "Raises" else _entries(content, _NAMED, parameters)
        lines.append(f"{kind}:")
        for name, meaning in entries:
            lines.append(textwrap.indent(f"{name}: " + textwrap.indent(meaning, "    ").lstrip(), "    "))
    return "\n".join(lines)


def _entries(content: str, pattern: re.Pattern[str], known: set[str] | None) -> Iterator[tuple[str, str]]:
    """Names and what is said of them; several names that share a text get it each."""
    heads: list[tuple[list[str], int, int]] = []
    for found in pattern.finditer(content):
        names = re.split(r",?\s+(?:and |or )?", found[1])
        if known is None or not known or all(name.lstrip("*") in known for name in names):
            heads.append((names, found.start(), found.end()))
    if not heads or heads[0][1] != 0:
        # The first entry is what stands first, known or not: the reference's own check then names it.
        first = re.match(r"[^:]+:\s+", content)
        heads.insert(0, ([content[: first.end()].split(":")[0]] if first else [""], 0, first.end() if first else 0))
    for (names, _, begin), end in zip(heads, [*(h[1] for h in heads[1:]), len(content)], strict=True):
        first, _, more = content[begin:end].strip().partition("\n")
        meaning = f"{first}\n{textwrap.dedent(more)}".strip()
        for name in names:
            yield name, meaning


#: What every class has, and no page needs.
_SILENT = {"__doc__", "__hash__", "__module__", "__new__", "__post_init__", "__repr__", "__test__"}


class Respelled(griffe.Extension):
    """Gives every docstring of the package one entry for each name."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Called once the package is complete."""
        if pkg.name == "ringforge":
            self._walk(pkg)

    def _walk(self, owner: Any) -> None:
        for name in _SILENT & owner.members.keys():
            owner.del_member(name)
        for member in owner.members.values():
            if member.is_alias:
                continue
            self._mend(member)
            if member.is_module or member.is_class:
                self._walk(member)

    def _mend(self, member: Any) -> None:
        if member.docstring is None:
            return
        fields = False
        known: set[str] = set()
        if member.is_function or member.is_class:
            known = {p.name.lstrip("*") for p in member.parameters}
        if member.is_class:
            fields = not known
            known |= set(member.all_members)
        member.docstring.value = respelled(member.docstring.value, known, fields=fields)
