# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Both sides of BGV in one object, and what goes in and out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from ringforge._native import GaloisKeys, PublicKey, RelinKey, TestSeed
from ringforge._native.bgv import Ciphertext, Client, Context, Evaluator, Multiplier, Parameters
from ringforge.arrays import octets, whole_numbers
from ringforge.binary_slots import BinarySlots, Bytes, Elements
from ringforge.errors import NoiseError, ParameterError, ShapeError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.params import resolve_bgv
from ringforge.secrecy import Secret

#: What numbers stand for: elements of GF(2^d), bytes of AES or bits in slots; or coefficients of 1, X, X^2, ...
Packing = Literal["elements", "bytes", "bits", "coefficients"]


def _checked(values: npt.ArrayLike, room: int, packing: Packing) -> npt.NDArray[np.generic]:
    if packing not in get_args(Packing):
        raise ParameterError(f"there is no packing {packing!r}: choose one of {', '.join(get_args(Packing))}")
    a = whole_numbers(octets(values) if packing == "bytes" else values, f'values for packing "{packing}"')
    if a.ndim != 1 or a.size > room:
        raise ShapeError(f"{packing} of shape {a.shape}: (n,) is needed, with n up to {room}")
    return a


def encode(slots: BinarySlots, values: npt.ArrayLike, packing: Packing = "elements") -> Bytes:
    """A plaintext: N bits, the coefficients of 1, X, X^2, ... What is not given is 0.

    Args:
        slots: of the ring's index.
        values: shape (n,), n at most the slots, or N for coefficients: integers that the packing has; for bytes also
            `bytes`, `bytearray` and `memoryview`.

    Raises:
        ShapeError: another shape, or too many. ringforge.ValueError: other values.
        ParameterError: another packing, or bytes where 8 does not divide d.
    """
    room = slots.degree if packing == "coefficients" else slots.size
    a = _checked(values, room, packing)
    a = np.pad(a, (0, room - a.size))
    if packing == "elements":
        return slots.encode(a)
    if packing == "bytes":
        return slots.encode_bytes(a)
    if packing == "bits":
        return slots.encode_bits(a)
    if a.size and not (int(a.min()) >= 0 and int(a.max()) <= 1):
        raise RingforgeValueError("coefficients modulo 2 are 0 or 1")
    return np.ascontiguousarray(a, np.uint8)


def decode(slots: BinarySlots, bits: Bytes, packing: Packing = "elements") -> Bytes | Elements:
    """Its inverse: all slots, or all N coefficients.

    Raises:
        ringforge.ValueError: slots hold other elements than the packing has. ParameterError: another packing.
    """
    _checked(bits, slots.degree, packing)
    if packing == "elements":
        return slots.decode(bits)
    if packing == "bytes":
        return slots.decode_bytes(bits)
    return slots.decode_bits(bits) if packing == "bits" else bits


class Session(Secret):
    """Both sides of BGV in one object, for experiments and tests. Deployments keep `Client` apart.

    Args:
        params: the parameter set, or the name of a shipped one.
        threads: for key generation and evaluation.
        fixed_seed_for_tests: makes everything reproducible, and nothing secret.
        security: a source of noise exceeds what is counted for it with 2^-security at most. 40 is for results that
            nobody else sees fail; 128 where others see whether they are right.

    Raises:
        ParameterError: an unknown name, a set below 128 bits by name alone (`params.named_bgv` takes a reason), or a
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
        self.context = Context(resolve_bgv(params), security)
        self.client = Client(self.context, fixed_seed_for_tests)
        self.secret_key = self.client.secret_key()
        self.evaluator = Evaluator(self.context, threads)
        self.galois_keys = GaloisKeys()
        self.threads = threads

    @property
    def params(self) -> Parameters:
        return self.context.params

    @cached_property
    def slots(self) -> BinarySlots:
        return BinarySlots(self.params.m)

    @cached_property
    def public_key(self) -> PublicKey:
        return self.client.public_key(self.secret_key)

    @cached_property
    def relin_key(self) -> RelinKey:
        return self.client.relin_key(self.secret_key, None, self.threads)

    def add_galois_keys(self, elements: Iterable[int], limbs: int | None = None) -> None:
        """Makes the keys of Galois elements that there is none of yet."""
        for element in elements:
            if element != 1 and element not in self.galois_keys:
                self.galois_keys.insert(self.client.galois_key(self.secret_key, element, limbs, self.threads))

    def add_frobenius_keys(self, powers: Iterable[int], limbs: int | None = None) -> None:
        """Makes the Galois keys that raise every slot to the power 2^k."""
        self.add_galois_keys((self.context.frobenius_element(k) for k in powers), limbs)

    def encrypt(
        self, values: npt.ArrayLike, *, packing: Packing = "elements", limbs: int | None = None, public: bool = False
    ) -> Ciphertext:
        """Encrypts up to as many values as there are slots, or N coefficients; the rest is 0.

        Args:
            limbs: fewer than all of Q, for a smaller ciphertext with a smaller noise budget.
            public: under the public key.

        Raises:
            ShapeError, ringforge.ValueError, ParameterError: as `encode`. LevelError: Q has not so many limbs.
        """
        bits = encode(self.slots, values, packing)
        # Two calls: each key type is an overload of its own.
        if public:
            return self.client.encrypt(bits, self.public_key, limbs)
        return self.client.encrypt(bits, self.secret_key, limbs)

    def decrypt(
        self,
        c: Ciphertext,
        *,
        packing: Packing = "elements",
        share_bits: float | None = None,
        queries: int = 1,
        anyway: bool = False,
    ) -> Bytes | Elements:
        """All slots, or all N coefficients.

        Args:
            share_bits, queries: noise is added first, so that the result may be shown to others without helping them
                to the key: docs/bgv.md.
            anyway: decrypt also what may be wrong by its prediction, which assumes the worst; `noise_budget` measures.

        Raises:
            NoiseError: by its predicted noise the ciphertext may decrypt to wrong values. LevelError: it does, or
            there is no room for the noise of `share_bits`. ringforge.ValueError: as `decode`.
        """
        left = self.predicted_budget(c)
        if left <= 0 and not anyway:
            raise NoiseError(
                f"the predicted noise budget is {left:.1f} bits, so values may come out wrong: compute with fewer "
                "products, drop primes after products, take a set with more primes, or measure with noise_budget and "
                "decrypt with anyway=True"
            )
        if share_bits is None:
            bits = self.client.decrypt(c, self.secret_key, self.threads, anyway)
        else:
            bits = self.client.decrypt_to_share(c, self.secret_key, share_bits, queries, None, self.threads)
        return decode(self.slots, np.asarray(bits), packing)

    def multiply(self, a: Ciphertext, b: Ciphertext, loss: float = 0.5) -> Ciphertext:
        """The product, relinearised, at the fewest limbs that cost at most `loss` bits of budget.

        Raises:
            LevelError: operands of different limbs.
        """
        if not (isinstance(a, Ciphertext) and isinstance(b, Ciphertext)):
            raise TypeError(f"{type(a).__name__} and {type(b).__name__} cannot be multiplied: take two ciphertexts")
        rules, limbs = self.context.rules, a.limbs
        to = rules.fewest_limbs(rules.multiplied(a.noise, b.noise, limbs), limbs, loss)
        return self.evaluator.multiply(a, b, self.relin_key, limbs - to)

    def multiplier(self, values: npt.ArrayLike, *, packing: Packing = "elements", special: bool = True) -> Multiplier:
        """A public plaintext for products and sums, and with `special` for `linear_maps`. Raises as `encode`."""
        return self.context.multiplier(encode(self.slots, values, packing), None, special, self.threads)

    def linear_maps(self, c: Ciphertext, maps: Sequence[Sequence[Multiplier]], drop: int = 0) -> list[Ciphertext]:
        """Several GF(2)-linear maps of all slots: sum over k of `maps[i][k]` * x^(2^k), with one ModUp for all.

        Raises:
            MissingKeyError: `add_frobenius_keys` makes them. LevelError, ParameterError: as `Evaluator.frobenius_sums`.
        """
        sums = [[(self.context.frobenius_element(k), m) for k, m in enumerate(terms)] for terms in maps]
        return self.evaluator.frobenius_sums(c, sums, self.galois_keys, drop)

    def noise_budget(self, c: Ciphertext) -> float:
        """Bits by which the noise could still grow before values come out wrong, measured with the key; 0: they do."""
        return float(self.client.noise_budget(c, self.secret_key, self.threads))

    def predicted_budget(self, c: Ciphertext) -> float:
        """The same as everybody predicts it, without the key: not above what is measured."""
        return float(self.evaluator.budget(c))
