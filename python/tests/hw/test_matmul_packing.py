# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Configurations of the matmul accelerator, and how polynomials lie in its memory."""

import json

import numpy as np
import pytest

from ringforge.errors import FormatError, ParameterError
from ringforge.hw.core import machine as descriptors
from ringforge.hw.core.config import MemoryPorts
from ringforge.hw.machines.matmul.config import FameConfig
from ringforge.hw.machines.matmul.packing import addresses, join, pack, split, unpack

CONFIGS = [FameConfig.named(name) for name in FameConfig.names()]
SMALL = FameConfig.named("fame-small")


def residues(config, shape, seed=1):
    return np.random.default_rng(seed).integers(0, 1 << config.word_bits, shape, np.uint64)


def big(words):
    """Words end to end as one integer."""
    return int.from_bytes(np.ascontiguousarray(words).tobytes(), "little")


@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: c.name)
def test_words_lie_end_to_end_from_a_line_on(config):
    for log_n in (config.min_log_n, config.max_log_n):
        data = residues(config, (2, 3, 1 << log_n), log_n)
        words = pack(config, data)
        assert words.shape == (2, 3, config.lines(log_n) * config.line_bytes // 8)
        text = big(words[1, 2])
        assert text == sum(int(x) << (config.word_bits * i) for i, x in enumerate(data[1, 2]))
        assert (unpack(config, words, log_n) == data).all()


def test_the_paper_s_shapes():
    shapes = {
        "fame-s": (2, 128, 864 * 1024, 16),  # scratchpad of an element and the limbs that it holds: Table IV
        "fame-m": (2, 128, 7.59375 * 2**20, 36),
        "fame-l": (1, 256, 30.375 * 2**20, 72),
        "fame-small": (2, 16, 216 * 1024, 16),
    }
    for name, (pes, lanes, size, limbs) in shapes.items():
        config = FameConfig.named(name)
        assert (config.pes, config.lanes, config.scratchpad_bytes) == (pes, lanes, size)
        assert config.slots(config.max_log_n) == limbs
        assert config.twiddle_slots(config.max_log_n) >= 2
        assert descriptors.of(config).name == "matmul"
    assert FameConfig.named("fame-l").lines(16) == 54 * 2**16 / 8 / 2048 == 216
    near = FameConfig.named("fame-s").memories()
    assert near[:-1] == [MemoryPorts(1, 64, 14.4e9, "simple", 1)] * 32
    assert sum(m.ports for m in near) == FameConfig.named("fame-s").ports


@pytest.mark.parametrize("far", [False, True], ids=["near", "far"])
def test_segments_of_ports(far):
    config = FameConfig.named("fame-l")
    ports = config.far_ports if far else config.near_ports
    data = residues(config, 5 * 8 * config.near_ports)
    segments = split(config, data, far=far)
    assert segments.shape == (ports, data.size // ports)
    for place in range(data.size):  # word by word, as the description says it
        line, within = divmod(place, 8 * ports)
        port, word = divmod(within, 8)
        assert segments[port, 8 * line + word] == data[place]
    assert (join(config, segments, far=far) == data).all()


def test_addresses_of_ports():
    config = FameConfig.named("fame-s")
    got = addresses(config, 1, 0x40000)
    assert got == [(16 + p) * 2**28 + 0x40000 // 16 for p in range(16)]
    assert addresses(config, 1, 0x40000, far=True) == [2**33 + 2**34 + 0x40000]
    assert addresses(config, 1, config.element_bytes - config.line_bytes)[-1] == config.far_base - 64
    assert config.far_base + config.far_bytes == 2**33 + 2**35


def test_what_cannot_be_packed():
    with pytest.raises(ParameterError, match="residues of 54 bits"):
        pack(SMALL, np.full(128, 1 << 54, np.uint64))
    for n in (0, 64, 129, 4096):
        with pytest.raises(ParameterError, match=r"degrees 2\^7 to 2\^11"):
            pack(SMALL, np.zeros(n, np.uint64))
    with pytest.raises(ParameterError, match="has 112 words"):
        unpack(SMALL, np.zeros(111, np.uint64), 7)
    with pytest.raises(ParameterError, match="no whole lines"):
        split(SMALL, np.zeros(15, np.uint64))
    with pytest.raises(ParameterError, match="2 rows of whole beats"):
        join(SMALL, np.zeros((3, 8), np.uint64))
    for element, address in ((2, 0), (-1, 0), (0, 64), (0, SMALL.element_bytes), (0, -128)):
        with pytest.raises(ParameterError, match=r"elements 0 to 1|multiples of 128"):
            addresses(SMALL, element, address)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bank_rows": [512] * 3}, "one number or 4"),
        ({"bank_rows": [512, 512, 512, 64]}, "smaller than the largest polynomial"),
        ({"twiddle_rows": 64}, "smaller than the largest polynomial"),
        ({"min_log_n": 6}, r"8 to 256 rows: with 16 lanes degrees are 2\^7 to 2\^12"),
        ({"max_log_n": 13, "bank_rows": [512] * 4}, "8 to 256 rows"),
        ({"stream_rows": 127}, "at least 128"),
        ({"banks": 3, "bank_rows": [512] * 3}, "4 banks"),
        ({"ports": 5}, "those of all elements: 6"),
        ({"near_ports": 4, "ports": 10}, "near_ports must be 2"),
        ({"segment_bytes": 5000}, "power of two"),
        ({"dram_bytes": 1 << 20}, "behind all near ports"),
        ({"far_segment_bytes": 3 << 20}, "power of two"),
        ({"moduli": 65}, "less than or equal to 64"),
        ({"groups": 2}, "groups"),
        ({"burst_rows": 48}, "burst_rows must be a power of two"),
        ({"far_lines_ahead": 32}, "far_burst must be"),
        ({"short_in_luts": True}, "for montgomery multipliers"),
    ],
)
def test_configurations_that_are_refused(tmp_path, change, message):
    text = json.loads((FameConfig.room / "config" / "fame-small.json").read_text())
    path = tmp_path / "own.json"
    path.write_text(json.dumps(text | change))
    with pytest.raises(FormatError, match=message):
        FameConfig.load(path)
