# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Numbers of ONNX tensors, from the model's file or from a file beside it."""

from __future__ import annotations

import math
import os
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge.errors import FormatError, UnsupportedModelError

#: Bytes of weights that one tensor in a file beside the model may have.
MAX_BYTES = 1 << 31


def stored(onnx: Any, tensor: Any, folder: Path, what: str) -> npt.NDArray[Any]:
    """The array of a tensor.

    Args:
        folder: where the model's file lies; weights in other files are read from there alone.
        what: how errors call the tensor.

    Raises:
        FormatError: sizes that contradict each other. UnsupportedModelError: a file outside of the folder.
    """
    if any(d < 0 for d in tensor.dims):
        raise FormatError(f"{what} has a negative dimension: {list(tensor.dims)}")
    if tensor.data_location == onnx.TensorProto.EXTERNAL or tensor.external_data:
        return _beside(onnx, tensor, folder, what)
    try:
        return np.asarray(onnx.numpy_helper.to_array(tensor))
    except Exception as e:  # whatever numpy says about counts and sizes that disagree
        raise FormatError(f"{what} is damaged: {e}") from None


def _beside(onnx: Any, tensor: Any, folder: Path, what: str) -> npt.NDArray[Any]:
    """The array of a tensor whose bytes lie in a file beside the model."""
    types = onnx.TensorProto
    kinds = {types.FLOAT: "<f4", types.DOUBLE: "<f8", types.INT64: "<i8", types.INT32: "<i4", types.BOOL: "?"}
    if tensor.data_type not in kinds:
        raise UnsupportedModelError(f"{what} is of a type that is read from no other file; save the model in one file")
    dtype = np.dtype(kinds[tensor.data_type])
    entries: dict[str, str] = {}
    for entry in tensor.external_data:
        if entry.key in entries:
            raise FormatError(f'{what} has "{entry.key}" of its file twice')
        entries[entry.key] = entry.value
    size = math.prod(tensor.dims) * dtype.itemsize
    offset = _count(entries.get("offset", "0"), "offset", what)
    length = _count(entries.get("length", str(size)), "length", what)
    if length != size:
        raise FormatError(f"{what} has shape {list(tensor.dims)}, so {size} bytes, and its file's part has {length}")
    if size > MAX_BYTES:
        raise FormatError(f"{what} has {size} bytes; tensors have at most {MAX_BYTES}")
    path = _inside(folder, entries.get("location", ""), what)
    try:
        with path.open("rb") as f:
            there = os.fstat(f.fileno()).st_size
            if offset + size > there:
                raise FormatError(
                    f"{what} takes bytes {offset} ... {offset + size} of {path.name}, which has {there}: the file is "
                    "another model's, or was cut off"
                )
            f.seek(offset)
            data = f.read(size)
    except FileNotFoundError:
        raise FormatError(
            f"{what} is in the file {path.name} beside the model, which is not there: keep both together, or save the "
            "model in one file"
        ) from None
    if len(data) != size:
        raise FormatError(f"{what}: {path.name} ends early")
    return np.frombuffer(data, dtype).reshape(tuple(tensor.dims)).astype(dtype.newbyteorder("="))


def _count(text: str, key: str, what: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise FormatError(f"{what}: the {key} in its file is no whole number")
    return int(text)


def _inside(folder: Path, location: str, what: str) -> Path:
    """A file in the model's folder, or below it: names come from whoever made the model.

    Raises:
        UnsupportedModelError: it lies elsewhere, also by way of a link, or is no ordinary file.
    """
    parts = PurePosixPath(location)
    refused = UnsupportedModelError(
        f"{what} is stored in a file outside of the model's folder, which is not read: save the model in one file, or "
        "with its data beside it"
    )
    if not location or "\0" in location or "\\" in location or ":" in location:
        raise refused
    if parts.is_absolute() or ".." in parts.parts or not parts.parts:
        raise refused
    path = folder / parts
    if not path.resolve().is_relative_to(folder.resolve()):
        raise refused
    if path.exists() and not path.is_file():
        raise FormatError(f"{what} is stored in {path.name}, which is no file")
    return path


__all__ = ["stored"]
