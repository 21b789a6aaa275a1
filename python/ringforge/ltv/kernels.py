# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The kernels of LTV, and how `cpu` runs them: sums of products, and relinearisation by the key of one level.

There is no `clear`: whoever runs them adds, carries and switches ciphertexts between them, on real ones, and AES in the
clear is its own engine (`ringforge.aes.clear`).
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge._native.ltv import BatchEvaluator, Ciphertext, Context, EvalKey, KeyParts, Relinearizer
from ringforge.devices import Execution, Implementation, KeySet, Needs, Preparation, Report, register, register_cases
from ringforge.errors import LevelError, MismatchError, MissingKeyError
from ringforge.ltv.keys import Room, StoredKey

__all__ = ["ProductSumsKernel", "RelinearizeKernel"]

Words = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class ProductSumsKernel:
    """Sums of products of sums of ciphertexts: `BatchEvaluator.products`.

    Inputs are ciphertexts of degree 1, with the primes of `level`; numbers in `sums` are theirs. There is a result for
    each output, of degree 2, to be relinearised.

    Attributes:
        context: parameters.
        level: of the results.
        sums: of inputs, each by their numbers. outputs: of products, each of two sums by their numbers.
        linear: sums that are added to each output; or none for all.
        independent: how noise of sums is told, as `BatchEvaluator` takes it.
    """

    context: Context
    level: int
    sums: tuple[tuple[int, ...], ...]
    outputs: tuple[tuple[tuple[int, int], ...], ...]
    linear: tuple[tuple[int, ...], ...] = ()
    independent: bool = False

    def needs(self) -> Needs:
        """What it asks of a device."""
        return _needs(self.context, self.level)

    @property
    def terms(self) -> int:
        """Products in all."""
        return sum(map(len, self.outputs))

    def run(self, inputs: Sequence[Any], threads: int = 1) -> list[Ciphertext]:
        """Results as the library computes them.

        Raises:
            MismatchError, LevelError, ShapeError: as `BatchEvaluator.products`; inputs of another level.
        """
        return self._batch(threads).products(self.checked(inputs), self.sums, self.outputs, self.linear)

    def operands(self, inputs: Sequence[Any], threads: int = 1) -> Words:
        """The sums, for a device that multiplies polynomials: residues in coefficient form, (sums, limbs, N).

        Raises:
            as `run`; ParameterError: the ring is not padded.
        """
        return self._batch(threads).operands(self.checked(inputs), self.sums, self.outputs, self.linear)

    def assemble(self, inputs: Sequence[Any], words: Words, threads: int = 1) -> list[Ciphertext]:
        """Results, from a device's: for each output the sum of its products alone, below X^(transform length), not
        reduced modulo Phi.

        Args:
            words: canonical residues, (outputs, limbs, transform length), contiguous.

        Raises:
            as `operands`; ShapeError: words of another shape; ringforge.ValueError: words that are no residues.
        """
        return self._batch(threads).assemble(self.checked(inputs), self.sums, self.outputs, self.linear, words)

    def _batch(self, threads: int) -> BatchEvaluator:
        return BatchEvaluator(self.context, threads, self.independent)

    def checked(self, inputs: Sequence[Any]) -> list[Ciphertext]:
        """Inputs, if they are ciphertexts with the primes of the level.

        Raises:
            MismatchError, LevelError: they are not.
        """
        limbs = self.context.params.limbs(self.level)
        found = ciphertexts(inputs)
        for c in found:
            if c.limbs != limbs:
                raise LevelError(
                    f"a ciphertext of {c.limbs} limbs, the kernel is for level {self.level}, which has {limbs}: "
                    "mod_switch or carry it"
                )
        return found


@dataclass(frozen=True)
class RelinearizeKernel:
    """Relinearisation of any number of ciphertexts, to the secret of one level.

    Keys: that level's evaluation key, an `EvalKey` or a `StoredKey`. Inputs are ciphertexts of the level above with its
    primes, results as many, with the same primes, to be switched.

    Attributes:
        context: parameters.
        level: of the key, 1 ... `params.levels`.
        lag: of the key: what the inputs are products over.
    """

    context: Context
    level: int
    lag: int = 0

    def needs(self) -> Needs:
        """What it asks of a device."""
        self.context.params.digits(self.level)  # refuses levels that have no key
        return _needs(self.context, self.level - 1)

    def found(self, keys: KeySet) -> EvalKey | StoredKey:
        """The key as it was given.

        Raises:
            MissingKeyError: there is none. LevelError: of another level. MismatchError: with another lag.
        """
        given = keys.of(EvalKey)
        key = keys.of(StoredKey) if given is None else given
        if key is None:
            raise MissingKeyError(
                f"the evaluation key of level {self.level} is missing: give the key set one, `ltv.EvalKey` or "
                "`KeyDirectory.stored`"
            )
        if key.level != self.level:
            raise LevelError(f"the evaluation key is of level {key.level}, the kernel of level {self.level}")
        if key.lag != self.lag:
            raise MismatchError(
                f"the evaluation key is for products over {key.lag} levels, the kernel for such over {self.lag}"
            )
        return key

    def key(self, keys: KeySet) -> EvalKey:
        """The key in memory, for a device that takes it word by word (`EvalKey.digit`).

        Raises:
            as `found`, and `KeyDirectory.level` for stored ones.
        """
        found = self.found(keys)
        return found if isinstance(found, EvalKey) else found.load()

    def parts(self, key: EvalKey, threads: int = 1) -> KeyParts:
        """Digits of ciphertexts for a device, and what becomes of its sums.

        Raises:
            MismatchError: a key of another context. ParameterError: the ring is not padded, or 16 bits do not hold a
            digit.
        """
        return KeyParts(self.context, key, threads)


def _needs(context: Context, level: int) -> Needs:
    p = context.params
    return Needs(p.degree, p.limbs(level), max(q.bit_length() for q in p.q))


def ciphertexts(inputs: Sequence[Any]) -> list[Ciphertext]:
    """Inputs, if they are ciphertexts of LTV.

    Raises:
        MismatchError: one is not.
    """
    for c in inputs:
        if not isinstance(c, Ciphertext):
            raise MismatchError(f"the kernel takes ciphertexts of LTV, not {type(c).__name__}")
    return list(inputs)


def ciphertext_bytes(inputs: Sequence[Ciphertext]) -> int:
    """Bytes of the words of all."""
    return sum(c.words.nbytes for c in inputs)


# ---- cpu -----------------------------------------------------------------------------------------


class _CpuProducts(Implementation):
    def run(self, r: Execution[ProductSumsKernel, None]) -> tuple[list[Any], Report]:
        start = time.perf_counter()
        made = r.kernel.run(r.inputs, r.threads)
        seconds = time.perf_counter() - start
        traffic = {"input": ciphertext_bytes(r.inputs), "output": ciphertext_bytes(made)}
        return list(made), Report("cpu", seconds, bytes=traffic, operations={"ring_product": r.kernel.terms})


class _Loaded:
    """A relinearizer with a key. At its end the memory goes back to where it came from."""

    def __init__(self, context: Context, threads: int, room: Room | None) -> None:
        self.relinearizer = Relinearizer(context, threads) if room is None else room.take(context, threads)
        if room is not None:
            weakref.finalize(self, room.give_back, context, threads, self.relinearizer)


class _CpuRelinearize(Implementation):
    def prepare(self, p: Preparation[RelinearizeKernel]) -> _Loaded:
        key = p.kernel.found(p.keys)
        if isinstance(key, EvalKey):
            made = _Loaded(p.kernel.context, p.threads, None)
            made.relinearizer.load(key)
        else:
            made = _Loaded(p.kernel.context, p.threads, key.room)
            key.read_into(made.relinearizer)
        return made

    def run(self, r: Execution[RelinearizeKernel, _Loaded]) -> tuple[list[Any], Report]:
        start = time.perf_counter()
        made = r.state.relinearizer.relinearize(ciphertexts(r.inputs), r.threads)
        seconds = time.perf_counter() - start
        traffic = {"input": ciphertext_bytes(r.inputs), "output": ciphertext_bytes(made)}
        return list(made), Report("cpu", seconds, bytes=traffic, operations={"key_switch": len(made)})


register(ProductSumsKernel, "cpu", _CpuProducts())
register(RelinearizeKernel, "cpu", _CpuRelinearize())
register_cases(ProductSumsKernel, "ringforge.ltv.cases")
register_cases(RelinearizeKernel, "ringforge.ltv.cases")
