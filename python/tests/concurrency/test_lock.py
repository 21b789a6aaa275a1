# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Native calls that compute, wait or read let other Python threads run."""

from __future__ import annotations

import functools
import os
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from ringforge import _native
from ringforge._native import fhew, io, kernels, omr, oprf, psi, psi_poly
from tests.concurrency import small
from tests.concurrency.lock import Call, let_go
from tests.foreign_world import Compressions, Polynomials

#: Name, call, and what comes before each call; as `let_go` wants them.
Row = tuple[str, Call, Call]

#: Functions with a parameter `threads` that are not in the tables, and why.
ELSEWHERE = {
    "BatchMatmul.cost": "a formula",
    "Evaluator.__init__": "keeps the number",
    "bfv.Evaluator.__init__": "keeps the number",
    "bgv.Evaluator.__init__": "keeps the number",
    "ltv.Evaluator.__init__": "keeps the number",
    "ltv.BatchEvaluator.__init__": "keeps the number",
    "ltv.Relinearizer.__init__": "keeps the number",
    "fhew.accumulate": "needs a large key: gates/test_devices.py",
    "omr.CompressionPlan.memory": "a formula",
    "omr.Affine.run_bytes": "a formula",
    "psi.Plan.query_bytes": "a formula",
    "psi_poly.Plan.query_bytes": "a formula",
}


def row(name: str, function: Callable[..., object], *arguments: object, before: Call = dict) -> Row:
    return name, functools.partial(function, *arguments), before


def test_the_proof_sees_both_kinds() -> None:
    assert not let_go(functools.partial(sum, range(3_000)))
    assert let_go(functools.partial(threading.Event().wait, 1e-4))


def aligned(shape: tuple[int, ...], dtype: type) -> np.ndarray[Any, Any]:
    """Zeros that begin at a multiple of 64 bytes."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    room = np.zeros(size + 64, np.uint8)
    start = -room.ctypes.data % 64
    return room[start : start + size].view(dtype).reshape(shape)


def scheme(_: Path) -> Iterator[Row]:
    s = small.session()
    c, key, ctx = s.client, s.secret_key, s.context
    values = np.zeros(ctx.params.slots, np.complex128)
    plain = ctx.encode(values, 2.0**40, 2)
    public, cipher = c.public_key(key), c.encrypt(plain, key)
    yield row("Context.__init__", _native.Context, small.parameters())
    yield row("Context.encode", ctx.encode, values, 2.0**40, 2, 2)
    yield row("Context.decode", ctx.decode, plain, 2)
    yield row("Client.secret_key", c.secret_key)
    yield row("Client.public_key", c.public_key, key)
    yield row("Client.relin_key", c.relin_key, key, None, 2)
    yield row("Client.galois_key", c.galois_key, key, 5, None, 2)
    yield row("Client.encrypt", c.encrypt, plain, key)
    yield row("Client.encrypt", c.encrypt, plain, public)
    yield row("Client.decrypt", c.decrypt, cipher, key)
    yield row("Client.decrypt_to_share", c.decrypt_to_share, cipher, key, 20.0)
    yield row("Evaluator.add", s.evaluator.add, cipher, cipher)
    yield row("Evaluator.mul", s.evaluator.mul, cipher, cipher)
    yield row("suggest", _native.suggest, 2, 20.0, 4096)


def integers(_: Path) -> Iterator[Row]:
    s = small.integer_session()
    c, key, ctx, ev = s.client, s.secret_key, s.context, s.evaluator
    values = np.zeros(ctx.params.degree, np.int64)
    plain = ctx.encode(values)
    public, cipher = c.public_key(key), c.encrypt(plain, key)
    s.add_rotation_keys([1])
    three = ev.mul(cipher, cipher)
    yield row("bfv.Context.__init__", _native.bfv.Context, ctx.params)
    yield row("bfv.Context.encode", ctx.encode, values)
    yield row("bfv.Context.decode", ctx.decode, plain)
    yield row("bfv.Context.multiplier", ctx.multiplier, plain, None, 2)
    yield row("bfv.Client.secret_key", c.secret_key)
    yield row("bfv.Client.public_key", c.public_key, key)
    yield row("bfv.Client.relin_key", c.relin_key, key, None, 2)
    yield row("bfv.Client.galois_key", c.galois_key, key, 5, None, 2)
    yield row("bfv.Client.encrypt", c.encrypt, plain, key)
    yield row("bfv.Client.encrypt", c.encrypt, plain, public)
    yield row("bfv.Client.decrypt", c.decrypt, cipher, key, 2)
    yield row("bfv.Client.decrypt_to_share", c.decrypt_to_share, cipher, key, 20.0)
    yield row("bfv.Client.noise_budget", c.noise_budget, cipher, key)
    yield row("bfv.Evaluator.add", ev.add, cipher, cipher)
    yield row("bfv.Evaluator.mul", ev.mul, cipher, cipher)
    yield row("bfv.Evaluator.relinearize", ev.relinearize, three, s.relin_key)
    yield row("bfv.Evaluator.rotate_rows", ev.rotate_rows, cipher, 1, s.galois_keys)
    yield row("bfv.Evaluator.mod_switch_to", ev.mod_switch_to, cipher, 1)
    yield row("bfv.suggest", _native.bfv.suggest, 4, 65537)
    plan = _native.Plan(_native.Packing(8, 16, ctx.params.row, _native.Span.compact), _native.Algorithm.bsgs, 4)
    matvec = _native.bfv.IntegerMatvec(ctx, 16, plan, 3)
    s.add_galois_keys(matvec.elements)
    encode = row(
        "bfv.IntegerMatvec.encode", matvec.encode, np.ones((16, 16), np.int64), np.zeros(0, np.int64), False, 2
    )
    encode[1]()
    yield row("bfv.IntegerMatvec.__init__", _native.bfv.IntegerMatvec, ctx, 16, plan, 3)
    yield encode
    yield row("bfv.IntegerMatvec.run", matvec.run, [cipher], s.galois_keys, 2)


def transforms(_: Path) -> Iterator[Row]:
    s = small.session()
    c, key, ctx = s.client, s.secret_key, s.context
    slots = ctx.params.slots
    x = c.encrypt(ctx.encode(np.zeros(slots, np.complex128), 2.0**36, 2), key)
    plan = _native.Plan(_native.Packing(16, 16, slots, _native.Span.compact), _native.Algorithm.diagonal)
    matvec = _native.Matvec(ctx, plan, 2)
    encode = row("Matvec.encode", matvec.encode, np.full((16, 16), 0.01), np.zeros(0), 2.0**36, 2.0**38, 1.0, True, 2)
    encode[1]()
    galois = _native.GaloisKeys()
    for element, level in matvec.required_keys:
        galois.insert(c.galois_key(key, element, level))
    yield row("Matvec.__init__", _native.Matvec, ctx, plan, 2)
    yield encode
    yield row("Matvec.run", matvec.run, [x] * len(plan.packing.blocks), galois, 2)

    steps = np.arange(4, dtype=np.uint32)
    offsets = np.arange(5, dtype=np.uint64) * np.uint64(slots)
    targets = np.tile(np.arange(slots, dtype=np.uint32), 4)
    values = np.full(4 * slots, 0.1 + 0j)
    diagonals = _native.Diagonals(slots, steps, offsets, targets, values)
    hlt = _native.Hlt(ctx, diagonals, 2, _native.Schedule.mo, steps)
    encode = row("Hlt.encode", hlt.encode, 2.0**36, 2.0**38, 1.0, False, 2)
    encode[1]()
    turned = _native.GaloisKeys()
    for step in hlt.steps:
        turned.insert(c.galois_key(key, ctx.rotation_element(step)))
    yield row("Diagonals.__init__", _native.Diagonals, slots, steps, offsets, targets, values)
    yield encode
    yield row("Hlt.run", hlt.run, x, turned, 2)

    sums = _native.PairSumPlan(1, 1, [], False, np.zeros(0, np.uint32))
    sums.add_group(0)
    sums.add_pair([(0, 0, 0, -1)], [(0, 0, 0, -1)])
    pairs = _native.PairSum(ctx, sums, 2)
    encode = row("PairSum.encode", pairs.encode, 2.0**36, 2.0**36, 2.0**72 / ctx.params.q[2], 1.0, 1.0, 1.0, False, 2)
    encode[1]()
    yield encode
    yield row("PairSum.run", pairs.run, [x], [x], turned, c.relin_key(key), 2)


def batches(_: Path) -> Iterator[Row]:
    s = small.session()
    c, key, ctx = s.client, s.secret_key, s.context
    batch, by = _native.BatchMatmul(ctx, 16), _native.Lines
    galois = _native.GaloisKeys()
    for element in batch.required_keys:
        galois.insert(c.galois_key(key, element))
    entries = np.zeros(batch.capacity * 256, np.complex128)
    left, right = (batch.encrypt(c, key, entries, lines, 2.0**40, 2) for lines in (by.columns, by.rows))
    plain = [c.decrypt(left.line(j), key) for j in range(16)]
    public, relin = c.public_key(key), c.relin_key(key)
    yield row("BatchMatmul.encrypt", batch.encrypt, c, key, entries, by.columns, 2.0**40, 2, 1.0, 2)
    yield row("BatchMatmul.encrypt", batch.encrypt, c, public, entries, by.columns, 2.0**40, 2, 1.0, 2)
    yield row("BatchMatmul.decrypt", batch.decrypt, c, key, left, 2)
    yield row("BatchMatmul.decode", batch.decode, plain, by.columns, 2)
    yield row("BatchMatmul.multiply", batch.multiply, left, right, galois, relin, by.columns, 2)
    yield row("BatchMatmul.convert", batch.convert, left, by.rows, galois, 2)


def records(folder: Path) -> Iterator[Row]:
    s = small.session()
    c, key, ctx = s.client, s.secret_key, s.context
    for name, thing in {
        "ciphertext": s.encrypt(np.zeros(ctx.params.slots), level=2),
        "galois_key": c.galois_key(key, 5),
        "relin_key": c.relin_key(key),
    }.items():
        path = str(folder / name)
        writer = io.Writer(path)
        writer.write(ctx, thing)
        writer.close()
        reader = io.Reader(path)
        start = functools.partial(reader.seek, 0)
        yield row(f"io.Reader.next_{name}", getattr(reader, f"next_{name}"), ctx, 2, before=start)
        yield row("io.Reader.verify", reader.verify, before=start)
        yield row("io.to_bytes", io.to_bytes, ctx, thing)
        yield row(f"io.{name}_from_bytes", getattr(io, f"{name}_from_bytes"), io.to_bytes(ctx, thing), ctx)
    yield row("io.Reader.__init__", io.Reader, path)
    yield row("io.Reader.index", reader.index, before=start)


def boolean_gates(folder: Path) -> Iterator[Row]:
    secret, key = small.gate_key(), small.evaluation_key()
    params, bits = key.params, np.zeros(16, np.uint8)
    wires = np.concatenate([secret.encrypt(bits[:2]), np.zeros((2, params.n + 1), np.uint32)])
    kinds = np.full(2, fhew.kind_names().index("NAND"), np.uint8)
    inputs, outputs = np.array([[0, 1, -1]] * 2, np.int32), np.array([2, 3], np.int32)
    word = np.uint32 if params.word_bits == 32 else np.uint64
    accumulators = aligned((2, 2, 1 << params.log_n), word)
    path = str(folder / "gates")
    key.save(path)
    yield row("fhew.SecretKey.__init__", fhew.SecretKey, params)
    yield row("fhew.SecretKey.encrypt", secret.encrypt, bits)
    yield row("fhew.SecretKey.decrypt", secret.decrypt, secret.encrypt(bits))
    yield row("fhew.SecretKey.errors", secret.errors, secret.encrypt(bits), bits)
    yield row("fhew.EvaluationKey.make", fhew.EvaluationKey.make, secret, fhew.Method.GINX, 2)
    yield row("fhew.EvaluationKey.save", key.save, f"{path}-again")
    yield row("fhew.EvaluationKey.load", fhew.EvaluationKey.load, path, params, 2)
    yield row("fhew.evaluate", fhew.evaluate, key, kinds, inputs, wires, outputs, 2)
    yield row("fhew.extract", fhew.extract, key, accumulators)
    for bits_of_prime, words, cut in ((27, np.uint32, fhew.Cut(9, 3)), (50, np.uint64, fhew.Cut(10, 5))):
        ring = fhew.RingSecret(kernels.primes_below(bits_of_prime, 1, 2048)[0], 10)
        substitution = fhew.SubstitutionKey.make(ring, 5, cut)
        messages = np.zeros((4, 1024), words)
        room = aligned((4, 2, 1024), words)
        yield row("fhew.RingSecret.encrypt", ring.encrypt, messages)
        yield row("fhew.RingSecret.phase", ring.phase, ring.encrypt(messages))
        yield row("fhew.SubstitutionKey.make", fhew.SubstitutionKey.make, ring, 5, cut)
        yield row("fhew.SubstitutionKey.substitute", substitution.substitute, room, 2)


def set_intersection(_: Path) -> Iterator[Row]:
    plan, table, cells = small.psi_plan(), small.psi_table(), small.psi_cells()
    client = psi.ClientKey(plan)
    sent = client.evaluation_keys()
    keys, request = psi.SessionKeys(plan, sent), client.query(cells)
    reply = psi.evaluate(keys, request, table)
    yield row("psi.ClientKey.__init__", psi.ClientKey, plan)
    yield row("psi.ClientKey.evaluation_keys", client.evaluation_keys, 2)
    yield row("psi.ClientKey.query", client.query, cells, 2)
    yield row("psi.ClientKey.decode", client.decode, reply)
    yield row("psi.ClientKey.margins", client.margins, reply)
    yield row("psi.SessionKeys.__init__", psi.SessionKeys, plan, sent, 2)
    yield row("psi.evaluate", psi.evaluate, keys, request, table, 2)
    rows = psi.cut_request(plan, request)[0]
    yield row("psi.evaluate_part", psi.evaluate_part, keys, rows, *small.psi_part(), 0, 0, 0, 2)


def polynomials(_: Path) -> Iterator[Row]:
    w = Polynomials(1)
    yield row("psi_poly.ClientKey.__init__", psi_poly.ClientKey, w.plan)
    yield row("psi_poly.ClientKey.evaluation_keys", w.client.evaluation_keys, 2)
    yield row("psi_poly.ClientKey.query", w.client.query, w.felts, 2)
    yield row("psi_poly.ClientKey.decode", w.client.decode, w.reply, 2)
    yield row("psi_poly.ClientKey.margin", w.client.margin, w.reply)
    yield row("psi_poly.SessionKeys.__init__", psi_poly.SessionKeys, w.plan, w.keys, 2)
    yield row("psi_poly.interpolate", psi_poly.interpolate, w.plan, w.counts, w.roots, w.labels, w.touched, w.plain, 2)
    yield row("psi_poly.evaluate", psi_poly.evaluate, w.session, w.request, w.table, 2)
    part = (w.column, w.part_counts, w.part_plain, 2)
    yield row("psi_poly.evaluate_part", psi_poly.evaluate_part, w.session, *part, 2)


def digests(_: Path) -> Iterator[Row]:
    w = Compressions(10)
    yield row("omr.CompressionKeys.__init__", omr.CompressionKeys, w.bfv, w.secret, None, 2)
    yield row("omr.CompressionKeys.to_bytes", w.keys.to_bytes)
    yield row("omr.CompressionKeys.from_bytes", omr.CompressionKeys.from_bytes, w.keys_record, w.context, 2)
    yield row("omr.CompressionPlan.part", w.plan.part, w.keys, w.u, w.words, 0, 1, 2)
    yield row("omr.CompressionPlan.digest", w.plan.digest, w.keys, [w.part], 0)
    yield row("omr.CompressionPlan.open", w.plan.open, w.digest, w.secret)


def pseudo_random_function(_: Path) -> Iterator[Row]:
    server, inputs = oprf.ServerKey.random(), [b"x"] * 8
    blinds, elements = oprf.blind_batch(inputs)
    evaluated = server.evaluate_batch(elements)
    blind, element = oprf.blind(b"x")
    yield row("oprf.ServerKey.random", oprf.ServerKey.random)
    yield row("oprf.ServerKey.evaluate", server.evaluate, element)
    yield row("oprf.ServerKey.prf", server.prf, b"x")
    yield row("oprf.ServerKey.evaluate_batch", server.evaluate_batch, elements, 2)
    yield row("oprf.ServerKey.prf_batch", server.prf_batch, inputs, 2)
    yield row("oprf.blind", oprf.blind, b"x")
    yield row("oprf.finalize", oprf.finalize, b"x", blind, server.evaluate(element))
    yield row("oprf.blind_batch", oprf.blind_batch, inputs, 2)
    yield row("oprf.finalize_batch", oprf.finalize_batch, inputs, blinds, evaluated, 2)


def signals(_: Path) -> Iterator[Row]:
    p = omr.SignalParameters.make(10, 786433, 2, 80, 0.5, True)
    secret = omr.SignalSecret(p)
    key = secret.key()
    a, b = key.signals(64)
    packed = omr.pack_signals(p, a, b)
    yield row("omr.SignalSecret.key", secret.key)
    yield row("omr.SignalKey.signals", key.signals, 64, 2)
    yield row("omr.SignalSecret.errors", secret.errors, a, b, 2)
    yield row("omr.pack_signals", omr.pack_signals, p, a, b, 2)
    yield row("omr.unpack_signals", omr.unpack_signals, p, packed, 2)
    yield row("omr.count_hits", omr.count_hits, p, a, b, 49, 64, 2)


def broken_ntru(_: Path) -> Iterator[Row]:
    ltv = _native.ltv
    primes = [int(p) for p in kernels.primes_below(31, 4, 1 << 16)]
    ctx = ltv.Context(ltv.Parameters(4369, primes, insecure="tests"))
    client, ev = ltv.Client(ctx, _native.TestSeed(bytes(32))), ltv.Evaluator(ctx)
    secret, public = client.keys()
    key, bits = client.eval_key(secret, public, 1), np.ones(4096, np.uint8)
    c = client.encrypt(bits, public)
    product = ev.mul(c, c)
    down = ev.relinearize(product, key)
    yield row("ltv.Client.keys", client.keys, 2)
    yield row("ltv.Client.eval_key", client.eval_key, secret, public, 1, 2)
    yield row("ltv.Client.encrypt", client.encrypt, bits, public, 0, 2)
    yield row("ltv.Client.decrypt", client.decrypt, c, secret, 2)
    yield row("ltv.Client.measure", client.measure, c, secret, 2)
    yield row("ltv.Client.noise_budget", client.noise_budget, c, secret, 2)
    yield row("ltv.Evaluator.mul", ev.mul, c, c)
    yield row("ltv.Evaluator.relinearize", ev.relinearize, product, key)
    yield row("ltv.Evaluator.mod_switch", ev.mod_switch, down)
    yield row("ltv.Evaluator.mul_plain", ev.mul_plain, c, bits)
    batch, relinearizer = ltv.BatchEvaluator(ctx), ltv.Relinearizer(ctx)
    relinearizer.load(key)
    yield row("ltv.Relinearizer.load", relinearizer.load, key)
    yield row("ltv.Relinearizer.relinearize", relinearizer.relinearize, [product])
    yield row("ltv.BatchEvaluator.sums", batch.sums, [c] * 64, [list(range(64))] * 64)
    yield row("ltv.BatchEvaluator.products", batch.products, [c, c], [[0, 1]], [[(0, 0)]])
    plan = ([[0], [1]] * 8, [[(0, 1)]])
    yield row("ltv.BatchEvaluator.operands", batch.operands, [c, c], *plan)
    words = np.zeros((1, c.limbs, ctx.params.transform_length), np.uint32)
    yield row("ltv.BatchEvaluator.assemble", batch.assemble, [c, c], *plan, [], words)
    parts = ltv.KeyParts(ctx, key)
    yield row("ltv.KeyParts.__init__", ltv.KeyParts, ctx, key)
    yield row("ltv.KeyParts.digits", parts.digits, product)
    yield row("ltv.KeyParts.assemble", parts.assemble, product, words[0])
    yield row("ltv.digits", ltv.digits, ctx, product)
    yield row("ltv.EvalKey.coefficients", key.coefficients, 0)
    yield row("ltv.BatchEvaluator.mod_switch", batch.mod_switch, [down] * 4)
    yield row("ltv.BatchEvaluator.carry", batch.carry, [c] * 4, 1)


def bytes_in_slots(_: Path) -> Iterator[Row]:
    bgv = _native.bgv
    ctx = bgv.Context(bgv.Parameters.named("bgv-test-16", "tests"))
    client, ev = bgv.Client(ctx, _native.TestSeed(bytes(32))), bgv.Evaluator(ctx)
    secret, bits = client.secret_key(), np.ones(2048, np.uint8)
    public, relin, galois = client.public_key(secret), client.relin_key(secret), _native.GaloisKeys()
    galois.insert(client.galois_key(secret, 2))
    c, multiplier = client.encrypt(bits, secret), ctx.multiplier(bits, None, True)
    product, sums = ev.mul(c, c), [[(2, multiplier), (1, multiplier)]]
    yield row("bgv.Context.__init__", bgv.Context, ctx.params)
    yield row("bgv.Context.multiplier", ctx.multiplier, bits, None, True, 2)
    yield row("bgv.Client.secret_key", client.secret_key)
    yield row("bgv.Client.public_key", client.public_key, secret)
    yield row("bgv.Client.relin_key", client.relin_key, secret, None, 2)
    yield row("bgv.Client.galois_key", client.galois_key, secret, 2, None, 2)
    yield row("bgv.Client.encrypt", client.encrypt, bits, secret)
    yield row("bgv.Client.encrypt", client.encrypt, bits, public)
    yield row("bgv.Client.decrypt", client.decrypt, c, secret, 2)
    yield row("bgv.Client.decrypt_to_share", client.decrypt_to_share, c, secret, 20.0, 1, None, 2)
    yield row("bgv.Client.measure", client.measure, c, secret, 2)
    yield row("bgv.Client.noise_budget", client.noise_budget, c, secret, 2)
    yield row("bgv.Evaluator.add", ev.add, c, c)
    yield row("bgv.Evaluator.add_plain", ev.add_plain, c, multiplier)
    yield row("bgv.Evaluator.mul_plain", ev.mul_plain, c, multiplier)
    yield row("bgv.Evaluator.mul", ev.mul, c, c)
    yield row("bgv.Evaluator.relinearize", ev.relinearize, product, relin, 1)
    yield row("bgv.Evaluator.multiply", ev.multiply, c, c, relin, 1)
    yield row("bgv.Evaluator.apply_galois", ev.apply_galois, c, 2, galois)
    yield row("bgv.Evaluator.apply_hoisted", ev.apply_hoisted, c, [2], galois)
    yield row("bgv.Evaluator.frobenius_sums", ev.frobenius_sums, c, sums, galois)
    yield row("bgv.Evaluator.mod_switch_to", ev.mod_switch_to, c, 2)


def odd_index(_: Path) -> Iterator[Row]:
    primes = [int(p) for p in kernels.primes_below(31, 4, 1 << 16)]
    rows = np.ones((4, 32_768), np.uint32)
    slots = _native.BinarySlots(65_535)
    polynomial, values = np.ones(32_768, np.uint8), np.ones(2_048, np.uint32)
    yield row("kernels.ring_product", kernels.ring_product, 65_535, primes, rows, rows, 2)
    yield row("BinarySlots.__init__", _native.BinarySlots, 65_535)
    yield row("BinarySlots.encode", slots.encode, values)
    yield row("BinarySlots.decode", slots.decode, polynomial)


def detection(_: Path) -> Iterator[Row]:
    bfv = _native.bfv
    primes = [int(p) for p in kernels.primes_below(49, 5, 1 << 18)]
    ctx = bfv.Context(bfv.Parameters("", 12, 786433, primes[2:], primes[:2], 2, "tests"))
    client = bfv.Client(ctx)
    key = client.secret_key()
    layout = omr.AffineLayout(12, 786433, 128, 2, 16)
    affine, galois = omr.Affine(ctx, layout, 3), _native.GaloisKeys()
    for element in (affine.baby_element, affine.giant_element):
        galois.insert(client.galois_key(key, element))
    signals = np.zeros((4096, 128), np.uint32)
    v = client.encrypt(ctx.constant(1), key)
    babies, diagonals = affine.babies(v, galois), [layout.encode(signals, g) for g in range(layout.giants)]
    upper, lower = affine.run(babies, 4, diagonals[4:], galois), affine.run(babies, 0, diagonals[:4], galois)
    yield row("omr.AffineLayout.encode", layout.encode, signals, 0, 2)
    yield row("omr.Affine.babies", affine.babies, v, galois, 2)
    yield row("omr.Affine.run", affine.run, babies, 0, diagonals, galois, 2)
    rows = [babies.rows(i) for i in range(3)]
    yield row("omr.Babies.rows", babies.rows, 0)
    yield row("omr.Affine.sums", affine.sums, 0, diagonals, [0, 1, 2], rows, 2)
    sums = affine.sums(0, diagonals, [0, 1, 2], rows)
    steps = [[[limb[0, g, part] for limb in sums] for part in (0, 1)] for g in range(layout.giants)]
    yield row("omr.Affine.horner", affine.horner, steps, galois, 2)
    yield row("omr.Affine.combine", affine.combine, lower, 4, upper, galois, 2)


def frozen_objects(_: Path) -> Iterator[Row]:
    """What compares words, which is what takes long."""
    s = small.session()
    relin = s.client.relin_key(s.secret_key)
    galois = _native.GaloisKeys()
    galois.insert(s.client.galois_key(s.secret_key, 5))
    cipher, integer = s.encrypt([1.0]), small.integer_session().encrypt([1])
    facts, words = _native.frozen.key(relin)
    yield row("frozen.relin_key", _native.frozen.relin_key, facts, words, True, 2)
    facts, words = _native.frozen.key(galois, 5)
    yield row("frozen.galois_key", _native.frozen.galois_key, 5, facts, words, True, 2)
    parts, own, words = _native.frozen.ciphertext(cipher)
    yield row("frozen.ckks_ciphertext", _native.frozen.ckks_ciphertext, parts, own, words, False, True, 2)
    parts, known, words = _native.frozen.ciphertext(integer)
    yield row("frozen.bfv_ciphertext", _native.frozen.bfv_ciphertext, parts, known, words, False, True, 2)
    yield row("frozen.bgv_ciphertext", _native.frozen.bgv_ciphertext, parts, 1.0, words, False, True, 2)
    noise = [(1.0, 0, 0)]
    yield row("frozen.omr_babies", _native.frozen.omr_babies, [parts], noise, [words], True, True, 2)
    secret = _native.fhew.SecretKey(_native.fhew.parameters("gates-toy", "tests"))
    key = _native.fhew.EvaluationKey.make(secret, _native.fhew.Method.GINX)
    said = _native.frozen.gate_key(key)
    yield row("frozen.gate_evaluation_key", _native.frozen.gate_evaluation_key, *said, True, True, 2)


TABLES = [
    scheme,
    integers,
    transforms,
    batches,
    records,
    boolean_gates,
    set_intersection,
    polynomials,
    digests,
    pseudo_random_function,
    signals,
    detection,
    bytes_in_slots,
    broken_ntru,
    odd_index,
    frozen_objects,
]


@pytest.mark.parametrize("table", TABLES)
def test_native_calls_let_other_threads_run(table: Callable[[Path], Iterator[Row]], tmp_path: Path) -> None:
    held = [name for name, call, prepare in table(tmp_path) if not let_go(call, prepare)]
    assert held == []


def named_threads(part: ModuleType | type, prefix: str = "") -> Iterator[str]:
    """Functions of the native module with a parameter `threads`, as `part.name`."""
    for name, thing in vars(part).items():
        if isinstance(thing, ModuleType) or (isinstance(thing, type) and thing.__module__.startswith("ringforge")):
            yield from named_threads(thing, f"{prefix}{name}.")
            continue
        thing = getattr(part, name)
        for signature, *_ in getattr(thing, "__nb_signature__", ()):
            if re.search(r"\bthreads:", signature):
                yield prefix + name


def test_every_native_function_that_takes_threads_is_in_the_tables(tmp_path: Path) -> None:
    proved = {name for table in TABLES for name, _, _ in table(tmp_path)}
    found = set(named_threads(_native))
    assert {"Matvec.run", "psi.SessionKeys.__init__"} < found
    assert found - proved == set(ELSEWHERE)


def test_opening_a_file_that_waits_for_its_other_end_lets_threads_run(tmp_path: Path) -> None:
    """A pipe without a writer: this returns only because another Python thread opens it."""
    path = str(tmp_path / "pipe")
    os.mkfifo(path)
    ctx, thing = small.session().context, small.session().encrypt([1.0])
    writer = threading.Thread(target=Path(path).write_bytes, args=(io.to_bytes(ctx, thing),))
    writer.start()
    assert io.Reader(path).next_ciphertext(ctx) is not None
    writer.join()
