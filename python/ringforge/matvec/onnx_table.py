# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Which operators of ONNX are taken, what becomes of them, and why others are not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ringforge.matvec.onnx_formula import KNOWN, REPLACEABLE
from ringforge.matvec.onnx_operators import OPERATORS
from ringforge.matvec.onnx_rules import RULES
from ringforge.matvec.onnx_shapes import FOLDED

#: Operators that are polynomials of one value, besides being affine with constants.
_POLYNOMIALS = ("Add", "Mul", "Neg", "Pow", "Sub")

#: Operators that classifiers end with, in the forms that skl2onnx writes.
_ENDINGS = ("Add", "Cast", "Concat", "Div", "LinearClassifier", "Log", "Mul", "Normalizer", "Not", "ReduceSum",
            "Reciprocal", "Sub")  # fmt: skip

#: Names by the reason why they are not taken.
_GROUPS = {
    "a largest value is no polynomial: use AveragePool": "MaxPool",
    "a largest value is no polynomial: use GlobalAveragePool": "GlobalMaxPool",
    "it divides by values: use BatchNormalization": "GroupNormalization InstanceNormalization LayerNormalization",
    "it divides by values: use Scaler": "Normalizer",
    "it multiplies values with each other, and has a softmax inside": "Attention",
    "it is linear, and not read: use Conv": "ConvTranspose",
    "it is no polynomial: use a square, or Relu with an approximation": "Abs",
    "it compares or selects values, which is no polynomial": """
        And ArgMin Binarizer Ceil Compress Equal Floor Greater GreaterOrEqual Hardmax IsInf IsNaN Less LessOrEqual Max
        MaxRoiPool MaxUnpool Min Mod NonMaxSuppression NonZero Not Or ReduceMax ReduceMin Round Shrink Sign
        ThresholdedRelu TopK TreeEnsemble TreeEnsembleClassifier TreeEnsembleRegressor Unique Where Xor""",
    "it divides by values or takes their roots, which is no polynomial": """
        GlobalLpPool LRN LpNormalization LpPool MeanVarianceNormalization RMSNormalization Reciprocal ReduceL1 ReduceL2
        ReduceLogSum ReduceLogSumExp Sqrt""",
    "it is no polynomial, and there is no approximation of it here": """
        Acos Acosh Asin Asinh Atan Atanh Cos Cosh Log Sin Sinh Tan""",
    "it multiplies different values with each other, or loops over them: models are chains of layers": """
        CausalConvWithState CumProd Det FlexAttention GRU If LSTM LinearAttention Loop RNN ReduceProd ReduceSumSquare
        RotaryEmbedding SVMClassifier SVMRegressor Scan SwiGLU""",
    "it makes shapes or constants: export with fixed shapes, constants folded": """
        CastLike Expand EyeLike OneHot Range Size Tile Trilu""",
    "it is linear, and not read: write it with MatMul, Conv, Slice, Concat or Gather": """
        AffineGrid CenterCropPad Col2Im CumSum DepthToSpace Einsum FeatureVectorizer GatherElements GatherND Resize
        ReverseSequence Scatter ScatterElements ScatterND SpaceToDepth TensorScatter Upsample""",
    "it is for whole numbers or quantised weights: export in float32": """
        BitCast BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor ConvInteger DequantizeLinear DynamicQuantizeLinear
        MatMulInteger QLinearConv QLinearMatMul QuantizeLinear""",
    "it is for training, random numbers, texts, sequences, images or signals, not for layers": """
        Adagrad Adam Bernoulli BlackmanWindow CastMap CategoryMapper ConcatFromSequence DFT DeformConv DictVectorizer
        Gradient GridSample HammingWindow HannWindow ImageDecoder Imputer LabelEncoder MelWeightMatrix Momentum
        Multinomial NegativeLogLikelihoodLoss OneHotEncoder Optional OptionalGetElement OptionalHasElement RandomNormal
        RandomNormalLike RandomUniform RandomUniformLike RegexFullMatch RoiAlign STFT SequenceAt SequenceConstruct
        SequenceEmpty SequenceErase SequenceInsert SequenceLength SequenceMap SoftmaxCrossEntropyLoss SplitToSequence
        StringConcat StringNormalizer StringSplit TfIdfVectorizer""",
}

#: Why an operator is not taken.
REFUSED = {name: why for why, names in _GROUPS.items() for name in names.split()}


def reason(operator: str) -> str:
    """Why an operator is not taken; nothing if that is not known."""
    return REFUSED.get(operator, "")


def taken() -> dict[str, list[str]]:
    """Operators by what becomes of them; some are in several places."""
    affine = sorted(name for name in OPERATORS if name not in KNOWN and name not in ("Pow", "Shape"))
    approximated = (
        "the polynomial that `activations=` names, else refused: each has an approximation. GELU, SiLU, Mish, HardSwish"
        " and ReLU6 are known too where they are written with several of these and products"
    )
    sizes = "Shape, Gather, Slice, Concat, Cast, Squeeze and Unsqueeze"
    return {
        "a matrix over the flattened input, folded with its neighbours: products, sums and quotients with constants, "
        "sums of two values": affine,
        "a polynomial, of one value": list(_POLYNOMIALS),
        approximated: sorted(REPLACEABLE),
        "the rule, at the end of a model: clients compute it after decryption": sorted({*RULES, *_ENDINGS}),
        f"a constant, of constants; of sizes of values {sizes}": sorted({*FOLDED, "Constant"}),
    }


def refused() -> dict[str, list[str]]:
    """Operators that are taken nowhere, by the reason."""
    everywhere = {name for names in taken().values() for name in names}
    found: dict[str, list[str]] = {}
    for name, why in REFUSED.items():
        if name not in everywhere:
            found.setdefault(why, []).append(name)
    return {why: sorted(names) for why, names in found.items()}


def rows() -> list[tuple[bool, Sequence[str], str]]:
    """All rows of the list: whether operators are taken, which, and what becomes of them or why not."""
    return [
        *((True, names, what) for what, names in taken().items()),
        *((False, names, why) for why, names in refused().items()),
    ]


def markdown() -> str:
    """The list as docs/matvec.md has it."""
    return f"{_markdown('become', taken())}\n{_markdown('are refused, because', refused())}"


def _markdown(heading: str, groups: Mapping[str, Sequence[str]]) -> str:
    lines = [f"| operators | {heading} |", "|---|---|"]
    lines += [f"| {', '.join(names)} | {text} |" for text, names in groups.items()]
    return "\n".join(lines) + "\n"


__all__ = ["REFUSED", "markdown", "reason", "refused", "rows", "taken"]
