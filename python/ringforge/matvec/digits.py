# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The demo's network: scikit-learn's handwritten digits, learnt by a network whose activation is a square.

64 pixels → 64 → square → 10 classes, trained with numpy in a few seconds. Decoupled weight decay keeps
weights small, for their sums bound what the encrypted numbers can reach; random half-pixel shifts replace
the data that a larger set would have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ringforge.cli.demo_command import missing
from ringforge.errors import ParameterError
from ringforge.matvec.model import Linear, Sequential, Square

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

SIDE = 8
CLASSES = 10

#: The trained scores are divided by this. No prediction changes, and results fit a smaller modulus.
SCORE_DIVISOR = 16.0

#: Images that training never sees.
HELD_OUT = 600


@dataclass(frozen=True)
class Digits:
    """Images as rows of 64 pixels in [0, 1], split once and for all."""

    train: Array
    train_labels: Labels
    test: Array
    test_labels: Labels


def load_digits() -> Digits:
    """The 1,797 images that scikit-learn ships, 600 of them held out.

    Raises:
        UnsupportedModelError: scikit-learn is not installed.
    """
    try:
        from sklearn.datasets import load_digits as load
    except ImportError:
        raise missing("scikit-learn") from None
    pixels, labels = load(return_X_y=True)
    images = np.asarray(pixels, dtype=np.float64) / 16
    order = np.random.default_rng(20260101).permutation(len(images))
    test, train = order[:HELD_OUT], order[HELD_OUT:]
    kinds = np.asarray(labels, dtype=np.int64)
    return Digits(images[train], kinds[train], images[test], kinds[test])


def shifted(rows: Array, rng: np.random.Generator) -> Array:
    """Each image moved by -1/2, 0 or 1/2 pixel in both directions."""
    images = rows.reshape(-1, SIDE, SIDE)
    for axis in (1, 2):
        move = rng.integers(-1, 2, size=len(images))
        for step in (-1, 1):
            some = move == step
            images[some] = (images[some] + np.roll(images[some], step, axis=axis)) / 2
    return images.reshape(rows.shape)


def train(
    data: Digits,
    *,
    hidden: int = 64,
    epochs: int = 400,
    seed: int = 1,
    progress: Callable[[float], None] | None = None,
) -> Sequential:
    """Adam with cosine schedule and decoupled weight decay, on softmax cross-entropy.

    Args:
        data: the images.
        hidden: width of the hidden layer.
        epochs: passes over the training images.
        seed: of weights, order and shifts.
        progress: called with the fraction done.
    """
    if hidden < 1 or epochs < 1:
        raise ParameterError(f"hidden width {hidden} and epochs {epochs} must be at least 1")
    rng = np.random.default_rng(seed)
    count, width = data.train.shape
    batch, rate, decay = 64, 4e-3, 0.02
    targets = np.eye(CLASSES)[data.train_labels]
    parameters = [
        rng.normal(size=(hidden, width)) * 0.18,
        np.zeros(hidden),
        rng.normal(size=(CLASSES, hidden)) * 0.1,
        np.zeros(CLASSES),
    ]
    mean = [np.zeros_like(p) for p in parameters]
    square = [np.zeros_like(p) for p in parameters]
    steps, step = epochs * (count // batch), 0
    for epoch in range(epochs):
        order = rng.permutation(count)
        for first in range(0, count - batch + 1, batch):
            chosen = order[first : first + batch]
            gradient = _gradient(parameters, shifted(data.train[chosen], rng), targets[chosen])
            step += 1
            now = rate * 0.5 * (1 + np.cos(np.pi * step / steps))
            for i, g in enumerate(gradient):
                mean[i] += 0.1 * (g - mean[i])
                square[i] += 0.001 * (g * g - square[i])
                move = mean[i] / (1 - 0.9**step) / (np.sqrt(square[i] / (1 - 0.999**step)) + 1e-8)
                parameters[i] -= now * (move + (decay * parameters[i] if parameters[i].ndim == 2 else 0.0))
        if progress:
            progress((epoch + 1) / epochs)
    w1, b1, w2, b2 = parameters
    return Sequential([Linear(w1, b1), Square(), Linear(w2 / SCORE_DIVISOR, b2 / SCORE_DIVISOR)])


def _gradient(parameters: list[Array], x: Array, targets: Array) -> list[Array]:
    w1, b1, w2, b2 = parameters
    h = x @ w1.T + b1
    a = h * h
    z = a @ w2.T + b2
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    dz = (p - targets) / len(x)
    dh = (dz @ w2) * 2 * h
    return [dh.T @ x, dh.sum(axis=0), dz.T @ a, dz.sum(axis=0)]
