# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Files that earlier states of the library wrote still open and hold what they held.

`old_files/COMMIT` has small ones of every kind that the library of that commit writes: 3d84ca5 is the first release,
a2e2c85 came before all files were records; of 5cd8074 there are encrypted integers. `cpp/tests/data` has their
evaluation keys of gates, which are small for parameters of C++ tests only.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from ringforge import _native, gates, matvec, psi
from ringforge._native import io
from ringforge.cli import main
from ringforge.gates import integers
from ringforge.serving.quota import Quota
from tests.answers import printed

OLD = Path(__file__).parent / "old_files"
COMMITS = ["3d84ca5", "a2e2c85"]
DATA = Path(__file__).parents[2] / "cpp" / "tests" / "data"
REASON = {"accept_insecure": "tests"}


#: That files do not say what they belong to is tested elsewhere.
pytestmark = pytest.mark.filterwarnings("ignore::ringforge.errors.UnidentifiedWarning")


def test_records_open_and_are_written_as_they_were() -> None:
    root = OLD / "3d84ca5" / "records"
    params = io.Reader(str(root / "parameters")).parameters()
    context = _native.Context(params)
    client = _native.Client(context)
    secret = io.secret_key_from_bytes((root / "secret_key").read_bytes(), context)
    exact = np.arange(512) % 7 - 3
    for name, load, power in (
        ("plaintext", io.plaintext_from_bytes, 0),
        ("ciphertext", io.ciphertext_from_bytes, 1),
        ("ciphertext of public key", io.ciphertext_from_bytes, 1),
        ("ciphertext of three parts", io.ciphertext_from_bytes, 2),
        ("secret_key", io.secret_key_from_bytes, None),
        ("public_key", io.public_key_from_bytes, None),
        ("relin_key", io.relin_key_from_bytes, None),
        ("galois_key", io.galois_key_from_bytes, None),
    ):
        data = (root / name).read_bytes()
        thing = load(data, context)
        assert io.to_bytes(context, thing) == data
        if power is not None:
            plain = client.decrypt(thing, secret) if power else thing
            assert np.abs(context.decode(plain).real - exact ** max(power, 1)).max() < 0.5


@pytest.mark.parametrize("commit", COMMITS)
@pytest.mark.parametrize("backend", ["ckks", "clear"])
def test_files_of_matvec(commit: str, backend: str) -> None:
    root = OLD / commit / f"matvec-{backend}"
    data = np.load(root / "data.npz")
    exact = data["x"] @ data["w"].T + data["b"]
    program = matvec.Program.load(root / "program.json")
    client = matvec.Client(program, **REASON)
    if backend == "ckks":
        client = matvec.Client.load(program, root / "secret", **REASON)
    keys = matvec.EvaluationKeys.load(root / "keys", program)
    inputs = matvec.EncryptedVectors.load(root / "input", program)
    again, _ = matvec.Server(matvec.Linear(data["w"], data["b"]), program, keys).evaluate(inputs)
    for result in (matvec.EncryptedVectors.load(root / "output", program, "output"), again):
        assert np.abs(client.decrypt(result, len(exact)) - exact).max() < 1e-3


@pytest.mark.parametrize("commit", COMMITS)
def test_files_of_gates(commit: str) -> None:
    root = OLD / commit / "gates"
    reason = "a test file"
    secret = gates.load_secret_key(root / "secret.key", reason)
    bits = gates.load_bits(root / "x.ct", secret)
    expected = {"a": [1, 0, 1], "b": [1, 1, 0]} if commit == "3d84ca5" else {"a": [1, 0, 1], "b": [0, 1]}
    assert {n: gates.decrypt(secret, b).tolist()[: len(expected[n])] for n, b in bits.items()} == expected


def test_bytes_of_integers() -> None:
    root = OLD / "5cd8074" / "integers"
    secret = gates.load_secret_key(root / "secret.key", "a test file")
    evaluator = gates.Evaluator(gates.make_evaluation_key(secret))
    for name, value in (("fresh", [[-3, 5]]), ("gate", [[-3, 1]]), ("sum", [[-1, 7]])):
        data = (root / f"{name}.ct").read_bytes()
        x = integers.from_bytes(data, evaluator)
        assert (x.dtype.name, x.to_bytes()) == ("int4", data)
        assert integers.decrypt(secret, x) == value
        # They are computed with: a sum is refreshed first.
        assert integers.decrypt(secret, x == x.reshape(2)) == [[True, True]]


@pytest.mark.parametrize("name", ["3d84ca5/psi-oprf", "3d84ca5/psi-direct", "a2e2c85/psi-oprf"])
def test_tables_of_psi(name: str, tmp_path: Path) -> None:
    shutil.copytree(OLD / name, tmp_path / "table")
    server = psi.Server(psi.Store(tmp_path / "table"))
    asked: list[bytes | int] = [9, 10] if server.info.mode == "direct" else [b"bob", b"dave"]
    client = psi.Client(server.info, asked)
    if server.info.mode == "oprf":
        client.finish_prf(server.evaluate_prf(client.blinded()))
    session = server.open(client.keys(), client.info.digest())
    while (request := client.next_request()) is not None:
        client.accept(server.answer(session, request))
    assert client.result().matches == ({9: b""} if server.info.mode == "direct" else {b"bob": b"22"})


def test_quotas_of_psi_count_on(tmp_path: Path) -> None:
    shutil.copy(OLD / "3d84ca5" / "quota", tmp_path / "quota")
    quota = Quota(tmp_path / "quota", {"prf": 100, "bins": 1000}, clock=lambda: 86400.0 * 20000)
    assert quota.left(quota.client("token")) == {"prf": 58, "bins": 1000}
    quota.close()


#: All but test data and what a table's manifest covers.
SHOWN = [
    p
    for p in [*sorted(OLD.rglob("*")), *sorted(DATA.glob("gate_key.*"))]
    if p.is_file() and p.suffix != ".npz" and p.name != "quota" and (p.name == "oprf.key" or "psi-" not in str(p))
]


@pytest.mark.parametrize("path", SHOWN, ids=lambda p: "/".join(p.parts[-3:]))
def test_info_shows_them(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(path)]) == 0, capsys.readouterr().err
    assert printed(capsys)
