# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The key holder's side of encrypted integers, and reading their bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ringforge import _native
from ringforge.arrays import refuse_masked
from ringforge.bytes_form import File, reading
from ringforge.errors import MissingKeyError, ParameterError
from ringforge.gates import bits as bit_arrays
from ringforge.gates import noise as noises
from ringforge.gates import sets
from ringforge.gates.bit_records import MAX_BITS_FILE
from ringforge.gates.bits import Bits, Evaluator, Keyed
from ringforge.gates.clear import ClearKey
from ringforge.gates.integers.arrays import EncryptedArray, made
from ringforge.gates.integers.provenance import Noise
from ringforge.gates.integers.records import read
from ringforge.gates.integers.types import IntType, int_type

if TYPE_CHECKING:
    from ringforge._native.fhew import GateParameters, SecretKey


def _holder(secret: Any, what: str) -> SecretKey | ClearKey:
    if isinstance(secret, _native.fhew.SecretKey | ClearKey):
        return secret
    if isinstance(secret, _native.fhew.EvaluationKey | Evaluator):
        raise MissingKeyError(f"the server's key {what}s nothing: take the secret key, the first that keygen gives")
    raise ParameterError(
        f"{type(secret).__name__} where a secret key is needed: integers.{what}(secret, ...), the first of keygen's two"
    )


def encrypt(secret: SecretKey | ClearKey, value: Any, dtype: Any) -> EncryptedArray:
    """An encrypted integer, or an array of them.

    Args:
        secret: the secret key.
        value: an int, or nested lists or an array of them, each within the type's range.
        dtype: the type: "uint8", "int32", "bool", any width from 1 to 256; :class:`IntType`; numpy's types.

    Raises:
        MissingKeyError, ParameterError: no secret key, or no type. ringforge.ValueError: a number is out of range.
    """
    holder, kind = _holder(secret, "encrypt"), int_type(dtype)
    if isinstance(value, EncryptedArray | Bits):
        raise ParameterError(f"{type(value).__name__} is encrypted already")
    refuse_masked(value, "numbers")
    values = np.asarray(value, dtype=object)
    checked = np.empty(values.shape, dtype=object)
    checked[...] = np.array([kind.check(v) for v in values.reshape(-1)], dtype=object).reshape(values.shape)
    clear = bit_arrays.to_bits(checked, kind.width)
    s = sets.named(holder.params.name, "made for keys that there are already")
    fresh = Noise(noises.input_variance(s, "fresh"))
    return made(bit_arrays.encrypt(holder, clear), kind, fresh)


def decrypt(secret: SecretKey | ClearKey, x: EncryptedArray) -> Any:
    """The integer, or nested lists of them; of `bool`, truth values.

    Raises:
        MissingKeyError, ParameterError: no secret key, or no encrypted integer. MismatchError: another key's.
    """
    holder = _holder(secret, "decrypt")
    if isinstance(x, Bits):
        raise ParameterError("these are bits: gates.decrypt, or integers.of_bits(bits, dtype) first")
    if not isinstance(x, EncryptedArray):
        raise ParameterError(f"{type(x).__name__} is no encrypted integer: decrypt(secret, x)")
    clear = bit_arrays.decrypt(holder, x._state[0])
    if x.dtype.boolean:
        return clear[..., 0].astype(bool).tolist()
    return bit_arrays.from_bits(clear, x.dtype.signed)


def from_bytes(data: bytes, owner: Keyed | GateParameters) -> EncryptedArray:
    """Reads what `x.to_bytes()` wrote; with an evaluator, the integers are bound to it.

    Args:
        data: the bytes.
        owner: an evaluator or a key that they must belong to, or parameters.

    Raises:
        FormatError: damaged, or no encrypted integers. MismatchError: of other parameters or another key.
    """
    return made(*read(data, owner))


def load(path: File, owner: Keyed | GateParameters) -> EncryptedArray:
    """Read what `x.save(path)` wrote, from a file's name or an open binary file. Raises as `from_bytes`."""
    with reading(path, MAX_BITS_FILE) as (f, _):
        return from_bytes(f.read(MAX_BITS_FILE + 1), owner)


class FheType(IntType):
    """A type that encrypts: `FheUint8.encrypt(5, secret)`."""

    def encrypt(self, value: Any, secret: SecretKey | ClearKey) -> EncryptedArray:
        """An encrypted integer, or an array of them: :func:`encrypt`."""
        return encrypt(secret, value, self)


FheBool = FheType(1, boolean=True)
FheUint8, FheUint16, FheUint32, FheUint64 = (FheType(w) for w in (8, 16, 32, 64))
FheInt8, FheInt16, FheInt32, FheInt64 = (FheType(w, True) for w in (8, 16, 32, 64))
