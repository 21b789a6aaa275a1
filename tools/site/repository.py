# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Where each file of the repository is on the site.

Files of `docs/` keep their places. Markdown files elsewhere become pages at the same path, those of the repository's
root in `project/`. Other files that pages link to become pages under `source/`, highlighted.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

from links import ROOT, pages, read, target_of
from markdown_it import MarkdownIt

DOCS = ROOT / "docs"

_MARKER = re.compile(r"\s*((?:[-*+]|\d+[.)])\s+)")

#: Folders of sources whose reference is made of them.
MADE = {
    ROOT / "cpp" / "include" / "ringforge": "cpp-reference/index.html",
    ROOT / "python" / "ringforge" / "cli": "commands/index.md",
}

#: Lexers of highlighted sources, by what a file's name ends with.
_LEXERS = {
    ".py": "python",
    ".hpp": "cpp",
    ".cpp": "cpp",
    ".sv": "systemverilog",
    ".svh": "systemverilog",
    ".json": "json",
    ".sh": "sh",
    ".toml": "toml",
    ".proto": "protobuf",
    ".yml": "yaml",
    ".yaml": "yaml",
}

#: A source above this is cut: pages are for reading.
_LONGEST = 200_000


def place(path: Path) -> str:
    """The site's source path of a file of the repository, `/` between folders."""
    if path.is_relative_to(DOCS):
        return path.relative_to(DOCS).as_posix()
    relative = path.relative_to(ROOT)
    if path.suffix == ".ipynb":
        return relative.with_suffix(".md").as_posix()
    if path.suffix == ".md":
        return relative.as_posix() if len(relative.parts) > 1 else f"project/{relative.as_posix().lower()}"
    return f"source/{relative.as_posix()}.md"


def outside() -> dict[str, Path]:
    """Markdown files outside of `docs/`, by their places."""
    return {place(path): path for path in pages() if not path.is_relative_to(DOCS)}


def linked_sources() -> dict[str, Path]:
    """Other text files that pages link to, by their places; the index page of a linked folder is a page already."""
    found: dict[str, Path] = {}
    for page in pages():
        for link in read(page).links:
            target = target_of(page, link.target)
            if target is None or target[0].suffix in {".md", ".ipynb", ".png", ".svg"} or not target[0].is_file():
                continue
            if not target[0].is_relative_to(DOCS):
                found[place(target[0])] = target[0]
    return found


def respaced(text: str) -> str:
    """A text as Python's Markdown wants it, whose lists and fences are stricter than GitHub's.

    A list has an empty line before it, what belongs to an item is indented by four, and a fence names a language only,
    or attributes of its own dialect.
    """
    lines = text.split("\n")
    shift = [0] * len(lines)
    apart = set()
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.map is None:
            continue
        first, end = token.map
        if token.type == "list_item_open":
            marker = _MARKER.match(lines[first])
            for n in range(first + 1, end) if marker else ():
                shift[n] += 4 - len(marker[1])
            if any(not line.strip() for line in lines[first:end]) and end < len(lines):
                apart.add(end)
        elif token.type in {"bullet_list_open", "ordered_list_open"} and token.level == 0 and first:
            apart.add(first)
        elif token.type == "fence" and " " in token.info and not token.info.startswith("{"):
            lines[first] = lines[first].replace(token.info, token.info.split()[0])
    for n in range(len(lines)):
        if lines[n].strip():
            lines[n] = " " * max(shift[n], 0) + lines[n]
        if n in apart and lines[n - 1].strip():
            lines[n] = "\n" + lines[n]
    return "\n".join(lines)


def source_page(path: Path) -> str:
    """A file as a page: its path and its text."""
    text = path.read_text(encoding="utf-8")
    if len(text) > _LONGEST:
        text = text[:_LONGEST] + "\n...\n"
    fence = "`" * 4
    while fence in text:
        fence += "`"
    lexer = _LEXERS.get(path.suffix, "text")
    head = f"---\ntitle: {path.name}\nsearch:\n  exclude: true\n---\n\n# {path.relative_to(ROOT)}\n\n"
    return f'{head}{fence}{{ .{lexer} linenums="1" }}\n{text.rstrip()}\n{fence}\n'


def on_site(origin: Path, page: str, target: str) -> str:
    """A link of the repository's file `origin`, shown as `page`, as the site has it.

    Links to addresses elsewhere, to places within a page, and to files that the site has not are returned as they are.
    """
    found = target_of(origin, target)
    if found is None or not urlsplit(target).path:
        return target
    file, anchor = found
    if file in MADE:
        goal = MADE[file]
    else:
        if file.is_dir():
            file = file / "README.md"
        # Pictures of a notebook are no files of the repository; a link that leads nowhere is MkDocs' to report.
        if not file.is_relative_to(ROOT) or not file.exists():
            return target
        goal = place(file)
    relative = posixpath.relpath(goal, posixpath.dirname(page) or ".")
    return urlunsplit(("", "", quote(relative), "", quote(anchor)))
