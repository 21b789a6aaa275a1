# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What can be saved has one form of bytes: in files, open files, memory and pickles; all else is refused."""

from __future__ import annotations

import contextlib
import copy
import importlib
import inspect
import io
import pickle
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ringforge as rf
from ringforge import bfv, gates, matmul, matvec, parties
from ringforge.errors import FormatError, MismatchError, ParameterError
from tests import portable
from tests.portable import NAMES, WHY, Case, case


@pytest.fixture(params=NAMES)
def one(request: pytest.FixtureRequest) -> Case:
    return case(request.param)


#: Bytes of what takes long to read, which is read less often.
_LARGE = 1 << 20


class _Slow(io.RawIOBase):
    """A file that takes and gives a few bytes at a time, and knows no place, as sockets do."""

    def __init__(self, data: bytes = b"") -> None:
        super().__init__()
        self.data = bytearray(data)

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        piece = bytes(self.data[: min(size, 1 << 16)])
        del self.data[: len(piece)]
        return piece

    def write(self, data: Any) -> int:
        piece = bytes(data)[: 1 << 16]
        self.data += piece
        return len(piece)


# ---- the forms -----------------------------------------------------------------------------------


def test_bytes_are_what_files_hold_and_come_back(one: Case, tmp_path: Path) -> None:
    data = one.bytes()
    path, memory, slow = tmp_path / "a.file", io.BytesIO(), _Slow()
    for target in (path, memory, slow):
        one.save(target)
    assert path.read_bytes() == memory.getvalue() == bytes(slow.data) == data
    memory.seek(0)
    with path.open("rb") as f:
        for source in (path, slow) if len(data) > _LARGE else (path, str(path), f, memory, slow):
            found = one.load(source)
            assert type(found) is type(one.thing)
            assert one.bytes(found) == data
    for kind in (memoryview,) if len(data) > _LARGE else (bytes, bytearray, memoryview):
        assert one.bytes(one.read(kind(data))) == data


def test_pickles_have_it_or_say_how(one: Case) -> None:
    for protocol in (5,) if len(one.bytes()) > _LARGE else (2, 3, 4, 5):
        if one.pickled:
            found = pickle.loads(pickle.dumps(one.thing, protocol))
            assert one.bytes(found) == one.bytes()
        else:
            with pytest.raises(TypeError, match=r"to_bytes\(.*from_bytes\(data"):
                pickle.dumps(one.thing, protocol)


def test_copies_are_as_the_original(one: Case) -> None:
    for made in (copy.copy(one.thing), copy.deepcopy(one.thing), copy.deepcopy([one.thing])[0]):
        assert one.bytes(made) == one.bytes()


@pytest.mark.parametrize("name", ["ckks", "bfv", "bgv"])
def test_copies_of_what_changes_are_apart(name: str) -> None:
    keys = portable.sessions()[name].galois_keys
    made, element = copy.deepcopy(keys), keys.elements[0]
    made.erase(element)
    assert element in keys
    assert element not in made
    vectors = case("matvec inputs").thing
    copy.deepcopy(vectors).groups[0].clear()
    assert vectors.groups[0]


def test_parameters_and_contexts_are_pickled() -> None:
    for name, s in portable.sessions().items():
        for thing in (s.params, s.context):
            found = pickle.loads(pickle.dumps(thing))
            assert getattr(found, "params", found).hash == s.params.hash
            assert copy.deepcopy(thing) is thing
        assert type(s.encrypt([1])).from_bytes(s.encrypt([1]).to_bytes(s), found) is not None, name
    contexts = bfv.Context(portable.sessions()["bfv"].params, 128)
    assert pickle.loads(pickle.dumps(contexts)).rules.security == 128
    _, key, _ = portable.gate_keys()
    assert pickle.loads(pickle.dumps(key.params)).hash == key.params.hash
    assert pickle.loads(pickle.dumps(portable.sessions()["bgv"].slots)).index == portable.sessions()["bgv"].slots.index


# ---- what is no such form ------------------------------------------------------------------------


def test_changed_bytes_are_refused(one: Case) -> None:
    """A byte that is changed, bytes that are missing or that follow: an error of ours, or where nothing is checked a
    sound object."""
    data = one.bytes()

    @given(st.data())
    @settings(max_examples=8)
    def changed(draw: st.DataObject) -> None:
        where = draw.draw(st.integers(0, len(data) - 1))
        flipped = bytearray(data)
        flipped[where] ^= draw.draw(st.integers(1, 255))
        for bad in (bytes(flipped), data[:where]):
            with contextlib.suppress(rf.Error):
                found = one.bytes(one.read(bad))
                assert not one.checked or bad == b"" or found == data, "a change was not found"

    changed()
    with pytest.raises(rf.Error):
        one.read(data + b"\0and more")
    with pytest.raises(rf.Error):
        one.read(b"\0" * 64)


def test_what_is_no_bytes_and_no_file_is_refused(one: Case, tmp_path: Path) -> None:
    for wrong in ("text", None, 3, [b"a"], np.zeros(4, np.uint8)):
        with pytest.raises(ParameterError, match="is no bytes: from_bytes"):
            one.read(wrong)
    closed = io.BytesIO()
    closed.close()
    (tmp_path / "t").write_bytes(b"")
    with (tmp_path / "t").open("r") as text, (tmp_path / "t").open("rb") as only_read:
        for wrong in (None, 3, b"bytes", closed, io.StringIO(), text):
            for use in (one.load, one.save):
                with pytest.raises(ParameterError, match=r"file|from_bytes"):
                    use(wrong)
        with pytest.raises(ParameterError, match="cannot be written"):
            one.save(only_read)


def test_messages_name_the_file() -> None:
    """Of what was read: an open file by its name, bytes as data."""
    for name, shown in ((None, "the data"), ("/home/me/p.json", "p.json")):
        f = io.BytesIO(b"{}")
        if name:
            f.name = name  # type: ignore[attr-defined]
        with pytest.raises(FormatError, match=f"^{shown} is not a program"):
            matvec.Program.load(f)


def test_a_file_that_is_read_already_says_so(one: Case) -> None:
    memory = io.BytesIO()
    one.save(memory)
    with pytest.raises(FormatError, match=rf"read to its end already, byte {memory.tell()}: f\.seek\(0\)"):
        one.load(memory)


def test_too_much_is_refused_before_it_is_read() -> None:
    class Endless(_Slow):
        def read(self, size: int = -1) -> bytes:
            self.data += b"1"
            assert len(self.data) < 1000, "it goes on reading"
            return b"{" * min(size, 1 << 16)

    for load in (matvec.Program.load, matmul.Program.load, matvec.Rule.load):
        with pytest.raises(FormatError, match="has more than 4194304 bytes"):
            load(Endless())


def test_other_parameters_keys_and_kinds_are_refused() -> None:
    s, other = portable.session(), matmul.Session("matmul-a-128")
    data = case("matmul matrix").bytes()
    with pytest.raises(MismatchError, match="of other parameters"):
        other.from_bytes(data)
    with pytest.raises(MismatchError, match=r"under another key.*secret_key="):
        matmul.Session(s.params).from_bytes(data)
    with pytest.raises(FormatError, match="does not begin with the label of a matrix"):
        s.from_bytes(case("ckks ciphertext").bytes())
    with pytest.raises(FormatError, match="is no matrix of a session"):
        s.from_bytes(case("matmul parcel").bytes())
    sessions = portable.sessions()
    for mine, of in (("ckks", "bfv"), ("bfv", "bgv"), ("bgv", "ltv"), ("ltv", "ckks")):
        thing = case(f"{mine} ciphertext").thing
        with pytest.raises(MismatchError, match="has no context of"):
            thing.to_bytes(sessions[of])
        with pytest.raises(MismatchError, match="has no context of"):
            type(thing).from_bytes(case(f"{mine} ciphertext").bytes(), sessions[of])
        with pytest.raises(ParameterError, match="needs the context"):
            thing.to_bytes(3)
    keys = case("ckks Galois keys").bytes()
    with pytest.raises(FormatError, match="comes twice"):
        rf.ckks.GaloisKeys.from_bytes(keys + keys, sessions["ckks"])
    again = rf.ckks.Session(sessions["ckks"].params)
    again.add_rotation_keys([4])
    with pytest.raises(MismatchError, match="different secret keys"):
        rf.ckks.GaloisKeys.from_bytes(keys + again.galois_keys.to_bytes(again), again)


def test_what_was_put_together_by_hand_says_so() -> None:
    vectors, keys = case("matvec inputs").thing, case("matvec keys").thing
    program = case("matvec program").thing
    bare = matvec.EncryptedVectors(vectors.groups, 1)
    with pytest.raises(ParameterError, match=r"save\(path, program\)"):
        bare.to_bytes()
    assert matvec.EncryptedVectors.from_bytes(bare.to_bytes(program), program).count == 1
    with pytest.raises(TypeError, match=r"to_bytes\(program\)"):
        pickle.dumps(bare)
    with pytest.raises(ParameterError, match="put together by hand"):
        matvec.EvaluationKeys(keys.galois, keys.relin).to_bytes()
    with pytest.raises(TypeError, match="put together by hand"):
        pickle.dumps(matvec.EvaluationKeys(keys.galois, keys.relin))


# ---- use -----------------------------------------------------------------------------------------


def test_results_decrypt_after_pickles() -> None:
    model, program, client = portable.vectors()
    keys, x = client.evaluation_keys(), [0.1, 0.2, 0.3]
    far = pickle.loads(pickle.dumps((program, keys, client.encrypt(x))))
    assert far[0] == program
    assert far[0].digest == program.digest
    result, _ = matvec.Server(model, *far[:2]).evaluate(far[2])
    for got in (result, pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):
        np.testing.assert_allclose(client.decrypt(got)[0], model(np.array(x)), atol=1e-3)


def test_the_clear_backend_has_the_same_forms() -> None:
    model, _, _ = portable.vectors()
    program = matvec.compile_model(model, portable.tiny(), backend="clear").program
    client = matvec.Client(program, accept_insecure=WHY)
    far = pickle.loads(pickle.dumps((program, client.evaluation_keys(), client.encrypt(np.eye(3)))))
    result, _ = matvec.Server(model, *far[:2]).evaluate(far[2])
    found = matvec.EncryptedVectors.from_bytes(result.to_bytes(), program, "output")
    np.testing.assert_allclose(client.decrypt(found), model(np.eye(3)), atol=1e-12)


def test_matrices_of_a_session_come_back_as_they_were() -> None:
    s = portable.session()
    x = np.linspace(-1, 1, 15).reshape(5, 3)
    a = s.encrypt(x)
    wide = s.encrypt(np.linspace(0, 1, 400).reshape(4, 100), tile=(4, 16))
    for m, exact in (
        (a, x),
        (a.T, x.T),
        (a @ a.T, x @ x.T),
        (a.sum(0), x.sum(0)),
        (a.sum(), x.sum()),
        (a[1:3, 0], x[1:3, 0]),
    ):
        found = s.from_bytes(m.to_bytes())
        assert (found.shape, found.level, found.ndim) == (m.shape, m.level, m.ndim)
        assert found.error_bound == pytest.approx(m.error_bound, rel=1e-3)
        np.testing.assert_allclose(found.decrypt(), exact, atol=1e-4)
        np.testing.assert_allclose((found * 2).decrypt(), 2 * exact, atol=1e-4)
    np.testing.assert_array_equal(s.from_bytes(wide.to_bytes()).decrypt(), wide.decrypt())
    product = s.from_bytes(a.to_bytes()) @ s.from_bytes(a.T.to_bytes())
    np.testing.assert_allclose(product.decrypt(), x @ x.T, atol=1e-4)
    assert copy.deepcopy(a) is a


def test_a_session_begins_with_a_saved_key(tmp_path: Path) -> None:
    s = portable.session()
    s.save_secret_key(tmp_path / "key")
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    elsewhere = matmul.Session(s.params, secret_key=tmp_path / "key")
    a = case("matmul matrix")
    np.testing.assert_allclose(elsewhere.from_bytes(a.bytes()).decrypt(), a.thing.decrypt(), atol=1e-6)


def test_estimators_are_pickled_without_their_keys() -> None:
    rule = matvec.Rule.of(kind="values", inputs=3, outputs=2)
    model, _, _ = portable.vectors()
    made = matvec.EncryptedRegressor(matvec.Sequential([model]), rule)
    rows = np.eye(3)
    for change in (lambda e: e, lambda e: e.prepare("set-b", batch=4)):
        change(made)
        for found in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made), copy.copy(made)):
            assert "_session" not in made.__getstate__()
            assert found._session is None
            np.testing.assert_allclose(found.predict(rows), model(rows), atol=1e-3)
            if made._session is not None:
                assert found._session[0].client.program == made._session[0].client.program


def test_models_are_saved_to_open_files_and_read_from_them() -> None:
    model, _, _ = portable.vectors()
    made = matvec.EncryptedRegressor(matvec.Sequential([model]), matvec.Rule.of(kind="values", inputs=3, outputs=2))
    for thing, load in ((model, matvec.load_model), (made, matvec.load_estimator)):
        memory = io.BytesIO()
        matvec.save_model(thing, memory)
        for source in (io.BytesIO(memory.getvalue()), _Slow(memory.getvalue())):
            found = load(source)
            layers = found.model if isinstance(found, matvec.EncryptedRegressor) else found
            np.testing.assert_array_equal(layers(np.eye(3)), model(np.eye(3)))
    with pytest.raises(rf.Error):
        matvec.load_model(io.BytesIO(b"no model"))
    with pytest.raises(ParameterError, match="text file"):
        matvec.save_model(model, io.StringIO())  # type: ignore[arg-type]


def test_what_is_bound_to_an_evaluator_comes_without_it() -> None:
    secret, _, evaluator = portable.gate_keys()
    bits = evaluator.bind(gates.encrypt(secret, [1, 0]))
    found = pickle.loads(pickle.dumps(bits))
    with pytest.raises(ParameterError, match="bound to no evaluator"):
        found & found
    assert gates.decrypt(secret, evaluator.bind(found) & bits).tolist() == [1, 0]
    assert gates.decrypt(secret, copy.deepcopy(bits) & bits).tolist() == [1, 0]
    assert gates.decrypt(secret, gates.Bits.from_bytes(bits.to_bytes(), evaluator) & bits).tolist() == [1, 0]


def test_workers_of_joblib_get_public_objects() -> None:
    model, program, client = portable.vectors()

    def evaluated(model: matvec.Linear, program: matvec.Program, keys: Any, x: Any) -> Any:
        return matvec.Server(model, program, keys).evaluate(x)[0]

    inputs = [client.encrypt(row) for row in np.eye(3)[:2]]
    keys = client.evaluation_keys()
    work = (joblib.delayed(evaluated)(model, program, keys, x) for x in inputs)
    results = joblib.Parallel(n_jobs=2, backend="loky")(work)
    for row, result in zip(np.eye(3), results, strict=False):
        np.testing.assert_allclose(client.decrypt(result)[0], model(row), atol=1e-3)


# ---- secrets, and what is made anew --------------------------------------------------------------


def test_secrets_go_to_new_files_by_name_only(tmp_path: Path) -> None:
    _, _, client = portable.vectors()
    s = portable.sessions()
    for save in (
        client.save_secret_key,
        portable.matrices()[1].save_secret_key,
        portable.session().save_secret_key,
        *(lambda f, x=x: parties.save_secret_key(f, x.context, x.secret_key) for x in s.values()),
    ):
        with pytest.raises(ParameterError, match="a new file that only its owner can read"):
            save(io.BytesIO())  # type: ignore[arg-type]
    for name, x in s.items():
        assert "save_secret_key(path, session.context, session.secret_key)" in x.saved_by
        parties.save_secret_key(tmp_path / name, x.context, x.secret_key)
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
        key = parties.load_secret_key(tmp_path / name, x.context)
        assert key.id == x.secret_key.id
        for form in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match=r"parties\.save_secret_key\(path, .*\)` writes it"):
                form(key)
            with pytest.raises(TypeError, match=r"`ringforge\.parties\.save_secret_key\(.*load_secret_key"):
                form(x)
        assert not hasattr(key, "to_bytes")
    assert not any(hasattr(x, "to_bytes") for x in (client, portable.session(), portable.receiver()))


def test_what_is_made_anew_says_of_what() -> None:
    model, program, client = portable.vectors()
    _, _, evaluator = portable.gate_keys()
    matrices, holder = portable.matrices()
    for thing, told in (
        (matvec.Server(model, program, client.evaluation_keys()), r"Server\(model, program, keys\)"),
        (matmul.Server(matrices, holder.evaluation_keys()), r"Server\(program, keys\)"),
        (evaluator, r"Evaluator\(key\)"),
        (portable.sessions()["ckks"].evaluator, "to_bytes and from_bytes"),
        (matvec.compile_model(model, portable.tiny()), "its `program` is"),
    ):
        for form in (pickle.dumps, copy.deepcopy):
            with pytest.raises(TypeError, match=f"neither copied nor pickled: .*{told}"):
                form(thing)


# ---- documents -----------------------------------------------------------------------------------


def test_the_table_of_types_is_current() -> None:
    """Made anew by `python -m tests.portable` in the folder python."""
    text = (Path(__file__).parents[2] / "docs" / "bytes.md").read_text(encoding="utf-8")
    assert portable.table() in text


def _saveable() -> set[type]:
    """Return the public types that have `to_bytes`."""
    found = set()
    for system in ("aes.transcipher", "bfv", "bgv", "ckks", "gates", "ltv", "matmul", "matvec", "omr", "psi"):
        for value in vars(importlib.import_module(f"ringforge.{system}")).values():
            ours = inspect.isclass(value) and value.__module__.startswith("ringforge")
            if (
                ours
                and not issubclass(value, int)
                and hasattr(value, "to_bytes")
                and not getattr(value, "_is_protocol", False)
            ):
                found.add(value)
    return found


def test_every_type_with_bytes_is_in_the_table() -> None:
    covered = {type(case(name).thing) for name in NAMES}
    missing = {k.__qualname__ for k in _saveable() if not any(issubclass(c, k) or issubclass(k, c) for c in covered)}
    assert not missing, "give them a case in portable.py"
