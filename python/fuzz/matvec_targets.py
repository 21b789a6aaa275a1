# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Fuzz target of rules, and what fuzzing of models starts from: small ONNX models that between them have most of the
operators that are read."""

from __future__ import annotations

from typing import Any

import mutators
import numpy as np
from onnx import TensorProto, helper, numpy_helper
from registry import stored, target

from ringforge import matvec


def _model(nodes: list[Any], constants: dict[str, Any], shape: list[Any], outputs: dict[str, int]) -> bytes:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs.items()],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    versions = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    return bytes(helper.make_model(graph, opset_imports=versions, ir_version=8).SerializeToString())


def _node(operator: str, inputs: str, outputs: str, **attributes: Any) -> Any:
    ours = operator in ("LinearClassifier", "Normalizer", "ZipMap", "Scaler", "ArrayFeatureExtractor")
    domain = "ai.onnx.ml" if ours else ""
    return helper.make_node(operator, inputs.split(), outputs.split(), domain=domain, **attributes)


def convolutional() -> bytes:
    """A network of convolutions, a square, pools and a residual sum."""
    f = np.float32
    nodes = [
        _node("BatchNormalization", "x n n n s", "b"),
        _node("Conv", "b w", "c", pads=[1, 1, 1, 1], group=1),
        _node("Add", "c x", "r"),
        _node("Mul", "r r", "q"),
        _node("AveragePool", "q", "p", kernel_shape=[2, 2], strides=[2, 2]),
        _node("Transpose", "p", "t", perm=[0, 2, 3, 1]),
        _node("Flatten", "t", "f"),
        _node("Gemm", "f g", "y", transB=1),
    ]
    constants = {"n": np.ones(1, f), "s": np.ones(1, f), "w": np.full((1, 1, 3, 3), 0.1, f), "g": np.ones((2, 4), f)}
    return _model(nodes, constants, ["batch", 1, 4, 4], {"y": TensorProto.FLOAT})


def classifier() -> bytes:
    """What converters make of a scaler and a logistic regression."""
    nodes = [
        _node("Scaler", "x", "s", offset=[0.5, 0.0], scale=[2.0, 1.0]),
        _node(
            "LinearClassifier",
            "s",
            "label p",
            classlabels_ints=[3, 5, 8],
            coefficients=[1.0, 0.0, -1.0, 0.5, 0.0, 2.0],
            intercepts=[0.1, 0.2, 0.3],
            multi_class=1,
            post_transform="SOFTMAX",
        ),
        _node("Normalizer", "p", "n", norm="L1"),
        _node("ZipMap", "n", "probabilities", classlabels_int64s=[3, 5, 8]),
    ]
    return _model(nodes, {}, ["batch", 2], {"label": TensorProto.INT64, "probabilities": TensorProto.FLOAT})


def chosen() -> bytes:
    """What converters make of a network that ends in a softmax and labels."""
    nodes = [
        _node("MatMul", "x w", "m"),
        _node("Add", "m b", "h"),
        _node("Pow", "h three", "c"),
        _node("Sub", "c h", "d"),
        _node("Softmax", "d", "p"),
        _node("ArgMax", "p", "i", axis=1),
        _node("ArrayFeatureExtractor", "classes i", "l"),
        _node("Reshape", "l flat", "label"),
    ]
    constants = {
        "w": np.eye(2, dtype=np.float32),
        "b": np.ones((1, 2), np.float32),
        "three": np.float32(3),
        "classes": np.array([4, 6], np.int32),
        "flat": np.array([-1]),
    }
    return _model(nodes, constants, ["batch", 2], {"label": TensorProto.INT32, "p": TensorProto.FLOAT})


def viewed() -> bytes:
    """Sizes of values, pieces and their sum, as PyTorch's exporters write them; the logarithm of a softmax."""
    nodes = [
        _node("Shape", "x", "s"),
        _node("Gather", "s zero", "b", axis=0),
        _node("Unsqueeze", "b axis", "u"),
        _node("Concat", "u less", "t", axis=0),
        _node("Reshape", "x t", "r"),
        _node("Split", "r halves", "p q", axis=1),
        _node("Slice", "r one three column", "v"),
        _node("Sum", "p q v", "w"),
        _node("MatMul", "w eye", "m"),
        _node("Mul", "m m", "sq"),
        _node("Squeeze", "sq last", "f"),
        _node("LogSoftmax", "f", "y", axis=-1),
    ]
    constants = {
        "zero": np.array(0), "axis": np.array([0]), "less": np.array([-1, 1]), "halves": np.array([2, 2]),
        "one": np.array([1]), "three": np.array([3]), "column": np.array([1]), "last": np.array([2]),
        "eye": np.ones((1, 1), np.float32),
    }  # fmt: skip
    return _model(nodes, constants, ["batch", 2, 2], {"y": TensorProto.FLOAT})


def beside() -> bytes:
    """Weights in a file of the model's folder: itself, for there is no other."""
    graph = helper.make_graph(
        [_node("MatMul", "x w", "y")],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2, 2], data_location=TensorProto.EXTERNAL)],
    )
    tensor = graph.initializer[0]
    for key, value in (("location", "m.onnx"), ("offset", "4"), ("length", "16")):
        tensor.external_data.add(key=key, value=value)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    return bytes(made.SerializeToString())


ONNX = (convolutional, classifier, chosen, viewed, beside)


def _rules() -> list[matvec.Rule]:
    return [
        matvec.Rule(kind="classes", inputs=2, outputs=2, classes=["no", "yes"], link="softmax", low=[0.0, 1.0],
                    high=[2.0, 1.0]),
        matvec.Rule(kind="classes", inputs=2, outputs=1, classes=[3, 7], link="sigmoid", program="00" * 32),
        matvec.Rule(kind="values", inputs=2, outputs=2),
    ]  # fmt: skip


@target(
    "matvec.rule.Rule.load",
    "matvec.rule.Rule.from_json",
    seeds=lambda: [rule.model_dump_json(exclude_none=True).encode() for rule in _rules()],
    mutate=mutators.in_json,
)
def matvec_rule(data: bytes) -> None:
    rule = matvec.Rule.load(stored("r.json", data))
    rule.labels(np.zeros((1, rule.outputs))) if rule.classes else rule.probabilities(np.zeros((1, rule.outputs)))


def estimators() -> list[matvec.EncryptedClassifier]:
    """Models with rules."""
    linear = matvec.Sequential([matvec.Linear([[0.5, -1.0], [0.0, 2.0]])])
    return [matvec.EncryptedClassifier(linear, _rules()[0])]
