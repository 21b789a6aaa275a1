# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Further networks for the digits: a convolutional one, and a deep one. Both are trained here, with numpy, in seconds.

conv: 8 x 8 pixels → convolution, 3 x 3, 8 channels → square → average of 2 x 2 → 10 classes.
deep: 64 pixels → five times 32 → 10 classes, a polynomial of degree 3 for tanh after each but the last.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ringforge.errors import ParameterError
from ringforge.matvec import approximations
from ringforge.matvec.convolution import average_pool, conv2d, fused
from ringforge.matvec.digits import CLASSES, SCORE_DIVISOR, SIDE, Digits, shifted
from ringforge.matvec.model import Layer, Linear, Sequential, Square
from ringforge.matvec.polynomial import Polynomial

Array = npt.NDArray[np.float64]

NETWORKS = ("dense", "conv", "deep")

#: Of the convolution.
CHANNELS, KERNEL = 8, 3

#: Of the deep network.
WIDTH, HIDDEN, REACH = 32, 5, 3.0

#: Values before an activation are pushed below this part of its interval's end.
_INSIDE = 0.6


def train(name: str, data: Digits, *, seed: int = 1, progress: Callable[[float], None] | None = None) -> Sequential:
    """Trains one of the networks.

    Args:
        name: "conv" or "deep".
        data: the images.
        seed: of weights, order and shifts.
        progress: called with the fraction done.

    Raises:
        ParameterError: no such network.
    """
    makers = {"conv": _conv, "deep": _deep}
    if name not in makers:
        raise ParameterError(f'there is no network "{name}" here; there are {" and ".join(makers)}')
    # Matrices of this size are slower on several threads, and sums rounded in another order. scikit-learn, which the
    # images come from, brings threadpoolctl.
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        return makers[name](data, seed, progress)


@dataclass
class _Adam:
    """Adam with a cosine schedule and decoupled weight decay."""

    parameters: list[Array]
    rate: float
    decay: float
    steps: int

    def __post_init__(self) -> None:
        self.mean = [np.zeros_like(p) for p in self.parameters]
        self.square = [np.zeros_like(p) for p in self.parameters]
        self.step = 0

    def move(self, gradient: Sequence[Array]) -> None:
        self.step += 1
        now = self.rate * 0.5 * (1 + np.cos(np.pi * self.step / self.steps))
        for i, (p, g) in enumerate(zip(self.parameters, gradient, strict=True)):
            self.mean[i] += 0.1 * (g - self.mean[i])
            self.square[i] += 0.001 * (g * g - self.square[i])
            move = self.mean[i] / (1 - 0.9**self.step) / (np.sqrt(self.square[i] / (1 - 0.999**self.step)) + 1e-8)
            p -= now * (move + (self.decay * p if p.ndim > 1 else 0.0))


def _epochs(
    data: Digits,
    adam: _Adam,
    rng: np.random.Generator,
    epochs: int,
    gradient: Callable[[Array, Array], list[Array]],
    progress: Callable[[float], None] | None,
    batch: int = 64,
) -> None:
    count, targets = len(data.train), np.eye(CLASSES)[data.train_labels]
    for epoch in range(epochs):
        order = rng.permutation(count)
        for first in range(0, count - batch + 1, batch):
            chosen = order[first : first + batch]
            adam.move(gradient(shifted(data.train[chosen], rng), targets[chosen]))
        if progress:
            progress((epoch + 1) / epochs)


def _softmax_slope(scores: Array, targets: Array) -> Array:
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    return np.asarray((p - targets) / len(scores))


def _conv(data: Digits, seed: int, progress: Callable[[float], None] | None, epochs: int = 120) -> Sequential:
    rng = np.random.default_rng(seed)
    shape = (CHANNELS, SIDE, SIDE)
    pool = average_pool(shape, 2)
    # Where each weight of the kernel stands in the matrix: the matrix is linear in the kernel.
    ones = conv2d(
        np.arange(1, 1 + CHANNELS * KERNEL**2).reshape(CHANNELS, 1, KERNEL, KERNEL), None, (1, SIDE, SIDE), 1, 1
    )
    places = ones.weights.astype(np.int64)
    kernel = rng.normal(size=CHANNELS * KERNEL**2) * 0.35
    shift = np.zeros(CHANNELS)
    final = rng.normal(size=(CLASSES, pool.rows)) * 0.1
    last = np.zeros(CLASSES)
    adam = _Adam([kernel, shift, final, last], 6e-3, 0.02, epochs * (len(data.train) // 64))

    def gradient(x: Array, targets: Array) -> list[Array]:
        matrix = np.concatenate([[0.0], kernel])[places]
        h = x @ matrix.T + np.repeat(shift, SIDE * SIDE)
        a = (h * h) @ pool.weights.T
        dz = _softmax_slope(a @ final.T + last, targets)
        dh = (dz @ final @ pool.weights) * 2 * h
        dkernel = np.bincount(places.reshape(-1), (dh.T @ x).reshape(-1), minlength=len(kernel) + 1)[1:]
        dshift = dh.sum(axis=0).reshape(CHANNELS, -1).sum(axis=1)
        return [dkernel + 2e-4 * kernel, dshift, dz.T @ a, dz.sum(axis=0)]

    _epochs(data, adam, rng, epochs, gradient, progress)
    first = conv2d(kernel.reshape(CHANNELS, 1, KERNEL, KERNEL), shift, (1, SIDE, SIDE), 1, 1)
    return Sequential([first, Square(), fused([pool, Linear(final / SCORE_DIVISOR, last / SCORE_DIVISOR)])])


def _deep(data: Digits, seed: int, progress: Callable[[float], None] | None, epochs: int = 150) -> Sequential:
    rng = np.random.default_rng(seed)
    activation = approximations.tanh(3, (-REACH, REACH)).polynomial
    powers = activation.coefficients
    sizes = [SIDE * SIDE] + [WIDTH] * HIDDEN + [CLASSES]
    weights = [rng.normal(size=(m, n)) * np.sqrt(1.2 / n) for n, m in itertools.pairwise(sizes)]
    shifts = [np.zeros(m) for m in sizes[1:]]
    adam = _Adam([*weights, *shifts], 3e-3, 0.01, epochs * (len(data.train) // 64))
    slope = powers[1:] * np.arange(1, len(powers))

    def gradient(x: Array, targets: Array) -> list[Array]:
        inputs, sums = [x], []
        for w, b in zip(weights[:-1], shifts[:-1], strict=True):
            sums.append(inputs[-1] @ w.T + b)
            inside = np.clip(sums[-1], -REACH, REACH)
            inputs.append(np.polynomial.polynomial.polyval(inside, powers))
        d = _softmax_slope(inputs[-1] @ weights[-1].T + shifts[-1], targets)
        dw, db = [d.T @ inputs[-1]], [d.sum(axis=0)]
        for k in range(HIDDEN - 1, -1, -1):
            z = sums[k]
            d = (d @ weights[k + 1]) * np.polynomial.polynomial.polyval(np.clip(z, -REACH, REACH), slope)
            d = np.where(np.abs(z) < REACH, d, 0.0)
            # Values are kept inside the interval, where the polynomial is what it stands for.
            d += 0.5 / len(x) * np.sign(z) * np.maximum(np.abs(z) - _INSIDE * REACH, 0.0)
            dw.insert(0, d.T @ inputs[k])
            db.insert(0, d.sum(axis=0))
        return [*dw, *db]

    _epochs(data, adam, rng, epochs, gradient, progress)
    layers: list[Layer] = []
    for w, b in zip(weights[:-1], shifts[:-1], strict=True):
        layers += [Linear(w, b), Polynomial.chebyshev(activation.series, (-REACH, REACH))]
    return Sequential([*layers, Linear(weights[-1] / SCORE_DIVISOR, shifts[-1] / SCORE_DIVISOR)])
