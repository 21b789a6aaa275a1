# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Small networks as the exporters of PyTorch write them, both the tracing one (names with slashes, Constant nodes) and
the newer one (dynamo: opset 18 and above, `allowzero`, weights in a file of their own).

PyTorch itself is too large for the tests: each graph is put together node by node, after files that it has written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from ringforge.matvec import approximations


def ints(*numbers: int) -> np.ndarray:
    return np.array(numbers, dtype=np.int64)


def number(value: float) -> np.ndarray:
    return np.array(value, dtype=np.float32)


@dataclass
class Graph:
    """Nodes and weights so far.

    Attributes:
        dynamo: which exporter; it decides on names, versions, and where the weights go.
    """

    dynamo: bool
    opset: int
    nodes: list[Any] = field(default_factory=list)
    weights: dict[str, np.ndarray] = field(default_factory=dict)
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(2026))

    def f32(self, *shape: int, scale: float | None = None) -> np.ndarray:
        """Weights as layers are initialised: small for many inputs."""
        fan = float(np.prod(shape[1:])) if len(shape) > 1 else 4.0
        return (self.rng.normal(size=shape) * (scale or 1 / np.sqrt(fan))).astype(np.float32)

    def add(self, op: str, *inputs: str, outputs: int = 1, **attributes: Any) -> str:
        """A node; the name of its (first) result."""
        place = len(self.nodes)
        names = [f"val_{place}_{i}" if self.dynamo else f"/net/net.{place}/{op}_output_{i}" for i in range(outputs)]
        name = f"node_{op}_{place}" if self.dynamo else f"/net/net.{place}/{op}"
        self.nodes.append(helper.make_node(op, list(inputs), names, name=name, **attributes))
        return names[0]

    def constant(self, value: np.ndarray) -> str:
        """A small constant: a node of the tracing exporter, an initialiser of the newer one."""
        if self.dynamo:
            return self.weight(f"const_{len(self.weights)}", value)
        place = len(self.nodes)
        name = f"/net/Constant_{place}_output_0"
        tensor = numpy_helper.from_array(value, "")
        self.nodes.append(helper.make_node("Constant", [], [name], name=f"/net/Constant_{place}", value=tensor))
        return name

    def weight(self, name: str, value: np.ndarray) -> str:
        self.weights[name] = value
        return name

    def linear(self, x: str, name: str, rows: int, cols: int) -> str:
        """nn.Linear of vectors."""
        w, b = (
            self.weight(f"{name}.weight", self.f32(rows, cols)),
            self.weight(f"{name}.bias", self.f32(rows, scale=0.1)),
        )
        return self.add("Gemm", x, w, b, alpha=1.0, beta=1.0, transB=1)

    def saved(self, path: Path, result: str, shape: tuple[Any, ...]) -> Path:
        """The model as a file, with external data where the exporter writes it."""
        self.nodes.append(helper.make_node("Identity", [result], ["output"]))
        graph = helper.make_graph(
            self.nodes,
            "main_graph",
            [helper.make_tensor_value_info("input" if not self.dynamo else "x", TensorProto.FLOAT, list(shape))],
            [helper.make_tensor_value_info("output", TensorProto.FLOAT, None)],
            [numpy_helper.from_array(v, k) for k, v in self.weights.items()],
        )
        proto = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", self.opset)],
            ir_version=10 if self.dynamo else 8,
            producer_name="pytorch",
            producer_version="2.9.0",
        )
        if self.dynamo:
            onnx.save(proto, path, save_as_external_data=True, location=f"{path.name}.data", size_threshold=64)
        else:
            onnx.save(proto, path)
        return path


@dataclass(frozen=True)
class Network:
    """A network.

    Attributes:
        shape: of inputs without the batch.
        activations: what stands for what is no polynomial.
        tolerance: how far results may be off by these.
    """

    path: Path
    shape: tuple[int, ...]
    activations: Mapping[str, Any] | None
    tolerance: float


Maker = Callable[[Path], Network]


def view_mlp(path: Path) -> Network:
    """x.view(x.size(0), -1), two layers, log_softmax: the tracing exporter, batch left open."""
    g = Graph(dynamo=False, opset=17)
    shape = g.add("Shape", "input")
    batch = g.add("Gather", shape, g.constant(np.array(0, dtype=np.int64)), axis=0)
    axes, rest = g.constant(ints(0)), g.constant(ints(-1))
    target = g.add("Concat", g.add("Unsqueeze", batch, axes), rest, axis=0)
    x = g.linear(g.add("Reshape", "input", target), "fc1", 12, 16)
    x = g.linear(g.add("Tanh", x), "fc2", 5, 12)
    x = g.add("LogSoftmax", x, axis=1)
    tanh = approximations.tanh(25, (-4, 4))
    return Network(g.saved(path, x, ("batch_size", 1, 4, 4)), (1, 4, 4), {"Tanh": tanh}, 1e-3)


def lenet(path: Path) -> Network:
    """Convolutions, ReLU, average pools, flatten: the tracing exporter, with a batch of 1."""
    g = Graph(dynamo=False, opset=17)
    conv: dict[str, Any] = {"dilations": [1, 1], "group": 1, "kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    pool: dict[str, Any] = {"ceil_mode": 0, "count_include_pad": 1, "kernel_shape": [2, 2], "pads": [0, 0, 0, 0]}
    x = g.add(
        "Conv", "input", g.weight("c1.weight", g.f32(3, 1, 3, 3)), g.weight("c1.bias", g.f32(3)), strides=[1, 1], **conv
    )
    x = g.add("AveragePool", g.add("Relu", x), strides=[2, 2], **pool)
    x = g.add(
        "Conv", x, g.weight("c2.weight", g.f32(4, 3, 3, 3)), g.weight("c2.bias", g.f32(4)), strides=[1, 1], **conv
    )
    x = g.add("AveragePool", g.add("Relu", x), strides=[2, 2], **pool)
    x = g.linear(g.add("Flatten", x, axis=1), "fc", 3, 16)
    return Network(g.saved(path, x, (1, 1, 8, 8)), (1, 8, 8), {"Relu": approximations.relu(24, (-2.5, 2.5))}, 0.03)


def gelu_mlp(path: Path) -> Network:
    """GELU below opset 20: Div, Erf, Add, Mul, Mul."""
    g = Graph(dynamo=False, opset=17)
    x = g.linear("input", "0", 12, 8)
    erf = g.add("Erf", g.add("Div", x, g.constant(number(2**0.5))))
    x = g.add("Mul", g.add("Mul", x, g.add("Add", erf, g.constant(number(1.0)))), g.constant(number(0.5)))
    x = g.linear(x, "2", 3, 12)
    return Network(g.saved(path, x, ("batch", 8)), (8,), {"Gelu": approximations.gelu(20, (-4, 4))}, 1e-3)


def gelu_operator(path: Path) -> Network:
    """GELU as an operator, weights beside the model: the newer exporter, opset 20."""
    g = Graph(dynamo=True, opset=20)
    x = g.add("Gelu", g.linear("x", "fc1", 12, 8), approximate="none")
    x = g.linear(x, "fc2", 3, 12)
    return Network(g.saved(path, x, ("s77", 8)), (8,), {"Gelu": approximations.gelu(20, (-4, 4))}, 1e-3)


def gelu_tanh(path: Path) -> Network:
    """GELU's other form, written out."""
    g = Graph(dynamo=False, opset=17)
    x = g.linear("input", "0", 10, 8)
    cube = g.add("Mul", x, g.add("Mul", x, x))
    inner = g.add("Add", x, g.add("Mul", g.constant(number(0.044715)), cube))
    tanh = g.add("Tanh", g.add("Mul", g.constant(number(0.7978846)), inner))
    both = g.add("Mul", x, g.add("Add", g.constant(number(1.0)), tanh))
    x = g.linear(g.add("Mul", g.constant(number(0.5)), both), "2", 3, 10)
    gelu = approximations.gelu(20, (-4, 4), approximate="tanh")
    return Network(g.saved(path, x, ("batch", 8)), (8,), {"Gelu": gelu}, 1e-3)


def silu_cnn(path: Path) -> Network:
    """Depthwise convolutions, SiLU as Sigmoid and Mul, a mean over pixels, view: the newer exporter."""
    g = Graph(dynamo=True, opset=18)
    conv: dict[str, Any] = {"auto_pad": "NOTSET", "dilations": [1, 1], "pads": [1, 1, 1, 1], "strides": [2, 2]}
    x = g.add("Conv", "x", g.weight("c1.weight", g.f32(4, 2, 3, 3)), g.weight("c1.bias", g.f32(4)), group=1, **conv)
    x = g.add("Mul", x, g.add("Sigmoid", x))
    x = g.add("Conv", x, g.weight("c2.weight", g.f32(4, 1, 3, 3)), g.weight("c2.bias", g.f32(4)), group=4, **conv)
    x = g.add("Mul", x, g.add("Sigmoid", x))
    x = g.add("ReduceMean", x, g.constant(ints(-1, -2)), noop_with_empty_axes=0, keepdims=1)
    batch = g.add("Squeeze", g.add("Shape", "x", start=0, end=1))
    target = g.add("Concat", g.add("Reshape", batch, g.constant(ints(-1)), allowzero=0), g.constant(ints(4)), axis=0)
    x = g.linear(g.add("Reshape", x, target, allowzero=1), "fc", 3, 4)
    x = g.add("Softmax", x, axis=-1)
    return Network(g.saved(path, x, ("s0", 2, 8, 8)), (2, 8, 8), {"Swish": approximations.swish(14, (-5, 5))}, 1e-3)


def hard_mlp(path: Path) -> Network:
    """Hardswish, Hardsigmoid, LeakyReLU and ELU, one after the other."""
    g = Graph(dynamo=False, opset=17)
    x = g.add("HardSwish", g.linear("input", "0", 10, 8))
    x = g.add("HardSigmoid", g.linear(x, "2", 10, 10), alpha=1 / 6)
    x = g.add("LeakyRelu", g.linear(x, "4", 10, 10), alpha=0.1)
    x = g.add("Elu", g.linear(x, "6", 10, 10), alpha=1.0)
    x = g.linear(x, "8", 3, 10)
    stated = {
        "HardSwish": approximations.hard_swish(24, (-3.5, 3.5)),
        "HardSigmoid": approximations.hard_sigmoid(24, (-4, 4), alpha=1 / 6),
        "LeakyRelu": approximations.leaky_relu(24, (-2, 2), alpha=0.1),
        "Elu": approximations.elu(24, (-2, 2)),
    }
    return Network(g.saved(path, x, ("batch", 8)), (8,), stated, 0.04)


def mish_mlp(path: Path) -> Network:
    """Mish below opset 18: Softplus, Tanh, Mul; then the operator Softplus alone."""
    g = Graph(dynamo=False, opset=17)
    x = g.linear("input", "0", 10, 8)
    x = g.add("Mul", x, g.add("Tanh", g.add("Softplus", x)))
    x = g.linear(g.add("Softplus", g.linear(x, "2", 6, 10)), "4", 2, 6)
    stated = {"Mish": approximations.mish(14, (-4, 4)), "Softplus": approximations.softplus(10, (-4, 4))}
    return Network(g.saved(path, x, ("batch", 8)), (8,), stated, 1e-3)


def tokens(path: Path) -> Network:
    """Layers over the last of two axes, a residual sum, LayerScale, a mean over tokens: MatMul and Add in 3-D."""
    g = Graph(dynamo=False, opset=17)
    x = g.add(
        "Add", g.weight("embed.bias", g.f32(6)), g.add("MatMul", "input", g.weight("onnx::MatMul_30", g.f32(6, 6)))
    )
    y = g.add("MatMul", g.add("Transpose", x, perm=[0, 2, 1]), g.weight("onnx::MatMul_31", g.f32(5, 5)))
    x = g.add("Add", x, g.add("Mul", g.add("Transpose", y, perm=[0, 2, 1]), g.weight("gamma", g.f32(6))))
    centred = g.add("Sub", x, g.add("ReduceMean", x, axes=[1], keepdims=1))
    x = g.add("Gelu", centred) if g.opset >= 20 else g.add("Mul", centred, centred)
    x = g.linear(g.add("ReduceMean", x, axes=[1], keepdims=0), "head", 3, 6)
    return Network(g.saved(path, x, ("batch", 5, 6)), (5, 6), None, 2e-5)


def pieces(path: Path) -> Network:
    """split, chunk, slices, cat, sum, unsqueeze, pad: what a network with branches is made of."""
    g = Graph(dynamo=True, opset=18)
    x = g.linear("x", "fc1", 12, 8)
    g.add("Split", x, g.constant(ints(4, 4, 4)), axis=1, outputs=3)
    a, b, c = g.nodes[-1].output
    tail = g.add("Slice", x, g.constant(ints(0, -4)), g.constant(ints(2**63 - 1, 2**63 - 1)),
                 g.constant(ints(0, 1)), g.constant(ints(1, 2)))  # fmt: skip
    total = g.add("Sum", a, b, c)
    one = g.add("Gather", x, g.constant(np.array(3, dtype=np.int64)), axis=1)
    one = g.add("Unsqueeze", one, g.constant(ints(1)))
    x = g.add("Concat", total, tail, one, axis=-1)
    x = g.add("Pad", x, g.constant(ints(0, 1, 0, 1)), mode="constant")
    x = g.add("Squeeze", g.add("Unsqueeze", x, g.constant(ints(2))), g.constant(ints(2)))
    x = g.linear(g.add("Mul", x, x), "fc2", 3, 9)
    return Network(g.saved(path, x, ("batch", 8)), (8,), None, 2e-5)


def relu6(path: Path) -> Network:
    """ReLU6 as Relu and Clip, Hardtanh as Clip, dropout and identity: the tracing exporter."""
    g = Graph(dynamo=False, opset=17)
    x = g.add("Relu", g.linear("input", "0", 10, 8))
    x = g.add("Clip", x, g.constant(number(0.0)), g.constant(number(6.0)))
    x = g.add("Identity", g.add("Dropout", g.linear(x, "2", 6, 10)))
    x = g.linear(x, "3", 2, 6)
    stated = {"Clip": approximations.clip(31, (-2.5, 2.5), low=0.0, high=6.0)}
    return Network(g.saved(path, x, ("batch", 8)), (8,), stated, 0.04)


def normalised(path: Path) -> Network:
    """Batch normalisation that was kept, PReLU with one slope, a global average pool, two residual branches."""
    g = Graph(dynamo=True, opset=18)
    conv: dict[str, Any] = {"dilations": [1, 1], "group": 1, "pads": [1, 1, 1, 1], "strides": [1, 1]}
    x = g.add("Conv", "x", g.weight("c.weight", g.f32(3, 1, 3, 3)), **conv)
    statistics = [g.weight(f"bn.{n}", v) for n, v in
                  (("weight", g.f32(3) + 1), ("bias", g.f32(3)), ("running_mean", g.f32(3)),
                   ("running_var", np.abs(g.f32(3)) + 4))]  # fmt: skip
    x = g.add("BatchNormalization", x, *statistics, epsilon=1e-5, momentum=0.9, training_mode=0)
    x = g.add("Add", x, g.add("Conv", x, g.weight("d.weight", g.f32(3, 3, 1, 1))))
    x = g.add("PRelu", x, g.weight("act.weight", np.full((1, 1, 1), 0.25, dtype=np.float32)))
    x = g.add("Flatten", g.add("GlobalAveragePool", x), axis=1)
    x = g.linear(x, "fc", 2, 3)
    stated = {"PRelu": approximations.leaky_relu(24, (-4, 4), alpha=0.25)}
    return Network(g.saved(path, x, ("s0", 1, 6, 6)), (1, 6, 6), stated, 0.03)


NETWORKS: dict[str, Maker] = {
    maker.__name__: maker
    for maker in (
        view_mlp,
        lenet,
        gelu_mlp,
        gelu_operator,
        gelu_tanh,
        silu_cnn,
        hard_mlp,
        mish_mlp,
        tokens,
        pieces,
        relu6,
        normalised,
    )
}
