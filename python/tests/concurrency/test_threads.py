# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Every system from several Python threads at once: they finish, compute what one thread computes, and count their own.

`make sanitize` runs these tests once more over a native module that is built with the sanitizers.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ringforge import _native, ckks, devices, errors
from ringforge._native import fhew, oprf, psi
from ringforge.devices import KeySet
from ringforge.matvec.kernels import MatvecKernel, MatvecOperands
from tests.concurrency import small

#: More than this machine may have, as the default of a larger one would be.
MANY = max(4, _native.hardware_threads())


def at_once(*work: Callable[[], object], rounds: int = 1) -> None:
    """Runs functions in threads of their own, `rounds` times each, beginning together; raises what they raise."""
    start = threading.Barrier(len(work))

    def run(each: Callable[[], object]) -> None:
        for _ in range(rounds):
            start.wait()
            each()

    with ThreadPoolExecutor(len(work)) as pool:
        for done in [pool.submit(run, each) for each in work]:
            done.result()


class Layer:
    """A matrix on the device `cpu`, with keys and an encrypted input."""

    def __init__(self, size: int) -> None:
        s = small.session()
        ctx, slots = s.context, s.context.params.slots
        self.plan = _native.Plan(_native.Packing(size, size, slots, _native.Span.compact), _native.Algorithm.diagonal)
        kernel = MatvecKernel(ctx, self.plan, 2, 1, 2.0**36, 2.0**38, 1.0, True)
        operands = MatvecOperands(np.full((size, size), 0.01), np.zeros(0))
        self.device = devices.open_device("cpu")
        needed = _native.Matvec(ctx, self.plan, 2).required_keys
        galois = _native.GaloisKeys()
        for element, level in needed:
            galois.insert(s.client.galois_key(s.secret_key, element, level))
        self.handle = self.device.prepare(kernel, KeySet(galois), operands)
        x = s.client.encrypt(ctx.encode(np.full(slots, 0.5 + 0j), 2.0**36, 2), s.secret_key)
        self.inputs = [x] * len(self.plan.packing.blocks)
        self.expected = _native.Matvec.cost(ctx, self.plan, 2).ops
        self.bits = self.residues(1)

    def run(self, threads: int) -> tuple[list[_native.Ciphertext], devices.Report]:
        return self.device.run(self.handle, self.inputs, threads=threads)

    def residues(self, threads: int) -> list[bytes]:
        return [c.limb(0, 0).tobytes() for c in self.run(threads)[0]]


def test_two_evaluations_at_once_report_their_own_operations() -> None:
    layers = [Layer(16), Layer(48)]
    assert layers[0].expected != layers[1].expected

    def check(layer: Layer, threads: int) -> None:
        _, report = layer.run(threads)
        assert report.operations == devices.cpu.operation_counts(layer.expected)
        assert report.bytes["keys"] == layer.expected.key_bytes

    at_once(lambda: check(layers[0], 2), lambda: check(layers[1], MANY), rounds=40)


def test_traffic_of_two_transforms_at_once_is_their_own() -> None:
    s = small.session()
    ctx, slots = s.context, s.context.params.slots
    x = s.encrypt(np.zeros(slots), level=2)

    def transform(diagonals: int) -> tuple[_native.Hlt, _native.GaloisKeys]:
        steps = np.arange(diagonals, dtype=np.uint32)
        offsets = np.arange(diagonals + 1, dtype=np.uint64) * np.uint64(slots)
        targets = np.tile(np.arange(slots, dtype=np.uint32), diagonals)
        values = np.full(diagonals * slots, 0.1 + 0j)
        hlt = _native.Hlt(
            ctx, _native.Diagonals(slots, steps, offsets, targets, values), 2, _native.Schedule.naive, steps
        )
        hlt.encode(x.scale, x.scale, 1.0)
        keys = _native.GaloisKeys()
        for step in hlt.steps:
            keys.insert(s.client.galois_key(s.secret_key, ctx.rotation_element(step)))
        return hlt, keys

    def traffic(hlt: _native.Hlt, keys: _native.GaloisKeys) -> tuple[int, int, int]:
        with _native.counting() as did:
            hlt.run(x, keys, 2)
        return did.traffic.read, did.traffic.written, did.operations.key_switch

    one, two = transform(3), transform(9)
    alone = [traffic(*one), traffic(*two)]
    assert alone[0] != alone[1]
    seen: list[list[Any]] = [[], []]
    at_once(lambda: seen[0].append(traffic(*one)), lambda: seen[1].append(traffic(*two)), rounds=40)
    assert [set(s) for s in seen] == [{alone[0]}, {alone[1]}]


def test_counts_nest_and_end_where_they_began() -> None:
    s = small.session()
    c = s.encrypt([1.0], level=2)
    with _native.counting() as outer:
        s.evaluator.mul_plain(c, s.context.encode(np.ones(1, np.complex128), 2.0**40, 2))
        with _native.counting() as inner:
            s.evaluator.mul_plain(c, s.context.encode(np.ones(1, np.complex128), 2.0**40, 2))
        assert (inner.operations.plain_mul, outer.operations.plain_mul) == (1, 2)
    after = outer.operations
    s.evaluator.mul_plain(c, s.context.encode(np.ones(1, np.complex128), 2.0**40, 2))
    assert outer.operations == after
    assert inner.operations.plain_mul == 1

    first, second = _native.counting(), _native.counting()
    first.__enter__()
    with pytest.raises(RuntimeError, match="running already"):
        first.__enter__()
    second.__enter__()
    with pytest.raises(RuntimeError, match="the last one first"):
        first.__exit__(None, None, None)
    with ThreadPoolExecutor(1) as pool, pytest.raises(RuntimeError, match="on the thread that began"):
        pool.submit(second.__exit__, None, None, None).result()
    second.__exit__(None, None, None)
    first.__exit__(None, None, None)


def test_keys_and_contexts_are_shared_by_threads() -> None:
    """Encryption, evaluation with shared keys, decryption, in every thread at once."""
    layer, s = Layer(16), small.session()
    relin = s.client.relin_key(s.secret_key)

    def evaluate() -> None:
        assert layer.residues(2) == layer.bits

    def multiply() -> None:
        ev = _native.Evaluator(s.context, 2)
        c = s.encrypt(np.full(4, 0.5), level=2)
        product = ev.rescale(ev.relinearize(ev.mul(c, c), relin))
        assert np.abs(s.decrypt(product)[:4].real - 0.25).max() < 1e-4

    at_once(evaluate, evaluate, multiply, multiply, rounds=8)


def test_contexts_made_at_once_are_one() -> None:
    """Tables of primes are shared by all contexts of a process and made by whoever comes first."""
    primes = _native.kernels.primes_below(49, 4, 1 << 18)

    def make() -> None:
        params = _native.Parameters("fresh", 10, primes[1:], primes[:1], 1, 40.0, small.WHY)
        s = ckks.Session(params, threads=2)
        assert abs(s.decrypt(s.encrypt([0.25]))[0] - 0.25) < 1e-4

    at_once(*[make] * 6)


def test_gates_from_several_threads() -> None:
    secret, key = small.gate_key(), small.evaluation_key()
    n = key.params.n
    kind = fhew.kind_names().index("NAND")

    def run() -> None:
        bits = np.array([0, 0, 0, 1, 1, 0, 1, 1], np.uint8)
        wires = np.concatenate([secret.encrypt(bits), np.zeros((4, n + 1), np.uint32)])
        inputs = np.stack([np.arange(0, 8, 2), np.arange(1, 8, 2), np.full(4, -1)], axis=1).astype(np.int32)
        fhew.evaluate(
            key, np.full(4, kind, np.uint8), inputs, wires, np.arange(8, 12, dtype=np.int32), 2, lambda _: None
        )
        assert secret.decrypt(wires[8:]).tolist() == [1, 1, 1, 0]

    at_once(run, run, run, rounds=2)


class Asking:
    """A client of a set intersection, with a session at the server."""

    def __init__(self) -> None:
        plan = small.psi_plan()
        self.key = psi.ClientKey(plan)
        self.session = psi.SessionKeys(plan, self.key.evaluation_keys(), MANY)

    def ask(self, first: int) -> None:
        """One query with as many threads as a server takes, and a progress callback, as a service has."""
        cells = small.psi_cells(first)
        reply = psi.evaluate(
            self.session, self.key.query(cells, 2), small.psi_table(), MANY, lambda done: 0 <= done <= 1
        )
        words = small.psi_words()
        assert np.array_equal(self.key.decode(reply), words[np.arange(len(cells)), cells])


def test_queries_from_several_threads_while_sessions_open() -> None:
    """Ten clients, a hundred sessions opened in the middle of queries: on a frozen service this never ends."""
    plan = small.psi_plan()
    small.psi_table(), small.psi_words()
    clients = [Asking() for _ in range(8)]
    keys = psi.ClientKey(plan).evaluation_keys()
    over = threading.Event()

    def ask(client: Asking) -> None:
        at = 0
        while not over.is_set():
            client.ask(at)
            at += 1

    def open_sessions(count: int) -> None:
        for _ in range(count):
            psi.SessionKeys(plan, keys, MANY)

    with ThreadPoolExecutor(10) as pool:
        asking = [pool.submit(ask, client) for client in clients]
        try:
            opening = [pool.submit(open_sessions, 50) for _ in range(2)]
            for done in opening:
                done.result()
        finally:
            over.set()
        for done in asking:
            done.result()


def test_one_queries_progress_waits_for_another_clients_query() -> None:
    """A callback that waits holds up nobody but its own query."""
    one, two = Asking(), Asking()
    finished, begun = threading.Event(), threading.Event()

    def wait(_: float) -> bool:
        begun.set()
        finished.wait()
        return True

    def other() -> None:
        begun.wait()
        two.ask(3)
        oprf.ServerKey.random().prf_batch([b"x"] * 300, MANY)
        psi.SessionKeys(small.psi_plan(), two.key.evaluation_keys(), MANY)
        finished.set()

    request = one.key.query(small.psi_cells())
    at_once(lambda: psi.evaluate(one.session, request, small.psi_table(), MANY, wait), other)


def test_a_callbacks_exception_and_its_false_end_the_call() -> None:
    client = Asking()
    request = client.key.query(small.psi_cells())
    table = small.psi_table()

    def fail(_: float) -> bool:
        raise LookupError("from the callback")

    for _ in range(10):
        with pytest.raises(LookupError, match="from the callback"):
            psi.evaluate(client.session, request, table, MANY, fail)
        with pytest.raises(errors.Error, match="cancelled"):
            psi.evaluate(client.session, request, table, MANY, lambda _: False)
    client.ask(1)


def test_oprf_from_several_threads() -> None:
    server = oprf.ServerKey.random()
    inputs = [bytes([i]) * i for i in range(40)]
    expected = server.prf_batch(inputs).tobytes()

    def run() -> None:
        seen: list[float] = []
        blinds, elements = oprf.blind_batch(inputs, MANY)
        answers = server.evaluate_batch(elements, MANY, seen.append)
        assert oprf.finalize_batch(inputs, blinds, answers, MANY).tobytes() == expected
        assert seen[-1] == 1.0
        assert seen == sorted(seen)

    at_once(run, run, run, rounds=3)


def in_fork(work: Callable[[], object], leave: Callable[[int], object]) -> int:
    """Exit code of a forked child that does `work`; one that hangs is ended by its alarm."""
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            work()
        except BaseException:
            os._exit(1)
        leave(0)
        os._exit(2)
    return os.waitpid(child, 0)[1]


def test_forked_children_compute_on_threads_of_their_own() -> None:
    layer, client = Layer(16), Asking()
    client.ask(0)  # the pool has workers, which the children will not have

    def work() -> None:
        assert layer.residues(2) == layer.bits
        client.ask(2)

    for _ in range(3):
        assert in_fork(work, os._exit) == 0
    work()


def test_forked_children_and_processes_with_workers_exit() -> None:
    """By `sys.exit`, with all its finalisers, after work on the pool and in a child without any."""
    script = """
        import os, sys
        sys.path.append(sys.argv[1])
        from tests.concurrency.test_threads import Asking
        client = Asking()
        client.ask(0)
        children = []
        for work in (True, False):
            child = os.fork()
            if child == 0:
                if work:
                    client.ask(1)
                sys.exit(7)
            children.append(child)
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        sys.exit(9 if codes == [7, 7] else 1)
    """
    python = [sys.executable, *(["-S"] if sys.flags.no_site else [])]
    folder = str(Path(__file__).parents[2])
    assert subprocess.run([*python, "-c", textwrap.dedent(script), folder], timeout=300).returncode == 9
