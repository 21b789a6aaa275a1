# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Exact integers: a server scores encrypted answers of a questionnaire with its own weights, and sums their squares.

    .venv/bin/python examples/exact_integers.py

The client sends records, the server computes without the secret key, and what comes back equals the clear computation
in every digit. docs/bfv.md explains scheme and noise.
"""

from __future__ import annotations

import numpy as np

from ringforge import bfv
from ringforge._native import io


class Client:
    """Has the secret key and the answers."""

    def __init__(self, params: str, plan: bfv.LinearPlan) -> None:
        self.session, self.plan = bfv.Session(params), plan
        self.session.add_galois_keys(plan.elements)

    def request(self, answers: np.ndarray) -> list[bytes]:
        """Encrypted answers: laid out for the matrix."""
        s = self.session
        return [io.to_bytes(s.context, s.client.encrypt(p, s.secret_key)) for p in self.plan.encode(answers)]

    def keys(self) -> tuple[bytes, list[bytes]]:
        """What the server needs: none of it decrypts."""
        s = self.session
        made = [s.client.galois_key(s.secret_key, e) for e in self.plan.elements]
        return io.to_bytes(s.context, s.relin_key), [io.to_bytes(s.context, k) for k in made]

    def open(self, replies: list[bytes]) -> list[bfv.Ciphertext]:
        return [io.ciphertext_from_bytes(r, self.session.context) for r in replies]


def server(
    layer: bfv.Linear, plan: bfv.LinearPlan, keys: tuple[bytes, list[bytes]], request: list[bytes]
) -> tuple[list[bytes], list[bytes]]:
    """Scores, and squared answers."""
    context = plan.context
    relin, galois = io.relin_key_from_bytes(keys[0], context), bfv.GaloisKeys()
    for key in keys[1]:
        galois.insert(io.galois_key_from_bytes(key, context))
    inputs = [io.ciphertext_from_bytes(r, context) for r in request]
    scores, report = layer.prepare(plan, galois).run(inputs)
    print(
        f"server: {report.operations['rotation']} rotations, {report.operations['plain_mul']} products with diagonals"
    )
    evaluator = bfv.Evaluator(context)
    squares = [evaluator.relinearize(evaluator.square(c), relin) for c in inputs]

    # Fewer primes are enough for the way back: half the bytes and less.
    def small(c: bfv.Ciphertext) -> bytes:
        return io.to_bytes(context, evaluator.mod_switch_to(c, context.rules.fewest_limbs(c.noise, c.limbs, 100.0)))

    return [small(c) for c in scores], [small(c) for c in squares]


def main() -> None:
    rng = np.random.default_rng(1)
    weights, answers = rng.integers(-3, 4, (10, 100)), rng.integers(0, 6, 100)
    layer = bfv.Linear(weights, bias=np.arange(10))
    plan = layer.plan(bfv.Context("bfv-13"))
    layer.check_range(plan.context.params.t, 5)  # no result can wrap around
    client = Client("bfv-13", plan)
    request = client.request(answers)
    scores, squares = server(layer, plan, client.keys(), request)
    s = client.session
    got = plan.decode([s.client.decrypt(c, s.secret_key) for c in client.open(scores)])
    squared = s.decrypt(client.open(squares)[0])[:100]
    print(f"sent {len(request[0])} bytes, received {len(scores[0])}")
    print(f"scores {got.tolist()}")
    exact = weights @ answers + np.arange(10)
    print(f"equal to the clear: {bool((got == exact).all())}, squares too: {bool((squared == answers**2).all())}")


if __name__ == "__main__":
    main()
