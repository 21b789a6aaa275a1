# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Disks that are full, and files that change under a running server."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import ringforge
from ringforge.psi import Store

#: Elements, whose compiled table is larger than the room that tests leave.
SET = "\n".join(f"element {i}" for i in range(4000))

ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join([str(Path(ringforge.__file__).parents[1]), *(p for p in sys.path if p)]),
}


def in_process(script: str, folder: Path, prefix: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*prefix, sys.executable, "-c", textwrap.dedent(script)],
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=120,
    )


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    """The message of a command that failed: one line, which says what to do."""
    assert done.returncode == 1, (done.returncode, done.stdout, done.stderr)
    lines = [line for line in done.stderr.splitlines() if not line.startswith(("warning:", "building:"))]
    assert len(lines) == 1, done.stderr
    assert "free space, or name a directory where there is more" in lines[0]
    return lines[0]


LIMITED = """
    import resource, signal, sys
    from ringforge.cli import main
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))
    sys.exit(main("psi build table --set set {options} --bins 6 --threads 1".split()))
"""


@pytest.mark.parametrize("size", [20_000, 150_000, 300_000])
def test_a_build_without_room_leaves_nothing(tmp_path: Path, size: int) -> None:
    """The limits are met by the first array, by a later one, by the database."""
    (tmp_path / "set").write_text(SET)
    one_line(in_process(LIMITED.format(size=size, options=""), tmp_path))
    assert not (tmp_path / "table").exists()


@pytest.mark.parametrize("options", ["--replace", "--update add"])
def test_without_room_the_table_that_was_there_stays(tmp_path: Path, options: str) -> None:
    (tmp_path / "set").write_text(SET)
    before = Store.build(tmp_path / "table", [b"one", b"two"], log_bins=6, capacity=1 << 12)
    one_line(in_process(LIMITED.format(size=150_000, options=options), tmp_path))
    after = Store(tmp_path / "table")
    assert (after.state, after.info) == (before.state, before.info)
    assert len(after.members()) == 2
    assert sorted(p.name for p in after.path.iterdir()) == [".lock", "CURRENT", after.state]


def _may_mount() -> bool:
    probe = ["unshare", "-rm", "sh", "-c", "mount -t tmpfs -o size=64k none /mnt"]
    try:
        return subprocess.run(probe, capture_output=True, timeout=20, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


@pytest.mark.skipif(not _may_mount(), reason="this user may mount no file system; limits of file sizes are tested")
@pytest.mark.parametrize("kib", [100, 200, 400])
def test_a_full_disk_is_no_signal(tmp_path: Path, kib: int) -> None:
    (tmp_path / "set").write_text(SET)
    (tmp_path / "disk").mkdir()
    script = """
        import sys
        from ringforge.cli import main
        sys.exit(main("psi build disk/table --set set --bins 6 --threads 1".split()))
    """
    mount = ("unshare", "-rm", "sh", "-c", f'mount -t tmpfs -o size={kib}k none disk && exec "$@"', "sh")
    one_line(in_process(script, tmp_path, mount))


def test_a_table_that_is_cut_off_under_a_server_changes_nothing_for_it(tmp_path: Path) -> None:
    """The server's process answers on, rightly; only who opens the table anew is told."""
    Store.build(tmp_path / "table", {b"a": b"label", b"b": b""}, log_bins=5)
    script = """
        from pathlib import Path
        from ringforge.errors import FormatError
        from ringforge.psi import Client, Server, Store
        server = Server("table")
        files = [p for p in Path("table").rglob("*.npy")]
        assert len(files) == 3
        for file in files:
            with file.open("r+b") as f:
                f.truncate(0)
        client = Client(server.info, [b"a", b"c"], exact_sizes=True)
        client.finish_prf(server.evaluate_prf(client.blinded()))
        session = server.open(client.keys())
        while (request := client.next_request()) is not None:
            client.accept(server.answer(session, request))
        assert client.result().matches == {b"a": b"label"}
        try:
            Store("table")
        except FormatError as e:
            print(e)
    """
    done = in_process(script, tmp_path)
    assert done.returncode == 0, (done.returncode, done.stderr)
    assert "has 0 bytes instead of" in done.stdout
