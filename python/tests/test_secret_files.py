# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""No command writes over a secret: known by its content, under any name and spelling, for every option that writes."""

from __future__ import annotations

import importlib
import os
import re
import shlex
import sqlite3
import subprocess
import sys
import types
import typing
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
import typer
import typer.models

from ringforge import _native, gates, matvec, params, runs
from ringforge.cli import main
from ringforge.cli.options import keep_secret, log_file, output_file
from ringforge.errors import FormatError
from ringforge.files import new_file, secret_in, writing
from ringforge.gates import storage
from ringforge.lab.papers.matvec import write_plots
from ringforge.psi.oprf import ServerKey
from ringforge.registered import load, registered
from ringforge.serving.quota import Quota, QuotaFileError

cli: typing.Any = importlib.import_module("ringforge.cli.app")

TOKEN = "0123456789abcdef" * 3
PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n-----BEGIN EC PRIVATE KEY-----\nMHc\n"


def ckks_secret(path: Path) -> None:
    program = matvec.compile_model(matvec.Linear([[1.0, 2.0]]), "set-b").program
    matvec.Client(program).save_secret_key(path)


def ckks_secret_last(path: Path) -> None:
    """Behind a ciphertext and a public key."""
    context = _native.Context(params.named("set-b"))
    client = _native.Client(context)
    secret = client.secret_key()
    writer = _native.io.Writer(str(path))
    writer.write(context, client.encrypt(context.encode(np.ones(1, dtype=complex), 2.0**30, 0), secret, 1.0))
    writer.write(context, client.public_key(secret))
    writer.write(context, secret)
    writer.close()


def quota_file(path: Path) -> None:
    Quota(path, {"prf": 1, "bins": 1}).close()


def token_file(path: Path) -> None:
    path.write_text(f"# clients\n{TOKEN}\n")
    path.chmod(0o600)


SECRETS: dict[str, Callable[[Path], object]] = {
    "ckks": ckks_secret,
    "ckks, not first": ckks_secret_last,
    "gates": lambda p: storage.save_secret_key(p, _native.fhew.SecretKey(gates.parameters("gates-128"))),
    "gates, another version": lambda p: p.write_bytes(b"RGFGSEC2" + bytes(100)),
    "oprf": lambda p: ServerKey.random().save(p),
    "tls": lambda p: p.write_text(PEM),
    "openssh": lambda p: p.write_text("-----BEGIN OPENSSH PRIVATE KEY-----\n"),
    "quota": quota_file,
    "tokens": token_file,
}


@pytest.mark.parametrize("kind", SECRETS)
def test_secrets_are_known_by_their_content(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "result.npy"
    SECRETS[kind](path)
    assert secret_in(path)
    before = path.read_bytes()
    for name in (path, tmp_path / "x" / ".." / path.name, _link(path, "soft"), _link(path, "hard")):
        (tmp_path / "x").mkdir(exist_ok=True)
        with pytest.raises(FileExistsError, match="never replaced"), writing(name) as f:
            f.write(b"lost")
    assert path.read_bytes() == before
    assert not list(tmp_path.glob(".*"))


def _link(path: Path, kind: str) -> Path:
    link = path.with_name(kind)
    os.link(path, link) if kind == "hard" else link.symlink_to(path)
    return link


def test_a_secret_that_comes_while_one_writes_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "k"

    def write() -> None:
        with writing(path) as f:
            f.write(b"lost")
            ServerKey.random().save(path)

    with pytest.raises(FileExistsError, match="never replaced"):
        write()
    assert secret_in(path)


def test_other_files_are_replaced(tmp_path: Path) -> None:
    """What is no secret: results, public keys and certificates, numbers, tokens that all may read."""
    path = tmp_path / "f"
    texts = [b"", b"1.2345678901234567\n2\n", b"RGFG", b"RGF", b"-----BEGIN PUBLIC KEY-----\n", b"a" * 15, b"x y" * 20]
    for text in [*texts, b"0.12345678901234567\n" * 3]:
        path.write_bytes(text)
        path.chmod(0o600)
        assert secret_in(path) is None, text
    path.write_text(TOKEN)
    path.chmod(0o644)
    assert secret_in(path) is None
    assert secret_in(tmp_path / "none") is None
    assert secret_in(tmp_path) is None


# ---- every command -------------------------------------------------------------------------------


def commands() -> Iterator[tuple[str, Callable[..., object]]]:
    """All commands: name, and the function that has its parameters."""

    def below(prefix: str, app: typer.Typer) -> Iterator[tuple[str, Callable[..., object]]]:
        for c in app.registered_commands:
            assert c.callback is not None
            yield f"{prefix} {c.name or c.callback.__name__.replace('_', '-')}".strip(), c.callback
        for group in app.registered_groups:
            assert group.typer_instance is not None
            yield from below(f"{prefix} {group.name}".strip(), group.typer_instance)

    yield from below("", cli.app)
    for name, entry in registered("ringforge.commands").items():
        yield from below(name, load(entry))


def file_parameters() -> Iterator[tuple[str, str, typer.models.ParameterInfo]]:
    """Every parameter that is a path or several: command, option, what typer knows of it."""
    for command, function in commands():
        for name, hint in typing.get_type_hints(function, include_extras=True).items():
            if typing.get_origin(hint) in (typing.Union, types.UnionType):  # Annotated[...] | None
                hint = next(a for a in typing.get_args(hint) if typing.get_origin(a) is typing.Annotated)
            if typing.get_origin(hint) is typing.Annotated and "Path" in str(typing.get_args(hint)[0]):
                known = next(x for x in hint.__metadata__ if isinstance(x, typer.models.ParameterInfo))
                words = [w for w in (known.default, *(known.param_decls or ())) if str(w).startswith("--")]
                argument = isinstance(known, typer.models.ArgumentInfo)
                yield command, name if argument else words[0] if words else f"--{name.replace('_', '-')}", known


#: Options and arguments that name files to write, with words that reach them; {} is the file. The other words need not
#: make sense: the refusal comes first.
OUTPUTS = {
    ("matvec plan", "--out"): "--model m.npy --out {}",
    ("matvec explain", "--html"): "--model m.npy --samples x.npy --html {}",
    ("matvec plan", "--rule"): "--model m.npz --out p --rule {}",
    ("matvec decrypt", "--labels"): "--program p --secret s --in x --out y.csv --rule r --labels {}",
    ("matvec keygen", "--eval-keys"): "--program p --secret new --eval-keys {}",
    ("matvec encrypt", "--out"): "--program p --secret s --in x.npy --out {}",
    ("matvec evaluate", "--out"): "--program p --model m --keys k --in x --out {}",
    ("matvec evaluate", "--waves"): "--program p --model m --keys k --in x --out y --waves {}",
    ("matvec decrypt", "--out"): "--program p --secret s --in x --out {}",
    ("matmul plan", "--out"): "--shape 4x4x4 --out {}",
    ("matmul run", "--out"): "--in A=a.npy --in B=a.npy --out {}",
    ("matmul keygen", "--public"): "--program p --secret new --eval-keys e --public {}",
    ("matmul keygen", "--eval-keys"): "--program p --secret new --public e --eval-keys {}",
    ("matmul encrypt", "--out"): "--program p --name A --in a.npy --out {}",
    ("matmul decrypt", "--out"): "--program p --secret s --in x --out {}",
    ("matmul fetch", "--out"): "--port 1 --out {}",
    ("gates synth", "--out"): "a.v --top a --out {}",
    ("gates keygen", "--eval-key"): "--secret new --eval-key {}",
    ("gates encrypt", "--out"): "--secret s --circuit alu8 --in a=1 --out {}",
    ("gates run", "--out"): "alu8 --key k --inputs x --out {}",
    ("psi query", "--out"): "--server 127.0.0.1:1 --set x --out {}",
    ("psi query", "--rest"): "--server 127.0.0.1:1 --set x --rest {}",
    ("psi serve", "--log"): "table --log {}",
    ("explore explore", "--html"): "psi --html {}",
    ("explore explore", "--write"): "psi --write {}",
    ("bench omr", "--plot"): "--profile test --plot {}",
    ("omr keygen", "--detection-key"): "--secret new --detection-key {}",
    ("omr keygen", "--address"): "--secret new --detection-key d --address {}",
    ("omr address", "--out"): "--secret s --out {}",
    ("omr detect serve", "--log"): "--board b --log {}",
    ("omr board serve", "--log"): "--database d --log {}",
    ("aes encrypt", "--out"): "--secret s --keys k --in b --out {}",
    ("aes stream", "--out"): "--aes-key-file k --in b --out {}",
    ("aes evaluate", "--out"): "--keys k --round-keys r --in b --out {}",
    ("aes decrypt", "--out"): "--secret s --keys k --in b --out {}",
    ("aes submit", "--out"): "--server 127.0.0.1:1 --keys k --round-keys r --in b --out {}",
    ("aes fetch", "--out"): "--server 127.0.0.1:1 --job 00 --out {}",
    ("aes serve", "--log"): "--log {}",
    ("reproduce results", "--write"): "--write {}",
}

#: A secret key that is made here: `keep_secret` keeps the one that is there.
NEW_SECRETS = {"matvec keygen", "matmul keygen", "gates keygen", "omr keygen", "aes keygen"}

#: Folders: what is written into them goes through `files.writing` (test_folders_of_results).
FOLDERS = {
    *("--run", "--save", "--plots", "--folder", "--table", "--results", "--store", "--round-keys", "--checkpoint"),
    "--scratch",
}

#: Their --out is a folder that is not there yet.
MAKE_FOLDERS = {"omr retrieve", "hw package"}

#: Opened as a database, which a secret of another kind is not; quotas are made to be opened again.
DATABASES = {
    ("psi serve", "--quota-file"),
    ("omr detect serve", "--quota-file"),
    ("aes serve", "--quota-file"),
    ("aes stream", "--ledger"),
}

#: Read only.
INPUTS = {
    "--program", "--model", "--secret", "--in", "--keys", "--public", "--circuit", "--key", "--inputs", "--set",
    "--tls-cert", "--tls-key", "--tls-ca", "--token-file", "file", "netlist", "sources", "table",
    "--saved", "--rule", "--measured",
    "--detection-key", "--board-ca", "--board-token-file", "texts", "--address", "--aes-key-file", "--stream",
    "--samples", "--runtime",
}  # fmt: skip


def test_every_option_that_names_a_file_is_known() -> None:
    """A new option of a type of files is in a table above, or this fails; one that writes has the callback."""
    seen = set()
    for command, option, known in file_parameters():
        if (command, option) in OUTPUTS:
            seen.add((command, option))
            assert known.callback in (output_file, log_file), f"{command} {option} has no callback"
            continue
        assert known.callback is None, f"{command} {option} writes: say in OUTPUTS how it is reached"
        reads = option in INPUTS and "write" not in (known.help or "").replace("`plan`", "").split(";")[0].lower()
        assert (
            (command, option) in DATABASES
            or option in FOLDERS
            or (option == "--secret" and command in NEW_SECRETS)
            or (option == "--out" and (command.endswith(" demo") or command in MAKE_FOLDERS))
            or reads
        ), f"{command} {option}: say in the tables of this test whether it is read or written"
    assert seen == OUTPUTS.keys()


@pytest.mark.parametrize(("command", "option"), OUTPUTS)
def test_no_output_replaces_a_secret(
    command: str, option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", np.eye(4))
    for kind in ("oprf", "tls", "tokens"):
        path = tmp_path / f"{kind}.json"
        SECRETS[kind](path)
        before = path.read_bytes()
        assert main([*command.split(), *shlex.split(OUTPUTS[command, option].format(path.name))]) == 1
        assert "never replaced" in capsys.readouterr().err
        assert path.read_bytes() == before


def test_outputs_of_multiply_replace_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--out` of `matmul multiply` is a list of NAME=FILE."""
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split("matmul plan --shape 2x2x2 --params matmul-a-128 --out p.json")) == 0
    ServerKey.random().save("k")
    before = Path("k").read_bytes()
    for out in ("k", "result=k"):
        assert main(shlex.split(f"matmul multiply --program p.json --keys e --in A=a --in B=b --out {out}")) == 1
        assert "never replaced" in capsys.readouterr().err
    assert Path("k").read_bytes() == before


KEYGENS = {
    "matvec": ("matvec keygen --program p.json --secret {} --eval-keys {}", "--eval-keys"),
    "matmul": ("matmul keygen --program q.json --secret {} --public {} --eval-keys e.keys", "--public"),
    "matmul, other": ("matmul keygen --program q.json --secret {} --public p.key --eval-keys {}", "--eval-keys"),
    "gates": ("gates keygen --secret {} --eval-key {}", "--eval-key"),
    "omr": ("omr keygen --secret {} --detection-key {}", "--detection-key"),
    "omr, other": ("omr keygen --secret {} --detection-key d --address {}", "--address"),
}


@pytest.mark.parametrize("system", KEYGENS)
@pytest.mark.parametrize("second", ["k", "./k", "sub/../k", "link"])
def test_keygen_with_one_file_for_two_keys(
    system: str, second: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("w.npy", np.eye(2))
    assert main(shlex.split("matvec plan --model w.npy --out p.json")) == 0
    assert main(shlex.split("matmul plan --shape 2x2x2 --params matmul-a-128 --out q.json")) == 0
    Path("sub").mkdir()
    Path("link").symlink_to("k")
    capsys.readouterr()
    words, option = KEYGENS[system]
    assert main(shlex.split(words.format("k", second))) == 1
    err = capsys.readouterr().err
    if second == "link":
        assert "link: is a link" in err
    else:
        assert option in err
        assert "give each a file of its own" in err
    assert not Path("k").exists()


def test_a_reused_secret_is_not_replaced_through_a_hard_link(tmp_path: Path) -> None:
    secret, other = tmp_path / "s", tmp_path / "e"
    secret.write_bytes(b"RGFGSEC1")
    os.link(secret, other)
    with pytest.raises(Exception, match="give each a file of its own"):
        keep_secret(secret, True, {"--eval-key": other})


# ---- folders -------------------------------------------------------------------------------------


def test_folders_of_results(tmp_path: Path) -> None:
    """What commands write into folders goes the same way: records of `--save`, figures of `--plots`."""
    today = datetime.now(UTC)
    kept = {}
    for day in (today, today + timedelta(days=1)):
        kept[tmp_path / f"ring-{day.date()}.jsonl"] = None
    for path in [*kept, tmp_path / "figure1.svg"]:
        ServerKey.random().save(path)
        kept[path] = path.read_bytes()
    made = runs.Record("ring", "ntt", "p", "a", 1.0)
    with pytest.raises(FileExistsError, match="never replaced"):
        runs.save([made], tmp_path, f"ring-{today.date()}")
    pytest.importorskip("matplotlib")
    with pytest.raises(FileExistsError, match="never replaced"):
        write_plots(tmp_path)
    assert all(path.read_bytes() == content for path, content in kept.items())


#: Modules that write otherwise: into folders that they have made themselves, or a cache of their own.
WRITE_THEMSELVES = {
    "bytes_form.py": "a temporary folder of its own, for readers that know names only",
    "files.py": "the mechanism",
    "local_http.py": "the temporary file of `files.new_file`",
    "gates/storage.py": "the temporary file of `files.new_file`, unbuffered",
    "gates/synth.py": "a temporary folder for Yosys; the circuits of the library",
    "hw/core/build.py": "a cache",
    "hw/core/formal.py": "a cache",
    "hw/core/package.py": "a folder that it has made",
    "hw/core/synthesis.py": "a cache",
    "hw/core/timing.py": "a cache",
    "lab/bench/psi.py": "a temporary folder",
    "aes/client.py": "the temporary file of `files.new_file`",
    "aes/demo.py": "what its own processes read",
    "aes/runner.py": "its lock, its journal, in a folder that it has made",
    "serving/depot.py": "the lock of a service's folder",
    "serving/processes.py": "what processes of demos complain of",
    "serving/service.py": "what arrives, in a folder of the service's own",
    "matvec/model_files.py": "a temporary folder of its own, for readers that know names only",
    "omr/demo.py": "what its own processes say and read",
    "omr/depot.py": "results and requests; its lock, its journals",
    "omr/keys.py": "the temporary file of `files.new_file`",
    "omr/detector_service.py": "a key that arrives, in a folder of its own",
    "psi/demo.py": "its server's log",
    "psi/store.py": "a state that nobody has seen yet; its lock",
    "serving/runtime.py": "the lock of a service's file",
    "serving/options.py": "logs of services, which are appended to",
    "lab/bench/aes_runs.py": "peak memory, begun anew in /proc",
    "lab/bench/omr_posting.py": "what a service complains of, in a temporary folder",
    "scale/several.py": "the token of a cluster of this process, in a folder of its own",
    "cli/output.py": "the null device in the place of a closed stream",
}


def test_nothing_else_opens_files_to_write() -> None:
    root = Path(gates.__file__).parents[1]
    pattern = re.compile(r"\.write_(text|bytes)\(|open\([^)\n]*[\"'][wax]b?\+?[\"']|np\.savez?\((path|target|str)")
    found = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        if "sources" not in path.parts and pattern.search(path.read_text())
    }
    assert found <= WRITE_THEMSELVES.keys(), "write with ringforge.files.writing"


# ---- no room -------------------------------------------------------------------------------------

FULL = """
import resource, sys
from pathlib import Path
from ringforge.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), -1))
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize(
    ("words", "out"),
    [
        ("matvec keygen --overwrite --program p.json --secret new.key --eval-keys {}", "e.keys"),
        ("matmul run --overwrite --in A=a.npy --in B=a.npy --params matmul-a-128 --out {}", "c.npy"),
        ("gates keygen --overwrite --secret new.key --eval-key {}", "e.key"),
    ],
)
def test_a_full_disk_leaves_what_was_there(
    words: str, out: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system refuses to make a file longer than some bytes, as a full disk does in the middle of it."""
    monkeypatch.chdir(tmp_path)
    np.save("w.npy", np.eye(2))
    np.save("a.npy", np.full((40, 40), 0.01))
    assert main(shlex.split("matvec plan --model w.npy --out p.json")) == 0
    Path(out).write_bytes(b"precious")
    before = sorted(os.listdir())
    command = [sys.executable, "-c", FULL, "10000", *shlex.split(words.format(out))]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {out}: File too large")
    assert "make room" in done.stderr
    assert done.stderr.count("\n") == 1
    assert Path(out).read_bytes() == b"precious"
    assert sorted(os.listdir()) == before, "nothing half done is left, and no secret key without its evaluation keys"


def test_no_room_for_what_is_printed() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "ringforge.cli", "params", "list"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=environment, check=False)
    assert done.returncode == 1
    assert done.stderr.endswith("error: standard output: No space left on device: what was printed is not complete\n")


def test_a_failed_new_file_keeps_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")

    def write() -> None:
        with new_file(path, replace=True) as temporary:
            temporary.write_bytes(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["f"]


def test_a_full_disk_under_a_quota(tmp_path: Path) -> None:
    """SQLite is told that the file may not grow: it says the same as of a full disk. What was counted stays counted."""
    path = tmp_path / "q.sqlite"
    quota = Quota(path, {"prf": 10, "bins": 10})
    first = quota.client("first")
    quota.charge(first, "prf", 3)
    pages = quota._database.execute("PRAGMA page_count").fetchone()[0]
    quota._database.execute(f"PRAGMA max_page_count = {pages}")

    def fill() -> None:
        for i in range(10_000):
            quota.charge(quota.client(str(i)), "prf", 1)

    with pytest.raises(QuotaFileError, match=r"cannot count what is asked for in q\.sqlite .*full"):
        fill()
    assert quota.left(first)["prf"] == 7
    quota.close()


@pytest.mark.parametrize("damage", ["no key", "another database", "a byte of its schema"])
def test_what_is_no_quota_file_is_left_alone(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "q.sqlite"
    if damage == "another database":
        database = sqlite3.connect(path)
        database.execute("CREATE TABLE members (value BLOB)")
    else:
        Quota(path, {"prf": 1, "bins": 1}).close()
        database = sqlite3.connect(path)
        database.execute("DELETE FROM secret")
    database.commit()
    database.close()
    if damage == "a byte of its schema":
        content = bytearray(path.read_bytes())
        content[content.index(b"CREATE TABLE") + 3] = 0x81
        path.write_bytes(content)
    before = path.read_bytes()
    with pytest.raises(FormatError, match="name another with --quota-file"):
        Quota(path, {"prf": 1, "bins": 1})
    assert path.read_bytes() == before
