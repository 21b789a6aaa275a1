# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What the models need to know of a matmul machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

from ringforge.errors import ParameterError


@dataclass(frozen=True)
class Sizes:
    """A machine as its models see it.

    Attributes:
        name: of the configuration.
        pes: elements.
        lanes: of each.
        word_bits: of a residue, in memory as in the scratchpad.
        min_log_n, max_log_n: degrees.
        scratchpad_rows: of all data banks of an element.
        clock_hz: of the machine.
        line_bytes: of one beat of all near ports of an element.
        near_rate: bytes that an element's near ports move in a cycle.
        near_bytes: what near memory holds, for all elements.
        far_bytes_per_second: of far memory, for all elements.
        paired: short transforms are interleaved in pairs.
        mac_cycles: from the first row that a multiply-accumulate reads to the first that the next may read of its
            result.
        stage_gap: the same between stages of a transform.
        transform_cycles: of a transform, besides its stages' rows.
    """

    name: str
    pes: int
    lanes: int
    word_bits: int
    min_log_n: int
    max_log_n: int
    scratchpad_rows: int
    clock_hz: float
    line_bytes: int
    near_rate: float
    near_bytes: int
    far_bytes_per_second: float
    paired: bool = True
    mac_cycles: int = 24
    stage_gap: int = 30
    transform_cycles: int = 30

    @classmethod
    def named(cls, name: str) -> Self:
        """Those of a configuration.

        Raises:
            ParameterError: there is none of this name.
        """
        if name not in _NAMED:
            raise ParameterError(f'no machine is called "{name}"; there are {", ".join(sorted(_NAMED))}')
        pes, lanes, low, high, rows, ports, mhz = _NAMED[name]
        return cls(
            name, pes, lanes, 54, low, high, rows, mhz * 1e6, ports * 64, ports * 32 * 450 / mhz, 8 << 30, 38.4e9
        )

    def check(self, log_n: int) -> None:
        """Refuses a degree that the machine does not have.

        Raises:
            ParameterError: it has not.
        """
        if not self.min_log_n <= log_n <= self.max_log_n:
            raise ParameterError(
                f"machine {self.name} takes degrees 2^{self.min_log_n} to 2^{self.max_log_n}, not 2^{log_n}"
            )

    def rows(self, log_n: int) -> int:
        """Rows of a polynomial."""
        return (1 << log_n) // self.lanes

    def slots(self, log_n: int) -> int:
        """Polynomials that an element's data banks hold."""
        return self.scratchpad_rows // self.rows(log_n)

    def polynomial_bytes(self, log_n: int) -> int:
        """Bytes of a polynomial in memory: whole lines."""
        return -(-(self.word_bits << log_n) // (8 * self.line_bytes)) * self.line_bytes

    def polynomial_cycles(self, log_n: int) -> float:
        """Cycles in which an element's ports move a polynomial; a row a cycle at most."""
        return max(float(self.rows(log_n)), self.polynomial_bytes(log_n) / self.near_rate)


_NAMED: Final = {
    "fame-s": (2, 128, 10, 13, 1024, 16, 350),
    "fame-m": (2, 128, 11, 15, 9216, 16, 350),
    "fame-l": (1, 256, 12, 16, 18432, 32, 300),
    "fame-small": (2, 16, 7, 11, 2048, 2, 350),
}
