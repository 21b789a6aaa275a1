# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A scikit-learn pipeline on encrypted patients: the server classifies rows that it cannot read.

The server has the fitted pipeline; the client has rows and the secret key. Between them go a program, a rule (classes,
ranges of features), evaluation keys and ciphertexts. Needs `pip install ringforge-he[sklearn]`.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ringforge import matvec

x, y = load_breast_cancer(return_X_y=True)
learn, held, labels, _ = train_test_split(x, y, random_state=0)
pipeline = make_pipeline(StandardScaler(), PCA(8), LogisticRegression()).fit(learn, labels)

# Server: scaler, projection and regression become one matrix; the ranges of features are public.
model = matvec.from_sklearn(pipeline, input_range=(0.0, 2 * x.max(axis=0)))
program = model.compile(batch=64).program
rule = model.public_rule(program)

# Client: knows program and rule.
client = matvec.EstimatorClient(matvec.Client(program), rule)
keys, rows = client.client.evaluation_keys(), client.encrypt(held)

# Server: sees ciphertexts.
result, report = model.server(program, keys).evaluate(rows)

# Client: classes, probabilities, and which rows are too close to call.
classes = client.predict(result)
print(f"{len(model.model.layers)} product, {report.operations['key_switch']} key switches for {len(held)} rows")
print(f"the same classes as scikit-learn: {(classes == pipeline.predict(held)).all()}")
print(f"rows too close to call: {client.uncertain(result).sum()}")
difference = np.abs(client.predict_proba(result) - pipeline.predict_proba(held)).max()
print(f"probabilities differ by less than 1e-3: {difference < 1e-3}")
