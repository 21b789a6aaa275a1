# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""A cycle model of FAME, reconstructed: the paper prints no cycles, and its latencies only in a figure.

Every unit of a PE takes `lanes` coefficients a cycle, so one pass over a limb takes N / lanes cycles and a transform
log2 N passes. All is charged at level L, as the paper's memory model does, and the units work one after another:

* rotation, hoisted: (L + k + 1)·(2·beta + 2) passes, for 2·beta products with key limbs and two with the mask
* once for each linear transform: L + 1 inverse transforms, the base conversions and transforms of ModUp, and for both
  components k + 1 inverse transforms, base conversion and L transforms of ModDown merged with the rescale
* product of ciphertexts: the same key switch without hoisting, and five passes over L + 1 limbs

Two PEs share the work evenly, as FAME-S and FAME-M do with the two operands.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .counts import equation_counts, transforms
from .memory import MemoryModel
from .parameters import CONFIGS, SETS, WORD_BITS, Config, ParameterSet, Shape


@dataclass(frozen=True, slots=True)
class CycleModel:
    """Cycles on one PE. `stage_passes`: passes over a limb that one stage of a transform takes, 1 or 2.

    A stage has N / 2 butterflies of one product each; with a multiplier in every lane it takes half a pass if all
    lanes multiply and one pass if those of half the lanes do. 2 is for lanes that do one of product, sum and
    difference at a time.
    """

    parameters: ParameterSet
    config: Config
    stage_passes: int = 1

    @property
    def limb_pass(self) -> int:
        """N / lanes."""
        return self.parameters.degree // self.config.lanes

    @property
    def ntt(self) -> int:
        """One transform, forward or inverse."""
        return (self.parameters.degree.bit_length() - 1) * self.limb_pass * self.stage_passes

    @property
    def rotation(self) -> int:
        """One rotation with its mask, ModUp and ModDown apart."""
        return self.parameters.extended_limbs * (2 * self.parameters.digits + 2) * self.limb_pass

    @property
    def hoisted(self) -> int:
        """What each linear transform does once."""
        p = self.parameters
        new = p.digits * (p.extended_limbs - p.limbs_per_digit)
        up = p.limbs * self.ntt + new * (p.limbs_per_digit * self.limb_pass + self.ntt)
        dropped = p.special + 1
        down = dropped * self.ntt + dropped * p.levels * self.limb_pass + p.levels * self.ntt
        return up + 2 * down

    @property
    def product(self) -> int:
        """One product of two ciphertexts, relinearised and rescaled."""
        p = self.parameters
        return self.hoisted + (2 * p.digits * p.extended_limbs + 5 * p.limbs) * self.limb_pass

    @property
    def key_bytes_per_second(self) -> float:
        """Key traffic of all PEs while they rotate, in words of 54 bits."""
        return self._stream(MemoryModel(self.parameters, WORD_BITS).key)

    @property
    def stream_bytes_per_second(self) -> float:
        """The same with the mask's L + k + 1 limbs."""
        model = MemoryModel(self.parameters, WORD_BITS)
        return self._stream(model.key + self.parameters.extended_limbs * model.limb)

    def _stream(self, size: float) -> float:
        return self.config.pes * size * self.config.clock_hz / self.rotation

    def latency(self, shape: Shape, rotations: int | None = None) -> Latency:
        """Seconds of a whole product. `rotations`: how many to charge, the paper's phi + zeta by default."""
        count = equation_counts(shape).total if rotations is None else rotations
        rate = self.config.pes * self.config.clock_hz
        return Latency(
            count * self.rotation / rate, transforms(shape) * self.hoisted / rate, shape.l * self.product / rate
        )

    def falling(self, shape: Shape) -> Latency:
        """As `latency`, with step 1 charged at level L, step 2 at L - 1 and its products at L - 2."""
        second, third = (replace(self, parameters=self._lower(n)) for n in (1, 2))
        counts, rate = equation_counts(shape), self.config.pes * self.config.clock_hz
        return Latency(
            (counts.phi * self.rotation + counts.zeta * second.rotation) / rate,
            (2 * self.hoisted + 2 * shape.l * second.hoisted) / rate,
            shape.l * third.product / rate,
        )

    def _lower(self, levels: int) -> ParameterSet:
        """The set without its last primes; digits stay as long as they are."""
        p = self.parameters
        limbs = p.limbs - levels
        return replace(p, levels=p.levels - levels, digits=-(-limbs // p.limbs_per_digit))


@dataclass(frozen=True, slots=True)
class Latency:
    """Seconds of a product by part: rotations, what each linear transform does once, ciphertext products."""

    rotations: float
    hoisted: float
    products: float

    @property
    def total(self) -> float:
        """All of it."""
        return self.rotations + self.hoisted + self.products


def cycle_model(set_name: str, stage_passes: int = 1) -> CycleModel:
    """The model of the configuration that serves a set, "A", "B" or "C"."""
    return CycleModel(SETS[set_name], CONFIGS[set_name], stage_passes)
