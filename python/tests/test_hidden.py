# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Encrypted values of every system where Python or numpy wants a value: refused, with the way to the numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import ringforge as rf
from ringforge import bfv, bgv, ckks, gates, ltv, matvec
from ringforge.gates import integers
from ringforge.matmul.batch import BatchProduct


def _make(kind: str) -> Any:
    if kind.startswith("ckks"):
        s = ckks.Session("set-a")
        if kind == "ckks batch":
            return BatchProduct(s.context, 2).encrypt(s.client, s.secret_key, np.ones((2, 2)))
        plain = s.context.encode(np.zeros(1, np.complex128), 2.0**30, 1)
        return plain if kind == "ckks plaintext" else s.encrypt([0.5])
    if kind.startswith("bfv"):
        b = bfv.Session("bfv-13")
        made = {"bfv": lambda: b.encrypt([1]), "bfv plaintext": lambda: bfv.encode(b.context, [1])}
        return made.get(kind, lambda: b.context.multiplier(bfv.encode(b.context, [1])))()
    if kind == "bgv":
        return bgv.Session(bgv.Parameters.named("bgv-test", insecure="a test")).encrypt([1])
    if kind == "ltv":
        primes = [int(p) for p in rf._native.kernels.primes_below(31, 3, 1 << 16)]
        return ltv.Session(ltv.Parameters(85, primes, insecure="tests")).encrypt([1])
    if kind == "matvec":
        program = matvec.compile_model(matvec.Linear([[1.0]])).program
        return matvec.Client(program).encrypt([0.5])
    key = gates.ClearKey(gates.parameters("gates-128"))
    evaluator = gates.Evaluator(key, device="clear")
    if kind == "bits":
        return evaluator.bind(gates.encrypt(key, [0, 1]))
    return evaluator.bind(integers.encrypt(key, [1, 2], "uint8"))


WHOLE = ["ckks", "ckks plaintext", "ckks batch", "bfv", "bfv plaintext", "bfv multiplier", "bgv", "ltv", "matvec"]


@pytest.fixture(scope="module", params=[*WHOLE, "bits", "integers"])
def value(request: pytest.FixtureRequest) -> Any:
    return _make(request.param)


USES = """
    bool(x)
    not x
    1 if x else 0
    int(x)
    float(x)
    complex(x)
    range(x)
    1 in x
    np.array(x)
    np.asarray([x, x])
    np.array(x, dtype=object)
    pd.Series(x)
    np.isnan(x)
    np.exp(x)
    np.sum(x)
    np.allclose(x, 1)
    np.stack([x, x])
"""
COMPARISONS = """
    x == 1
    x == x
    x != x
    x < 1
    1 >= x
    np.ones(2) == x
    np.equal(x, 1)
    np.add(x, 1)
    np.add(x, np.ones(2))
    np.ones(2) + x
    [y == x for y in [1.0]]
"""


def expressions(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


@pytest.mark.parametrize("use", expressions(USES))
def test_no_value_stands_in_for_what_is_encrypted(value: Any, use: str) -> None:
    with pytest.raises((TypeError, rf.Error), match=r"encrypted|encoded"):
        eval(use, {"np": np, "pd": pd, "x": value})


@pytest.mark.parametrize("use", expressions(COMPARISONS))
def test_comparisons_are_refused_or_encrypted(value: Any, use: str) -> None:
    names = {"np": np, "x": value}
    if not isinstance(value, integers.EncryptedArray) or "ones(2)" in use or "1.0" in use:
        with pytest.raises((TypeError, rf.Error), match=r"encrypted|encoded|operator|whole number"):
            eval(use, names)
    else:
        assert isinstance(eval(use, names), integers.EncryptedArray)


@pytest.mark.parametrize("kind", [k for k in WHOLE if k != "ckks batch"])
def test_one_ciphertext_has_no_items(kind: str) -> None:
    x = _make(kind)
    for use in (len, iter, list):
        with pytest.raises(TypeError, match="neither length nor items"):
            use(x)


def test_a_ciphertext_is_found_by_identity() -> None:
    x = _make("ckks")
    assert x in [x]
    assert {x: 1}[x] == 1


def test_without_entries_batches_of_matrices_are_empty() -> None:
    s = ckks.Session("set-a")
    product = BatchProduct(s.context, 2)
    keys = product.make_keys(s.client, s.secret_key)
    none, thin = (product.encrypt(s.client, s.secret_key, np.zeros(shape)) for shape in ((0, 2, 2), (1, 2, 0)))
    result, _ = product.multiply(none, none, keys)
    assert product.decrypt(s.client, s.secret_key, result).shape == (0, 2, 2)
    assert product.decrypt(s.client, s.secret_key, thin).shape == (1, 2, 0)
