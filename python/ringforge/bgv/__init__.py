# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The BGV scheme modulo 2: exact arithmetic on vectors of bits, bytes of AES, or elements of GF(2^d).

`Session` is the short way in; `Context`, `Client` and `Evaluator` are the parts it is made of, with the secret key
confined to `Client`. A plaintext is a polynomial over GF(2), N bits; `ringforge.binary_slots` has its slots.

>>> from ringforge import bgv
>>> s = bgv.Session(bgv.Parameters.named("bgv-test", insecure="an example"))
>>> x, y = s.encrypt([0x57, 1], packing="bytes"), s.encrypt([0x83, 2], packing="bytes")
>>> s.decrypt(s.multiply(x, y), packing="bytes")[:2]  # FIPS 197, section 4.2
array([193,   2], dtype=uint8)
"""

from __future__ import annotations

from ringforge._native import GaloisKey, GaloisKeys, PublicKey, RelinKey, SecretKey, TestSeed
from ringforge._native.bgv import (
    Ciphertext,
    Client,
    Context,
    Evaluator,
    Multiplier,
    Noise,
    NoiseRules,
    Parameters,
)
from ringforge.bgv.explained import explain
from ringforge.bgv.session import Packing, Session, decode, encode

__all__ = [
    "Ciphertext",
    "Client",
    "Context",
    "Evaluator",
    "GaloisKey",
    "GaloisKeys",
    "Multiplier",
    "Noise",
    "NoiseRules",
    "Packing",
    "Parameters",
    "PublicKey",
    "RelinKey",
    "SecretKey",
    "Session",
    "TestSeed",
    "decode",
    "encode",
    "explain",
]
