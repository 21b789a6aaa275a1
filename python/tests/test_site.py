# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The documentation site, built as `make docs` builds it: no warning, no broken link, nothing fetched, search."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site in a folder of its own, read from the sources of this checkout."""
    if not (ROOT / "build" / "doxygen" / "html" / "index.html").is_file():
        (ROOT / "build").mkdir(exist_ok=True)
        subprocess.run(["doxygen", "Doxyfile"], cwd=ROOT, check=True)
    folder = tmp_path_factory.mktemp("site")
    environment = {
        **os.environ,
        "NO_MKDOCS_2_WARNING": "1",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-4000:]
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1300,900"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver") or ""))
    yield driver
    driver.quit()


def test_every_link_and_resource_is_there(site: Path) -> None:
    command = [sys.executable, str(ROOT / "tools" / "site" / "check.py"), str(site)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-4000:]


def test_check_finds_faults(tmp_path: Path) -> None:
    for name, body in {
        "a.html": '<a href="b.html#there"></a><a href="missing.html"></a><a href="https://example.org"></a>',
        "b.html": '<p id="here"><script src="https://example.org/x.js"></script><img src="../../x.png">',
    }.items():
        (tmp_path / name).write_text(body, encoding="utf-8")
    command = [sys.executable, str(ROOT / "tools" / "site" / "check.py"), str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert run.stdout.splitlines() == [
        "a.html: b.html#there: no such anchor",
        "a.html: missing.html: no such file",
        "b.html: https://example.org/x.js is loaded from elsewhere",
        "b.html: ../../x.png: outside of the site",
    ]


def test_every_document_and_system_has_a_page(site: Path) -> None:
    for path in (ROOT / "docs").rglob("*.md"):
        page = path.relative_to(ROOT / "docs").with_suffix(".html")
        if path.stem == "README":
            page = page.with_name("index.html")
        assert (site / page).is_file(), page
    for machine in ("matvec", "matmul", "psi", "omr", "aes"):
        assert (site / "hw" / machine / "index.html").is_file()
    for system, name in {"matvec": "matvec.Client", "bfv": "bfv.Session", "psi": "psi.remote.Connection"}.items():
        text = (site / "reference" / f"{system}.html").read_text(encoding="utf-8")
        assert f'id="ringforge.{name}"' in text
    assert (site / "cpp-reference" / "classringforge_1_1circuits_1_1Matvec.html").is_file()
    assert "--normalise" in (site / "commands" / "psi.html").read_text(encoding="utf-8")


def test_sources_are_shown_as_code(site: Path) -> None:
    """Their text is one block, of which Markdown makes nothing."""
    pages = sorted((site / "source").rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert text.count("<h1") == 1, page
        assert 'class="linenos"' in text or 'class="linenodiv"' in text, page


class _Structure(HTMLParser):
    """How many elements of each kind an article has."""

    KINDS = frozenset({"h1", "h2", "h3", "h4", "li", "table", "tr", "pre", "blockquote", "em", "strong"})

    def __init__(self, article: bool) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()
        self._inside = not article

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self._inside = self._inside or tag == "article"
        if self._inside and tag in self.KINDS:
            self.counts[tag] += 1

    def handle_endtag(self, tag: str) -> None:
        if tag == "article":
            self._inside = False


def test_pages_have_the_structure_that_github_shows(site: Path) -> None:
    """Headings, lists, tables and code of every document, by another reader of Markdown."""
    for path in (ROOT / "docs").rglob("*.md"):
        relative = path.relative_to(ROOT / "docs")
        if relative.parts[0] == "reference":
            continue
        expected, found = _Structure(article=False), _Structure(article=True)
        expected.feed(MarkdownIt("commonmark").enable("table").render(path.read_text(encoding="utf-8")))
        page = site / relative.with_suffix(".html")
        page = page.with_name("index.html") if path.stem == "README" else page
        found.feed(page.read_text(encoding="utf-8"))
        assert found.counts == expected.counts, relative


@pytest.mark.parametrize("query", ["rnnt", "gates-128", "NoiseError"])
def test_search_works_from_a_file_and_nothing_is_fetched(site: Path, browser: webdriver.Chrome, query: str) -> None:
    """Opened without a server, as from a folder: results come up, and no request leaves the machine."""
    browser.get_log("performance")
    browser.get(f"{(site / 'index.html').as_uri()}?q={query}")
    found = WebDriverWait(browser, 60).until(lambda b: b.find_elements(By.CSS_SELECTOR, "a.md-search-result__link"))
    address = found[0].get_attribute("href")
    assert address.startswith("file:")
    requests = [entry["message"] for entry in browser.get_log("performance") if "requestWillBeSent" in entry["message"]]
    assert requests
    assert not [r for r in requests if '"url":"http' in r]
    assert not [e for e in browser.get_log("browser") if e["level"] == "SEVERE"]
