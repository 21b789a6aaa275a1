# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Circuits: a netlist that can be run, on encrypted bits level by level, or in the clear."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ringforge.devices import Progress
from ringforge.errors import ShapeError
from ringforge.gates import noise, sets, sums
from ringforge.gates.bits import Bits, Evaluator, check_same
from ringforge.gates.formats import read_netlist
from ringforge.gates.kinds import SUMS, shared_rotations
from ringforge.gates.netlist import Netlist, Port, Report, check_ports
from ringforge.gates.optimise import optimise as optimised


@dataclass(frozen=True)
class _Step:
    """Gates that do not depend on each other; wires are numbers of slots."""

    kinds: npt.NDArray[np.uint8]
    inputs: npt.NDArray[np.int64]
    outputs: npt.NDArray[np.int64]
    bootstraps: int


@dataclass(frozen=True)
class _Schedule:
    steps: list[_Step]
    slots: int
    outputs: dict[str, list[int]]


class Circuit:
    """A combinational circuit.

    Args:
        netlist: a netlist, or what :func:`read_netlist` takes: a file, or the name of a circuit that comes with the
            library.
        optimise: replace it by an equivalent one with fewer bootstraps (:mod:`ringforge.gates.optimise`).
        top: which module of a Yosys file, if it has several.

    Raises:
        NetlistError, FormatError: the file holds no circuit.
    """

    def __init__(self, netlist: Netlist | str | Path, *, optimise: bool = True, top: str | None = None) -> None:
        found = netlist if isinstance(netlist, Netlist) else read_netlist(netlist, top)
        self.netlist = optimised(found) if optimise else found
        self._schedule: _Schedule | None = None

    @property
    def inputs(self) -> tuple[Port, ...]:
        """Input ports."""
        return self.netlist.inputs

    @property
    def outputs(self) -> tuple[Port, ...]:
        """Output ports."""
        return self.netlist.outputs

    def report(self) -> Report:
        """Gates, bootstraps, depth."""
        return self.netlist.report()

    def failure_log2(self, gate_set: str, method: str, batch: int = 1, insecure: str = "") -> float:
        """log2 of a bound on the probability that any output bit is wrong, whatever gates the inputs come from.

        The union bound over all gates (:func:`ringforge.gates.noise.circuit_failure`); minus infinity without gates.

        Args:
            gate_set: name of the parameters.
            method: the accumulator.
            batch: computations of the circuit.
            insecure: why a set below 128 bits is looked at.
        """
        s, gates = sets.named(gate_set, insecure), self.report().gates
        if any(kind.name in gates for kind in SUMS):
            worst = sums.PortNoise(noise.input_variance(s, "mux", method))
            found = sums.examine(self.netlist, s, method, {p.name: worst for p in self.inputs})
            return min(0.0, found.failure_log2 + math.log2(batch))
        counts = {k: n * batch for k, n in gates.items() if k in noise.GATES}
        return noise.circuit_failure(s, counts, "mux", method)

    # ---- in the clear ----

    def clear(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """What the circuit computes, in the clear: the oracle for the encrypted computation.

        Args:
            inputs: a number in [0, 2^width) for each port, or a list of as many for each.

        Returns:
            A number for each output port, or lists.

        Raises:
            ParameterError, ShapeError, ringforge.ValueError: as :meth:`Netlist.clear`.
        """
        lists = [isinstance(v, Sequence) for v in inputs.values()]
        if not any(lists):
            found = self.netlist.clear({name: [int(v)] for name, v in inputs.items()})
            return {name: numbers[0] for name, numbers in found.items()}
        if not all(lists):
            raise ShapeError("give a number for each port, or a list for each")
        return dict(self.netlist.clear({name: [int(x) for x in v] for name, v in inputs.items()}))

    # ---- encrypted ----

    def evaluate(
        self,
        evaluator: Evaluator,
        inputs: Mapping[str, Bits],
        progress: Progress | bool = False,
    ) -> dict[str, Bits]:
        """Runs the circuit on encrypted bits, one level after the other.

        Args:
            evaluator: with the evaluation key.
            inputs: for each port bits of shape (..., width); the leading axes broadcast and are computations side by
                side, which fill threads better than one alone.
            progress: True for a bar on the terminal, or a function that takes the fraction done.

        Returns:
            Bits of shape (..., width) for each output port.

        Raises:
            ParameterError: a port is missing or unknown. ShapeError: bits do not fit it. MismatchError: bits of other
            parameters than the evaluator's, or of another key.
        """
        batch = self._check(evaluator, inputs)
        schedule = self.schedule
        lanes, width = math.prod(batch), evaluator.params.n + 1
        wires = np.zeros((schedule.slots, lanes, width), dtype=np.uint32)
        for port in self.inputs:
            words = np.broadcast_to(inputs[port.name].words, (*batch, port.width, width))
            wires[list(port.wires)] = np.moveaxis(words.reshape(lanes, port.width, width), 1, 0)
        flat: Any = wires.reshape(-1, width)
        with _reporter(progress) as update:
            total, done = max(1, sum(s.bootstraps for s in schedule.steps)), 0
            for step in schedule.steps:
                inner = _part(update, done / total, step.bootstraps / total) if update and step.bootstraps else None
                flat = evaluator.run(
                    np.repeat(step.kinds, lanes),
                    _lanes(step.inputs, lanes).reshape(-1, 3),
                    flat,
                    _lanes(step.outputs[:, None], lanes).reshape(-1),
                    inner,
                )
                done += step.bootstraps
        wires = evaluator.device.download(flat).reshape(schedule.slots, lanes, width)
        return {
            name: Bits(
                np.ascontiguousarray(np.moveaxis(wires[slots], 0, 1)).reshape(*batch, len(slots), width),
                evaluator.params,
                evaluator,
                key_id=evaluator.key_id,
            )
            for name, slots in schedule.outputs.items()
        }

    def _check(self, evaluator: Evaluator, inputs: Mapping[str, Bits]) -> tuple[int, ...]:
        """Holds inputs against the ports; returns the shape of the leading axes."""
        check_ports(self.inputs, inputs)
        for port in self.inputs:
            bits = inputs[port.name]
            check_same(evaluator, bits)
            if bits.ndim < 1 or bits.shape[-1] != port.width:
                raise ShapeError(f'input "{port.name}" has shape {bits.shape}; (..., {port.width}) is needed')
        leading = [inputs[p.name].shape[:-1] for p in self.inputs]
        try:
            return np.broadcast_shapes(*leading)
        except ValueError:
            raise ShapeError(f"inputs have leading shapes {leading}, which do not broadcast") from None

    def prepare(self) -> None:
        """Makes the schedule now, not at the first run: for circuits that threads share."""
        self._schedule = self.schedule

    @property
    def schedule(self) -> _Schedule:
        """Levels, and a slot in memory for each wire while it is needed."""
        if self._schedule is None:
            self._schedule = _scheduled(self.netlist)
        return self._schedule


def _lanes(slots: npt.NDArray[np.int64], lanes: int) -> npt.NDArray[np.int32]:
    """Rows for each computation of a batch: (gates, k) slots to (gates, lanes, k) rows; -1 stays."""
    rows = slots[:, None, :] * lanes + np.arange(lanes)[None, :, None]
    return np.ascontiguousarray(np.where(slots[:, None, :] < 0, -1, rows), dtype=np.int32)


def _part(update: Progress, start: float, share: float) -> Progress:
    return lambda fraction: update(start + share * fraction)


@contextlib.contextmanager
def _reporter(progress: Progress | bool) -> Iterator[Progress | None]:
    if progress is True:
        from ringforge.cli.console import progress as progress_bar

        with progress_bar("gates") as update:
            yield update
    else:
        yield progress or None


def _scheduled(netlist: Netlist) -> _Schedule:
    """Steps in order. A level is one step of gates that bootstrap, then free gates on their outputs, in as many steps
    as they depend on each other."""
    first, levels = netlist.input_bits, netlist.wire_levels
    order = [0] * netlist.wires
    members: dict[tuple[int, int], list[int]] = {}
    for wire, gate in enumerate(netlist.gates, first):
        if not gate.kind.bootstraps:
            order[wire] = 1 + max((order[i] for i in gate.inputs if levels[i] == levels[wire]), default=0)
        members.setdefault((levels[wire], order[wire]), []).append(wire)
    groups = [members[key] for key in sorted(members)]
    last: dict[int, int] = {}
    for number, group in enumerate(groups):
        for wire in group:
            last.update(dict.fromkeys(netlist.gates[wire - first].inputs, number))
            last.setdefault(wire, number)
    for port in netlist.outputs:
        last.update(dict.fromkeys(port.wires, len(groups)))
    ends: dict[int, list[int]] = {}
    for wire, number in last.items():
        ends.setdefault(number, []).append(wire)
    slot: dict[int, int] = {w: w for w in range(first)}
    free: list[int] = []
    slots = first
    steps = []
    for number, group in enumerate(groups):
        for wire in group:
            if free:
                slot[wire] = free.pop()
            else:
                slot[wire], slots = slots, slots + 1
        gates = [netlist.gates[w - first] for w in group]
        inputs = np.full((len(group), 3), -1, dtype=np.int64)
        for row, gate in zip(inputs, gates, strict=True):
            row[: len(gate.inputs)] = [slot[i] for i in gate.inputs]
        steps.append(
            _Step(
                np.array([g.kind for g in gates], dtype=np.uint8),
                inputs,
                np.array([slot[w] for w in group], dtype=np.int64),
                sum(g.kind.bootstraps for g in gates) - shared_rotations((g.kind, g.inputs) for g in gates),
            )
        )
        free += [slot[w] for w in ends.get(number, ())]
    return _Schedule(steps, slots, {p.name: [slot[w] for w in p.wires] for p in netlist.outputs})
