# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Every block of commands and of Python in the documents does what it says, as pasted; snippets.py says how."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import snippets

ROOT = Path(__file__).parents[2]

NOT_RUN = {
    ("CONTRIBUTING.md", "make build        # .venv/bin/ringforge"),
    (
        "README.md",
        "make wheel                          # dist/ringforge_he-*.whl, for the Python that makes it",
    ),
    (
        "docs/cpp.md",
        "make install     # to /usr/local; PREFIX=$HOME/ringforge: elsewhere; SHARED=1: a shared library",
    ),
    ("docs/operators.md", "sudo python3 -m venv /opt/ringforge"),
    ("docs/operators.md", "make wheel"),
    (
        "docs/operators.md",
        "journalctl --unit ringforge-psi@customers --output cat | grep '\"result\"' | grep -v '\"ok\"'",
    ),
    ("docs/operators.md", "pg_dump --format=custom --file=board.dump ringforge"),
    ("docs/testing.md", 'make attack ATTACK_SECONDS=3600    # also ATTACK_SERVICES="psi matmul"'),
    ("docs/scale.md", "export RAY_AUTH_MODE=token RAY_AUTH_TOKEN_PATH=/etc/ringforge/ray.token"),
    ("docs/scale.md", "ringforge psi serve TABLE --device 'ray:HEAD:6379?threads=4'"),
    (
        "README.md",
        "make demo                           # builds everything, then a demo: .venv/bin/ringforge demo matvec",
    ),
}
"""What no test runs: document and first line of the block. What stands here can be wrong without notice, so a new
line is a decision: the block needs a daemon, root, a cluster, a card or a network that a test has not."""

FOUND = {str(path.relative_to(ROOT)): snippets.blocks(path.read_text("utf-8")) for path in snippets.documents(ROOT)}
WITH_CODE = [name for name, found in FOUND.items() if any(b.language in snippets.CODE for b in found)]
WITH_LONG = [name for name in WITH_CODE if any(b.mark == "long" for b in FOUND[name])]


def read(name: str, folder: Path, *, long: bool) -> None:
    """Runs a document from its first block to its last."""
    with snippets.Reader(name, folder, one_program=name != "README.md", long=long) as reader:
        for block in FOUND[name]:
            reader.run(block)
        reader.finish()


#: Guides of one system, whose commands that system's own tests run too: all of them take minutes.
GUIDES = {f"docs/{name}.md" for name in ("aes", "gates", "matmul", "matvec", "omr", "omr-board")}


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.long] * (n in GUIDES)) for n in WITH_CODE])
def test_the_document_runs_as_pasted(name: str, tmp_path: Path) -> None:
    read(name, tmp_path, long=False)


@pytest.mark.long
@pytest.mark.parametrize("name", WITH_LONG)
def test_the_document_runs_with_its_long_blocks(name: str, tmp_path: Path) -> None:
    read(name, tmp_path, long=True)


def test_what_is_not_run_is_listed() -> None:
    """In both directions: nothing is left out without a line here, and no line is left behind."""
    left_out = {(name, b.first) for name, found in FOUND.items() for b in found if b.not_run}
    assert left_out == NOT_RUN


def test_no_block_escapes_by_its_name() -> None:
    """`bash`, `console` or `py` would be code that is not run."""
    pages = [*snippets.documents(ROOT), *ROOT.glob("docs/hw/*.md"), *ROOT.glob("hw/*/README.md")]
    wrong = [
        f"{path.relative_to(ROOT)}:{b.line}: {b.language}"
        for path in pages
        for b in snippets.blocks(path.read_text("utf-8"))
        if b.language not in snippets.LANGUAGES
    ]
    assert not wrong


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("```sh\ntrue\n", "line 1: the block does not end"),
        ("<!-- snippet: sometimes -->\n```sh\ntrue\n```\n", "line 1: no mark is called 'sometimes'"),
        ("<!-- snippet: long -->\n\n```sh\ntrue\n```\n", "line 2: a mark stands directly before its block"),
        ("<!-- snippet: long -->\n<!-- not run: a card -->\n```sh\ntrue\n```\n", "line 2: two marks"),
        ("text\n<!-- snippet: long -->", "at the end"),
    ],
)
def test_marks_that_say_nothing_are_refused(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        snippets.blocks(text)


def run(text: str, folder: Path, *, long: bool = False, one_program: bool = True) -> None:
    with snippets.Reader("a.md", folder, one_program=one_program, long=long) as reader:
        for block in snippets.blocks(text):
            reader.run(block)
        reader.finish()


SERVER = "<!-- snippet: server -->\n```sh\npython serve.py 127.0.0.1:8760\n```\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("```sh\nfalse\ntrue\n```\n", "ended with 1"),
        ("```sh\nfalse | true\n```\n", "ended with 1"),
        ("```python\n1 / 0\n```\n", "ZeroDivisionError"),
        ("```python\nimport os; os._exit(3)\n```\n", "the interpreter ended with 3"),
        ("<!-- snippet: fails -->\n```sh\ntrue\n```\n", "ended with 0"),
        ("<!-- snippet: fails -->\n```sh\npython -c 1/0\n```\n", "ended with 1"),
        ("<!-- snippet: fails -->\n```python\nx = 1\n```\n", "nothing was raised"),
        ("```sh\necho 1 2\n```\n<!-- snippet: output -->\n```text\n1 3\n```\n", "printed was\n1 2"),
        ("<!-- snippet: server -->\n```sh\necho nothing\n```\n", "does not say where it listens"),
        (SERVER.replace("8760", "8760 5"), "the server ended with 5"),
        (SERVER + "```sh\ncat port | xargs kill\nsleep 0.5\n```\n", "ended"),
    ],
)
def test_a_document_that_is_wrong_is_found(text: str, words: str, tmp_path: Path) -> None:
    """The test can fail: a line that fails, output that differs, a server that is not one."""
    (tmp_path / "serve.py").write_text(TOY_SERVER)
    with pytest.raises(snippets.SnippetError, match=words):
        run(text, tmp_path)


TOY_SERVER = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(int(sys.argv[2]) if sys.argv[2:] else 0))
open("port", "w").write(str(os.getpid()))
print("listening on", sys.argv[1], flush=True)
time.sleep(60)
"""


def test_a_document_that_is_right(tmp_path: Path) -> None:
    """Servers, ports, refusals, output with gaps, long blocks, and Python that goes on."""
    (tmp_path / "serve.py").write_text(TOY_SERVER)
    text = SERVER + (
        "```sh\necho localhost:8760 and 127.0.0.1:8760\necho 2\necho 3\n```\n"
        "<!-- snippet: output -->\n```text\nlocalhost:8760 and ...:8760\n...\n3\n```\n"
        "<!-- snippet: fails -->\n```sh\necho no >&2; exit 1\n```\n"
        "<!-- snippet: output all -->\n```text\nno\n```\n"
        "```python\nx = 7\n```\n"
        "```python\nprint(x)\n```\n"
        "<!-- snippet: output -->\n```text\n7\n```\n"
        "<!-- snippet: long -->\n```sh\ntouch long\n```\n"
        "<!-- not run: there is no such command -->\n```sh\nno-such-command\n```\n"
    )
    run(text, tmp_path)
    assert not (tmp_path / "long").exists()
    run(text, tmp_path, long=True)
    assert (tmp_path / "long").exists()
    with pytest.raises(snippets.SnippetError, match="'x' is not defined"):
        run(text, tmp_path, one_program=False)
