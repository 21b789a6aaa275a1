# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Files of ciphertexts say what they are, and readers hold them to it; those of the first release still open."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest

from ringforge import _native, matmul, matvec
from ringforge._native import Parameters
from ringforge.cli import main
from ringforge.errors import FormatError, MismatchError, ParameterError, UnidentifiedWarning
from ringforge.params import named
from tests.answers import parted, printed

OLD = Path(__file__).parent / "old_files" / "3d84ca5"
REASON = {"accept_insecure": "tests"}
RNG = np.random.default_rng(7)


def tiny() -> Parameters:
    p = named("matmul-a", "tests")
    return Parameters("tiny", 10, p.q, p.p, 1, p.log_scale, "tests")


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Square operands, which nothing but the label tells apart, and their product; a program that is another."""
    root = tmp_path_factory.mktemp("room")
    program = matmul.trace(tiny(), lambda A, B: A @ B, A=(3, 3), B=(3, 3))
    other = matmul.trace(tiny(), lambda A, B: A @ B, A=matmul.Input(shape=(3, 3), bound=2), B=(3, 3))
    holder = matmul.KeyHolder(program, **REASON)
    program.save(root / "p.json")
    other.save(root / "q.json")
    holder.save_secret_key(root / "s.key")
    holder.save_evaluation_keys(root / "e.keys")
    parcels = [holder.encrypt(name, RNG.uniform(-1, 1, (3, 3))) for name in "AB"]
    for parcel in parcels:
        parcel.save(root / f"{parcel.name}.ct", program)
    outputs, _ = matmul.Server(program, holder.evaluation_keys()).run(parcels)
    outputs["result"].save(root / "C.ct", program)
    return root


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("multiply --program p.json --keys e.keys --in A=B.ct --in B=A.ct --out x.ct", "are input B, where input A is"),
        ("multiply --program q.json --keys e.keys --in A=A.ct --in B=B.ct --out x.ct", "belong to another program"),
        (
            "multiply --program p.json --keys e.keys --in A=A.ct --in B=C.ct --out x.ct",
            "are output result, where input",
        ),
        (
            "decrypt --program p.json --secret s.key --in A.ct --out x.npy --accept-insecure t",
            "are input A, where output",
        ),
        ("decrypt --program q.json --secret s.key --in C.ct --out x.npy --accept-insecure t", "to another program"),
    ],
)
def test_mix_ups_of_files_are_refused(
    room: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: str, message: str
) -> None:
    monkeypatch.chdir(room)
    assert main(["matmul", *words.split()]) == 1
    assert message in capsys.readouterr().err
    assert not Path("x.ct").exists()
    assert not Path("x.npy").exists()


def test_mix_ups_in_memory_are_refused(room: Path) -> None:
    program, other = matmul.Program.load(room / "p.json"), matmul.Program.load(room / "q.json")
    holder = matmul.KeyHolder.load(program, room / "s.key", **REASON)
    result = matmul.Parcel.load(room / "C.ct", program, "result")
    with pytest.raises(MismatchError, match="another program"):
        matmul.KeyHolder.load(other, room / "s.key", **REASON).decrypt(result)
    with pytest.raises(ParameterError, match="A is no output of the program"):
        holder.decrypt(matmul.Parcel.load(room / "A.ct", program, "A"))


def test_info_shows_the_label(room: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(room / "B.ct")]) == 0
    text = printed(capsys)
    for part in ("input B", "3 x 3", matmul.Program.load(room / "p.json").digest[:16], "CKKS ciphertext"):
        assert part in text


def test_every_damage_of_a_label_is_seen(room: Path, tmp_path: Path) -> None:
    program = matmul.Program.load(room / "p.json")
    good, path = (room / "A.ct").read_bytes(), tmp_path / "a.ct"
    size = _native.io.peek(good).bytes
    for place in range(size):
        path.write_bytes(good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :])
        with pytest.raises(FormatError):
            matmul.Parcel.load(path, program, "A")
    for end in (3, 9, 40, size - 1):
        path.write_bytes(good[:end])
        with pytest.raises(FormatError):
            matmul.Parcel.load(path, program, "A")
    path.write_bytes(good[:size] + 2 * good[size:])
    with pytest.raises(FormatError, match="2 ciphertexts, where the label says 1"):
        matmul.Parcel.load(path, program, "A")


@pytest.mark.parametrize(
    "text",
    [
        b"{}",
        b"[1]",
        b"\xff",
        b'{"a":' * 900,
        b'{"program":"' + b"0" * 64 + b'","role":"key","name":"A","shape":[3],"ciphertexts":1}',
    ],
)
def test_labels_of_strangers(tmp_path: Path, room: Path, text: bytes) -> None:
    path = tmp_path / "x.ct"
    path.write_bytes(_native.io.seal(_native.io.LABEL, bytes(32), text))
    with pytest.raises(FormatError, match="label"):
        matmul.Parcel.load(path, matmul.Program.load(room / "p.json"), "A")


@pytest.mark.parametrize("backend", ["ckks", "clear"])
def test_padding_is_no_prediction(tmp_path: Path, backend: str) -> None:
    """A batch of 8 with 11 vectors has five empty places, which do not come out as vectors."""
    model = matvec.Linear(RNG.uniform(-1, 1, (3, 4)), RNG.uniform(1, 2, 3))
    program = matvec.compile_model(model, tiny(), batch=8, backend=backend).program
    client = matvec.Client(program, **REASON)
    x = RNG.uniform(-1, 1, (11, 4))
    client.encrypt(x).save(tmp_path / "x.ct", program)
    server = matvec.Server(model, program, client.evaluation_keys())
    server.evaluate(matvec.EncryptedVectors.load(tmp_path / "x.ct", program))[0].save(tmp_path / "y.ct", program)
    result = matvec.EncryptedVectors.load(tmp_path / "y.ct", program, "output")
    got = client.decrypt(result)
    assert got.shape == (11, 3)
    assert np.abs(got - model(x)).max() < 1e-3
    assert client.decrypt(result, 2).shape == (2, 3)
    for count in (0, 12):
        with pytest.raises(ParameterError, match="has 1 to 11 vectors"):
            client.decrypt(result, count)
    with pytest.raises(MismatchError, match="are input x, where output y is needed"):
        matvec.EncryptedVectors.load(tmp_path / "x.ct", program, "output")
    wider = matvec.compile_model(model, tiny(), batch=8, input_bound=2, backend=backend).program
    with pytest.raises(MismatchError, match="another program"):
        matvec.EncryptedVectors.load(tmp_path / "x.ct", wider)
    with pytest.raises(MismatchError, match="are inputs of the program"):
        client.decrypt(client.encrypt(x))


def test_matvec_files_of_the_first_release_open_as_unidentified() -> None:
    data = np.load(OLD / "matvec.npz")
    program = matvec.Program.load(OLD / "matvec.json")
    client = matvec.Client.load(program, OLD / "matvec.secret", **REASON)
    with pytest.warns(UnidentifiedWarning, match=r"matvec.output does not say what it holds"):
        result = matvec.EncryptedVectors.load(OLD / "matvec.output", program, "output")
    with pytest.raises(ParameterError, match="does not say how many of its 8 places"):
        client.decrypt(result)
    exact = data["x"] @ data["w"].T + data["b"]
    assert np.abs(client.decrypt(result, 3) - exact).max() <= client.error_bound(result) < 1e-3
    with pytest.raises(ParameterError, match="planned again"):
        client.decrypt(result, 3, share_bits=4)
    model = matvec.Linear(data["w"], data["b"])
    with pytest.warns(UnidentifiedWarning):
        inputs = matvec.EncryptedVectors.load(OLD / "matvec.input", program)
    again, _ = matvec.Server(model, program, client.evaluation_keys()).evaluate(inputs)
    assert np.abs(client.decrypt(again, 3) - exact).max() < 1e-3


def test_matmul_files_of_the_first_release_open_as_unidentified(tmp_path: Path) -> None:
    data = np.load(OLD / "matmul.npz")
    program = matmul.Program.load(OLD / "matmul.json")
    holder = matmul.KeyHolder.load(program, OLD / "matmul.secret", **REASON)
    with pytest.warns(UnidentifiedWarning, match=r"matmul.output does not say what it holds"):
        result = matmul.Parcel.load(OLD / "matmul.output", program, "result")
    assert np.abs(holder.decrypt(result) - data["a"] @ data["b"]).max() <= holder.error_bound("result")
    with pytest.warns(UnidentifiedWarning):
        matmul.Parcel.load(OLD / "matmul.input", program, "A").save(tmp_path / "a.ct", program)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert matmul.Parcel.load(tmp_path / "a.ct", program, "A").program == program.digest


def test_the_command_line_warns_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("matmul.json", "matmul.secret", "matmul.output"):
        shutil.copy(OLD / name, tmp_path / name)
    words = [
        f"--program={tmp_path}/matmul.json",
        f"--secret={tmp_path}/matmul.secret",
        f"--in={tmp_path}/matmul.output",
    ]
    assert main(["matmul", "decrypt", *words, f"--out={tmp_path}/c.npy", "--accept-insecure=tests"]) == 0
    errors = parted(*capsys.readouterr())[1].splitlines()
    assert [line.startswith("warning: matmul.output does not say") for line in errors] == [True]
