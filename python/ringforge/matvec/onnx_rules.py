# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What ends an ONNX classifier: probabilities, largest scores, labels. Clients compute it, as a `Rule` says.

Each step of the forms that converters write is known by name; any other is refused.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ringforge.errors import FormatError, UnsupportedModelError
from ringforge.matvec.affine import Affine, Value
from ringforge.matvec.onnx_formula import Formula
from ringforge.matvec.onnx_graph import Choice, Graph, Node, Operand, Tail
from ringforge.matvec.rule import MAX_COUNT, Link

#: Stages that a graph may end with.
_ENDS = ("softmax", "log-softmax", "sigmoid", "one-vs-rest", "two-sigmoid", "two-clip-p")

#: Stage after a step: (operator, stages and constants of its operands) -> stage. "K" is the number of scores.
_STEPS: dict[tuple[str, ...], str] = {
    ("Add", "exp", "1"): "1+exp",
    ("Add", "1", "exp"): "1+exp",
    ("Reciprocal", "1+exp"): "sigmoid",
    ("Div", "1", "1+exp"): "sigmoid",
    ("Add", "clip", "1"): "clip+1",
    ("Div", "clip+1", "2"): "clip-p",
    ("Sub", "1", "sigmoid"): "1-sigmoid",
    ("Sub", "1", "clip-p"): "1-clip-p",
    ("Concat", "1-sigmoid", "sigmoid"): "two-sigmoid",
    ("Concat", "1-clip-p", "clip-p"): "two-clip-p",
    ("ReduceSum", "sigmoid"): "sum",
    ("Cast to bool", "sum"): "some",
    ("Not", "some"): "none",
    ("Cast to float", "none"): "empty",
    ("Add", "sigmoid", "empty"): "filled",
    ("Mul", "empty", "K"): "mask",
    ("Add", "sum", "mask"): "total",
    ("Div", "filled", "total"): "one-vs-rest",
    ("Log", "softmax"): "log-softmax",
    ("Normalizer", "softmax"): "softmax",
    ("Normalizer", "sigmoid"): "one-vs-rest",
    ("Normalizer", "two-sigmoid"): "two-sigmoid",
    ("Normalizer", "two-clip-p"): "two-clip-p",
    **{("Cast to float", s): s for s in _ENDS},
    **{("Identity", s): s for s in _ENDS},
}

#: What stages at the end of a graph are for clients.
_LINKS: dict[str, Link] = {
    "softmax": "softmax",
    "log-softmax": "log-softmax",
    "sigmoid": "sigmoid",
    "one-vs-rest": "one-vs-rest",
    "two-sigmoid": "sigmoid",
    "two-clip-p": "clip",
}

#: Operators that begin the end of a classifier.
RULES = ("Sigmoid", "Softmax", "LogSoftmax", "Exp", "Clip", "ArgMax", "ZipMap")

#: An end of Clip that nothing reaches: the largest float32.
_NO_END = 3.4e38


def step(node: Node) -> Operand | None:
    """The result of a node that starts or continues the end of a classifier; None if it is none."""
    found = [node.graph.values[n] for n in node.inputs if n and n not in node.graph.constants]
    operands = [o for o in found if isinstance(o, Tail | Choice)]
    if node.operator in RULES:
        return _begun(node, found)
    if not operands:
        return None
    if any(isinstance(o, Choice) for o in operands):
        return _labelled(node)
    names = _names(node, [o for o in operands if isinstance(o, Tail)])
    stage = _STEPS.get(names) if len(operands) == len(found) else None
    if stage is None:
        return None
    first = operands[0]
    assert isinstance(first, Tail)
    if not all(isinstance(o, Tail) and o.value.same(first.value) for o in operands):
        return None
    value = first.value.times(-1.0) if stage == "sigmoid" and "1+exp" in names else first.value
    return Tail(stage, value, first.classes)


def _names(node: Node, tails: list[Tail]) -> tuple[str, ...]:
    """The step with its operands, as `_STEPS` names them."""
    operator = node.operator
    if operator == "Cast":
        types = node.graph.onnx.TensorProto
        to = node.attributes(to=int, saturate=1)["to"]
        kind = {types.BOOL: "bool", types.FLOAT: "float", types.DOUBLE: "float"}.get(to, "other")
        return (f"Cast to {kind}", tails[0].stage)
    if operator == "ReduceSum":
        found = node.attributes(axes=(int,), keepdims=1, noop_with_empty_axes=0)
        axes = found["axes"] if found["axes"] is not None else node.integers(1) if node.has(1) else []
        return (operator, tails[0].stage) if axes in ([1], [-1]) and found["keepdims"] == 1 else ()
    if operator == "Concat":
        if node.attributes(axis=int)["axis"] not in (1, -1):
            return ()
    elif operator == "Normalizer":
        if node.attributes(norm="MAX")["norm"] != "L1":
            return ()
    else:
        node.attributes()
    words = [operator]
    scores = math.prod(tails[0].value.shape)
    for i, name in enumerate(node.inputs):
        if name in node.graph.constants:
            c = node.array(i, integers=True).reshape(-1)
            number = float(c[0]) if len(c) == 1 else math.nan
            words.append("K" if operator == "Mul" and number == scores else f"{number:g}")
        else:
            operand = node.graph.values[name]
            words.append(operand.stage if isinstance(operand, Tail) else "?")
    return tuple(words)


def _begun(node: Node, found: list[Operand]) -> Operand | None:
    """Operators that nothing but the end of a model has, or whose results clients compute if nothing follows."""
    operator, graph = node.operator, node.graph
    if not found:
        return None
    operand = found[0]
    if operator == "ZipMap":
        return _zipped(node, operand)
    if operator == "ArgMax":
        return _chosen(node, operand)
    vector = len(operand.shape if isinstance(operand, Value | Formula) else (0,)) == 1
    if operator == "Clip":
        return _clipped(node, operand, vector)
    if operator == "Sigmoid" and (not vector or isinstance(operand, Formula)):
        return Formula.atom("Sigmoid", (), graph.formula(operand) or graph.value(operand))
    if not vector:
        raise UnsupportedModelError(f"{node.where}: {operator} of values that are no vector is not supported")
    node.operands(1, 1)
    if operator in ("Softmax", "LogSoftmax"):
        axis = node.attributes(axis=-1)["axis"]
        if axis not in (1, -1):
            raise UnsupportedModelError(
                f"{node.where}: {operator} over axis {axis} is not supported, only over the last"
            )
        return Tail("softmax" if operator == "Softmax" else "log-softmax", graph.value(operand))
    node.attributes()
    return Tail({"Sigmoid": "sigmoid", "Exp": "exp"}[operator], graph.value(operand))


def _clipped(node: Node, operand: Operand, vector: bool) -> Operand:
    """Clip: of scores at the end of a classifier, or an activation as ReLU6 and Hardtanh are."""
    found = node.attributes(min=float, max=float)
    node.operands(1, 3)
    ends = [found["min"], found["max"]]
    for i in (1, 2):
        if node.has(i):
            c = node.array(i)
            ends[i - 1] = float(c.reshape(-1)[0]) if c.size == 1 else math.nan
    low, high = ends
    if low is None and high is None:
        return operand
    if vector and (low, high) == (-1.0, 1.0) and not isinstance(operand, Formula):
        return Tail("clip", node.graph.value(operand))
    argument = node.graph.formula(operand) or node.graph.value(operand)
    if low == 0.0 and (high is None or high >= _NO_END):
        return Formula.atom("Relu", (), argument)
    if low is None or high is None or not math.isfinite(low + high) or low >= high:
        raise UnsupportedModelError(f"{node.where}: Clip needs two ends, the smaller first, not {low} and {high}")
    return Formula.atom("Clip", (("low", low), ("high", high)), argument)


def _scores(operand: Operand) -> int:
    """How many classes an operand has scores of."""
    if isinstance(operand, Tail):
        return 2 if operand.stage.startswith("two-") else math.prod(operand.value.shape)
    return math.prod(operand.shape) if isinstance(operand, Value | Formula) else 0


def _chosen(node: Node, operand: Operand) -> Choice:
    found = node.attributes(axis=0, keepdims=1, select_last_index=0)
    if found["axis"] not in (1, -1) or found["select_last_index"] or isinstance(operand, Choice):
        raise UnsupportedModelError(f"{node.where}: ArgMax is supported over axis 1, the first of equal values")
    if isinstance(operand, Tail) and operand.stage not in _LINKS:
        raise UnsupportedModelError(f"{node.where}: ArgMax of {operand.stage} is not supported")
    source = operand if isinstance(operand, Tail) else node.graph.value(operand)
    if len(source.value.shape if isinstance(source, Tail) else source.shape) != 1 or _scores(source) < 2:
        raise UnsupportedModelError(f"{node.where}: ArgMax needs a vector of at least two scores")
    return Choice(source)


def _zipped(node: Node, operand: Operand) -> Operand:
    found = node.attributes(classlabels_int64s=(int,), classlabels_strings=(str,))
    classes = tuple(found["classlabels_int64s"] or found["classlabels_strings"] or ())
    if isinstance(operand, Tail) and operand.stage in _LINKS and len(classes) == _scores(operand):
        return Tail(operand.stage, operand.value, classes)
    if isinstance(operand, Value) and len(classes) == _scores(operand):
        return operand
    raise UnsupportedModelError(f"{node.where}: ZipMap of {len(classes)} labels is supported for as many scores")


def _labelled(node: Node) -> Operand:
    """Labels in place of places, and what changes their type or shape."""
    graph, operator = node.graph, node.operator
    refused = UnsupportedModelError(f"{node.where}: {operator} of labels is not supported")
    if operator in ("ArrayFeatureExtractor", "Gather"):
        if operator == "Gather" and node.attributes(axis=0)["axis"] != 0:
            raise refused
        node.operands(2, 2)
        classes = node.array(0, labels=True).reshape(-1)
        choice = node.operand(1)
        if not isinstance(choice, Choice) or choice.classes is not None or len(classes) != _scores(choice.source):
            raise refused
        return Choice(choice.source, _plain(classes))
    choice = node.operand(0)
    if not isinstance(choice, Choice):
        raise refused
    if operator == "Cast":
        types = graph.onnx.TensorProto
        to = node.attributes(to=int, saturate=1)["to"]
        whole = choice.classes is None or all(isinstance(c, int) for c in choice.classes)
        text = choice.classes is not None and all(isinstance(c, str) for c in choice.classes)
        if not (whole and to in (types.INT64, types.INT32)) and not (text and to == types.STRING):
            raise refused
        return choice
    if operator == "Reshape" and node.integers(1) in ([-1], [-1, 1], [0]):
        return choice
    if operator in ("Identity", "Squeeze", "Flatten"):
        return choice
    raise refused


def _plain(classes: Any) -> tuple[Any, ...]:
    labels = [c.decode() if isinstance(c, bytes) else c for c in np.asarray(classes).tolist()]
    return tuple(labels)


def linear_classifier(node: Node) -> tuple[Choice, Operand]:
    """LinearClassifier: labels, and scores after their transform."""
    node.operands(1, 1)
    found = node.attributes(
        coefficients=(float,),
        intercepts=(float,),
        classlabels_ints=(int,),
        classlabels_strings=(str,),
        multi_class=0,
        post_transform="NONE",
    )
    classes = tuple(found["classlabels_ints"] or found["classlabels_strings"] or ())
    weights = np.asarray(found["coefficients"] or [], dtype=np.float64)
    if len(classes) < 2 or not weights.size or weights.size % len(classes):
        raise UnsupportedModelError(
            f"{node.where}: LinearClassifier with {len(classes)} classes and {weights.size} coefficients; one row of "
            "them for each of at least two classes is supported"
        )
    matrix = weights.reshape(len(classes), -1).T
    line = node.line(0, len(matrix)).product(matrix)
    if found["intercepts"]:
        line = line.shifted(np.asarray(found["intercepts"], dtype=np.float64))
    value = Value(line)
    stages = {"NONE": "", "LOGISTIC": "sigmoid", "SOFTMAX": "softmax"}
    stage = stages.get(found["post_transform"])
    if stage is None:
        raise UnsupportedModelError(
            f"{node.where}: post_transform {found['post_transform']} is not supported, only {', '.join(stages)}"
        )
    return Choice(value, classes), (Tail(stage, value) if stage else value)


# ---- the end -------------------------------------------------------------------------------------


def conclusion(graph: Graph, names: list[str]) -> tuple[Value, dict[str, Any]]:
    """The scores that a model's outputs follow from, and how: fields of a `Rule`."""
    outputs = [graph.values[n] for n in names]
    choices = [o for o in outputs if isinstance(o, Choice)]
    others = [o for o in outputs if not isinstance(o, Choice)]
    if len(choices) > 1 or len(others) > 1:
        raise UnsupportedModelError(
            f"the model has {len(outputs)} outputs; one is supported, or a label and its probabilities or scores"
        )
    if not choices:
        return _unlabelled(graph, others[0])
    source = choices[0].source
    tail = next((o for o in (*others, source) if isinstance(o, Tail)), None)
    value = source.value if isinstance(source, Tail) else source
    link: Link = "identity"
    if tail is not None:
        if tail.stage not in _LINKS or not tail.value.same(value):
            raise UnsupportedModelError("the model's labels and probabilities come from different scores")
        link = _LINKS[tail.stage]
    link = "softmax" if link == "log-softmax" else link
    classes = choices[0].classes or tuple(range(_scores(source)))
    if not 2 <= len(classes) <= MAX_COUNT:
        raise FormatError(f"the model has {len(classes)} classes; 2 ... {MAX_COUNT} are supported")
    for other in others:
        if isinstance(other, Tail) and other.classes is not None and other.classes != classes:
            raise UnsupportedModelError("the model's labels and probabilities have different classes")
        if not isinstance(other, Tail) and not _among(graph.value(other).line(graph.model), value.line(graph.model)):
            raise UnsupportedModelError("the model's labels and scores are different ones")
    if len(classes) == 2 and value.shape == (2,) and link in ("identity", "sigmoid"):
        value = _single(value, graph)
    return value, {"kind": "classes", "classes": list(classes), "link": link}


def _unlabelled(graph: Graph, output: Operand) -> tuple[Value, dict[str, Any]]:
    if not isinstance(output, Tail):
        return graph.value(output), {"kind": "values"}
    if output.stage not in _LINKS:
        graph.value(output)  # refuses by name
    link = _LINKS[output.stage]
    if output.stage.startswith("two-"):
        return output.value, {"kind": "classes", "classes": list(output.classes or (0, 1)), "link": link}
    if output.classes is not None:
        link = "softmax" if link == "log-softmax" else link
        return output.value, {"kind": "classes", "classes": list(output.classes), "link": link}
    return output.value, {"kind": "values", "link": link}


def _rows(line: Affine) -> list[bytes]:
    layer = line.layer()
    bias = layer.bias if layer.bias.size else np.zeros(layer.rows)
    return [np.append(w, b).tobytes() for w, b in zip(layer.weights + 0.0, bias + 0.0, strict=True)]


def _among(part: Affine, whole: Affine) -> bool:
    """Whether every value of one is a value of the other."""
    return part.base == whole.base and set(_rows(part)) <= set(_rows(whole))


def _single(value: Value, graph: Graph) -> Value:
    """The second of two opposite scores, which says all; other scores as they are."""
    if value.degree > 1:
        return value
    line = value.line(graph.model)
    first = line.mapped(lambda stack: stack[:, :1], (1,))
    second = line.mapped(lambda stack: stack[:, 1:2], (1,))
    return Value(second) if _rows(first.scaled(-1.0)) == _rows(second) else value
