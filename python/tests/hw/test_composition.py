# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Resources that are composed from parts, beside one synthesis of the whole design."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ringforge.hw.core import resources
from ringforge.hw.core.machine import machine
from ringforge.hw.core.synthesis import Design, Module
from ringforge.hw.vector import family

DESIGN = resources.design(machine("matvec"))
#: A scratchpad of two parts, and a transform unit, whose butterflies are a part with independent lanes.
SCRATCHPAD = Module.make("rf_scratchpad", {"W": 32, "Lanes": 4, "Rows": 512, "Banks": 2, "Packed": 1})
TRANSFORM = Module.make("rf_transform", {"W": 32, "Lanes": 4, "MaxLogN": 6, "Kind": 0, "Twin": 0})


@pytest.mark.long
@pytest.mark.parametrize("module", [SCRATCHPAD, TRANSFORM], ids=lambda m: m.name)
def test_composed_as_flat(module: Module) -> None:
    """DSP slices and memories are equal; LUTs and flip-flops are within 1 %."""
    lines = resources.compose(module, DESIGN.synthesise)
    assert lines is not None
    assert len(lines) > 1, "there are parts"
    composed = resources.total(lines)
    flat = replace(DESIGN, cut=frozenset()).synthesise(module)
    assert flat.parts == ()
    assert (composed.dsp, composed.bram36, composed.uram) == (flat.own.dsp, flat.own.bram36, flat.own.uram)
    assert composed.lut == pytest.approx(flat.own.lut, rel=0.01)
    assert composed.flip_flops == pytest.approx(flat.own.flip_flops, rel=0.01)


#: Parts that are counted by slices, small enough to be synthesised whole.
SLICED = [
    Module.make("rf_alu", {"W": 24, "Lanes": 8, "Kind": 0, "Twin": 0}),
    Module.make("rf_spn", {"W": 16, "Lanes": 8}),
    Module.make("rf_spn_pick", {"W": 54, "Lanes": 16}),
    Module.make("rf_pack", {"WordW": 256, "RowW": 216}),
    Module.make("vector_load", {"W": 32, "Lanes": 8, "RowBits": 4, "BurstRows": 16, "LaneW": 32}),
]


@pytest.mark.long
@pytest.mark.parametrize("module", SLICED, ids=lambda m: m.name)
def test_slices_as_whole(module: Module) -> None:
    """DSP slices are equal; LUTs are within 3 %, flip-flops within 1 %."""
    texts = resources.design(machine("matmul")).texts
    whole = Design(texts, frozenset()).synthesise(module).own
    sliced = Design(texts, frozenset(), family.SHARED_SLICES).synthesise(module).own
    assert sliced.dsp == whole.dsp
    assert sliced.lut == pytest.approx(whole.lut, rel=0.03)
    assert sliced.flip_flops == pytest.approx(whole.flip_flops, rel=0.01)
