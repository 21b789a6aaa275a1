# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What a plan of `ringforge matmul` takes on a machine, stage by stage, and the plan that suits the machine.

A stage's counts (:class:`ringforge.matmul.cost.StageWork`) are exact. They become cycles by the closed form
(:meth:`.closed_form.Primitives.counted`), which is fitted to what the replica takes for compiled programs.

On this machine a giant step costs far more than a baby step: the array makes its ModDown and ModUp, while a baby step
is products that the key stream feeds. So baby steps chosen for the machine are more than those for a CPU, until their
keys fill near memory and come over the link to far memory: :func:`choose` weighs both.

>>> choose("fame-l", context, 160, 160, 160).cycles  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from weakref import WeakKeyDictionary

from ringforge._native import GadgetShape
from ringforge.hw.machines.matmul.closed_form import Gadget, Primitives
from ringforge.hw.machines.matmul.config import FameConfig
from ringforge.hw.machines.matmul.far import FarPlan, Link, Step, plan_far
from ringforge.matmul import planner
from ringforge.matmul.cost import ProductCost, StageWork, pair_outline
from ringforge.matmul.plan import ProductPlan
from ringforge.matmul.planner import Choice

#: Parts of the time that a key takes on the link to far memory which are tried as the price of a baby step.
SHARES: Final = (0.0, 0.25, 0.5, 1.0)


@dataclass(frozen=True)
class StagePrice:
    """A stage on one element. Cycles are of the whole stage, polynomials are those that near memory moves.

    Attributes:
        work: its counts.
        mixed: products of conversions to mixed radix, which the library's quotients in floating point do without.
        array: cycles of the array when nothing waits: log2 N · R for a transform, R for a product.
        memory: cycles of near memory alone.
        cycles: the price.
        keys, masks, data: polynomials of keys, of masks, of twiddles and what is stored meanwhile.
    """

    work: StageWork
    mixed: int
    array: float
    memory: float
    cycles: float
    keys: int
    masks: int
    data: int


@dataclass(frozen=True)
class Shifts:
    """Key switches and masks of a lazy plan's sum of products.

    Attributes:
        keys: the rotation of each key switch in order, None for a relinearisation.
        masks: masks that are read; of two that complement each other, one.
    """

    keys: tuple[int | None, ...]
    masks: int


_shifts: WeakKeyDictionary[ProductPlan, Shifts] = WeakKeyDictionary()


def shifts(plan: ProductPlan) -> Shifts:
    """The sum of products of a plan; nothing where products are not summed before they are relinearised."""
    if not plan.lazy:
        return Shifts((), 0)
    if plan not in _shifts:
        _shifts[plan] = _outlined(plan)
    return _shifts[plan]


def _outlined(plan: ProductPlan) -> Shifts:
    keys: list[int | None] = []
    known: set[tuple[int, int, int]] = set()
    masks = 0

    def turn(side: int, base: int, step: int) -> None:
        if step and (side, base, step) not in known:
            known.add((side, base, step))
            keys.append(step)

    for group in plan.groups:
        for k in group.pairs:
            for side, terms in enumerate(pair_outline(plan, k)):
                last = terms[0].step
                if terms[0].mask is None:
                    turn(side, terms[0].base, last)
                    continue
                for t in terms:
                    turn(side, t.base, (t.step - last) % plan.slots)
                keys += [last] if last else []
                masks += 1 if len(terms) == 2 and sum(t.size for t in terms) == plan.slots else len(terms)
        keys += [None, group.outer % plan.slots] if group.outer else [None]
    return Shifts(tuple(keys), masks)


def primitives(config: FameConfig, gadget: GadgetShape) -> Primitives:
    """Costs on one element for a set's gadget."""
    return Primitives(config, Gadget(gadget.degree.bit_length() - 1, 0, gadget.special, gadget.alpha))


def stages(config: FameConfig, gadget: GadgetShape, plan: ProductPlan, cost: ProductCost) -> list[StagePrice]:
    """The stages of a plan, in order."""
    p = primitives(config, gadget)
    return [_stage(p, cost, s, shifts(plan).masks if s.phase == "products" else None) for s in cost.stages]


def _stage(p: Primitives, cost: ProductCost, stage: StageWork, masked: int | None) -> StagePrice:
    w, x, special = stage.work, stage.limbs, p.gadget.special
    (part,) = p.counted(replace(cost, phases={stage.phase: w}), x, x, x)
    keys, masks = part.moved["keys"], part.moved["masks"]
    data = sum(part.moved.values()) - keys - masks
    memory = p.fetched * sum(part.moved.values())
    mixed = w.mod_up * sum(a * (a - 1) // 2 for a in p.gadget.digits(x)) + w.mod_down * special * (special - 1) // 2
    if masked is not None:
        masks = masked * p.gadget.extended(x)
    array = float(sum(part.bound.values()))
    return StagePrice(stage, mixed, array, memory, max(part.total, memory), round(keys), round(masks), round(data))


@dataclass(frozen=True)
class FamePricing:
    """Prices of the planner for a machine.

    Attributes:
        config: the machine.
        share: of the time that a key takes on the link to far memory, added to the price of a step.
    """

    config: FameConfig
    share: float = 0.0

    def step_weights(self, gadget: GadgetShape, limbs: int) -> tuple[float, float]:
        """Cycles of a baby step, and of a giant step."""
        p = primitives(self.config, gadget)
        polynomials = 2 * len(p.gadget.digits(limbs)) * p.gadget.extended(limbs)
        key = p.switched(limbs, "keys").total + self.share * polynomials * Link.of(self.config, p.gadget.log_n).cycles
        return key, key + p.mod_down(p.gadget.special, limbs, 1).total + p.mod_up(limbs).total

    def weigh(self, gadget: GadgetShape, plan: ProductPlan, cost: ProductCost) -> float:
        """Cycles, at least those in which the link brings what near memory has no room for."""
        p, config = primitives(self.config, gadget), self.config
        priced = stages(config, gadget, plan, cost)
        missing = constants(gadget, cost, priced) - config.pes * room(config, gadget, cost)
        cycles = max(sum(s.cycles for s in priced), missing * Link.of(config, p.gadget.log_n).cycles)
        return cycles / config.pes


def constants(gadget: GadgetShape, cost: ProductCost, priced: Sequence[StagePrice]) -> int:
    """Polynomials of all keys and masks; a mask is read once."""
    return int(cost.key_storage // (8 * gadget.degree)) + sum(s.masks for s in priced)


def room(config: FameConfig, gadget: GadgetShape, cost: ProductCost) -> int:
    """Polynomials of keys and masks that an element's near memory holds beside ciphertexts and tables."""
    log_n = gadget.degree.bit_length() - 1
    first = max(s.limbs for s in cost.stages)
    taken = cost.working // (8 * gadget.degree) + first + gadget.special
    return int(config.element_bytes // config.polynomial_bytes(log_n) - taken)


@dataclass(frozen=True)
class Planned:
    """A plan with its price on a machine.

    Attributes:
        choice: of the planner; its options carry the machine's pricing, so that a run splits steps alike.
        stages: of the plan, in order.
        far: what comes from far memory, and when; None where near memory holds all keys and masks, or for a machine of
            several elements, where only the link's rate counts.
        cycles: of the product, stalls included.
    """

    choice: Choice
    stages: tuple[StagePrice, ...]
    far: FarPlan | None
    cycles: float


def choose(
    machine: str | FameConfig,
    context: Any,
    m: int,
    l: int,  # noqa: E741
    n: int,
    level: int | None = None,
    *,
    method: str = "auto",
) -> Planned:
    """The plan that a machine takes the least time for.

    Args:
        machine: a configuration, or its name.
        context: of the ciphertexts.
        m, l, n: A is m x l, B is l x n.
        level: of the inputs; None: each candidate starts as low as it can.
        method: one of :data:`ringforge.matmul.planner.METHODS`.

    Raises:
        As :func:`ringforge.matmul.planner.choose` and :func:`.far.plan_far`.
    """
    config = FameConfig.named(machine) if isinstance(machine, str) else machine
    gadget = context.gadget
    pricings = [None, *(FamePricing(config, share) for share in SHARES)]
    tried: dict[tuple[Any, ...], tuple[float, Choice]] = {}
    for pricing in pricings:
        choice = planner.choose(context, m, l, n, level, method=method, pricing=pricing)
        cost = choice.chosen.cost
        bound = FamePricing(config).weigh(gadget, choice.plan, cost)
        tried.setdefault((choice.plan, *(s.steps for s in cost.stages)), (bound, choice))
    best: Planned | None = None
    for bound, choice in sorted(tried.values(), key=lambda t: t[0]):
        if best is not None and bound >= best.cycles:
            break
        planned = _planned(config, gadget, choice, bound)
        if best is None or planned.cycles < best.cycles:
            best = planned
    assert best is not None
    return best


def price(machine: str | FameConfig, context: Any, choice: Choice) -> Planned:
    """A plan, however it was chosen, on a machine.

    Raises:
        As :func:`.far.plan_far`.
    """
    config = FameConfig.named(machine) if isinstance(machine, str) else machine
    bound = FamePricing(config).weigh(context.gadget, choice.plan, choice.chosen.cost)
    return _planned(config, context.gadget, choice, bound)


def _planned(config: FameConfig, gadget: GadgetShape, choice: Choice, bound: float) -> Planned:
    plan, cost = choice.plan, choice.chosen.cost
    priced = tuple(stages(config, gadget, plan, cost))
    if config.pes > 1 or constants(gadget, cost, priced) <= room(config, gadget, cost):
        return Planned(choice, priced, None, bound)
    far = far_plan(config, gadget, plan, cost)
    return Planned(choice, priced, far, far.cycles)


# ---- far memory ----------------------------------------------------------------------------------


def far_steps(config: FameConfig, gadget: GadgetShape, plan: ProductPlan, cost: ProductCost) -> list[Step]:
    """A plan as steps for :func:`.far.plan_far`: what an element of the machine reads of keys and masks, and when.

    Key switches of a stage are spread evenly over it, as divisions and ModUps stand between them; a step is one of a
    limb. Keys are known by their rotation, and come back where two stages share it.
    """
    steps: list[Step] = []
    for number, stage in enumerate(stages(config, gadget, plan, cost)):
        keys = shifts(plan).keys if stage.work.phase == "products" else stage.work.steps
        steps += _far_stage(number, stage, keys, gadget)
    return steps


def _far_stage(number: int, stage: StagePrice, keys: Sequence[int | None], gadget: GadgetShape) -> Iterator[Step]:
    x = stage.work.limbs
    if not keys:
        yield Step(stage.cycles, ())
        return
    digits, extended = gadget.digits(x), gadget.extended(x)
    pieces = len(keys) * extended
    for i in range(pieces):
        limb = i % extended
        # Special primes come last, whatever the level.
        prime = limb if limb < x else limb - x - gadget.special
        key = tuple((keys[i // extended], prime, part) for part in range(2 * digits))
        first, end = i * stage.masks // pieces, (i + 1) * stage.masks // pieces
        yield Step(stage.cycles / pieces, key + tuple(("mask", number, k) for k in range(first, end)))


def far_plan(config: FameConfig, gadget: GadgetShape, plan: ProductPlan, cost: ProductCost) -> FarPlan:
    """What of a plan's keys and masks stays near, and when the rest is copied.

    Raises:
        As :func:`.far.plan_far`.
    """
    log_n = gadget.degree.bit_length() - 1
    return plan_far(
        far_steps(config, gadget, plan, cost),
        room(config, gadget, cost),
        Link.of(config, log_n),
        far_room=config.element_far_bytes // config.polynomial_bytes(log_n),
    )
