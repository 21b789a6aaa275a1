# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What has been done to encrypted matrices, step by step: for programs to store, and for people to read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rich import box

from ringforge.matmul import planner
from ringforge.shown import ShownGroup, ShownTable


@dataclass(eq=False)
class Step:
    """One operation, as programs store and people read it.

    Args:
        kind: input, plain, constant, product, sum, difference, negative, multiple,
            clean, transpose, block, entrywise or total.
        operands: the steps it takes its operands from.
        arguments: its other arguments, as JSON has them (constants: the array).
        shape: of the result, as numpy counts.
        grid, tile: ciphertexts of the result; rows and columns of each.
        level, bound, error: of the result: the lowest level, largest |entry|, predicted largest error.
        detail: plan or reason, for people.
    """

    kind: str
    operands: tuple[Step, ...] = ()
    arguments: dict[str, Any] = field(default_factory=dict)
    shape: tuple[int, ...] = ()
    grid: tuple[int, int] = (0, 0)
    tile: tuple[int, int] = (0, 0)
    level: int = 0
    bound: float = 0.0
    error: float = 0.0
    detail: str = ""
    choice: planner.Choice | None = None

    def like(self) -> Step:
        """The same step for the same matrix in other ciphertexts."""
        return replace(self)

    def ancestors(self) -> list[Step]:
        """This step and all it depends on, operands first."""
        found: dict[int, Step] = {}
        stack: list[tuple[Step, bool]] = [(self, False)]
        while stack:
            step, ready = stack.pop()
            if id(step) in found:
                continue
            if ready:
                found[id(step)] = step
            else:
                stack.append((step, True))
                stack.extend((s, False) for s in reversed(step.operands))
        return list(found.values())


def _leading_to(results: Sequence[Step]) -> dict[int, Step]:
    steps: dict[int, Step] = {}
    for result in results:
        steps.update((id(s), s) for s in result.ancestors())
    return steps


def steps_table(results: Sequence[Step]) -> ShownTable:
    """The steps that lead to these results."""
    steps = _leading_to(results)
    number = {key: i for i, key in enumerate(steps)}
    table = ShownTable(title="steps", title_justify="left", box=box.SIMPLE_HEAD, collapse_padding=True, pad_edge=False)
    for name in ("", "what", "of"):
        table.add_column(name, no_wrap=True)
    for name in ("shape", "ciphertexts", "level", "|entry| up to", "error up to"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("how", overflow="fold")
    for s in steps.values():
        plain = s.kind in {"plain", "constant"}
        table.add_row(
            str(number[id(s)]),
            f"{s.kind} {s.arguments['name']}" if "name" in s.arguments else s.kind,
            ", ".join(str(number[id(o)]) for o in s.operands),
            " x ".join(map(str, s.shape)) or "number",
            "" if plain else f"{s.grid[0] * s.grid[1]} of {s.tile[0]} x {s.tile[1]}",
            "" if plain else str(s.level),
            f"{s.bound:.4g}",
            "" if plain else f"{s.error:.1e}",
            s.detail,
        )
    return table


def explain_steps(results: Sequence[Step]) -> ShownGroup:
    """The steps that lead to these results as a table, then what the planner considered for each product."""
    choices = {id(s.choice): s.choice for s in _leading_to(results).values() if s.choice is not None}
    return ShownGroup(steps_table(results), *(c.explain() for c in choices.values()))
