# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Keys and ciphertexts in a form that processes share without copies.

`freeze` says what an object is and shows its words where they lie; `thaw` makes an object whose words stay in the
arrays it is given. Between the two, a :class:`Frozen` is pickled with its arrays out of band (protocol 5), so that a
store that shares arrays shares keys. Records are for files and foreign bytes: they are packed, checksummed, and copied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge import _native
from ringforge._native import frozen as native
from ringforge.devices.base import KeySet
from ringforge.devices.sharding import Pool, Stored
from ringforge.errors import FormatError, MismatchError, ParameterError, ShapeError

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Frozen:
    """An object as what is said of it, and its words.

    Attributes:
        kind: of the object. facts: small values, as its kind has them. arrays: its words, not to be written.
        parts: objects that it is made of.
    """

    kind: str
    facts: tuple[Any, ...] = ()
    arrays: tuple[Array, ...] = ()
    parts: tuple[Frozen, ...] = ()

    @property
    def bytes(self) -> int:
        """Of the arrays."""
        return sum(a.nbytes for a in self.arrays) + sum(p.bytes for p in self.parts)


@dataclass(frozen=True)
class _How:
    """How an object is thawed; as the arguments of `thaw`."""

    borrow: bool
    check: bool
    threads: int

    def of(self, part: Frozen) -> Any:
        thawing = _THAW.get(part.kind) if isinstance(part, Frozen) and isinstance(part.kind, str) else None
        if thawing is None:
            raise FormatError(f"{part!r:.80} is nothing that was frozen")
        for array in part.arrays:
            if (
                not isinstance(array, np.ndarray)
                or array.ndim != 1
                or array.dtype.kind not in "uf"
                or not array.dtype.isnative
                or not array.flags.c_contiguous
            ):
                raise FormatError(f"{part.kind} was frozen with words that are no flat array of numbers")
        return thawing(part, self)


def _words(arrays: Sequence[Array]) -> list[Array]:
    if any(a.dtype != np.uint64 for a in arrays):
        raise FormatError("residues were frozen in words of other than 64 bits")
    return list(arrays)


def freeze(value: Any) -> Frozen:
    """An object in the form that processes share. Its words are not copied: they live as long as what this returns.

    Args:
        value: Galois keys, a relinearisation key, an evaluation key of gates, a key set of such, a ciphertext of CKKS,
            BFV or BGV, or rotations of a key of signals.

    Raises:
        ParameterError: there is no such form of it.
    """
    freezing = _FREEZE.get(type(value))
    if freezing is None:
        raise ParameterError(
            f"{type(value).__name__} has no form that processes share; these have: "
            + ", ".join(sorted({kind.__name__ for kind in _FREEZE}))
        )
    return freezing(value)


def stored(pool: Pool, value: Any) -> Stored:
    """An object in the store of a pool, once for each object. Key sets are put without keys that are an
    application's own; keys that change are put again.

    Args:
        value: as of `freeze`.
    """
    if isinstance(value, KeySet):
        return pool.put(freeze(KeySet(value.galois, value.relin)), value, _version(value))
    return pool.put(freeze(value), value, _version(value))


def _version(value: Any) -> tuple[Any, ...]:
    """What tells keys from what they were before some were inserted."""
    if isinstance(value, KeySet):
        return (*_version(value.galois), 0 if value.relin is None else value.relin.key_id)
    if isinstance(value, _native.GaloisKeys):
        return tuple((e, value.level(e), value.key_id(e)) for e in value.elements)
    return ()


def thaw(
    frozen: Frozen,
    context: _native.Context | _native.bfv.Context | _native.bgv.Context | None = None,
    *,
    borrow: bool | None = None,
    check: bool = False,
    threads: int = 1,
) -> Any:
    """The object that was frozen.

    Kinds, lengths, primes and what is said of the object are checked, words are not: a store of one's own keeps them.
    What borrows words keeps their array, is for reading, and copies of it own theirs.

    Args:
        context: what the object must belong to, ciphertexts and keys; other contexts of the same primes will do.
        borrow: whether words stay in the arrays, where these lie at multiples of 64 bytes: else they are copied.
            By default keys and rotations borrow, ciphertexts copy.
        check: also compares every word with its modulus; for what a worker returned. Arrays of such a result belong to
            the caller, who does not write to them.
        threads: for the comparison.

    Raises:
        FormatError: it is none of the kind, or does not belong to the context.
    """
    if not isinstance(frozen, Frozen):
        raise FormatError(f"{type(frozen).__name__} is nothing that was frozen")
    try:
        how = _How(frozen.kind not in _COPIED if borrow is None else borrow, check, threads)
        value = how.of(frozen)
        if context is not None:
            _belongs(value, context)
    except FormatError:
        raise
    # What another process sends may be of any type: the native module refuses those it does not take, and numbers
    # outside the range of its own.
    except (
        TypeError,
        AttributeError,
        ValueError,
        LookupError,
        OverflowError,
        RecursionError,
        MismatchError,
        ShapeError,
    ) as e:
        raise FormatError(f"{frozen.kind!r:.80} was frozen with parts that do not fit: {e}") from None
    return value


def _belongs(value: Any, context: Any) -> None:
    if isinstance(value, KeySet):
        _belongs(value.galois, context)
        if value.relin is not None:
            _belongs(value.relin, context)
    else:
        native.check(context, value)


# ---- keys --------------------------------------------------------------------------------------------


def _freeze_galois(keys: _native.GaloisKeys) -> Frozen:
    parts = []
    for element in keys.elements:
        facts, words = native.key(keys, element)
        parts.append(Frozen("Galois key", (element, facts), tuple(words)))
    return Frozen("Galois keys", parts=tuple(parts))


def _thaw_galois_key(frozen: Frozen, how: _How) -> _native.GaloisKey:
    element, facts = frozen.facts
    return native.galois_key(element, facts, _words(frozen.arrays), how.check, how.threads)


def _thaw_galois(frozen: Frozen, how: _How) -> _native.GaloisKeys:
    keys = _native.GaloisKeys()
    for part in frozen.parts:
        if part.kind != "Galois key":
            raise FormatError(f"{part.kind!r:.80} among Galois keys")
        key = how.of(part)
        if key.element in keys:
            raise FormatError(f"two Galois keys of the element {key.element}")
        keys.insert(key)
    return keys


def _freeze_relin(key: _native.RelinKey) -> Frozen:
    facts, words = native.key(key)
    return Frozen("relinearisation key", (facts,), tuple(words))


def _thaw_relin(frozen: Frozen, how: _How) -> _native.RelinKey:
    (facts,) = frozen.facts
    return native.relin_key(facts, _words(frozen.arrays), how.check, how.threads)


def _freeze_keys(keys: KeySet) -> Frozen:
    parts = [freeze(keys.galois), *([] if keys.relin is None else [freeze(keys.relin)]), *map(freeze, keys.own)]
    return Frozen("key set", (keys.relin is not None,), parts=tuple(parts))


def _thaw_keys(frozen: Frozen, how: _How) -> KeySet:
    (has_relin,) = frozen.facts
    kinds = ["Galois keys", *(["relinearisation key"] if has_relin else [])]
    if [part.kind for part in frozen.parts[: len(kinds)]] != kinds:
        raise FormatError("a key set with other keys than it says")
    galois, *others = (how.of(part) for part in frozen.parts)
    return KeySet(galois, others[0] if has_relin else None, tuple(others[1:] if has_relin else others))


# ---- ciphertexts -------------------------------------------------------------------------------------


def _freeze_ciphertext(kind: str) -> Callable[[Any], Frozen]:
    def freezing(ciphertext: Any) -> Frozen:
        facts, own, words = native.ciphertext(ciphertext)
        return Frozen(kind, (facts, own), tuple(words))

    return freezing


def _thaw_ciphertext(make: Callable[..., Any]) -> Callable[[Frozen, _How], Any]:
    def thawing(frozen: Frozen, how: _How) -> Any:
        facts, own = frozen.facts
        return make(facts, own, _words(frozen.arrays), how.borrow, how.check, how.threads)

    return thawing


def _freeze_babies(babies: _native.omr.Babies) -> Frozen:
    facts, noise, words = native.babies(babies)
    return Frozen("rotations of a key", (tuple(facts), tuple(noise)), tuple(a for pair in words for a in pair))


def _thaw_babies(frozen: Frozen, how: _How) -> _native.omr.Babies:
    facts, noise = frozen.facts
    words = _words(frozen.arrays)
    if len(words) != 2 * len(facts):
        raise FormatError(f"{len(facts)} rotations of a key with {len(words)} polynomials; each has two")
    pairs = [words[i : i + 2] for i in range(0, len(words), 2)]
    return native.omr_babies(list(facts), list(noise), pairs, how.borrow, how.check, how.threads)


# ---- gates -------------------------------------------------------------------------------------------


# Spectra are not shared: their order is the processor's, and making them takes less than a bootstrap or two.
def _freeze_gates(key: _native.fhew.EvaluationKey) -> Frozen:
    facts, bootstrap_bits, switch_bits, words = native.gate_key(key)
    return Frozen("gate evaluation key", (facts, bootstrap_bits, switch_bits), tuple(words))


def _thaw_gates(frozen: Frozen, how: _How) -> _native.fhew.EvaluationKey:
    facts, bootstrap_bits, switch_bits = frozen.facts
    bootstrap, table = frozen.arrays
    if bootstrap.dtype != np.uint8 or table.dtype != np.uint8:
        raise FormatError("an evaluation key of gates was frozen with words that are no bytes")
    return native.gate_evaluation_key(
        facts, bootstrap_bits, switch_bits, (bootstrap, table), how.borrow, how.check, how.threads
    )


_FREEZE: dict[type, Callable[[Any], Frozen]] = {
    _native.GaloisKeys: _freeze_galois,
    _native.RelinKey: _freeze_relin,
    KeySet: _freeze_keys,
    _native.Ciphertext: _freeze_ciphertext("CKKS ciphertext"),
    _native.bfv.Ciphertext: _freeze_ciphertext("BFV ciphertext"),
    _native.bgv.Ciphertext: _freeze_ciphertext("BGV ciphertext"),
    _native.omr.Babies: _freeze_babies,
    _native.fhew.EvaluationKey: _freeze_gates,
}
_THAW: dict[str, Callable[[Frozen, _How], Any]] = {
    "Galois keys": _thaw_galois,
    "Galois key": _thaw_galois_key,
    "relinearisation key": _thaw_relin,
    "key set": _thaw_keys,
    "CKKS ciphertext": _thaw_ciphertext(native.ckks_ciphertext),
    "BFV ciphertext": _thaw_ciphertext(native.bfv_ciphertext),
    "BGV ciphertext": _thaw_ciphertext(native.bgv_ciphertext),
    "rotations of a key": _thaw_babies,
    "gate evaluation key": _thaw_gates,
}
_COPIED = frozenset({"CKKS ciphertext", "BFV ciphertext", "BGV ciphertext"})
