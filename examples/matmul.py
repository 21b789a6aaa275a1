# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Two owners multiply their matrices on a server that can read neither; one of them gets the result."""

import numpy as np

from ringforge import matmul

rng = np.random.default_rng(1)

# Agreed on and public: shapes, the formula, and so the parameters and plans.
program = matmul.trace(None, lambda A, B: A @ B, A=(20, 30), B=(30, 10))

# Anna holds the key: the result is for her. Ben has her public key only.
anna = matmul.KeyHolder(program)
ben = matmul.Contributor(program, anna.public_key())
a, b = rng.uniform(-1, 1, (20, 30)), rng.uniform(-1, 1, (30, 10))

# The server has evaluation keys and ciphertexts. It must not join up with Anna: together they could read b.
server = matmul.Server(program, anna.evaluation_keys())
outputs, report = server.run([anna.encrypt("A", a), ben.encrypt("B", b)])
print(f"server: {report.seconds * 1e3:.0f} ms, {report.operations['key_switch']} key switches")

c = anna.decrypt(outputs["result"])
error = np.abs(c - a @ b).max()
print(f"largest difference from numpy {error:.1e}, at most {anna.error_bound('result'):.1e} predicted")

# The same with all keys in one object, for trying things out.
s = matmul.Session(program.context.params)
A, B = s.encrypt(a), s.encrypt(b)
print((A @ B).decrypt()[:2, :3])
