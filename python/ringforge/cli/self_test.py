# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""The native self-test of `ringforge doctor`: fixed seeds, small computations, results against plain numbers.

`run` computes with the active kernel set and returns digests of ciphertexts. Another kernel set is another process:

    RINGFORGE_KERNELS=ref python -m ringforge.cli.self_test
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ringforge import bfv, ckks
from ringforge._native import fhew, io, kernels
from ringforge.errors import Error

#: Why a set below 128 bits is used: its keys are in no file, and made of a fixed seed.
_WHY = "the self-test of ringforge doctor"

#: What fixed seeds give on every machine, where no sine of a C library is in it: keys and gates from OpenSSL's
#: SHAKE256 and AES, and integers from there on.
KNOWN = {
    "bfv": "f26c3364099769ccff7d4283aac4b77ec3e347254ce7d04ef128cf02926e0618",
    "gates": "11d3c727de126fa2cb626f75f4d278abe0cfd61df09371ed51c0878f5135bfa3",
}

#: A child that takes longer is taken for one that hangs.
PATIENCE_SECONDS = 120


def _seed(number: int) -> ckks.TestSeed:
    return ckks.TestSeed(bytes([number]) * 32)


def _digest(parts: Iterable[bytes]) -> str:
    h = hashlib.sha256()
    for part in parts:
        h.update(part)
    return h.hexdigest()


def _ckks() -> str:
    s = ckks.Session("set-a", 1, _seed(1))
    x = np.linspace(-1, 1, 64)
    s.add_rotation_keys([1])
    e = s.evaluator
    product = e.rescale(e.relinearize(e.mul(s.encrypt(x), s.encrypt(x[::-1])), s.relin_key))
    turned = e.rotate(product, 1, s.galois_keys)
    found = s.decrypt(turned)[:63].real
    if np.abs(found - (x * x[::-1])[1:]).max() > 1e-3:
        raise Error("a product and a rotation of CKKS decrypt to wrong numbers")
    return _digest([io.to_bytes(s.context, turned)])


def _bfv() -> str:
    s = bfv.Session("bfv-13", 1, _seed(2))
    x = np.arange(64)
    e = s.evaluator
    product = e.relinearize(e.mul(s.encrypt(x), s.encrypt(x[::-1])), s.relin_key)
    if not np.array_equal(s.decrypt(product)[:64], x * x[::-1]):
        raise Error("a product of BFV decrypts to wrong numbers")
    return _digest([io.to_bytes(s.context, product)])


def _gates() -> str:
    params = fhew.parameters("gates-degraded", _WHY)
    secret = fhew.SecretKey(params, _seed(3))
    key = fhew.EvaluationKey.make(secret, fhew.Method.GINX, 1)
    bits = np.array([0, 1], np.uint8)
    wires = np.concatenate([secret.encrypt(bits), np.zeros((4, params.n + 1), np.uint32)])
    nand = fhew.kind_names().index("NAND")
    inputs = np.array([[a, b, -1] for a in (0, 1) for b in (0, 1)], np.int32)
    outputs = np.arange(2, 6, dtype=np.int32)
    fhew.evaluate(key, np.full(4, nand, np.uint8), inputs, wires, outputs, 1)
    if secret.decrypt(wires[2:]).tolist() != [1, 1, 1, 0]:
        raise Error("NAND on encrypted bits gives wrong bits")
    return _digest([wires.tobytes()])


_PARTS: dict[str, Callable[[], str]] = {"ckks": _ckks, "bfv": _bfv, "gates": _gates}


def run() -> dict[str, str]:
    """Digests of what every part computes, by its name.

    Raises:
        Error: a part decrypts to something else than plain numbers give.
    """
    return {name: part() for name, part in _PARTS.items()}


def with_kernels(name: str) -> dict[str, str]:
    """`run` by another kernel set, in a process of its own.

    Raises:
        Error: it failed, crashed or hung; the message says how.
    """
    environment = {**os.environ, "RINGFORGE_KERNELS": name}
    words = [sys.executable, "-P", "-m", "ringforge.cli.self_test"]
    try:
        done = subprocess.run(
            words, env=environment, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise Error(f"it took more than {PATIENCE_SECONDS} s") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        raise Error(lines[-1] if lines else f"the process ended with {done.returncode}")
    answer: dict[str, Any] = json.loads(done.stdout)
    if answer["kernels"] != name:
        raise Error(f"{answer['kernels']} computed instead")
    return {str(k): str(v) for k, v in answer["digests"].items()}


def compare(name: str, found: dict[str, str], reference: dict[str, str]) -> None:
    """Holds what a kernel set computed against what is known, and against ref.

    Raises:
        Error: they differ; the message names the parts.
    """
    differ = [part for part, digest in found.items() if digest != reference.get(part, digest)]
    if differ:
        raise Error(f"{name} and ref differ in {', '.join(differ)}")
    wrong = [part for part, digest in KNOWN.items() if found.get(part) != digest]
    if wrong:
        raise Error(f"fixed seeds give other bits than they must in {', '.join(wrong)}")


if __name__ == "__main__":
    print(json.dumps({"kernels": kernels.active(), "digests": run()}))
