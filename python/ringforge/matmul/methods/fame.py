# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The method of the FAME paper: its Algorithm 2.

Source: FAME (FPGA accelerator for homomorphic matrix multiplication), Algorithms 1 and 2 with the index maps
of :mod:`.maps` (Eqs. 6 to 9). Step 1 transforms A by sigma and B by tau; step 2 makes, for each k < l, one
transform eps^k of the former and one omega^k of the latter, multiplies and relinearises them, and adds.

Published counts: phi = d_sigma + d_tau and zeta = l (d_eps + d_omega) rotations, as many plaintext products,
l products, 2 (l + 1) transforms, depth 3. Exact counts are :func:`ringforge.lab.papers.matmul.product_counts`.
"""

from __future__ import annotations

from functools import partial

from ringforge.matmul.layout import Layout
from ringforge.matmul.methods import maps
from ringforge.matmul.methods.common import check_shape, map_shift, map_transform
from ringforge.matmul.plan import Group, Operand, ProductPlan, Shift


def plan(m: int, l: int, n: int, slots: int) -> ProductPlan:  # noqa: E741
    """Plan for A (m x l) times B (l x n).

    Raises:
        ShapeError: A, B or the result has more entries than there are slots.
    """
    check_shape(m, l, n, slots, max(m * l, l * n, m * n), "the largest of A, B and the result")
    return ProductPlan(
        method="fame",
        m=m,
        l=l,
        n=n,
        slots=slots,
        left_layout=Layout.column_major(m, l),
        right_layout=Layout.column_major(l, n),
        out_layout=Layout.column_major(m, n),
        left=Operand((map_transform(slots, maps.sigma(m, l), ((m, min(m, l)), (-l * m, 2))),), ((),)),
        right=Operand((map_transform(slots, maps.tau(l, n), ((1, min(n, l)), (-l, 2))),), ((),)),
        groups=(Group(0, tuple(range(l))),),
        pair=partial(_pair, m, l, n, slots),
        lazy=False,
        note="slots outside of the result are zero; Eq. 8 with the modulus m * l, Eq. 10 with diagonal 0 included",
    )


def _pair(m: int, l: int, n: int, slots: int, k: int) -> tuple[Shift, Shift]:  # noqa: E741
    return map_shift(slots, maps.epsilon(m, l, n, k)), map_shift(slots, maps.omega(m, l, n, k))
