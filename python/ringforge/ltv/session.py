# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Both sides of LTV in one object. LTV is broken: no protection."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ringforge._native import TestSeed
from ringforge._native.ltv import Ciphertext, Client, Context, EvalKey, Evaluator, Parameters
from ringforge.arrays import whole_numbers
from ringforge.errors import NoiseError, ShapeError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.ltv.clear import Bits
from ringforge.ltv.keys import KeyDirectory
from ringforge.secrecy import Secret


def as_bits(values: npt.ArrayLike, degree: int) -> Bits:
    """A message: shape (n,), n at most `degree`, of 0, 1 or booleans: coefficients of 1, X, X^2, ...

    Raises:
        ShapeError: another shape, or too many. ringforge.ValueError: other values.
    """
    a = whole_numbers(values, "the bits of a message")
    if a.ndim != 1 or a.size > degree:
        raise ShapeError(f"bits of shape {a.shape}: (n,) is needed, with n up to {degree}")
    if a.size and (int(a.min()) < 0 or int(a.max()) > 1):
        raise RingforgeValueError("a message is bits, 0 or 1; there are others among them")
    return np.ascontiguousarray(a, np.uint8)


class Session(Secret):
    """Both sides of LTV in one object, for experiments and tests.

    Args:
        params: the parameter set, which has its reason why it may be used.
        threads: for key generation and evaluation.
        keys: where evaluation keys are read from; None makes each when it is first used, and holds the last.
        fixed_seed_for_tests: makes everything reproducible.
    """

    saved_by = (
        "`ringforge.parties.save_secret_key(path, session.context, session.secret_key)` writes its key to a file, and "
        "`load_secret_key(path, context)` reads it"
    )

    def __init__(
        self,
        params: Parameters,
        threads: int = 1,
        keys: KeyDirectory | None = None,
        fixed_seed_for_tests: TestSeed | None = None,
    ) -> None:
        self.context = Context(params)
        self.client = Client(self.context, fixed_seed_for_tests)
        self.secret_key, self.public_key = self.client.keys(threads)
        self.evaluator = Evaluator(self.context, threads)
        self.threads = threads
        self.keys = keys
        self._last: EvalKey | None = None

    @property
    def params(self) -> Parameters:
        return self.context.params

    def eval_key(self, level: int) -> EvalKey:
        """The evaluation key of a level. Raises as `KeyDirectory.level`; LevelError: no such level."""
        if self._last is None or self._last.level != level:
            self._last = None  # before the next: a key can be most of the memory
            if self.keys is not None:
                self._last = self.keys.level(level)
            else:
                self._last = self.client.eval_key(self.secret_key, self.public_key, level, self.threads)
        return self._last

    def encrypt(self, bits: npt.ArrayLike, level: int = 0) -> Ciphertext:
        """Raises as `as_bits`; LevelError: no such level."""
        return self.client.encrypt(as_bits(bits, self.params.degree), self.public_key, level, self.threads)

    def decrypt(self, c: Ciphertext, *, anyway: bool = False) -> Bits:
        """All N bits.

        Raises:
            NoiseError: by its predicted noise the ciphertext may decrypt to wrong bits; `anyway` decrypts it all the
            same. LevelError: it does, as the noise has filled the modulus.
        """
        left = self.evaluator.budget(c)
        if left <= 0 and not anyway:
            raise NoiseError(
                f"the predicted noise budget is {left:.1f} bits, so bits may come out wrong: compute with fewer sums "
                "between products, or measure with client.noise_budget and decrypt with anyway=True"
            )
        return np.asarray(self.client.decrypt(c, self.secret_key, self.threads))

    def multiply(self, a: Ciphertext, b: Ciphertext) -> Ciphertext:
        """The product, relinearised and switched to the next level."""
        return self.down(self.evaluator.mul(a, b))

    def down(self, c: Ciphertext) -> Ciphertext:
        """A ciphertext or product, brought to the next level."""
        return self.evaluator.mod_switch(self.evaluator.relinearize(c, self.eval_key(c.level + 1)))
