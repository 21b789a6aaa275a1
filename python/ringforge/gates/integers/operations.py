# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Operations on integers, as circuits: made once for a kind of operands, kept, and shared by all threads."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace

from ringforge.errors import ParameterError
from ringforge.gates import noise, sets, sums
from ringforge.gates.circuit import Circuit
from ringforge.gates.integers import graphs
from ringforge.gates.integers.graphs import Word, constant, extended
from ringforge.gates.netlist import Netlist, Port
from ringforge.gates.optimise import Graph

#: Circuits kept; those used longest ago go first.
KEPT = 256

#: Bits of multiplications and divisions with circuits of bearable size.
MAX_PRODUCT, MAX_DIVISION = 64, 64


@dataclass(frozen=True)
class Operation:
    """One operation on operands of known widths.

    Attributes:
        name: of :data:`NAMES`.
        widths: of the encrypted operands, in order.
        signed: whether they are signed.
        width: that they are extended to, and of the result unless it is a truth value.
        value: a plain operand, if there is one.
        plain_first: whether it stands on the left.
    """

    name: str
    widths: tuple[int, ...]
    signed: bool = False
    width: int = 0
    value: int | None = None
    plain_first: bool = False


def _operands(op: Operation, words: list[Word]) -> list[Word]:
    """All operands in order, at the operation's width, plain ones as constants."""
    found = [extended(w, op.width, op.signed) for w in words]
    if op.value is not None:
        found.insert(0 if op.plain_first else 1, constant(op.value, op.width))
    return found


def _binary(of: Callable[[Graph, Word, Word, bool], Word]) -> Callable[[Graph, Operation, list[Word]], Word]:
    def make(g: Graph, op: Operation, words: list[Word]) -> Word:
        a, b = _operands(op, words)
        return of(g, a, b, op.signed)

    return make


def _times(g: Graph, op: Operation, words: list[Word]) -> Word:
    if op.value is not None:
        return graphs.multiply_by(g, extended(words[0], op.width, op.signed), op.value)
    return graphs.multiply(g, *_operands(op, words))


def _select(g: Graph, op: Operation, words: list[Word]) -> Word:
    one, zero = _operands(op, words[1:])
    return graphs.choose(g, words[0][0], one, zero)


def _shift(left: bool) -> Callable[[Graph, Operation, list[Word]], Word]:
    def make(g: Graph, op: Operation, words: list[Word]) -> Word:
        word = constant(op.value, op.width) if op.value is not None else words[0]
        if left:
            return graphs.shift_by(g, word, words[-1], graphs.shift_left)
        return graphs.shift_by(g, word, words[-1], lambda w, by: graphs.shift_right(w, by, op.signed))

    return make


def _rotate(left: bool) -> Callable[[Graph, Operation, list[Word]], Word]:
    def make(g: Graph, op: Operation, words: list[Word]) -> Word:
        word = constant(op.value, op.width) if op.value is not None else words[0]
        return graphs.rotate_by(g, word, words[-1], left)

    return make


def _division(part: int) -> Callable[[Graph, Operation, list[Word]], Word]:
    def make(g: Graph, op: Operation, words: list[Word]) -> Word:
        a, b = _operands(op, words)
        return (graphs.divide_signed if op.signed else graphs.divide)(g, a, b)[part]

    return make


#: How each operation's result is made.
NAMES: dict[str, Callable[[Graph, Operation, list[Word]], Word]] = {
    "add": _binary(lambda g, a, b, _: graphs.add(g, a, b)),
    "sub": _binary(lambda g, a, b, _: graphs.subtract(g, a, b)),
    "mul": _times,
    "floordiv": _division(0),
    "mod": _division(1),
    "lt": _binary(lambda g, a, b, signed: [graphs.less(g, a, b, signed)]),
    "le": _binary(lambda g, a, b, signed: [graphs.less(g, b, a, signed) ^ 1]),
    "gt": _binary(lambda g, a, b, signed: [graphs.less(g, b, a, signed)]),
    "ge": _binary(lambda g, a, b, signed: [graphs.less(g, a, b, signed) ^ 1]),
    "eq": _binary(lambda g, a, b, _: [graphs.equal(g, a, b)]),
    "ne": _binary(lambda g, a, b, _: [graphs.equal(g, a, b) ^ 1]),
    "and": _binary(lambda g, a, b, _: [g.and_(x, y) for x, y in zip(a, b, strict=True)]),
    "or": _binary(lambda g, a, b, _: [g.or_(x, y) for x, y in zip(a, b, strict=True)]),
    "xor": _binary(lambda g, a, b, _: [g.xor(x, y) for x, y in zip(a, b, strict=True)]),
    "min": _binary(graphs.smaller),
    "max": _binary(graphs.larger),
    "not": lambda _g, _, words: graphs.inverted(words[0]),
    "neg": lambda g, _, words: graphs.negate(g, words[0]),
    "abs": lambda g, _, words: graphs.magnitude(g, words[0]),
    "some": lambda g, _, words: [graphs.some(g, words[0])],
    "select": _select,
    "lshift": _shift(True),
    "rshift": _shift(False),
    "rotate_left": _rotate(True),
    "rotate_right": _rotate(False),
}


def netlist(op: Operation) -> Netlist:
    """The circuit, with every XOR a gate of its own. Its output port is `y`.

    Raises:
        ParameterError: an unknown operation, or one too wide.
    """
    if op.name not in NAMES:
        raise ParameterError(f'there is no operation "{op.name}" on integers; there are {", ".join(NAMES)}')
    if op.name == "mul" and op.value is None and op.width > MAX_PRODUCT:
        raise ParameterError(
            f"products of {op.width} bits take {op.width * op.width} bootstraps and more: take {MAX_PRODUCT} bits "
            "at most, or multiply in parts"
        )
    if op.name in ("floordiv", "mod") and op.width > MAX_DIVISION:
        raise ParameterError(f"division of {op.width} bits: take {MAX_DIVISION} bits at most")
    return graphs.build(op.name, op.widths, lambda g, words: {"y": NAMES[op.name](g, op, words)})


@dataclass(frozen=True)
class Compiled:
    """A circuit for operands of some noise, and the noise of its result.

    Attributes:
        circuit: with sums where they may be. Output y is the result; held, which circuits whose result is a sum may
            have, are the gates within whose noise is in it.
        variance: of the result's bits, in squared units of M.
        is_sum: whether the result's bits carry noise of the operands.
        failure_log2: of the union bound over the circuit and the decryption of its result, for one computation.
    """

    circuit: Circuit
    variance: float
    is_sum: bool
    failure_log2: float


_Key = tuple[Operation, str, str, tuple[sums.PortNoise, ...]]
_kept: OrderedDict[_Key, Compiled | None] = OrderedDict()
_lock = threading.Lock()
#: Circuits being made, so that two threads do not make one twice.
_making: dict[_Key, threading.Event] = {}


def _forget_threads() -> None:
    """In a forked child: what other threads were making, and whether they held the lock, ended with them."""
    global _lock
    _lock = threading.Lock()
    _making.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


def compiled(op: Operation, set_name: str, method: str, operands: tuple[sums.PortNoise, ...]) -> Compiled | None:
    """The circuit of an operation, made at its first use.

    Args:
        op: the operation.
        set_name: of the parameters.
        method: the accumulator.
        operands: noise of each; none for operands that may depend on each other, whose circuit has no sums.

    Returns:
        the circuit, or None where sums among the operands must be refreshed first.
    """
    key = (op, set_name, method, operands)
    while True:
        with _lock:
            if key in _kept:
                _kept.move_to_end(key)
                return _kept[key]
            event = _making.get(key)
            if event is None:
                _making[key] = threading.Event()
                break
        event.wait()
    try:
        made = _compile(*key)
        with _lock:
            _kept[key] = made
            while len(_kept) > KEPT:
                _kept.popitem(last=False)
        return made
    finally:
        with _lock:
            _making.pop(key).set()


def kept() -> int:
    """How many circuits are kept."""
    with _lock:
        return len(_kept)


def _compile(op: Operation, set_name: str, method: str, operands: tuple[sums.PortNoise, ...]) -> Compiled | None:
    plain = netlist(op)
    s = sets.named(set_name, "made for keys that there are already")
    if operands:
        ports = {p.name: n for p, n in zip(plain.inputs, operands, strict=True)}
        try:
            found, result = sums.with_sums(plain, s, method, ports)
        except sums.NoisyError:
            return None
    else:
        worst = sums.PortNoise(noise.input_variance(s, "mux", method))
        found, result = plain, sums.examine(plain, s, method, {p.name: worst for p in plain.inputs})
    if result.held:
        found = replace(found, outputs=(*found.outputs, Port("held", tuple(sorted(result.held)))))
    circuit = Circuit(found, optimise=False)
    circuit.prepare()
    return Compiled(circuit, result.outputs["y"], "y" in result.sums, result.failure_log2)
