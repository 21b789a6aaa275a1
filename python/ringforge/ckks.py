# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The CKKS scheme: approximate arithmetic on encrypted vectors.

`Session` is the short way in; `Context`, `Client` and `Evaluator` are the parts it is made of, with the secret
key confined to `Client`.

>>> from ringforge import ckks
>>> s = ckks.Session("set-a")
>>> x = s.encrypt([0.5, -0.25])
>>> product = s.evaluator.rescale(s.evaluator.relinearize(s.evaluator.mul(x, x), s.relin_key))
>>> [round(float(v), 4) for v in s.decrypt(product)[:2].real]
[0.25, 0.0625]
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ringforge import _native
from ringforge._native import (
    Ciphertext,
    Client,
    Context,
    Evaluator,
    GaloisKey,
    GaloisKeys,
    Plaintext,
    PublicKey,
    RelinKey,
    SecretKey,
    TestSeed,
)
from ringforge.arrays import complex_numbers
from ringforge.errors import ShapeError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.params import Parameters, resolve
from ringforge.secrecy import Secret

__all__ = [
    "Ciphertext",
    "Client",
    "Context",
    "Evaluator",
    "GaloisKey",
    "GaloisKeys",
    "Plaintext",
    "Precision",
    "PublicKey",
    "RelinKey",
    "SecretKey",
    "Session",
    "TestSeed",
    "flood_deviation",
    "precision",
]

Array = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]


@dataclass(frozen=True)
class Precision:
    """How close decrypted values are to the exact ones."""

    max_error: float
    mean_error: float
    #: -log2(max_error): bits after the point that every value keeps.
    min_bits: float
    mean_bits: float
    #: max_error / max |exact|.
    max_relative_error: float

    def __str__(self) -> str:
        return (
            f"at least {self.min_bits:.1f} bits after the point (mean {self.mean_bits:.1f}), "
            f"relative error at most 2^{_log2(self.max_relative_error):.1f}"
        )


def _log2(x: float) -> float:
    return math.log2(x) if x > 0 else -math.inf


def precision(exact: npt.ArrayLike, decrypted: npt.ArrayLike) -> Precision:
    """Compares decrypted values with exact ones of the same shape."""
    a, b = complex_numbers(exact, "exact values"), complex_numbers(decrypted, "decrypted values")
    if a.shape != b.shape:
        raise RingforgeValueError(f"shapes differ: {a.shape} and {b.shape}")
    error = np.abs(a - b)
    largest = float(np.max(np.abs(a))) if a.size else 0.0
    worst, mean = (float(error.max()), float(error.mean())) if a.size else (0.0, 0.0)
    return Precision(worst, mean, -_log2(worst), -_log2(mean), worst / largest if largest else worst)


def flood_deviation(variance: float, degree: int, bits: float, queries: int = 1) -> float:
    """Standard deviation of the noise added before a result is shared; see docs/security.md."""
    return float(_native.flood_deviation(variance, degree, bits, queries))


class Session(Secret):
    """Both sides of CKKS in one object, for experiments and tests. Deployments keep `Client` apart.

    Args:
        params: the parameter set, or the name of a shipped one.
        threads: threads for evaluation.
        fixed_seed_for_tests: makes everything reproducible, and nothing secret.
    """

    saved_by = (
        "`ringforge.parties.save_secret_key(path, session.context, session.secret_key)` writes its key to a file, and "
        "`load_secret_key(path, context)` reads it"
    )

    def __init__(
        self, params: Parameters | str, threads: int = 1, fixed_seed_for_tests: TestSeed | None = None
    ) -> None:
        self.context = Context(resolve(params))
        self.client = Client(self.context, fixed_seed_for_tests)
        self.secret_key = self.client.secret_key()
        self.evaluator = Evaluator(self.context, threads)
        self.galois_keys = GaloisKeys()
        self.threads = threads

    @property
    def params(self) -> Parameters:
        return self.context.params

    @cached_property
    def public_key(self) -> PublicKey:
        return self.client.public_key(self.secret_key)

    @cached_property
    def relin_key(self) -> RelinKey:
        return self.client.relin_key(self.secret_key, None, self.threads)

    def add_rotation_keys(self, steps: Iterable[int], level: int | None = None) -> None:
        """Makes the Galois keys for rotations by these steps."""
        for step in steps:
            element = self.context.rotation_element(step)
            if element != 1 and element not in self.galois_keys:
                self.galois_keys.insert(self.client.galois_key(self.secret_key, element, level, self.threads))

    def add_conjugation_key(self) -> None:
        """Makes the Galois key of complex conjugation."""
        element = self.context.conjugation_element
        self.galois_keys.insert(self.client.galois_key(self.secret_key, element, None, self.threads))

    def encrypt(
        self,
        values: npt.ArrayLike,
        *,
        scale: float | None = None,
        level: int | None = None,
        bound: float = 1.0,
        public: bool = False,
    ) -> Ciphertext:
        """Encrypt up to N/2 real or complex numbers.

        Args:
            values: a number or a vector (n,), n at most N/2: an array, a list, a column of a data frame. Slots beyond n
                are 0.
            scale: by default 2^log_scale of the parameters.
            level: by default the highest. Fewer are faster.
            bound: largest size of a number; public.
            public: under the public key.

        Raises:
            ShapeError: more dimensions than one, or more numbers than slots. ringforge.ValueError: text, dates, masked
                or missing entries, NaN, infinity.
        """
        p = self.params
        z = complex_numbers(values, "values")
        if z.ndim > 1 or z.size > p.slots:
            raise ShapeError(
                f"values of shape {z.shape}: a ciphertext holds one vector (n,), n up to {p.slots}: give matrices row "
                "by row or as values.ravel(), or encrypt them with ringforge.matmul"
            )
        z = np.ascontiguousarray(z.reshape(-1))
        plaintext = self.context.encode(
            z, 2.0**p.log_scale if scale is None else scale, p.max_level if level is None else level, self.threads
        )
        # Two calls: each key type is an overload of its own.
        if public:
            return self.client.encrypt(plaintext, self.public_key, bound)
        return self.client.encrypt(plaintext, self.secret_key, bound)

    def decrypt(self, c: Ciphertext, *, share_bits: float | None = None, queries: int = 1) -> ComplexArray:
        """All N/2 slots. With `share_bits`, calibrated noise is added first, so that the result may be shown to
        others without helping them to the key (docs/security.md)."""
        if share_bits is None:
            plaintext = self.client.decrypt(c, self.secret_key)
        else:
            plaintext = self.client.decrypt_to_share(c, self.secret_key, share_bits, queries)
        return np.asarray(self.context.decode(plaintext, self.threads))
