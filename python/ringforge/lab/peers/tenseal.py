# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""TenSEAL as a peer: products of a plain matrix and an encrypted vector, in a child process."""

import dataclasses
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ringforge.lab.peers.child import PeerError, PeerMissingError, ask

CHILD = Path(__file__).with_name("tenseal_child.py")
VERSION = "0.3.18"


@dataclass(frozen=True)
class MatmulRequest:
    """A product M v, where generator = numpy's default_rng(seed) draws M = uniform(-1, 1, (m, n)), then v.

    `split_columns` is how many parts the vector is encrypted in: 1 for one ciphertext, None for the fewest
    that fit. A first run that takes `single_run_s` or more is the only one.
    """

    m: int
    n: int
    seed: int = 0
    scale_bits: int = 40
    poly_modulus_degree: int = 8192
    coeff_mod_bit_sizes: tuple[int, ...] = (60, 40, 40, 60)
    threads: int = 1
    split_columns: int | None = None
    budget_s: float = 5.0
    single_run_s: float = 60.0


@dataclass(frozen=True)
class MatmulResult:
    """Medians of wall and processor time for one product; TenSEAL encodes the matrix within it.

    `max_rel_error` is the largest difference from float64 over the largest value. `split_rows` counts the
    pieces of a result that is longer than a ciphertext's slots.
    """

    case: str
    seconds: float
    cpu_seconds: float
    iterations: int
    max_rel_error: float
    split_columns: int
    split_rows: int
    threads: int
    peer: str
    peer_version: str
    peak_mib: float


def matmul(
    request: MatmulRequest, *, python: str | os.PathLike[str] | None = None, timeout_s: float | None = None
) -> MatmulResult:
    """Measures a product with the TenSEAL that the given Python (this one unless given) has."""
    answer = _ask(dataclasses.asdict(request), python, timeout_s)
    return MatmulResult(**answer)


def version(python: str | os.PathLike[str] | None = None) -> str:
    """The installed TenSEAL's version."""
    return str(_ask({"version_only": True}, python, 120.0)["peer_version"])


def _ask(request: dict[str, Any], python: str | os.PathLike[str] | None, timeout_s: float | None) -> dict[str, Any]:
    chosen = os.fspath(python if python is not None else sys.executable)
    single = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    answer = ask([chosen, str(CHILD)], request, timeout_s=timeout_s, env=os.environ | single)
    if "missing" in answer:
        raise PeerMissingError(
            f"{chosen} cannot import TenSEAL or numpy ({answer['missing']}): "
            f"`{chosen} -m pip install tenseal=={VERSION} numpy`"
        )
    if "refused" in answer:
        raise PeerError(f"TenSEAL's side refused: {answer['refused']}")
    return answer
