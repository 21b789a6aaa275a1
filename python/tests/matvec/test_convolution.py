# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Convolutions and pools as matrices, against sums written out; and the networks that are made of them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ringforge import matvec
from ringforge.errors import ParameterError, ShapeError
from ringforge.matvec.convolution import fused

RNG = np.random.default_rng(21)


def written_out(x, w, b, stride, padding):
    """The definition, one number at a time."""
    out, channels, tall, wide = w.shape
    top, left, bottom, right = padding
    padded = np.pad(x, ((0, 0), (top, bottom), (left, right)))
    rows = (padded.shape[1] - tall) // stride[0] + 1
    columns = (padded.shape[2] - wide) // stride[1] + 1
    y = np.zeros((out, rows, columns))
    for o, i, j in itertools.product(range(out), range(rows), range(columns)):
        for c, u, v in itertools.product(range(channels), range(tall), range(wide)):
            y[o, i, j] += w[o, c, u, v] * padded[c, i * stride[0] + u, j * stride[1] + v]
        y[o, i, j] += b[o]
    return y


@pytest.mark.parametrize("stride", [1, 2, (1, 3)])
@pytest.mark.parametrize("padding", [0, 1, (2, 0), (0, 1, 2, 1)])
@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 5, 7)])
@pytest.mark.parametrize("kernel", [(3, 3), (1, 2), (5, 4)])
def test_convolutions(shape, kernel, stride, padding) -> None:
    w, b = RNG.normal(size=(2, shape[0], *kernel)), RNG.normal(size=2)
    x = RNG.normal(size=shape)
    layer = matvec.conv2d(w, b, shape, stride, padding)
    strides = (stride, stride) if isinstance(stride, int) else stride
    four = (padding,) * 4 if isinstance(padding, int) else padding if len(padding) == 4 else padding * 2
    assert np.allclose(layer(x.reshape(-1)), written_out(x, w, b, strides, four).reshape(-1))
    assert np.allclose(matvec.conv2d(w, None, shape, stride, padding).weights, layer.weights)


def test_pools_and_fusion() -> None:
    x = RNG.normal(size=(2, 6, 4))
    pool = matvec.average_pool((2, 6, 4), 2)
    assert np.allclose(pool(x.reshape(-1)).reshape(2, 3, 2), x.reshape(2, 3, 2, 2, 2).mean(axis=(2, 4)))
    over = matvec.average_pool((2, 6, 4), (3, 2), 1)
    assert np.allclose(over(x.reshape(-1)).reshape(2, 4, 3)[1, 2, 1], x[1, 2:5, 1:3].mean())
    last = matvec.Linear(RNG.normal(size=(3, 12)), RNG.normal(size=3))
    assert np.allclose(fused([pool, last])(x.reshape(-1)), last(pool(x.reshape(-1))))
    two = fused([last, matvec.Linear(np.eye(3) * 2)])
    assert np.allclose(two(np.ones(12)), 2 * last(np.ones(12)))


def test_sizes_that_do_not_fit_are_refused() -> None:
    w = np.ones((2, 1, 3, 3))
    for shape in ((1, 2, 8), (2, 8, 8), (1, 0, 8), (8, 8), (1, 8.0, 8)):
        with pytest.raises(ShapeError):
            matvec.conv2d(w, None, shape)
    with pytest.raises(ShapeError):
        matvec.conv2d(np.ones((3, 3)), None, (1, 8, 8))
    with pytest.raises(ShapeError):
        matvec.conv2d(w, np.ones(3), (1, 8, 8))
    with pytest.raises(ShapeError, match="too large"):
        matvec.conv2d(w, None, (1, 4000, 4000))
    for stride, padding in ((0, 0), (1, -1), ((1, 2, 3), 0), (1.5, 0), (True, 0)):
        with pytest.raises(ParameterError):
            matvec.conv2d(w, None, (1, 8, 8), stride, padding)
    with pytest.raises(ShapeError):
        matvec.average_pool((1, 2, 2), 3)


@pytest.mark.long
@pytest.mark.parametrize("name", ["conv", "deep"])
def test_networks_on_digits(name: str) -> None:
    """All predictions of 200 images as in the clear; both networks are good."""
    pytest.importorskip("sklearn")
    from ringforge.lab.bench.networks import run

    for record in run(name, 200, threads=2):
        e = record.extra
        assert e["same_class"] == e["images"]
        assert e["accuracy_plain"] >= 0.95
        assert e["max_error"] <= e["predicted_error"]
