# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Programs that only rotate: one group turns a ciphertext again and again, each time with another key.

Their cycles per rotation are the machine's key-switching rate, keys from memory and automorphism included. The bound
beside them keeps every butterfly of the group busy in every cycle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ringforge._native import Ciphertext, GaloisKeys, Parameters
from ringforge.hw.core.simulator import place_programs
from ringforge.hw.machines.matvec.config import MatvecConfig
from ringforge.hw.machines.matvec.finish import pair_at
from ringforge.hw.machines.matvec.program import key_contents
from ringforge.hw.vector import constants
from ringforge.hw.vector.allocate import Allocator
from ringforge.hw.vector.ir import GroupCode
from ringforge.hw.vector.isa import Words, encode
from ringforge.hw.vector.keyswitch import rotate
from ringforge.hw.vector.layout import KeyRegion, Layout
from ringforge.hw.vector.target import Target


def butterfly_bound(config: MatvecConfig, log_n: int, limbs: int) -> float:
    """Cycles that the butterflies of one group need for the transforms of one key switch, at least.

    l inverse transforms, l^2 for the digits over Q and P, 2 inverse and 2l to divide by P: 72 for l = 7.
    """
    transforms = limbs + limbs**2 + 2 + 2 * limbs
    butterflies = transforms * log_n * (1 << log_n) // 2
    return butterflies / (config.pes * config.lanes // 2)


@dataclass(frozen=True)
class Rotations:
    """Programs of a chain of rotations; group 0 works, the others end at once.

    Attributes:
        target: machine and numbers.
        elements: Galois elements in the order of the rotations.
        layout: where memory holds what.
        programs: memory image of the programs, at `base`, `stride` apart.
    """

    target: Target
    elements: tuple[int, ...]
    layout: Layout
    programs: Words
    base: int
    stride: int
    keys: tuple[KeyRegion, ...]
    input: tuple[tuple[int, ...], ...]
    output: tuple[tuple[int, ...], ...]
    tables: tuple[int, ...]

    def memory(self, ciphertext: Ciphertext, galois: GaloisKeys) -> Iterator[tuple[int, Words]]:
        """Addresses and contents of programs, tables, keys and input."""
        target = self.target
        config, primes = target.config, target.primes
        yield self.base, self.programs
        for prime, address in zip(primes, self.tables, strict=True):
            yield address, constants.twiddles(config, prime, target.log_n)
        for element, region in zip(self.elements, self.keys, strict=True):
            yield from key_contents(target, galois, element, region)
        for part in (0, 1):
            for limb in range(target.limbs):
                yield self.input[part][limb], ciphertext.limb(part, limb)


def compile_rotations(config: MatvecConfig, params: Parameters, level: int, elements: Sequence[int]) -> Rotations:
    """Programs that apply X -> X^e for each e in order to a ciphertext of a level.

    Raises:
        ParameterError: the machine cannot run it.
    """
    target = Target.of(config, params, level)
    layout, limbs = Layout(config, target.log_n), level + 1

    def rows(entity: str) -> tuple[tuple[int, ...], ...]:
        first = layout.polynomials(entity, 2 * limbs)
        return tuple(tuple(first + (p * limbs + i) * layout.stride for i in range(limbs)) for p in (0, 1))

    table = layout.polynomials("twiddles", limbs + 1)
    tables = tuple(table + k * layout.stride for k in range(limbs + 1))
    source, result = rows("input"), rows("output")
    keys = tuple(
        KeyRegion(layout.polynomials("keys", KeyRegion.polynomials(limbs)), limbs, layout.stride) for _ in elements
    )
    programs: list[Words] = []
    for group in range(config.groups):
        code = GroupCode(target)
        if group == 0:
            pair = pair_at([list(row) for row in source])
            for element, key in zip(elements, keys, strict=True):
                pair = rotate(code, pair, element, key)
            for part in (0, 1):
                for i, value in pair[part].items():
                    code.at(i).store(value, result[part][i])
        for element_code in code.elements:
            allocator = Allocator(target, list(tables), lambda: layout.polynomials("partial sums", 1))
            programs.append(encode(allocator.run(element_code.ops)))
    image, stride = place_programs(programs)
    base = layout.add("program", image.nbytes)
    layout.check()
    return Rotations(target, tuple(elements), layout, image, base, stride, keys, source, result, tables)
