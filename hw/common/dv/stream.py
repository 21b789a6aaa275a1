# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""Streams cut into items of another width, for the tests of the packers: a model on integers, and the driver."""

import random

from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly


def joined(items: list[int], width: int) -> int:
    """The bits of all items, laid end to end."""
    return sum(x << (width * i) for i, x in enumerate(items))


def cut(bits: int, width: int, count: int) -> list[int]:
    return [bits >> (width * i) & ((1 << width) - 1) for i in range(count)]


async def check_streams(dut, in_width: int, out_width: int, *, pad: bool, rows: list[int]) -> None:
    """Polynomials of so many rows through a packer, with stalls, without, and with a reset at some moment.

    Rows are the items of the output, or of the input if `pad`.
    """
    rng = random.Random(in_width * out_width)
    Clock(dut.clk_i, 2, "ns").start(start_high=False)
    for p_valid, p_ready in ((0.5, 0.5), (1.0, 1.0), (1.0, 0.3), (0.3, 1.0), (0.9, 0.9)):
        # Items, and whether each is the last of its polynomial.
        sent: list[tuple[int, bool]] = []
        expected: list[tuple[int, bool]] = []
        for count in rows:
            if pad:
                items = [rng.getrandbits(in_width) for _ in range(count)]
                out = cut(joined(items, in_width), out_width, -(-count * in_width // out_width))
            else:
                items = [rng.getrandbits(in_width) for _ in range(-(-count * out_width // in_width))]
                out = cut(joined(items, in_width), out_width, count)
            sent += [(x, i == len(items) - 1) for i, x in enumerate(items)]
            expected += [(x, i == len(out) - 1) for i, x in enumerate(out)]
        # A reset in the middle of a stream leaves nothing behind; what was sent before is lost.
        for upto in (rng.randrange(len(sent)), None):
            dut.rst_ni.value, dut.valid_i.value, dut.ready_i.value = 0, 0, 0
            for _ in range(2):
                await FallingEdge(dut.clk_i)
            dut.rst_ni.value = 1
            got: list[tuple[int, bool]] = []
            at = cycles = 0
            offering = False
            while len(got) < len(expected) if upto is None else at < upto:
                offering = at < len(sent) and (offering or rng.random() < p_valid)
                dut.valid_i.value = int(offering)
                data, last = sent[at] if offering else (rng.getrandbits(in_width), True)
                dut.data_i.value = data
                ready = rng.random() < p_ready
                dut.ready_i.value = int(ready)
                end = expected[min(len(got), len(expected) - 1)][1]
                if pad:
                    dut.last_i.value = int(last)
                else:
                    dut.end_i.value = int(end)
                await ReadOnly()
                if int(dut.valid_o.value) and ready:
                    got_last = bool(int(dut.last_o.value)) if pad else end
                    got.append((int(dut.data_o.value), got_last))
                if offering and int(dut.ready_o.value):
                    at += 1
                    offering = False
                await FallingEdge(dut.clk_i)
                cycles += 1
                assert cycles < 20 * (len(sent) + len(expected)), "the stream stands still"
            assert got == expected[: len(got)]
            if upto is None:
                assert at == len(sent)
                if p_valid == p_ready == 1.0:
                    # One item a cycle of the narrower side; a polynomial's end costs one more at most.
                    assert cycles <= max(len(sent), len(expected)) + len(rows) + 1
