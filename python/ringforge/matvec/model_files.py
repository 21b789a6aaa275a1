# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Models in files: .npz and .npy here, .onnx by :mod:`.onnx_import`."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import numpy.typing as npt

from ringforge.bytes_form import File, is_name, reading, saved, write
from ringforge.errors import Error, FormatError, ParameterError, ShapeError, UnsupportedModelError
from ringforge.files import first_line, load_npy, naming, writing
from ringforge.matvec.estimators import Estimator, estimator
from ringforge.matvec.model import Layer, Linear, Model, Sequential, Square, as_sequential
from ringforge.matvec.model_arguments import file_first
from ringforge.matvec.onnx_import import from_onnx, load_onnx
from ringforge.matvec.polynomial import Polynomial
from ringforge.matvec.rule import Rule

#: Files of Python objects.
_PICKLES = {".joblib", ".pkl", ".pickle", ".sav", ".skops", ".pt", ".pth"}


def save_model(path: File, model: Model | Estimator) -> None:
    """Write a model as an .npz file of arrays.

    They are `kinds`; `layerI.weights` and `layerI.bias` of linear layers, `layerI.series` and `layerI.interval` (empty
    for powers of x) of polynomials; of an estimator also `rule`, a text.

    Args:
        path: an open binary file, or a file's name: .npz is added to any other ending, and `load_model` finds it
            without, too.
        model: layers, or an estimator. The two arguments the other way round, as of earlier releases, work still.

    Raises:
        ParameterError: a name that says another format, or no model.
    """
    path, model = file_first(path, model, "save_model")
    if is_name(path) and Path(path).suffix in {".npy", ".onnx", *_PICKLES}:
        path = Path(path)
        other = "save_onnx" if path.suffix == ".onnx" else "numpy.save" if path.suffix == ".npy" else "no function here"
        raise ParameterError(f"{path.name}: save_model writes .npz files; {other} writes {path.suffix}")
    rule = None if isinstance(model, Linear | Sequential) else model.rule
    layers = as_sequential(model if isinstance(model, Linear | Sequential) else model.model).layers
    arrays: dict[str, npt.NDArray[np.generic]] = {}
    kinds = []
    for i, layer in enumerate(layers):
        if isinstance(layer, Linear):
            kinds.append("linear")
            arrays[f"layer{i}.weights"] = layer.weights
            arrays[f"layer{i}.bias"] = layer.bias
        elif isinstance(layer, Polynomial):
            kinds.append("polynomial")
            arrays[f"layer{i}.series"] = layer.series
            arrays[f"layer{i}.interval"] = np.array(layer.interval if layer.interval else [], dtype=np.float64)
        else:
            kinds.append("square")
    if rule is not None:
        arrays["rule"] = np.array(rule.model_dump_json(exclude_none=True))
    if not is_name(path):
        write(path, [saved(lambda f: np.savez(f, kinds=np.array(kinds), allow_pickle=False, **arrays))])
        return
    path = Path(path)
    with writing(path if path.suffix == ".npz" else _with_suffix(path)) as f:
        np.savez(f, kinds=np.array(kinds), allow_pickle=False, **arrays)


@contextmanager
def _in_a_file(source: File) -> Iterator[Path]:
    """Yield a file of what an open one holds, with the suffix that its beginning tells."""
    with reading(source) as (f, _), tempfile.TemporaryDirectory() as folder:
        data = f.read()
        kind = ".npz" if data.startswith(b"PK") else ".npy" if data.startswith(b"\x93NUMPY") else ".onnx"
        path = Path(folder) / f"data{kind}"
        path.write_bytes(data)
        yield path


def load_model(path: File) -> Sequential:
    """Reads a model from .npz (written by save_model), .npy (one matrix) or .onnx.

    Raises:
        FormatError: the file is not a valid model. UnsupportedModelError: an ONNX operator that has no encrypted
        counterpart, or a file of Python objects.
    """
    if not is_name(path):
        with _in_a_file(path) as named:
            return load_model(named)
    path = _found(path)
    if path.suffix == ".onnx":
        return load_onnx(path)
    return _load(path)[0]


def load_with_rule(path: File) -> tuple[Sequential, Rule | None]:
    """Reads a model as load_model does, with the rule that says what its results mean, if it has one.

    Rules of ONNX models that say nothing (values as they are) are left out.
    """
    if not is_name(path):
        with _in_a_file(path) as named:
            return load_with_rule(named)
    path = _found(path)
    if path.suffix != ".onnx":
        return _load(path)
    found = from_onnx(path)
    return found.model, None if found.rule.kind == "values" and found.rule.link == "identity" else found.rule


def load_estimator(path: File) -> Estimator:
    """Reads a classifier, regression or transformation from .npz (written by save_model) or .onnx.

    Raises:
        as load_model; FormatError: also for a model without a rule that says what its results mean.
    """
    if not is_name(path):
        with _in_a_file(path) as named:
            return load_estimator(named)
    path = _found(path)
    if path.suffix == ".onnx":
        return from_onnx(path)
    model, rule = _load(path)
    if rule is None:
        raise FormatError(f"{path.name} has layers and no rule: load_model reads it")
    try:
        return estimator(model, rule)
    except ShapeError as e:
        raise FormatError(f"{path.name}: {e}") from None


def _with_suffix(path: Path) -> Path:
    return path.with_name(f"{path.name}.npz")


def _found(path: str | os.PathLike[str]) -> Path:
    """The file of a name, or that of the name with .npz behind it, as `save_model` writes it."""
    path = Path(path)
    itself = path.suffix in {".npz", ".npy", ".onnx", *_PICKLES} and path.exists()
    return _with_suffix(path) if not itself and _with_suffix(path).exists() else path


def _load(path: Path) -> tuple[Sequential, Rule | None]:
    if path.suffix in _PICKLES:
        raise UnsupportedModelError(
            f"{path.name}: files of Python objects run code when they are read, so none is: where the estimator was "
            "trained, call matvec.save_model('model.npz', matvec.from_sklearn(estimator)), or export to .onnx"
        )
    if not path.suffix and not path.exists():
        raise FileNotFoundError(errno.ENOENT, f"no such model, nor {_with_suffix(path).name}", str(path))
    if path.suffix not in {".npz", ".npy"}:
        raise UnsupportedModelError(f"{path.name}: models are .onnx, .npz or .npy files")
    try:
        if path.suffix == ".npy":
            with naming(path):
                return Sequential([Linear(load_npy(path))]), None
        data = _archive(path)
        layers: list[Layer] = []
        for i, kind in enumerate(data["kinds"].tolist()):
            if kind == "square":
                layers.append(Square())
            elif kind == "linear":
                bias = data[f"layer{i}.bias"]
                layers.append(Linear(data[f"layer{i}.weights"], bias if bias.size else None))
            elif kind == "polynomial":
                layers.append(_polynomial(data[f"layer{i}.series"], data[f"layer{i}.interval"]))
            else:
                raise FormatError(f"{path.name}: layer {i} is of unknown kind {kind!r}")
        rule = Rule.from_json(str(data["rule"][()]), f"the rule in {path.name}") if "rule" in data else None
        return Sequential(layers), rule
    except Exception as e:
        if isinstance(e, Error) or (isinstance(e, OSError) and e.filename is not None):
            raise
        # zipfile and numpy let through what their parsers raise, from KeyError to MemoryError.
        raise FormatError(f"{path.name} is not a model file: {first_line(e)}") from None


def _polynomial(series: npt.NDArray[np.generic], interval: npt.NDArray[np.generic]) -> Polynomial:
    if not interval.size:
        return Polynomial(series)
    if interval.shape != (2,):
        raise FormatError(f"an interval has two ends, not shape {interval.shape}")
    return Polynomial.chebyshev(series, (float(interval[0]), float(interval[1])))


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
