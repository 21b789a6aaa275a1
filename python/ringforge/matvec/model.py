# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Models the server owns: linear layers and squares, in the clear."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import numpy.typing as npt

from ringforge.arrays import real_numbers
from ringforge.errors import Error, FormatError, ShapeError, UnsupportedModelError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.files import first_line, load_npy, naming, writing

Array = npt.NDArray[np.float64]

#: Largest matrix side a model file may ask for.
MAX_SIDE = 1 << 20


class Linear:
    """y = W x + b.

    Args:
        weights: matrix (m, n), finite numbers.
        bias: vector (m,), or None for zero.

    Raises:
        ShapeError, ringforge.ValueError: wrong shapes, or entries that are not finite real numbers.
    """

    def __init__(self, weights: npt.ArrayLike, bias: npt.ArrayLike | None = None) -> None:
        w = np.ascontiguousarray(real_numbers(weights, "weights"))
        if w.ndim != 2 or 0 in w.shape:
            raise ShapeError(f"weights must be a matrix with rows and columns, not of shape {w.shape}")
        b = np.zeros(0) if bias is None else np.ascontiguousarray(real_numbers(bias, "the bias's entries"))
        if bias is not None and b.shape != (w.shape[0],):
            raise ShapeError(f"the bias has shape {b.shape}, a matrix of shape {w.shape} needs ({w.shape[0]},)")
        if not np.isfinite(w).all() or not np.isfinite(b).all():
            raise RingforgeValueError("weights and bias must be finite numbers: found NaN or infinity")
        self.weights: Array = w
        self.bias: Array = b

    @property
    def rows(self) -> int:
        return int(self.weights.shape[0])

    @property
    def cols(self) -> int:
        return int(self.weights.shape[1])

    def __call__(self, x: Array) -> Array:
        """Applies the layer to one vector (n,) or to rows of a matrix (k, n)."""
        y = np.asarray(x) @ self.weights.T
        return y + self.bias if self.bias.size else y

    def output_bound(self, input_bound: float) -> float:
        """Largest |y| for inputs of size at most `input_bound`."""
        sums = np.abs(self.weights).sum(axis=1) * input_bound
        return float((sums + np.abs(self.bias) if self.bias.size else sums).max())

    def __repr__(self) -> str:
        return f"Linear({self.rows} x {self.cols}{', bias' if self.bias.size else ''})"


class Square:
    """y = x * x, slot by slot: the activation that encryption can compute exactly."""

    def __call__(self, x: Array) -> Array:
        return np.asarray(x) ** 2

    def __repr__(self) -> str:
        return "Square()"


Layer = Linear | Square


@dataclass(frozen=True)
class Sequential:
    """Layers applied one after the other. The first must be linear; shapes must chain.

    Raises:
        ShapeError: no layers, a leading square, or sizes that do not chain.
    """

    layers: Sequence[Layer]

    def __post_init__(self) -> None:
        if not self.layers or not isinstance(self.layers[0], Linear):
            raise ShapeError("a model starts with a Linear layer")
        width = None
        for i, layer in enumerate(self.layers):
            if isinstance(layer, Linear):
                if width is not None and layer.cols != width:
                    raise ShapeError(f"layer {i} takes {layer.cols} values, the one before gives {width}")
                width = layer.rows

    @property
    def inputs(self) -> int:
        """Length of an input vector."""
        first = self.layers[0]
        assert isinstance(first, Linear)
        return first.cols

    @property
    def outputs(self) -> int:
        """Length of a result vector."""
        return [layer for layer in self.layers if isinstance(layer, Linear)][-1].rows

    def __call__(self, x: npt.ArrayLike) -> Array:
        """The model in the clear, for one vector or rows of a matrix."""
        y = real_numbers(x, "inputs")
        for layer in self.layers:
            y = layer(y)
        return y


Model = Linear | Sequential


def as_sequential(model: Model | Iterable[Layer]) -> Sequential:
    """Any model as a Sequential."""
    if isinstance(model, Sequential):
        return model
    if isinstance(model, Linear):
        return Sequential([model])
    return Sequential(list(model))


def save_model(model: Model, path: str | Path) -> None:
    """Writes a model as an .npz file of arrays `layerI.weights`, `layerI.bias`, and `kinds`."""
    arrays: dict[str, npt.NDArray[np.generic]] = {}
    kinds = []
    for i, layer in enumerate(as_sequential(model).layers):
        kinds.append("linear" if isinstance(layer, Linear) else "square")
        if isinstance(layer, Linear):
            arrays[f"layer{i}.weights"] = layer.weights
            arrays[f"layer{i}.bias"] = layer.bias
    path = Path(path)
    with writing(path if path.suffix == ".npz" else path.with_name(f"{path.name}.npz")) as f:
        np.savez(f, kinds=np.array(kinds), allow_pickle=False, **arrays)


def load_model(path: str | Path) -> Sequential:
    """Reads a model from .npz (written by save_model), .npy (one matrix) or .onnx.

    Raises:
        FormatError: the file is not a valid model. UnsupportedModelError: ONNX operators beyond linear
        layers and squares.
    """
    path = Path(path)
    if path.suffix == ".onnx":
        from ringforge.matvec.onnx_import import load_onnx

        return load_onnx(path)
    if path.suffix not in {".npz", ".npy"}:
        raise UnsupportedModelError(f"{path.name}: models are .onnx, .npz or .npy files")
    try:
        if path.suffix == ".npy":
            with naming(path):
                return Sequential([Linear(load_npy(path))])
        data = _archive(path)
        layers: list[Layer] = []
        for i, kind in enumerate(data["kinds"].tolist()):
            if kind == "square":
                layers.append(Square())
            elif kind == "linear":
                bias = data[f"layer{i}.bias"]
                layers.append(Linear(data[f"layer{i}.weights"], bias if bias.size else None))
            else:
                raise FormatError(f"{path.name}: layer {i} is of unknown kind {kind!r}")
        return Sequential(layers)
    except Exception as e:
        if isinstance(e, Error) or (isinstance(e, OSError) and e.filename is not None):
            raise
        # zipfile and numpy let through what their parsers raise, from KeyError to MemoryError.
        raise FormatError(f"{path.name} is not a model file: {first_line(e)}") from None


#: An archive that unpacks to more than this, and to a hundred times its size, is made to fill memory.
_LARGE_ARCHIVE = 1 << 30


def _archive(path: Path) -> Mapping[str, npt.NDArray[np.generic]]:
    """The arrays of an .npz file.

    Raises:
        FormatError: it is none, or unpacks to far more than its size.
    """
    size = path.stat().st_size
    with ZipFile(path) as archive:
        unpacked = sum(entry.file_size for entry in archive.infolist())
        if unpacked > max(_LARGE_ARCHIVE, 100 * size):
            raise FormatError(f"{path.name} has {size} bytes and unpacks to {unpacked}: save it uncompressed")
        found = {}
        for entry in archive.infolist():
            with archive.open(entry) as member, naming(f"{path.name}, {entry.filename}"):
                found[entry.filename.removesuffix(".npy")] = load_npy(member)
        return found
