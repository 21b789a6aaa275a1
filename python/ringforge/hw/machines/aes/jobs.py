# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Programs of the aes machine with their memory: sums of products, relinearisation, transforms alone; prime by prime.

What a prime needs is loaded while the machine works on the one before. Our engine's products lose 2^32 and get it back
once a sum, before the inverse: operands and keys lie in memory as the library has them.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ringforge.errors import ParameterError
from ringforge.hw.core.schedule import schedule
from ringforge.hw.machines.aes.config import BUFFERS, KEYS, NARROW_WORDS, SETS, SLOTS, WORD_BYTES
from ringforge.hw.machines.aes.layout import Memory, Target, Words32, constants, rows_of, twiddles
from ringforge.hw.machines.aes.program import Builder, Op, Program, Unit
from ringforge.hw.machines.aes.timing import Timing

#: Ciphertexts that share a reading of a key, at most: each has a buffer for its sum, and two are for transforms.
BATCH: Final = 2
#: Bytes of a prime's row of constants.
_ROW: Final = NARROW_WORDS * WORD_BYTES


@dataclass(frozen=True)
class Job:
    """A program, and the memory it is for.

    Attributes:
        program, memory. output: address of the results. shape: of the results, words of 32 bits.
        target: machine and primes. cycles: about what it takes.
    """

    program: Program
    memory: Memory
    output: int
    shape: tuple[int, ...]
    target: Target
    cycles: int

    def results(self) -> Words32:
        """What it has stored: in coefficient form, or values in the machine's order."""
        return self.memory.words(self.output, int(np.prod(self.shape))).reshape(self.shape)


@dataclass
class _Compiler:
    """Instructions under way.

    X buffers and slots that are free are taken in the order in which they became so.
    """

    target: Target
    memory: Memory
    stored: range
    shape: tuple[int, ...]
    builder: Builder = field(init=False)

    def __post_init__(self) -> None:
        self.fast = self.target.config.fast
        self.builder = Builder(self.target.log_n, self.fast, [self.stored])
        self._free, self._slots, self._keys = deque(range(BUFFERS)), 0, 0
        self._sets = 0
        t = self.target
        if self.memory.backed:
            pairs = list(zip(t.primes, t.roots, strict=True))
            tables = np.stack([twiddles(t.config, q, root, t.log_n) for q, root in pairs])
            rows = np.stack([constants(t.config, q, t.log_n) for q in t.primes])
            self._tables, self._constants = self.memory.put("tables", tables), self.memory.put("tables", rows)
        else:
            self._tables = self.memory.reserve("tables", WORD_BYTES * t.n * len(t.primes))
            self._constants = self.memory.reserve("tables", _ROW * len(t.primes))

    # ---- places ----

    def take(self) -> int:
        """A buffer."""
        return self._free.popleft()

    def release(self, buffer: int) -> None:
        """It is free when what was begun with it is done."""
        self._free.append(buffer)

    @property
    def free(self) -> int:
        """Buffers that are."""
        return len(self._free)

    # ---- pieces of programs ----

    def prime(self, number: int, *, inverse: bool = True) -> int:
        """Tables and constants of a prime; the set that they are in."""
        t, half = self.target, self.target.n // 2 * WORD_BYTES
        to, self._sets = self._sets, (self._sets + 1) % SETS
        self.builder.add(Op.LOADC, set=to, port=t.card, addr=self._constants + number * _ROW)
        for direction in range(2 if inverse else 1):
            at = self._tables + (2 * number + direction) * half
            self.builder.add(Op.LOADT, set=to, inverse=direction, rows=half // _ROW, port=t.card, addr=at)
        return to

    def transformed(self, of: int, address: int, port: int, *, digits: bool = False) -> int:
        """A buffer with the values of a polynomial of N/2 coefficients in memory, by the tables of a set."""
        slot, self._slots = self._slots, (self._slots + 1) % SLOTS
        self.builder.add(Op.LOADS, dst=slot, half=digits, port=port, addr=address)
        to = self.take()
        if self.fast:
            self.builder.add(Op.NTT, dst=to, src=slot, half=1, set=of)
        else:
            self.builder.add(Op.REVS, dst=to, src=slot)
            self.builder.add(Op.NTT, dst=to, src=to, set=of)
        return to

    def key(self, address: int) -> int:
        """A slot with a key's values."""
        slot, self._keys = self._keys, (self._keys + 1) % KEYS
        self.builder.add(Op.LOADK, dst=slot, addr=address)
        return slot

    def finish(self, of: int, buffer: int, address: int) -> None:
        """Stores the coefficients of a sum of products, whose buffer is free then."""
        b = self.builder
        if self.fast:
            b.add(Op.SCALE, dst=buffer, src=buffer, set=of)
            b.add(Op.NTT, dst=buffer, src=buffer, inverse=1, set=of)
        else:
            to = self.take()
            b.add(Op.REVX, dst=to, src=buffer)
            b.add(Op.NTT, dst=to, src=to, inverse=1, set=of)
            b.add(Op.SCALE, dst=to, src=to, set=of)
            self.release(buffer)
            buffer = to
        self.store(buffer, address)

    def store(self, buffer: int, address: int) -> None:
        """Stores a buffer, which is free then."""
        self.builder.add(Op.STORE, src=buffer, addr=address)
        self.release(buffer)

    def result(self, number: int) -> int:
        """Address of N words of results."""
        return self.stored.start + number * self.target.n * WORD_BYTES

    def job(self) -> Job:
        """What was begun, in the order of starts."""
        config, b = self.target.config, self.builder
        timing = Timing(config, self.target.log_n)
        # A channel of LOAD for each port, then the other units.
        units = [i.port if i.unit == Unit.LOAD else int(i.unit) + config.ports - 1 for i in b.instructions]
        done = [timing.cycles(i) for i in b.instructions]
        busy = [timing.busy(i) for i in b.instructions]
        found = schedule(b.after, units, busy, done, len(Unit) + config.ports - 1)
        return Job(b.program(found.order), self.memory, self.stored.start, self.shape, self.target, found.cycles)


def _begin(target: Target, memory: Memory, shape: tuple[int, ...]) -> _Compiler:
    size = WORD_BYTES * int(np.prod(shape))
    at = memory.reserve("output", size)
    return _Compiler(target, memory, range(at, at + size), shape)


def _placed(memory: Memory, entity: str, words: npt.NDArray[Any] | None, length: int, rows: int, size: int) -> int:
    """Address of rows of so many words of `size` bytes."""
    if words is None:
        return memory.reserve(entity, rows * length * size)
    return memory.put(entity, rows_of(words, length))


@dataclass(frozen=True)
class _Turn:
    """A product, and the outputs, by number, that it is a term of."""

    a: int
    b: int
    outputs: tuple[int, ...]


def _turns(outputs: Sequence[Sequence[tuple[int, int]]]) -> list[tuple[tuple[int, ...], list[_Turn]]]:
    """Outputs that are summed side by side, one or two that share products, and what is multiplied for them.

    A product's factors may stay for the next one that has one of them.
    """
    left = {o: Counter((min(pair), max(pair)) for pair in terms) for o, terms in enumerate(outputs)}
    made: list[tuple[tuple[int, ...], list[_Turn]]] = []
    while left:
        first = next(iter(left))
        shares = {o: (left[first] & left[o]).total() for o in left if o != first}
        other = max(shares, key=lambda o: shares[o], default=first)
        group = (first, other) if shares.get(other) else (first,)
        wanted = [left.pop(o) for o in group]
        both = wanted[0] & wanted[-1] if len(group) > 1 else Counter[tuple[int, int]]()
        turns = [_Turn(*pair, group) for pair in both.elements()]
        for o, terms in zip(group, wanted, strict=True):
            turns += [_Turn(*pair, (o,)) for pair in (terms - both).elements()]
        made.append((group, _chained(turns)))
    return made


def _chained(turns: list[_Turn]) -> list[_Turn]:
    """The same, one that has a factor of the last one next wherever there is such."""
    left, found = [*turns], list[_Turn]()
    while left:
        last = {found[-1].a, found[-1].b} if found else set[int]()
        best = max(range(len(left)), key=lambda k: (len(last & {left[k].a, left[k].b}), -k))
        found.append(left.pop(best))
    return found


class _Operands:
    """Transforms of a prime's operands that are in buffers, while products are made of them in a known order.

    Args:
        c: the program. of: set of the prime's tables. at: address of operand s is at + s * step. uses: operands in the
            order in which products take them.
    """

    def __init__(self, c: _Compiler, of: int, at: int, step: int, uses: Sequence[int]) -> None:
        self._c, self._of, self._at, self._step = c, of, at, step
        self._left: dict[int, deque[int]] = {}
        for turn, s in enumerate(uses):
            self._left.setdefault(s, deque()).append(turn)
        self._held: dict[int, int] = {}

    def room(self, *keep: int) -> None:
        """Sees to it that a buffer is free: what is needed last makes room, but for some."""
        if not self._c.free:
            last = max((s for s in self._held if s not in keep), key=lambda s: self._left[s][0])
            self._c.release(self._held.pop(last))

    def use(self, s: int, *keep: int) -> int:
        """The buffer of an operand, for one use."""
        if s not in self._held:
            self.room(*keep)
            self._held[s] = self._c.transformed(self._of, self._at + s * self._step, 0)
        self._left[s].popleft()
        return self._held[s]

    def spent(self, *operands: int) -> list[int]:
        """Buffers of those that are not used any more: nobody's now."""
        return [self._held.pop(s) for s in {*operands} if not self._left[s]]


def product(
    target: Target, operands: npt.NDArray[np.uint32] | int, outputs: Sequence[Sequence[tuple[int, int]]]
) -> Job:
    """Sums of products of pairs of polynomials, modulo each prime: all N words of them, nothing is reduced further.

    Args:
        operands: (count, primes, n) residues, n at most N/2; or only how many, for a plan without words.
        outputs: for each, pairs of operands; at least one.

    Raises:
        ParameterError: it does not fit; the message says why.
    """
    count = operands if isinstance(operands, int) else len(operands)
    if not outputs or any(not terms for terms in outputs):
        raise ParameterError("a sum of no products: leave it out")
    if any(not 0 <= s < count for terms in outputs for pair in terms for s in pair):
        raise ParameterError(f"a product takes an operand that is not one of {count}")
    words = None if isinstance(operands, int) else operands
    primes, half = len(target.primes), target.n // 2
    memory = Memory(target.config, backed=words is not None)
    at = _placed(memory, "input", words, half, count * primes, WORD_BYTES)
    c = _begin(target, memory, (len(outputs), primes, target.n))
    groups = _turns(outputs)
    uses = [s for _, turns in groups for turn in turns for s in (turn.a, turn.b)]
    for r in range(primes):
        of = c.prime(r)
        held = _Operands(c, of, at + r * half * WORD_BYTES, primes * half * WORD_BYTES, uses)
        for group, turns in groups:
            totals: dict[int, int] = {}
            for turn in turns:
                x = held.use(turn.a)
                y = held.use(turn.b, turn.a)
                spent = held.spent(turn.a, turn.b)
                for number, o in enumerate(turn.outputs, 1):
                    if first := o not in totals:
                        # The last one may take a factor's place.
                        if not spent or number < len(turn.outputs):
                            held.room(turn.a, turn.b)
                            totals[o] = c.take()
                        else:
                            totals[o] = spent.pop()
                    c.builder.add(Op.MUL, dst=totals[o], src=x, src2=y, init=first, set=of)
                for buffer in spent:
                    c.release(buffer)
            for o in group:
                if not c.fast:
                    held.room()
                c.finish(of, totals[o], c.result(o * primes + r))
    return c.job()


def transform(target: Target, operands: npt.NDArray[np.uint32] | int) -> Job:
    """Values of polynomials modulo each prime, (count, primes, N) in the machine's order.

    Args:
        operands: (count, primes, n) residues, n at most N/2; or only how many, for a plan without words.

    Raises:
        ParameterError: it does not fit; the message says why.
    """
    words = None if isinstance(operands, int) else operands
    count = operands if isinstance(operands, int) else len(operands)
    primes, half = len(target.primes), target.n // 2
    memory = Memory(target.config, backed=words is not None)
    at = _placed(memory, "input", words, half, count * primes, WORD_BYTES)
    c = _begin(target, memory, (count, primes, target.n))
    for r in range(primes):
        of = c.prime(r, inverse=False)
        for s in range(count):
            buffer = c.transformed(of, at + (s * primes + r) * half * WORD_BYTES, 0)
            c.store(buffer, c.result(s * primes + r))
    return c.job()


def relinearise(
    target: Target,
    keys: Sequence[Words32] | int,
    digits: Sequence[npt.NDArray[np.uint16]] | int,
    batch: int | None = None,
) -> Job:
    """For each ciphertext and prime the sum of its digits times the keys: all N words of it.

    Args:
        keys: for each digit (primes, N) values in the machine's order; or only how many, for a plan without words.
        digits: for each ciphertext (keys, n), n at most N/2; or only how many.
        batch: ciphertexts that share a reading of the keys. Default: BATCH for our engine; 1 for the published one.

    Raises:
        ParameterError: it does not fit; the message says why.
    """
    backed = not isinstance(keys, int) and not isinstance(digits, int)
    steps, count = (given if isinstance(given, int) else len(given) for given in (keys, digits))
    batch = (BATCH if target.config.fast else 1) if batch is None else batch
    if steps < 1 or not 1 <= batch <= BATCH:
        raise ParameterError(f"{steps} digits, {batch} ciphertexts at once: 1 or more, and 1 to {BATCH}, are possible")
    primes, half, limb = len(target.primes), target.n // 2, target.n * WORD_BYTES
    memory = Memory(target.config, backed=backed)
    key_at = [memory.reserve("keys", primes * limb) for _ in range(steps)] if isinstance(keys, int) else [
        _placed(memory, "keys", key, target.n, primes, WORD_BYTES) for key in keys
    ]  # fmt: skip
    given = [None] * count if isinstance(digits, int) else digits
    digit_at = [_placed(memory, "digits", words, half, steps, 2) for words in given]
    c = _begin(target, memory, (count, primes, target.n))
    for first in range(0, count, batch):
        now = range(first, min(first + batch, count))
        for r in range(primes):
            of, totals = c.prime(r), dict[int, int]()
            for d in range(steps):
                key = c.key(key_at[d] + r * limb)
                for b in now:
                    x = c.transformed(of, digit_at[b] + 2 * d * half, target.card, digits=True)
                    if d == 0:
                        totals[b] = x
                        c.builder.add(Op.MUL, dst=x, src=x, src2=key, key=1, init=1, set=of)
                        continue
                    c.builder.add(Op.MUL, dst=totals[b], src=x, src2=key, key=1, set=of)
                    c.release(x)
            for b in now:
                c.finish(of, totals[b], c.result(b * primes + r))
    return c.job()
