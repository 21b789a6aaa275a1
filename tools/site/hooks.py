# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What mkdocs.yml cannot say: pages from outside of `docs/`, links between them, patterns in the navigation."""

from __future__ import annotations

import re
import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from markdown import Extension, Markdown
from markdown.treeprocessors import Treeprocessor
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page
from mkdocs_autorefs import AutorefsExtension

sys.path.insert(0, str(Path(__file__).parent))

import commands
import links
import notebooks
import repository

_COMMENTS = re.compile(r"\A(?:\s*<!--.*?-->)*\s*", re.DOTALL)
_ROW = re.compile(r"^\|.*\|$", re.MULTILINE)
_CODE = re.compile(r"`[^`]+`")

_CPP = repository.ROOT / "build" / "doxygen" / "html"

_origins: dict[str, Path] = {}
_current: Page | None = None


class _Links(Treeprocessor):
    """Turns links of a page in the repository into links of the site, before MkDocs looks at them."""

    def run(self, root: Element) -> None:
        origin = _origins.get(_current.file.src_uri) if _current else None
        if _current is None or origin is None:
            return
        for tag, attribute in (("a", "href"), ("img", "src")):
            for element in root.iter(tag):
                target = element.get(attribute)
                if target:
                    element.set(attribute, repository.on_site(origin, _current.file.src_uri, target))


class _LinksExtension(Extension):
    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        # MkDocs resolves links with priority 0.
        md.treeprocessors.register(_Links(md), "repository_links", 5)


def _cpp_reference() -> Path:
    """What Doxygen has made."""
    if not (_CPP / "index.html").is_file():
        raise PluginError(f"there is no C++ reference in {_CPP}: run `doxygen Doxyfile` first, or `make docs`")
    return _CPP


@event_priority(-100)
def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Anchors as on GitHub; links as in the repository; `M[i][j]` is text here, no reference to a Python object."""
    config.markdown_extensions = [e for e in config.markdown_extensions if not isinstance(e, AutorefsExtension)]
    config.mdx_configs.setdefault("toc", {})["slugify"] = links.slug
    config.markdown_extensions.append(_LinksExtension())  # type: ignore[arg-type]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages from elsewhere, and fills in the patterns of the navigation."""
    _origins.clear()
    for file in files.documentation_pages():
        _origins[file.src_uri] = Path(str(file.abs_src_path))
    for uri, path in repository.outside().items():
        files.append(File.generated(config, uri, abs_src_path=str(path)))
        _origins[uri] = path
    for uri, path in repository.linked_sources().items():
        page = File.generated(config, uri, content=repository.source_page(path))
        page.inclusion = InclusionLevel.NOT_IN_NAV
        files.append(page)
    for path in sorted(_cpp_reference().rglob("*")):
        if path.is_file():
            uri = f"cpp-reference/{path.relative_to(_CPP).as_posix()}"
            files.append(File.generated(config, uri, abs_src_path=str(path)))
    for uri, (path, text, pictures) in notebooks.notebook_pages().items():
        files.append(File.generated(config, uri, content=text))
        _origins[uri] = path
        for place, data in pictures.items():
            files.append(File.generated(config, place, content=data))
    for uri, text in commands.command_pages().items():
        files.append(File.generated(config, uri, content=text))
    named = set(_names(config.nav))
    config.nav = _expand(config.nav, [f.src_uri for f in files.documentation_pages()], named)
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Remembers whose links are looked at; begins pages with their heading, from which MkDocs takes the title.

    Tables need `\\|` within code on GitHub, and show the backslash here.
    """
    global _current
    _current = page
    text = repository.respaced(_COMMENTS.sub("", markdown))
    return _ROW.sub(lambda row: _CODE.sub(lambda code: code[0].replace("\\|", "|"), row[0]), text)


def _names(nav: Any) -> list[str]:
    """Pages that the navigation names without a pattern."""
    if isinstance(nav, str):
        return [] if "*" in nav else [nav]
    if isinstance(nav, dict):
        return [name for value in nav.values() for name in _names(value)]
    return [name for value in nav for name in _names(value)]


def _expand(nav: Any, pages: list[str], taken: set[str]) -> Any:
    """The navigation with every pattern as the pages that match it, in order of their names, and are named nowhere."""
    if isinstance(nav, dict):
        return {title: _expand(value, pages, taken) for title, value in nav.items()}
    if isinstance(nav, str):
        return nav
    result: list[Any] = []
    for value in nav:
        if isinstance(value, str) and "*" in value:
            found = sorted(p for p in pages if p not in taken and fnmatchcase(p, value))
            taken.update(found)
            result += found
        else:
            result.append(_expand(value, pages, taken))
    return [value for value in result if not isinstance(value, dict) or all(v != [] for v in value.values())]
