# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Files are created without replacing others, by one of many processes, and are on the disk before it is said."""

from __future__ import annotations

import base64
import contextlib
import errno
import json
import os
import secrets
import shlex
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

from ringforge import files
from ringforge.cli import main
from ringforge.cli.options import log_file
from ringforge.files import (
    clear_demo,
    finish_demo,
    new_file,
    overwriting,
    removed_on_failure,
    secret_in,
    writing,
)
from ringforge.psi.oprf import ServerKey
from ringforge.serving import depot
from ringforge.serving.calls import Log

PEM = b"-----BEGIN EC PRIVATE KEY-----\nMHc\n-----END EC PRIVATE KEY-----\n"


def put(path: Path, data: bytes = b"new") -> None:
    with writing(path) as f:
        f.write(data)


# ---- nothing is replaced -------------------------------------------------------------------------


@pytest.mark.parametrize("secret", [secrets.token_bytes(16), secrets.token_hex(16).encode(), PEM], ids=len)
def test_a_stream_does_not_replace_its_aes_key(
    secret: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever the key looks like, whoever may read it, and under each spelling."""
    monkeypatch.chdir(tmp_path)
    Path("text").write_bytes(b"attack at dawn")
    Path("aes.key").write_bytes(b"0123456789abcdef")
    Path("aes.key").chmod(0o600)
    Path("other.key").write_bytes(secret)
    for out in ("aes.key", "other.key", "./other.key"):
        assert main(shlex.split(f"aes stream --aes-key-file aes.key --in text --out {out}")) == 1
        assert "never replaced" in (err := capsys.readouterr().err) or "exists already" in err
    Path("aes.key").chmod(0o600)
    assert main(shlex.split("aes stream --overwrite --aes-key-file aes.key --in text --out aes.key")) == 1
    assert Path("aes.key").read_bytes() == b"0123456789abcdef"
    assert Path("other.key").read_bytes() == secret


def test_any_file_stays_without_overwrite(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")
    with pytest.raises(FileExistsError, match=r"exists already: .*--overwrite"):
        put(path)
    with overwriting():
        put(path)
        with overwriting(False), pytest.raises(FileExistsError):
            put(path)
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["f"]


@pytest.mark.parametrize("size", [1, 1 << 20, (1 << 20) - 40, 3 << 20])
def test_secrets_are_found_however_long_the_file_is(size: int, tmp_path: Path) -> None:
    """PEM across the borders of what is read at a time; lines of tokens of several MiB."""
    path = tmp_path / "f"
    path.write_bytes(b"\n" * size + PEM)
    assert secret_in(path) == "a private key (PEM)"
    token = secrets.token_hex(32).encode() + b"\n"
    path.write_bytes(b"# " + b"c" * size + b"\n" + token * (1 + size // len(token)))
    path.chmod(0o600)
    assert secret_in(path) == "tokens of clients"
    path.write_bytes(token * (1 + size // len(token)) + b"two words\n")
    assert secret_in(path) is None


@pytest.mark.parametrize("size", [16, 32])
def test_raw_keys_for_their_owner_only_stay_with_overwrite(size: int, tmp_path: Path) -> None:
    path = tmp_path / "stream.key"
    path.write_bytes(secrets.token_bytes(size))
    path.chmod(0o600)
    with overwriting(), pytest.raises(FileExistsError, match="never replaced"):
        put(path)


@pytest.mark.parametrize("size", [16, 24, 32])
def test_raw_keys_that_all_may_read_stay_with_overwrite(size: int, tmp_path: Path) -> None:
    """Bytes, digits and base64; not numbers or JSON of that length, which results are."""
    path = tmp_path / "stream.key"
    key = secrets.token_bytes(size - 1) + b"\xff"
    for content in (key, key.hex().encode() + b"\n", base64.b64encode(key)):
        path.write_bytes(content)
        path.chmod(0o644)
        with overwriting(), pytest.raises(FileExistsError, match="never replaced"):
            put(path)
        assert path.read_bytes() == content
    numbers = b",".join([b"1.5"] * (size // 4)) + b"\n"
    for content in (numbers, json.dumps(["x" * (size - 4)]).encode()):
        assert len(content) == size
        path.write_bytes(content)
        with overwriting():
            put(path)


def test_a_secret_replaces_nothing_even_with_overwrite(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"a result")
    with overwriting(), pytest.raises(FileExistsError):
        ServerKey.random().save(path)
    assert path.read_bytes() == b"a result"


def test_links_pipes_and_devices(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_bytes(b"old")
    link, dangling, pipe, other = (tmp_path / n for n in ("link", "dangling", "pipe", "hard"))
    link.symlink_to(kept)
    dangling.symlink_to(tmp_path / "nowhere")
    os.mkfifo(pipe)
    os.link(kept, other)
    for replace in (False, True):
        with overwriting(replace):
            for path in (link, dangling):
                with pytest.raises(FileExistsError, match="is a link"):
                    put(path)
            for path in (pipe, tmp_path, Path("/dev/null")):
                with pytest.raises(FileExistsError, match="no ordinary file"):
                    put(path)
            with pytest.raises(FileExistsError):
                put(Path("/dev/stdout"))
    with overwriting():
        put(other)  # of two names for one file the other keeps it
    assert kept.read_bytes() == b"old"
    assert other.read_bytes() == b"new"
    assert not (tmp_path / "nowhere").exists()
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_a_name_that_is_taken_meanwhile_is_kept(tmp_path: Path) -> None:
    """Another process writes the name after it was looked at, before it is taken."""
    path = tmp_path / "f"

    def write() -> None:
        with writing(path) as f:
            f.write(b"lost")
            path.write_bytes(b"theirs")

    with pytest.raises(FileExistsError, match="exists already"):
        write()
    assert path.read_bytes() == b"theirs"
    assert os.listdir(tmp_path) == ["f"]


SECRET = b"\xff the 24 bytes of a key\xff"


def keep(path: Path, data: bytes = SECRET) -> bool:
    """Write a secret; whether that succeeded."""
    try:
        with writing(path, secret=True) as f:
            f.write(data)
    except FileExistsError:
        return False
    return True


@contextlib.contextmanager
def meanwhile(step: int, other: Callable[[], object]) -> Iterator[list[int]]:
    """Have another writer act before the given line that the block executes in the mechanism.

    Yields a list of the lines so far: one shorter than `step` at the end, if there are not so many.
    """
    lines: list[int] = []

    def trace(frame: FrameType, event: str, _: object) -> Any:
        if frame.f_code.co_filename != files.__file__:
            return None
        if event == "line":
            lines.append(frame.f_lineno)
            if len(lines) == step:
                sys.settrace(None)
                other()
        return trace if len(lines) < step else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield lines
    finally:
        sys.settrace(before)


def each_moment(folder: Path) -> Iterator[tuple[int, Path, list[bool]]]:
    """Yield steps with a name each, until the list that comes with them is told that nothing happened any more."""
    ended: list[bool] = []
    step = 0
    while not ended:
        step += 1
        assert step < 2000
        place = folder / str(step)
        place.mkdir()
        yield step, place / "f", ended
    assert step > 30, "the mechanism was never interrupted"


def without(*flags: int) -> Callable[[Path, Path, int], None]:
    """Return `files._rename` of a file system that does not know some flags."""
    rename = files._rename

    def run(source: Path, target: Path, flag: int) -> None:
        if flag in flags:
            raise OSError(errno.EINVAL, "Invalid argument", str(target))
        rename(source, target, flag)

    return run


def no_links(*_: object) -> None:
    raise OSError(errno.EPERM, os.strerror(errno.EPERM))


@pytest.fixture(params=["all", "no links", "no exchange", "neither"])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """File systems: with everything, and as many network file systems are."""
    if request.param in ("no links", "neither"):
        monkeypatch.setattr(os, "link", no_links)
    if request.param in ("no exchange", "neither"):
        monkeypatch.setattr(files, "_rename", without(files._EXCHANGE))
    monkeypatch.setattr(os, "fsync", lambda _: None)  # thousands of files, whose content alone is of interest
    return str(request.param)


def test_of_two_secrets_one_is_written_whenever_the_other_comes(system: str, tmp_path: Path) -> None:
    """A second writer does all its work at each moment of the first; one succeeds, and its key is there."""
    for step, path, ended in each_moment(tmp_path):
        done: list[bool] = []
        with meanwhile(step, lambda path=path, done=done: done.append(keep(path, b"B" * 24))):  # type: ignore[misc]
            first = keep(path, b"A" * 24)
        if not done:
            ended.append(True)
            continue
        assert first != done[0], f"{system}, moment {step}"
        assert path.read_bytes() == (b"A" if first else b"B") * 24
        assert os.listdir(path.parent) == ["f"]


@pytest.mark.parametrize("before", ["nothing", "a file", "a file that goes"])
def test_overwrite_loses_no_secret_whenever_it_comes(before: str, system: str, tmp_path: Path) -> None:
    """A secret is written at each moment of a writer that may replace: who said that it was, has it.

    Its name is free, or another program removes the file that has it in the same moment.
    """
    for step, path, ended in each_moment(tmp_path):
        done: list[bool] = []
        if before != "nothing":
            path.write_bytes(b"old")

        def secret(path: Path = path, done: list[bool] = done) -> None:
            if before == "a file that goes" and path.exists() and path.read_bytes() == b"old":
                path.unlink()
            done.append(keep(path))

        with meanwhile(step, secret), contextlib.suppress(FileExistsError), overwriting():
            put(path, b"public")
        if not done:
            ended.append(True)
        assert path.read_bytes() == (SECRET if done and done[0] else b"public"), f"{system}, moment {step}"
        assert os.listdir(path.parent) == ["f"]


@pytest.mark.parametrize("exchange", [True, False])
def test_overwrite_against_programs_that_replace(
    exchange: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program renames a secret over the name at each moment: it has the name, or lies beside it."""
    if not exchange:
        monkeypatch.setattr(files, "_rename", without(files._EXCHANGE))
    monkeypatch.setattr(os, "fsync", lambda _: None)
    for step, path, ended in each_moment(tmp_path):
        done: list[bool] = []
        path.write_bytes(b"old")
        moved = path.with_name("moved")
        moved.write_bytes(SECRET)

        def secret(path: Path = path, moved: Path = moved, done: list[bool] = done) -> None:
            moved.replace(path)
            done.append(True)

        with meanwhile(step, secret), contextlib.suppress(FileExistsError), overwriting():
            put(path, b"public")
        if not done:
            ended.append(True)
        else:
            assert SECRET in [p.read_bytes() for p in path.parent.iterdir()], f"moment {step}"
            assert path.read_bytes() == SECRET


#: Functions that give and take names; the others only read.
MOVES = {"new_file", "_take_name", "_claim", "_check_exchanged", "_check_replaceable", "_set_aside", "_put_back"}


def end_at(step: int, path: Path, exchange: bool) -> None:
    """In a process of its own: replace a file in whose place a secret comes at last, and end at a line after that.

    The process ends with 3 there, with 4 where it refuses before.
    """
    look = files.check_output
    looks = lines = 0

    def secret_comes(where: Path, **options: Any) -> None:
        nonlocal looks
        look(where, **options)
        looks += 1
        if looks == 2:
            path.unlink()
            keep(path)
            sys.settrace(trace)
            sys._getframe(1).f_trace = trace

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal lines
        if frame.f_code.co_filename == files.__file__ and frame.f_code.co_name in MOVES and event == "line":
            lines += 1
            if lines == step:
                os._exit(3)
        return trace

    try:
        vars(files)["check_output"] = secret_comes
        if not exchange:
            vars(files)["_rename"] = without(files._EXCHANGE)
        with overwriting():
            put(path, b"public")
    except FileExistsError:
        os._exit(4)
    finally:
        os._exit(5)


@pytest.mark.parametrize("exchange", [True, False])
def test_a_secret_survives_the_end_of_who_replaces(
    exchange: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A secret comes in the last moment, and the process ends at each line after that: it is there all the same."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    for step in range(1, 300):
        place = tmp_path / str(step)
        place.mkdir()
        path = place / "f"
        path.write_bytes(b"old")
        child = os.fork()
        if not child:
            end_at(step, path, exchange)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code in (3, 4)
        assert SECRET in [p.read_bytes() for p in place.iterdir()], f"ended at line {step}"
        if code == 4:
            assert path.read_bytes() == SECRET
            break
    assert code == 4, "never came to the end"
    assert step > 12


@pytest.mark.parametrize("why", [errno.EPERM, errno.ENOTSUP])
def test_file_systems_without_hard_links(why: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def link(*_: object) -> None:
        raise OSError(why, os.strerror(why))

    monkeypatch.setattr(os, "link", link)
    path = tmp_path / "f"
    put(path, b"first")
    with pytest.raises(FileExistsError):
        put(path)
    assert path.read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["f"]
    monkeypatch.setattr(files, "_rename", without(files._EXCHANGE, files._NOREPLACE))
    with pytest.raises(OSError, match="neither hard links nor renaming that replaces nothing: name a place"):
        put(tmp_path / "g")
    with overwriting(), pytest.raises(OSError, match="neither hard links"):
        put(path)
    assert path.read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["f"]


def test_an_output_is_no_other_file_of_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("w.npy", np.eye(2))
    for out in ("w.npy", "./w.npy"):
        assert main(shlex.split(f"matvec plan --overwrite --model w.npy --out {out}")) == 1
        assert "--model and --out both name the file w.npy" in capsys.readouterr().err
    np.testing.assert_array_equal(np.load("w.npy"), np.eye(2))


def test_a_log_is_appended_to_logs_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("aes.key").write_bytes(b"0123456789abcdef")
    assert main(shlex.split("psi serve table --log aes.key")) == 1
    assert "never replaced nor appended to" in capsys.readouterr().err
    assert Path("aes.key").read_bytes() == b"0123456789abcdef"


def test_a_log_begins_as_our_logs_do(tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    for content in (b'{"kty": "oct", "k": "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ"}\n', b"{x\n", b'{"time": 1}\n'):
        path.write_bytes(content)
        with pytest.raises(FileExistsError, match="something else than a log"):
            log_file(path)
    path.unlink()
    assert log_file(path) == path
    with path.open("w") as stream:
        Log(stream)("ready", port=1)
    assert log_file(path) == path


def demo(out: Path, *names: str) -> None:
    """Run a demo: it makes a folder with a secret in it, and a summary."""
    clear_demo(out, (*names, "summary.json"))
    for name in names:
        (out / name).mkdir()
        keep(out / name / "demo.key")
    put(out / "summary.json")
    finish_demo(out)


def test_a_demo_removes_only_what_a_demo_made(tmp_path: Path) -> None:
    mine = tmp_path / "server"
    mine.mkdir()
    (mine / "aes.key").write_bytes(b"0123456789abcdef")
    with pytest.raises(FileExistsError, match=r"this demo has not made it.*--out"):
        clear_demo(tmp_path, ("client", "server"))
    assert (mine / "aes.key").exists()
    out = tmp_path / "demo"
    demo(out, "server")
    demo(out, "server")
    clear_demo(out, ("server", "summary.json"))
    assert os.listdir(out) == [".ringforge-demo"]


@pytest.mark.parametrize("where", ["other", "clients/me.secret", "server/me.secret", "server/demo.key", "summary.json"])
def test_a_demo_keeps_what_came_into_its_folder(where: str, tmp_path: Path) -> None:
    """A file of one's own, beside what the demo made, among it, in the place of it; and a demo that did not end."""
    demo(tmp_path, "server")
    path = tmp_path / where
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_bytes(SECRET)
    for names in (("server",), ("clients", "server"), ("clients",)):
        with pytest.raises(FileExistsError, match=r"remove .* yourself"):
            clear_demo(tmp_path, (*names, "summary.json"))
    assert path.read_bytes() == SECRET


def test_a_demo_that_did_not_end_is_kept(tmp_path: Path) -> None:
    clear_demo(tmp_path, ("server",))
    clear_demo(tmp_path, ("server",))
    (tmp_path / "server").mkdir()
    with pytest.raises(FileExistsError, match="not finished"):
        clear_demo(tmp_path, ("server",))


def test_only_the_file_that_was_made_is_removed_on_failure(tmp_path: Path) -> None:
    path, other = tmp_path / "secret", tmp_path / "other"

    def fail() -> None:
        with removed_on_failure() as made:
            for p in (path, other):
                put(p)
                made.append(p)
            path.rename(tmp_path / "kept")  # which keeps the inode taken
            path.write_bytes(b"theirs")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_bytes() == b"theirs"
    assert not other.exists()


# ---- several at once -----------------------------------------------------------------------------

#: A process that waits for a line, and then makes a key in the way that the command does.
RACE = """
import sys
from pathlib import Path
from ringforge.cli import main
words = sys.stdin.readline().split("\\t")
while words[0]:
    try:
        code = main(words[:-1])
    except BaseException:
        code = 99
    print(code, flush=True)
    words = sys.stdin.readline().split("\\t")
"""

KEYGENS = {
    "omr": "omr keygen --set test --insecure reason --threads 1 --secret {0} --detection-key {0}.{1}",
    "matvec": "matvec keygen --program p.json --threads 1 --secret {0} --eval-keys {0}.{1}",
    "aes": "aes keygen --scheme bgv --set bgv-test --insecure reason --threads 1 --secret {0} --keys {0}.{1}",
}


def race(system: str, rounds: int, processes: int, folder: Path) -> None:
    """Have processes make keys of one name at once: one says that it did, and has evaluation keys for its key."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    with contextlib.ExitStack() as stack:
        started = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", RACE],
                    cwd=folder,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    env=environment,
                    text=True,
                )
            )
            for _ in range(processes)
        ]
        for i in range(rounds):
            name = f"{system}-{i}"
            for number, process in enumerate(started):
                assert process.stdin
                process.stdin.write("\t".join([*KEYGENS[system].format(name, number).split(), ""]) + "\n")
            for process in started:
                assert process.stdin
                process.stdin.flush()
            codes = []
            for process in started:
                assert process.stdout
                codes.append(int(process.stdout.readline()))
            assert sorted(codes) == [0] + [1] * (processes - 1), f"round {i}"
            secret = (folder / name).read_bytes()
            assert secret_in(folder / name)
            assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600
            won = codes.index(0)
            made = [p for p in folder.glob(f"{name}.*") if p.is_file() or any(p.iterdir())]
            assert made == [folder / f"{name}.{won}"], f"round {i}: evaluation keys of another secret"
            assert secret == (folder / name).read_bytes()
        for process in started:
            assert process.stdin
            process.stdin.close()
    assert not list(folder.glob(".*")), "temporary files"


@pytest.mark.parametrize("system", KEYGENS)
def test_of_many_keygens_at_once_one_succeeds(system: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("w.npy", np.eye(2))
    assert main(shlex.split("matvec plan --model w.npy --out p.json")) == 0
    race(system, 2, 3, tmp_path)


@pytest.mark.long
def test_of_many_keygens_at_once_one_succeeds_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("w.npy", np.eye(2))
    assert main(shlex.split("matvec plan --model w.npy --out p.json")) == 0
    race("matvec", 300, 4, tmp_path)


def test_of_many_saves_at_once_one_succeeds(tmp_path: Path) -> None:
    """The library's own `save`, forked, so that all are in the middle of it together; the file is the winner's."""
    for i in range(20):
        path, children = tmp_path / f"k{i}", []
        for number in range(4):
            child = os.fork()
            if not child:
                code = 9
                try:
                    with new_file(path, secret=True) as temporary:
                        temporary.write_bytes(bytes([number]) * 100)
                    code = 0
                except FileExistsError:
                    code = 1
                finally:
                    os._exit(code)
            children.append(child)
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        assert sorted(codes) == [0, 1, 1, 1]
        assert path.read_bytes() == bytes([codes.index(0)]) * 100
    assert len(os.listdir(tmp_path)) == 20


# ---- on the disk before it is said ---------------------------------------------------------------


class Trace:
    """Calls of the system that matter, in their order: what was synchronised, and which name was taken."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []


class Told:
    """A stream that notes in a trace when `keygen` says that it is done: keep the secret key."""

    def __init__(self, stream: Any, trace: Trace) -> None:
        self._stream, self._trace = stream, trace

    def write(self, text: str) -> int:
        if "keep" in text:
            self._trace.calls.append(("said", text))
        return int(self._stream.write(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@pytest.fixture
def trace(monkeypatch: pytest.MonkeyPatch) -> Trace:
    """Record calls, which are made all the same."""
    made = Trace()
    fsync, link, replace, rename, mkdir = os.fsync, os.link, os.replace, os.rename, os.mkdir

    def name(descriptor: int) -> str:
        return os.readlink(f"/proc/self/fd/{descriptor}")

    def synced(descriptor: int) -> None:
        fsync(descriptor)
        made.calls.append(("sync", name(descriptor)))

    def named(how: str, call: object):  # type: ignore[no-untyped-def]
        def run(source: object, target: object, **options: object) -> None:
            call(source, target, **options)  # type: ignore[operator]
            made.calls.append((how, f"{source} {target}"))

        return run

    def folder(path: object, *rest: object, **options: object) -> None:
        mkdir(path, *rest, **options)  # type: ignore[arg-type]
        made.calls.append(("mkdir", str(path)))

    monkeypatch.setattr(os, "fsync", synced)
    for how, call in (("link", link), ("replace", replace), ("rename", rename)):
        monkeypatch.setattr(os, how, named(how, call))
    exchange = files._rename

    def exchanged(source: Path, target: Path, flag: int) -> None:
        exchange(source, target, flag)
        made.calls.append(("replace", f"{source} {target}"))

    monkeypatch.setattr(files, "_rename", exchanged)
    monkeypatch.setattr(os, "mkdir", folder)
    return made


def check_order(calls: list[tuple[str, str]], path: Path) -> None:
    """Hold a trace against: file synchronised, then named, then its directory synchronised."""
    named = [i for i, (how, what) in enumerate(calls) if how in ("link", "replace") and what.endswith(f" {path}")]
    assert named, f"{path.name} was never given its name: {calls}"
    at = named[-1]
    temporary = calls[at][1].removesuffix(f" {path}")
    assert ("sync", temporary) in calls[:at], "the content comes before the name"
    assert ("sync", str(path.parent)) in calls[at:], "the name comes before success is said"


def test_files_are_on_the_disk_before_writers_return(tmp_path: Path, trace: Trace) -> None:
    path = tmp_path / "f"
    put(path)
    check_order(trace.calls, path)
    trace.calls.clear()
    with overwriting():
        put(path)
    check_order(trace.calls, path)


@pytest.mark.parametrize(
    ("words", "made"),
    [
        ("matvec keygen --program p.json --secret s --eval-keys e", "s e"),
        ("matmul keygen --program q.json --secret s --public p --eval-keys e", "s p e"),
        ("omr keygen --set test --insecure reason --secret s --detection-key d --address a", "s d a"),
        ("aes keygen --set bgv-test --insecure reason --secret s --keys k", "s k/parameters.rgfg k/evaluation.rgfg"),
    ],
)
def test_keys_are_on_the_disk_before_keygen_says_so(
    words: str, made: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trace: Trace
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("w.npy", np.eye(2))
    assert main(shlex.split("matvec plan --model w.npy --out p.json")) == 0
    assert main(shlex.split("matmul plan --shape 2x2x2 --params matmul-a-128 --out q.json")) == 0
    trace.calls.clear()
    for stream in ("stdout", "stderr"):
        monkeypatch.setattr(sys, stream, Told(getattr(sys, stream), trace))
    assert main(shlex.split(words)) == 0
    calls = [(how, what.replace(f" {tmp_path}/", " ")) for how, what in trace.calls]
    for name in made.split():
        path = Path(name)
        folder = str(tmp_path / path.parent) if str(path.parent) != "." else str(tmp_path)
        at = max(i for i, (how, what) in enumerate(calls) if how == "link" and what.endswith(f" {name}"))
        temporary = str(tmp_path / calls[at][1].split(" ")[0])
        said = next(i for i, (how, _) in enumerate(calls) if how == "said")
        assert ("sync", temporary) in calls[:at]
        assert ("sync", folder) in calls[at:said]
    if "--keys" in words:
        at = calls.index(("mkdir", "k"))
        assert ("sync", str(tmp_path)) in calls[at:]


def test_what_a_service_keeps_is_on_the_disk(tmp_path: Path, trace: Trace) -> None:
    """Depots: JSON that is replaced, files that arrive, and the directories that they lie in."""
    path = tmp_path / "job.json"
    for text in (b"{}", b'{"state": "done"}'):
        trace.calls.clear()
        depot.write(path, text)
        check_order(trace.calls, path)
    trace.calls.clear()
    arrived = tmp_path / "incoming"
    arrived.write_bytes(b"key")
    files.keep(arrived, tmp_path / "key")
    check_order(trace.calls, tmp_path / "key")
    trace.calls.clear()
    files.make_folder(tmp_path / "a" / "b", 0o700)
    assert [("mkdir", f"{tmp_path}/a"), ("sync", str(tmp_path)), ("mkdir", f"{tmp_path}/a/b")] == trace.calls[:3]
    assert trace.calls[3] == ("sync", f"{tmp_path}/a")
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700


def test_a_disk_that_fails_to_sync_fails_the_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")

    def fails(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fails)
    with overwriting(), pytest.raises(OSError, match="Input/output error"):
        put(path)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["f"]


def test_a_directory_that_fails_to_sync_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name is taken by then: it is not said that nothing was written."""
    fsync = os.fsync

    def fails(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OSError, match=r"^\[Errno 28\] No space left on device: written, but whether its name"):
        put(tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == b"new"


def test_modes_come_from_the_umask_which_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other threads make files too: the umask is the whole process's."""
    before = os.umask(0o027)
    try:

        def touched(_: int) -> int:
            raise AssertionError

        with monkeypatch.context() as patched:
            patched.setattr(os, "umask", touched)
            put(tmp_path / "f")
            keep(tmp_path / "s")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "s").stat().st_mode) == 0o600


def test_every_file_of_a_service_is_kept_by_the_one_mechanism() -> None:
    """Services rename nothing by themselves: `files.keep` and `files.writing` synchronise, a bare rename does not."""
    root = Path(files.__file__).parent
    services = [*(root / "serving").glob("*.py"), *root.glob("*/depot.py"), *root.glob("*/*service*.py")]
    assert len(services) > 20
    bare = {
        f"{path.parent.name}/{path.name}"
        for path in services
        if any(word in path.read_text() for word in ("os.replace(", "os.rename(", ".rename(", "path.replace("))
    }
    assert bare == {"serving/runtime.py"}, "a lock that lives as long as its process, and nothing else"
