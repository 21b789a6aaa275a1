# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Tables on disk: whole or not at all, damage refused, updates like fresh builds, nothing in them that must not be."""

from __future__ import annotations

import base64
import fcntl
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringforge.errors import Error, FormatError, ParameterError
from ringforge.psi import Limits, Server, Store, store, table
from ringforge.psi.info import TableInfo, encode_salts
from ringforge.psi.server import State
from ringforge.psi.table import Shape, compile_prf, pad_labels, unpack

from .running import Client, build, run


def numbered(first: int, last: int) -> list[bytes]:
    return [b"element %d of the set" % i for i in range(first, last)]


def found(path: Path, elements: list[bytes] | list[int]) -> dict[bytes | int, bytes]:
    return run(Server(path, device="clear"), elements).matches


# ---- building and reading ----


@pytest.mark.parametrize("labelled", [False, True])
def test_a_store_answers_like_the_set(tmp_path, labelled):
    elements = {x: b"label" + x[-8:] for x in numbered(0, 300)}
    made = Store.build(tmp_path / "t", elements if labelled else elements.keys(), log_bins=6, threads=2)
    assert made.count == 300
    assert made.info.capacity == 512
    again = Store(tmp_path / "t")
    assert again.info == made.info
    matches = found(tmp_path / "t", numbered(250, 320))
    assert matches == {x: elements[x] if labelled else b"" for x in numbered(250, 300)}


def test_integers_in_a_store(tmp_path):
    made = Store.build(tmp_path / "t", (i * i for i in range(200)), mode="direct", bits=16, log_bins=6)
    assert made.key() is None
    assert made.members().values.tolist() == sorted({i * i for i in range(200)})
    assert set(found(tmp_path / "t", list(range(100)))) == {i * i for i in range(10)}
    assert not (made.directory / "oprf.key").exists()


def test_limits_are_told_and_can_be_replaced(tmp_path):
    Store.build(tmp_path / "t", [b"a"], log_bins=4, limits=Limits(prf_per_day=7))
    assert Server(tmp_path / "t").info.limits.prf_per_day == 7
    assert Server(tmp_path / "t", limits=Limits(prf_per_day=9)).info.limits.prf_per_day == 9


def test_progress_rises_to_one(tmp_path):
    told: list[float] = []
    Store.build(tmp_path / "t", numbered(0, 100), log_bins=5, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert told[0] < 1.0


def test_a_new_build_has_a_new_key_and_takes_the_place_of_the_old(tmp_path):
    one = Store.build(tmp_path / "t", numbered(0, 10), log_bins=4)
    old_key = (one.directory / "oprf.key").read_bytes()
    two = Store.build(tmp_path / "t", numbered(5, 20), log_bins=5)
    assert (two.directory / "oprf.key").read_bytes() != old_key
    assert set(found(tmp_path / "t", numbered(0, 30))) == set(numbered(5, 20))
    assert sorted(p.name for p in (tmp_path / "t").iterdir()) == [".lock", "CURRENT", two.state]


# ---- what may be in the files ----


@pytest.mark.parametrize("labelled", [False, True])
def test_files_hold_neither_elements_nor_the_key(tmp_path, labelled):
    elements = [b"alice@example.org", b"bob-has-a-long-name@example.org", "señora".encode()]
    labels = [b"label of alice", b"label of bob", b"label of the third"]
    made = Store.build(
        tmp_path / "t", dict(zip(elements, labels, strict=True)) if labelled else elements, log_bins=4, threads=1
    )
    made.update(
        dict(zip([b"carol@example.org"], [b"hers"], strict=True)) if labelled else [b"carol@example.org"], elements[:1]
    )
    key = made.key()._key.secret_bytes()
    forbidden = []
    for secret in [*elements, b"carol@example.org", key]:
        forbidden += [
            secret,
            secret.hex().encode(),
            base64.b64encode(secret).rstrip(b"=")[:-1],
            hashlib.sha256(secret).digest(),
        ]
    for file in (f for f in (tmp_path / "t").rglob("*") if f.is_file()):
        data = file.read_bytes()
        if file.name == "oprf.key":
            assert key in data
            assert file.stat().st_mode & 0o777 == 0o600
            continue
        assert not any(f in data for f in forbidden), file.name
        if file.suffix == ".npy" or file.name == "info.json":
            assert not any(label in data for label in labels), file.name
    assert made.directory.stat().st_mode & 0o777 == 0o700


def test_the_info_does_not_tell_the_number_of_elements(tmp_path):
    infos = [Store.build(tmp_path / str(n), numbered(0, n), log_bins=4).info for n in (600, 1000)]
    a, b = (i.model_dump(exclude={"seed", "salts", "nonce"}) for i in infos)
    assert a == b


# ---- updates ----

STEPS = st.lists(
    st.tuples(
        st.dictionaries(st.integers(0, 30), st.binary(max_size=3), max_size=6), st.lists(st.integers(0, 30), max_size=6)
    ),
    max_size=4,
)


@given(STEPS, st.booleans(), st.booleans())
def test_updates_answer_like_a_fresh_build(tmp_path_factory, steps, labelled, reseed):
    path = tmp_path_factory.mktemp("s") / "t"
    state = {b"%d" % i: b"l%d" % (i % 7) for i in range(12)}
    made = Store.build(
        path, state if labelled else state.keys(), log_bins=3, capacity=64, label_bytes=3 if labelled else 0
    )
    everything = [b"%d" % i for i in range(31)]
    for more, gone in steps:
        add = {b"%d" % i: label for i, label in more.items()}
        remove = [b"%d" % i for i in gone]
        before = dict(state)
        for x in remove:
            state.pop(x, None)
        state.update(add)
        counts = made.update(add if labelled else add.keys(), remove, reseed=reseed)
        assert counts == (
            len(state.keys() - before.keys()),
            len(before.keys() - state.keys()),
            sum(labelled and before[x] != state[x] for x in before.keys() & state.keys()),
        )
        assert made.count == len(state)
        expected = {x: state[x] if labelled else b"" for x in everything if x in state}
        assert found(path, everything) == expected
        fresh = build(state if labelled else state.keys(), log_bins=3)
        assert run(fresh, everything).matches == expected


@given(
    st.lists(st.tuples(st.sets(st.integers(0, 255), max_size=9), st.sets(st.integers(0, 255), max_size=9)), max_size=3)
)
def test_integers_are_updated(tmp_path_factory, steps):
    path = tmp_path_factory.mktemp("s") / "t"
    state = {1, 2, 3}
    made = Store.build(path, state, mode="direct", bits=8, log_bins=4, capacity=64)
    for add, remove in steps:
        state = state - remove | add
        made.update(add, remove)
        assert set(found(path, list(range(256)))) == state


def test_who_is_added_again_without_a_label_keeps_it(tmp_path):
    made = Store.build(tmp_path / "t", {b"a": b"1", b"b": b"2"}, log_bins=3, capacity=8)
    assert made.update([b"a", b"c"]) == (1, 0, 0)
    assert found(tmp_path / "t", [b"a", b"b", b"c"]) == {b"a": b"1", b"b": b"2", b"c": b""}


def test_only_bins_that_change_get_new_salts(tmp_path):
    for labelled in (False, True):
        path = tmp_path / str(labelled)
        made = Store.build(
            path, dict.fromkeys(numbered(0, 50), b"l") if labelled else numbered(0, 50), log_bins=6, capacity=64
        )
        before = made.info
        made.update({b"new": b"l"} if labelled else [b"new"])
        assert made.info.seed == before.seed
        changed = int((made.info.salt_array != before.salt_array).sum())
        assert changed <= 3
        assert (made.info.nonce != before.nonce) == labelled
        made.update(remove=[b"new"], reseed=True)
        assert made.info.seed != before.seed
        assert made.info.digest() != before.digest()


def test_no_cell_stream_is_used_twice(tmp_path):
    """Words of an element's cells before and after its label changed, and after it went and came back."""
    made = Store.build(tmp_path / "t", {b"a": b"first"}, log_bins=2, capacity=4)
    seen = set()
    for label in (b"first", b"other", None, b"third"):
        if label is None:
            made.update(remove=[b"a"])
            continue
        made.update({b"a": label})
        for b in range(4):
            if made.arrays.offsets[b + 1] > made.arrays.offsets[b]:
                seen.add((b, made.info.seed, int(made.info.salt_array[b]), made.info.nonce))
    assert len(seen) == 3 * len({b for b, *_ in seen})


def test_a_bin_without_salts_gets_another_seed(tmp_path, monkeypatch):
    made = Store.build(tmp_path / "t", {b"a": b"x"}, log_bins=2, capacity=8)
    seed = made.info.seed
    monkeypatch.setattr(table, "SALTS", 1)
    monkeypatch.setattr(table, "FIRST_SALTS", 1)
    made.update({b"b": b"y"})
    assert made.info.seed != seed
    assert found(tmp_path / "t", [b"a", b"b", b"c"]) == {b"a": b"x", b"b": b"y"}


def test_refused_updates_change_nothing(tmp_path):
    made = Store.build(tmp_path / "t", dict.fromkeys(numbered(0, 8), b"l"), log_bins=3)
    state = made.state
    with pytest.raises(ParameterError, match="capacity 8"):
        made.update({b"one too many": b"l"})
    with pytest.raises(ParameterError, match="--label-bytes 20"):
        made.update({b"element 0 of the set": b"x" * 20})
    plain = Store.build(tmp_path / "p", numbered(0, 8), log_bins=3)
    with pytest.raises(ParameterError, match="no labels"):
        plain.update({b"element 0 of the set": b"l"})
    assert Store(tmp_path / "t").state == state
    assert found(tmp_path / "t", numbered(0, 9)) == dict.fromkeys(numbered(0, 8), b"l")


def test_servers_take_a_new_state_when_told_and_sessions_keep_theirs(tmp_path):
    made = Store.build(tmp_path / "t", numbered(0, 20), log_bins=4, capacity=64)
    server = Server(tmp_path / "t", device="clear")
    client = Client(server.info, numbered(10, 30))
    client.finish_prf(server.evaluate_prf(client.blinded()))
    session = server.open(client.keys())
    assert not server.reload()
    made.update(numbered(20, 30), numbered(10, 15))
    made.update(numbered(40, 50))
    assert server.reload()
    assert not server.reload()
    while (request := client.next_request()) is not None:
        client.accept(server.answer(session, request))
    assert set(client.result().matches) == set(numbered(10, 20))
    assert set(run(server, numbered(10, 30)).matches) == set(numbered(15, 30))


# ---- damage ----


def every_file(path: Path) -> list[Path]:
    return [f for f in sorted(path.rglob("*")) if f.is_file() and f.name != ".lock"]


def test_damaged_files_are_refused(tmp_path):
    good = Store.build(tmp_path / "good", dict.fromkeys(numbered(0, 40), b"label"), log_bins=4)
    rng = random.Random(1)
    names = [f.relative_to(good.path) for f in every_file(good.path)]
    assert len(names) == 8
    for name in names:
        size = (good.path / name).stat().st_size
        for at in {0, size - 1, *(rng.randrange(size) for _ in range(6))}:
            bad = tmp_path / "bad"
            shutil.copytree(good.path, bad)
            data = bytearray((bad / name).read_bytes())
            data[at] ^= 1 << rng.randrange(8)
            (bad / name).write_bytes(data)
            with pytest.raises(FormatError):
                Server(bad)
            shutil.rmtree(bad)


def test_short_long_and_missing_files_are_refused(tmp_path):
    good = Store.build(tmp_path / "good", numbered(0, 40), log_bins=4)
    for name in [f.relative_to(good.path) for f in every_file(good.path)]:
        data = (good.path / name).read_bytes()
        for content in (None, b"", data[:-1], data + b"\0"):
            bad = tmp_path / "bad"
            shutil.copytree(good.path, bad)
            if content is None:
                (bad / name).unlink()
            else:
                (bad / name).write_bytes(content)
            with pytest.raises(FormatError):
                Server(bad)
            with pytest.raises(FormatError):
                Store(bad).update([b"x"])
            shutil.rmtree(bad)


def test_other_directories_are_no_stores_and_are_left_alone(tmp_path):
    with pytest.raises(FormatError, match="no table"):
        Store(tmp_path)
    (tmp_path / "precious").write_text("data")
    for path in (tmp_path, tmp_path / "precious"):
        with pytest.raises(FormatError, match="no table"):
            Store.build(path, [b"a"], log_bins=4)
    assert (tmp_path / "precious").read_text() == "data"
    with pytest.raises(FileNotFoundError):
        Store.build(tmp_path / "none" / "t", [b"a"], log_bins=4)


def test_other_versions_are_named(tmp_path):
    made = Store.build(tmp_path / "t", [b"a"], log_bins=4)
    text = (made.path / "CURRENT").read_text()
    (made.path / "CURRENT").write_text(text.replace("store 1", "store 2"))
    with pytest.raises(FormatError, match="version"):
        Store(made.path)


# ---- interruptions ----


class StoppedError(Exception):
    """What a test stops a build with."""


@pytest.mark.parametrize("fraction", [0.0, 0.5, 0.9, 0.95])
def test_interrupted_builds_and_updates_leave_the_old_table(tmp_path, fraction):
    made = Store.build(tmp_path / "t", numbered(0, 20), log_bins=4, capacity=64)

    def stop(f: float) -> None:
        if f >= fraction:
            raise StoppedError

    for action in (
        lambda: Store.build(tmp_path / "t", numbered(50, 90), log_bins=4, progress=stop),
        lambda: made.update(numbered(20, 30), progress=stop),
    ):
        with pytest.raises(StoppedError):
            action()
        assert set(found(tmp_path / "t", numbered(0, 90))) == set(numbered(0, 20))
        assert sorted(p.name for p in (tmp_path / "t").iterdir()) == [".lock", "CURRENT", "state-1"]
    made.update(numbered(20, 30))
    assert set(found(tmp_path / "t", numbered(0, 90))) == set(numbered(0, 30))


def test_an_interrupted_first_build_leaves_room_for_the_next(tmp_path):
    def stop(_: float) -> None:
        raise StoppedError

    with pytest.raises(StoppedError):
        Store.build(tmp_path / "t", numbered(0, 20), log_bins=4, progress=stop)
    with pytest.raises(FormatError, match="no table"):
        Store(tmp_path / "t")
    Store.build(tmp_path / "t", numbered(0, 20), log_bins=4)
    assert len(found(tmp_path / "t", numbered(0, 90))) == 20


@pytest.mark.parametrize("step", ["write_members", "_sha256", "writing"])
def test_failures_while_writing_leave_the_old_table(tmp_path, monkeypatch, step):
    Store.build(tmp_path / "t", numbered(0, 20), log_bins=4)

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(store, step, fail)
        with pytest.raises(OSError, match="no space"):
            Store.build(tmp_path / "t", numbered(50, 90), log_bins=4)
    assert set(found(tmp_path / "t", numbered(0, 90))) == set(numbered(0, 20))
    assert sorted(p.name for p in (tmp_path / "t").iterdir()) == [".lock", "CURRENT", "state-1"]


def test_killed_builds_leave_the_old_table(tmp_path):
    """A process is killed in the middle of writing, with all its files half there."""
    Store.build(tmp_path / "t", numbered(0, 20), log_bins=4)
    code = f"""
        import os, signal
        from ringforge.psi import Store, store
        store._sha256 = lambda path: os.kill(os.getpid(), signal.SIGKILL)
        Store.build({str(tmp_path / "t")!r}, [b"%d" % i for i in range(1000)], log_bins=4)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], env={**os.environ}, check=False)
    assert done.returncode == -signal.SIGKILL
    assert any(p.name.startswith(".new-") for p in (tmp_path / "t").iterdir())
    assert set(found(tmp_path / "t", numbered(0, 90))) == set(numbered(0, 20))
    Store(tmp_path / "t").update([b"x"])
    assert sorted(p.name for p in (tmp_path / "t").iterdir()) == [".lock", "CURRENT", "state-2"]


def test_only_one_process_changes_a_store(tmp_path):
    made = Store.build(tmp_path / "t", numbered(0, 20), log_bins=4, capacity=64)
    with (tmp_path / "t" / ".lock").open("ab") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        with pytest.raises(Error, match="another process"):
            made.update([b"x"])
        with pytest.raises(Error, match="another process"):
            Store.build(tmp_path / "t", [b"x"], log_bins=4)
        assert len(found(tmp_path / "t", numbered(0, 90))) == 20


def test_arrays_are_a_copy_that_nobody_changes(tmp_path):
    made = Store.build(tmp_path / "t", numbered(0, 20), log_bins=4)
    arrays = made.arrays
    before = [a.copy() for a in (arrays.offsets, arrays.cells, arrays.words)]
    for name in ("offsets", "cells", "words"):
        (made.directory / f"{name}.npy").write_bytes(b"")
    assert all((a == b).all() for a, b in zip((arrays.offsets, arrays.cells, arrays.words), before, strict=True))
    assert not arrays.words.flags.writeable
    with pytest.raises(FormatError, match="has 0 bytes instead of"):
        _ = Store(tmp_path / "t", verify=False).arrays


def test_diverging_copies_of_a_table_share_no_key_stream(tmp_path):
    """One table, copied, and both copies changed: whoever reads both must not see the difference of two labels. The
    words of an element's cells are tag and sealed label; tags are equal, so their xor is that of the sealed labels."""
    one = Store.build(tmp_path / "one", {b"a": b"before"}, log_bins=3, capacity=4, label_bytes=8)
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    two = Store(tmp_path / "two")
    labels = (b"one label", b"other one")
    for copy, label in zip((one, two), labels, strict=True):
        copy.update({b"a": label[:8]})
        assert found(copy.path, [b"a"]) == {b"a": label[:8]}
    assert one.info.seed == two.info.seed
    assert one.info.nonce != two.info.nonce
    shape = Shape.of(one.info)
    sealed = [unpack(np.asarray(s.arrays.words), shape) for s in (one, two)]
    assert (sealed[0][0] == sealed[1][0]).all(), "the same tags"
    difference = pad_labels([labels[0][:8]], 9) ^ pad_labels([labels[1][:8]], 9)
    assert ((sealed[0][1] ^ sealed[1][1]) != difference).any(axis=1).all()


def test_tables_of_version_1_open_and_get_a_nonce_with_the_first_update(tmp_path):
    made = Store.build(tmp_path / "t", {b"a": b"1", b"b": b"2"}, log_bins=3, capacity=8)
    old = TableInfo.model_validate({**made.info.model_dump(), "version": 1, "nonce": ""})
    members = made.members()
    arrays = compile_prf(Shape.of(old), members.values, members.padded(old.label_bytes))
    old = TableInfo.model_validate({**old.model_dump(), "salts": encode_salts(arrays.salts)})
    server = Server.__new__(Server)
    server._start(State(old, arrays, made.key()), None, 1, None, "clear")
    assert run(server, [b"a", b"c"]).matches == {b"a": b"1"}
    manifest = json.loads((made.directory / "manifest.json").read_text())
    for name in ("offsets", "cells", "words"):
        np.save(made.directory / f"{name}.npy", getattr(arrays, name))
    (made.directory / "info.json").write_bytes(old.to_json())
    signed(made.path, made.state, manifest)
    assert found(made.path, [b"a", b"b"]) == {b"a": b"1", b"b": b"2"}
    made.update({b"b": b"3"})
    assert (made.info.version, len(made.info.nonce)) == (2, 16)
    assert found(made.path, [b"a", b"b"]) == {b"a": b"1", b"b": b"3"}


def signed(path, state, manifest):
    """Writes the checksums of a state's files as they are now."""
    directory = path / state
    for name in manifest["files"]:
        data = (directory / name).read_bytes()
        manifest["files"][name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    text = json.dumps(manifest).encode()
    (directory / "manifest.json").write_bytes(text)
    (path / "CURRENT").write_text(f"ringforge-psi-store 1\n{state} {hashlib.sha256(text).hexdigest()}\n")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("offsets.npy", lambda d: d[:6] + b"\x02" + d[7:]),
        ("cells.npy", lambda d: d[:10] + b"(" * (len(d) - 10)),
        ("cells.npy", lambda d: d.replace(b"(60,)", b"(6e9)")),
        ("words.npy", lambda d: d.replace(b"<u2", b"|O8")),
        ("words.npy", lambda _: b""),
        ("elements.sqlite", lambda d: d[:200]),
        ("elements.sqlite", lambda _: b"SQLite format 3\0" + bytes(5000)),
        ("info.json", lambda d: d.replace(b'"hashes":3', b'"hashes":' + b"9" * 30)),
        ("info.json", lambda d: d.replace(b'"capacity":', b'"capacity":1' + b"0" * 6000)),
        ("info.json", lambda d: d.replace(b'"log_t":', b'"log_t":1e400')),
        ("info.json", lambda _: b"[" * 100_000),
    ],
)
def test_files_that_are_not_what_they_should_be_give_one_line(tmp_path, name, change):
    """With right checksums: what a program that writes nonsense would leave behind."""
    made = Store.build(tmp_path / "t", numbered(0, 20), log_bins=4)
    file = made.directory / name
    changed = change(file.read_bytes())
    assert changed != file.read_bytes()
    file.write_bytes(changed)
    signed(made.path, made.state, json.loads((made.directory / "manifest.json").read_text()))
    with pytest.raises(FormatError) as refused:
        Store(tmp_path / "t").members()
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize("name", ["x" * 300, "../oprf.key", "a\0b", ""])
def test_a_manifest_names_files_of_its_folder(tmp_path, name):
    store = Store.build(tmp_path / "t", [b"a"], log_bins=4)
    manifest = json.loads((store.directory / "manifest.json").read_bytes())
    manifest["files"][name] = {"bytes": 1, "sha256": "00"}
    raw = json.dumps(manifest).encode()
    (store.directory / "manifest.json").write_bytes(raw)
    checksum = hashlib.sha256(raw).hexdigest()
    (tmp_path / "t" / "CURRENT").write_text(f"ringforge-psi-store 1\n{store.state} {checksum}\n")
    with pytest.raises(FormatError, match="manifest"):
        Store(tmp_path / "t")
