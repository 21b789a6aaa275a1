# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Memory of the matmul accelerator as its ports see it."""

import numpy as np
import pytest

from ringforge.errors import ParameterError
from ringforge.hw.machines.matmul.config import FameConfig
from ringforge.hw.machines.matmul.ports import PortMemory, program_bytes

SMALL = FameConfig.named("fame-small")
LARGE = FameConfig.named("fame-l")


def polynomials(count, log_n, seed=1):
    return np.random.default_rng(seed).integers(0, 1 << 54, (count, 1 << log_n), np.uint64)


def bits(memory, config, element, address, log_n, far):
    """A polynomial's bits, gathered byte by byte from what is mapped at the ports."""
    ports = config.far_ports if far else config.near_ports
    segment = config.far_segment_bytes if far else config.segment_bytes
    text = bytearray()
    for place in range(address, address + config.polynomial_bytes(log_n), 64):
        port, offset = place // 64 % ports, place // (64 * ports) * 64
        where = (config.far_base if far else 0) + (element * ports + port) * segment + offset
        base, words, _ = max((s for s in memory.segments() if s[0] <= where), key=lambda s: s[0])
        text += words[(where - base) // 8 : (where - base) // 8 + 8].tobytes()
    return int.from_bytes(text, "little")


@pytest.mark.parametrize("far", [False, True], ids=["near", "far"])
@pytest.mark.parametrize(("config", "log_n"), [(SMALL, 7), (SMALL, 11), (LARGE, 12)], ids=lambda x: str(x)[:10])
def test_polynomials_lie_where_the_ports_find_them(config, log_n, far):
    data, element = polynomials(3, log_n), config.pes - 1
    memory, size = PortMemory(config), config.polynomial_bytes(log_n)
    memory.put(element, 2 * size, data, far=far, entity=5)
    assert (memory.get(element, 2 * size, log_n, 3, far=far) == data).all()
    assert (memory.get(element, 3 * size, log_n, far=far) == data[1]).all()
    expected = sum(int(x) << (54 * i) for i, x in enumerate(data[1]))
    assert bits(memory, config, element, 3 * size, log_n, far) == expected
    assert {entity for _, _, entity in memory.segments()} == {5}
    memory.put(element, 3 * size, data[2], far=far)  # into the region that is there
    assert (memory.get(element, 3 * size, log_n, far=far) == data[2]).all()
    assert len(memory.segments()) == (config.far_ports if far else config.near_ports)


def test_programs_have_room_to_read_ahead():
    memory = PortMemory(SMALL)
    memory.put_programs(0x3000, [np.arange(4 * n, dtype=np.uint64).reshape(n, 4) for n in (1, 1000)], entity=1)
    for region, n in zip(memory.regions(), (1, 1000), strict=True):
        assert region.size == program_bytes(SMALL, n) >= 32 * n + SMALL.fetch_depth * SMALL.line_bytes
        flat = region.ports.reshape(2, -1, 8).transpose(1, 0, 2).reshape(-1)
        assert (flat[: 4 * n] == np.arange(4 * n)).all()
        assert not flat[4 * n :].any()


def test_what_cannot_be_placed():
    memory = PortMemory(SMALL)
    memory.reserve(0, 0x1000, 0x1000)
    memory.reserve(0, 0x2000, 1)
    for address, size in ((0xF80, 0x100), (0x1F80, 0x80), (0x2000, 0x80), (0, 0x10000)):
        with pytest.raises(ParameterError, match="over another region"):
            memory.reserve(0, address, size)
    memory.reserve(1, 0x1000, 0x80)  # another element's
    memory.reserve(0, 0x1000, 0x80, far=True)
    with pytest.raises(ParameterError, match="end outside"):
        memory.reserve(0, SMALL.element_bytes - 128, 256)
    with pytest.raises(ParameterError, match="multiples of 128"):
        memory.reserve(0, 64, 64)
    with pytest.raises(ParameterError, match="no region of element 1 holds"):
        memory.get(1, 0x1000, 7)
    with pytest.raises(ParameterError, match="no region of element 0 holds"):
        memory.write(0, 0x40000, np.zeros(16, np.uint64))
    with pytest.raises(ParameterError, match="whole lines"):
        memory.place(0, 0x40000, np.zeros(8, np.uint64), far=True)
    with pytest.raises(ParameterError, match="runs 2 programs"):
        memory.put_programs(0, [np.zeros((1, 4))])
    with pytest.raises(ParameterError, match="multiples of 4096"):
        memory.put_programs(128, [np.zeros((1, 4))] * 2)
