# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The clear device: the same plans on unencrypted values, for protocol tests that run in milliseconds.

It performs the very rotations and products of a plan, so it also checks packings against numpy. It hides nothing;
whatever it produces says "clear".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from ringforge.devices.base import Device
from ringforge.errors import LevelError, MismatchError, ShapeError

#: Real or complex numbers.
Slots = npt.NDArray[Any]


@dataclass(frozen=True)
class ClearVector:
    """What stands for a ciphertext: the slots themselves, with level, scale and bound as metadata."""

    slots: Slots
    level: int
    scale: float
    bound: float


class ClearDevice(Device):
    """Runs kernels without encryption."""

    name = "clear"
    description = "NO ENCRYPTION: the same plans on plain numbers"
    encrypts = False


def vectors_of(inputs: Sequence[Any], level: int, slots: int, count: int | None = None) -> list[Slots]:
    """The slots of inputs that must have a level, a length, and a number.

    Raises:
        MismatchError: an input is encrypted. LevelError, ShapeError: one has another level or length, or there are more
        or fewer.
    """
    if not inputs or (count is not None and len(inputs) != count):
        raise ShapeError(f"{len(inputs)} inputs, where the kernel takes {count or 'at least 1'}")
    for v in inputs:
        if not isinstance(v, ClearVector):
            raise MismatchError(f"the clear device computes on ClearVector, not {type(v).__name__}: it has no keys")
        if v.level != level:
            raise LevelError(f"the kernel takes inputs of level {level}, this one has {v.level}")
        if v.slots.shape != (slots,):
            raise ShapeError(f"an input has slots of shape {v.slots.shape}; ({slots},) is needed")
    return [v.slots for v in inputs]
