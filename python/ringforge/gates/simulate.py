# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Circuits in the clear, for the command line: runs side by side, and truth tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ringforge.errors import ParameterError, ShapeError
from ringforge.gates.circuit import Circuit
from ringforge.gates.netlist import check_ports

#: Input bits of circuits whose truth tables are shown.
TABLE_BITS = 8


def simulated(circuit: Circuit, given: Mapping[str, Sequence[int]], *, signed: bool = False) -> list[dict[str, Any]]:
    """Inputs and outputs of each run.

    Args:
        circuit: the circuit.
        given: numbers for each input port, in -2^(width-1) ... 2^width - 1; one stands for all runs. Nothing at all
            asks for the truth table.
        signed: results of two bits and more in two's complement.

    Returns:
        For each run `inputs` and `outputs`, numbers by port.

    Raises:
        ParameterError: ports are missing or unknown, or a truth table would be too long. ShapeError: the ports have
        different numbers of runs.
    """
    ports = {p.name: p.width for p in circuit.inputs}
    if not given and ports:
        given = _table(ports)
    check_ports(circuit.inputs, given)
    counts = {len(v) for v in given.values()} - {1} or {1}
    if len(counts) > 1:
        raise ShapeError(
            f"inputs have {', '.join(f'{n} {len(v)}' for n, v in given.items())} numbers: give one or as many each"
        )
    (count,) = counts
    lists = {n: [x % (1 << ports[n]) for x in v] * (1 if len(v) == count else count) for n, v in given.items()}
    found = circuit.netlist.clear(lists)
    widths = {p.name: p.width for p in circuit.outputs}
    return [
        {
            "inputs": {n: lists[n][i] for n in ports},
            "outputs": {n: _number(found[n][i], widths[n], signed) for n in widths},
        }
        for i in range(count)
    ]


def _number(value: int, width: int, signed: bool) -> int:
    return value - (1 << width) if signed and width > 1 and value >> (width - 1) else value


def _table(ports: Mapping[str, int]) -> dict[str, list[int]]:
    """All combinations, the first port's numbers changing slowest."""
    bits = sum(ports.values())
    if bits > TABLE_BITS:
        named = " ".join(f"{n}=..." for n in ports)
        raise ParameterError(
            f"a truth table of {bits} input bits has 2^{bits} rows, {TABLE_BITS} bits are shown: give numbers, {named}"
        )
    found: dict[str, list[int]] = {}
    left = bits
    for name, width in ports.items():
        left -= width
        found[name] = [row >> left & ((1 << width) - 1) for row in range(1 << bits)]
    return found
