# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Computing on encrypted data.

Systems:

- `ringforge.matvec`: a server's matrices, in the clear, times encrypted vectors: neural-network layers.
- `ringforge.matmul`: products and sums of matrices that are all encrypted, of several owners.
- `ringforge.psi`: private set intersection, with labels, as a service.
- `ringforge.gates`: logic circuits on encrypted bits, of any depth.
- `ringforge.aes`: AES-128 on encrypted blocks, and AES-CTR streams turned into homomorphic ciphertexts, as a service.
- `ringforge.omr`: messages on a public board, found for their receivers by a server that learns nothing.

Beneath them:

- `ringforge.ckks`: the scheme of matvec and matmul, approximate; `ringforge.bfv`: exact integers, and matrices of them;
  `ringforge.bgv`: bits, bytes of AES, elements of GF(2^d); `ringforge.params` has the parameter sets of all three.
- `ringforge.devices`: where fused kernels run; `ringforge.hw` builds, drives and models the accelerators.
- `ringforge.ltv`: the NTRU scheme of a published system, rebuilt; it is broken and protects nothing.
- `ringforge.security`: what known attacks on LWE cost.
- `ringforge.errors`: every exception; the common ones are here too.

Each is imported when it is first used.
"""

import importlib
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from ringforge import _native, hidden, native_forms, refusals, secrecy
from ringforge.errors import (
    Error,
    FormatError,
    LevelError,
    MemoryLimitError,
    MismatchError,
    MissingKeyError,
    ParameterError,
    ScaleError,
    ShapeError,
    ValueError,
)

secrecy.guard(_native)
hidden.guard(_native)
native_forms.equip()
_native.on_refusal(refusals.explained)

if TYPE_CHECKING:
    from ringforge import (
        aes,
        bfv,
        bgv,
        ckks,
        devices,
        errors,
        gates,
        hw,
        ltv,
        matmul,
        matvec,
        omr,
        params,
        psi,
        security,
    )

#: What the package is called where packages are; `ringforge` there is somebody else's.
DISTRIBUTION = "ringforge-he"

try:
    __version__ = version(DISTRIBUTION)
except PackageNotFoundError:  # running from a source tree
    __version__ = "0+source"

_MODULES = (
    "aes",
    "bfv",
    "bgv",
    "ckks",
    "devices",
    "errors",
    "gates",
    "hw",
    "ltv",
    "matmul",
    "matvec",
    "omr",
    "params",
    "psi",
    "security",
)

__all__ = [
    "Error",
    "FormatError",
    "LevelError",
    "MemoryLimitError",
    "MismatchError",
    "MissingKeyError",
    "ParameterError",
    "ScaleError",
    "ShapeError",
    "ValueError",
    "__version__",
    "aes",
    "bfv",
    "bgv",
    "ckks",
    "devices",
    "errors",
    "gates",
    "hw",
    "ltv",
    "matmul",
    "matvec",
    "omr",
    "params",
    "psi",
    "security",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
