# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Numbers from users: real ones, and nothing that becomes real by losing a part."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ringforge.errors import ValueError as RingforgeValueError


def real_numbers(values: npt.ArrayLike, what: str) -> npt.NDArray[np.float64]:
    """An array of doubles.

    Raises:
        ringforge.ValueError: complex numbers, text, objects, rows of unequal length.
    """
    try:
        a = np.asarray(values)
    except ValueError as e:
        raise RingforgeValueError(f"{what} are no array of numbers: {e}") from None
    if a.dtype.kind not in "fiub":
        raise RingforgeValueError(
            f"{what} are {a.dtype} entries; real numbers are needed"
            + (": take real and imaginary parts apart" if a.dtype.kind == "c" else "")
        )
    return a.astype(np.float64)
