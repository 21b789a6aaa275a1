# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Encrypted integers as bytes: a record of encrypted bits whose one array is named after the type and the noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ringforge.errors import FormatError, ParameterError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.gates.bits import Bits, Evaluator, Keyed
from ringforge.gates.integers.provenance import Noise, levels, numbers
from ringforge.gates.integers.types import IntType, int_type
from ringforge.gates.integers.values import EncryptedValue
from ringforge.gates.storage import bits_from_bytes, bits_to_bytes

if TYPE_CHECKING:
    from ringforge._native.fhew import GateParameters

#: What the bits of a written integer are: fresh from encryption; with the noise of gates of the method ginx at most; or
#: noisier, like sums, and refreshed before use.
_FRESH, _GATE, _SUM = "fresh", "gate", "sum"


def to_bytes(x: EncryptedValue) -> bytes:
    """A record of encrypted bits whose one array is named like `uint8:fresh`."""
    bits, noise = x._state
    known = levels(bits.params.name, "ginx")
    if noise.is_sum or noise.variance > known.gate.variance:
        state = _SUM
    else:
        state = _FRESH if noise.variance <= known.fresh.variance else _GATE
    return bits_to_bytes({f"{x.dtype}:{state}": bits})


def read(data: bytes, owner: Keyed | GateParameters) -> tuple[Bits, IntType, Noise]:
    """What :func:`to_bytes` wrote; with an evaluator, the bits are bound to it.

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
    kind = type_of(label, state)
    if not bits.ndim or bits.shape[-1] != kind.width:
        raise FormatError(f"encrypted bits of shape {bits.shape} say that they are {kind}: the file is damaged")
    known = levels(bits.params.name, "ginx")
    # A sum's own history stays behind: it counts as too noisy for anything but decryption and a refresh.
    noise = {
        _FRESH: Noise(known.fresh.variance),
        _GATE: Noise(known.gate.variance),
        _SUM: Noise(float(bits.params.rotation_modulus), numbers(bits)),
    }[state]
    return bits.bound(owner if isinstance(owner, Evaluator) else None), kind, noise


def type_of(label: str, state: str) -> IntType:
    """The type that an array's name gives. Raises: FormatError: it names no integers."""
    try:
        if state not in (_FRESH, _GATE, _SUM):
            raise ParameterError("unknown state")
        return int_type(label)
    except (ParameterError, RingforgeValueError):
        raise FormatError(
            f'encrypted bits "{label}" that are no integers: integers.of_bits(bits, dtype) makes integers of bits'
        ) from None
