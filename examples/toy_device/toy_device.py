# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A third device: a card with a memory of its own. Its arithmetic is the library's, its results stay on the card.

Run this file to put the device through the conformance suite, and a model through the device. Installed as a package
(pyproject.toml), `--device toy` finds it in every command.
"""

import sys
import time

import numpy as np

from ringforge import ckks, devices, matvec
from ringforge.devices import conformance
from ringforge.errors import ParameterError, ShapeError
from ringforge.matvec.kernels import MatvecKernel, SquareKernel


class ToyDevice(devices.Device):
    """The card."""

    name = "toy"
    description = "an example: a card with its own memory"
    max_degree = 1 << 14
    max_limbs = 8

    def __init__(self):
        #: How many results left the card.
        self.downloads = 0

    def fetch(self, buffer):
        self.downloads += 1
        return buffer.ciphertext


class Resident(devices.Buffer):
    """A ciphertext in the card's memory. What the host may ask without a download is what every ciphertext tells."""

    def __init__(self, ciphertext):
        super().__init__("toy")
        self.ciphertext = ciphertext

    level = property(lambda self: self.ciphertext.level)
    scale = property(lambda self: self.ciphertext.scale)
    bound = property(lambda self: self.ciphertext.bound)
    variance = property(lambda self: self.ciphertext.variance)
    error_bound = property(lambda self: self.ciphertext.error_bound)
    key_id = property(lambda self: self.ciphertext.key_id)


class OnCard(devices.Implementation):
    """What both kernels do alike: inputs to the card, results in buffers, a report."""

    def run(self, r):
        start = time.perf_counter()
        here = [x.ciphertext if isinstance(x, devices.Buffer) else x for x in r.inputs]
        outputs = [Resident(c) for c in self.compute(r, here)]
        degree = r.kernel.needs().degree
        moved = sum(16 * degree * (x.level + 1) for x in r.inputs if not isinstance(x, devices.Buffer))
        return outputs, devices.Report(r.device.name, time.perf_counter() - start, bytes={"input": moved})


class Matvec(OnCard):
    """A plain matrix times an encrypted vector."""

    def check(self, device, kernel):
        if kernel.batch > 1:
            raise ParameterError(
                f"device {device.name} takes one vector at a time, not {kernel.batch}: compile with batch=1"
            )

    def prepare(self, p):
        return p.kernel.encoded(p.operands, p.threads, p.progress), p.keys.galois

    def compute(self, r, inputs):
        encoded, galois = r.state
        return encoded.run(inputs, galois, r.threads)

    def storage(self, state):
        return state[0].storage


class Square(OnCard):
    """Every slot squared."""

    def prepare(self, p):
        return p.keys.required_relin()

    def compute(self, r, inputs):
        if not inputs:
            raise ShapeError("there is nothing to square: no ciphertexts were given")
        evaluator = ckks.Evaluator(r.kernel.context, r.threads)
        return [evaluator.rescale(evaluator.relinearize(evaluator.mul(c, c), r.state)) for c in inputs]


devices.register_device("toy", ToyDevice)
devices.register(MatvecKernel, "toy", Matvec())
devices.register(SquareKernel, "toy", Square())


def infer():
    """Two layers with a square between them: one result leaves the card."""
    rng = np.random.default_rng(1)
    model = matvec.Sequential(
        [matvec.Linear(rng.uniform(-1, 1, (8, 16))), matvec.Square(), matvec.Linear(rng.uniform(-1, 1, (4, 8)))]
    )
    program = matvec.compile_model(model, "set-b").program
    client, device, x = matvec.Client(program), devices.open_device("toy"), rng.uniform(-1, 1, 16)
    server = matvec.Server(model, program, client.evaluation_keys(threads=2), device=device, threads=2)
    result, report = server.evaluate(client.encrypt(x))
    error = np.abs(client.decrypt(result)[0] - model(x[None])[0]).max()
    print(f"a model of 3 layers on {report.device}: {device.downloads} download, error below 2^{np.log2(error):.0f}")


if __name__ == "__main__":
    infer()
    sys.exit(conformance.main(["toy"]))
