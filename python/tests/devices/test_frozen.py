# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Frozen objects: the same words where they lie, kept as long as anything uses them; refusals of what is none."""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
import threading
import weakref
from dataclasses import replace
from multiprocessing import shared_memory
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ringforge import _native
from ringforge._native import fhew
from ringforge.devices import KeySet
from ringforge.devices.ciphertexts import World, facts, words
from ringforge.devices.frozen import Frozen, freeze, stored, thaw
from ringforge.errors import FormatError, ParameterError
from tests.foreign_world import Bfv, Bgv
from tests.omr.test_affine import World as Affine
from tests.scale.local import LocalPool, Worker

SEED = _native.TestSeed(bytes(32))


class Store:
    """Frozen objects as a store of shared memory has them: one pickle, and read-only buffers at multiples of 64."""

    def __init__(self, frozen: Frozen, shift: int = 0) -> None:
        buffers: list[pickle.PickleBuffer] = []
        self.data = pickle.dumps(frozen, protocol=5, buffer_callback=buffers.append)
        raw = [b.raw() for b in buffers]
        self.places, end = [], 0
        for r in raw:
            self.places.append((end, r.nbytes))
            end += (r.nbytes + 63) // 64 * 64
        room = np.zeros(end + 128, np.uint8)
        first = -room.ctypes.data % 64 + shift
        self.room = room[first : first + end]
        for (at, size), r in zip(self.places, raw, strict=True):
            self.room[at : at + size] = np.frombuffer(r, np.uint8)
        self.room.setflags(write=False)

    def holds(self, array: Any) -> bool:
        """Whether an array lies in the store."""
        return bool(0 <= address(array) - address(self.room) < self.room.nbytes)

    def load(self) -> Frozen:
        frozen = pickle.loads(self.data, buffers=[self.room[at : at + size] for at, size in self.places])
        assert isinstance(frozen, Frozen)
        return frozen


@pytest.fixture(scope="module")
def world() -> World:
    return World(4)


@pytest.fixture(scope="module")
def keys(world: World) -> KeySet:
    return world.keys([*world.rotations([1, 2], 3), (world.context.rotation_element(4), 1)])


def address(array: np.ndarray[Any, Any]) -> int:
    return int(array.__array_interface__["data"][0])


def key_words(keys: Any, element: int | None = None) -> list[list[int]]:
    at = (element,) if element is not None else ()
    out = []
    for part in (0, 1):
        for digit in range(8):
            for limb in range(8):
                try:
                    out.append(keys.limb(*at, part, digit, limb).tolist())
                except IndexError:
                    break
    return out


def all_words(keys: KeySet) -> list[Any]:
    relin = [] if keys.relin is None else [keys.relin.level, keys.relin.key_id, key_words(keys.relin)]
    g = keys.galois
    return [*relin, *((e, g.level(e), g.key_id(e), key_words(g, e)) for e in g.elements)]


def same(a: Any, b: Any) -> bool:
    """Whether ciphertexts have the same words."""
    return all(np.array_equal(x, y) for x, y in zip(words(a), words(b), strict=True))


def arrays(frozen: Frozen) -> list[Any]:
    return [*frozen.arrays, *(a for p in frozen.parts for a in arrays(p))]


def test_keys_have_the_same_words(keys: KeySet) -> None:
    frozen = freeze(keys)
    assert frozen.bytes == keys.bytes
    thawed = thaw(Store(frozen).load())
    assert isinstance(thawed, KeySet)
    assert thawed.own == ()
    assert all_words(thawed) == all_words(keys)
    assert thawed.bytes == keys.bytes
    alone = thaw(Store(freeze(keys.relin)).load())
    assert key_words(alone) == key_words(keys.relin)
    without = thaw(freeze(KeySet(keys.galois)))
    assert without.relin is None
    assert without.galois.elements == keys.galois.elements


def test_nothing_is_copied(keys: KeySet) -> None:
    frozen = freeze(keys)
    again = freeze(keys)
    assert [address(a) for a in arrays(frozen)] == [address(a) for a in arrays(again)]
    assert not any(a.flags.writeable for a in arrays(frozen))
    store = Store(frozen)
    loaded = store.load()
    thawed = freeze(thaw(loaded))
    assert [address(a) for a in arrays(thawed)] == [address(a) for a in arrays(loaded)]
    assert all(store.holds(a) for a in arrays(thawed))


def test_words_elsewhere_than_at_64_bytes_are_copied(keys: KeySet) -> None:
    store = Store(freeze(keys), shift=8)
    thawed = thaw(store.load())
    assert all_words(thawed) == all_words(keys)
    assert not any(store.holds(a) for a in arrays(freeze(thawed)))


def test_results_are_those_of_the_keys_frozen(world: World, keys: KeySet) -> None:
    ev = _native.Evaluator(world.context, 1)
    c = world.encrypt(np.arange(8) / 8)
    thawed = thaw(Store(freeze(keys)).load(), world.context)
    borrowed = thaw(Store(freeze(c)).load(), world.context, borrow=True)
    for x in (c, borrowed):
        assert same(ev.rotate(x, 1, thawed.galois), ev.rotate(c, 1, keys.galois))
        assert same(ev.relinearize(ev.mul(x, x), thawed.relin), ev.relinearize(ev.mul(c, c), keys.relin))
        for op in (ev.negate, lambda y: ev.drop_to_level(y, 1), lambda y: ev.add(y, y), lambda y: y.copy()):
            assert same(op(x), op(c))


def test_ciphertexts(world: World) -> None:
    ev = _native.Evaluator(world.context, 1)
    fresh = world.encrypt(np.arange(8) / 8)
    for c in (fresh, ev.drop_to_level(fresh, 1), ev.mul(fresh, fresh)):
        for borrow in (False, True):
            store = Store(freeze(c))
            x = thaw(store.load(), world.context, borrow=borrow, check=True, threads=2)
            assert (x.size, facts(x), x.spread, x.float_error) == (c.size, facts(c), c.spread, c.float_error)
            assert same(x, c)
            inside = [store.holds(a) for a in freeze(x).arrays]
            assert inside == [borrow] * c.size
            # A seed says what the second part is; records then need not have it.
            assert _native.io.to_bytes(world.context, x) == _native.io.to_bytes(world.context, c)


@pytest.mark.parametrize("scheme", [Bfv, Bgv])
def test_integers(scheme: Any, tmp_path: Path) -> None:
    """Of schemes with a plaintext modulus; BGV in a ring whose index is no power of two."""
    (tmp_path / "other").mkdir()
    w, other = scheme(tmp_path), scheme(tmp_path / "other", bits=44)
    for c in (w.ciphertext, w.evaluator.mod_switch_to(w.ciphertext, 2), w.three):
        for borrow in (False, True):
            x = thaw(Store(freeze(c)).load(), w.context, borrow=borrow, check=True)
            assert (x.size, x.limbs, x.noise, x.key_id) == (c.size, c.limbs, c.noise, c.key_id)
            for part in range(c.size):
                assert all(np.array_equal(x.limb(part, i), c.limb(part, i)) for i in range(c.limbs))
            assert _native.io.to_bytes(w.context, x) == _native.io.to_bytes(w.context, c)
    keys = KeySet(w.keys, w.relin)
    thawed = thaw(Store(freeze(keys)).load(), w.context, check=True)
    assert all_words(thawed) == all_words(keys)
    element = keys.galois.elements[0]
    turned, wanted = (w.evaluator.apply_galois(w.ciphertext, element, k) for k in (thawed.galois, keys.galois))
    assert np.array_equal(turned.limb(1, 0), wanted.limb(1, 0))
    for value in (w.ciphertext, keys):
        with pytest.raises(FormatError):
            thaw(freeze(value), other.context)


def test_rotations_of_a_key() -> None:
    w = Affine("ringforge")
    store = Store(freeze(w.babies))
    babies = thaw(store.load(), check=True, threads=2)
    assert babies.noise == w.babies.noise
    assert freeze(babies).bytes == freeze(w.babies).bytes == w.native.baby_bytes
    assert all(store.holds(a) for a in freeze(babies).arrays)
    want = w.native.run(w.babies, 0, w.diagonals, w.galois)
    keys = thaw(Store(freeze(w.galois)).load())
    for a, b in zip(w.native.run(babies, 0, w.diagonals, keys, 2), want, strict=True):
        assert all(np.array_equal(a.limb(i, j), b.limb(i, j)) for i in (0, 1) for j in range(3))


@pytest.mark.parametrize("method", [fhew.Method.AP, fhew.Method.GINX, fhew.Method.AUTOMORPHISM])
def test_gates(method: fhew.Method) -> None:
    params = fhew.parameters("gates-toy", "tests")
    secret = fhew.SecretKey(params, SEED)
    key = fhew.EvaluationKey.make(secret, method)
    store = Store(freeze(key))
    thawed = thaw(store.load(), check=True, threads=2)
    assert (thawed.method, thawed.key_id, thawed.bytes) == (key.method, key.key_id, key.bytes)
    assert thawed.params.hash == params.hash
    assert freeze(thawed).bytes == key.bootstrap_bytes + key.switch_bytes
    assert all(store.holds(a) for a in freeze(thawed).arrays)
    bits = secret.encrypt(np.array([0, 1, 1], np.uint8))
    results = []
    for k in (key, thawed, thaw(Store(freeze(key), shift=8).load())):
        wires = np.vstack([bits, np.zeros((2, params.n + 1), np.uint32)])
        kinds, inputs = np.array([0, 2], np.uint8), np.array([[0, 1, -1], [1, 2, -1]], np.int32)
        fhew.evaluate(k, kinds, inputs, wires, np.array([3, 4], np.int32), 2)
        results.append(wires)
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[2])


def test_gates_refuse() -> None:
    secret = fhew.SecretKey(fhew.parameters("gates-toy", "tests"), SEED)
    f = freeze(fhew.EvaluationKey.make(secret, fhew.Method.GINX))
    facts, bits, switch = f.facts
    rows, table = f.arrays
    large = rows.copy()
    large[:8] = 255
    for frozen in (
        replace(f, facts=(facts, bits)),
        replace(f, facts=(facts, 8 * bits, switch)),
        replace(f, facts=(facts, bits, switch + 1)),
        replace(f, facts=(("gates-none", *facts[1:]), bits, switch)),
        replace(f, facts=(("gates-128", *facts[1:]), bits, switch)),
        replace(f, facts=((facts[0], "", *facts[2:]), bits, switch)),
        replace(f, facts=((*facts[:2], bytes(32), *facts[3:]), bits, switch)),
        replace(f, facts=((*facts[:3], 3, *facts[4:]), bits, switch)),
        replace(f, facts=((*facts[:3], 0, *facts[4:]), bits, switch)),
        replace(f, facts=((*facts[:-1], b""), bits, switch)),
        replace(f, arrays=(rows,)),
        replace(f, arrays=(rows[:-8], table)),
        replace(f, arrays=(rows, table[:-8])),
        replace(f, arrays=(rows, np.append(table, table))),
        replace(f, arrays=(rows.view(np.uint32), table)),
        replace(f, arrays=(large, table)),
    ):
        with pytest.raises(FormatError):
            thaw(frozen, check=True)


def test_parts_of_parts_of_parts() -> None:
    """As deep as a worker may send them."""
    deep = Frozen("key set", (False,))
    for _ in range(5000):
        deep = Frozen("key set", (False,), parts=(Frozen("Galois keys"), deep))
    with pytest.raises(FormatError, match="do not fit"):
        thaw(deep)


def test_arrays_live_as_long_as_an_object_uses_them(keys: KeySet) -> None:
    gone = []
    store = Store(freeze(keys.galois))
    weakref.finalize(store.room.base, gone.append, True)
    thawed = thaw(store.load())
    element = thawed.elements[0]
    want = key_words(keys.galois, element)
    del store
    gc.collect()
    assert not gone
    assert key_words(thawed, element) == want
    views = freeze(thawed)
    copy = thaw(views)
    for e in thawed.elements:
        thawed.erase(e)
    del thawed
    gc.collect()
    assert not gone
    assert key_words(copy, element) == want
    del copy
    gc.collect()
    assert not gone
    assert arrays(views)[0][0] >= 0
    del views
    gc.collect()
    assert gone


def test_frozen_views_outlive_the_object(world: World) -> None:
    c = world.encrypt([0.5])
    want, frozen = words(c), freeze(c)
    del c
    gc.collect()
    assert all(np.array_equal(a, b) for a, b in zip(words(thaw(frozen)), want, strict=True))


def test_keys_are_dropped_by_other_threads(world: World, keys: KeySet) -> None:
    """Their arrays go with them, whichever thread uses a key last, while others thaw."""
    store, errors = Store(freeze(keys.galois)), []
    c = world.encrypt([1.0])
    want = words(_native.Evaluator(world.context, 1).rotate(c, 1, keys.galois))

    def use() -> None:
        try:
            ev = _native.Evaluator(world.context, 2)
            for _ in range(20):
                thawed = thaw(store.load(), check=True, threads=2)
                dropper = threading.Thread(target=lambda k=thawed: [k.erase(e) for e in k.elements if e > 5])
                dropper.start()
                got = words(ev.rotate(c, 1, thawed))
                dropper.join()
                assert all(np.array_equal(a, b) for a, b in zip(got, want, strict=True))
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=use) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert errors == []


def test_a_fork_uses_them_too(world: World, keys: KeySet) -> None:
    thawed = thaw(Store(freeze(keys.galois)).load())
    c = world.encrypt([1.0])
    want = words(_native.Evaluator(world.context, 1).rotate(c, 1, keys.galois))
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        got = words(_native.Evaluator(world.context, 2).rotate(c, 1, thawed))
        os.write(write, b"1" if all(np.array_equal(a, b) for a, b in zip(got, want, strict=True)) else b"0")
        del thawed
        os._exit(0)
    os.close(write)
    assert os.read(read, 1) == b"1"
    os.close(read)
    assert os.waitpid(child, 0)[1] == 0


# Run in a process of its own: thaws what lies in shared memory, and prints by how much its private memory grew.
CHILD = """
import pickle, re, sys
from multiprocessing import resource_tracker, shared_memory
import numpy as np
from ringforge.devices.frozen import thaw

def private():
    text = open("/proc/self/smaps_rollup").read()
    return 1024 * sum(int(n) for n in re.findall(r"Private_(?:Clean|Dirty): +(\\d+) kB", text))

name, sizes = sys.argv[1], [int(s) for s in sys.argv[2].split(",")]
data = sys.stdin.buffer.read()
shared = shared_memory.SharedMemory(name)
resource_tracker.unregister(shared._name, "shared_memory")
room = np.frombuffer(shared.buf, np.uint8)
room.setflags(write=False)
parts, at = [], 0
for size in sizes:
    parts.append(room[at : at + size])
    at += (size + 63) // 64 * 64
frozen = pickle.loads(data, buffers=parts)
thaw(frozen.parts[0].parts[0])
before = private()
keys = thaw(frozen, check=True)
print(keys.bytes, private() - before, flush=True)
import os
os._exit(0)
"""


def test_memory_of_a_process_does_not_grow() -> None:
    """Keys of 200 MB in shared memory cost another process tables of primes and lists, and no words."""
    primes = _native.kernels.primes_below(50, 14, 1 << 18)
    context = _native.Context(_native.Parameters("", 14, primes[:12], primes[12:], 2, 40.0, "a test of memory"))
    client = _native.Client(context, SEED)
    secret = client.secret_key()
    galois = _native.GaloisKeys()
    for step in range(1, 10):
        galois.insert(client.galois_key(secret, context.rotation_element(step), threads=2))
    frozen = freeze(KeySet(galois))
    assert frozen.bytes == galois.bytes > 180 << 20
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(frozen, protocol=5, buffer_callback=buffers.append)
    raw = [b.raw() for b in buffers]
    assert len(data) < 100_000
    shared = shared_memory.SharedMemory(create=True, size=sum((r.nbytes + 63) // 64 * 64 for r in raw))
    try:
        at = 0
        for r in raw:
            shared.buf[at : at + r.nbytes] = r
            at += (r.nbytes + 63) // 64 * 64
        sizes = ",".join(str(r.nbytes) for r in raw)
        done = subprocess.run(
            [sys.executable, "-c", CHILD, shared.name, sizes], input=data, capture_output=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
        size, grown = map(int, done.stdout.split())
        assert size == frozen.bytes
        assert grown < 4 << 20
    finally:
        shared.close()
        shared.unlink()


def spoilt(frozen: Frozen, **changes: Any) -> Frozen:
    return replace(frozen, **changes)


def written(array: Any, place: int, value: int) -> Any:
    copy = array.copy()
    copy[place] = value
    return copy


def refusals(c: Any, keys: KeySet) -> list[tuple[str, Any]]:
    f, k = freeze(c), freeze(keys.galois)
    one = k.parts[0]
    said, own = f.facts
    element, key_said = one.facts
    basis, limbs, per_digit, log_base, key_id, seed = key_said
    _, index, primes = basis
    short = tuple(a[:-1] for a in f.arrays)

    def key(
        *,
        element: Any = element,
        basis: Any = basis,
        limbs: Any = limbs,
        per_digit: Any = per_digit,
        seed: Any = seed,
        words: Any = one.arrays,
    ) -> Frozen:
        return Frozen("Galois key", (element, (basis, limbs, per_digit, log_base, key_id, seed)), words)

    return [
        ("no frozen", None),
        ("no frozen", {"kind": f.kind}),
        ("kind", spoilt(f, kind="secret key")),
        ("kind", spoilt(f, kind=["CKKS ciphertext"])),
        ("kind", spoilt(f, kind="BFV ciphertext")),
        ("facts", spoilt(f, facts=())),
        ("facts", spoilt(f, facts=None)),
        ("facts", spoilt(f, facts=(said, own, own))),
        ("scale", spoilt(f, facts=(said, (float("nan"), *own[1:])))),
        ("scale", spoilt(f, facts=(said, (0.0, *own[1:])))),
        ("variance", spoilt(f, facts=(said, (own[0], -1.0, *own[2:])))),
        ("own", spoilt(f, facts=(said, own[:-1]))),
        ("own", spoilt(f, facts=(said, "scale"))),
        ("key id", spoilt(f, facts=((said[0], -1, said[2]), own))),
        ("key id", spoilt(f, facts=((said[0], 1 << 64, said[2]), own))),
        ("seed", spoilt(f, facts=((said[0], said[1], b"short"), own))),
        ("seed", spoilt(f, facts=((said[0], said[1], "seed"), own))),
        ("prime", spoilt(f, facts=(((0, index, [*primes[:3], 12289]), said[1], said[2]), own))),
        ("prime twice", spoilt(f, facts=(((0, index, [primes[0]] * 4), said[1], said[2]), own))),
        ("no primes", spoilt(f, facts=(((0, index, []), said[1], said[2]), own))),
        ("no part", spoilt(f, arrays=())),
        ("one part", spoilt(f, arrays=f.arrays[:1])),
        ("four parts", spoilt(f, arrays=f.arrays * 2)),
        ("short", spoilt(f, arrays=short)),
        ("list", spoilt(f, arrays=tuple(a.tolist() for a in f.arrays))),
        ("bytes", spoilt(f, arrays=tuple(a.tobytes() for a in f.arrays))),
        ("floats", spoilt(f, arrays=tuple(a.astype(float) for a in f.arrays))),
        ("32 bits", spoilt(f, arrays=tuple(a.astype(np.uint32) for a in f.arrays))),
        ("order", spoilt(f, arrays=tuple(a.astype(">u8") for a in f.arrays))),
        ("objects", spoilt(f, arrays=tuple(a.astype(object) for a in f.arrays))),
        ("steps", spoilt(f, arrays=tuple(np.repeat(a, 2)[::2] for a in f.arrays))),
        ("rows", spoilt(f, arrays=tuple(a.reshape(4, -1) for a in f.arrays))),
        ("none", spoilt(f, arrays=None)),
        ("residue", spoilt(f, arrays=(f.arrays[0], written(f.arrays[1], 5, primes[0])))),
        ("residue", spoilt(f, arrays=(written(f.arrays[0], -1, (1 << 64) - 1), f.arrays[1]))),
        ("element 1", key(element=1)),
        ("even element", key(element=2)),
        ("large element", key(element=index + 1)),
        ("ring", key(basis=(0, index + 2, primes))),
        ("ring", key(basis=(0, 0, primes))),
        ("ring", key(basis=(0, 1 << 40, primes))),
        ("smaller ring", key(basis=(0, index // 2, primes))),
        ("padded ring", key(basis=(1, 15, primes))),
        ("tensor ring", key(basis=(2, 15, primes))),
        ("kind of ring", key(basis=(3, index, primes))),
        ("fewer primes", key(basis=(0, index, primes[:-1]))),
        ("no limbs", key(limbs=0)),
        ("more limbs", key(limbs=limbs + 5)),
        ("fewer limbs", key(limbs=limbs - 1)),
        ("digits", key(per_digit=0)),
        ("digits", key(per_digit=2)),
        ("half", key(words=one.arrays[:-1])),
        ("digit", key(words=one.arrays[:-2])),
        ("no words", key(words=())),
        ("seed", key(seed=bytes(31))),
        ("twice", spoilt(k, parts=(one, one))),
        ("none", spoilt(k, parts=(None,))),
        ("other", spoilt(k, parts=(f,))),
        ("key set", Frozen("key set", (True,), parts=(k,))),
        ("key set", Frozen("key set", (False,), parts=())),
        ("key set", Frozen("key set", (False,), parts=(f,))),
        ("key set", Frozen("key set", (), parts=(k,))),
        ("rotations", Frozen("rotations of a key", ((said,), ()), f.arrays)),
        ("rotations", Frozen("rotations of a key", ((), ()), ())),
        ("rotations", Frozen("rotations of a key", ((said, said), ((0.0, 0, 0),) * 2), f.arrays)),
    ]  # fmt: skip


def test_keys_that_change_are_put_again(world: World) -> None:
    pool = LocalPool()
    keys = KeySet(_native.GaloisKeys(), world._client.relin_key(world._secret))
    first = stored(pool, keys)
    assert stored(pool, keys) is first
    element = world.context.rotation_element(3)
    keys.galois.insert(world._client.galois_key(world._secret, element))
    assert stored(pool, keys) is not first
    galois = stored(pool, keys.galois)
    assert stored(pool, keys.galois) is galois
    assert element in thaw(Worker(1, lambda _: True).get(galois))


def test_refusals(world: World, keys: KeySet) -> None:
    for what, frozen in refusals(world.encrypt([1.0]), keys):
        with pytest.raises(FormatError) as refused:
            thaw(frozen, world.context, check=True)
        assert len(str(refused.value)) < 600, what


def test_what_belongs_to_other_parameters(world: World, keys: KeySet) -> None:
    other = World(3).context
    for value in (world.encrypt([1.0]), keys, keys.galois, keys.relin):
        with pytest.raises(FormatError, match=r"other parameters|primes|limbs"):
            thaw(freeze(value), other)


def test_words_are_compared_only_when_asked(world: World) -> None:
    frozen = freeze(world.encrypt([1.0]))
    broken = replace(frozen, arrays=(written(frozen.arrays[0], 3, (1 << 64) - 1), frozen.arrays[1]))
    assert thaw(broken).limb(0, 0)[3] == (1 << 64) - 1
    with pytest.raises(FormatError, match="no residues"):
        thaw(broken, check=True)


def test_secrets_are_not_frozen(world: World) -> None:
    client = _native.Client(world.context, SEED)
    for value in (client.secret_key(), world.params, b"", None, _native.bfv, object()):
        with pytest.raises(ParameterError, match="has no form that processes share"):
            freeze(value)
    with pytest.raises(ParameterError, match="has no form that processes share"):
        freeze(KeySet(own=(client.secret_key(),)))
