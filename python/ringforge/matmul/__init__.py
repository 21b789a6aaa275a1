# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Products of encrypted matrices.

>>> import numpy as np
>>> from ringforge import matmul
>>> s = matmul.Session("matmul-a-128")
>>> A, B = s.encrypt([[0.5, -0.5], [0.25, 0.0]]), s.encrypt([[1.0, 0.5], [0.5, -0.5]])
>>> np.round((A @ B).decrypt(), 4).tolist()
[[0.25, 0.5], [0.25, 0.125]]

With the parties apart, a program says what is computed; see `trace`, `KeyHolder`, `Contributor` and `Server`.
"""

from ringforge.matmul.matrix import EncryptedMatrix
from ringforge.matmul.program import Input, Program, trace
from ringforge.matmul.roles import Contributor, EvaluationKeys, KeyHolder, Parcel, Server, Session, Shared

__all__ = [
    "Contributor",
    "EncryptedMatrix",
    "EvaluationKeys",
    "Input",
    "KeyHolder",
    "Parcel",
    "Program",
    "Server",
    "Session",
    "Shared",
    "trace",
]
