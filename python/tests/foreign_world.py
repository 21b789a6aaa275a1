# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""One of every object of the native module, all of one parameter set: what the tests of foreign arguments exchange."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ringforge import _native, bfv, ckks, devices, matmul, matvec
from ringforge._native import Algorithm, Lines, Schedule, Span, bgv, fhew, io, kernels, ltv, omr, psi, psi_poly
from ringforge.arrays import aligned
from ringforge.matmul.batch import BatchProduct
from ringforge.matvec.kernels import MatvecOperands

LEVEL = 3
SCALE = 2.0**40


def parameters(log_n: int, bits: int, limbs_per_digit: int) -> _native.Parameters:
    primes = kernels.primes_below(bits, LEVEL + 4, 1 << 18)
    return _native.Parameters("", log_n, primes[3:], primes[:3], limbs_per_digit, 38.0, "tests")


class Records:
    """Records of a world's objects, which are in `record` by the object's name."""

    record: dict[str, bytes]
    folder: Path

    @cached_property
    def writer(self) -> _native.io.Writer:
        return io.Writer(str(self.folder / "records"))

    def __getattr__(self, name: str) -> Any:
        """`record_x`: the record of object x. `reader_x`: a new reader of it."""
        word, _, kind = name.partition("_")
        if word == "record":
            return self.record[kind]
        if word != "reader":
            raise AttributeError(name)
        path = self.folder / kind
        path.write_bytes(self.record[kind])
        return io.Reader(str(path))


class World(Records):
    """CKKS. Worlds of one seed have equal key ids, so that nothing but an object's contents tells where it belongs."""

    def __init__(self, folder: Path, log_n: int = 11, bits: int = 45, limbs_per_digit: int = 2, seed: int = 7) -> None:
        self.params = parameters(log_n, bits, limbs_per_digit)
        self.context = _native.Context(self.params)
        self.client = _native.Client(self.context, _native.TestSeed(bytes([seed]) * 32))
        self.secret_key = self.client.secret_key()
        self.public_key = self.client.public_key(self.secret_key)
        self.relin = self.client.relin_key(self.secret_key)
        self.evaluator = _native.Evaluator(self.context)
        self.plaintext = self.context.encode(np.full(8, 0.5 + 0j), SCALE, LEVEL)
        self.ciphertext = self.client.encrypt(self.plaintext, self.secret_key)
        self.three = self.evaluator.mul(self.ciphertext, self.ciphertext)
        slots = self.params.slots
        self.packing = _native.Packing(4, 4, slots, Span.compact)
        self.plan = _native.Plan(self.packing, Algorithm.bsgs, 2)
        u32, self.nothing = np.uint32, np.zeros(0, np.uint32)
        steps, offsets = np.array([0, 1], u32), np.array([0, 1, 2], np.uint64)
        self.map = _native.Diagonals(slots, steps, offsets, np.array([0, 1], u32), np.ones(2, np.complex128))
        self.matvec = _native.Matvec(self.context, self.plan, LEVEL)
        self.matvec.encode(np.full((4, 4), 0.25), np.zeros(0), SCALE, SCALE, 1.0, False)
        self.hlt = _native.Hlt(self.context, self.map, LEVEL, Schedule.hoisted, self.nothing)
        self.hlt.encode(SCALE, SCALE, 1.0)
        self.pair_plan = _native.PairSumPlan(1, 1, [], False, self.nothing)
        self.pair_plan.add_group(0)
        self.pair_plan.add_pair([[0, 1, 0, -1]], [[0, 0, 0, -1]])
        self.pairs = _native.PairSum(self.context, self.pair_plan, LEVEL)
        self.pairs.encode(SCALE, SCALE, SCALE * SCALE / self.params.q[LEVEL], 1.0, 1.0, 1.0)
        self.batches = _native.BatchMatmul(self.context, 2)
        self.matrices = np.full(4, 0.25 + 0j)
        self.batch = self.batches.encrypt(
            self.client, self.secret_key, self.matrices, Lines.columns, SCALE, LEVEL, 1.0, 1
        )
        elements = {5, 25, self.context.conjugation_element, *self.batches.required_keys}
        elements |= {e for e, _ in [*self.matvec.required_keys, *self.pairs.required_keys]}
        elements |= {self.context.rotation_element(s) for s in self.hlt.steps}
        made = {e: self.client.galois_key(self.secret_key, e) for e in sorted(elements)}
        self.galois_key = made[5]
        self.keys = _native.GaloisKeys()
        for key in made.values():
            self.keys.insert(key)
        self.record = {
            kind: io.to_bytes(self.context, getattr(self, kind))
            for kind in ("plaintext", "ciphertext", "secret_key", "public_key", "relin", "galois_key")
        }
        self.folder = folder
        results = self.matvec.run([self.ciphertext], self.keys)
        self.parts = [[[r.limb(part, i) for i in range(LEVEL)] for part in range(2)] for r in results]
        made_by_hlt = self.hlt.run(self.ciphertext, self.keys)
        self.hlt_parts = [[made_by_hlt.limb(part, i) for i in range(LEVEL)] for part in range(2)]
        pair_limbs = self.pairs.output_level + 1
        self.pair_parts = [[self.ciphertext.limb(part, i) for i in range(pair_limbs)] for part in range(2)]
        self.product_parts = [[self.ciphertext.limb(part, i) for i in range(LEVEL + 1)] for part in range(2)]
        self.lines = [self.client.decrypt(self.batch.line(j), self.secret_key) for j in range(2)]


class Bfv(Records):
    """BFV, its worlds as those of CKKS."""

    def __init__(
        self, folder: Path, log_n: int = 11, bits: int = 45, limbs_per_digit: int = 2, seed: int = 7, t: int = 40961
    ) -> None:
        primes = kernels.primes_below(bits, LEVEL + 4, 1 << 18)
        self.params = bfv.Parameters("", log_n, t, primes[3:], primes[:3], limbs_per_digit, "tests")
        self.context = bfv.Context(self.params)
        self.client = bfv.Client(self.context, _native.TestSeed(bytes([seed]) * 32))
        self.secret_key = self.client.secret_key()
        self.public_key = self.client.public_key(self.secret_key)
        self.relin = self.client.relin_key(self.secret_key)
        self.evaluator = bfv.Evaluator(self.context)
        self.plaintext = self.context.encode(np.arange(8))
        self.multiplier = self.context.multiplier(self.plaintext)
        self.ciphertext = self.client.encrypt(self.plaintext, self.secret_key)
        self.three = self.evaluator.mul(self.ciphertext, self.ciphertext)
        packing = _native.Packing(2, 4, self.params.row, Span.compact)
        self.plan = _native.Plan(packing, Algorithm.bsgs, 2)
        self.matvec = _native.bfv.IntegerMatvec(self.context, 4, self.plan, LEVEL + 1)
        self.matvec.encode(np.ones((4, 4), np.int64), np.ones(4, np.int64))
        elements = {5, self.context.swap_element, *self.matvec.elements}
        made = {e: self.client.galois_key(self.secret_key, e) for e in sorted(elements)}
        self.galois_key = made[5]
        self.keys = _native.GaloisKeys()
        for key in made.values():
            self.keys.insert(key)
        #: Residues of a result of `matvec`, as another machine gives them.
        (product,) = self.matvec.run([self.ciphertext], self.keys)
        self.limbs = [[[np.array(product.limb(part, i)) for i in range(LEVEL + 1)] for part in (0, 1)]]
        self.record = {
            kind: io.to_bytes(self.context, getattr(self, kind))
            for kind in ("plaintext", "ciphertext", "secret_key", "public_key", "relin", "galois_key")
        }
        self.folder = folder


class Bgv(Records):
    """BGV, worlds by ring, primes, digits and seed."""

    def __init__(self, folder: Path, m: int = 3855, bits: int = 45, limbs_per_digit: int = 2, seed: int = 7) -> None:
        primes = kernels.primes_below(bits, LEVEL + 4, 65_535 * 256)
        self.params = bgv.Parameters("", m, primes[3:], primes[:3], limbs_per_digit, "tests")
        self.context = bgv.Context(self.params)
        self.client = bgv.Client(self.context, _native.TestSeed(bytes([seed]) * 32))
        self.secret_key = self.client.secret_key()
        self.public_key = self.client.public_key(self.secret_key)
        self.relin = self.client.relin_key(self.secret_key)
        self.evaluator = bgv.Evaluator(self.context)
        self.bits = np.array([1, 0, 1], np.uint8)
        self.multiplier = self.context.multiplier(self.bits, None, True)
        self.sums = [[(2, self.multiplier), (1, self.multiplier)]]
        self.ciphertext = self.client.encrypt(self.bits, self.secret_key)
        self.three = self.evaluator.mul(self.ciphertext, self.ciphertext)
        self.galois_key = self.client.galois_key(self.secret_key, 2)
        self.keys = _native.GaloisKeys()
        self.keys.insert(self.galois_key)
        self.record = {
            kind: io.to_bytes(self.context, getattr(self, kind))
            for kind in ("ciphertext", "secret_key", "public_key", "relin", "galois_key")
        }
        self.folder = folder


class Ltv(Records):
    """LTV, small rings, which differ in their primes."""

    def __init__(self, first: int, folder: Path) -> None:
        primes = [int(p) for p in kernels.primes_below(31, first + 3, 1 << 16)][first:]
        self.params = ltv.Parameters(85, primes, insecure="tests")
        self.context = ltv.Context(self.params)
        self.client = ltv.Client(self.context, _native.TestSeed(bytes([7 + first]) * 32))
        self.secret_key, self.public_key = self.client.keys()
        self.eval_key = self.client.eval_key(self.secret_key, self.public_key, 1)
        self.evaluator = ltv.Evaluator(self.context)
        self.bits = np.array([1, 0, 1], np.uint8)
        self.ciphertext = self.client.encrypt(self.bits, self.public_key)
        self.product = self.evaluator.mul(self.ciphertext, self.ciphertext)
        self.relinearized = self.evaluator.relinearize(self.product, self.eval_key)
        self.batch, self.relinearizer = ltv.BatchEvaluator(self.context), ltv.Relinearizer(self.context)
        self.loaded = ltv.Relinearizer(self.context)
        self.loaded.load(self.eval_key)
        self.parts = ltv.KeyParts(self.context, self.eval_key)
        limbs, length = self.params.limbs(0), self.params.transform_length
        self.sums, self.products = np.ones((limbs, length), np.uint32), np.ones((1, limbs, length), np.uint32)
        self.record = {
            kind: io.to_bytes(self.context, getattr(self, kind))
            for kind in ("ciphertext", "secret_key", "public_key", "eval_key")
        }
        self.key_record = np.frombuffer(self.record["eval_key"], np.uint8)
        self.folder = folder


class Gates:
    """Boolean gates, small rings."""

    def __init__(self, name: str, log_n: int, folder: Path) -> None:
        fixed = _native.TestSeed(bytes([log_n]) * 32)
        self.params = fhew.parameters(name, "tests")
        self.secret = fhew.SecretKey(self.params, fixed)
        self.key = fhew.EvaluationKey.make(self.secret, fhew.Method.GINX)
        self.saved, self.path = self.secret.save(), str(folder / name)
        self.key.save(self.path)
        self.bits = self.secret.encrypt(np.array([0, 1], np.uint8))
        self.one = np.array([1, 0], np.uint8)
        self.kinds = np.array([2], np.uint8)
        self.wires = self.secret.encrypt(np.array([0, 1, 0], np.uint8))
        self.inputs, self.outputs = np.array([[0, 1, -1]], np.int32), np.array([2], np.int32)
        self.cut = fhew.Cut(6, 3, 8)
        modulus = kernels.primes_below(26, 1, 2 << log_n)[0]
        self.ring_secret = fhew.RingSecret(modulus, log_n, fixed)
        self.messages = np.zeros((1, 1 << log_n), np.uint32)
        self.rlwe = aligned((1, 2, 1 << log_n), modulus)
        self.rlwe[:] = 0
        self.substitution = fhew.SubstitutionKey.make(self.ring_secret, 3, self.cut)


class Lookups:
    """Private set intersection."""

    def __init__(self, log_bins: int) -> None:
        self.cut = fhew.Cut(9, 6)
        self.plan = psi.Plan(
            "paper", 11, 0x3FFFFFFFFED001, log_bins, 11, 0, 3, 0, self.cut, [self.cut] * 11, None, 12, "x"
        )
        self.client = psi.ClientKey(self.plan, _native.TestSeed(bytes(32)))
        self.keys = self.client.evaluation_keys()
        self.session = psi.SessionKeys(self.plan, self.keys)
        self.cells = np.zeros(self.plan.bins, np.uint32)
        self.request = self.client.query(self.cells)
        self.offsets, self.no_cells = np.zeros(self.plan.bins + 1, np.uint64), np.zeros(0, np.uint32)
        self.table = psi.Table(self.plan, self.offsets, self.no_cells)
        self.reply = psi.evaluate(self.session, self.request, self.table)
        self.row = psi.cut_request(self.plan, self.request)[0]
        self.part_offsets = self.offsets[: self.plan.bins // self.plan.groups + 1]


class Polynomials:
    """Private set intersection by polynomials."""

    def __init__(self, columns: int) -> None:
        primes = [int(x) for x in kernels.primes_below(50, 3, 2048)]
        t = int(kernels.primes_below(18, 1, 2048)[0])
        self.plan = psi_poly.Plan(10, t, primes[1:], primes[:1], [1, 2], 3, 2, columns, 2, 0, 2, 30, 3, insecure="test")
        self.client = psi_poly.ClientKey(self.plan, _native.TestSeed(bytes(32)))
        self.keys = self.client.evaluation_keys()
        self.session = psi_poly.SessionKeys(self.plan, self.keys)
        self.felts = np.zeros((self.plan.bins, 2), np.uint32)
        self.request = self.client.query(self.felts)
        bins = 2 * self.plan.bins
        self.counts, self.touched = np.zeros(bins, np.uint16), np.ones(2 * columns, np.uint8)
        self.roots, self.labels = np.zeros(bins * 3 * 2, np.uint32), np.zeros(0, np.uint32)
        self.plain = np.zeros(2 * columns * 2 * 4 * 1024, np.uint64)
        self.bins, self.words = np.zeros(1, np.uint32), np.zeros((1, 0), np.uint32)
        self.residues = np.zeros((1, 2), np.uint32)
        self.table = psi_poly.Table(self.plan, self.counts, self.plain)
        self.reply = psi_poly.evaluate(self.session, self.request, self.table)
        self.column = psi_poly.cut_request(self.session, self.request)[0]
        count, plain = len(self.counts) // columns, len(self.plain) // columns
        self.part_counts, self.part_plain = self.counts[:count], self.plain[:plain]
        part = psi_poly.evaluate_part(self.session, self.column, self.part_counts, self.part_plain, 2)
        self.values = part * columns


class Compressions:
    """Digests of oblivious message retrieval."""

    def __init__(self, log_n: int) -> None:
        fixed = _native.TestSeed(bytes(32))
        q, p = ([int(x) for x in kernels.primes_below(bits, 2, 1 << 18)] for bits in (49, 50))
        context = bfv.Context(bfv.Parameters("tests", log_n, 786_433, q, p, 2, "tests"))
        client = bfv.Client(context, fixed)
        self.bfv = client.secret_key()
        self.u = client.encrypt(context.encode(np.zeros(1, np.int64)), self.bfv)
        self.context = omr.CompressionContext.make(log_n, 786_433, q, p, "tests")
        self.secret = omr.CompressionSecret(self.context, fixed)
        self.keys = omr.CompressionKeys(self.bfv, self.secret, fixed)
        self.secret_record, self.keys_record = self.secret.to_bytes(), self.keys.to_bytes()
        self.plan = omr.CompressionPlan(self.context, 2, 1)
        self.words = np.zeros((1 << log_n, 1), np.uint32)
        self.part = self.plan.part(self.keys, self.u, self.words, 0, 1)
        self.digest = self.plan.digest(self.keys, [self.part], 0)


class Blinds:
    """The oblivious function of one server and one batch."""

    def __init__(self, count: int) -> None:
        oprf: Any = _native.oprf
        self.key = oprf.ServerKey.random()
        self.inputs = [bytes([i]) for i in range(count)]
        self.blinds, elements = oprf.blind_batch(self.inputs)
        self.evaluated = self.key.evaluate_batch(elements)
        self.blind, element = oprf.blind(b"x")
        self.answer = self.key.evaluate(element)


class Signalling:
    """A receiver of signals."""

    def __init__(self, log_n: int) -> None:
        omr: Any = _native.omr
        self.parameters = omr.SignalParameters.make(log_n, 786433, log_n - 3, 4, 0.5, True)
        self.secret = omr.SignalSecret(self.parameters)
        self.key = self.secret.key()
        self.words = self.key.b()
        self.a, self.b = self.key.signals(3)
        self.packed = omr.pack_signals(self.parameters, self.a, self.b)


class Systems:
    """The Python interfaces of CKKS and what is built on it, all of one parameter set."""

    def __init__(self, params: _native.Parameters, folder: Path, seed: int) -> None:
        fixed, why = _native.TestSeed(bytes([seed]) * 32), "tests"
        self.session = ckks.Session(params, fixed_seed_for_tests=fixed)
        self.encrypted = self.session.encrypt([0.5], scale=SCALE)
        exact = bfv.Parameters("", params.log_n, 40961, params.q, params.p, params.limbs_per_digit, why)
        self.integers = bfv.Session(exact, fixed_seed_for_tests=fixed)
        self.exact = self.integers.encrypt([1, 2])
        self.layer = bfv.Linear([[1, 2], [3, 4]])
        self.linear = self.layer.plan(self.integers.context)
        self.integers.add_galois_keys(self.linear.elements)
        self.prepared = self.layer.prepare(self.linear, self.integers.galois_keys)
        self.laid_out = [self.integers.client.encrypt(p, self.integers.secret_key) for p in self.linear.encode([1, 2])]
        self.model = matvec.Linear(np.full((4, 4), 0.25))
        self.program = matvec.compile_model(self.model, params).program
        self.client = matvec.Client(self.program, accept_insecure=why, fixed_seed_for_tests=fixed)
        self.keys = self.client.evaluation_keys()
        self.server = matvec.Server(self.model, self.program, self.keys)
        self.vectors = self.client.encrypt(np.full(4, 0.5))
        self.result, _ = self.server.evaluate(self.vectors)
        self.folder = folder
        self.vectors.save(folder / "vectors", self.program)
        self.client.save_evaluation_keys(folder / "keys")
        self.client.save_secret_key(folder / "secret")
        self.machine = matmul.Session(params, fixed_seed_for_tests=fixed)
        self.matrix = self.machine.encrypt(np.full((2, 2), 0.5))
        self.batches = BatchProduct(self.session.context, 2)
        self.batch_keys = self.batches.make_keys(self.session.client, self.session.secret_key)
        self.batch = self.batches.encrypt(
            self.session.client, self.session.secret_key, np.full((2, 2), 0.5), scale=SCALE
        )
        self.traced = matmul.trace(params, lambda A, B: A @ B, A=(2, 2), B=(2, 2))
        self.holder = matmul.KeyHolder(self.traced, accept_insecure=why, fixed_seed_for_tests=fixed)
        self.computer = matmul.Server(self.traced, self.holder.evaluation_keys())
        self.parcels = [self.holder.encrypt(x, np.full((2, 2), 0.5)) for x in "AB"]
        self.product = self.computer.run(self.parcels)[0]["result"]
        self.product.save(folder / "product", self.traced)
        self.holder.save_public_key(folder / "public")
        self.device = devices.open_device("cpu")
        self.kernel = self.program.kernels[0]
        operands = MatvecOperands(self.model.weights, self.model.bias)
        self.handle = self.device.prepare(self.kernel, self.keys, operands)
