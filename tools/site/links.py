# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Links between the Markdown files of this repository: files and anchors exist, addresses elsewhere are well formed.

    python tools/site/links.py

prints each broken link as `file:line: what is wrong` and ends with code 1 if there is one. Nothing is fetched.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[2]

#: Folders that hold nothing of the repository's own.
FOREIGN = {".git", ".venv", "build", "dist", "demo-out", "node_modules", "__pycache__"}

_ANCHOR = re.compile(r"<a\s+(?:id|name)=[\"']([^\"']+)[\"']", re.IGNORECASE)
_ADDRESS = re.compile(r"<(?:a|img)\s[^>]*?(?:href|src)=[\"']([^\"']+)[\"']", re.IGNORECASE)


@dataclass(frozen=True)
class Link:
    """One link of a page.

    Attributes:
        line: where its paragraph begins, from 1.
        target: what it says.
    """

    line: int
    target: str


@dataclass(frozen=True)
class Page:
    """What a Markdown file offers to links, and its own links."""

    anchors: frozenset[str]
    links: tuple[Link, ...]


def slug(text: str, separator: str = "-") -> str:
    """The anchor of a heading, as GitHub forms it; the site uses the same."""
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", separator)


def _text(inline: Token) -> str:
    return "".join(child.content for child in inline.children or () if child.type in {"text", "code_inline"})


def _links(inline: Token) -> Iterator[str]:
    for child in inline.children or ():
        if child.type == "link_open":
            yield str(child.attrs["href"])
        elif child.type == "image":
            yield str(child.attrs["src"])
        elif child.type == "html_inline":
            yield from _ADDRESS.findall(child.content)


@cache
def read(path: Path) -> Page:
    """Parses a Markdown file as GitHub does."""
    return parse(path.read_text(encoding="utf-8"))


def parse(text: str) -> Page:
    """Anchors and links of a text in Markdown."""
    anchors: set[str] = set()
    links: list[Link] = []
    heading = False
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        line = token.map[0] + 1 if token.map else 0
        if token.type == "inline":
            if heading:
                name = slug(_text(token))
                count = 0
                while (unique := f"{name}-{count}" if count else name) in anchors:
                    count += 1
                anchors.add(unique)
            links += [Link(line, target) for target in _links(token)]
            anchors.update(_ANCHOR.findall(token.content))
        elif token.type == "html_block":
            links += [Link(line, target) for target in _ADDRESS.findall(token.content)]
            anchors.update(_ANCHOR.findall(token.content))
        heading = token.type == "heading_open"
    return Page(frozenset(anchors), tuple(links))


def target_of(path: Path, target: str) -> tuple[Path, str] | None:
    """The file and the anchor that a link of `path` means; None for an address elsewhere."""
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return None
    file = Path(os.path.normpath(path.parent / unquote(parts.path))) if parts.path else path
    return file, unquote(parts.fragment)


def problem(path: Path, target: str, root: Path = ROOT) -> str | None:
    """What is wrong with a link of `path`; None if nothing is."""
    try:
        found = target_of(path, target)
    except ValueError as e:
        return f"{target}: {e}"
    if found is None:
        parts = urlsplit(target)
        if parts.scheme == "mailto":
            return None if "@" in parts.path else f"{target}: no address of a mailbox"
        if parts.scheme not in {"http", "https"}:
            return f"{target}: a link is relative or begins with https://"
        return None if re.fullmatch(r"[\w.-]+\.\w+(:\d+)?|localhost(:\d+)?", parts.netloc) else f"{target}: no host"
    file, anchor = found
    if not file.is_relative_to(root):
        return f"{target}: outside of the repository"
    if not file.exists():
        return f"{target}: there is no {file.relative_to(root)}"
    if anchor and file.suffix == ".md" and anchor not in read(file).anchors:
        return f"{target}: {file.relative_to(root)} has no heading #{anchor}"
    return None


def pages(root: Path = ROOT) -> list[Path]:
    """The repository's Markdown files."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in FOREIGN and not f.startswith("."))
        found += [Path(folder, name) for name in sorted(names) if name.endswith(".md")]
    return found


def problems(root: Path = ROOT) -> list[str]:
    """Every broken link of the repository, as `file:line: what is wrong`."""
    return [
        f"{path.relative_to(root)}:{link.line}: {wrong}"
        for path in pages(root)
        for link in read(path).links
        if (wrong := problem(path, link.target, root))
    ]


if __name__ == "__main__":
    broken = problems()
    print("\n".join(broken) or f"{len(pages())} pages, every link leads somewhere")
    sys.exit(bool(broken))
