# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Cycles of whole products of encrypted matrices by the replica, from the programs of their parts.

A product is a sequence of kernels, each the machine's own program, which the replica times. What is alike is timed
once; a linear transform of many rotations is timed with `SHORT` and twice as many, from which on cycles grow linearly.
Near memory is taken to hold all keys and masks: what far memory has to bring is `closed_form.Price.far_bytes`.

>>> modelled("fame-l", parameters, (160, 160, 160), "fame").seconds  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from ringforge import _native
from ringforge.errors import LevelError, ParameterError
from ringforge.hw.machines.matmul.closed_form import METHODS, Gadget, Primitives
from ringforge.hw.machines.matmul.config import FameConfig
from ringforge.hw.machines.matmul.draws import timed_product, timed_transform
from ringforge.hw.machines.matmul.kernels import pairs_program, transform_program
from ringforge.hw.machines.matmul.replica import run
from ringforge.hw.vector.isa import Instruction, Words, encode
from ringforge.matmul import planner
from ringforge.matmul.engine import Product
from ringforge.matmul.kernels import HltKernel, PairSumKernel
from ringforge.matmul.methods import maps
from ringforge.matmul.operations import Operations

#: Rotations of the shorter of two transforms from which longer ones are extrapolated.
SHORT: Final = 8
#: Bytes of a port's near memory: what programs need is not limited here.
_ROOM: Final = 1 << 36

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Modelled:
    """A product on a machine, by the replica.

    Attributes:
        machine, parameters, shape, method, limbs: of what; limbs of the inputs.
        cycles: with keys and masks in near memory.
        seconds: the same at the machine's clock.
        parts: cycles by part.
        simulated: instructions that the replica went through.
    """

    machine: str
    parameters: str
    shape: tuple[int, int, int]
    method: str
    limbs: int
    cycles: float
    seconds: float
    parts: Mapping[str, float]
    simulated: int


class _Parts:
    """Times parts of products, each once."""

    def __init__(self, config: FameConfig, parameters: _native.Parameters, say: Progress) -> None:
        size = config.pes * config.near_ports * _ROOM
        self.config = config.model_copy(update={"segment_bytes": _ROOM, "dram_bytes": size})
        self.context = _native.Context(parameters)
        self.primitives = Primitives(self.config, Gadget.of(parameters))
        self.say = say
        self.simulated = 0
        self._known: dict[tuple[int, ...], float] = {}
        self._idle = encode([Instruction.end()])

    def program(self, words: Words) -> float:
        """Cycles of a program on one element while the others do nothing."""
        self.simulated += words.shape[0]
        return float(run(self.config, [words, *[self._idle] * (self.config.pes - 1)]).cycles)

    def transform(self, limbs: int, rotations: int, still: bool) -> float:
        """A memory-optimised linear transform."""
        if rotations > 2 * SHORT:
            short, longer = (self.transform(limbs, n * SHORT, still) for n in (1, 2))
            return longer + (rotations - 2 * SHORT) * (longer - short) / SHORT
        key = limbs, rotations, int(still)
        if key not in self._known:
            self.say(f"transform of {limbs} limbs, {rotations} rotations")
            if rotations:
                timed = timed_transform(self.config, self.context, limbs - 1, rotations, still)
                self._known[key] = self.program(timed.program)
            else:
                self._known[key] = self.primitives.transform_of(limbs, 0, still).total
        return self._known[key]

    def product(self, limbs: int) -> float:
        """A relinearised product."""
        if (limbs,) not in self._known:
            self.say(f"product of {limbs} limbs")
            self._known[limbs,] = self.program(timed_product(self.config, self.context, limbs - 1).program)
        return self._known[limbs,]


def _algorithm_2(parts: _Parts, shape: tuple[int, int, int], limbs: int) -> dict[str, float]:
    """The paper's schedule: both operands at a time on machines of two elements, products shared between them."""
    m, l, n = shape  # noqa: E741
    if limbs < 4:
        raise LevelError(f"Algorithm 2 takes three levels, the inputs have {limbs - 1}: take a level of at least 3")
    slots, pes = 1 << (parts.primitives.gadget.log_n - 1), parts.config.pes

    def side(diagonals: Sequence[int] | set[int] | frozenset[int], limbs: int) -> float:
        distinct = {d % slots for d in diagonals}
        return parts.transform(limbs, len(distinct - {0}), 0 in distinct)

    def both(cycles: tuple[float, float]) -> float:
        return sum(cycles, 0.0) if pes == 1 else max(cycles)

    cycles: dict[str, float] = {}
    cycles["step 1"] = both((side(maps.sigma_diagonals(m, l), limbs), side(maps.tau_diagonals(l, n), limbs)))
    cycles["shifts"] = sum(
        both((side(maps.epsilon_diagonals(m, l, n, k), limbs - 1), side(maps.omega_diagonals(m, l, n, k), limbs - 1)))
        for k in range(l)
    )
    product = parts.product(limbs - 2)
    p = parts.primitives
    cycles["products"] = l * product / pes
    if pes > 1:
        cycles["bus"] = l * p.moved(limbs - 2)
    cycles["end"] = p.mod_down(1, limbs - 3, 2).total
    return cycles


@dataclass(frozen=True)
class _Symbol:
    """A ciphertext of which only the level matters."""

    level: int


class _Recorder(Operations):
    """Notes what becomes of operands; their products are one kernel."""

    def __init__(self) -> None:
        self.transforms: list[HltKernel] = []
        self.rotated: list[int] = []

    def drop(self, x: _Symbol, level: int) -> _Symbol:  # noqa: ARG002
        return _Symbol(level)

    def transform(self, kernel: HltKernel, x: _Symbol) -> _Symbol:
        self.transforms.append(kernel)
        return replace(x, level=kernel.level - 1)

    def replicate(self, x: _Symbol, steps: tuple[int, ...]) -> _Symbol:
        self.rotated += [x.level] * len(steps)
        return x

    def rotate(self, x: Any, step: int) -> Any:
        raise NotImplementedError

    def multiply(self, x: Any, y: Any) -> Any:
        raise NotImplementedError

    def add(self, x: Any, y: Any) -> Any:
        raise NotImplementedError

    def rescale(self, x: Any) -> Any:
        raise NotImplementedError

    def double_real(self, x: Any) -> Any:
        raise NotImplementedError


def _planned(parts: _Parts, shape: tuple[int, int, int], limbs: int) -> dict[str, float]:
    """The planner's own plan: transforms of both operands, then one sum of products."""
    choice = planner.choose(parts.context, *shape, limbs - 1, method="ringforge")
    product = Product(parts.context, choice.plan, limbs - 1, options=choice.options)
    p = parts.primitives
    cycles: dict[str, float] = {}
    for side in ("left", "right"):
        recorder = _Recorder()
        cycles[side] = 0.0
        product.run_operand(side, _Symbol(limbs - 1), recorder)
        for kernel in recorder.transforms:
            parts.say(f"{side}: transform of {kernel.level + 1} limbs, {len(kernel.map.steps)} diagonals")
            program = transform_program(parts.config, kernel, kernel.native(), cast(Any, None))
            cycles[side] += parts.program(program.words[0])
        for level in recorder.rotated:
            x = level + 1
            cycles[side] += (p.mod_up(x) + p.switched(x, "rotations") + p.mod_down(p.gadget.special, x, 2)).total
    pairs = product._second_step
    if not isinstance(pairs, PairSumKernel):
        raise ParameterError(f"{choice.plan!r} multiplies pair by pair: price it by method fame")
    parts.say("sum of products")
    program = pairs_program(parts.config, pairs, pairs.native(), cast(Any, None))
    cycles["products"] = parts.program(program.words[0])
    if parts.config.pes > 1:
        shorter = min(cycles["left"], cycles["right"])
        cycles["beside"] = -shorter  # the other element's side
    return cycles


def modelled(
    machine: str | FameConfig,
    parameters: _native.Parameters,
    shape: tuple[int, int, int],
    method: str,
    *,
    level: int | None = None,
    say: Progress = lambda _: None,
) -> Modelled:
    """Cycles of a whole product by the replica.

    Args:
        machine: a configuration by name, or itself.
        parameters: the set.
        shape: m, l, n.
        method: "fame" (Algorithm 2, of memory-optimised transforms) or "ringforge" (the planner's plan).
        level: of the inputs; default: the highest.
        say: told what is timed.

    Raises:
        ParameterError: unknown method, or the machine cannot run it. LevelError: too few levels. ShapeError: the
            matrices do not fit a ciphertext.
    """
    if method not in METHODS:
        raise ParameterError(f'there is no price of method "{method}"; choose one of {", ".join(METHODS)}')
    config = FameConfig.named(machine) if isinstance(machine, str) else machine
    limbs = int(parameters.max_level) + 1 if level is None else level + 1
    if not 1 <= limbs <= parameters.max_level + 1:
        raise LevelError(f"the set has levels 0 to {parameters.max_level}, not {level}")
    parts = _Parts(config, parameters, say)
    cycles = (_algorithm_2 if method == "fame" else _planned)(parts, shape, limbs)
    total = sum(cycles.values())
    return Modelled(
        machine=config.name,
        parameters=parameters.name,
        shape=shape,
        method=method,
        limbs=limbs,
        cycles=total,
        seconds=total / config.clock_hz,
        parts=dict(cycles),
        simulated=parts.simulated,
    )
