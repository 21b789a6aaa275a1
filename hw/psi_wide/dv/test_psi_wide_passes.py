# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
"""psi_wide_passes: random jobs of digits, rows and monomials; polynomials, rows and jobs come when they like."""

import random
from collections import deque

import cocotb
import pytest
from cocotb.triggers import FallingEdge, ReadOnly
from modular import parameter
from test_psi_wide_digits import balanced, plain
from wide_bench import Ring, begin, pack, run, unpack

GADGETS = [(9, 3, 0, 1), (7, 4, 0, 0), (8, 2, 11, 1), (11, 1, 16, 1), (14, 2, 0, 1)]
#: From a pass to its first line.
DELAY = 5


def gadget(log_base: int, count: int, drop: int, signed: int) -> int:
    offset = (1 << drop >> 1) + sum((1 << log_base >> 1) << (log_base * j + drop) for j in range(count))
    return pack("gadget_t", offset=offset, balanced=signed, drop=drop, count=count, log_base=log_base)


class Job:
    """A random job, what it takes, and the passes that it makes."""

    def __init__(self, rng, ring, lanes):
        kind = rng.choice(("product", "product", "plain", "cells"))
        n, half, q = ring.n, lanes // 2, ring.q
        both = rng.getrandbits(1) if kind == "product" else 0
        common = {
            "id": rng.randrange(16), "has_init": rng.getrandbits(1), "init": rng.randrange(256),
            "beside": rng.randrange(3), "to_row": rng.getrandbits(1), "target": rng.randrange(256),
        }  # fmt: skip
        gadgets = [rng.randrange(len(GADGETS)) for _ in range(2)]
        negate = rng.getrandbits(1) if kind == "product" else 0
        most = n // 2 if kind == "cells" else 5
        rows, limit, row = rng.randrange(1, min(most, 9) + 1), rng.randrange(1, 9), rng.randrange(100)
        if kind == "cells" and rng.random() < 0.3:
            rows = min(most, 40)
        self.word = pack(
            "job_t", plain=kind != "product", cells=kind == "cells", both=both, negate=negate, gadget_a=gadgets[0],
            gadget_b=gadgets[1], rows=rows, limit=limit, row=row, **common,
        )  # fmt: skip
        self.halves, self.lines, self.passes = [], [], []
        found: list[tuple[list[int] | None, dict[str, int], bool, bool]] = []
        if kind == "product":
            for index in gadgets[: 1 + both]:
                poly = ring.random(rng)
                quarter = half // 2
                self.halves.append([
                    ring.shifted(poly[i : i + quarter] + poly[n // 2 + i : n // 2 + i + quarter])
                    for i in range(0, n // 2, quarter)
                ])  # fmt: skip
                log_base, count, drop, signed = GADGETS[index]
                cut = [
                    balanced(x, q, log_base, count, drop) if signed else plain(x, log_base, count) for x in poly
                ]  # fmt: skip
                for j in range(count):
                    digits = [(-d[j] if negate else d[j]) % q for d in cut]
                    found.append((digits, {"row": (row + len(found)) % 256}, False, j > 0))
        elif kind == "plain":
            for k in range(rows):
                numbers = [rng.choice((0, 65535, rng.randrange(1 << 16))) for _ in range(n)]
                self.lines.append([
                    numbers[i : i + half] + numbers[n // 2 + i : n // 2 + i + half] for i in range(0, n // 2, half)
                ])  # fmt: skip
                found.append(([x % q for x in numbers], {"row": (row + k) % 256}, False, False))
        else:
            numbers = [rng.randrange(1 << 16) for _ in range(n)]
            for k in range(rows):
                numbers[2 * k + 1] = rng.choice((0, limit - 1, rng.randrange(limit)))
                if rng.random() < 0.1:
                    numbers[2 * k + 1] = rng.choice((limit, 255, 256, rng.randrange(limit, 1 << 16)))
                bad = numbers[2 * k + 1] >= limit
                fields = {"monomial": 1, "power": numbers[2 * k] % 4096}
                if not bad:
                    fields["row"] = row + numbers[2 * k + 1]
                found.append((None, fields, bad, k > 0))
            self.lines.append([numbers[i : i + lanes] for i in range(0, n, lanes)])
        for k, (digits, own, bad, joined) in enumerate(found):
            fields = common | {"monomial": 0} | own | {"first": int(k == 0), "last": int(k == len(found) - 1)}
            lines = None
            if digits is not None:
                lines = [
                    ring.shifted(digits[i : i + half] + digits[n // 2 + i : n // 2 + i + half])
                    for i in range(0, n // 2, half)
                ]  # fmt: skip
            self.passes.append((fields, lines, bad, joined))


@cocotb.test()
async def jobs(dut):
    lanes, max_log_n, width = parameter("Lanes", 8), parameter("MaxLogN", 6), parameter("W", 27)
    polys, rows = parameter("Polys", 4), parameter("Rows", 2)
    rng = random.Random(9)
    await begin(
        dut, start_i=0, row_we_i=0, job_valid_i=0, gadget_i=[gadget(*g) for g in GADGETS] + [0] * (16 - len(GADGETS))
    )
    for log_n, shift, eager in ((max_log_n, 0, 1.0), (max_log_n - 1, 0, 0.6), (max_log_n, 0, 0.05)):
        ring = Ring(width, max_log_n, log_n, shift)
        ring.apply(dut)
        given = [Job(rng, ring, lanes) for _ in range(24)]
        waiting = deque(given)
        halves = deque(h for job in given for h in job.halves)
        lines = deque(x for job in given for x in job.lines)
        want = deque(p for job in given for p in job.passes)
        sending: deque[list[int]] = deque()
        writing: deque[list[int]] = deque()
        opened: deque[tuple[int, list[list[int]] | None]] = deque()
        taking, room, row_room, offered = None, polys, rows, False
        per, clock = ring.n // lanes, 0
        last_pass = -per
        while want or opened or taking:
            assert clock < 400 * len(given) * per, "it stands still"
            start = False
            if not sending and halves and room and rng.random() < eager:
                sending.extend(halves.popleft())
                room, start = room - 1, True
            dut.start_i.value = int(start)
            dut.half_i.value = sending.popleft() if sending else [rng.randrange(1 << 20) for _ in range(lanes // 2)]
            if not writing and lines and row_room and rng.random() < eager:
                writing.extend(lines.popleft())
                row_room -= 1
            write = bool(writing) and rng.random() < max(eager, 0.3)
            dut.row_we_i.value = int(write)
            dut.row_i.value = writing.popleft() if write else [rng.randrange(1 << 16) for _ in range(lanes)]
            offered = bool(waiting) and (offered or rng.random() < eager)
            dut.job_valid_i.value = int(offered)
            dut.job_i.value = waiting[0].word if offered else rng.getrandbits(60)
            await ReadOnly()
            if int(dut.job_ready_o.value):
                assert offered
                waiting.popleft()
                offered = False
            room += int(dut.free_o.value)
            row_room += int(dut.row_free_o.value)
            assert room <= polys, "more is free than there is"
            assert row_room <= rows, "more is free than there is"
            assert int(dut.busy_o.value) == (int(dut.pass_valid_o.value) or clock < last_pass + per)
            if int(dut.pass_valid_o.value):
                fields, poly, bad, joined = want.popleft()
                assert clock - last_pass >= per, "a pass before the end of the one before"
                # Digits of a polynomial and monomials of a row follow each other at once.
                assert not joined or clock == last_pass + per, "a pause"
                last_pass = clock
                got = unpack("pass_t", int(dut.pass_o.value))
                assert {name: got[name] for name in fields} == fields
                assert int(dut.cell_bad_o.value) == bad
                opened.append((clock + DELAY, poly))
            else:
                assert not int(dut.cell_bad_o.value)
            started = int(dut.start_o.value)
            assert bool(started) == bool(opened and opened[0][0] == clock), "the first line's clock"
            if started:
                assert taking is None
                poly = opened.popleft()[1]
                taking = deque(poly if poly is not None else [None] * per)
            if taking:
                line = taking.popleft()
                assert line is None or [int(x) for x in dut.line_o.value] == line
                taking = taking or None
            await FallingEdge(dut.clk_i)
            clock += 1
        assert not any((waiting, halves, lines))
        assert (room, row_room) == (polys, rows)


@pytest.mark.parametrize(
    ("lanes", "max_log_n", "polys", "rows"), [(8, 6, 4, 2), pytest.param(16, 8, 8, 4, marks=pytest.mark.long)]
)
def test_psi_wide_passes(lanes, max_log_n, polys, rows):
    run("psi_wide_passes", {"Lanes": lanes, "MaxLogN": max_log_n, "Polys": polys, "Rows": rows, "W": 27}, __file__)
