# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Encrypted integers on gates: any width, signed or not, alone and in arrays.

    from ringforge import gates
    from ringforge.gates import integers

    secret, key = gates.keygen()
    x = integers.encrypt(secret, 23, "uint8")
    y = integers.encrypt(secret, [1, 2, 200], "uint8")

    evaluator = gates.Evaluator(key)
    z = (evaluator.bind(x) + y) * 3
    print(integers.decrypt(secret, z))          # [72, 75, 157]

Results wrap around. Operands are of one sign, and the result has the wider type; what else is needed, `astype` makes.
docs/gates.md says what operations cost.
"""

from ringforge.gates.integers.arrays import (
    EncryptedArray,
    EncryptedInt,
    concatenate,
    if_then_else,
    maximum,
    minimum,
    of_bits,
    select,
    stack,
    where,
)
from ringforge.gates.integers.client import (
    FheBool,
    FheInt8,
    FheInt16,
    FheInt32,
    FheInt64,
    FheUint8,
    FheUint16,
    FheUint32,
    FheUint64,
    decrypt,
    encrypt,
    from_bytes,
    load,
)
from ringforge.gates.integers.progress import reporting
from ringforge.gates.integers.records import to_bytes
from ringforge.gates.integers.types import IntType, int_type
from ringforge.gates.storage import keygen

__all__ = [
    "EncryptedArray",
    "EncryptedInt",
    "FheBool",
    "FheInt8",
    "FheInt16",
    "FheInt32",
    "FheInt64",
    "FheUint8",
    "FheUint16",
    "FheUint32",
    "FheUint64",
    "IntType",
    "concatenate",
    "decrypt",
    "encrypt",
    "from_bytes",
    "if_then_else",
    "int_type",
    "keygen",
    "load",
    "maximum",
    "minimum",
    "of_bits",
    "reporting",
    "select",
    "stack",
    "to_bytes",
    "where",
]
