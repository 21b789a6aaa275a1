# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The BFV scheme: exact arithmetic on encrypted integers modulo t.

`Session` is the short way in; `Context`, `Client` and `Evaluator` are the parts it is made of, with the secret key
confined to `Client`. A plaintext is two rows of N/2 slots, or N coefficients. `Linear` multiplies by plain matrices.

>>> from ringforge import bfv
>>> s = bfv.Session("bfv-13")
>>> x = s.encrypt([3, -4])
>>> square = s.evaluator.relinearize(s.evaluator.square(x), s.relin_key)
>>> s.decrypt(s.evaluator.sub(square, x))[:2]
array([ 6, 20])
"""

from __future__ import annotations

from ringforge._native import GaloisKey, GaloisKeys, PublicKey, RelinKey, SecretKey, TestSeed
from ringforge._native.bfv import (
    Ciphertext,
    Client,
    Context,
    Evaluator,
    Multiplier,
    Noise,
    NoiseRules,
    Parameters,
    Plaintext,
)
from ringforge.bfv.encoding import decode, encode
from ringforge.bfv.linear import Linear, LinearPlan, PreparedLinear, plan_linear
from ringforge.bfv.session import Session

__all__ = [
    "Ciphertext",
    "Client",
    "Context",
    "Evaluator",
    "GaloisKey",
    "GaloisKeys",
    "Linear",
    "LinearPlan",
    "Multiplier",
    "Noise",
    "NoiseRules",
    "Parameters",
    "Plaintext",
    "PreparedLinear",
    "PublicKey",
    "RelinKey",
    "SecretKey",
    "Session",
    "TestSeed",
    "decode",
    "encode",
    "plan_linear",
]
