# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""How the sums of a bin's plain rows are written: what a table holds decides words in memory, never an instruction.

A leaf is a sum over selectors, each times a plain row. Where the table's public bound says that no bin has as many ones
as a leaf has rows, sums of monomials take their place, X^i times a selector for each one: so many for every leaf as a
whole bin may have, since all of a bin's cells may be of one leaf. What is missing there names a row of zeros. Else, and
where nothing is known of a table, leaves are sums of all their rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ringforge.errors import ParameterError
from ringforge.hw.machines.psi_wide.config import WideConfig
from ringforge.hw.machines.psi_wide.layout import Words, cells, plain

if TYPE_CHECKING:
    from ringforge._native.psi import Plan
    from ringforge.psi.table import Arrays


def monomials(plan: Plan, most: int | None) -> int:
    """Monomials of each leaf of tables whose bins have `most` cells at most; 0: leaves are sums of rows.

    Args:
        most: a number that everybody may know; None: there is none.
    """
    if most is None:
        return 0
    ones = max(1, most) * plan.cell_words * ((1 << plan.log_t) - 1)
    return ones if ones < 1 << plan.log_onehot else 0


@dataclass(frozen=True)
class Leaves:
    """The leaves of a table.

    Args:
        config: the machine. plan: the plan. table: of the plan.
        most: cells of a bin, at most, as everybody may know; None: nobody does.

    Raises:
        ParameterError: a bin has more cells.
    """

    config: WideConfig
    plan: Plan
    table: Arrays
    most: int | None

    def __post_init__(self) -> None:
        fullest = int(np.diff(self.table.offsets.astype(np.int64)).max(initial=0))
        if self.most is not None and fullest > self.most:
            raise ParameterError(
                "a bin of the table has more cells than its description says: build the table again, with another "
                "seed, or answer on device cpu"
            )

    @property
    def monomials(self) -> int:
        """Monomials of each leaf; 0: leaves are sums of rows."""
        return monomials(self.plan, self.most)

    def words(self, index: int, *, zero_first: bool) -> list[Words]:
        """What lies in memory for each leaf of a bin: plain rows, or monomials, of equal sizes for every table.

        Args:
            zero_first: the row of zeros lies before the bin's selectors, not behind them.
        """
        rows, leaves = self._rows(index), 1 << self.plan.tree_bits
        if not self.monomials:
            return [plain(self.config, rows[leaf::leaves]) for leaf in range(leaves)]
        selectors = 1 << self.plan.log_onehot
        row, at = np.nonzero(rows)
        repeated = rows[row, at].astype(np.intp)
        row, at = np.repeat(row, repeated), np.repeat(at, repeated)
        found = []
        for leaf in range(leaves):
            mine = row % leaves == leaf
            rest = [0] * (self.monomials - int(mine.sum()))
            named = (row[mine] // leaves + zero_first).tolist() + [0 if zero_first else selectors for _ in rest]
            found.append(cells(self.plan.log_n, at[mine].tolist() + rest, named))
        return found

    def _rows(self, index: int) -> Words:
        """A bin's rows, (rows, N)."""
        plan, table = self.plan, self.table
        stride = 1 << plan.rotation_bits
        first, last = int(table.offsets[index]), int(table.offsets[index + 1])
        places = np.asarray(table.cells[first:last], np.int64)
        rows = np.zeros((1 << plan.row_bits, 1 << plan.log_n), np.uint64)
        for word in range(plan.cell_words):
            rows[places // stride, places % stride + word * stride] = table.words[first:last, word]
        return rows
