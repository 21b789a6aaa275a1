# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Encrypted neural-network layers: plain matrices times encrypted vectors.

>>> import numpy as np
>>> from ringforge import matvec
>>> model = matvec.Linear(np.eye(3) * 0.5)
>>> program = matvec.compile_model(model, "set-a").program
>>> client = matvec.Client(program)
>>> server = matvec.Server(model, program, client.evaluation_keys())
>>> result, report = server.evaluate(client.encrypt([0.2, -0.4, 1.0]))
>>> np.round(client.decrypt(result), 4)[0].tolist()
[0.1, -0.2, 0.5]
"""

from ringforge.matvec import approximations
from ringforge.matvec.compiler import Compiled, compile_model
from ringforge.matvec.convolution import average_pool, conv2d
from ringforge.matvec.estimators import EncryptedClassifier, EncryptedRegressor, EncryptedTransformer, EstimatorClient
from ringforge.matvec.model import Linear, Sequential, Square
from ringforge.matvec.model_files import load_estimator, load_model, save_model
from ringforge.matvec.onnx_import import from_onnx
from ringforge.matvec.polynomial import Polynomial
from ringforge.matvec.program import Program
from ringforge.matvec.roles import Client, EncryptedVectors, EvaluationKeys, Server
from ringforge.matvec.rule import Rule, input_range
from ringforge.matvec.sklearn_import import from_sklearn

__all__ = [
    "Client",
    "Compiled",
    "EncryptedClassifier",
    "EncryptedRegressor",
    "EncryptedTransformer",
    "EncryptedVectors",
    "EstimatorClient",
    "EvaluationKeys",
    "Linear",
    "Polynomial",
    "Program",
    "Rule",
    "Sequential",
    "Server",
    "Square",
    "approximations",
    "average_pool",
    "compile_model",
    "conv2d",
    "from_onnx",
    "from_sklearn",
    "input_range",
    "load_estimator",
    "load_model",
    "save_model",
]
