# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Key holder, contributors and server with files between them; nothing the server has contains the secret key."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ringforge as rf
from ringforge import _native, matmul, params
from ringforge.errors import (
    FormatError,
    LevelError,
    MismatchError,
    MissingKeyError,
    ParameterError,
    ShapeError,
)
from ringforge.matmul.service import Connection
from tests.matmul.test_matrix import small, uniform
from tests.matvec.test_secrecy import Search, small_search, writable_memory

REASON = {"accept_insecure": "tests"}


@pytest.fixture(scope="module")
def program() -> matmul.Program:
    return matmul.trace(small(), lambda A, B: A @ B - 1.5 * np.ones((4, 3)), A=(4, 5), B=(5, 3))


@pytest.fixture(scope="module")
def rooms(program: matmul.Program, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders of the parties after one exchange; each reads only what is in its own."""
    root = tmp_path_factory.mktemp("rooms")
    for name in ("holder", "contributor", "server"):
        (root / name).mkdir()
        program.save(root / name / "program.json")

    def load(name: str) -> matmul.Program:
        return matmul.Program.load(root / name / "program.json")

    holder = matmul.KeyHolder(load("holder"), **REASON)
    holder.save_secret_key(root / "holder" / "secret.key")
    holder.save_public_key(root / "contributor" / "public.key")
    holder.save_evaluation_keys(root / "server" / "eval.keys")
    holder.encrypt("A", uniform(4, 5)).save(root / "server" / "A.ct", program)

    contributor = matmul.Contributor.load(load("contributor"), root / "contributor" / "public.key", **REASON)
    contributor.encrypt("B", uniform(5, 3)).save(root / "server" / "B.ct", program)

    mine = load("server")
    server = matmul.Server(mine, matmul.EvaluationKeys.load(root / "server" / "eval.keys", mine))
    inputs = [matmul.Parcel.load(root / "server" / f"{x}.ct", mine, x) for x in "AB"]
    outputs, report = server.run(inputs)
    assert report.operations["key_switch"] > 0
    outputs["result"].save(root / "server" / "result.ct", mine)
    return root


def test_the_key_holder_reads_the_result(program: matmul.Program, rooms: Path) -> None:
    holder = matmul.KeyHolder.load(program, rooms / "holder" / "secret.key", **REASON)
    result = matmul.Parcel.load(rooms / "server" / "result.ct", program, "result")
    error = np.abs(holder.decrypt(result) - (uniform(4, 5) @ uniform(5, 3) - 1.5)).max()
    assert error <= holder.error_bound("result") < 1e-2


def test_secret_files_are_their_owners(rooms: Path) -> None:
    assert stat.S_IMODE((rooms / "holder" / "secret.key").stat().st_mode) == 0o600


def test_no_secret_outside_of_the_key_holders_room(program: matmul.Program, rooms: Path) -> None:
    """The search finds the key in its own file, whole and planted, and nowhere else."""
    key = _native.io.Reader(str(rooms / "holder" / "secret.key")).secret_key(program.context)
    p = program.context.params
    search = Search(np.asarray(key.coefficients()), [*p.q, *p.p])
    assert "2 bits of s + 1" in search((rooms / "holder" / "secret.key").read_bytes())
    names = []
    for path in sorted((*(rooms / "server").iterdir(), *(rooms / "contributor").iterdir())):
        names.append(path.name)
        assert search(path.read_bytes()) == set(), path
        assert search(path.read_bytes() + search.whole["2 bits of s + 1"]), path
    assert names == ["program.json", "public.key", "A.ct", "B.ct", "eval.keys", "program.json", "result.ct"]


def test_a_server_process_has_no_secret_in_memory(program: matmul.Program, rooms: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(os.path.abspath(p) for p in sys.path if p)}
    words = ["--program", str(rooms / "server" / "program.json"), "--folder", str(tmp_path)]
    process = subprocess.Popen(
        [sys.executable, "-m", "ringforge.matmul.service", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
    )
    try:
        assert process.stdout is not None
        connection = Connection(json.loads(process.stdout.readline())["port"])
        connection.send_keys(rooms / "server" / "eval.keys")
        for name in "AB":
            connection.send_input(name, rooms / "server" / f"{name}.ct")
        connection.run()
        try:
            memory = writable_memory(process.pid)
        except PermissionError:
            pytest.skip("this system does not let tests read the memory of processes they start")
        connection.close()
    finally:
        process.communicate()
    assert len(memory) > 1 << 20
    p = program.context.params
    key = _native.io.Reader(str(rooms / "holder" / "secret.key")).secret_key(program.context)
    windows = small_search(np.asarray(key.coefficients()), [*p.q, *p.p])
    assert not any(w in memory for w in windows)
    # (test_secrecy.py shows that the same search finds the key in a process that has it.)


def test_contributors_and_servers_cannot_decrypt(program: matmul.Program) -> None:
    for role in (matmul.Contributor, matmul.Server, matmul.Parcel, matmul.EvaluationKeys):
        assert not any("decrypt" in name or "secret" in name for name in dir(role)), role
    holder = matmul.KeyHolder(program, **REASON)
    server = matmul.Server(program, holder.evaluation_keys())
    with pytest.raises(ParameterError, match="give the result to the key holder"):
        server.machine.decrypt(program.traced.results["result"])


def test_errors_and_reports_hold_no_entries(program: matmul.Program) -> None:
    holder = matmul.KeyHolder(program, **REASON)
    with pytest.raises(rf.ValueError) as e:
        holder.encrypt("A", np.full((4, 5), 3.14159))
    assert "3.14" not in str(e.value)


def test_wrong_inputs(program: matmul.Program, rooms: Path) -> None:
    holder = matmul.KeyHolder(program, **REASON)
    server = matmul.Server(program, holder.evaluation_keys())
    a, b = holder.encrypt("A", uniform(4, 5)), holder.encrypt("B", uniform(5, 3))
    stranger = matmul.KeyHolder(program, **REASON).encrypt("B", uniform(5, 3))
    other = matmul.trace(small(), lambda A, B: A @ B, level=4, A=(4, 5), B=(5, 3))
    higher = matmul.KeyHolder(other, **REASON).encrypt("A", uniform(4, 5))
    foreign = matmul.trace(params.named("set-b"), lambda A: A.T, A=(3, 4))
    for error, make, message in [
        (ParameterError, lambda: server.run([a]), "input B is missing"),
        (ParameterError, lambda: server.run([a, matmul.Parcel("C", b.ciphertexts)]), 'no input "C"; it has A, B'),
        (ParameterError, lambda: server.run([a], {"B": uniform(5, 3)}), "must come encrypted"),
        (MismatchError, lambda: server.run([a, stranger]), "under another key than the evaluation keys"),
        (FormatError, lambda: server.run([matmul.Parcel("A", []), b]), "has 0 ciphertexts, the program says 1"),
        (MismatchError, lambda: server.run([higher, b]), "was encrypted for another program"),
        (LevelError, lambda: server.run([matmul.Parcel("A", higher.ciphertexts), b]), "must have level"),
        (ShapeError, lambda: holder.encrypt("A", uniform(5, 4)), r"has shape \(4, 5\), this array \(5, 4\)"),
        (ParameterError, lambda: holder.encrypt("Q", uniform(5, 4)), 'no input "Q"'),
        (MismatchError, lambda: matmul.Parcel.load(rooms / "server" / "A.ct", foreign, "A"), "another program"),
        (MismatchError, lambda: matmul.EvaluationKeys.load(rooms / "server" / "eval.keys", foreign), "parameters"),
        (MismatchError, lambda: matmul.KeyHolder.load(foreign, rooms / "holder" / "secret.key"), "parameters"),
        (FormatError, lambda: matmul.Parcel.load(rooms / "server" / "eval.keys", program, "A"), "."),
        (FormatError, lambda: matmul.KeyHolder.load(program, rooms / "contributor" / "public.key", **REASON), "."),
    ]:
        with pytest.raises(error, match=message):
            make()


def test_declared_bounds_are_held_against_the_program(program: matmul.Program) -> None:
    wide = matmul.trace(small(), lambda A, B: A @ B, A=matmul.Input(shape=(4, 5), bound=2), B=(5, 3))
    holder = matmul.KeyHolder(program, **REASON)
    key = holder._secret
    made = matmul.KeyHolder(wide, key, **REASON).encrypt("A", uniform(4, 5))
    parcel = matmul.Parcel("A", made.ciphertexts)
    level = program.input("A").level
    if parcel.ciphertexts[0].level == level:
        with pytest.raises(rf.ValueError, match="declares entries up to 2, the program up to 1"):
            matmul.Server(program, holder.evaluation_keys()).run([parcel, holder.encrypt("B", uniform(5, 3))])


def test_missing_keys_show_before_any_work(program: matmul.Program) -> None:
    holder = matmul.KeyHolder(program, **REASON)
    for element in list(program.key_levels)[:3]:
        keys = holder.evaluation_keys()
        keys.galois.erase(element)
        with pytest.raises(MissingKeyError, match=f"element {element} "):
            matmul.Server(program, keys)
    keys = holder.evaluation_keys()
    with pytest.raises(MissingKeyError, match="relinearisation"):
        matmul.Server(program, matmul.EvaluationKeys(keys.galois))
    assert keys.bytes > 0


def test_plain_inputs_are_the_servers() -> None:
    plain = matmul.Input(shape=(3, 2), plain=True, bound=2)
    program = matmul.trace(small(), lambda A, P: A @ P, A=(4, 3), P=plain)
    holder = matmul.KeyHolder(program, **REASON)
    server = matmul.Server(program, holder.evaluation_keys())
    a, p = uniform(4, 3), 2 * uniform(3, 2)
    p[0] = 0  # zeros need no other keys
    outputs, _ = server.run([holder.encrypt("A", a)], {"P": p})
    assert np.abs(holder.decrypt(outputs["result"]) - a @ p).max() < 1e-5
    with pytest.raises(ParameterError, match="is plain"):
        holder.encrypt("P", p)
    for values, error in ((3 * p, rf.ValueError), (p.T, ShapeError)):
        with pytest.raises(error):
            server.run([holder.encrypt("A", a)], {"P": values})


def test_insecure_programs_need_a_reason(program: matmul.Program) -> None:
    with pytest.raises(ParameterError, match="less than 128 bits"):
        matmul.KeyHolder(program)
    public = matmul.KeyHolder(program, **REASON).public_key()
    with pytest.raises(ParameterError, match="less than 128 bits"):
        matmul.Contributor(program, public)


def test_progress_ends_at_one(program: matmul.Program) -> None:
    holder = matmul.KeyHolder(program, **REASON)
    seen: list[float] = []
    keys = holder.evaluation_keys(progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1
    seen.clear()
    inputs = [holder.encrypt("A", uniform(4, 5)), holder.encrypt("B", uniform(5, 3))]
    matmul.Server(program, keys).run(inputs, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == pytest.approx(1)


def test_results_to_share() -> None:
    """With a scale large enough, the noise has the size it claims and leaves a result."""
    p = params.named("set-c")
    wide = rf._native.Parameters("wide", 12, p.q[:3], p.p, 1, 47.0, "tests")
    program = matmul.trace(wide, lambda A, p: A @ p, A=(4, 3), p=matmul.Input(shape=(3,), plain=True))
    holder = matmul.KeyHolder(program, **REASON)
    server = matmul.Server(program, holder.evaluation_keys())
    a, x = uniform(4, 3), uniform(3)
    outputs, _ = server.run([holder.encrypt("A", a)], {"p": x})
    shared = holder.decrypt_to_share(outputs["result"], 12)
    error = np.abs(shared.values - a @ x).max()
    assert error <= shared.error_bound
    assert error > 20 * np.abs(holder.decrypt(outputs["result"]) - a @ x).max()
    assert (shared.bits, shared.ciphertexts) == (12, 1)
    assert "12 bits over 1 ciphertext;" in str(shared)
    # Four times the answers, or two bits more, double the noise.
    assert holder.decrypt_to_share(outputs["result"], 12, answers=4).error_bound == pytest.approx(
        holder.decrypt_to_share(outputs["result"], 14).error_bound
    )
    with pytest.raises(LevelError, match="nothing would be left"):
        holder.decrypt_to_share(outputs["result"], 60)


def test_sharing_does_not_trust_what_a_file_says_of_its_error(tmp_path: Path) -> None:
    """A ciphertext from a file claims more error than the program predicts; the noise is that of the program."""
    p = params.named("set-c")
    wide = rf._native.Parameters("wide", 12, p.q[:3], p.p, 1, 47.0, "tests")
    program = matmul.trace(wide, lambda A: A @ np.ones(3), A=(4, 3))
    holder = matmul.KeyHolder(program, **REASON)
    server = matmul.Server(program, holder.evaluation_keys())
    contributor = matmul.Contributor(program, holder.public_key(), **REASON)
    contributor.encrypt("A", uniform(4, 3)).save(tmp_path / "a.ct", program)
    outputs, _ = server.run([matmul.Parcel.load(tmp_path / "a.ct", program, "A")])
    expected = program.traced.results["result"].tiles[0][0].value.variance
    assert outputs["result"].ciphertexts[0].variance > expected
    draws = [holder.decrypt_to_share(outputs["result"], 12) for _ in range(8)]
    spread = np.std([d.values for d in draws], axis=0).max()
    assert 0.02 < spread / draws[0].error_bound < 1
