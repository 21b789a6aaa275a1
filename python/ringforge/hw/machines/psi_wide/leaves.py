# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""How the sums of a bin's plain rows are written: what a table holds decides words in memory, never an instruction.

A leaf is a sum over selectors, each times a plain row. Where the table's public bound says that no bin has as many ones
as a leaf has rows, sums of monomials take their place, X^i times a selector for each one: so many for every leaf as a
whole bin may have, since all of a bin's cells may be of one leaf. What is missing there names a row of zeros. Else, and
where nothing is known of a table, leaves are sums of all their rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ringforge.devices import Progress
from ringforge.errors import Error, ParameterError
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


def row_bytes(plan: Plan, most: int | None) -> int:
    """Bytes of what lies in memory for all leaves of tables whose bins have `most` cells at most."""
    rows = plan.log_bins + (plan.tree_bits if monomials(plan, most) else plan.row_bits)
    return 2 << rows + plan.log_n


def zero_first(plan: Plan, index: int) -> bool:
    """Whether the row of zeros lies before a bin's selectors: bins are looked up depth first, by turns with either."""
    depth = min(plan.log_bins, plan.log_n)
    return bool(index >> depth - 1 & 1) if depth else bool(index & 1)


class Leaves:
    """The leaves of a table as they lie in memory, laid out once: queries share them.

    Args:
        config: the machine. plan: the plan. table: of the plan.
        most: cells of a bin, at most, as everybody may know; None: nobody does.
        progress: called with the fraction done; False cancels.

    Raises:
        ParameterError: a bin has more cells. Error: "cancelled".
    """

    def __init__(
        self, config: WideConfig, plan: Plan, table: Arrays, most: int | None, progress: Progress | None = None
    ) -> None:
        fullest = int(np.diff(table.offsets.astype(np.int64)).max(initial=0))
        if most is not None and fullest > most:
            raise ParameterError(
                "a bin of the table has more cells than its description says: build the table again, with another "
                "seed, or answer on device cpu"
            )
        self._config, self._plan, self._table = config, plan, table
        #: Monomials of each leaf; 0: leaves are sums of rows.
        self.monomials = monomials(plan, most)
        leaves = 1 << plan.tree_bits
        self._words = np.empty((plan.bins, leaves, row_bytes(plan, most) // (8 * plan.bins * leaves)), np.uint64)
        for index in range(plan.bins):
            if progress is not None and progress(index / plan.bins) is False:
                raise Error("cancelled")
            for leaf, words in enumerate(self._bin(index)):
                self._words[index, leaf] = words
        self._words.flags.writeable = False

    @property
    def nbytes(self) -> int:
        """Of all leaves."""
        return self._words.nbytes

    def words(self, index: int) -> Words:
        """What lies in memory for each leaf of a bin, a row of words each: of equal sizes for every table."""
        found: Words = self._words[index]
        return found

    def _bin(self, index: int) -> list[Words]:
        rows, leaves = self._rows(index), 1 << self._plan.tree_bits
        if not self.monomials:
            return [plain(self._config, rows[leaf::leaves]) for leaf in range(leaves)]
        selectors, first = 1 << self._plan.log_onehot, zero_first(self._plan, index)
        row, at = np.nonzero(rows)
        repeated = rows[row, at].astype(np.intp)
        row, at = np.repeat(row, repeated), np.repeat(at, repeated)
        found = []
        for leaf in range(leaves):
            mine = row % leaves == leaf
            rest = [0] * (self.monomials - int(mine.sum()))
            named = (row[mine] // leaves + first).tolist() + [0 if first else selectors for _ in rest]
            found.append(cells(self._plan.log_n, at[mine].tolist() + rest, named))
        return found

    def _rows(self, index: int) -> Words:
        """A bin's rows, (rows, N)."""
        plan, table = self._plan, self._table
        stride = 1 << plan.rotation_bits
        first, last = int(table.offsets[index]), int(table.offsets[index + 1])
        places = np.asarray(table.cells[first:last], np.int64)
        rows = np.zeros((1 << plan.row_bits, 1 << plan.log_n), np.uint64)
        for word in range(plan.cell_words):
            rows[places // stride, places % stride + word * stride] = table.words[first:last, word]
        return rows
