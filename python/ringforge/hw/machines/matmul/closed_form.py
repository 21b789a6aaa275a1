# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Cycles of the matmul accelerator from counts: no program, no events.

With R = N/c rows, log N = n, x limbs, k special primes, e = x + k, digits of alpha limbs, beta = ceil(x / alpha), the
array of an element takes

    T = n R + 30        a transform (short ones: gaps between stages, unless two are interleaved)
    M = R               a multiply-accumulate, issued back to back (the length of the pipeline at least)

and memory a polynomial in w = R / rows per cycle of the element's ports. Parts of a linear transform of
d diagonals, r of them rotations, which are divided by P and the last prime together (g = k + 1 limbs go, x - 1 stay):

    digits      x T                                   and in mixed radix sum over digits of a (a - 1) / 2 products
    ModUp       (beta e - x) T                        and alpha products each
    rotations   r e (2 beta + 2) M, beside w (2 beta keys + 1 mask) each
    ModDown     2 g T, g (g - 1) products, then 2 (x - 1) (T + (g + 1) M)

Rotations take the longer of array and memory. Memory works ahead of the other parts, which are the array's alone but
for what nothing hides: the first loads and the last stores, and polynomials that a product of ciphertexts asks for when
the array is free. A limb is a chain, so the array waits for results: ModUp's transform, products with keys, what
ModDown does. That is some times what a transform and a product take from the last row read to the last one written,
48 cycles, for each of the e limbs, which matters where R is small. There polynomials go through transforms two at a
time as far as the program finds two (`raised_in_pairs`); the others leave gaps. Key switches outside of linear
transforms are made of the same parts. `Price.bound` has the array alone: rotations and once-per-transform parts as
transforms of n R and products of R.

Constants that are marked as fitted were chosen on cases that the replica took (`draws.drawn`, seeds 4001 to 4003; the
named machines at several levels), not on those that are held against RTL.

>>> price("fame-l", parameters, (160, 160, 160), "fame").seconds  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Self

from ringforge import _native
from ringforge.errors import LevelError, ParameterError
from ringforge.hw.machines.matmul.config import FameConfig
from ringforge.hw.machines.matmul.target import DIGITS, PAIR_ROWS, limit
from ringforge.matmul import planner
from ringforge.matmul.cost import ProductCost
from ringforge.matmul.methods import maps

#: Methods that have a price: the paper's Algorithm 2, and the plans that `ringforge matmul plan` makes.
METHODS: Final = ("fame", "ringforge")
#: From the row that a multiply-accumulate reads to the one that the next may read of its result.
MAC_GAP: Final = 24
#: The same between stages of a transform, and what a transform takes besides its stages' rows.
STAGE_GAP: Final = 30
#: From the row that a multiply-accumulate reads to its write.
MAC_LENGTH: Final = 18
#: Cycles that the chain of a limb modulo P·Q waits for results: how often in a linear transform and in a product of
#: ciphertexts it waits for a transform and a product to be written. Fitted.
LIMB_WAIT: Final = 1.5 * (STAGE_GAP + MAC_LENGTH)
PRODUCT_WAIT: Final = 3 * (STAGE_GAP + MAC_LENGTH)
#: From the last row of a product with a key to the first one of the product with a mask that reads its automorphism,
#: besides the automorphism's R rows. Fitted.
AUTO_GAP: Final = 41
#: Times w before a linear transform's array is busy and after it was, in loads and stores that nothing hides. Fitted.
OPEN: Final = 6.5
#: The same of a product of ciphertexts, times R. Fitted.
PRODUCT_OPEN: Final = 6.5
#: Polynomials for each limb of a product that memory moves while no transform runs: five streams and two stores.
PRODUCT_MOVED: Final = 7
#: From a burst's last line to the first of the one that waits for its room, besides latency.
MEMORY_GAP: Final = 4
#: Copies for each product of a conversion from two banks. Fitted.
MOVES: Final = 0.2
#: Of plans by the library's counts: tables that a transform loads; polynomials stored or loaded again for each limb of
#: a ModDown's input, and for each limb that goes and each that stays; share of memory's time that the array waits.
#: Fitted.
TABLES: Final = 0.9
STORED: Final = 1.5
RELOADED: Final = 0.66
EXPOSED: Final = 0.75
#: Polynomials that rotations work with, besides a limb of each digit.
WORKING: Final = 5
#: Times R that an intermediate costs which goes to memory and comes back. Fitted.
SPILLED: Final = 2.2
#: Entities of memory traffic.
ENTITIES: Final = ("keys", "masks", "ciphertexts", "working", "twiddles")


@dataclass(frozen=True)
class Gadget:
    """Hybrid key switching of a parameter set.

    Attributes:
        log_n: log2 of the degree.
        limbs: of a fresh ciphertext, L + 1.
        special: k, primes of P.
        digit: alpha, limbs of a digit.
    """

    log_n: int
    limbs: int
    special: int
    digit: int

    @classmethod
    def of(cls, parameters: _native.Parameters) -> Self:
        """Of a named or own set."""
        return cls(
            int(parameters.log_n), int(parameters.max_level) + 1, len(parameters.p), int(parameters.limbs_per_digit)
        )

    def digits(self, limbs: int) -> list[int]:
        """Limbs of each digit."""
        return [min(self.digit, limbs - first) for first in range(0, limbs, self.digit)]

    def extended(self, limbs: int) -> int:
        """Limbs modulo P·Q."""
        return limbs + self.special


Amounts = Mapping[str, float]


def _added(a: Amounts, b: Amounts) -> Amounts:
    return {name: a.get(name, 0.0) + b.get(name, 0.0) for name in {**a, **b}}


@dataclass(frozen=True)
class Cost:
    """Cycles of one element by part, what the array alone is bound to, polynomials that memory moves by entity."""

    cycles: Amounts = field(default_factory=dict)
    bound: Amounts = field(default_factory=dict)
    moved: Amounts = field(default_factory=dict)

    def __add__(self, other: Cost) -> Cost:
        return Cost(_added(self.cycles, other.cycles), _added(self.bound, other.bound), _added(self.moved, other.moved))

    def times(self, count: float) -> Cost:
        """So often."""

        def scaled(amounts: Amounts) -> Amounts:
            return {name: count * amount for name, amount in amounts.items()}

        return Cost(scaled(self.cycles), scaled(self.bound), scaled(self.moved))

    @property
    def total(self) -> float:
        """All cycles."""
        return sum(self.cycles.values(), 0.0)


@dataclass(frozen=True)
class Primitives:
    """Costs on one element.

    Attributes:
        config: the machine.
        gadget: of the parameter set.
    """

    config: FameConfig
    gadget: Gadget

    @property
    def rows(self) -> int:
        """R."""
        return self.config.rows(self.gadget.log_n)

    @property
    def pass_(self) -> int:
        """M: a multiply-accumulate whose operand the one before may have written."""
        return max(self.rows, MAC_GAP)

    @property
    def paired(self) -> bool:
        """Programs have transforms two at a time where they can: alone they would wait for their own results."""
        return self.rows < PAIR_ROWS

    @property
    def single(self) -> float:
        """T, one at a time: a stage waits for the rows that it reads."""
        n, rows = self.gadget.log_n, self.rows
        return n * rows + (n - 1) * max(0, STAGE_GAP - 4 - (rows - 1) // 2) + STAGE_GAP

    @property
    def pair(self) -> float:
        """Two transforms in one instruction: stages in turn, so that each has the other's rows to wait."""
        n, rows = self.gadget.log_n, self.rows
        return 2 * n * rows + (n - 1) * max(0, STAGE_GAP - 3 - rows) + STAGE_GAP

    @property
    def fetched(self) -> float:
        """w: cycles in which the element's ports move a polynomial.

        They ask for `read_lines` lines ahead, which have to cover latency and the last burst asked for.
        """
        config = self.config
        rate = config.dram_bytes_per_cycle / config.pes / config.line_bytes
        burst = config.burst_rows / min(1.0, rate)
        rate = min(rate, config.read_lines / (config.dram_latency + MEMORY_GAP + burst))
        return max(float(self.rows), config.lines(self.gadget.log_n) / rate)

    @property
    def start(self) -> float:
        """First instructions, moduli, and what the first operation waits for: a table and an operand."""
        return self.config.dram_latency + 3 * (self.gadget.limbs + self.gadget.special) + 2 * self.fetched + 40

    def part(
        self, name: str, transforms: float, passes: float, moved: Mapping[str, float], pairs: float = 0, *, ahead: bool
    ) -> Cost:
        """A part of a schedule.

        Args:
            name: of the part.
            transforms, passes: on the array.
            moved: polynomials by entity.
            pairs: how many times two of the transforms are one instruction.
            ahead: memory moves them while the array does other parts; else the longer of array and memory counts.
        """
        array = pairs * self.pair + (transforms - 2 * pairs) * self.single + passes * self.pass_
        memory = 0.0 if ahead else self.fetched * sum(moved.values())
        bound = (transforms * self.gadget.log_n + passes) * self.rows
        return Cost({name: max(array, memory)}, {name: bound}, moved)

    # ---- parts; `limbs` is x ----

    def raised_in_pairs(self, limbs: int, product: bool) -> int:
        """How many times two digits' conversions are transformed together.

        A linear transform has those of an entry of the modulus table in twos, a product none. Of a single digit two
        special primes are a pair. Digits of one limb are lifted by their transforms, which go alone.
        """
        if not self.paired:
            return 0
        digits, special = self.gadget.digits(limbs), self.gadget.special
        if len(digits) == 1:
            return special // 2 if digits[0] > 1 else 0
        if product:
            return 0
        own = [None] * special + [entry // self.gadget.digit for entry in range(limbs)]
        missing = [[a for d, a in enumerate(digits) if d != o] for o in own]
        return sum(min(m[i : i + 2]) > 1 for m in missing for i in range(0, len(m) - 1, 2))

    def mod_up(self, limbs: int, name: str = "hoisted", *, product: bool = False) -> Cost:
        """Digits of a polynomial, and their limbs modulo P·Q, in a linear transform or in a product of ciphertexts."""
        digits, extended = self.gadget.digits(limbs), self.gadget.extended(limbs)
        steps = sum(a * (a - 1) // 2 for a in digits)
        moved = {"ciphertexts": limbs, "twiddles": limbs}
        made = self.part(name, limbs, steps, moved, limbs // 2 if self.paired else 0, ahead=True)
        new = sum(extended - a for a in digits)
        products = sum(a * (extended - a) for a in digits if a > 1)
        moved = {"ciphertexts": limbs, "twiddles": extended}
        return made + self.part(name, new, products, moved, self.raised_in_pairs(limbs, product), ahead=True)

    def mod_down(self, gone: int, kept: int, polynomials: int, name: str = "hoisted", *, together: bool = True) -> Cost:
        """Polynomials that lose limbs, and are stored.

        Args:
            gone, kept: limbs.
            polynomials: one, or both parts of a ciphertext.
            name: of the part.
            together: limbs that stay are made of both parts at a time, not of one part after the other.
        """
        steps = gone * (gone - 1) // 2
        products = kept * (gone + 1 if gone > 1 else 1)
        pairs = (0, 0)
        if self.paired and polynomials == 2:
            pairs = gone, 0 if gone == 1 else kept if together else 2 * (kept // 2)
        one, two = polynomials * gone, polynomials * kept
        return self.part(name, one, polynomials * steps, {}, pairs[0], ahead=True) + self.part(
            name, two, polynomials * products, {"ciphertexts": two}, pairs[1], ahead=True
        )

    def spilled(self, limbs: int, gone: int) -> int:
        """Polynomials of a linear transform that go to memory and come back.

        Where the digits in mixed radix and what remains of the limbs that go do not stay on chip together, all that is
        subtracted is made at once and stored. A single digit is given up before: what remains and what is subtracted
        then each have the places that rotations leave, and where what remains is more than all places, its mixed radix
        goes out and comes back, too.
        """
        digits = len(self.gadget.digits(limbs))
        places = min(limit(limbs, digits), self.config.slots(self.gadget.log_n))
        left = max(places - digits - WORKING, 2)
        if (limbs if digits > 1 else 0) + 2 * gone <= left:
            return 0
        if digits > 1:
            return 2 * (limbs - 1) + max(0, limbs + 2 * gone - places)
        return max(0, 2 * gone - left) + max(0, 2 * (limbs - 1) - left) + 2 * max(0, 2 * gone - places)

    def switched(self, limbs: int, name: str, masked: int = 0, *, ahead: bool = False) -> Cost:
        """An inner product with a key over all limbs; `masked`: 1 with an automorphism and a mask behind it."""
        beta, extended = len(self.gadget.digits(limbs)), self.gadget.extended(limbs)
        moved = {"keys": 2 * beta * extended, "masks": masked * extended}
        passes = (2 * beta + 2 * masked) * extended
        return self.part(name, 0, passes, {k: v for k, v in moved.items() if v}, ahead=ahead)

    def late(self, limbs: int) -> float:
        """Cycles of a rotation in which the array waits for masks and for automorphisms.

        Masks are late where bank 0 has no place for one ahead of use. Between a sum of products with a key and the
        product of its automorphism there are beta + 1 other products, which take less where polynomials are short.
        """
        digits = len(self.gadget.digits(limbs))
        ahead = self.config.bank_slots(self.gadget.log_n, DIGITS) > digits + 1
        masks = 0.0 if ahead else self.fetched - self.rows
        return self.gadget.extended(limbs) * (masks + 2 * max(0, AUTO_GAP - digits * self.rows))

    def transform_of(self, limbs: int, rotations: int, still: bool, *, rescales: bool = True) -> Cost:
        """A linear transform, hoisted: so many rotations, and a diagonal that is not rotated or none."""
        gone, kept = self.gadget.special + rescales, limbs - rescales
        total = Cost()
        if rotations:
            total += self.mod_up(limbs)
            # P times the first component.
            total += self.part("hoisted", 0, limbs, {"ciphertexts": limbs}, ahead=True)
            rotation = self.switched(limbs, "rotations", 1) + Cost({"rotations": self.late(limbs)})
            total += rotation.times(rotations)
        if still:
            total += self.part("hoisted", 0, 3 * limbs, {"masks": limbs, "ciphertexts": limbs}, ahead=False)
        if not rotations:
            return total + self.mod_down(int(rescales), kept, 2)
        spilled = self.spilled(limbs, gone)
        # What remains of a limb is copied where it shares a bank with those that it is subtracted from.
        waits = LIMB_WAIT * self.gadget.extended(limbs) + OPEN * self.fetched
        # A limb's last automorphism, beside which long polynomials have a subtrahend made.
        alone = self.gadget.extended(limbs) if self.paired else 0
        waits += (alone + 2 * (gone - 1) + SPILLED * spilled) * self.rows
        stored = Cost({"hoisted": waits}, {}, {"working": 2 * spilled})
        return total + stored + self.mod_down(gone, kept, 2, together=not spilled)

    def moved(self, limbs: int) -> float:
        """Cycles in which a ciphertext goes to another element: loaded, sent, received and stored."""
        return 2 * limbs * 2 * (self.rows + self.fetched + self.config.dram_latency)

    def product(self, limbs: int, gone: int) -> Cost:
        """A product of two ciphertexts, relinearised, of which so many limbs are taken."""
        name, kept = "products", limbs - (gone - self.gadget.special)
        # What is relinearised is made twice: its limbs are digits, too.
        total = self.part(name, 0, 5 * limbs, {"ciphertexts": 4 * limbs, "working": 4 * limbs}, ahead=True)
        total += self.mod_up(limbs, name, product=True) + self.switched(limbs, name, ahead=True)
        total += self.mod_down(gone, kept, 2, name)
        waits = PRODUCT_WAIT * self.gadget.extended(limbs) + PRODUCT_OPEN * self.rows
        total += Cost({name: waits + PRODUCT_MOVED * limbs * (self.fetched - self.rows)})
        memory = self.fetched * sum(total.moved.values())
        return total if total.total >= memory else replace(total, cycles={name: memory})

    def counted(self, cost: ProductCost, limbs: int, base: int, product: int) -> list[Cost]:
        """Phases of a plan from the library's counts: operands' transforms, products, what follows."""
        out = []
        special = self.gadget.special
        for name, w in cost.phases.items():
            x = {"left": limbs, "right": limbs, "products": base}.get(name, product)
            steps = w.mod_up * sum(a * (a - 1) // 2 for a in self.gadget.digits(x))
            steps += w.mod_down * special * (special - 1) // 2
            word = 8 << self.gadget.log_n
            transforms = w.ntt + w.intt
            # P times the first component, and what ModDown subtracts and multiplies; sums of what keys gave.
            extended = self.gadget.extended(x)
            passes: float = (
                w.multiplied + w.converted + steps + (w.mod_up + w.mod_down) * x + 2 * extended * w.key_switch
            )
            working = STORED * extended * w.mod_down
            if x > self.config.bank_slots(self.gadget.log_n, 1):
                # What remains of limbs that go is loaded again for those that stay.
                passes += MOVES * w.converted
                working += RELOADED * special * x * w.mod_down
            moved = {
                "keys": w.key_bytes / word,
                "masks": w.plaintext_bytes / word,
                "twiddles": TABLES * transforms,
                "working": working,
            }
            part = "products" if name == "products" else "transforms"
            array = transforms * self.single + passes * self.pass_
            memory = self.fetched * sum(moved.values())
            bound = (transforms * self.gadget.log_n + passes) * self.rows
            out.append(Cost({part: array + EXPOSED * memory}, {part: bound}, moved))
        return out


@dataclass(frozen=True)
class Price:
    """What a product takes on a machine.

    Attributes:
        machine, parameters, shape, method: of what.
        limbs: of the inputs.
        cycles: with keys and masks in near memory.
        seconds: the same at the machine's clock.
        parts: cycles by part.
        bound: cycles by part that the arrays take alone if nothing ever waits.
        bytes: near memory's traffic by entity.
        stored: bytes of all distinct keys, masks and twiddle tables.
        far_bytes: what near memory has no room for, which comes from far memory once a product.
        far_seconds: how long that takes.
        peak_limbs: polynomials that an element keeps at most, masks and tables apart (2 (L + 1) + beta + 1).
    """

    machine: str
    parameters: str
    shape: tuple[int, int, int]
    method: str
    limbs: int
    cycles: float
    seconds: float
    parts: Mapping[str, float]
    bound: Mapping[str, float]
    bytes: Mapping[str, int]
    stored: Mapping[str, int]
    far_bytes: int
    far_seconds: float
    peak_limbs: int

    @property
    def bound_cycles(self) -> float:
        """All parts' bounds."""
        return sum(self.bound.values())

    @property
    def total_seconds(self) -> float:
        """With far memory, which moves data while the machine computes."""
        return max(self.seconds, self.far_seconds)


@dataclass(frozen=True)
class _Plan:
    """Costs of a product: on its longest path, and of all elements; polynomials that are stored."""

    path: Cost
    every: Cost
    stored: Mapping[str, float]


def _algorithm_2(p: Primitives, shape: tuple[int, int, int], limbs: int) -> _Plan:
    """The paper's schedule at falling levels: the operands on an element each, products shared between elements."""
    m, l, n = shape  # noqa: E741
    slots, pes = 1 << (p.gadget.log_n - 1), p.config.pes
    if limbs < 4:
        raise LevelError(f"Algorithm 2 takes three levels, the inputs have {limbs - 1}: take a level of at least 3")
    path, every = Cost(), Cost()
    masks = 0
    known: dict[tuple[int, int, bool], Cost] = {}

    def side(diagonals: Sequence[int] | set[int] | frozenset[int], limbs: int, used: dict[int, int]) -> Cost:
        nonlocal masks
        distinct = {d % slots for d in diagonals}
        r, still = len(distinct - {0}), 0 in distinct
        for s in distinct - {0}:
            used.setdefault(s, limbs)
        masks += r * p.gadget.extended(limbs) + still * limbs
        if (limbs, r, still) not in known:
            known[limbs, r, still] = p.transform_of(limbs, r, still)
        return known[limbs, r, still]

    keys: dict[int, int] = {}
    steps = [(limbs, maps.sigma_diagonals(m, l), maps.tau_diagonals(l, n))]
    steps += [(limbs - 1, maps.epsilon_diagonals(m, l, n, k), maps.omega_diagonals(m, l, n, k)) for k in range(l)]
    for x, *sides in steps:
        costs = [side(diagonals, x, keys) for diagonals in sides]
        every += sum(costs, Cost())
        path += sum(costs, Cost()) if pes == 1 else max(costs, key=lambda c: c.total)
    product = p.product(limbs - 2, p.gadget.special)
    end = p.mod_down(1, limbs - 3, 2, "products")
    every += product.times(l) + end
    path += product.times(l / pes) + end
    if pes > 1:
        path += Cost({"bus": l * p.moved(limbs - 2)})
    count = sum(2 * len(p.gadget.digits(x)) * p.gadget.extended(x) for x in (*keys.values(), limbs - 2))
    return _Plan(path, every, {"keys": count, "masks": masks})


def _planned(p: Primitives, gadget: _native.GadgetShape, shape: tuple[int, int, int], limbs: int) -> _Plan:
    """The library's own plan: an operand on an element each, the sum of products on one of them."""
    found = planner._choose(gadget, limbs - 1, *shape, limbs - 1, "ringforge", None, "all", "bsgs").chosen
    base = limbs - found.plan.transforms
    left, right, *rest = p.counted(found.cost, limbs, base, base - int(found.plan.masked))
    word = 8 << p.gadget.log_n
    stored = {"keys": found.cost.key_storage / word, "masks": found.cost.plaintext_storage / word}
    every = sum(rest, left + right)
    path = every if p.config.pes == 1 else sum(rest, max(left, right, key=lambda c: c.total))
    return _Plan(path, every, stored)


def price(
    machine: str | FameConfig,
    parameters: _native.Parameters,
    shape: tuple[int, int, int],
    method: str,
    *,
    level: int | None = None,
) -> Price:
    """Cycles, traffic and memory of a whole product of encrypted matrices.

    Args:
        machine: a configuration by name, or itself.
        parameters: the set.
        shape: m, l, n.
        method: "fame" (Algorithm 2, one transform after the other, as the paper has it) or "ringforge" (the planner's).
        level: of the inputs; default: the highest.

    Raises:
        ParameterError: unknown method, or a degree that the machine does not have. LevelError: too few levels.
        ShapeError: the matrices do not fit a ciphertext.
    """
    if method not in METHODS:
        raise ParameterError(f'there is no price of method "{method}"; choose one of {", ".join(METHODS)}')
    config = FameConfig.named(machine) if isinstance(machine, str) else machine
    gadget = Gadget.of(parameters)
    if not config.min_log_n <= gadget.log_n <= config.max_log_n:
        raise ParameterError(
            f"machine {config.name} takes degrees 2^{config.min_log_n} to 2^{config.max_log_n}, {parameters.name} has "
            f"2^{gadget.log_n}"
        )
    limbs = gadget.limbs if level is None else level + 1
    if not 1 <= limbs <= gadget.limbs:
        raise LevelError(f"the set has levels 0 to {gadget.limbs - 1}, not {level}")
    p = Primitives(config, gadget)
    if method == "fame":
        plan = _algorithm_2(p, shape, limbs)
    else:
        plan = _planned(p, _native.Context(parameters).gadget, shape, limbs)
    size = config.polynomial_bytes(gadget.log_n)
    kept = {**plan.stored, "twiddles": config.pes * (gadget.limbs + gadget.special)}
    kept_bytes = {name: int(count * size) for name, count in kept.items()}
    far = max(0, sum(kept_bytes.values()) - config.dram_bytes)
    return Price(
        machine=config.name,
        parameters=parameters.name,
        shape=shape,
        method=method,
        limbs=limbs,
        cycles=plan.path.total,
        seconds=plan.path.total / config.clock_hz,
        parts=dict(plan.path.cycles),
        bound=dict(plan.path.bound),
        bytes={name: int(plan.every.moved.get(name, 0.0) * size) for name in ENTITIES},
        stored=kept_bytes,
        far_bytes=far,
        far_seconds=far / config.far_bytes_per_second,
        peak_limbs=2 * limbs + len(gadget.digits(limbs)) + 1,
    )
