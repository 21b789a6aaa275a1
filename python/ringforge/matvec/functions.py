# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Activations of neural networks in the clear, value by value, in float64."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Function = Callable[[Array], Array]

#: Constants of the scaled ELU, as Klambauer and others give them (2017).
SELU_ALPHA, SELU_GAMMA = 1.6732632423543772, 1.0507009873554805

_erf = np.vectorize(math.erf, otypes=[np.float64])


def relu(x: Array) -> Array:
    """max(x, 0)."""
    return np.maximum(x, 0.0)


def sigmoid(x: Array) -> Array:
    """1/(1 + exp(-x)), without overflow."""
    return np.asarray(0.5 * (1 + np.tanh(np.asarray(x) / 2)))


def tanh(x: Array) -> Array:
    """The hyperbolic tangent."""
    return np.asarray(np.tanh(x))


def erf(x: Array) -> Array:
    """The error function."""
    return np.asarray(_erf(x))


def gelu(x: Array) -> Array:
    """x·Φ(x)."""
    return np.asarray(x * 0.5 * (1 + _erf(x / math.sqrt(2))))


def gelu_tanh(x: Array) -> Array:
    """The form of GELU that has a tanh."""
    return np.asarray(0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))


def softplus(x: Array) -> Array:
    """log(1 + exp(x)), without overflow."""
    return np.asarray(np.logaddexp(0.0, x))


def softsign(x: Array) -> Array:
    """x/(1 + |x|)."""
    return np.asarray(x / (1 + np.abs(x)))


def mish(x: Array) -> Array:
    """x·tanh(softplus(x))."""
    return np.asarray(x * np.tanh(softplus(x)))


def hard_swish(x: Array) -> Array:
    """x·(x/6 + 1/2, cut off below 0 and above 1)."""
    return np.asarray(x * np.clip(x / 6 + 0.5, 0.0, 1.0))


def leaky_relu(alpha: float) -> Function:
    """x, times alpha below 0."""
    return lambda x: np.where(x < 0, alpha * x, x)


def elu(alpha: float) -> Function:
    """x, below 0 alpha·(exp(x) - 1)."""
    return lambda x: np.where(x < 0, alpha * np.expm1(np.minimum(x, 0.0)), x)


def selu(x: Array) -> Array:
    """ELU, scaled."""
    return np.asarray(SELU_GAMMA * elu(SELU_ALPHA)(x))


def celu(alpha: float) -> Function:
    """x, below 0 alpha·(exp(x/alpha) - 1)."""
    return lambda x: np.where(x < 0, alpha * np.expm1(np.minimum(x / alpha, 0.0)), x)


def swish(alpha: float) -> Function:
    """x/(1 + exp(-alpha·x))."""
    return lambda x: x * sigmoid(alpha * x)


def hard_sigmoid(alpha: float, beta: float) -> Function:
    """alpha·x + beta, cut off below 0 and above 1."""
    return lambda x: np.clip(alpha * x + beta, 0.0, 1.0)


def clip(low: float, high: float) -> Function:
    """x, cut off on both sides."""
    return lambda x: np.clip(x, low, high)
