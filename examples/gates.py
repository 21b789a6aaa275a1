# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A server adds two numbers that it cannot read: a ripple-carry adder of gates on encrypted bits."""

from ringforge import gates

WIDTH, A, B = 4, 11, 6

# The key holder's: the secret key stays, the evaluation key goes to the server.
secret, key = gates.keygen("gates-128", threads=2)
a, b = (gates.encrypt(secret, gates.to_bits(number, WIDTH)) for number in (A, B))

# The server's. Every gate refreshes its result, so that circuits may be of any depth.
evaluator = gates.Evaluator(key, threads=2)
a, b = evaluator.bind(a), evaluator.bind(b)
carry, total = a[:1] & b[:1], [a[:1] ^ b[:1]]
for i in range(1, WIDTH):
    x, y = a[i : i + 1], b[i : i + 1]
    total.append(evaluator.xor3(x, y, carry))
    carry = evaluator.majority(x, y, carry)
result = gates.concatenate([*total, carry])

print(f"{A} + {B} = {gates.from_bits(gates.decrypt(secret, result))}")
print(f"{evaluator.bootstraps} gates, each with a bootstrap")

# Larger circuits come from netlists; this one is shipped.
print("adder32:", gates.Circuit("adder32").report())
