# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Encrypted integers against Python's: every operator, in the clear by the circuits that are run, and encrypted."""

from __future__ import annotations

import copy
import itertools
import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ringforge import errors, gates
from ringforge.gates import integers, noise, sets, sums
from ringforge.gates.integers import IntType, provenance
from ringforge.gates.integers.operations import KEPT, NAMES, Operation, compiled, kept
from ringforge.gates.integers.provenance import levels

TOY = "gates-toy"
WHY = "a test"


def wrapped(value: int, width: int, signed: bool) -> int:
    value %= 1 << width
    return value - (1 << width) if signed and value >> (width - 1) else value


Binary = Callable[[int, int], int]

#: Operations on two numbers of one type: what Python gives; the result wraps around, or is a truth value.
ARITHMETIC: dict[str, Binary] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "min": min,
    "max": max,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
}
COMPARED: dict[str, Binary] = {
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
    "ne": operator.ne,
}
DIVISIONS = ("floordiv", "mod")


def classes(count: int, params: str = "gates-128") -> list[tuple[sums.PortNoise, ...]]:
    """Noise of operands: any, fresh, of gates, sums."""
    s = sets.named(params, WHY)
    fresh, gate = (sums.PortNoise(noise.input_variance(s, kind)) for kind in ("fresh", "mux"))
    return [(), (fresh,) * count, (gate,) * count, (sums.PortNoise(sums.noisiest_sum(s), True),) * count]


def circuits(op: Operation) -> list[Any]:
    """All circuits of an operation that differ."""
    found = [compiled(op, "gates-128", "ginx", c) for c in classes(len(op.widths))]
    return [c for c in found if c is not None]


def numbers(width: int, signed: bool) -> range:
    t = IntType(width, signed)
    return range(t.min, t.max + 1)


def pairs(width: int, signed: bool) -> list[tuple[int, int]]:
    if width == 3:
        return list(itertools.product(numbers(3, signed), repeat=2))
    rng = np.random.default_rng(width)
    t = IntType(width, signed)
    return [(int(a), int(b)) for a, b in rng.integers(t.min, t.max + 1, (200, 2))]


@pytest.mark.parametrize("width", [3, 8])
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("name", [*ARITHMETIC, *COMPARED])
def test_binary_circuits(name: str, signed: bool, width: int) -> None:
    """All pairs at 3 bits, 200 random ones at 8: with sums wherever any operand's noise lets them be."""
    chosen = [(a, b) for a, b in pairs(width, signed) if b or name not in DIVISIONS]
    mask = (1 << width) - 1
    given = {"a": [a & mask for a, _ in chosen], "b": [b & mask for _, b in chosen]}
    found = circuits(Operation(name, (width, width), signed, width))
    assert found
    for c in found:
        got = c.circuit.clear(given)["y"]
        for (a, b), y in zip(chosen, got, strict=True):
            if name in COMPARED:
                assert y == COMPARED[name](a, b), (a, b)
            else:
                assert wrapped(y, width, signed) == wrapped(ARITHMETIC[name](a, b), width, signed), (a, b)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("name", [*ARITHMETIC, *COMPARED])
def test_plain_operands_are_folded(name: str, signed: bool) -> None:
    """Every number of 3 bits on either side, all constants in the circuit."""
    values = list(numbers(3, signed))
    for value, first in itertools.product(values, (False, True)):
        chosen = [v for v in values if name not in DIVISIONS or (v if first else value)]
        if not chosen:
            continue
        for c in circuits(Operation(name, (3,), signed, 3, value, first)):
            assert (
                c.circuit.report().bootstraps
                <= compiled(Operation(name, (3, 3), signed, 3), "gates-128", "ginx", ()).circuit.report().bootstraps
            )  # type: ignore[union-attr]
            got = c.circuit.clear({"a": [v & 7 for v in chosen]})["y"]
            for v, y in zip(chosen, got, strict=True):
                a, b = (value, v) if first else (v, value)
                if name in COMPARED:
                    assert y == COMPARED[name](a, b)
                else:
                    assert wrapped(y, 3, signed) == wrapped(ARITHMETIC[name](a, b), 3, signed), (a, b)


@pytest.mark.parametrize("signed", [False, True])
def test_other_circuits(signed: bool) -> None:
    """Unary ones, choices, shifts and rotations by encrypted amounts, of mixed widths, exhaustively."""
    values = list(numbers(4, signed))
    unary: dict[str, Callable[[int], int]] = {"not": operator.inv, "neg": operator.neg, "abs": abs, "some": bool}
    for name, exact in unary.items():
        if name == "abs" and not signed:
            continue
        for c in circuits(Operation(name, (4,), signed, 4)):
            got = c.circuit.clear({"a": [v & 15 for v in values]})["y"]
            for v, y in zip(values, got, strict=True):
                assert (y if name == "some" else wrapped(y, 4, signed)) == wrapped(
                    exact(v), 4, name != "some" and signed
                )
    shifts: dict[str, Binary] = {
        "lshift": operator.lshift,
        "rshift": operator.rshift,
        "rotate_left": lambda a, n: (a & 15) << n % 4 | (a & 15) >> (4 - n % 4),
        "rotate_right": lambda a, n: (a & 15) >> n % 4 | (a & 15) << (4 - n % 4),
    }
    for name, exact_of in shifts.items():
        chosen = list(itertools.product(values, range(8)))
        for c in circuits(Operation(name, (4, 3), signed, 4)):
            got = c.circuit.clear({"a": [a & 15 for a, _ in chosen], "b": [n for _, n in chosen]})["y"]
            for (a, n), y in zip(chosen, got, strict=True):
                assert wrapped(y, 4, signed) == wrapped(exact_of(a, n), 4, signed), (name, a, n)
    triples = [(s, a, b) for s in (0, 1) for a in values for b in numbers(3, signed)]
    for c in circuits(Operation("select", (1, 4, 3), signed, 4)):
        given = {
            "a": [s for s, _, _ in triples],
            "b": [a & 15 for _, a, _ in triples],
            "c": [b & 7 for *_, b in triples],
        }
        for (s, a, b), y in zip(triples, c.circuit.clear(given)["y"], strict=True):
            assert wrapped(y, 4, signed) == (a if s else b)


# ---- noise ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("params", ["gates-128", "gates-128-f128"])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "min", "lt", "eq"])
def test_no_decision_fails_more_than_promised(name: str, params: str) -> None:
    s = sets.named(params)
    for c in classes(2, params):
        found = compiled(Operation(name, (8, 8), False, 8), params, "ginx", c)
        if found is None:
            continue
        ports = dict(zip(("a", "b"), c or classes(2, params)[2], strict=True))
        again = sums.examine(found.circuit.netlist, s, "ginx", ports)
        assert again.worst_log2 <= s.failure
        assert again.outputs["y"] <= sums.tolerance(s) * (1 + 1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_every_operation_is_there_at_two_to_the_minus_128(name: str) -> None:
    """Sums without a bootstrap included: the decisions of all circuits of an operation, whatever the operands."""
    s, widths = sets.named("gates-128-f128"), {"select": (1, 6, 6)}.get(name, (6, 6))
    if name in ("not", "neg", "abs", "some"):
        widths = (6,)
    kinds, seen = classes(len(widths), s.name), 0
    for c in kinds:
        found = compiled(Operation(name, widths, True, 6), s.name, "ginx", c)
        if found is not None:
            seen += 1
            ports = dict(zip(("a", "b", "c"), c or kinds[2], strict=False))
            again = sums.examine(found.circuit.netlist, s, "ginx", ports)
            assert again.worst_log2 <= -128
            assert again.failure_log2 <= -120
    assert seen >= 3, "any operands, fresh ones and those of gates"


@pytest.mark.parametrize("method", noise.METHODS)
@pytest.mark.parametrize("params", ["gates-128", "gates-degraded", "paper-medium", "paper-std128-ap"])
def test_results_are_refreshed_as_seldom_wrongly_as_promised(params: str, method: str) -> None:
    """REFRESH doubles: four times the variance, half a turn of two sides."""
    s = sets.named(params, WHY)
    rounding, limit = noise.stages(s, method).rounding, sums.limit_log2(s, method)
    for name, width, c in itertools.product(("add", "sub", "neg"), (2, 8), (0, 1, 2)):
        count = 1 if name == "neg" else 2
        known = levels(params, method)[c]
        found = compiled(Operation(name, (width,) * count, True, width), params, method, (known,) * count)
        if found is None or not found.is_sum:
            continue
        wrong = noise._decision(s, True, 4 * found.variance + rounding)
        assert wrong <= limit + 1e-6, (name, width, c)
        assert found.failure_log2 >= wrong


def test_additions_of_fresh_numbers_take_a_bootstrap_a_bit() -> None:
    _, fresh, gate, both = (compiled(Operation("add", (32, 32), False, 32), "gates-128", "ginx", c) for c in classes(2))
    assert fresh is not None
    assert gate is not None
    assert both is not None
    assert fresh.circuit.report().bootstraps == gate.circuit.report().bootstraps == 32
    # Two sums are too noisy for a third.
    assert both.circuit.report().bootstraps == 62
    assert fresh.is_sum
    assert fresh.variance < sums.noisiest_sum(sets.named("gates-128"))


def test_dependent_noise_is_counted_in_full() -> None:
    """(a ^ b) as a sum, then a majority with a: a's noise counts twice."""
    draft = gates.Draft("dependent")
    draft.input("a", ["a"])
    draft.input("b", ["b"])
    draft.input("c", ["c"])
    carry = draft.gate(gates.GateKind.AND, ("a", "b"))
    total = draft.gate(gates.GateKind.SUM2, ("a", "b"))
    draft.output("y", [draft.gate(gates.GateKind.MAJ3, (total, "a", carry))])
    s = sets.named("gates-128")
    one, port = noise.input_variance(s, "gate"), sums.PortNoise(noise.input_variance(s, "gate"))
    found = sums.examine(draft.build(), s, "ginx", dict.fromkeys("abc", port))
    # (2a + b + 2r)^2 with r the rotation of both the carry and the sum.
    variance = (4 + 1 + 4) * one + noise.stages(s).rounding
    assert found.worst_log2 == pytest.approx(sums._decision(s, False, variance), abs=1e-6)


def test_sums_have_the_predicted_noise(world: World) -> None:
    """The measured variance of 8-bit sums of 40 pairs; 320 errors: within five deviations."""
    x, y = (world.encrypt(world.rng.integers(0, 256, 40), "uint8") for _ in range(2))
    total = x + y
    bits, state = total._state
    clear = gates.decrypt(world.secret, bits)
    errors_of = world.secret.errors(bits.words.reshape(-1, bits.words.shape[-1]), clear.reshape(-1))
    scale = bits.params.rotation_modulus / 2.0**bits.params.log_q
    measured = float(np.mean((errors_of * scale) ** 2))
    # The bound is of the longest key and the noisiest bit; the least bit of a sum has no carry in.
    assert 0.3 * state.variance < measured < 1.4 * state.variance


def test_results_of_a_noisier_method_are_refreshed() -> None:
    """In this set ginx leaves more noise than ap: what its gates gave is bootstrapped before it meets ap's."""
    secret, key = gates.keygen(TOY, insecure=WHY)
    noisy, quiet = gates.Evaluator(key), gates.Evaluator(gates.make_evaluation_key(secret, "ap"))
    s = sets.named(TOY, WHY)
    limit = max(noise.input_variance(s, "fresh"), noise.input_variance(s, "mux", "ap"))
    assert limit < noise.input_variance(s, "mux", "ginx")

    def encrypted(value: Any) -> Any:
        return integers.encrypt(secret, value, "uint8")

    y = quiet.bind(encrypted([7, 200]))
    quiet_sum = _bootstraps(quiet, lambda: quiet.bind(encrypted([1, 2])) + y)
    found = integers.minimum(noisy.bind(encrypted([5, 9])), noisy.bind(encrypted([3, 20])))
    assert not found._state[1].is_sum
    sources = (
        quiet.bind(found),
        integers.from_bytes(found.to_bytes(), quiet),
        quiet.bind(integers.of_bits(found.bits, "uint8")),
        quiet.bind(integers.of_bits(found.bits.bound(None), "uint8")),
    )
    for x in sources:
        assert x._state[1].variance > limit
        assert _bootstraps(quiet, lambda x=x: x + y) == quiet_sum + 16
        assert x._state[1].variance <= limit
        assert integers.decrypt(secret, x + y) == [10, 209]
        assert _bootstraps(quiet, lambda x=x: x + y) == quiet_sum
    # The first operand's evaluator runs it, and refreshes the other.
    assert _bootstraps(quiet, lambda: y + found) == quiet_sum + 16
    assert _bootstraps(noisy, lambda: found + y) > 0


def _bootstraps(evaluator: Any, run: Callable[[], Any]) -> int:
    before = evaluator.bootstraps
    run()
    return int(evaluator.bootstraps - before)


# ---- encrypted, on a toy -------------------------------------------------------------------------


class World:
    """Keys of the toy set, an evaluator, and how to encrypt."""

    def __init__(self, params: str = TOY, threads: int = 2) -> None:
        self.secret, self.key = gates.keygen(params, insecure=WHY, threads=threads)
        self.evaluator = gates.Evaluator(self.key, threads)
        self.rng = np.random.default_rng(7)

    def encrypt(self, value: Any, dtype: Any) -> Any:
        return self.evaluator.bind(integers.encrypt(self.secret, value, dtype))

    def decrypt(self, x: Any) -> Any:
        return integers.decrypt(self.secret, x)

    def bootstraps(self, run: Callable[[], Any]) -> int:
        before = self.evaluator.bootstraps
        run()
        return self.evaluator.bootstraps - before


@pytest.fixture(scope="module")
def world() -> World:
    return World()


@pytest.fixture(scope="module")
def long_world() -> World:
    return World("gates-128")


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    **{n: f for n, f in ARITHMETIC.items() if n not in ("min", "max")},
    **COMPARED,
    "min": integers.minimum,
    "max": integers.maximum,
}


def check_encrypted(world: World, name: str, signed: bool, count: int) -> None:
    """Random pairs of 8 bits, really encrypted; then the results, which may be sums, once more."""
    chosen = [(a, b) for a, b in pairs(8, signed) if b or name not in DIVISIONS][:count]
    x, y = (world.encrypt([p[i] for p in chosen], IntType(8, signed)) for i in (0, 1))
    found = OPERATORS[name](x, y)
    exact = {**ARITHMETIC, **COMPARED}[name]
    if name in COMPARED:
        assert found.dtype.name == "bool"
        assert world.decrypt(found) == [bool(exact(a, b)) for a, b in chosen]
        return
    expected = [wrapped(exact(a, b), 8, signed) for a, b in chosen]
    assert world.decrypt(found) == expected
    again = [wrapped(e + a, 8, signed) for e, (a, _) in zip(expected, chosen, strict=True)]
    assert world.decrypt((found + x)[:5]) == again[:5]


@pytest.mark.parametrize("name", OPERATORS)
def test_encrypted(world: World, name: str) -> None:
    few = 1 if name in DIVISIONS else 3
    check_encrypted(world, name, True, few)
    check_encrypted(world, name, False, few)


@pytest.mark.long
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("name", OPERATORS)
def test_200_pairs_encrypted(world: World, name: str, signed: bool) -> None:
    check_encrypted(world, name, signed, 200)


@pytest.mark.long
@pytest.mark.parametrize("name", OPERATORS)
def test_encrypted_with_the_set_for_use(long_world: World, name: str) -> None:
    for signed in (False, True):
        check_encrypted(long_world, name, signed, 2)


def test_folding_costs_nothing(world: World) -> None:
    x = world.encrypt(23, "uint8")
    free: dict[str, Callable[[], Any]] = {
        "x + 0": lambda: x + 0,
        "x * 1": lambda: x * 1,
        "x | 0": lambda: x | 0,
        "x ^ 0": lambda: x ^ 0,
        "x << 0": lambda: x << 0,
    }
    for text, run in free.items():
        assert world.bootstraps(run) == 0, text
        assert run() is x, text
    moved: dict[str, tuple[Callable[[], Any], int]] = {
        "x * 4": (lambda: x * 4, 92),
        "x << 3": (lambda: x << 3, 184),
        "x >> 2": (lambda: x >> 2, 5),
        "x // 8": (lambda: x // 8, 2),
        "x % 8": (lambda: x % 8, 7),
        "x & 15": (lambda: x & 15, 7),
        "~x": (lambda: ~x, 232),
        "x * 0": (lambda: x * 0, 0),
        "x.rotate_left(3)": (lambda: x.rotate_left(3), 184),
        "x.astype(int16)": (lambda: x.astype("int16"), 23),
    }
    for text, (run, value) in moved.items():
        assert world.bootstraps(run) == 0, text
        assert world.decrypt(run()) == value, text
    assert world.bootstraps(lambda: x + 3) <= 7
    assert world.decrypt(x + 3) == 26
    assert world.decrypt(3 - x) == (3 - 23) % 256
    assert world.decrypt(100 // x) == 4
    assert world.decrypt(abs(world.encrypt(-5, "int8"))) == 5
    assert world.decrypt(-world.encrypt(-128, "int8")) == -128


def test_operands_that_depend_on_each_other(world: World) -> None:
    """Sums share noise with what they were made of, and with other sums of it: they are refreshed first."""
    x, y = world.encrypt([23, 200], "uint8"), world.encrypt([99, 100], "uint8")
    total = x + y
    assert total._state[1].is_sum
    before = world.evaluator.bootstraps
    assert world.decrypt(total + x) == [145, 244]
    # Refreshed once, and kept.
    assert not total._state[1].is_sum
    first = world.evaluator.bootstraps - before
    assert world.bootstraps(lambda: total + x) == first - 16
    assert world.decrypt(total + total) == [244, 88]
    assert world.decrypt((x + y) - (y + x)) == [0, 0]
    # The same ciphertexts by another way.
    again = integers.from_bytes(x.to_bytes(), world.evaluator)
    assert world.decrypt((x + y) + again) == [145, 244]
    assert world.decrypt(x - again) == [0, 0]
    # Sums of other elements are independent: nothing is refreshed.
    z = x + y
    w = z[:1] + world.encrypt([1], "uint8")
    assert z._state[1].is_sum or w is not None


def test_what_is_within_a_sum_may_come_again(world: World) -> None:
    """Gates give the same ciphertext for the same inputs: those of |x| are x ^ sign, and their noise is in the sum."""
    x = world.encrypt([-5, 7, -128, 3], "int8")
    flipped, other = x ^ (x >> 7), world.encrypt([1, 2, 3, 4], "int8") ^ (x >> 7)
    assert not flipped._state[1].is_sum
    size = abs(x)
    assert size._state[1].is_sum
    held = size._state[1].sources
    assert held is not None
    assert not provenance.apart(held, provenance.numbers(flipped._state[0]), (4,))
    # Other numbers' gates are others.
    assert provenance.apart(held, provenance.numbers(other._state[0]), (4,))
    expected = [wrapped(abs(v) + (v ^ (v >> 7)), 8, True) for v in (-5, 7, -128, 3)]
    assert world.decrypt(size + flipped) == expected


def test_sums_are_refreshed_for_gates(world: World) -> None:
    x = world.encrypt([1, 2, 3], "uint8") + world.encrypt([4, 5, 6], "uint8")
    bits = x.bits
    assert bits.shape == (3, 8)
    assert gates.from_bits(gates.decrypt(world.secret, bits & bits)) == [5, 7, 9]
    assert world.decrypt(integers.of_bits(bits, "int8")) == [5, 7, 9]


# ---- types, bytes, refusals ----------------------------------------------------------------------


def test_types() -> None:
    assert integers.int_type("uint8") == integers.FheUint8 == integers.int_type(np.uint8)
    assert integers.int_type("int12") == IntType(12, True)
    assert integers.int_type(bool) == integers.FheBool
    assert (integers.FheInt8.min, integers.FheInt8.max, integers.FheUint64.max) == (-128, 127, 2**64 - 1)
    for bad in ("uint0", "float", "int257", 8, None, float, np.float64, "Uint8"):
        with pytest.raises(errors.ParameterError, match=r"type|width"):
            integers.int_type(bad)
    with pytest.raises(errors.ParameterError, match="256"):
        IntType(300)
    # Those that encrypt are the types of their names.
    assert IntType(8, True) == integers.FheInt8 != integers.FheUint8
    assert {IntType(16): 1}[integers.FheUint16] == 1
    assert IntType(8) != "uint8"


def test_types_encrypt(world: World) -> None:
    x = integers.FheInt16.encrypt([5, -1], world.secret)
    assert (x.dtype, world.decrypt(x)) == (IntType(16, True), [5, -1])
    assert world.decrypt(integers.FheBool.encrypt(True, world.secret)) is True
    with pytest.raises(errors.ParameterError, match="secret key"):
        integers.FheUint8.encrypt(world.secret, 5)  # type: ignore[arg-type]


def test_promotion(world: World) -> None:
    narrow, wide = world.encrypt(200, "uint8"), world.encrypt(1000, "uint16")
    assert (narrow + wide).dtype.name == "uint16"
    assert world.decrypt(narrow + wide) == 1200
    assert world.decrypt(wide < narrow) is False
    a, b = world.encrypt(-3, "int4"), world.encrypt(100, "int16")
    assert world.decrypt(a * b) == -300
    for left, right in ((narrow, a), (a, narrow), (narrow == 3, narrow)):
        with pytest.raises(errors.MismatchError, match="astype"):
            left + right
    with pytest.raises(errors.MismatchError, match="bool"):
        (narrow == 3) + 1
    with pytest.raises(errors.ValueError, match="wider"):
        narrow + 300
    with pytest.raises(errors.ValueError, match="known"):
        _ = narrow < -1
    with pytest.raises(errors.ValueError, match="0"):
        narrow // 0
    assert world.decrypt(narrow.astype("int16") + a) == 197
    assert world.decrypt(narrow.astype("int8")) == -56
    assert world.decrypt(narrow.astype(bool)) is True
    assert world.decrypt((narrow == 200).astype("uint8") * 5) == 5


def test_swapped_arguments_are_refused(world: World) -> None:
    x = world.encrypt(1, "uint8")
    refused: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: integers.encrypt(world.key, 1, "uint8"), errors.MissingKeyError, "secret key"),  # type: ignore[arg-type]
        (lambda: integers.encrypt(world.evaluator, 1, "uint8"), errors.MissingKeyError, "secret key"),  # type: ignore[arg-type]
        (lambda: integers.encrypt(1, world.secret, "uint8"), errors.ParameterError, "secret key"),  # type: ignore[arg-type]
        (lambda: integers.encrypt(world.secret, "uint8", 1), errors.ParameterError, "type"),
        (lambda: integers.encrypt(world.secret, 1.5, "uint8"), errors.ValueError, "whole"),
        (lambda: integers.encrypt(world.secret, 256, "uint8"), errors.ValueError, "0 ... 255"),
        (lambda: integers.encrypt(world.secret, x, "uint8"), errors.ParameterError, "encrypted already"),
        (lambda: integers.decrypt(world.key, x), errors.MissingKeyError, "secret key"),  # type: ignore[arg-type]
        (lambda: integers.decrypt(world.secret, 5), errors.ParameterError, "no encrypted integer"),  # type: ignore[arg-type]
        (lambda: integers.decrypt(world.secret, x.bits), errors.ParameterError, "bits"),  # type: ignore[arg-type]
        (lambda: x + "a", errors.ParameterError, "operand"),
        (lambda: x + 1.5, errors.ParameterError, "operand"),
        (lambda: x + x.bits, errors.ParameterError, "operand"),
        (lambda: x << -1, errors.ValueError, "other direction"),
        (lambda: x << world.encrypt(1, "int8"), errors.MismatchError, "astype"),
        (lambda: integers.select(1, x, x), errors.ParameterError, "truth value"),
        (lambda: integers.select(x, x, x), errors.ParameterError, "truth value"),
        (lambda: integers.select(x == 1, 2, 3), errors.ParameterError, "known"),
        (lambda: x / 2, errors.ParameterError, "//"),
        (lambda: integers.minimum(1, 2), errors.ParameterError, "encrypt"),
        (lambda: integers.encrypt(world.secret, 1, "uint8") + 1, errors.ParameterError, "bind"),
        (lambda: world.encrypt(1, "uint128") * world.encrypt(1, "uint128"), errors.ParameterError, "64 bits"),
        (lambda: integers.from_bytes("x", world.evaluator), errors.ParameterError, "bytes"),  # type: ignore[arg-type]
        (lambda: integers.of_bits(3, "uint8"), errors.ParameterError, "bits"),  # type: ignore[arg-type]
    ]
    for run, kind, text in refused:
        with pytest.raises(kind, match=text):
            run()
    for run in (lambda: bool(x), lambda: int(x), lambda: [1, 2][x], lambda: float(x), lambda: len(x), lambda: hash(x)):
        with pytest.raises(TypeError):
            run()


def test_other_keys_are_refused(world: World) -> None:
    other = World()
    x, y = world.encrypt(1, "uint8"), other.encrypt(1, "uint8")
    for run in (
        lambda: x + y,
        lambda: other.evaluator.bind(x),
        lambda: integers.decrypt(other.secret, x),
        lambda: integers.from_bytes(x.to_bytes(), other.evaluator),
        lambda: integers.stack([x, y]),
        lambda: integers.from_bytes(x.to_bytes(), gates.parameters("gates-128")),
    ):
        with pytest.raises(errors.MismatchError):
            run()


def test_bytes(world: World) -> None:
    for x, value in (
        (world.encrypt([[1, -2]], "int8"), [[1, -2]]),
        (world.encrypt(True, "bool"), True),
        (world.encrypt([1, 2], "uint8") + world.encrypt([3, 4], "uint8"), [4, 6]),
        (integers.minimum(world.encrypt(9, "uint8"), 5), 5),
    ):
        data = x.to_bytes()
        back = integers.from_bytes(data, world.evaluator)
        assert (back.dtype, back.shape) == (x.dtype, x.shape)
        assert world.decrypt(back) == value
        assert back.to_bytes() == data
        # The key's holder reads them too.
        assert world.decrypt(integers.from_bytes(data, world.secret)) == value
        if not x.dtype.boolean:
            assert world.decrypt(back + 1) == (np.array(value) + 1).tolist()
    for name in ("uint8", "uint9:fresh", "x:gate", "uint8:other", "int300:sum", ":"):
        data = gates.bits_to_bytes({name: gates.encrypt(world.secret, [0] * 8)})
        with pytest.raises(errors.FormatError):
            integers.from_bytes(data, world.evaluator)
    two = gates.bits_to_bytes({n: gates.encrypt(world.secret, [0] * 8) for n in ("uint8:fresh", "uint8:gate")})
    with pytest.raises(errors.FormatError, match="2 arrays"):
        integers.from_bytes(two, world.evaluator)


def test_pickles_have_the_integers_without_the_evaluator(world: World) -> None:
    x = world.encrypt(1, "uint8")
    for thing, clear in ((x, 1), (world.encrypt([1], "uint8"), [1]), (x + x, 2)):
        found = pickle.loads(pickle.dumps(thing))
        assert type(found) is type(thing)
        assert found.evaluator is None
        assert integers.decrypt(world.secret, found) == clear
        assert copy.copy(thing) is thing
        assert copy.deepcopy(thing) is thing
    assert pickle.loads(pickle.dumps(x.dtype)) == x.dtype


def test_the_cache_is_bounded() -> None:
    for value in range(KEPT + 20):
        compiled(Operation("add", (10,), False, 10, value), "gates-128", "ginx", ())
    assert kept() <= KEPT


def test_clear_device() -> None:
    key = gates.ClearKey(gates.parameters("gates-128"))
    evaluator = gates.Evaluator(key, device="clear")
    x, y = (evaluator.bind(integers.encrypt(key, v, "int8")) for v in ([5, -7], [3, 100]))
    assert integers.decrypt(key, x * y - 1) == [14, (-700 - 1 + 128) % 256 - 128]
    assert integers.decrypt(key, integers.maximum(x, y)) == [5, 100]
