# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Both sides of BFV in one object."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy.typing as npt

from ringforge._native import GaloisKeys, PublicKey, RelinKey, TestSeed
from ringforge._native.bfv import Ciphertext, Client, Context, Evaluator, Parameters
from ringforge.bfv.encoding import Ints, Packing, decode, encode
from ringforge.errors import NoiseError
from ringforge.params import resolve_bfv
from ringforge.secrecy import Secret


class Session(Secret):
    """Both sides of BFV in one object, for experiments and tests. Deployments keep `Client` apart.

    Args:
        params: the parameter set, or the name of a shipped one.
        threads: threads for evaluation.
        fixed_seed_for_tests: makes everything reproducible, and nothing secret.
        security: a source of noise exceeds what is counted for it with 2^-security at most. 40 is for results that
            nobody else sees fail; 128 where others see whether they are right.

    Raises:
        ParameterError: an unknown name, a set below 128 bits by name alone (`params.named_bfv` takes a reason), or a
            security outside 1 ... 512.
    """

    saved_by = (
        "`ringforge.parties.save_secret_key(path, session.context, session.secret_key)` writes its key to a file, and "
        "`load_secret_key(path, context)` reads it"
    )

    def __init__(
        self,
        params: Parameters | str,
        threads: int = 1,
        fixed_seed_for_tests: TestSeed | None = None,
        security: int = 40,
    ) -> None:
        self.context = Context(resolve_bfv(params), security)
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

    def add_galois_keys(self, elements: Iterable[int], limbs: int | None = None) -> None:
        """Makes the keys of Galois elements that there is none of yet, such as those of a `LinearPlan`."""
        for element in elements:
            if element != 1 and element not in self.galois_keys:
                self.galois_keys.insert(self.client.galois_key(self.secret_key, element, limbs, self.threads))

    def add_rotation_keys(self, steps: Iterable[int], limbs: int | None = None) -> None:
        """Makes the Galois keys for rotations of both rows by these steps."""
        self.add_galois_keys((self.context.rotation_element(step) for step in steps), limbs)

    def add_row_swap_key(self, limbs: int | None = None) -> None:
        """Makes the Galois key that exchanges the rows."""
        self.add_galois_keys([self.context.swap_element], limbs)

    def encrypt(
        self, values: npt.ArrayLike, *, packing: Packing = "slots", limbs: int | None = None, public: bool = False
    ) -> Ciphertext:
        """Encrypts integers from -⌊t/2⌋ to t - 1.

        Args:
            values: for slots shape (n,) with n <= N, row 0 then row 1, or (2, n) with n <= N/2; for coefficients (n,).
            packing: slots, which are multiplied one by one, or coefficients of a polynomial.
            limbs: fewer than all of Q, for a smaller ciphertext with a smaller noise budget.
            public: under the public key.

        Raises:
            ShapeError, ringforge.ValueError, ParameterError: as `bfv.encode`.
        """
        plaintext = encode(self.context, values, packing)
        # Two calls: each key type is an overload of its own.
        if public:
            return self.client.encrypt(plaintext, self.public_key, limbs)
        return self.client.encrypt(plaintext, self.secret_key, limbs)

    def decrypt(
        self,
        c: Ciphertext,
        *,
        packing: Packing = "slots",
        signed: bool = True,
        share_bits: float | None = None,
        queries: int = 1,
        anyway: bool = False,
    ) -> Ints:
        """All N integers, in flat order: row 0, then row 1. `.reshape(2, -1)` gives the rows.

        Args:
            signed: in [-t/2, t/2), else in [0, t).
            share_bits, queries: noise is added first, so that the result may be shown to others without helping them
                to the key: docs/bfv.md.
            anyway: decrypt also what may be wrong by its prediction, which assumes the worst; `noise_budget` measures.

        Raises:
            NoiseError: by its predicted noise the ciphertext may decrypt to wrong numbers. LevelError: it does, or
            there is no room for the noise of `share_bits`.
        """
        left = self.predicted_budget(c)
        if left <= 0 and not anyway:
            raise NoiseError(
                f"the predicted noise budget is {left:.1f} bits, so numbers may come out wrong: compute with fewer "
                "products or a set with more primes (params.suggest_bfv), or measure with noise_budget and decrypt "
                "with anyway=True"
            )
        if share_bits is None:
            plaintext = self.client.decrypt(c, self.secret_key, self.threads, anyway)
        else:
            plaintext = self.client.decrypt_to_share(c, self.secret_key, share_bits, queries)
        return decode(self.context, plaintext, packing, signed=signed)

    def noise_budget(self, c: Ciphertext) -> float:
        """Bits by which the noise could still grow before numbers come out wrong, measured with the key; 0: they do."""
        return float(self.client.noise_budget(c, self.secret_key))

    def predicted_budget(self, c: Ciphertext) -> float:
        """The same as everybody predicts it, without the key: not above what is measured."""
        return float(self.evaluator.budget(c))
