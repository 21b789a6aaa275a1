# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""An encrypted layer in ten lines: the server multiplies a vector that it cannot read."""

import numpy as np

from ringforge import matvec

weights = np.array([[0.5, -1.0, 0.25], [0.0, 2.0, 1.0]])
model = matvec.Linear(weights, bias=[0.1, -0.1])  # the server's
program = matvec.compile_model(model).program  # public: parameters, plan, levels
client = matvec.Client(program)  # holds the secret key
server = matvec.Server(model, program, client.evaluation_keys())  # holds the model
x = np.array([0.2, -0.4, 1.0])
result, report = server.evaluate(client.encrypt(x))
print("decrypted:", np.round(client.decrypt(result)[0], 5), "in the clear:", model(x))
print(f"{report.seconds * 1e3:.1f} ms, {dict(report.operations)}")
