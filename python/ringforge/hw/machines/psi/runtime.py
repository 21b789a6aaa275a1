# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What the published accelerator's host offers: bootstraps side by side, expansion, expansion to RGSW, upload of keys.

Everything runs as jobs of a `Pipeline`: off a queue in memory, or polled: the host looks at FIFO_STATE before each
command. Chains take turns: instruction i of each before instruction i + 1 of any, since a product needs the one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge._native import fhew
from ringforge.errors import ParameterError, ShapeError
from ringforge.hw.core.small_ring import Gadget, Words, added, multiplied, subtracted
from ringforge.hw.machines.psi.config import PORT_BYTES
from ringforge.hw.machines.psi.pipeline import Pipeline, Rows
from ringforge.hw.machines.psi.settings import HALF_CIRCLES

#: Bootstraps that the published host runs side by side.
BATCHES = (1, 4, 8, 12, 16)


def ap_indices(params: fhew.GateParameters, exponents: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Numbers of the RGSW ciphertexts that turn accumulators by X^-<a, s>: (count, n) exponents modulo R to
    (count, n d_r), (i d_r + j) B_r + v with v digit j of -a_i to base B_r."""
    base, digits, modulus = params.ap_base, params.ap_digits, params.rotation_modulus
    rest = (modulus - exponents.astype(np.int64)) % modulus
    values = np.stack([rest // base**j % base for j in range(digits)], -1)
    places = np.arange(params.n)[:, None] * digits + np.arange(digits)
    numbers: npt.NDArray[np.uint32] = (places * base + values).reshape(len(exponents), -1).astype(np.uint32)
    return numbers


def bootstraps(
    pipeline: Pipeline,
    key: fhew.EvaluationKey,
    gates: Sequence[int],
    exponents: npt.NDArray[np.uint32],
    products: int | None = None,
) -> Words:
    """Accumulators (count, 2, N), Eval order, of gates: made by the machine, turned by the chain.

    Args:
        pipeline: with `bounds` of the LWE modulus in its settings. gates: their numbers in instructions.
        exponents: (count, n + 1), the sums of the gates' inputs modulo R, b last.
        products: of each chain; None: all.

    Raises:
        ParameterError: as `Pipeline.bootstraps`. ShapeError: other shapes.
    """
    if exponents.shape != (len(gates), key.params.n + 1):
        raise ShapeError(f"exponents of shape {exponents.shape}; {(len(gates), key.params.n + 1)} is needed")
    indices = ap_indices(key.params, exponents[:, :-1])[:, :products]
    return pipeline.bootstraps(gates, exponents[:, -1].tolist(), indices, key)


def expanded(pipeline: Pipeline, nodes: Words, stage: int, rows: Rows, cut: Gadget) -> tuple[Words, Words]:
    """One stage of an expansion: ciphertexts (..., 2, N) to c + u and X^(-2^stage) (c - u), u their images under
    X -> X^(N/2^stage + 1). Raises as `Pipeline.substitutions`."""
    ring, flat = pipeline.ring, nodes.reshape(-1, 2, pipeline.ring.degree)
    u = pipeline.substitutions(flat, (ring.degree >> stage) + 1, rows, cut)
    turned = multiplied(subtracted(flat, u, ring.q), ring.monomial(-(1 << stage)), ring.q)
    return added(flat, u, ring.q).reshape(nodes.shape), turned.reshape(nodes.shape)


def expand(pipeline: Pipeline, ciphertexts: Words, rows: Sequence[Rows], cuts: Sequence[Gadget]) -> Words:
    """Ciphertexts (count, 2, N) to (2^stages, count, 2, N): entry i holds 2^stages times coefficient i.

    Args:
        rows, cuts: keys of the substitutions and how they cut, stage by stage.

    Raises:
        ParameterError: as `Pipeline.substitutions`; more stages than the ring has.
    """
    if len(rows) != len(cuts) or len(rows) > pipeline.settings.log_n:
        raise ParameterError(f"{len(rows)} keys of {len(cuts)} stages; a ring has {pipeline.settings.log_n} at most")
    nodes = ciphertexts[None]
    for stage, (key, cut) in enumerate(zip(rows, cuts, strict=True)):
        nodes = np.concatenate(expanded(pipeline, nodes, stage, key, cut))
    return nodes


def rebuilt(pipeline: Pipeline, rows: Words, minus_secret: Rows) -> Words:
    """RGSW ciphertexts (..., 2 d, 2, N) of their rows for b, (..., d, 2, N): those for a are products with RGSW(-z).

    Raises:
        HardwareError: as `Pipeline.products`.
    """
    flat = rows.reshape(-1, 2, pipeline.ring.degree)
    made = pipeline.products(flat, [0] * len(flat), minus_secret[None])
    return np.concatenate([made.reshape(rows.shape), rows], -3)


def homo_expand(
    pipeline: Pipeline,
    ciphertexts: Words,
    rows: Sequence[Rows],
    cuts: Sequence[Gadget],
    minus_secret: Rows,
) -> Words:
    """`expand`, then RGSW ciphertexts of all bits: ciphertexts (bits, d, 2, N) to (2^stages, bits, 2 d, 2, N).

    Raises:
        ParameterError: as `expand`.
    """
    bits, d = ciphertexts.shape[:2]
    flat = expand(pipeline, ciphertexts.reshape(bits * d, 2, -1), rows, cuts)
    return rebuilt(pipeline, flat.reshape(len(flat), bits, d, 2, -1), minus_secret)


def upload_cycles(size: int) -> int:
    """Cycles in which bytes reach the card's memory through its window at least: 64 in each."""
    return -(-size // PORT_BYTES)


def gate_number(kind: Any) -> int:
    """Number of a gate in instructions, by the name of its kind.

    Raises:
        ParameterError: the machine makes no accumulators of it.
    """
    names = list(HALF_CIRCLES)
    if kind.name not in names:
        raise ParameterError(f"the machine makes accumulators of {', '.join(names)}, not of {kind.name}")
    return names.index(kind.name)
