# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Arguments of the wrong kind: a sentence says which one, and what is needed; the binding's own list never shows."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import ringforge as rf
from ringforge import _native, bfv, bgv, ckks, gates, matmul, matvec
from ringforge.matmul.batch import BatchProduct
from ringforge.refusals import explained

WRONG = {"negative": -1, "fraction": 1.5, "huge": 2**70, "text": "x", "none": None, "NaN": float("nan"), "list": [[]]}


def callables(module: types.ModuleType) -> Iterator[tuple[str, Any]]:
    """Everything of the native module that has signatures, methods unbound."""
    for name, value in vars(module).items():
        if isinstance(value, types.ModuleType) and value.__name__.startswith("ringforge._native."):
            yield from ((f"{name}.{n}", f) for n, f in callables(value))
        elif isinstance(value, type):
            for member, f in vars(value).items():
                f = f.__func__ if isinstance(f, staticmethod) else f.fset if isinstance(f, property) else f
                if hasattr(f, "__nb_signature__"):
                    yield f"{name}.{member}", f
        elif hasattr(value, "__nb_signature__"):
            yield name, value


NATIVE = dict(callables(_native))


def test_all_parts_of_the_native_module_are_looked_at() -> None:
    assert {"Context.rotation_element", "Client.encrypt", "fhew.evaluate", "bfv.Context.encode"} <= set(NATIVE)
    assert len(NATIVE) > 400


@pytest.mark.parametrize("name", NATIVE)
def test_native_functions_name_what_they_do_not_take(name: str) -> None:
    class Foreign:
        pass

    owner = [getattr(_native, name.split(".")[0])] if name.endswith("__new__") and name.count(".") == 1 else []
    if name.endswith("__new__") and not owner:
        owner = [getattr(getattr(_native, name.split(".")[0]), name.split(".")[1])]
    for args in ((Foreign(),), (Foreign(),) * 2, (Foreign(),) * 25):
        try:
            NATIVE[name](*owner, *args)
        except (TypeError, rf.Error) as e:
            text = str(e)
            assert "incompatible function arguments" not in text
            assert "std::" not in text
        except NotImplementedError:  # operators leave others to others
            pass


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        (lambda c: c.rotation_element(1.0), TypeError, "argument 1 is a float; a whole number is needed"),
        (lambda c: c.rotation_element(2**70), rf.ParameterError, "argument 1 is a number of 71 bits"),
        (lambda c: c.encode(np.zeros(1, np.complex128), 2.0**30, -1), rf.ParameterError, "level is negative"),
        (lambda c: c.encode([0.5], 2.0**30, 1), TypeError, "values is a list; an array of complex128 with 1 axis"),
        (lambda c: c.encode(np.zeros(1, np.complex128), "x", 1), TypeError, "scale is a str; a number is needed"),
        (lambda c: c.encode(np.zeros(1, np.complex128)), TypeError, "the argument scale is missing"),
        (lambda c: c.encode(np.zeros(1, np.complex128), 2.0**30, 1, depth=3), TypeError, "takes no argument 'depth'"),
        (lambda c: c.encode(*[1] * 9), TypeError, "9 arguments given, and it takes 4"),
        (lambda c: c.decode(None), TypeError, "plaintext is None; a Plaintext is needed"),
        (lambda c: ckks.Evaluator(c, threads=-1), rf.ParameterError, "Evaluator: threads is negative"),
    ],
)
def test_sentences(call: Any, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind) as caught:
        call(ckks.Context("set-a"))
    assert said in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_values_are_not_shown() -> None:
    with pytest.raises((TypeError, rf.Error)) as caught:
        ckks.Context("set-a").rotation_element("the secret word")
    assert "secret word" not in str(caught.value)


def test_what_fits_is_not_refused_by_the_sentences_themselves() -> None:
    """Signatures whose parts nobody knows still give a sentence."""

    class Function:
        __qualname__ = "Thing.do"
        __nb_signature__ = (("def do(self, what: some.unknown[Kind, (1, 2)], how: int = \\0) -> None", None, (1,)),)

    assert str(explained(Function, (None, object(), 2), {})).startswith("Thing.do: it does not take these arguments")


# ---- public functions ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def calls() -> dict[str, Callable[[Any], Any]]:
    s, b, mm = ckks.Session("set-a"), bfv.Session("bfv-13"), matmul.Session("matmul-a-128")
    g = bgv.Session(bgv.Parameters.named("bgv-test", insecure="a test"))
    x, y, a = s.encrypt([0.5]), b.encrypt([1]), mm.encrypt(np.eye(2))
    model = matvec.Linear([[1.0]])
    product = BatchProduct(s.context, 2)
    key = gates.ClearKey(gates.parameters("gates-128"))
    return {
        "ckks.Session(threads)": lambda w: ckks.Session("set-a", threads=w),
        "ckks.Session(params)": ckks.Session,
        "ckks.encrypt(level)": lambda w: s.encrypt([0.5], level=w),
        "ckks.encrypt(scale)": lambda w: s.encrypt([0.5], scale=w),
        "ckks.encrypt(bound)": lambda w: s.encrypt([0.5], bound=w),
        "ckks.encrypt(values)": s.encrypt,
        "ckks.decrypt": s.decrypt,
        "ckks.decrypt(share_bits)": lambda w: s.decrypt(x, share_bits=w),
        "ckks.decrypt(queries)": lambda w: s.decrypt(x, share_bits=10.0, queries=w),
        "ckks.add_rotation_keys": lambda w: s.add_rotation_keys([w]),
        "ckks.add_rotation_keys(level)": lambda w: s.add_rotation_keys([1], level=w),
        "ckks.rotate": lambda w: s.evaluator.rotate(x, w, s.galois_keys),
        "ckks.add_scalar": lambda w: s.evaluator.add_scalar(x, w),
        "ckks.mul": lambda w: s.evaluator.mul(x, w),
        "ckks.flood_deviation": lambda w: ckks.flood_deviation(w, w, w),
        "bfv.Session(threads)": lambda w: bfv.Session("bfv-13", threads=w),
        "bfv.Session(security)": lambda w: bfv.Session("bfv-13", security=w),
        "bfv.encrypt(values)": b.encrypt,
        "bfv.encrypt(limbs)": lambda w: b.encrypt([1], limbs=w),
        "bfv.encrypt(packing)": lambda w: b.encrypt([1], packing=w),
        "bfv.add_constant": lambda w: b.evaluator.add_constant(y, w),
        "bfv.add_galois_keys": lambda w: b.add_galois_keys([w]),
        "bfv.add_rotation_keys": lambda w: b.add_rotation_keys([w]),
        "bfv.decrypt": b.decrypt,
        "bfv.Linear": bfv.Linear,
        "bgv.encrypt": g.encrypt,
        "bgv.encrypt(bytes)": lambda w: g.encrypt(w, packing="bytes"),
        "bgv.encrypt(limbs)": lambda w: g.encrypt([1], limbs=w),
        "bgv.add_frobenius_keys": lambda w: g.add_frobenius_keys([w]),
        "bgv.multiply": lambda w: g.multiply(w, w),
        "matmul.Session(threads)": lambda w: matmul.Session("matmul-a-128", threads=w).encrypt([[0.5]]),
        "matmul.Session(level)": lambda w: matmul.Session("matmul-a-128", level=w),
        "matmul.encrypt(level)": lambda w: mm.encrypt([[0.5]], level=w),
        "matmul.encrypt(bound)": lambda w: mm.encrypt([[0.5]], bound=w),
        "matmul.encrypt(tile)": lambda w: mm.encrypt([[0.5]], tile=(w, w)),
        "matmul.encrypt(values)": mm.encrypt,
        "matmul.matmul(bound)": lambda w: a.matmul(a, bound=w),
        "matmul.sum(axis)": lambda w: a.sum(w),
        "matmul.trace(level)": lambda w: matmul.trace("matmul-a-128", lambda A: A + 1, A=(2, 2), level=w),
        "matmul.trace(shape)": lambda w: matmul.trace("matmul-a-128", lambda A: A + 1, A=(w, 2)),
        "BatchProduct(dim)": lambda w: BatchProduct(s.context, w),
        "BatchProduct(threads)": lambda w: BatchProduct(s.context, 2, threads=w),
        "BatchProduct.encrypt(level)": lambda w: product.encrypt(s.client, s.secret_key, np.eye(2), level=w),
        "BatchProduct.encrypt(key)": lambda w: product.encrypt(s.client, w, np.eye(2)),
        "BatchProduct.cost": product.cost,
        "matvec.compile_model(batch)": lambda w: matvec.compile_model(
            model, batch=w if isinstance(w, int | float) else -1
        ),
        "gates.Evaluator(threads)": lambda w: gates.Evaluator(key, w, device="clear"),
        "gates.encrypt": lambda w: gates.encrypt(key, w),
        "gates.to_bits(width)": lambda w: gates.to_bits(1, w),
    }


def test_public_functions_take_or_refuse_in_words(calls: dict[str, Callable[[Any], Any]]) -> None:
    wrong = []
    for name, call in calls.items():
        for kind, value in WRONG.items():
            try:
                call(value)
            except rf.Error:
                pass
            except (TypeError, ValueError, OverflowError) as e:
                if "incompatible function arguments" in str(e) or "supported between" in str(e) or "ufunc" in str(e):
                    wrong.append(f"{name}, {kind}: {e}")
            except Exception as e:
                wrong.append(f"{name}, {kind}: {type(e).__name__}: {e}")
    assert not wrong, "\n".join(wrong)
