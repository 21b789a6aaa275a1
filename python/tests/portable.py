# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""One of each public type that can be saved, with how it is written and read: for tests of bytes and pickles."""

from __future__ import annotations

import copy
import functools
import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ringforge import _native, bfv, bgv, ckks, gates, ltv, matmul, matvec, omr, params, psi
from ringforge.aes import transcipher
from ringforge.gates import integers
from tests.matmul.test_matrix import small

WHY = "a test"


@dataclass(frozen=True)
class Case:
    """An object and its forms.

    Attributes:
        thing: the object.
        given: what `to_bytes` and `save` take beside the file.
        read: from bytes.
        load: from a file's name or an open file.
        pickled: whether pickles have it by itself.
        checked: whether a change of any byte is found.
        back: what reads bytes, where it is no method of the type.
    """

    thing: Any
    read: Callable[[Any], Any]
    load: Callable[[Any], Any]
    given: tuple[Any, ...] = ()
    pickled: bool = True
    checked: bool = True
    back: str = ""

    def bytes(self, thing: Any = None) -> bytes:
        """Of the object, or of another one of its kind."""
        data = (self.thing if thing is None else thing).to_bytes(*self.given)
        assert isinstance(data, bytes)
        return data

    def save(self, path: Any) -> Any:
        """Write the object."""
        return self.thing.save(path, *self.given)


def tiny(limbs: int = 2) -> _native.Parameters:
    """Parameters of N = 2^10."""
    q = params.named("set-b", WHY).q
    return params.Parameters("tiny", 10, q[:limbs], q[limbs : limbs + 1], 1, 45.0, WHY)


# ---- systems -------------------------------------------------------------------------------------


@functools.cache
def vectors() -> tuple[matvec.Linear, matvec.Program, matvec.Client]:
    """A model, its program, a client."""
    model = matvec.Linear([[0.5, -1.0, 0.25], [0.0, 2.0, 1.0]], bias=[0.1, -0.1])
    program = matvec.compile_model(model, tiny()).program
    return model, program, matvec.Client(program, accept_insecure=WHY)


@functools.cache
def matrices() -> tuple[matmul.Program, matmul.KeyHolder]:
    """A program of two matrices and its key holder."""
    program = matmul.trace(small(), lambda A, B: A @ B, A=(4, 5), B=(5, 3))
    return program, matmul.KeyHolder(program, accept_insecure=WHY)


@functools.cache
def session() -> matmul.Session:
    """A session of matrices."""
    return matmul.Session(small())


@functools.cache
def sessions() -> dict[str, Any]:
    """A session of each scheme."""
    primes = _native.kernels.primes_below(30, 3, 2048)
    words = _native.kernels.primes_below(31, 2, 1 << 16)
    made: dict[str, Any] = {
        "ckks": ckks.Session(tiny()),
        "bfv": bfv.Session(bfv.Parameters("", 10, 12289, primes[1:], primes[:1], 1, WHY)),
        "bgv": bgv.Session(bgv.Parameters.named("bgv-test", insecure=WHY)),
        "ltv": ltv.Session(ltv.Parameters(85, words, insecure=WHY, gadget="rns", window=31)),
    }
    made["ckks"].add_rotation_keys([1, 2])
    made["bfv"].add_rotation_keys([1, 2])
    made["bgv"].add_frobenius_keys([1, 2])
    return made


@functools.cache
def gate_keys() -> tuple[Any, Any, gates.Evaluator]:
    """Both keys of gates, and an evaluator."""
    secret, key = gates.keygen("gates-toy", insecure=WHY)
    return secret, key, gates.Evaluator(key)


@functools.cache
def receiver() -> omr.ReceiverSecret:
    """A receiver of messages."""
    return omr.ReceiverSecret.make(omr.named("test", insecure=WHY))


# ---- cases ---------------------------------------------------------------------------------------


def _alone(thing: Any, *, checked: bool = True) -> Case:
    kind = type(thing)
    return Case(thing, kind.from_bytes, kind.load, checked=checked)


def _in_context(thing: Any, context: Any) -> Case:
    kind = type(thing)
    return Case(thing, lambda d: kind.from_bytes(d, context), lambda p: kind.load(p, context), (context,), False)


def _of(thing: Any, *more: Any, given: tuple[Any, ...] = ()) -> Case:
    kind = type(thing)
    return Case(thing, lambda d: kind.from_bytes(d, *more), lambda p: kind.load(p, *more), given)


def _matvec(name: str) -> Case:
    model, program, client = vectors()
    match name:
        case "matvec program":
            return _alone(program, checked=False)
        case "matvec rule":
            return _alone(matvec.Rule.of(kind="values", inputs=3, outputs=2), checked=False)
        case "matvec keys":
            return _of(client.evaluation_keys(), program)
        case "matvec inputs":
            return _of(client.encrypt([0.1, 0.2, 0.3]), program)
    result, _ = matvec.Server(model, program, client.evaluation_keys()).evaluate(client.encrypt(np.eye(3)))
    return _of(result, program, "output")


def _matmul(name: str) -> Case:
    program, holder = matrices()
    match name:
        case "matmul program":
            return _alone(program, checked=False)
        case "matmul keys":
            return _of(holder.evaluation_keys(), program)
        case "matmul parcel":
            return _of(holder.encrypt("A", np.full((4, 5), 0.25)), program, "A")
    s = session()
    return Case(
        s.encrypt(np.arange(12.0).reshape(3, 4) / 16),
        s.from_bytes,
        s.load,
        pickled=False,
        back="session.from_bytes(data)",
    )


def _scheme(name: str) -> Case:
    scheme, _, what = name.partition(" ")
    s = sessions()[scheme]
    match what:
        case "ciphertext":
            return _in_context(s.encrypt([1, 0, 1]), s.context)
        case "public key":
            return _in_context(s.public_key, s.context)
        case "relinearisation key":
            return _in_context(s.relin_key if scheme != "ltv" else s.eval_key(1), s.context)
        case "Galois key":
            return _in_context(s.galois_keys.key(s.galois_keys.elements[0]), s.context)
        case "Galois keys":
            return _in_context(s.galois_keys, s.context)
    plain = s.context.encode(np.ones(4, np.complex128), 2.0**30, 1) if scheme == "ckks" else bfv.encode(s.context, [2])
    return _in_context(plain, s.context)


def _gates(name: str) -> Case:
    secret, key, evaluator = gate_keys()
    match name:
        case "gates bits":
            return _of(gates.encrypt(secret, [[0, 1], [1, 0]]), key)
        case "gates integers":
            numbers = integers.encrypt(secret, [3, -5], "int4")
            return Case(
                numbers,
                lambda d: integers.from_bytes(d, evaluator),
                lambda p: integers.load(p, evaluator),
                back="gates.integers.from_bytes(data, owner)",
            )
    return Case(
        key,
        lambda d: type(key).from_bytes(d, key.params),
        lambda p: gates.load_evaluation_key(p, accept_insecure=WHY),
    )


def _others(name: str) -> Case:
    match name:
        case "psi info":
            return _alone(psi.Server.build({b"alice": b"1", b"bob": b""}, log_bins=4).info, checked=False)
        case "omr address":
            a = receiver().address()
            return Case(a, lambda d: omr.Address.from_bytes(d, WHY), lambda p: omr.Address.load(p, WHY))
        case "omr key":
            return _alone(omr.DetectionKey.make(receiver()))
    return _alone(transcipher.Stream(bytes(16), 1, b"data of a stream", bytes(32)), checked=False)


#: Names of cases, and what makes those whose names begin so.
_SCHEMES = ("ciphertext", "public key", "relinearisation key")
_GALOIS = ("Galois key", "Galois keys")
NAMES = (
    *("matvec program", "matvec rule", "matvec keys", "matvec inputs", "matvec results"),
    *("matmul program", "matmul keys", "matmul parcel", "matmul matrix"),
    *(f"{s} {what}" for s in ("ckks", "bfv", "bgv", "ltv") for what in _SCHEMES),
    *(f"{s} {what}" for s in ("ckks", "bfv", "bgv") for what in _GALOIS),
    *("ckks plaintext", "bfv plaintext"),
    *("gates bits", "gates integers", "gates key"),
    *("psi info", "omr address", "omr key", "aes stream"),
)

_MAKERS = {"matvec": _matvec, "matmul": _matmul, "gates": _gates, **dict.fromkeys(("psi", "omr", "aes"), _others)}


@functools.cache
def case(name: str) -> Case:
    """The case of a name, made once."""
    return _MAKERS.get(name.partition(" ")[0], _scheme)(name)


# ---- the table of docs/bytes.md ------------------------------------------------------------------


def _given(function: Any) -> str:
    """Return the arguments that a call needs, as text."""
    parameters = inspect.signature(function).parameters.values()
    return f"({', '.join(p.name for p in parameters if p.default is inspect.Parameter.empty)})"


def _public(system: str, kind: type) -> str:
    """Return the name by which users import a type."""
    module = importlib.import_module(f"ringforge.{system}")
    found = next((name for name in getattr(module, "__all__", ()) if getattr(module, name) is kind), "")
    if not found and kind.__module__.startswith("ringforge._native"):
        return f"{kind.__name__} of {system}"
    if not found:
        return f"{kind.__module__.removeprefix('ringforge.')}.{kind.__name__}"
    return f"{system}.{found}"


def table() -> str:
    """Return the types as a table in Markdown: what gives bytes, what reads them, whether pickles have them."""
    rows: dict[str, str] = {}
    for name in NAMES:
        one = case(name)
        kind = type(one.thing)
        public = _public(name.partition(" ")[0], kind)
        back = one.back or f"{kind.__name__}.from_bytes{_given(kind.from_bytes)}"
        pickled = "yes" if one.pickled else "no, it says how"
        copied = "itself" if copy.deepcopy(one.thing) is one.thing else "another"
        rows[public] = f"| `{public}` | `x.to_bytes{_given(one.thing.to_bytes)}` | `{back}` | {pickled} | {copied} |"
    head = ["| type | bytes | read by | pickled | a copy is |", "|---|---|---|---|---|"]
    return "\n".join([*head, *rows.values()])


if __name__ == "__main__":
    print(table())
