# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Types that hold secrets refuse to be pickled and copied, and show nothing; found by what they hold, not by a list."""

from __future__ import annotations

import ast
import copy
import dataclasses
import importlib
import inspect
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import ringforge
from ringforge import _native, gates, matvec, params
from ringforge.aes.transcipher import StreamKey, TagKey
from ringforge.omr import sets
from ringforge.omr.keys import ReceiverSecret
from ringforge.omr.payload import BoxSecret
from ringforge.psi import oprf
from ringforge.secrecy import RawSecret, Secret
from ringforge.serving.access import Tokens
from ringforge.serving.quota import Quota

ROOT = Path(ringforge.__file__).parent

#: What assignments to attributes look like where a secret is kept.
_KEPT = re.compile(
    r"(?<!_)(?<![a-z])_?secret(_key)?\b(?!_bytes)|\bblinding\b|(Secret|Client|Stream|Tag|Server)Key\b"
    r"|\b(Box|Receiver|Signal|Compression)Secret\b|nacl\.public\.PrivateKey|\btokens?\b|\bbearer\(",
)

#: Types that match and hold nothing to protect, or only objects that refuse by themselves.
_NONE = {
    "aes/search.py:NoiseModel": "the variance of a secret's coefficients",
    "devices/ciphertexts.py:World": "a fixed seed, for the conformance of devices",
    "bfv/cases.py:_World": "a fixed seed, for the conformance of devices",
    "ltv/cases.py:_Side": "a fixed seed, for the conformance of devices",
    "omr/cases.py:_World": "a fixed seed, for the conformance of devices",
    "omr/check_cases.py:_World": "a fixed seed, for the conformance of devices",
    "gates/clear.py:ClearKey": "stands for a key where nothing is encrypted",
    "omr/demo.py:Crowd": "public keys of strangers",
    "security/attacks.py:Instance": "the name of a distribution",
    "serving/calls.py:Door": "an object that refuses: Tokens",
    "serving/options.py:Listening": "an object that refuses: Tokens",
    "serving/service.py:Service": "an object that refuses: Tokens",
}


def _classes() -> Iterator[tuple[str, str, str, set[str]]]:
    """Yield the classes of the package: name for people, module, class, texts of what instances keep."""
    for path in sorted(ROOT.rglob("*.py")):
        place = path.relative_to(ROOT)
        if place.parts[0] in ("hw", "lab"):  # machines, which have no secrets; measurements
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                module = ".".join(("ringforge", *place.with_suffix("").parts)).removesuffix(".__init__")
                yield f"{place}:{node.name}", module, node.name, set(_kept(node))


def _kept(node: ast.ClassDef) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Assign | ast.AnnAssign):
            targets = inner.targets if isinstance(inner, ast.Assign) else [inner.target]
            own = [q for t in targets for q in ast.walk(t) if isinstance(q, ast.Attribute)]
            if any(isinstance(q.value, ast.Name) and q.value.id == "self" for q in own):
                yield ast.unparse(inner)
    yield from (ast.unparse(inner) for inner in node.body if isinstance(inner, ast.AnnAssign))


def test_every_type_that_keeps_a_secret_is_one() -> None:
    """A class whose attributes are assigned secrets is a `Secret`, or is said above to need nothing."""
    found, wrong = set(), []
    for name, module, kind, kept in _classes():
        if any(_KEPT.search(text) for text in kept):
            found.add(name)
            if name not in _NONE and not issubclass(getattr(importlib.import_module(module), kind), Secret):
                wrong.append((name, sorted(text for text in kept if _KEPT.search(text))))
    assert not wrong, "derive them from ringforge.secrecy.Secret"
    assert found >= _NONE.keys(), "no longer there"
    assert len(found - _NONE.keys()) >= 15, "the search finds what it is for"


def _native_types(module: ModuleType) -> Iterator[type]:
    for value in vars(module).values():
        if inspect.ismodule(value) and value.__name__.startswith(f"{module.__name__}."):
            yield from _native_types(value)
        elif inspect.isclass(value):
            yield value


def test_native_types_that_hold_secrets_are_guarded() -> None:
    """Those are the types that say so in name or description, or give secret bytes."""
    harmless = r"no secret|back to the secret|secrets of a weight|so nothing is secret"
    said = {
        t
        for t in _native_types(_native)
        if hasattr(t, "secret_bytes")
        or "secret" in re.sub(harmless, "", f"{t.__name__} {t.__doc__}", flags=re.IGNORECASE).lower()
    }
    wrong = {f"{t.__module__}.{t.__name__}" for t in said if not hasattr(t, "saved_by")}
    assert not wrong
    assert len(said) >= 10


def _examples(tmp_path: Path) -> list[Any]:
    program = matvec.compile_model(matvec.Linear([[1.0, 2.0]]), "set-b").program
    context = _native.Context(params.named("set-b"))
    client = _native.Client(context)
    receiver = ReceiverSecret.make(sets.named("test", "a test"))
    return [
        matvec.Client(program),
        client,
        client.secret_key(),
        _native.fhew.SecretKey(gates.parameters("gates-128")),
        _native.oprf.ServerKey.random(),
        oprf.ServerKey.random(),
        oprf.Request([b"private"]),
        StreamKey(b"private private ", TagKey(b"private " * 4)),
        TagKey(b"private " * 4),
        BoxSecret(b"private " * 4),
        receiver,
        receiver.signal,
        receiver.compression,
        receiver.bfv,
        Tokens(["private" * 5]),
        Quota(tmp_path / "quota", {}),
    ]


def test_secrets_are_neither_copied_nor_pickled_nor_shown(tmp_path: Path) -> None:
    for secret in _examples(tmp_path):
        kind = type(secret).__name__
        for copied in (copy.copy, copy.deepcopy, *(lambda x, i=i: pickle.dumps(x, i) for i in range(6))):
            with pytest.raises(TypeError, match=f"{kind} holds a secret and can be neither copied nor pickled: .{{9}}"):
                copied(secret)
        for copied in (copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="holds a secret"):
                copied([secret])
        with pytest.raises(TypeError, match="holds a secret"):
            secret.__getstate__()
        inside = str(vars(secret)) if hasattr(secret, "__dict__") else ""
        for shown in (repr(secret), str(secret), f"{secret}", f"{[secret]}", inside):
            assert "private" not in shown
            assert b"private".hex() not in shown
        assert len(repr(secret)) < 80


def test_bytes_of_secrets_are_not_among_variables() -> None:
    key = StreamKey(b"private private ", TagKey(b"private " * 4))
    assert vars(key) == vars(key.tags) == vars(BoxSecret(bytes(32))) == {}
    assert (key.aes, key.tags.value) == (b"private private ", b"private " * 4)
    assert isinstance(key, RawSecret)


def _below(kind: type) -> Iterator[type]:
    inner: type
    for inner in kind.__subclasses__():
        yield inner
        yield from _below(inner)


def test_types_of_secrets_are_no_dataclasses() -> None:
    """`dataclasses.asdict`, `astuple` and `replace` would give what `vars` hides."""
    for _, module, _, kept in _classes():
        if any(_KEPT.search(text) for text in kept):
            importlib.import_module(module)
    kinds = set(_below(Secret))
    assert {StreamKey, TagKey, BoxSecret, Tokens} < kinds
    assert not [kind for kind in kinds if dataclasses.is_dataclass(kind)]
    key = StreamKey(b"private private ", TagKey(b"private " * 4))
    gives: list[Any] = [dataclasses.asdict, dataclasses.astuple, dataclasses.replace]
    for give in gives:
        with pytest.raises(TypeError):
            give(key)
    with pytest.raises(AttributeError):
        key.aes = bytes(16)  # type: ignore[misc]


def test_what_holds_a_secret_is_not_pickled_either() -> None:
    """Types that are no `Secret` cannot be a way around: what they hold refuses."""
    world = {"rows": np.eye(2), "key": [oprf.ServerKey.random()]}
    with pytest.raises(TypeError, match="holds a secret"):
        pickle.dumps(world)
    with pytest.raises(TypeError, match="holds a secret"):
        copy.deepcopy(world)
