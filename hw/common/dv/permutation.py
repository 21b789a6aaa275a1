# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""What the permutation network does to rows, in Python: switches, time exchange, and the maps it is asked for."""

from collections.abc import Sequence


def reverse_bits(x: int, bits: int) -> int:
    return int(format(x, f"0{bits}b")[::-1], 2) if bits else 0


def swap(row: Sequence, stage_bits: Sequence[int], settings: Sequence[int]) -> list:
    """A spatial network: in stage s, lane l takes its partner's word when bit l of the setting is set."""
    out = list(row)
    for bit, setting in zip(stage_bits, settings, strict=True):
        out = [out[lane ^ (1 << bit)] if setting >> lane & 1 else out[lane] for lane in range(len(out))]
    return out


def first_network(row: Sequence, settings: Sequence[int]) -> list:
    """From the top lane bit down."""
    bits = len(row).bit_length() - 1
    return swap(row, range(bits - 1, -1, -1), settings)


def second_network(row: Sequence, settings: Sequence[int]) -> list:
    """From bit 0 up."""
    return swap(row, range(len(row).bit_length() - 1), settings)


def exchange(first: Sequence, second: Sequence) -> tuple[list, list]:
    """The temporal part on a pair of rows: their upper halves trade places."""
    half = len(first) // 2
    return [*first[:half], *second[half:]], [*second[:half], *first[half:]]


def stage_outputs(rows: list[list], stride: int) -> list[list]:
    """What the butterflies must see: the partners of lane j of the lower half in lane j of the upper half.

    `rows` is one row for strides below the lanes; else the two rows that hold partners.
    """
    lanes = len(rows[0])
    half, top = lanes // 2, lanes.bit_length() - 2
    if stride >= lanes:
        a, b = rows
        return [[*a[:half], *b[:half]], [*a[half:], *b[half:]]]
    bit = stride.bit_length() - 1

    def source(lane: int) -> int:
        x, y = lane >> bit & 1, lane >> top & 1
        return lane & ~(1 << bit) & ~(1 << top) | y << bit | x << top

    return [[row[source(lane)] for lane in range(lanes)] for row in rows]
