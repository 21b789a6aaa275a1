# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Circuits on encrypted bits compute what they compute in the clear; bits behave as arrays, and hide their values."""

from __future__ import annotations

import hashlib
import itertools
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ringforge import _native, devices, gates
from ringforge.errors import FormatError, MismatchError, MissingKeyError, ParameterError, ShapeError
from ringforge.errors import ValueError as RingforgeValueError
from ringforge.gates import Bits, Circuit, ClearKey, Draft, Evaluator, GateKind, noise, sets
from ringforge.gates.netlist import ONE, ZERO
from tests.gates.test_netlist import alu, exhaustive, netlists

native = pytest.mark.skipif(not hasattr(_native, "fhew"), reason="the native engine is not built")


#: Gates are tried on bits that are not encrypted, which takes milliseconds; what runs them is held to the same rules.
@pytest.fixture
def secret() -> ClearKey:
    return ClearKey(gates.parameters("gates-128"))


@pytest.fixture
def evaluator(secret: ClearKey) -> Evaluator:
    return Evaluator(secret, device="clear")


def other_set() -> ClearKey:
    return ClearKey(gates.parameters("gates-128-f128"))


def bits_of(secret: Any, *shape: int) -> tuple[Any, Bits]:
    clear = np.random.default_rng(math.prod(shape)).integers(0, 2, shape, dtype=np.uint8)
    return clear, gates.encrypt(secret, clear)


# ---- bits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (1,), (5,), (0,), (2, 3, 4)])
def test_bits_come_back(secret: Any, shape: tuple[int, ...]) -> None:
    clear, bits = bits_of(secret, *shape)
    assert bits.shape == shape
    assert (bits.ndim, bits.size) == (len(shape), math.prod(shape))
    found = gates.decrypt(secret, bits)
    assert found.dtype == np.uint8
    assert np.array_equal(found, clear)


@pytest.mark.parametrize(
    "index",
    [0, -1, slice(1, 3), (0, 1), (slice(None), 2), (..., 0), (0, ..., 1), (None, 1), [0, 2], (slice(None), [1, 0, 3])],
)
def test_indices_are_those_of_numpy(secret: Any, index: Any) -> None:
    clear, bits = bits_of(secret, 3, 4, 2)
    assert np.array_equal(gates.decrypt(secret, bits[index]), clear[index])


def test_indices_do_not_reach_into_ciphertexts(secret: Any) -> None:
    _, bits = bits_of(secret, 3)
    for index in ((0, 1), 3, (..., 0, 1)):
        with pytest.raises(IndexError):
            bits[index]


def test_iteration_length_and_shapes(secret: Any) -> None:
    clear, bits = bits_of(secret, 3, 4)
    assert len(bits) == 3
    assert [gates.decrypt(secret, row).tolist() for row in bits] == clear.tolist()
    assert np.array_equal(gates.decrypt(secret, bits.reshape(2, -1)), clear.reshape(2, -1))
    with pytest.raises(ShapeError, match="12 bits do not fit"):
        bits.reshape(5, -1)
    with pytest.raises(TypeError):
        len(bits[0, 0])


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_joining(secret: Any, axis: int) -> None:
    clear, bits = bits_of(secret, 3, 4)
    for ours, numpys in ((gates.concatenate, np.concatenate), (gates.stack, np.stack)):
        joined = ours([bits, bits[:, ::-1]], axis)
        expected = numpys([clear, clear[:, ::-1]], axis)
        assert np.array_equal(gates.decrypt(secret, joined), expected)
    with pytest.raises(ShapeError, match="cannot be joined"):
        gates.stack([bits, bits[0]])
    with pytest.raises(ShapeError, match="at least one"):
        gates.concatenate([])


def test_bits_have_no_value_in_the_clear(secret: Any) -> None:
    clear, bits = bits_of(secret, 4)
    assert repr(bits) == str(bits) == "Bits(shape=(4,), gates-128, encrypted)"
    for use in (bool, int, float, hash):
        with pytest.raises(TypeError):
            use(bits[0])
    with pytest.raises(TypeError, match="xnor compares"):
        bits == clear  # noqa: B015


def test_what_cannot_be_encrypted(secret: Any) -> None:
    for wrong in ([0, 2], [0.0, 1.0], [-1], "01"):
        with pytest.raises(RingforgeValueError, match="0 and 1"):
            gates.encrypt(secret, wrong)
    assert gates.decrypt(secret, gates.encrypt(secret, [True, False])).tolist() == [1, 0]


@given(st.lists(st.integers(-(2**69), 2**70 - 1), min_size=1, max_size=5))
def test_numbers_are_bits_the_least_first(numbers: list[int]) -> None:
    rows = gates.to_bits(numbers, 70)
    assert rows.shape == (len(numbers), 70)
    assert gates.from_bits(rows) == [x % 2**70 for x in numbers]
    assert gates.from_bits(rows[0]) == numbers[0] % 2**70
    assert gates.from_bits(rows, signed=True) == [(x + 2**69) % 2**70 - 2**69 for x in numbers]


def test_numbers_that_are_none() -> None:
    assert gates.to_bits(6, 4).tolist() == [0, 1, 1, 0]
    assert gates.to_bits(np.arange(4).reshape(2, 2), 2).shape == (2, 2, 2)
    for number in (16, -9, 1.0, True, "1"):
        with pytest.raises(RingforgeValueError):
            gates.to_bits(number, 4)  # type: ignore[arg-type]
    with pytest.raises(ParameterError):
        gates.to_bits(1, 0)
    with pytest.raises(ShapeError):
        gates.from_bits(1)


# ---- gates ---------------------------------------------------------------------------------------


def test_every_gate(secret: Any, evaluator: Evaluator) -> None:
    rows = np.array(list(itertools.product((0, 1), repeat=3)), dtype=np.uint8)
    for kind in GateKind:
        if not kind.arity:
            continue
        inputs = [gates.encrypt(secret, rows[:, i]) for i in range(kind.arity)]
        found = gates.decrypt(secret, evaluator.gate(kind, *inputs))
        assert found.tolist() == [kind.of(row[: kind.arity].tolist()) for row in rows]
    assert evaluator.bootstraps == 8 * sum(k.bootstraps for k in GateKind)


def test_methods_and_operators_are_gates(secret: Any, evaluator: Evaluator) -> None:
    (x, a), (y, b), (z, c) = (bits_of(secret, n, 3)[0:2] for n in (1, 4, 4))
    e = evaluator
    a, c = e.bind(a), e.bind(c)
    for found, expected in (
        (e.and_(a, b), x & y),
        (e.or_(a, b), x | y),
        (e.nand(a, b), 1 - (x & y)),
        (e.nor(a, b), 1 - (x | y)),
        (e.xor(a, b), x ^ y),
        (e.xnor(a, b), 1 - (x ^ y)),
        (e.not_(a), 1 - x),
        (e.mux(a, b, c), np.where(x, y, z)),
        (e.majority(a, b, c), (x + y + z) // 2),
        (e.xor3(a, b, c), x ^ y ^ z),
        (a & b, x & y),
        (b | a, x | y),
        (a ^ b[0], x ^ y[0]),
        (~a, 1 - x),
        ((a & b) | ~c, (x & y) | (1 - z)),
    ):
        assert np.array_equal(gates.decrypt(secret, found), expected)


def test_constants(secret: Any, evaluator: Evaluator) -> None:
    clear = np.array([[0, 1, 1], [1, 0, 0]])
    assert np.array_equal(gates.decrypt(secret, evaluator.constant(clear)), clear)
    with pytest.raises(RingforgeValueError):
        evaluator.constant([2])


def test_gates_refuse(secret: Any, evaluator: Evaluator) -> None:
    _, a = bits_of(secret, 3)
    other = gates.encrypt(other_set(), [0, 1, 1])
    with pytest.raises(ParameterError, match="bound to no evaluator"):
        a & a
    with pytest.raises(TypeError):
        a & 1  # type: ignore[operator]
    with pytest.raises(ParameterError, match="XOR has 2 inputs, not 1"):
        evaluator.gate(GateKind.XOR, a)
    with pytest.raises(ShapeError, match="do not broadcast"):
        evaluator.and_(a, a[:2])
    for use in (lambda: evaluator.and_(a, other), lambda: evaluator.bind(other), lambda: gates.decrypt(secret, other)):
        with pytest.raises(MismatchError, match="gates-128-f128"):
            use()
    with pytest.raises(MismatchError):
        gates.concatenate([a, other])
    with pytest.raises(ShapeError, match=r"\(\.\.\., 688\) is needed"):
        Bits(a.words[:, :-1], a.params)
    with pytest.raises(ParameterError):
        Evaluator(secret, 0, device="clear")
    with pytest.raises(MissingKeyError, match="evaluation key"):
        Evaluator(secret)


# ---- circuits ------------------------------------------------------------------------------------


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(netlist=netlists(), optimised=st.booleans(), data=st.data())
def test_encrypted_as_in_the_clear(
    secret: Any, evaluator: Evaluator, netlist: Any, optimised: bool, data: st.DataObject
) -> None:
    """The clear device also holds every level to the rules: inputs written before, none read while it is written."""
    circuit = Circuit(netlist, optimise=optimised)
    numbers = data.draw(st.lists(st.integers(0, (1 << netlist.input_bits) - 1), min_size=1, max_size=3))
    inputs = gates.encrypt(secret, gates.to_bits(numbers, netlist.input_bits))
    before, seen = evaluator.bootstraps, [0.0]
    found = circuit.evaluate(evaluator, {"i": inputs}, seen.append)
    assert gates.from_bits(gates.decrypt(secret, found["o"])) == netlist.clear({"i": numbers})["o"]
    report = circuit.report()
    assert evaluator.bootstraps - before == report.bootstraps * len(numbers)
    assert seen == sorted(seen)
    assert seen[-1] == pytest.approx(1.0 if report.bootstraps else 0.0)


class Watched(devices.ClearDevice):
    """A clear device that keeps the kinds of the gates of every level."""

    def __init__(self) -> None:
        self.levels: list[list[GateKind]] = []

    def run(self, handle: Any, inputs: Any, **options: Any) -> Any:
        self.levels.append([GateKind(k) for k in inputs[0].tolist()])
        return super().run(handle, inputs, **options)


def test_levels_are_evaluated_at_once(secret: Any) -> None:
    circuit, watched = Circuit("alu8"), Watched()
    inputs = {p.name: gates.encrypt(secret, gates.to_bits([1, 2, 3], p.width)) for p in circuit.inputs}
    circuit.evaluate(Evaluator(secret, device=watched), inputs)
    costly = [level for level in watched.levels if level[0].bootstraps]
    assert len(costly) == circuit.report().depth == 17
    assert sum(k.bootstraps for level in costly for k in level) == 3 * 112


def test_memory_is_used_again() -> None:
    """A long chain of gates needs a few slots."""
    draft = Draft("chain")
    draft.input("x", ["a", "b"])
    last: Any = "a"
    for _ in range(500):
        last = draft.gate(GateKind.XOR, [last, "b"])
    draft.output("y", [last])
    assert Circuit(draft.build(), optimise=False).schedule.slots <= 4


def test_batches_broadcast(secret: Any, evaluator: Evaluator) -> None:
    circuit = Circuit("alu8")
    rng = random.Random(8)
    a, b = [[rng.randrange(256) for _ in range(3)] for _ in range(2)]
    inputs = {
        "a": gates.encrypt(secret, gates.to_bits(a, 8)),
        "b": gates.encrypt(secret, gates.to_bits(b, 8)),
        "op": gates.encrypt(secret, gates.to_bits([[op] for op in range(8)], 3)),
    }
    found = circuit.evaluate(evaluator, inputs)
    assert (found["y"].shape, found["zero"].shape) == ((8, 3, 8), (8, 3, 1))
    y, zero, carry = (gates.from_bits(gates.decrypt(secret, found[n])) for n in ("y", "zero", "carry"))
    for op in range(8):
        for i in range(3):
            assert (y[op][i], zero[op][i], carry[op][i]) == alu(op, a[i], b[i])


def test_outputs_that_are_inputs_or_constants(secret: Any, evaluator: Evaluator) -> None:
    draft = Draft("d")
    draft.input("x", ["a", "b"])
    draft.output("y", ["b", ONE, "a", ZERO, "b", draft.gate(GateKind.NOT, ["a"])])
    for optimised in (False, True):
        circuit = Circuit(draft.build(), optimise=optimised)
        for x in range(4):
            found = circuit.evaluate(evaluator, {"x": gates.encrypt(secret, gates.to_bits(x, 2))})
            expected = (x >> 1) | 2 | (x & 1) << 2 | (x >> 1) << 4 | (1 - (x & 1)) << 5
            assert gates.from_bits(gates.decrypt(secret, found["y"])) == expected == circuit.clear({"x": x})["y"]


def test_circuits_refuse(secret: Any, evaluator: Evaluator) -> None:
    circuit = Circuit("alu8")
    good = {p.name: gates.encrypt(secret, gates.to_bits(1, p.width)) for p in circuit.inputs}
    other = gates.encrypt(other_set(), gates.to_bits(1, 8))
    pair = gates.encrypt(secret, gates.to_bits([1, 2], 8))
    three = gates.encrypt(secret, gates.to_bits([1, 2, 3], 8))
    for change, error, message in (
        ({"c": good["a"]}, ParameterError, r'no input "c"; its inputs are a \(8 bits\), b'),
        ({"a": good["op"]}, ShapeError, r'input "a" has shape \(3,\); \(..., 8\) is needed'),
        ({"a": pair, "b": three}, ShapeError, "do not broadcast"),
        ({"a": other}, MismatchError, "do not go together"),
    ):
        with pytest.raises(error, match=message):
            circuit.evaluate(evaluator, {**good, **change})
    del good["op"]
    with pytest.raises(ParameterError, match='input "op" is missing'):
        circuit.evaluate(evaluator, good)


def test_clear_takes_numbers_or_lists() -> None:
    circuit = Circuit("adder32")
    assert circuit.clear({"a": 5, "b": 2**32 - 1, "carry_in": 1}) == {"sum": 5, "carry_out": 1}
    assert circuit.clear({"a": [1, 2], "b": [3, 4], "carry_in": [0, 1]}) == {"sum": [4, 7], "carry_out": [0, 0]}
    with pytest.raises(ShapeError):
        circuit.clear({"a": [1, 2], "b": 3, "carry_in": 0})
    assert exhaustive(Circuit("alu8").netlist)["op"][:2] == [0, 1]


def test_failures_add_up() -> None:
    circuit = Circuit("adder32")
    s = sets.named("gates-128")
    each = [noise.log2_failure(s, g, "mux", "ginx") for g in ("MAJ3", "XOR3")]
    expected = math.log2(32 * (2 ** each[0] + 2 ** each[1]))
    assert circuit.failure_log2("gates-128", "ginx") == pytest.approx(expected)
    assert circuit.failure_log2("gates-128", "ginx", batch=8) == pytest.approx(expected + 3)
    draft = Draft("wire")
    draft.input("x", ["a"])
    draft.output("y", ["a"])
    assert Circuit(draft.build()).failure_log2("gates-128", "ginx") == -math.inf


# ---- files ---------------------------------------------------------------------------------------


def test_bits_in_files(secret: Any, tmp_path: Path) -> None:
    (x, a), (y, b) = bits_of(secret, 2, 3), bits_of(secret)
    path = tmp_path / "b.ct"
    size = gates.save_bits(path, {"a": a, "größe": b})
    assert size == path.stat().st_size < 7 * 2 * 688 + 200
    found = gates.load_bits(path, secret.params)
    assert list(found) == ["a", "größe"]
    assert np.array_equal(gates.decrypt(secret, found["a"]), x)
    assert np.array_equal(gates.decrypt(secret, found["größe"]), y)


def test_damaged_bits_are_refused(secret: Any) -> None:
    params = secret.params
    data = gates.bits_to_bytes({"a": gates.encrypt(secret, [0, 1])})
    rng = random.Random(0)
    for _ in range(200):
        at = rng.randrange(len(data))
        with pytest.raises((FormatError, MismatchError)):
            gates.bits_from_bytes(data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :], params)
        with pytest.raises(FormatError):
            gates.bits_from_bytes(data[:at], params)
    # With a checksum that is right, every field is held against the others still.
    body = 8 + 32 + 8 + 8
    for at in range(8, body + 9):  # up to the shape
        for value in (0, 1, 255):
            bad = bytearray(data[:-32])
            if bad[at] == value:
                continue
            bad[at] = value
            try:
                found = gates.bits_from_bytes(bytes(bad) + hashlib.sha256(bad).digest(), secret)
            except (FormatError, MismatchError):
                continue
            assert list(found) != ["a"], "only the name may be another"
    record = gates.bits_to_bytes({"a": gates.encrypt(secret, np.empty((0, 1, 1, 1), dtype=np.uint8))})
    huge = record[: body + 9] + b"\xff" * 12 + record[body + 21 : -32]
    with pytest.raises(FormatError, match="impossible shape"):
        gates.bits_from_bytes(huge + hashlib.sha256(huge).digest(), params)
    with pytest.raises(MismatchError, match="gates-128-f128"):
        gates.bits_from_bytes(data, gates.parameters("gates-128-f128"))
    with pytest.raises(ParameterError):
        gates.bits_to_bytes({})


def test_keys_in_files(real: tuple[Any, Evaluator], tmp_path: Path) -> None:
    secret, evaluator = real
    gates.save_secret_key(tmp_path / "s", secret)
    assert (tmp_path / "s").stat().st_mode & 0o077 == 0
    bits = gates.encrypt(gates.load_secret_key(tmp_path / "s"), [1, 0, 1])
    assert gates.decrypt(secret, bits).tolist() == [1, 0, 1]
    size = gates.save_evaluation_key(tmp_path / "e", evaluator.key)
    assert size == (tmp_path / "e").stat().st_size
    key = gates.load_evaluation_key(tmp_path / "e")
    assert (key.params.name, Evaluator(key).method) == ("gates-128", "ginx")
    with pytest.raises(FormatError, match=r"^s: "):
        gates.load_evaluation_key(tmp_path / "s")
    with pytest.raises(FormatError, match=r"^e: "):
        gates.load_secret_key(tmp_path / "e")
    (tmp_path / "x").write_bytes(b"nothing")
    with pytest.raises(FormatError, match=r"^x: no secret key of gates: take a file that `gates keygen"):
        gates.load_secret_key(tmp_path / "x")
    (tmp_path / "e").unlink()  # it is large


def test_keys_that_do_not_belong_together_are_refused(secret: Any, evaluator: Evaluator, tmp_path: Path) -> None:
    """Foreign keys give garbage: bits, keys and results know which key they are of, in files and out of them."""
    other = ClearKey(secret.params)
    mine, foreign = gates.encrypt(secret, [0, 1]), gates.encrypt(other, [0, 1])
    one, two = (f"key {k.key_id:016x}" for k in (secret, other))
    assert one != two
    circuit = Circuit("alu8")
    inputs = {p.name: gates.encrypt(secret, gates.to_bits(1, p.width)) for p in circuit.inputs}
    for use in (
        lambda: gates.decrypt(secret, foreign),
        lambda: gates.decrypt(other, evaluator.and_(mine, mine)),
        lambda: evaluator.bind(foreign),
        lambda: evaluator.and_(mine, foreign),
        lambda: evaluator.bind(mine) & foreign,
        lambda: evaluator.xor3(mine, mine, foreign),
        lambda: gates.concatenate([mine, foreign]),
        lambda: gates.stack([mine, foreign]),
        lambda: gates.bits_to_bytes({"a": mine, "b": foreign}),
        lambda: circuit.evaluate(evaluator, {**inputs, "a": gates.encrypt(other, gates.to_bits(1, 8))}),
        lambda: gates.bits_from_bytes(gates.bits_to_bytes({"a": foreign}), secret),
        lambda: gates.bits_from_bytes(gates.bits_to_bytes({"a": foreign}), evaluator),
    ):
        with pytest.raises(MismatchError) as refusal:
            use()
        assert one in str(refusal.value)
        assert two in str(refusal.value)
    gates.save_bits(tmp_path / "x", {"a": foreign})
    with pytest.raises(MismatchError, match=f"^x: encrypted bits of {two}, but the key given is {one}"):
        gates.load_bits(tmp_path / "x", secret)
    # All that comes of bits keeps their key: slices, shapes, results, constants.
    for bits in (
        mine[0],
        mine.reshape(2, 1),
        ~evaluator.bind(mine),
        evaluator.constant([1]),
        gates.stack([mine, mine]),
    ):
        assert bits.key_id == secret.key_id


def test_what_has_no_key_id_stays_apart(tmp_path: Path) -> None:
    """Files of format 1 have no id: what comes of them has none and is read with a warning. With an id they cannot
    belong together, because keys that have one give it to all that is made with them."""
    params = gates.parameters("gates-128")
    old, new = ClearKey(params, key_id=0), ClearKey(params)
    gates.save_bits(tmp_path / "x", {"a": gates.encrypt(old, [0, 1, 1])})
    evaluator = Evaluator(old, device="clear")
    with pytest.warns(UserWarning, match="^x: format 3, without a key id"):
        bits = gates.load_bits(tmp_path / "x", old)["a"]
    assert gates.decrypt(old, ~evaluator.bind(bits)).tolist() == [1, 0, 0]
    for use in (
        lambda: gates.decrypt(old, gates.encrypt(new, [1])),
        lambda: gates.decrypt(new, bits),
        lambda: evaluator.bind(gates.encrypt(new, [1])),
        lambda: gates.load_bits(tmp_path / "x", new),
    ):
        with pytest.raises(MismatchError, match="a key without an id"):
            use()


def test_insecure_sets_need_a_reason(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="insecure"):
        gates.keygen("gates-degraded")
    with pytest.raises(ParameterError, match="unknown method"):
        gates.keygen(method="bgv")  # type: ignore[arg-type]
    weak = _native.fhew.SecretKey(gates.parameters("gates-degraded", "test"))
    gates.save_secret_key(tmp_path / "s", weak)
    with pytest.raises(ParameterError, match=r"s: .*insecure"):
        gates.load_secret_key(tmp_path / "s")
    assert gates.load_secret_key(tmp_path / "s", "test").params.name == "gates-degraded"


# ---- the native engine ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real() -> tuple[Any, Evaluator]:
    secret, key = gates.keygen(threads=2)
    return secret, Evaluator(key, threads=2)


@native
def test_kinds_have_the_numbers_of_the_engine() -> None:
    fhew = _native.fhew
    assert [k.name for k in GateKind] == [name.upper() for name in fhew.kind_names()]
    assert [(k.arity, k.bootstraps) for k in GateKind] == [(fhew.arity(k), fhew.bootstraps(k)) for k in GateKind]


@native
def test_every_gate_encrypted(real: tuple[Any, Evaluator]) -> None:
    secret, evaluator = real
    rows = np.array(list(itertools.product((0, 1), repeat=3)), dtype=np.uint8)
    for kind in GateKind:
        if kind.arity:
            inputs = [gates.encrypt(secret, rows[:, i]) for i in range(kind.arity)]
            found = gates.decrypt(secret, evaluator.gate(kind, *inputs))
            assert found.tolist() == [kind.of(row[: kind.arity].tolist()) for row in rows]
    assert gates.decrypt(secret, evaluator.constant([0, 1])).tolist() == [0, 1]


#: What a gate of equal, complementary and known inputs is: inputs, the function, and the bootstraps that it takes.
DEPENDENT: list[tuple[GateKind, str, str, int]] = [
    (GateKind.NAND, "aa", "A", 0),
    (GateKind.AND, "aA", "0", 0),
    (GateKind.XOR, "aA", "1", 0),
    (GateKind.XNOR, "aa", "1", 0),
    (GateKind.XOR3, "aaa", "a", 0),
    (GateKind.XOR3, "aAb", "B", 0),
    (GateKind.MAJ3, "aab", "a", 0),
    (GateKind.MAJ3, "aAb", "b", 0),
    (GateKind.MUX, "abb", "b", 0),
    (GateKind.MUX, "aab", "a|b", 1),
    (GateKind.MUX, "abB", "~(a^b)", 1),
    (GateKind.AND3, "aab", "a&b", 1),
    (GateKind.NOR3, "aBa", "~(a|B)", 1),
    (GateKind.OR, "a0", "a", 0),
    (GateKind.MAJ3, "ab1", "a|b", 1),
]


@native
@pytest.mark.parametrize(("kind", "wiring", "meaning", "bootstraps"), DEPENDENT)
def test_dependent_inputs_take_no_gate(
    real: tuple[Any, Evaluator], kind: GateKind, wiring: str, meaning: str, bootstraps: int
) -> None:
    """The same ciphertext is found wherever it comes from: other arrays, copies, files; NOT of it too."""
    secret, evaluator = real
    clear = {"a": np.array([0, 1, 0, 1]), "b": np.array([0, 0, 1, 1])}
    bits = {n: evaluator.bind(gates.encrypt(secret, v)) for n, v in clear.items()}
    filed = gates.bits_from_bytes(gates.bits_to_bytes(bits), secret)
    known: dict[str, Bits] = {"0": evaluator.constant([0] * 4), "1": evaluator.constant([1] * 4)}
    given: list[Bits] = []
    for place, x in enumerate(wiring):
        source = (bits if place % 2 else filed).get(x.lower(), known.get(x))
        assert source is not None
        given.append(evaluator.not_(source) if x.isupper() else source)
    before = evaluator.bootstraps
    found = gates.decrypt(secret, evaluator.gate(kind, *given))
    assert evaluator.bootstraps - before == 4 * bootstraps
    a, b = (clear[n].astype(bool) for n in "ab")
    values = {"a": a, "b": b, "A": ~a, "B": ~b}
    want = eval(meaning, {}, values)
    assert np.array_equal(found, np.broadcast_to(np.asarray(want, bool), (4,)))


@native
def test_one_ciphertext_at_two_ports(real: tuple[Any, Evaluator]) -> None:
    """x - x in an unoptimised circuit: the same bits at both ports, where no netlist can show it."""
    secret, evaluator = real
    circuit = Circuit("alu8", optimise=False)
    x = gates.encrypt(secret, gates.to_bits(0xA5, 8))
    before = evaluator.bootstraps
    found = circuit.evaluate(evaluator, {"a": x, "b": x, "op": gates.encrypt(secret, gates.to_bits(1, 3))})
    assert evaluator.bootstraps - before < circuit.report().bootstraps
    values = [gates.from_bits(gates.decrypt(secret, found[n])) for n in ("y", "zero", "carry")]
    assert tuple(values) == alu(1, 0xA5, 0xA5)


@native
def test_the_alu_encrypted(real: tuple[Any, Evaluator]) -> None:
    secret, evaluator = real
    a, b = 0xA7, 0x5D
    inputs = {
        "a": gates.encrypt(secret, gates.to_bits(a, 8)),
        "b": gates.encrypt(secret, gates.to_bits(b, 8)),
        "op": gates.encrypt(secret, gates.to_bits(list(range(8)), 3)),
    }
    found = Circuit("alu8").evaluate(evaluator, inputs)
    values = [gates.from_bits(gates.decrypt(secret, found[n])) for n in ("y", "zero", "carry")]
    assert list(zip(*values, strict=True)) == [alu(op, a, b) for op in range(8)]
