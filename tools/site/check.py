# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The built site by itself: every link leads to a file and an anchor of it, and nothing is loaded from elsewhere.

    python tools/site/check.py [build/site]

prints each fault as `file: what is wrong` and ends with code 1 if there is one.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: What a browser loads by itself when it shows a page.
_LOADED = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("object", "data")}


class _Page(HTMLParser):
    """Anchors, links and loaded resources of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Notes what the tag offers and wants."""
        values = {name: value or "" for name, value in attrs}
        self.anchors.update(values[name] for name in ("id", "name") if name in values)
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if tag == "link" and values.get("rel", "") in {"stylesheet", "icon", "preload", "preconnect"}:
            self.loaded.append(values["href"])
        self.loaded += [values[a] for t, a in _LOADED if t == tag and values.get(a)]


@cache
def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def _fault(site: Path, path: Path, target: str) -> str | None:
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return None
    file = Path(os.path.normpath(path.parent / unquote(parts.path))) if parts.path else path
    if not file.is_relative_to(site):
        return f"{target}: outside of the site"
    if not file.is_file():
        return f"{target}: no such file"
    anchor = unquote(parts.fragment)
    if (
        anchor == "nested-classes" and path.parent.name == "cpp-reference"
    ):  # of private classes, which Doxygen leaves out
        return None
    # Material's own: the top of any page, and what its script sets.
    if anchor and file.suffix == ".html" and anchor not in _read(file).anchors and not anchor.startswith("__"):
        return f"{target}: no such anchor"
    return None


def faults(site: Path) -> list[str]:
    """Every fault of a site, as `file: what is wrong`."""
    found = []
    for path in sorted(site.rglob("*.html")):
        page = _read(path)
        name = path.relative_to(site)
        # A page for addresses that do not exist names its resources from the server's root.
        if name.name == "404.html":
            continue
        found += [f"{name}: {wrong}" for target in page.links if (wrong := _fault(site, path, target))]
        for target in page.loaded:
            if urlsplit(target).scheme in {"http", "https"} or target.startswith("//"):
                found.append(f"{name}: {target} is loaded from elsewhere")
            elif wrong := _fault(site, path, target):
                found.append(f"{name}: {wrong}")
    return found


if __name__ == "__main__":
    where = Path(sys.argv[1] if len(sys.argv) > 1 else "build/site").resolve()
    wrong = faults(where)
    print("\n".join(wrong) or f"{len(list(where.rglob('*.html')))} pages, every link leads somewhere")
    sys.exit(bool(wrong))
