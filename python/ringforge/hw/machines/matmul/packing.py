# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""How polynomials lie in the memory of the matmul accelerator: packed words, lines, segments of ports.

Residue i of a polynomial is bits i·W ... i·W + W - 1 of its bytes, lowest bits first; it begins with a line and its
last line is filled up with zeros. Of an element's line, bytes 64·p ... 64·p + 63 go through its port p; each port has a
segment of memory. So address A of an element, a multiple of the line, is offset A / ports of each of its segments.

>>> machine = FameConfig.named("fame-small")
>>> words = pack(machine, np.arange(256, dtype=np.uint64))
>>> words.size * 8 == machine.polynomial_bytes(8), bool((unpack(machine, words, 8) == np.arange(256)).all())
(True, True)
>>> [hex(a) for a in addresses(machine, 1, 0x1000)], [hex(a) for a in addresses(machine, 1, 0x1000, far=True)]
(['0x20000800', '0x30000800'], ['0xc0001000'])
"""

from __future__ import annotations

from math import gcd
from typing import Final

import numpy as np
import numpy.typing as npt

from ringforge.errors import ParameterError
from ringforge.hw.core.config import WORD_BYTES
from ringforge.hw.machines.matmul.config import PORT_BYTES, FameConfig

Words = npt.NDArray[np.uint64]

_WORD: Final = 8 * WORD_BYTES
_PORT_WORDS: Final = PORT_BYTES // WORD_BYTES


def pack(config: FameConfig, polynomials: npt.ArrayLike) -> Words:
    """Polynomials as they lie in an element's memory.

    Args:
        polynomials: (..., N) residues, each below 2^word_bits; N a power of two that the machine takes.

    Returns:
        (..., polynomial_bytes / 8) 64-bit words.

    Raises:
        ParameterError: no such degree, or a residue that is too long.
    """
    data = np.ascontiguousarray(polynomials, np.uint64)
    log_n = _log_n(config, data.shape[-1] if data.ndim else 0)
    if data.size and int(data.max()) >> config.word_bits:
        raise ParameterError(f"machine {config.name} packs residues of {config.word_bits} bits, one is {data.max():#x}")
    bits, items, words = _period(config)
    result = np.zeros((*data.shape[:-1], config.polynomial_bytes(log_n) // WORD_BYTES), np.uint64)
    source = data.reshape(-1, data.shape[-1] // items, items)
    target = np.zeros((source.shape[0], source.shape[1], words), np.uint64)
    for i in range(items):
        word, shift = divmod(i * bits, _WORD)
        target[:, :, word] |= source[:, :, i] << np.uint64(shift)
        if shift + bits > _WORD:
            target[:, :, word + 1] |= source[:, :, i] >> np.uint64(_WORD - shift)
    packed = target.reshape(*data.shape[:-1], -1)
    result[..., : packed.shape[-1]] = packed
    return result


def unpack(config: FameConfig, words: npt.ArrayLike, log_n: int) -> Words:
    """The residues of packed polynomials, (..., 2^log_n).

    Args:
        words: (..., polynomial_bytes / 8), as `pack` gives them.

    Raises:
        ParameterError: no such degree, or another number of words.
    """
    data = np.ascontiguousarray(words, np.uint64)
    _log_n(config, 1 << log_n)
    expected = config.polynomial_bytes(log_n) // WORD_BYTES
    if data.ndim == 0 or data.shape[-1] != expected:
        raise ParameterError(f"a packed polynomial of degree 2^{log_n} has {expected} words, these are {data.shape}")
    bits, items, count = _period(config)
    used = (bits << log_n) // _WORD
    source = np.ascontiguousarray(data[..., :used]).reshape(-1, used // count, count)
    target = np.empty((source.shape[0], source.shape[1], items), np.uint64)
    mask = np.uint64((1 << bits) - 1)
    for i in range(items):
        word, shift = divmod(i * bits, _WORD)
        value = source[:, :, word] >> np.uint64(shift)
        if shift + bits > _WORD:
            value |= source[:, :, word + 1] << np.uint64(_WORD - shift)
        target[:, :, i] = value & mask
    return target.reshape(*data.shape[:-1], 1 << log_n)


def split(config: FameConfig, words: npt.ArrayLike, *, far: bool = False) -> Words:
    """What lies in each port's segment of consecutive bytes of an element's memory: (ports, bytes / 8 / ports).

    Args:
        words: any shape, taken in order; whole lines (beats of all far ports).

    Raises:
        ParameterError: no whole lines.
    """
    ports = config.far_ports if far else config.near_ports
    data = np.ascontiguousarray(words, np.uint64).reshape(-1)
    if data.size % (ports * _PORT_WORDS):
        raise ParameterError(f"{8 * data.size} bytes are no whole lines of {ports * PORT_BYTES} bytes")
    beats = data.reshape(-1, ports, _PORT_WORDS)
    return np.ascontiguousarray(beats.transpose(1, 0, 2)).reshape(ports, -1)


def join(config: FameConfig, segments: npt.ArrayLike, *, far: bool = False) -> Words:
    """The bytes of an element's memory, from those of its ports' segments: the inverse of `split`.

    Raises:
        ParameterError: not as many segments as ports, or no whole beats.
    """
    ports = config.far_ports if far else config.near_ports
    data = np.asarray(segments, np.uint64)
    if data.ndim != 2 or data.shape[0] != ports or data.shape[1] % _PORT_WORDS:
        raise ParameterError(f"segments of {ports} ports are {ports} rows of whole beats, these are {data.shape}")
    return np.ascontiguousarray(data.reshape(ports, -1, _PORT_WORDS).transpose(1, 0, 2)).reshape(-1)


def addresses(config: FameConfig, element: int, address: int, *, far: bool = False) -> list[int]:
    """Addresses at the ports of an address of an element's near or far memory, a multiple of the line: one a port.

    Raises:
        ParameterError: no such element, or address.
    """
    ports, segment, first = config.near_ports, config.segment_bytes, 0
    if far:
        ports, segment, first = config.far_ports, config.far_segment_bytes, config.far_base
    if not 0 <= element < config.pes:
        raise ParameterError(f"machine {config.name} has elements 0 to {config.pes - 1}, not {element}")
    if address % config.line_bytes or not 0 <= address < ports * segment:
        raise ParameterError(
            f"addresses of an element are multiples of {config.line_bytes} below {ports * segment:#x}, not {address:#x}"
        )
    return [first + (element * ports + p) * segment + address // ports for p in range(ports)]


def _log_n(config: FameConfig, degree: int) -> int:
    log_n = degree.bit_length() - 1
    if degree != 1 << max(log_n, 0) or not config.min_log_n <= log_n <= config.max_log_n:
        raise ParameterError(
            f"machine {config.name} takes degrees 2^{config.min_log_n} to 2^{config.max_log_n}, not {degree}"
        )
    return log_n


def _period(config: FameConfig) -> tuple[int, int, int]:
    """Bits of a residue, and how many residues fill how many words."""
    bits = config.word_bits
    common = gcd(bits, _WORD)
    return bits, _WORD // common, bits // common
