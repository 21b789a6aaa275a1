# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What was published of the matvec accelerator: its figures stand beside ours in tables, its layers are benchmarks.

Everything here is a literal of the paper: Table IV (:data:`LAYERS`), Table VI (:data:`TABLE_VI`), Table VII
(:data:`TABLE_VII`), the card of the evaluation (:data:`U200`). The machines of Table III are configurations in
hw/matvec/config, which :data:`MACHINES` names. BRAM and URAM of the card are those of its device family.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from ringforge.errors import ParameterError


@dataclass(frozen=True, slots=True)
class Layer:
    """A fully-connected layer: a plain m x n matrix times an encrypted vector.

    Attributes:
        name: short lower-case key such as ``"rnnt-fc0"``.
        model: the network that the layer comes from.
        m: rows of the matrix, length of the result.
        n: columns of the matrix, length of the encrypted vector.

    Raises:
        ParameterError: it has no rows, or no columns.
    """

    name: str
    model: str
    m: int
    n: int

    def __post_init__(self) -> None:
        for what, size in (("m", self.m), ("n", self.n)):
            if size < 1:
                raise ParameterError(f"{what} is {size}; it must be at least 1")


@dataclass(frozen=True, slots=True)
class Part:
    """Resources of an FPGA.

    Attributes:
        name: what the part is called.
        dsp: DSP slices.
        bram36: 36-kbit block RAMs.
        uram: 288-kbit UltraRAMs.
        lut: look-up tables.
        flip_flops: registers.
        sram_bytes: on-chip SRAM that a design may use for data, in bytes.
    """

    name: str
    dsp: int
    bram36: int
    uram: int
    lut: int
    flip_flops: int
    sram_bytes: int


@dataclass(frozen=True, slots=True)
class Platform:
    """An FPGA with its external memory.

    Attributes:
        part: the FPGA.
        dram_bytes: capacity of the external memory in bytes.
        dram_bytes_per_second: its peak bandwidth in bytes per second.
    """

    part: Part
    dram_bytes: int
    dram_bytes_per_second: float


@dataclass(frozen=True, slots=True)
class Utilisation:
    """One row of Table VII: resources after place and route.

    Attributes:
        kilo_luts: thousands of look-up tables.
        kilo_flip_flops: thousands of registers.
        bram36: block RAMs.
        uram: UltraRAMs.
        dsp: DSP slices.
        clock_hz: clock frequency in hertz.
    """

    kilo_luts: float
    kilo_flip_flops: float
    bram36: int
    uram: int
    dsp: int
    clock_hz: float


MACHINES: Final[Mapping[str, str]] = MappingProxyType({"set-a": "matvec-a", "set-b": "matvec-b", "set-c": "matvec-b"})
"""Table III: the configuration that is the paper's machine for each parameter set (B and C share one)."""

LAYERS: Final[tuple[Layer, ...]] = (
    Layer("alex-6", "AlexNet", 4096, 9216),
    Layer("alex-7", "AlexNet", 4096, 4096),
    Layer("alex-8", "AlexNet", 1000, 4096),
    Layer("vgg-6", "VGG", 4096, 25088),
    Layer("rnnt-lstm", "RNN-T", 1024, 2048),
    Layer("rnnt-fc0", "RNN-T", 512, 1344),
    Layer("ds2-gru", "Deep Speech 2", 1600, 1600),
)
"""Table IV: the seven benchmark layers, in the paper's order."""

TABLE_VI: Final[Mapping[str, int]] = MappingProxyType(
    {"NTT": 14_658, "INTT": 14_658, "automorphism": 1_024, "element-wise": 1_024}
)
"""Table VI: cycles on one residue polynomial of 2^14 coefficients (Set-B) with 16 lanes."""

TABLE_VII: Final[Mapping[str, Utilisation]] = MappingProxyType(
    {
        "A": Utilisation(756.3, 610.4, 224, 656, 4896, 200e6),
        "B": Utilisation(835.6, 1093.2, 896, 742, 5712, 180e6),
        "C": Utilisation(835.6, 1093.2, 896, 742, 5712, 180e6),
    }
)
"""Table VII: resources of the machine that runs each set."""

U200: Final = Platform(
    part=Part(
        name="Alveo U200",
        dsp=6840,
        bram36=2160,
        uram=960,
        lut=1_182_000,
        flip_flops=2_364_000,
        sram_bytes=35 * 10**6,
    ),
    dram_bytes=64 * 10**9,
    dram_bytes_per_second=77e9,
)
"""The card of the evaluation: 64 GB and 35 MB are read as powers of ten."""
