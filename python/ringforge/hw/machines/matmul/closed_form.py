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

A part takes the longer of array and memory. Key switches outside of linear transforms are made of the same parts.
`Price.bound` has the array alone: rotations and once-per-transform parts as transforms of n R and products of R.

>>> price("fame-l", parameters, (160, 160, 160), "fame").seconds  # doctest: +SKIP
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Self

from ringforge import _native
from ringforge.errors import LevelError, ParameterError
from ringforge.hw.machines.matmul.config import FameConfig
from ringforge.matmul import planner
from ringforge.matmul.cost import ProductCost
from ringforge.matmul.methods import maps

#: Methods that have a price: the paper's Algorithm 2, and the plans that `ringforge matmul plan` makes.
METHODS: Final = ("fame", "ringforge")
#: From the row that a multiply-accumulate reads to the one that the next may read of its result.
MAC_GAP: Final = 24
#: The same between stages of a transform, and what a transform takes besides its stages' rows.
STAGE_GAP: Final = 30
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


@dataclass
class Cost:
    """Cycles of one element by part, what the array alone is bound to, polynomials that memory moves by entity."""

    cycles: Counter[str] = field(default_factory=Counter)
    bound: Counter[str] = field(default_factory=Counter)
    moved: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.cycles + other.cycles, self.bound + other.bound, self.moved + other.moved)

    def times(self, count: float) -> Cost:
        """So often."""

        def scaled(c: Counter[str]) -> Counter[str]:
            return Counter({k: v * count for k, v in c.items()})

        return Cost(scaled(self.cycles), scaled(self.bound), scaled(self.moved))

    @property
    def total(self) -> float:
        """All cycles."""
        return float(sum(self.cycles.values()))


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
    def transform(self) -> float:
        """T."""
        n, rows = self.gadget.log_n, self.rows
        if rows < 4 * STAGE_GAP:
            return (n * max(2 * rows, STAGE_GAP) + STAGE_GAP) / 2
        return n * rows + STAGE_GAP

    @property
    def fetched(self) -> float:
        """w: cycles in which the element's ports move a polynomial."""
        return self.rows / self.config.rows_per_cycle

    @property
    def start(self) -> float:
        """First instructions, moduli, and what the first operation waits for: a table and an operand."""
        return self.config.dram_latency + 3 * (self.gadget.limbs + self.gadget.special) + 2 * self.fetched + 40

    def part(self, name: str, transforms: float, passes: float, moved: Mapping[str, float]) -> Cost:
        """A part of a schedule: the longer of array and memory."""
        array = transforms * self.transform + passes * self.pass_
        memory = self.fetched * sum(moved.values())
        bound = (transforms * self.gadget.log_n + passes) * self.rows
        return Cost(Counter({name: max(array, memory)}), Counter({name: bound}), Counter(moved))

    # ---- parts; `limbs` is x ----

    def mod_up(self, limbs: int, name: str = "hoisted") -> Cost:
        """Digits of a polynomial, and their limbs modulo P·Q."""
        digits, extended = self.gadget.digits(limbs), self.gadget.extended(limbs)
        steps = sum(a * (a - 1) // 2 for a in digits)
        made = self.part(name, limbs, steps, {"ciphertexts": limbs, "twiddles": limbs})
        new = sum(extended - a for a in digits)
        products = sum(a * (extended - a) for a in digits)
        return made + self.part(name, new, products, {"ciphertexts": limbs, "twiddles": extended})

    def mod_down(self, gone: int, kept: int, polynomials: int, name: str = "hoisted") -> Cost:
        """Polynomials that lose limbs, and are stored."""
        steps = gone * (gone - 1) // 2
        return self.part(name, gone, steps, {"working": self.spilled(gone, kept)}).times(polynomials) + self.part(
            name, kept, kept * (gone + 1), {"ciphertexts": kept}
        ).times(polynomials)

    def spilled(self, gone: int, kept: int) -> float:
        """Polynomials by which limbs that go exceed the scratchpad: stored once, loaded once for each that stays."""
        slots = self.config.slots(self.gadget.log_n)
        missing = max(0, kept + 1 + 2 * gone + len(self.gadget.digits(kept)) + 7 - slots)
        return min(gone, missing / 2) * (1 + kept)

    def switched(self, limbs: int, name: str, masked: int = 0) -> Cost:
        """An inner product with a key over all limbs; `masked`: 1 with an automorphism and a mask behind it."""
        beta, extended = len(self.gadget.digits(limbs)), self.gadget.extended(limbs)
        moved = {"keys": 2 * beta * extended, "masks": masked * extended}
        return self.part(name, 0, (2 * beta + 2 * masked) * extended, {k: v for k, v in moved.items() if v})

    def transform_of(self, limbs: int, rotations: int, still: bool, *, rescales: bool = True) -> Cost:
        """A linear transform, hoisted: so many rotations, and a diagonal that is not rotated or none."""
        gone, kept = self.gadget.special + rescales, limbs - rescales
        total = Cost()
        if rotations:
            total += self.mod_up(limbs)
            total += self.part("hoisted", 0, limbs, {"ciphertexts": limbs})  # P times the first component
            total += self.switched(limbs, "rotations", 1).times(rotations)
        if still:
            total += self.part("hoisted", 0, 3 * limbs, {"masks": limbs, "ciphertexts": limbs})
        return total + self.mod_down(gone if rotations else rescales, kept, 2)

    def product(self, limbs: int, gone: int) -> Cost:
        """A product of two ciphertexts, relinearised, of which so many limbs are taken."""
        name = "products"
        total = self.part(name, 0, 4 * limbs, {"ciphertexts": 4 * limbs, "working": 2 * limbs})
        total += self.mod_up(limbs, name) + self.switched(limbs, name)
        total += self.part(name, 0, 2 * limbs, {"working": 2 * limbs})
        return total + self.mod_down(gone, limbs - (gone - self.gadget.special), 2, name)

    def counted(self, cost: ProductCost, limbs: int, base: int, product: int) -> list[Cost]:
        """Phases of a plan from the library's counts: operands' transforms, products, what follows."""
        digit = self.gadget.digit
        out = []
        for name, w in cost.phases.items():
            x = {"left": limbs, "right": limbs, "products": base}.get(name, product)
            gone = min(self.gadget.special + 1, max(1, int(w.intt)))
            steps = w.mod_up * sum(a * (a - 1) // 2 for a in self.gadget.digits(x))
            steps += w.mod_down * gone * (gone - 1) // 2 if digit > 1 or self.gadget.special > 1 else 0
            word = 8 << self.gadget.log_n
            keys, masks = w.key_bytes / word, w.plaintext_bytes / word
            # P times the first component, and what ModDown subtracts and multiplies.
            other = w.mod_up * x + w.mod_down * x
            ends = 4 * x * (w.mod_up + w.mod_down / 2)
            sums = 2 * self.gadget.extended(x) * w.key_switch
            part = "products" if name == "products" else "hoisted"
            out.append(
                self.part(part, w.ntt + w.intt, w.converted + steps + other, {"ciphertexts": ends, "working": 0.0})
                + self.part("rotations", 0, w.multiplied, {"keys": keys, "masks": masks, "working": sums})
            )
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


def _algorithm_2(
    p: Primitives, shape: tuple[int, int, int], limbs: int
) -> tuple[list[Cost], dict[str, int], tuple[int, ...]]:
    """The paper's schedule at falling levels: costs of each element, what is stored, limbs of each step."""
    m, l, n = shape  # noqa: E741
    slots = 1 << (p.gadget.log_n - 1)
    if limbs < 4:
        raise LevelError(f"Algorithm 2 takes three levels, the inputs have {limbs - 1}: take a level of at least 3")

    def steps(diagonals: Sequence[int] | set[int] | frozenset[int]) -> tuple[int, bool]:
        distinct = {d % slots for d in diagonals}
        used.update(distinct - {0})
        return len(distinct - {0}), 0 in distinct

    used: set[int] = set()
    masks = 0
    sides: list[Cost] = []
    for diagonals in (maps.sigma_diagonals(m, l), maps.tau_diagonals(l, n)):
        r, still = steps(frozenset(diagonals))
        masks += r * p.gadget.extended(limbs) + still * limbs
        sides.append(p.transform_of(limbs, r, still))
    keys = dict.fromkeys(used, limbs)
    used.clear()
    turns: list[Cost] = []
    second = limbs - 1
    known: dict[tuple[int, bool], Cost] = {}
    for k in range(l):
        turn = p.product(limbs - 2, p.gadget.special)
        for diagonals in (maps.epsilon_diagonals(m, l, n, k), maps.omega_diagonals(m, l, n, k)):
            r, still = steps(frozenset(diagonals))
            masks += r * p.gadget.extended(second) + still * second
            if (r, still) not in known:
                known[r, still] = p.transform_of(second, r, still)
            turn += known[r, still]
        turns.append(turn)
    for s in used:
        keys.setdefault(s, second)
    last = p.mod_down(1, limbs - 3, 2, "products")
    pes = p.config.pes
    # The two operands on an element each, then every element its share of the products.
    elements = [Cost() for _ in range(pes)]
    for i, side in enumerate(sides):
        elements[i % pes] += side
    for i, turn in enumerate(turns):
        elements[i % pes] += turn
    elements[0] += last
    polynomials = {
        "keys": sum(2 * len(p.gadget.digits(x)) * p.gadget.extended(x) for x in keys.values())
        + 2 * len(p.gadget.digits(limbs - 2)) * p.gadget.extended(limbs - 2),
        "masks": masks,
    }
    return elements, polynomials, (limbs, second, limbs - 2)


def _planned(
    p: Primitives, gadget: _native.GadgetShape, shape: tuple[int, int, int], limbs: int
) -> tuple[list[Cost], dict[str, int], tuple[int, ...]]:
    """The library's own plan."""
    found = planner._choose(gadget, limbs - 1, *shape, limbs - 1, "ringforge", None, "all", "bsgs").chosen
    base = limbs - found.plan.transforms
    product = base - int(found.plan.masked)
    phases = p.counted(found.cost, limbs, base, product)
    pes = p.config.pes
    total = sum(phases, Cost())
    word = 8 << p.gadget.log_n
    stored = {
        "keys": found.cost.key_storage // word,
        "masks": found.cost.plaintext_storage // word,
    }
    return [total.times(1 / pes) for _ in range(pes)], stored, (limbs, base, product)


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
        elements, stored, _ = _algorithm_2(p, shape, limbs)
    else:
        elements, stored, _ = _planned(p, _native.Context(parameters).gadget, shape, limbs)
    slowest = max(elements, key=lambda c: c.total)
    size = config.polynomial_bytes(gadget.log_n)
    moved = sum((e.moved for e in elements), Counter[str]())
    kept = {**stored, "twiddles": gadget.limbs + gadget.special}
    kept_bytes = {name: int(count * size) for name, count in kept.items()}
    far = max(0, sum(kept_bytes.values()) - config.dram_bytes)
    return Price(
        machine=config.name,
        parameters=parameters.name,
        shape=shape,
        method=method,
        limbs=limbs,
        cycles=slowest.total,
        seconds=slowest.total / config.clock_hz,
        parts=dict(slowest.cycles),
        bound=dict(slowest.bound),
        bytes={name: int(moved[name] * size) for name in ENTITIES},
        stored=kept_bytes,
        far_bytes=far,
        far_seconds=far / config.far_bytes_per_second,
        peak_limbs=2 * limbs + len(gadget.digits(limbs)) + 1,
    )
