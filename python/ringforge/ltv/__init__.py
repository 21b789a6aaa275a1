# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The scheme of López-Alt, Tromer and Vaikuntanathan: NTRU keys, bits, a level for each product. BROKEN.

At the parameters that its depth needs, NTRU is overstretched: attacks on subfields (since 2016) find its key.
It rebuilds a published system and protects nothing. Every parameter set wants a reason; nothing here uses one by
itself.

>>> from ringforge import ltv
>>> s = ltv.Session(ltv.Parameters.named("ltv-test", insecure="a look at LTV"))
>>> x, y = s.encrypt([1, 1]), s.encrypt([0, 1])          # 1 + X, X over GF(2)
>>> s.decrypt(s.multiply(x, y))[:4]                      # modulo 2 and Phi_m
array([0, 1, 1, 0], dtype=uint8)
>>> s.decrypt(s.evaluator.add(x, y))[:2]
array([1, 0], dtype=uint8)
"""

from __future__ import annotations

from ringforge._native import TestSeed
from ringforge._native.ltv import (
    WARNING,
    BatchEvaluator,
    Ciphertext,
    Client,
    Context,
    EvalKey,
    Evaluator,
    KeyParts,
    Noise,
    NoiseRules,
    Parameters,
    PublicKey,
    Relinearizer,
    SecretKey,
    digits,
    reduction_moment,
    ternary_product_deviation,
)
from ringforge.ltv.clear import BitRing
from ringforge.ltv.kernels import ProductSumsKernel, RelinearizeKernel
from ringforge.ltv.keys import KeyDirectory, Room, StoredKey
from ringforge.ltv.session import Session, as_bits
from ringforge.ltv.shown import explain

__all__ = [
    "WARNING",
    "BatchEvaluator",
    "BitRing",
    "Ciphertext",
    "Client",
    "Context",
    "EvalKey",
    "Evaluator",
    "KeyDirectory",
    "KeyParts",
    "Noise",
    "NoiseRules",
    "Parameters",
    "ProductSumsKernel",
    "PublicKey",
    "RelinearizeKernel",
    "Relinearizer",
    "Room",
    "SecretKey",
    "Session",
    "StoredKey",
    "TestSeed",
    "as_bits",
    "digits",
    "explain",
    "reduction_moment",
    "ternary_product_deviation",
]
