# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What fixed seeds give: SHA-256 of keys, ciphertexts, results and files of every kind, by name.

`test_digests.py` holds a library against the list in `digests.json`, which a change that is not meant to change bits
leaves as it is. To make the list, at a commit whose bits are right:

    .venv/bin/python python/tests/digests.py --write

A name ends in `.words` where residues, bits or table words are taken, in Eval form as they lie in memory, in `.body`
where a file's or message's contents are taken without its header and checksum, and in `.file` where all bytes are.

Values that become plaintexts are those of polynomials with integer coefficients, or their scales are small: rounding
is then far from a tie, and the last bit of the C library's sine does not matter.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge import _native, bfv, bgv, ltv, matmul, matvec
from ringforge._native import (
    Ciphertext,
    GaloisKeys,
    Lines,
    Parameters,
    Schedule,
    fhew,
    io,
    kernels,
    omr,
    oprf,
    psi,
    psi_poly,
)
from ringforge.ckks import Session, TestSeed
from ringforge.gates import storage
from ringforge.gates.bits import Bits
from ringforge.psi import poly
from ringforge.psi.oprf import ServerKey
from ringforge.psi.poly.cases import small
from ringforge.psi.table import Arrays, Shape, compile_direct, compile_prf

LIST = Path(__file__).with_suffix(".json")
WHY = "digests of fixed seeds"

Digests = Iterator[tuple[str, str]]
Ints = npt.NDArray[np.int64]


def seed(n: int) -> TestSeed:
    return TestSeed(n.to_bytes(32, "little"))


def sha(*pieces: Any) -> str:
    h = hashlib.sha256()
    for p in pieces:
        h.update(p if isinstance(p, bytes | bytearray) else np.ascontiguousarray(p).tobytes())
    return h.hexdigest()[:32]


# ---- CKKS ----------------------------------------------------------------------------------------


def parameters(name: str, q: list[int], p: list[int], alpha: int, log_scale: float = 40.0) -> Parameters:
    """N = 1024, primes of these sizes."""
    sizes = [*p, *q]
    found = {bits: iter(kernels.primes_below(bits, sizes.count(bits), 1 << 18)) for bits in set(sizes)}
    special = [next(found[b]) for b in p]
    return Parameters(name, 10, [next(found[b]) for b in q], special, alpha, log_scale, WHY)


def values(degree: int, scale: float, what: int) -> npt.NDArray[np.complex128]:
    """Slots of a polynomial with small integer coefficients, which encode exactly."""
    coefficients = np.random.default_rng(what).integers(-(1 << 20), 1 << 20, degree)
    at_roots = np.fft.ifft(coefficients * np.exp(1j * np.pi * np.arange(degree) / degree)) * degree
    exponents, e = [], 1
    for _ in range(degree // 2):
        exponents.append(e // 2)
        e = e * 5 % (2 * degree)
    return np.asarray(at_roots[exponents] / scale)


def limbs(c: Any, parts: int) -> list[npt.NDArray[np.uint64]]:
    return [c.limb(part, i) for part in range(parts) for i in range(c.level + 1)]


class World:
    """A session of CKKS whose objects are named."""

    def __init__(self, params: Parameters, threads: int, number: int = 1) -> None:
        self.s = Session(params, threads, seed(number))
        self.name, self.threads = params.name, threads
        self.scale = 2.0**params.log_scale

    def plain(self, what: int, level: int | None = None, scale: float | None = None) -> _native.Plaintext:
        p, scale = self.s.params, scale or self.scale
        return self.s.context.encode(
            values(p.degree, scale, what), scale, p.max_level if level is None else level, self.threads
        )

    def fresh(self, what: int, level: int | None = None, *, public: bool = False) -> Ciphertext:
        plain = self.plain(what, level)
        if public:
            return self.s.client.encrypt(plain, self.s.public_key, 64.0)
        return self.s.client.encrypt(plain, self.s.secret_key, 64.0)

    def rotations(self, *steps: int, level: int | None = None) -> GaloisKeys:
        self.s.add_rotation_keys(steps, level)
        return self.s.galois_keys

    def words(self, name: str, c: Ciphertext) -> tuple[str, str]:
        return f"{self.name}/{name}.words", sha(*limbs(c, c.size))

    def file(self, name: str, thing: Any) -> tuple[str, str]:
        return f"{self.name}/{name}.file", sha(io.to_bytes(self.s.context, thing))

    def both(self, name: str, c: Ciphertext) -> Digests:
        yield self.words(name, c)
        yield self.file(name, c)


def keys(w: World) -> Digests:
    s = w.s
    yield f"{w.name}/secret_key.words", sha(s.secret_key.coefficients())
    yield w.file("secret_key", s.secret_key)
    yield w.file("public_key", s.public_key)
    yield w.file("relin_key", s.relin_key)
    yield w.file("relin_key at level 0", s.client.relin_key(s.secret_key, 0, w.threads))
    element = s.context.rotation_element(3)
    yield w.file("galois_key", s.client.galois_key(s.secret_key, element, None, w.threads))
    some = w.rotations(3)
    digits = [(d, i) for d in range(64) for i in range(64)]

    def polynomials() -> Iterator[npt.NDArray[np.uint64]]:
        for part in (0, 1):
            for d, i in digits:
                try:
                    yield some.limb(element, part, d, i)
                except IndexError:
                    continue

    yield f"{w.name}/galois_key.words", sha(*polynomials())


def operations(w: World) -> Digests:
    """Every operation of the evaluator."""
    s, ev = w.s, w.s.evaluator
    top = s.params.max_level
    a, b, c = w.fresh(1), w.fresh(2), w.fresh(3, public=True)
    yield f"{w.name}/plaintext.words", sha(*(w.plain(1).limb(i) for i in range(top + 1)))
    yield w.file("plaintext", w.plain(1))
    yield from w.both("encrypt, secret key", a)
    yield from w.both("encrypt, secret key, level 0", w.fresh(4, 0))
    yield from w.both("encrypt, public key", c)
    some = w.rotations(1, 5, -3, 64, 128)
    s.add_conjugation_key()
    yield from w.both("add", ev.add(a, b))
    yield from w.both("sub", ev.sub(a, c))
    yield w.words("add, itself", ev.add(a, a))
    yield w.words("negate", ev.negate(a))
    p = w.plain(5)
    yield w.words("add_plain", ev.add_plain(a, p))
    yield w.words("sub_plain", ev.sub_plain(a, p))
    yield w.words("add_scalar", ev.add_scalar(a, 0.75))
    yield from w.both("mul_plain", ev.mul_plain(a, p))
    yield w.words("mul_scalar", ev.mul_scalar(a, -0.625))
    product = ev.mul(a, b)
    yield from w.both("mul", product)
    yield w.words("mul, square", ev.mul(c, c))
    yield w.words("add, three parts", ev.add(product, product))
    yield w.words("sub, three parts", ev.sub(product, ev.mul(b, c)))
    switched = ev.relinearize(product, s.relin_key)
    yield from w.both("relinearize", switched)
    down = ev.rescale(switched)
    yield from w.both("rescale", down)
    yield w.words("rescale, three parts", ev.rescale(product))
    yield w.words("drop_to_level", ev.drop_to_level(a, 0))
    for level in sorted({top, top - 1, top - 2, 1, 0}):
        low = ev.drop_to_level(c, level)
        yield w.words(f"rotate by 5 at level {level}", ev.rotate(low, 5, some))
        if level:
            yield w.words(f"rescale at level {level}", ev.rescale(ev.mul_plain(low, w.plain(6, level))))
    yield from w.both("rotate by -3", ev.rotate(down, -3, some))
    yield w.words("conjugate", ev.conjugate(a, some))
    for step, turned in zip((1, 5, -3), ev.rotate_hoisted(a, [1, 5, -3], some), strict=True):
        yield w.words(f"rotate_hoisted by {step}", turned)
    yield w.words("replicate", ev.replicate(a, [64, 128], some))
    yield w.words("double_real", ev.double_real(a, some))


def transforms(w: World) -> Digests:
    """Linear maps of slots by each schedule."""
    s, slots, rng = w.s, w.s.params.slots, np.random.default_rng(11)
    steps = np.array([0, 1, 2, 3, 16, 17, 33, slots - 2], np.uint32)
    targets = [np.sort(rng.choice(slots, size=slots // (1 + i % 3), replace=False)) for i in range(len(steps))]
    offsets = np.cumsum([0, *map(len, targets)]).astype(np.uint64)
    entries = rng.uniform(-1, 1, int(offsets[-1])) + 1j * rng.uniform(-1, 1, int(offsets[-1]))
    of = np.concatenate(targets).astype(np.uint32)
    diagonals = _native.Diagonals(slots, steps, offsets, of, entries)
    level = s.params.max_level
    x = w.fresh(21)
    babies = (steps % 4).astype(np.uint32)
    for schedule in (Schedule.naive, Schedule.hoisted, Schedule.mo, Schedule.bsgs):
        made = _native.Hlt(s.context, diagonals, level, schedule, babies if schedule == Schedule.bsgs else steps[:0])
        some = w.rotations(*(int(step) for step in made.steps))
        for compact in (False, True):
            made.encode(w.scale, 2.0**20, 64.0, compact, w.threads)
            result = made.run(x, some, w.threads)
            yield w.words(f"hlt, {schedule.name}{', compact' * compact}", result)


def sums(w: World) -> Digests:
    """Sums of products of shifted ciphertexts, masked and bare."""
    s, slots, level = w.s, w.s.params.slots, w.s.params.max_level
    every = np.arange(slots, dtype=np.uint32)
    masks = [every[every % 16 < 5], every[every % 16 >= 5], every[every * np.uint32(2654435761) >> np.uint32(30) != 0]]
    first, second, third = w.fresh(31), w.fresh(32), w.fresh(33)
    for name, left_masked, right_masked, real, outer, via in (
        ("right masks, real part, outer", False, True, True, 96, 0),
        ("both masks", True, True, False, 0, 0),
        ("no masks, outer", False, False, False, 7, 0),
        ("right masks, by way", False, True, False, 0, 8),
    ):
        plan = _native.PairSumPlan(1, 2, masks, real, np.array([slots // 2], np.uint32))

        def term(base: int, step: int, mask: int = -1, way: int = via) -> tuple[int, int, int, int]:
            return base, step, step - step % way if way else 0, mask

        for g in range(2):
            plan.add_group(g * outer)
            for k in range(3):
                left = [term(0, 3 * k, 0), term(0, 3 * k + 1, 1)] if left_masked else [term(0, k)]
                right = [term(0, 11 * k, 0), term(1, 11 * k + 2, 1), term(1, 2 * k, 2)]
                plan.add_pair(left, right if right_masked else [term(k % 2, 4 * k)])
        made = _native.PairSum(s.context, plan, level)
        some = GaloisKeys()
        for element, at in made.required_keys:
            some.insert(s.client.galois_key(s.secret_key, element, at, w.threads))
        masked = left_masked or right_masked
        last = s.params.q[level - masked]
        output = w.scale**2 / last * (2 if real else 1) * (16 if masked else 1)
        for compact in (False, True):
            made.encode(w.scale, w.scale, output, 64.0, 64.0, 2.0**18, compact, w.threads)
            result = made.run([first], [second, third], some, s.relin_key, w.threads)
            yield w.words(f"pair_sum, {name}{', compact' * compact}", result)


def products(w: World) -> Digests:
    """Matrix x vector: both packings, all algorithms."""
    s, rng = w.s, np.random.default_rng(41)
    level = s.params.max_level
    for span in (_native.Span.spread, _native.Span.compact):
        for rows, cols, batch in ((5, 12, 4), (200, 9, 1), (7, 300, 2)):
            packing = _native.Packing(rows, cols, s.params.slots // batch, span)
            matrix, bias = rng.uniform(-1, 1, (rows, cols)), rng.uniform(-1, 1, rows)
            inputs = [w.fresh(42 + i) for i in range(len(packing.blocks))]
            for algorithm in (_native.Algorithm.diagonal, _native.Algorithm.horner, _native.Algorithm.bsgs):
                baby = min(4, packing.diagonals) if algorithm == _native.Algorithm.bsgs else 1
                plan = _native.Plan(packing, algorithm, baby)
                made = _native.Matvec(s.context, plan, level, batch)
                some = GaloisKeys()
                for element, at in made.required_keys:
                    some.insert(s.client.galois_key(s.secret_key, element, at, w.threads))
                made.encode(matrix, bias, w.scale, 2.0**20, 64.0, True, w.threads)
                results = made.run(inputs, some, w.threads)
                shape = f"{rows} x {cols} by {batch}"
                name = f"{w.name}/matvec, {span.name}, {algorithm.name}, {shape}.words"
                yield name, sha(*(limb for y in results for limb in limbs(y, y.size)))


def batches(w: World) -> Digests:
    """Batches of matrix products, by columns and by rows."""
    s, dim = w.s, 4
    made = _native.BatchMatmul(s.context, dim)
    rng = np.random.default_rng(51)
    some = GaloisKeys()
    for element in made.required_keys:
        some.insert(s.client.galois_key(s.secret_key, element, None, w.threads))
    level = s.params.max_level
    matrices = rng.integers(-8, 9, (made.capacity, dim, dim)).astype(np.complex128).reshape(-1)
    a, b = (
        _native.MatrixBatch([w.fresh(52 + dim * k + j) for j in range(dim)], by, 64.0)
        for k, by in enumerate((Lines.columns, Lines.rows))
    )

    def line(name: str, batch: _native.MatrixBatch) -> tuple[str, str]:
        found = [batch.line(j) for j in range(dim)]
        return f"{w.name}/batch, {name}.words", sha(*(limb for c in found for limb in limbs(c, c.size)))

    for key, by in ((s.secret_key, Lines.columns), (s.public_key, Lines.rows)):
        yield line(f"encrypt, {by.name}", made.encrypt(s.client, key, matrices, by, 2.0**20, level, 16.0))
    for result in (Lines.columns, Lines.rows):
        for name, x, y in (("a b", a, b), ("b a", b, a), ("a a", a, a), ("b b", b, b)):
            out, _ = made.multiply(x, y, some, s.relin_key, result, w.threads)
            yield line(f"{name} by {result.name}", out)
    yield line("converted", made.convert(a, Lines.rows, some, w.threads)[0])


def ckks(threads: int) -> Digests:
    """Per-limb and hybrid switching, primes of 40 to 61 bits, few and many digits."""
    limb = World(parameters("limb 50", [50, 40, 40, 40], [50], 1), threads)
    hybrid = World(parameters("hybrid 54", [54, 53, 53, 53, 53], [54, 54], 2, 45.0), threads)
    wide = World(parameters("wide 61", [61, 58, 58], [61], 1, 50.0), threads)
    many = World(parameters("digits 18", [50] + [45] * 17, [50], 1), threads)
    for w in (limb, hybrid, wide, many):
        yield from keys(w)
        yield from operations(w)
    for w in (limb, hybrid):
        yield from transforms(w)
        yield from sums(w)
        yield from products(w)
        yield from batches(w)


def named_sets(threads: int) -> Digests:
    """One rotation and one product at shipped sets: transforms up to 2^15, keys of 15 + 1."""
    for name in ("set-a", "set-b", "set-c", "set-b-54", "matmul-b-128"):
        params = Parameters.named(name, WHY)
        w = World(params, threads)
        level = params.max_level
        some = w.rotations(1, level=level)
        x = w.fresh(61)
        yield from w.both("encrypt", x)
        yield w.words("rotate by 1", w.s.evaluator.rotate(x, 1, some))
        yield w.words("rescale", w.s.evaluator.rescale(w.s.evaluator.mul_plain(x, w.plain(62))))


# ---- files of CKKS -------------------------------------------------------------------------------


def files(threads: int) -> Digests:
    """Every file of matvec and matmul, byte by byte."""
    params = parameters("files", [50, 42, 42, 42, 42], [50], 1)
    rng = np.random.default_rng(71)
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)

        def read(name: str) -> tuple[str, str]:
            return f"files/{name}.file", sha((root / name).read_bytes())

        writer = io.Writer(str(root / "parameters"))
        writer.write(params)
        writer.close()
        yield read("parameters")
        for backend in ("ckks", "clear"):
            model = matvec.Linear(rng.integers(-4, 5, (3, 4)) / 4, np.zeros(3))
            program = matvec.compile_model(model, params, batch=8, backend=backend).program
            program.save(root / f"matvec {backend} program")
            yield read(f"matvec {backend} program")
            client = matvec.Client(program, accept_insecure=WHY, fixed_seed_for_tests=seed(2))
            client.encrypt(np.ones((11, 4))).save(root / f"matvec {backend} input", program)
            data = (root / f"matvec {backend} input").read_bytes()
            start = data.index(b"RGFG\x01\0\x03\x01") if backend == "ckks" else data.index(b"ringforge CLEAR")
            yield f"files/matvec {backend} input.body", sha(data[start:])
            if backend == "ckks":
                client.save_secret_key(root / "matvec secret key")
                client.save_evaluation_keys(root / "matvec evaluation keys")
                yield read("matvec secret key")
                yield read("matvec evaluation keys")
        product = matmul.trace(params, lambda A, B: A @ B, A=(3, 3), B=(3, 3))
        product.save(root / "matmul program")
        yield read("matmul program")
        holder = matmul.KeyHolder(product, accept_insecure=WHY, fixed_seed_for_tests=seed(3))
        holder.save_secret_key(root / "matmul secret key")
        holder.save_evaluation_keys(root / "matmul evaluation keys")
        yield read("matmul secret key")
        yield read("matmul evaluation keys")
        parcels = [holder.encrypt(name, np.ones((3, 3))) for name in "AB"]
        out, _ = matmul.Server(product, holder.evaluation_keys(), threads=threads).run(parcels)
        for name, parcel in (("matmul input", parcels[0]), ("matmul output", out["result"])):
            parcel.save(root / name, product)
            data = (root / name).read_bytes()
            yield f"files/{name}.body", sha(data[data.index(b"RGFG\x01\0\x03\x01") :])


# ---- gates ---------------------------------------------------------------------------------------

#: Bytes before what records hold, before what those of gates hold behind the key's id, and of the checksum.
_HEADER, _GATES_HEADER, _SUM = 52, 60, 32


def gates(threads: int, method: fhew.Method) -> Digests:
    """Keys, encrypted bits, every gate by one method."""
    params = fhew.parameters("paper-medium" if method == fhew.Method.AP else "gates-degraded", WHY)
    secret = fhew.SecretKey(params, seed(4))
    name = f"gates {params.name} {method.name}"
    body = bytes(secret.save())[_GATES_HEADER:-_SUM]
    yield f"{name}/secret key.body", sha(body)
    yield f"{name}/key id.words", sha(secret.key_id.to_bytes(8, "little"))
    key = fhew.EvaluationKey.make(secret, method, threads)
    with tempfile.TemporaryDirectory() as directory:
        key.save(f"{directory}/key")
        yield f"{name}/evaluation key.body", sha(Path(directory, "key").read_bytes()[_GATES_HEADER:-_SUM])
    bits = np.array([0, 1, 0, 1, 1, 0], np.uint8)
    fresh = secret.encrypt(bits)
    yield f"{name}/encrypted bits.words", sha(fresh)
    data = storage.bits_to_bytes({"x": Bits(fresh, params, key_id=secret.key_id)})
    yield f"{name}/encrypted bits.body", sha(data[_GATES_HEADER:-_SUM])
    count = len(fhew.kind_names())
    inputs = np.array([[i % 6, (i + 1) % 6, (i + 3) % 6] for i in range(count)], np.int32)
    for kind in range(count):
        inputs[kind, fhew.arity(kind) :] = -1
    wires = np.concatenate([fresh, np.zeros((count, params.n + 1), np.uint32)])
    outputs = np.arange(6, 6 + count, dtype=np.int32)
    fhew.evaluate(key, np.arange(count, dtype=np.uint8), inputs, wires, outputs, threads)
    for kind, label in enumerate(fhew.kind_names()):
        yield f"{name}/{label}.words", sha(wires[6 + kind])
    # A second level, on outputs of gates.
    fhew.evaluate(key, np.array([2], np.uint8), np.array([[6, 7, -1]], np.int32), wires, outputs[2:3], threads)
    yield f"{name}/second level.words", sha(wires[8])


def rings(threads: int) -> Digests:
    """Ciphertexts and substitutions of small rings, of both words."""
    for bits in (27, 50):
        modulus = kernels.primes_below(bits, 1, 2048)[0]
        secret = fhew.RingSecret(modulus, 10, seed(5))
        dtype = np.uint32 if bits < 31 else np.uint64
        messages = np.random.default_rng(81).integers(0, modulus, (3, 1024)).astype(dtype)
        made = secret.encrypt(messages)
        yield f"ring {bits}/ciphertexts.words", sha(made)
        key = fhew.SubstitutionKey.make(secret, 5, fhew.Cut(9, 3 if bits < 31 else 5, 0 if bits < 31 else 5, True))
        room = np.empty(made.nbytes + 64, np.uint8)
        first = -room.ctypes.data % 64
        aligned = room[first : first + made.nbytes].view(dtype).reshape(made.shape)
        aligned[:] = made
        key.substitute(aligned, threads)
        yield f"ring {bits}/substituted.words", sha(aligned)


# ---- set intersection ----------------------------------------------------------------------------


def lookups(threads: int) -> Digests:
    """Keys, requests and what replies decode to, by both algorithms, over primes of 31 and 50 bits.

    Replies are masked by randomness of the server's own.
    """
    for bits, cut in ((31, fhew.Cut(3, 9, 4, True)), (50, fhew.Cut(6, 8, 2, True))):
        modulus = kernels.primes_below(bits, 1, 2048)[0]
        for algorithm in ("ringforge", "paper"):
            # One-hot selectors in one of them.
            onehot = 1 if algorithm == "ringforge" and bits == 50 else 0
            plan = psi.Plan(algorithm, 10, modulus, 2, 5, 6, 1, onehot, cut, [cut] * 10, cut, 12, WHY)
            name = f"psi {bits} {algorithm}"
            yield f"{name}/plan hash.words", sha(plan.hash)
            client = psi.ClientKey(plan, seed(6))
            sent = client.evaluation_keys(threads)
            yield f"{name}/evaluation keys.body", sha(sent[_HEADER:-_SUM])
            request = client.query(np.array([3, 0, 31, 16], np.uint32), threads)
            yield f"{name}/request.body", sha(request[_HEADER:-_SUM])
            rng = np.random.default_rng(91)
            words = rng.integers(0, 2, (plan.bins * plan.cells, plan.cell_words)).astype(np.uint16)
            offsets = np.arange(plan.bins + 1, dtype=np.uint64) * np.uint64(plan.cells)
            cells = np.tile(np.arange(plan.cells, dtype=np.uint32), plan.bins)
            table = psi.Table(plan, offsets, cells, words)
            reply = psi.evaluate(psi.SessionKeys(plan, sent, threads), request, table, threads)
            assert client.margins(reply)[0] < 0.4
            yield f"{name}/decoded.words", sha(client.decode(reply))


def polynomials(threads: int) -> Digests:
    """Tables, keys, requests and replies of the protocol by polynomials, without and with labels."""
    for words in (0, 1):
        fields, rng = small(words), np.random.default_rng(93)
        plan, name = fields.native(), f"psi polynomials, {words} label words"
        prf = rng.integers(0, 256, (200, 64), np.uint8)
        labels = rng.integers(0, 256, (200, plan.label_bytes), np.uint8) if words else None
        made = poly.compile_table(fields, prf, labels, nonce=bytes(8 * words), threads=threads)
        yield f"{name}/plan hash.words", sha(plan.hash)
        for array, values in made.all().items():
            yield f"{name}/{array}.words", sha(values)
        client = psi_poly.ClientKey(plan, seed(6))
        sent = client.evaluation_keys(threads)
        yield f"{name}/evaluation keys.body", sha(sent[_HEADER:-_SUM])
        request = client.query(rng.integers(0, plan.t, (plan.bins, plan.felts), np.uint32), threads)
        yield f"{name}/request.body", sha(request[_HEADER:-_SUM])
        session = psi_poly.SessionKeys(plan, sent, threads)
        reply = psi_poly.evaluate(session, request, poly.table(plan, made), threads)
        yield f"{name}/reply.body", sha(reply[_HEADER:-_SUM])
        yield f"{name}/decoded.words", sha(client.decode(reply))


def tables(_threads: int) -> Digests:
    """Compiled tables of both modes, and the pseudo-random function."""
    shape = Shape("direct", 24, 6, 3, 10, 0, 1, 0, 0, bytes(range(32)))
    direct = compile_direct(shape, np.arange(7, 5000, 11, dtype=np.uint64))
    yield "psi tables/direct.words", sha(direct.offsets, direct.cells, direct.words)
    key = ServerKey.derive(bytes(range(1, 33)), b"digests")
    elements = [b"element %d" % i for i in range(100)]
    prf = key.prf(elements)
    yield "psi tables/prf.words", sha(prf)
    with tempfile.TemporaryDirectory() as directory:
        key.save(f"{directory}/key")
        yield "psi tables/oprf key.body", sha(Path(directory, "key").read_bytes()[_HEADER:-_SUM])
    blind = oprf.Blind.from_bytes((12345).to_bytes(32, "little"))
    blinded = oprf.blind_with(b"element 1", blind)
    yield "psi tables/blinded.words", sha(blinded)
    evaluated = key.evaluate(np.frombuffer(blinded, np.uint8).reshape(1, 32))
    yield "psi tables/evaluated.words", sha(evaluated)
    yield "psi tables/finalized.words", sha(oprf.finalize(b"element 1", blind, evaluated.tobytes()))
    shape = Shape("oprf", 0, 5, 3, 12, 6, 2, 40, 8, bytes(range(32)), bytes(8))
    # Salts start from those of an earlier state, here zeros; a new table draws them.
    bins = shape.bins
    none = np.zeros(0, np.uint32), np.zeros((0, 64), np.uint16)
    empty = Arrays(np.zeros(bins + 1, np.uint64), *none, np.zeros(bins, np.uint16))
    labels = np.random.default_rng(95).integers(0, 256, (100, 8)).astype(np.uint8)
    made = compile_prf(shape, prf, labels, old=empty, touched=np.ones(bins, bool))
    yield "psi tables/oprf.words", sha(made.offsets, made.cells, made.words, made.salts)


# ---- BFV -----------------------------------------------------------------------------------------


def integers(threads: int) -> Digests:
    """Keys, every operation and files of BFV, by per-limb and hybrid digits; products with integer matrices."""
    for name, alpha, p in (("bfv per-limb", 1, 1), ("bfv hybrid", 2, 2)):
        primes = kernels.primes_below(50, 4 + p, 1 << 18)
        params = bfv.Parameters(name, 10, 12289, primes[p:], primes[:p], alpha, WHY)
        s = bfv.Session(params, threads, seed(7))
        ctx, ev = s.context, s.evaluator

        def file(what: str, thing: Any, name: str = name, ctx: bfv.Context = ctx) -> tuple[str, str]:
            return f"{name}/{what}.file", sha(io.to_bytes(ctx, thing))

        yield f"{name}/parameters.words", sha(params.hash)
        values = np.random.default_rng(71).integers(0, params.t, params.degree)
        plain = bfv.encode(ctx, values)
        yield file("plaintext", plain)
        yield file("coefficients", bfv.encode(ctx, values, "coefficients"))
        for what, key in (("secret", s.secret_key), ("public", s.public_key), ("relin", s.relin_key)):
            yield file(f"{what}_key", key)
        s.add_rotation_keys([1, 5])
        s.add_row_swap_key()
        yield file("galois_key", s.client.galois_key(s.secret_key, 25, 2, threads))
        a, b = s.encrypt(values), s.encrypt(values[::-1], public=True, limbs=4)
        product = ev.mul(a, b)
        low = ev.mod_switch_to(product, 2)
        for what, c in {
            "encrypt, secret key": a,
            "encrypt, public key": b,
            "add": ev.add(a, b),
            "sub, three parts": ev.sub(product, a),
            "negate": ev.negate(a),
            "add_plain": ev.add_plain(a, plain),
            "add_constant": ev.add_constant(a, -5),
            "mul_plain": ev.mul_plain(a, plain),
            "mul_constant": ev.mul_constant(a, 77),
            "combine": ev.combine([a, product, b], [3, -4, 5]),
            "mul": product,
            "square": ev.square(b),
            "mod_switch_to, three parts": low,
            "relinearize": ev.relinearize(product, s.relin_key),
            "relinearize, two limbs": ev.relinearize(low, s.relin_key),
            "square, two limbs": ev.square(ev.mod_switch_to(a, 2)),
            "rotate_rows": ev.rotate_rows(a, 5, s.galois_keys),
            "rotate_hoisted": ev.rotate_hoisted(b, [5, 1], s.galois_keys)[1],
            "swap_rows": ev.swap_rows(a, s.galois_keys),
        }.items():
            yield file(what, c)
        yield f"{name}/decrypted.words", sha(s.decrypt(ev.relinearize(low, s.relin_key)))
        layer = bfv.Linear(np.arange(-150, 150).reshape(20, 15), np.arange(20))
        for compact in (False, True):
            plan = layer.plan(ctx, limbs=3, compact=compact)
            s.add_galois_keys(plan.elements)
            inputs = [s.client.encrypt(x, s.secret_key, 3) for x in plan.encode(np.arange(15))]
            results, _ = layer.prepare(plan, s.galois_keys, threads=threads).run(inputs, threads)
            yield file(f"matrix{', coefficients' * compact}", results[0])


# ---- LTV -----------------------------------------------------------------------------------------


def ntru(threads: int) -> Digests:
    """Keys, every operation and files of LTV, by each gadget."""
    for name in ("ltv-test", "ltv-test-digit", "ltv-test-bits"):
        params = ltv.Parameters.named(name, WHY)
        s = ltv.Session(params, threads, fixed_seed_for_tests=seed(7))

        def file(what: str, thing: Any, name: str = name, ctx: ltv.Context = s.context) -> tuple[str, str]:
            return f"{name}/{what}.file", sha(io.to_bytes(ctx, thing))

        yield f"{name}/parameters.words", sha(params.hash)
        yield file("secret_key", s.secret_key)
        yield file("public_key", s.public_key)
        yield file("eval_key", s.eval_key(1))
        bits = np.random.default_rng(72).integers(0, 2, params.degree, dtype=np.uint8)
        a, b = s.encrypt(bits), s.encrypt(bits[::-1])
        product = s.evaluator.mul(a, b)
        relinearized = s.evaluator.relinearize(product, s.eval_key(1))
        for what, c in {
            "encrypt": a,
            "add": s.evaluator.add(a, b),
            "add_plain": s.evaluator.add_plain(a, bits),
            "mul_plain": s.evaluator.mul_plain(a, bits),
            "mul": product,
            "relinearize": relinearized,
            "mod_switch": s.evaluator.mod_switch(relinearized),
        }.items():
            yield file(what, c)
        yield f"{name}/decrypted.words", sha(s.decrypt(s.evaluator.mod_switch(relinearized)))
        batch, relinearizer = ltv.BatchEvaluator(s.context, threads), ltv.Relinearizer(s.context, threads)
        relinearizer.load(s.eval_key(1))
        sums = batch.sums([a, b], [[0, 1], [1]], [0, 1])
        products = batch.products([a, b], [[0], [0, 1]], [[(0, 1), (1, 1)], [(0, 0)]], [[0], []])
        for what, many in {
            "sums": sums,
            "products": products,
            "relinearizer": (down := relinearizer.relinearize(products)),
            "switched": batch.mod_switch(down),
        }.items():
            for k, c in enumerate(many):
                yield file(f"{what} {k}", c)
        if params.window <= 16:
            yield f"{name}/digits.words", sha(ltv.digits(s.context, product, threads))
        key = s.eval_key(1)
        yield f"{name}/key.words", sha(key.digit(0), key.coefficients(1, threads))
        operands = batch.operands([a, b], [[0], [0, 1]], [[(0, 1)]])
        yield f"{name}/operands.words", sha(operands)
        yield file("eval_key over a level", s.client.eval_key(s.secret_key, s.public_key, 2, threads, 1))


# ---- oblivious message retrieval -----------------------------------------------------------------


def signals(threads: int) -> Digests:
    """Keys of signals and signals of both samplers."""
    for n, weight, deviation, discrete in ((10, 134, 0.44, True), (7, 16, 0.5, False)):
        p = omr.SignalParameters.make(n, 786433, 2, weight, deviation, discrete)
        secret = omr.SignalSecret(p, seed(7))
        key = secret.key()
        a, b = key.signals(70, threads, seed(8))
        name = f"signals {1 << n}"
        yield f"{name}/secret.words", sha(secret.coefficients())
        yield f"{name}/key.words", sha(np.frombuffer(key.seed, np.uint8), key.b())
        yield f"{name}/signals.words", sha(a, b)
        yield f"{name}/packed.words", sha(omr.pack_signals(p, a, b, threads))
        yield f"{name}/errors.words", sha(secret.errors(a, b, threads))
        yield f"{name}/hits.words", sha(omr.count_hits(p, a, b, 100_000, 64, threads, seed(9)))


def compression(threads: int) -> Digests:
    """Keys of compression, parts and digests of one ciphertext and of several, and the sums that digests hold."""
    primes = kernels.primes_below(50, 4, 1 << 18)
    params = bfv.Parameters("compression", 10, 786433, primes[2:], primes[:2], 2, WHY)
    ctx = bfv.Context(params)
    client = bfv.Client(ctx, seed(11))
    key = client.secret_key()
    shape = omr.CompressionContext.make(params.log_n, params.t, params.q, params.p, WHY)
    secret = omr.CompressionSecret(shape, seed(12))
    keys = omr.CompressionKeys(key, secret, seed(13), threads)
    yield "compression/secret.file", sha(secret.to_bytes())
    yield "compression/keys.file", sha(keys.to_bytes())
    found = np.zeros(params.degree, np.int64)
    found[[0, 1, 511, 512, 1023]] = 1
    u = client.encrypt(bfv.encode(ctx, found), key)
    for messages, words in ((5, 0), (20, 40)):
        plan = omr.CompressionPlan(shape, messages, words)
        payloads = np.random.default_rng(words).integers(0, params.t, (params.degree, words)).astype(np.uint32)
        name = f"compression {messages} of {words}"
        yield f"{name}/plan hash.words", sha(plan.hash)
        shards = [plan.shard(i, min(3, plan.units)) for i in range(min(3, plan.units))]
        parts = [plan.part(keys, u, payloads, *shard, threads) for shard in shards]
        yield f"{name}/parts.file", sha(*parts)
        digest = plan.digest(keys, parts, 9)
        yield f"{name}/digest.file", sha(digest)
        sums = np.asarray(plan.open(digest, secret)).reshape(messages + 1, words + 1)
        # The count, and the sum of the places 1, 2, 512, 513 and 1024.
        assert (sums[:2, 0] == (5, 2052)).all()
        yield f"{name}/sums.words", sha(sums)


# ---- BGV -----------------------------------------------------------------------------------------


def bytes_in_slots(threads: int) -> Digests:
    """Keys, every operation and files of BGV."""
    for name in ("bgv-test", "bgv-test-16"):
        params = bgv.Parameters.named(name, WHY)
        s = bgv.Session(params, threads, seed(7))
        ctx, ev = s.context, s.evaluator

        def file(what: str, thing: Any, name: str = name, ctx: bgv.Context = ctx) -> tuple[str, str]:
            return f"{name}/{what}.file", sha(io.to_bytes(ctx, thing))

        yield f"{name}/parameters.words", sha(params.hash)
        numbers = np.random.default_rng(72).integers(0, 256, (6, s.slots.size))
        for what, key in (("secret", s.secret_key), ("public", s.public_key), ("relin", s.relin_key)):
            yield file(f"{what}_key", key)
        s.add_frobenius_keys([1, 3])
        yield file("galois_key", s.client.galois_key(s.secret_key, 4, 2, threads))
        a = s.encrypt(numbers[0], packing="bytes")
        b = s.encrypt(numbers[1], packing="bytes", public=True)
        multipliers = [s.multiplier(n, packing="bytes") for n in numbers[2:]]
        one, two, eight = (ctx.frobenius_element(k) for k in (0, 1, 3))
        sums = [[(one, multipliers[0]), (two, multipliers[1]), (eight, multipliers[2])], [(two, multipliers[3])]]
        product = ev.mul(a, b)
        for what, c in {
            "encrypt, secret key": a,
            "encrypt, public key": b,
            "add, three parts": ev.add(product, a),
            "add_plain": ev.add_plain(a, multipliers[0]),
            "add_one": ev.add_one(a),
            "mul_plain": ev.mul_plain(a, multipliers[0]),
            "mul": product,
            "square": ev.square(b),
            "relinearize": ev.relinearize(product, s.relin_key),
            "relinearize, drop 1": ev.relinearize(product, s.relin_key, 1),
            "multiply, drop 3": ev.multiply(a, b, s.relin_key, 3),
            "mod_switch_to, three parts": ev.mod_switch_to(product, 2),
            "apply_galois": ev.apply_galois(a, two, s.galois_keys),
            "apply_hoisted": ev.apply_hoisted(b, [two, eight], s.galois_keys)[1],
            "frobenius_sums": ev.frobenius_sums(a, sums, s.galois_keys)[0],
            "frobenius_sums, drop 1": ev.frobenius_sums(a, sums, s.galois_keys, 1)[1],
            "drop_to": ev.drop_to(a, 2),
        }.items():
            yield file(what, c)
        decrypted = s.decrypt(ev.relinearize(product, s.relin_key), packing="bytes")
        yield f"{name}/decrypted.words", sha(decrypted)


# ---- all of it -----------------------------------------------------------------------------------


#: Parts of the list, in the order of their time.
PARTS: dict[str, Callable[[int], Digests]] = {
    "tables": tables,
    "rings": rings,
    "signals": signals,
    "compression": compression,
    "files": files,
    "lookups": lookups,
    "polynomials": polynomials,
    "gates GINX": lambda threads: gates(threads, fhew.Method.GINX),
    "ckks": ckks,
    "bfv": integers,
    "bgv": bytes_in_slots,
    "ltv": ntru,
    "gates AUTOMORPHISM": lambda threads: gates(threads, fhew.Method.AUTOMORPHISM),
    "sets": named_sets,
    # A key of a gigabyte.
    "gates AP": lambda threads: gates(threads, fhew.Method.AP),
}


def compute(parts: Iterable[str] = PARTS, threads: int = 1) -> dict[str, dict[str, str]]:
    """The digests of some parts by name."""
    found: dict[str, dict[str, str]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in parts:
            items = list(PARTS[part](threads))
            found[part] = dict(items)
            assert len(found[part]) == len(items), part
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Digests of keys, ciphertexts, results and files of fixed seeds.")
    parser.add_argument("parts", nargs="*", help=f"which: {', '.join(PARTS)}; all by default")
    parser.add_argument("--write", action="store_true", help=f"write all to {LIST.name}; else print them")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    text = json.dumps(compute(options.parts or PARTS, options.threads), indent=1) + "\n"
    if options.write:
        LIST.write_text(text)
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
