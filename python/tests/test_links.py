# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Links of the documents: every file and anchor that a Markdown file of this repository names is there."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

_spec = importlib.util.spec_from_file_location("site_links", ROOT / "tools" / "site" / "links.py")
assert _spec is not None
assert _spec.loader is not None
links = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = links
_spec.loader.exec_module(links)


def test_every_link_leads_somewhere() -> None:
    assert len(links.pages()) > 100
    assert links.problems() == []


@pytest.mark.parametrize(
    ("target", "wrong"),
    [
        ("other.md", None),
        ("other.md#one-heading", None),
        ("other.md#one-heading-1", None),
        ("other.md#named", None),
        ("#here", None),
        ("folder/", None),
        ("https://example.org/x", None),
        ("mailto:a@example.org", None),
        ("missing.md", "there is no missing.md"),
        ("other.md#two", "no heading #two"),
        ("#there", "no heading #there"),
        ("../../outside.md", "outside of the repository"),
        ("https://", "no host"),
        ("https://two words/", "no host"),
        ("javascript:alert(1)", "a link is relative"),
        ("mailto:nobody", "no address"),
        ("http://[half", "half"),
    ],
)
def test_a_broken_link_is_named(tmp_path: Path, target: str, wrong: str | None) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "page.md").write_text("# Here\n", encoding="utf-8")
    (tmp_path / "other.md").write_text(
        "# `One` heading!\n\n```sh\n# two\n```\n\n## One heading\n\n<a id='named'></a>\n", encoding="utf-8"
    )
    found = links.problem(tmp_path / "page.md", target, tmp_path)
    assert found is None if wrong is None else wrong in str(found)


def test_links_are_found_where_readers_see_them() -> None:
    page = links.parse(
        "[a](x.md) ![b](y.png) [c][r] `[d](code.md)`\n\n    [e](code.md)\n\n| t |\n|---|\n| [f](z.md) |\n\n"
        '<a href="html.md">g</a> <img src="i.png">\n\n[r]: ref.md\n'
    )
    assert [link.target for link in page.links] == ["x.md", "y.png", "ref.md", "z.md", "html.md", "i.png"]
