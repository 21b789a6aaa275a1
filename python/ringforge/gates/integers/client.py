# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The key holder's side of encrypted integers, and their bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ringforge import _native
from ringforge.errors import FormatError, MissingKeyError, ParameterError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.gates import bits as bit_arrays
from ringforge.gates import noise as noises
from ringforge.gates import sets
from ringforge.gates.bits import Bits, Evaluator, Keyed
from ringforge.gates.clear import ClearKey
from ringforge.gates.integers.arrays import EncryptedArray, made
from ringforge.gates.integers.provenance import Noise, numbers
from ringforge.gates.integers.types import IntType, int_type
from ringforge.gates.storage import bits_from_bytes, bits_to_bytes

if TYPE_CHECKING:
    from ringforge._native.fhew import GateParameters, SecretKey

#: What the bits of a written integer are: fresh from encryption, of gates, or sums, which are refreshed before use.
_FRESH, _GATE, _SUM = "fresh", "gate", "sum"


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


def to_bytes(x: EncryptedArray) -> bytes:
    """A record of encrypted bits whose one array is named after the type and the noise: `uint8:fresh`."""
    bits, noise = x._state
    s = sets.named(bits.params.name, "made for keys that there are already")
    state = _SUM if noise.is_sum else _FRESH if noise.variance <= noises.input_variance(s, "fresh") else _GATE
    return bits_to_bytes({f"{x.dtype}:{state}": bits})


def from_bytes(data: bytes, owner: Keyed | GateParameters) -> EncryptedArray:
    """Reads what `x.to_bytes()` wrote; with an evaluator, the integers are bound to it.

    Args:
        data: the bytes.
        owner: an evaluator or a key that they must belong to, or parameters.

    Raises:
        FormatError: damaged, or no encrypted integers. MismatchError: of other parameters or another key.
    """
    if not isinstance(data, bytes | bytearray | memoryview):
        raise ParameterError(f"{type(data).__name__} is no bytes: from_bytes(x.to_bytes(), evaluator)")
    found = bits_from_bytes(bytes(data), owner)
    if len(found) != 1:
        raise FormatError(
            f"{len(found)} arrays of encrypted bits where one integer or array is needed: gates.load_bits"
        )
    ((name, bits),) = found.items()
    label, _, state = name.partition(":")
    kind = _type_of(label, state)
    if not bits.ndim or bits.shape[-1] != kind.width:
        raise FormatError(f"encrypted bits of shape {bits.shape} say that they are {kind}: the file is damaged")
    s = sets.named(bits.params.name, "made for keys that there are already")
    # A sum's own history stays behind: it counts as too noisy for anything but decryption and a refresh.
    noise = {
        _FRESH: Noise(noises.input_variance(s, "fresh")),
        _GATE: Noise(noises.input_variance(s, "mux")),
        _SUM: Noise(float(s.rotation_modulus), numbers(bits)),
    }[state]
    bound = owner if isinstance(owner, Evaluator) else None
    return made(bits.bound(bound), kind, noise)


def _type_of(label: str, state: str) -> IntType:
    try:
        if state not in (_FRESH, _GATE, _SUM):
            raise ParameterError("unknown state")
        return int_type(label)
    except (ParameterError, RingforgeValueError):
        raise FormatError(
            f'encrypted bits "{label}" that are no integers: integers.of_bits(bits, dtype) makes integers of bits'
        ) from None
